"""The workshop: gets runs done through an executor, in chunks worth sending, and outlives workers that do not.

A chunk whose worker died is taken apart: each of its tasks is tried again by itself, and a task that takes its worker
along a second time has failed, with the reason. Where workers hold several tasks, as Dask's do, the innocent die with
the guilty: then the suspects are tried one after the other, with nothing else at work. All other tasks are as if
nothing had happened.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, Protocol, TypeVar

from robustforge.errors import ExecutionError, RobustforgeError
from robustforge.execution.deaths import NotStarted, OutOfTime, WorkerError, death_of
from robustforge.execution.waiting import first_done, submitted
from robustforge.workshop.crew import Crew

SECONDS_PER_CHUNK = 0.3
"""How long a chunk should take, so that handing it out costs nothing beside it."""

DEATHS = 2
"""How many workers a task has to take along to have failed: the first may have died for another reason."""

MOST_FALSE_STARTS = 5
"""How often a worker may fail to start before the machine, not a task, is at fault."""

_FIX = "See what the machine is short of: processes, memory, open files; then give the same command again"


class Done(Protocol):
    """What comes of a task."""

    @property
    def seconds(self) -> float:
        """How long it took."""

    @property
    def failure(self) -> str:
        """Why it failed; empty if it did not."""


R = TypeVar("R", bound=Done)
R_co = TypeVar("R_co", bound=Done, covariant=True)


class Task(Protocol[R_co]):
    """Something to be done."""

    @property
    def group(self) -> int:
        """Tasks of one group may be in one chunk, and take about as long as each other."""

    @property
    def key(self) -> Hashable:
        """What tells it from all others."""

    def failed(self, reason: str) -> R_co:
        """Return what comes of it if its worker dies of it."""


T = TypeVar("T", bound=Task[Any])


class Workshop(Generic[T, R]):
    """Gets tasks done, wherever the crew does them.

    Args:
        crew: Who does the work.
        order: Returns, for tasks of one group, the function to call and its arguments; it returns their results.
    """

    def __init__(self, crew: Crew, order: Callable[[list[T]], tuple[Any, ...]]) -> None:
        self._crew, self._order = crew, order
        self._seconds: dict[int, float] = defaultdict(float)  # of a task that did not fail, on average; 0 at first
        self._size = 1

    def make(self, tasks: Sequence[T], keep: Callable[[list[R]], None]) -> None:
        """Do all these tasks; `keep` is called with results as they come, in any order, in this thread."""
        waiting = deque(sorted(tasks, key=lambda task: task.group))
        inquiry: Inquiry[T, R] = Inquiry()
        flying: dict[Future[list[R]], list[T]] = {}
        try:
            while waiting or inquiry.suspects or flying:
                while (waiting or inquiry.suspects) and len(flying) < inquiry.most(2 * self._crew.width):
                    chunk = inquiry.next() or self._next_chunk(waiting)
                    flying[submitted(self._crew.executor, *self._order(chunk))] = chunk
                for future in first_done(flying, self._crew.executor):
                    chunk = flying.pop(future)
                    error = future.exception()
                    if error is None:
                        self._learn(chunk[0].group, future.result())
                        keep(future.result())
                    elif failed := inquiry.verdict(chunk, error, by_itself=not flying):
                        keep([failed])
        finally:
            for future in flying:
                future.cancel()

    def _next_chunk(self, waiting: deque[T]) -> list[T]:
        """Take the next tasks of one group: enough to be worth sending, few enough to end together with the others."""
        group = waiting[0].group
        seconds = self._seconds[group]
        wanted = math.ceil(SECONDS_PER_CHUNK / seconds) if seconds else 1
        self._size = min(wanted, 2 * self._size, self._crew.largest)  # a step at a time: a mean can mislead
        size = min(self._size, math.ceil(len(waiting) / (2 * self._crew.width)))
        chunk = [waiting.popleft()]
        while waiting and len(chunk) < size and waiting[0].group == group:
            chunk.append(waiting.popleft())
        return chunk

    def _learn(self, group: int, results: list[R]) -> None:
        """Take note of what a task costs; the latest count most."""
        taken = [result.seconds for result in results if not result.failure]
        if not taken:
            return
        seconds, known = sum(taken) / len(taken), self._seconds[group]
        self._seconds[group] = 0.8 * known + 0.2 * seconds if known else seconds


class Inquiry(Generic[T, R]):
    """Finds out which task takes its worker along, when one has died.

    Attributes:
        suspects: The tasks that were with a worker when it died, each to be tried by itself.
    """

    def __init__(self) -> None:
        self.suspects: deque[T] = deque()
        self._deaths: Counter[Hashable] = Counter()
        self._false_starts = 0
        self._shared = False  # whether a worker holds several chunks, which die together

    def most(self, usual: int) -> int:
        """Return how many chunks may be at work: one, if others could be blamed for a suspect."""
        return 1 if self.suspects and self._shared else usual

    def next(self) -> list[T]:
        """Return a suspect, if there is one, as a chunk."""
        return [self.suspects.popleft()] if self.suspects else []

    def verdict(self, chunk: list[T], error: BaseException, by_itself: bool) -> R | None:
        """Return the result of a task that has failed, if that is clear; else its chunk is tried again, one by one.

        Args:
            chunk: What was with the worker.
            error: What became of it; raised if it was no death.
            by_itself: Whether nothing else was at work.
        """
        reason = death_of(error)
        if reason is None:
            raise _stopped(error)
        if isinstance(error, NotStarted):
            self._false_starts += 1
            if self._false_starts > MOST_FALSE_STARTS:
                raise ExecutionError("worker processes must start", f"{reason}, and not for the first time", _FIX)
        else:
            self._shared = not isinstance(error, WorkerError)
            task = chunk[0]
            if len(chunk) == 1 and (by_itself or not self._shared):
                self._deaths[task.key] += 1
                if isinstance(error, OutOfTime) or self._deaths[task.key] == DEATHS:
                    failed: R = task.failed(reason)
                    return failed
        self.suspects.extend(chunk)
        return None


def _stopped(error: BaseException) -> BaseException:
    """Return what to raise for a task that could not be done at all: who carries tasks out is at fault."""
    if isinstance(error, RobustforgeError) or not isinstance(error, Exception):
        return error
    stopped = ExecutionError(
        "workers must be able to run robustforge and your objective",
        f"one of them could not: {type(error).__name__}: {str(error) or 'no reason given'}",
        "Let them import your modules and the same versions; an executor that breaks is of no further use",
    )
    stopped.__cause__ = error
    return stopped
