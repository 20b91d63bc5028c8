"""Workers that run a model: up to a number of runs at a time, and no process left when the pool closes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from robustforge.execution.process_pool import SupervisedPool
from robustforge.simulator.command_model import CommandModel, remove_stale_folders
from robustforge.simulator.function_model import FunctionModel
from robustforge.simulator.process_registry import ProcessRegistry
from robustforge.simulator.run_outcome import RunOutcome

Submit = Callable[[Mapping[str, float], int], "Future[RunOutcome]"]
"""Schedules a run of a model with values of the variables and a number that names its folder."""


@contextmanager
def model_workers(
    model: CommandModel | FunctionModel, workers: int, runs_folder: Path | None = None, keep_folders: bool = False
) -> Iterator[Submit]:
    """Provide workers that run a model; leaving early, by an exception or Ctrl-C, ends the running processes.

    Args:
        model: The model to run.
        workers: Maximum number of runs at a time.
        runs_folder: Where a command's folders are, and stay for the first failed runs; by default they are temporary.
        keep_folders: Whether the folders of all runs stay.
    """
    if isinstance(model, CommandModel):
        registry = ProcessRegistry()
        if runs_folder is not None:
            remove_stale_folders(runs_folder)
        command = replace(model, runs_folder=runs_folder, keep_folders=keep_folders)
        run: Callable[[Mapping[str, float], int], RunOutcome] = lambda values, number: command.run(  # noqa: E731
            values, number, registry
        )
        stop: Callable[[], None] = registry.close
    else:
        pool = SupervisedPool(workers, time_limit=model.time_limit, quiet=True)
        run, stop = (lambda values, number: model.run(values, pool)), pool.kill
    threads = ThreadPoolExecutor(workers, thread_name_prefix="robustforge-model")
    try:
        yield lambda values, number: threads.submit(run, values, number)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        stop()
        threads.shutdown()
        if runs_folder is not None:
            with suppress(OSError):  # it is not empty
                runs_folder.rmdir()
