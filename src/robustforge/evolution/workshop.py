"""The workshop: gets trials done through an executor, in chunks worth sending, and outlives workers that do not.

A chunk whose worker died is taken apart: each of its runs is tried again by itself, and a run that takes its worker
along a second time has failed, with the reason. Where workers hold several tasks, as Dask's do, the innocent die with
the guilty: then the suspects are tried one after the other, with nothing else at work. All other runs are as if nothing
had happened.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import replace

from robustforge.errors import ExecutionError, RobustforgeError
from robustforge.evolution.settings import Settings
from robustforge.evolution.trial import Trial, run_trials
from robustforge.execution import NotStarted, OutOfTime, WorkerError, death_of
from robustforge.problem import Problem
from robustforge.store import Run, RunKey

SECONDS_PER_CHUNK = 0.3
"""How long a task should take, so that handing it out costs nothing beside it."""

LARGEST_CHUNK = 1000
"""Most runs in a task."""

DEATHS = 2
"""How many workers a run has to take along to have failed: the first may have died for another reason."""


MOST_FALSE_STARTS = 5
"""How often a worker may fail to start before the machine, not a run, is at fault."""

_FIX = "See what the machine is short of: processes, memory, open files; then give the same command again"


class Workshop:
    """Makes runs, wherever the executor makes them.

    Args:
        executor: Who does the work.
        width: How many tasks it does at the same time.
        problems: The problems of the experiment.
        settings: Its settings.
        largest: Most runs in a task; 1 where a time limit is for each.
    """

    def __init__(
        self,
        executor: Executor,
        width: int,
        problems: Sequence[Problem],
        settings: Settings,
        largest: int = LARGEST_CHUNK,
    ) -> None:
        self._executor, self._width, self._largest = executor, max(width, 1), largest
        self._problems, self._settings = problems, settings
        self._seconds = [0.0] * len(problems)  # of a run that did not fail, on average; 0 until there was one
        self._size = 1

    def make(self, trials: Sequence[Trial], keep: Callable[[list[Run]], None]) -> None:
        """Make all these runs; `keep` is called with them as they are done, in any order, in this thread."""
        waiting = deque(sorted(trials, key=lambda each: each.run.problem))
        inquiry = Inquiry()
        flying: dict[Future[list[Run]], list[Trial]] = {}
        try:
            while waiting or inquiry.suspects or flying:
                while (waiting or inquiry.suspects) and len(flying) < inquiry.most(2 * self._width):
                    chunk = inquiry.next() or self._next_chunk(waiting)
                    flying[self._submit(chunk)] = chunk
                for future in wait(flying, return_when=FIRST_COMPLETED).done:
                    chunk = flying.pop(future)
                    error = future.exception()
                    if error is None:
                        self._learn(future.result())
                        keep(future.result())
                    elif failed := inquiry.verdict(chunk, error, by_itself=not flying):
                        keep([failed])
        finally:
            for future in flying:
                future.cancel()

    def _submit(self, chunk: list[Trial]) -> Future[list[Run]]:
        problem = self._problems[chunk[0].run.problem]
        return self._executor.submit(run_trials, problem, self._settings, chunk)

    def _next_chunk(self, waiting: deque[Trial]) -> list[Trial]:
        """Take the next runs of one problem: enough to be worth sending, few enough to end together with the others."""
        problem = waiting[0].run.problem
        seconds = self._seconds[problem]
        wanted = math.ceil(SECONDS_PER_CHUNK / seconds) if seconds else 1
        self._size = min(wanted, 2 * self._size, self._largest)  # a step at a time: a mean can mislead
        size = min(self._size, math.ceil(len(waiting) / (2 * self._width)))
        chunk = [waiting.popleft()]
        while waiting and len(chunk) < size and waiting[0].run.problem == problem:
            chunk.append(waiting.popleft())
        return chunk

    def _learn(self, runs: list[Run]) -> None:
        """Take note of what a run costs; the latest count most."""
        taken = [run.seconds for run in runs if not run.failure]
        if not taken:
            return
        problem, seconds = runs[0].problem, sum(taken) / len(taken)
        known = self._seconds[problem]
        self._seconds[problem] = 0.8 * known + 0.2 * seconds if known else seconds


class Inquiry:
    """Finds out which run takes its worker along, when one has died.

    Attributes:
        suspects: The runs that were with a worker when it died, each to be tried by itself.
    """

    def __init__(self) -> None:
        self.suspects: deque[Trial] = deque()
        self._deaths: Counter[RunKey] = Counter()
        self._false_starts = 0
        self._shared = False  # whether a worker holds several tasks, which die together

    def most(self, usual: int) -> int:
        """Return how many tasks may be at work: one, if others could be blamed for a suspect."""
        return 1 if self.suspects and self._shared else usual

    def next(self) -> list[Trial]:
        """Return a suspect, if there is one, as a chunk."""
        return [self.suspects.popleft()] if self.suspects else []

    def verdict(self, chunk: list[Trial], error: BaseException, by_itself: bool) -> Run | None:
        """Return the run that has failed, if that is clear; else its chunk is tried again, run by run.

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
            run = chunk[0].run
            if len(chunk) == 1 and (by_itself or not self._shared):
                self._deaths[run.key] += 1
                if isinstance(error, OutOfTime) or self._deaths[run.key] == DEATHS:
                    return replace(run, failure=reason)
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
