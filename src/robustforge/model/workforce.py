"""Who runs a model: as many runs at the same time as there are workers, and none left over when it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from robustforge.execution.pool import SupervisedPool
from robustforge.model.command import Command, remove_left
from robustforge.model.function import Function
from robustforge.model.outcome import Outcome
from robustforge.model.runs import Runs

Submit = Callable[[Mapping[str, float], int], "Future[Outcome]"]
"""Has a model run with these values, and under this number."""


@contextmanager
def workforce(
    model: Command | Function, workers: int, folder: Path | None = None, keep: bool = False
) -> Iterator[Submit]:
    """Gather who runs a model; whoever leaves early, by an exception or Ctrl-C, ends the runs under way.

    Args:
        model: What is run.
        workers: How many runs there may be at the same time.
        folder: Where a command's folders stay, if they do: those of the first runs that fail, for a look at them.
        keep: Whether those of all runs stay.
    """
    if isinstance(model, Command):
        runs = Runs()
        if folder is not None:
            remove_left(folder)
        made = replace(model, folder=folder, keep=keep)
        work: Callable[[Mapping[str, float], int], Outcome] = lambda values, number: made.run(values, number, runs)  # noqa: E731
        end: Callable[[], None] = runs.close
    else:
        pool = SupervisedPool(workers, time_limit=model.time_limit, quiet=True)
        work, end = (lambda values, number: model.run(values, pool)), pool.kill
    threads = ThreadPoolExecutor(workers, thread_name_prefix="robustforge-model")
    try:
        yield lambda values, number: threads.submit(work, values, number)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        end()
        threads.shutdown()
        if folder is not None:
            with suppress(OSError):  # something is in it
                folder.rmdir()
