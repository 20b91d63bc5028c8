"""The crew: who makes runs on some problems. Threads for compiled objectives, watched processes for Python ones.

Or whatever executor the caller has, for instance that of a Dask client.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import cloudpickle

from robustforge.engine import compilation
from robustforge.errors import ExecutionError
from robustforge.execution.pool import SupervisedPool
from robustforge.execution.width import width_of
from robustforge.problem import Problem
from robustforge.verification import neighbourhood

LARGEST_CHUNK = 1000
"""Most tasks in a chunk."""


@dataclass(frozen=True)
class Crew:
    """Who does the work.

    Attributes:
        executor: Takes tasks.
        width: How many it does at the same time.
        largest: Most tasks in a chunk; 1 where a time limit is for each.
    """

    executor: Executor
    width: int
    largest: int = LARGEST_CHUNK


@contextmanager
def crew(
    problems: Sequence[Problem],
    executor: Executor | None,
    workers: int | None,
    time_limit: float | None,
    *,
    in_python: bool = False,
) -> Iterator[Crew]:
    """Gather who makes runs on these problems, and send them home afterwards.

    Args:
        problems: What is run; an objective that does not compile is refused here.
        executor: The caller's own, if any.
        workers: How many cores of this machine; all, if nobody says.
        time_limit: Seconds after which a task has failed; tasks then have processes.
        in_python: Whether tasks spend their time in Python, where threads would wait for each other.
    """
    check_means(executor, workers, time_limit)
    compiled = [problem.compiled is not None for problem in problems]
    if executor is not None:
        yield Crew(executor, max(width_of(executor), 1))
        return
    prepare()  # compiles, so that processes need not
    if all(compiled) and time_limit is None and not in_python:
        with _threads(workers or os.cpu_count() or 1) as made:
            yield made
        return
    with _processes(problems, workers, time_limit) as made:
        yield made


@contextmanager
def _threads(count: int) -> Iterator[Crew]:
    pool = ThreadPoolExecutor(count)
    try:
        yield Crew(pool, count)
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _processes(problems: Sequence[Problem], workers: int | None, time_limit: float | None) -> Iterator[Crew]:
    for problem in problems:
        _check_travels(problem)
    pool = SupervisedPool(workers, time_limit=time_limit, initializer=partial(prepare, problems), quiet=True)
    try:
        yield Crew(pool, pool.workers, 1 if time_limit is not None else LARGEST_CHUNK)
    except BaseException:
        pool.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def prepare(problems: Iterable[Problem] = ()) -> None:
    """Load or compile all that runs on these problems need, so that no run is charged with it."""
    compilation.prepare()
    compilation.prepare_run()
    neighbourhood.prepare()
    for problem in problems:
        _ = problem.compiled


def check_means(executor: Any, workers: Any, time_limit: Any) -> None:
    """Refuse means that are none, or that exclude each other."""
    if executor is not None and not isinstance(executor, Executor):
        raise ExecutionError("an executor must be a concurrent.futures.Executor", f"got {executor!r}")
    if time_limit is not None and not (isinstance(time_limit, (int, float)) and time_limit > 0):
        raise ExecutionError("a time limit must be a positive number of seconds", f"got {time_limit!r}")
    if workers is not None and not (isinstance(workers, int) and workers >= 1):
        raise ExecutionError("workers must be an integer of at least 1", f"got {workers!r}")
    if executor is not None and (workers is not None or time_limit is not None):
        raise ExecutionError(
            "workers and time limits are for processes of this machine",
            "an executor, or a cluster, was given as well",
            "Leave one of them out",
        )


def _check_travels(problem: Problem) -> None:
    """Refuse a problem that cannot be sent to another process."""
    try:
        cloudpickle.dumps(problem)
    except Exception as error:
        raise ExecutionError(
            "a Python objective runs in processes of its own, so it must be able to travel there",
            f"{problem.name!r} is not: {error}",
            "Open files, connections and locks inside the function, or compile it with Numba",
        ) from error
