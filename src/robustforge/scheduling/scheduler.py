"""The scheduler: runs tasks through an executor, in chunks of a suitable size, and survives the death of workers.

When a worker dies, the tasks of its chunk are retried one by one, and a task whose worker dies again has failed, with
the reason. Workers that hold several tasks, as Dask's do, take other tasks with them when they die: then the tasks in
question are retried one after the other, with nothing else running, to isolate the failing one. All other tasks are
unaffected.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, Protocol, TypeVar

from robustforge.errors import ExecutionError, RobustforgeError
from robustforge.execution.executor_wait import submit, wait_first
from robustforge.execution.worker_errors import TimeLimitExceeded, WorkerError, WorkerNotStarted, worker_failure
from robustforge.scheduling.backends import Backend

SECONDS_PER_CHUNK = 0.3
"""Target duration of a chunk, so that the overhead of submitting it is negligible."""

MAX_WORKER_DEATHS = 2
"""Crashes of workers after which their task counts as failed; the first may have had another reason."""

MAX_FALSE_STARTS = 5
"""Worker processes that may fail to start before the machine, rather than a task, is at fault."""


class Result(Protocol):
    """The result of a task."""

    @property
    def seconds(self) -> float:
        """Duration of the task."""

    @property
    def failure(self) -> str:
        """Why the task failed; empty if it succeeded."""


R = TypeVar("R", bound=Result)
R_co = TypeVar("R_co", bound=Result, covariant=True)


class Task(Protocol[R_co]):
    """A task to be run by a worker."""

    @property
    def group(self) -> int:
        """Tasks of one group may share a chunk, and have about the same duration."""

    @property
    def key(self) -> Hashable:
        """Identifies the task."""

    def failed(self, reason: str) -> R_co:
        """Return the result of a task that killed its worker."""


T = TypeVar("T", bound=Task[Any])


class Scheduler(Generic[T, R]):
    """Runs tasks on a backend.

    Args:
        backend: Executes the tasks.
        call: Returns, for tasks of one group, a function and its arguments; the function returns their results.
    """

    def __init__(self, backend: Backend, call: Callable[[list[T]], tuple[Any, ...]]) -> None:
        self._backend, self._call = backend, call
        self._seconds: dict[int, float] = defaultdict(float)  # mean duration of a task by group; 0 if unknown
        self._chunk_size = 1

    def run(self, tasks: Sequence[T], on_results: Callable[[list[R]], None]) -> None:
        """Run all these tasks; `on_results` is called with results as they complete, in any order, in this thread."""
        pending = deque(sorted(tasks, key=lambda task: task.group))
        retries: Retries[T, R] = Retries()
        running: dict[Future[list[R]], list[T]] = {}
        try:
            while pending or retries.tasks or running:
                while (pending or retries.tasks) and len(running) < retries.max_running(2 * self._backend.workers):
                    chunk = retries.next_chunk() or self._next_chunk(pending)
                    running[submit(self._backend.executor, *self._call(chunk))] = chunk
                for future in wait_first(running, self._backend.executor):
                    chunk = running.pop(future)
                    error = future.exception()
                    if error is None:
                        self._update_durations(chunk[0].group, future.result())
                        on_results(future.result())
                    elif failed := retries.handle(chunk, error, alone=not running):
                        on_results([failed])
        finally:
            for future in running:
                future.cancel()

    def _next_chunk(self, pending: deque[T]) -> list[T]:
        """Return the next tasks of one group: enough to justify the overhead, few enough to keep all workers busy."""
        group = pending[0].group
        seconds = self._seconds[group]
        target = math.ceil(SECONDS_PER_CHUNK / seconds) if seconds else 1
        self._chunk_size = min(target, 2 * self._chunk_size, self._backend.max_chunk)  # grows slowly: means may mislead
        size = min(self._chunk_size, math.ceil(len(pending) / (2 * self._backend.workers)))
        chunk = [pending.popleft()]
        while pending and len(chunk) < size and pending[0].group == group:
            chunk.append(pending.popleft())
        return chunk

    def _update_durations(self, group: int, results: list[R]) -> None:
        """Update the mean duration of a group's tasks, an exponential moving average."""
        durations = [result.seconds for result in results if not result.failure]
        if not durations:
            return
        seconds, known = sum(durations) / len(durations), self._seconds[group]
        self._seconds[group] = 0.8 * known + 0.2 * seconds if known else seconds


class Retries(Generic[T, R]):
    """Retries the tasks of workers that died, and isolates the failing ones.

    Attributes:
        tasks: The tasks that were on a worker when it died, each to be retried alone.
    """

    def __init__(self) -> None:
        self.tasks: deque[T] = deque()
        self._deaths: Counter[Hashable] = Counter()
        self._false_starts = 0
        self._is_shared = False  # whether a worker holds several chunks, which die together

    def max_running(self, usual: int) -> int:
        """Return how many chunks may run at the same time: one, while tasks of a shared worker are retried alone."""
        return 1 if self.tasks and self._is_shared else usual

    def next_chunk(self) -> list[T]:
        """Return a chunk with one task to be retried; empty if there is none."""
        return [self.tasks.popleft()] if self.tasks else []

    def handle(self, chunk: list[T], error: BaseException, alone: bool) -> R | None:
        """Return the result of a task if it has failed; otherwise schedule the chunk for a retry.

        Args:
            chunk: The tasks that were on the worker.
            error: The exception of their future; raised if the worker did not die.
            alone: Whether no other chunk was running.
        """
        reason = worker_failure(error)
        if reason is None:
            raise _execution_error(error)
        if isinstance(error, WorkerNotStarted):
            self._count_false_start(reason)
        else:
            self._is_shared = not isinstance(error, WorkerError)
            task = chunk[0]
            if len(chunk) == 1 and (alone or not self._is_shared):
                self._deaths[task.key] += 1
                if isinstance(error, TimeLimitExceeded) or self._deaths[task.key] == MAX_WORKER_DEATHS:
                    failed: R = task.failed(reason)
                    return failed
        self.tasks.extend(chunk)
        return None

    def _count_false_start(self, reason: str) -> None:
        self._false_starts += 1
        if self._false_starts > MAX_FALSE_STARTS:
            fact = f"{self._false_starts} failed to start, the last because {reason}"
            fix = "Check the limits on processes, memory and open files, then give the same command again"
            raise ExecutionError("worker processes must be able to start", fact, fix)


def _execution_error(error: BaseException) -> BaseException:
    """Return the exception to raise for a task that could not run at all."""
    if isinstance(error, RobustforgeError) or not isinstance(error, Exception):
        return error
    raised = ExecutionError(
        "workers must be able to run robustforge and the objective",
        f"a worker raised {type(error).__name__}: {str(error) or 'no message'}",
        "Make your modules and the same versions importable on all workers; a broken executor cannot be used again",
    )
    raised.__cause__ = error
    return raised
