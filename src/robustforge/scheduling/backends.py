"""Backends: threads, supervised processes or the caller's executor, which run tasks.

Threads for compiled objectives, supervised processes for Python objectives, or the caller's own executor, for instance
that of a Dask client.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import cloudpickle

from robustforge import formatting
from robustforge.engine import kernels
from robustforge.errors import ExecutionError
from robustforge.execution.executor_wait import check_client_open
from robustforge.execution.process_pool import SupervisedPool
from robustforge.robust_problem import Problem
from robustforge.verification import neighbourhood

_logger = logging.getLogger(__name__)

MAX_CHUNK = 1000
"""Maximum number of tasks in a chunk."""


@dataclass(frozen=True)
class Backend:
    """An executor and its capacity.

    Attributes:
        executor: Executes tasks.
        workers: Number of tasks that it executes at the same time.
        max_chunk: Maximum number of tasks in a chunk; 1 if each task has a time limit.
    """

    executor: Executor
    workers: int
    max_chunk: int = MAX_CHUNK


@contextmanager
def open_backend(
    problems: Sequence[Problem],
    executor: Executor | None,
    workers: int | None,
    time_limit: float | None,
    *,
    in_python: bool = False,
) -> Iterator[Backend]:
    """Open a backend for runs on these problems, and close it at the end of the `with` block.

    Args:
        problems: The problems; an objective that does not compile is refused here.
        executor: The caller's own executor, if any.
        workers: Number of local cores; by default all.
        time_limit: Seconds after which a task has failed; tasks then run in processes.
        in_python: Whether tasks spend their time in Python, where threads would block each other.
    """
    check_options(executor, workers, time_limit)
    compiled = [problem.compiled is not None for problem in problems]
    if executor is not None:
        workers = max(executor_workers(executor), 1)
        _logger.debug("runs use an executor with %s", formatting.count(workers, "worker"))
        yield Backend(executor, workers)
        return
    prepare()  # compiles in this process, so that worker processes need not
    if all(compiled) and time_limit is None and not in_python:
        with _threads(workers or os.cpu_count() or 1) as backend:
            yield backend
        return
    with _processes(problems, workers, time_limit) as backend:
        yield backend


@contextmanager
def _threads(count: int) -> Iterator[Backend]:
    pool = ThreadPoolExecutor(count)
    _logger.debug("runs use %s", formatting.count(count, "thread"))
    try:
        yield Backend(pool, count)
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _processes(problems: Sequence[Problem], workers: int | None, time_limit: float | None) -> Iterator[Backend]:
    for problem in problems:
        _check_picklable(problem)
    pool = SupervisedPool(workers, time_limit=time_limit, initializer=partial(prepare, problems), quiet=True)
    _logger.debug("runs use %s", formatting.count(pool.workers, "process", "processes"))
    try:
        yield Backend(pool, pool.workers, 1 if time_limit is not None else MAX_CHUNK)
    except BaseException:
        pool.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def prepare(problems: Iterable[Problem] = ()) -> None:
    """Load or compile everything that runs on these problems need, before the first run is timed."""
    kernels.prepare()
    kernels.prepare_run()
    neighbourhood.prepare()
    for problem in problems:
        _ = problem.compiled


def executor_workers(executor: Executor) -> int:
    """Return the number of tasks that an executor runs at the same time; an estimate, which affects speed only.

    Raises:
        ExecutionError: The executor belongs to a Dask client that is closed.
    """
    workers: Any = getattr(executor, "_max_workers", None)  # threads and processes of the standard library
    client: Any = getattr(executor, "_client", None)  # Dask's
    if workers is None and client is not None:
        check_client_open(executor)
        workers = sum(client.nthreads().values())
    return int(workers) if workers else os.cpu_count() or 1


def check_options(executor: Any, workers: Any, time_limit: Any) -> None:
    """Check `executor`, `workers` and `time_limit`, which may exclude each other."""
    if executor is not None and not isinstance(executor, Executor):
        raise ExecutionError("an executor must be a concurrent.futures.Executor", f"got {executor!r}")
    if time_limit is not None and not (isinstance(time_limit, (int, float)) and time_limit > 0):
        raise ExecutionError("a time limit must be a positive number of seconds", f"got {time_limit!r}")
    if workers is not None and not (isinstance(workers, int) and workers >= 1):
        raise ExecutionError("workers must be an integer of at least 1", f"got {workers!r}")
    if executor is not None and (workers is not None or time_limit is not None):
        raise ExecutionError(
            "workers and time limits are for local processes",
            "an executor or a cluster was given as well",
            "Leave one of them out",
        )


def _check_picklable(problem: Problem) -> None:
    """Refuse a problem that cannot be sent to another process."""
    try:
        cloudpickle.dumps(problem)
    except Exception as error:
        raise ExecutionError(
            "a Python objective must be picklable, since it runs in worker processes",
            f"{problem.name!r} is not: {error}",
            "Open files, connections and locks inside the function, or compile it with Numba",
        ) from error
