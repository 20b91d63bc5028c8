"""The process of an assessment: what the store holds is taken from there, the rest is run.

A run that failed is stored with its reason, and made again when it is asked for again: what failed may be mended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from robustforge.assessment.assessed import Task, run_tasks
from robustforge.contestants import Contestant
from robustforge.contestants.names import HeuristicContestant
from robustforge.errors import StoreError
from robustforge.problem import Problem
from robustforge.store import Assessed, AssessedKey, Store
from robustforge.store.records import damaged
from robustforge.workshop import Crew, Workshop

LAP = 20
"""Repeats that are made of all contestants before the next are begun, so that what is interrupted is balanced."""


@dataclass
class Progress:
    """How far an assessment is.

    Attributes:
        wanted: Runs in all.
        found: Those that the store had.
        made: Those made so far.
        started: When the first of them was begun (`time.monotonic`).
    """

    wanted: int
    found: int
    made: int = 0
    started: float = 0.0

    @property
    def seconds_left(self) -> float | None:
        """How long it will take at this rate; `None` until there is one."""
        if not self.made:
            return None
        return (self.wanted - self.found - self.made) * (time.monotonic() - self.started) / self.made


class Process:
    """An assessment at work.

    Args:
        store: Keeps every run.
        crew: Who makes them.
        contestants: Who takes part.
        problems: On what; group g of a task is contestant g modulo their number on problem g divided by it.
        callback: Called as runs are done.

    Attributes:
        known: The runs that there are, by key.
    """

    def __init__(
        self,
        store: Store,
        crew: Crew,
        contestants: Sequence[Contestant],
        problems: Sequence[Problem],
        callback: Callable[[Progress], Any] | None,
    ) -> None:
        self._store, self._callback = store, callback
        self._workshop: Workshop[Task, Assessed] = Workshop(crew, self._order)
        self._contestants, self._problems = contestants, problems
        self.known: dict[AssessedKey, Assessed] = {run.key: run for run in store.assessed()}
        for run in list(self.known.values()):
            if run.attack:  # it has all that one without an attack has
                self.known.setdefault(replace(run, attack=False).key, run)
        self._progress = Progress(0, 0)

    @property
    def made(self) -> int:
        """How many runs were made now."""
        return self._progress.made

    def run(self, tasks: Sequence[Task]) -> None:
        """Make what the store does not hold; `known` then has all."""
        self._check_known(tasks)
        self._rename(tasks)
        missing = [task for task in tasks if task.key not in self.known or self.known[task.key].failure]
        self._progress = Progress(len(tasks), len(tasks) - len(missing), started=time.monotonic())
        if missing:
            bred = [each.heuristic for each in self._contestants if isinstance(each, HeuristicContestant)]
            self._store.add_heuristics(bred)
        for first in range(0, max((task.run.repeat for task in missing), default=-1) + 1, LAP):
            self._workshop.make([task for task in missing if first <= task.run.repeat < first + LAP], self._keep)

    def _problem(self, task: Task) -> Problem:
        return self._problems[task.group // len(self._contestants)]

    def _order(self, tasks: list[Task]) -> tuple[Any, ...]:
        return run_tasks, self._problem(tasks[0]), tasks

    def _keep(self, runs: list[Assessed]) -> None:
        self._store.add_assessed(runs)
        self.known.update((run.key, run) for run in runs)
        self._progress.made += len(runs)
        if self._callback is not None:
            self._callback(self._progress)

    def _rename(self, tasks: Sequence[Task]) -> None:
        """Call what is stored as it is called now."""
        other = [task for task in tasks if task.key in self.known and self.known[task.key].name != task.run.name]
        renamed = [replace(self.known[task.key], name=task.run.name) for task in other]
        if renamed:
            self._store.add_assessed(renamed)
            self.known.update((run.key, run) for run in renamed)

    def _check_repeat(self, task: Task) -> None:
        """Refuse a stored run whose number does not belong to its seed: it was changed."""
        known = self.known.get(task.key)
        if known is not None and known.repeat != task.run.repeat:
            fact = f"run {known.repeat} of {known.name!r} has the seed of run {task.run.repeat}"
            raise damaged(self._store.path, fact)

    def _check_known(self, tasks: Sequence[Task]) -> None:
        """Make one stored run of each of the user's own problems and optimisers again; refuse what has changed."""
        first: dict[int, Task] = {}
        for task in tasks:
            self._check_repeat(task)
            ours = task.contestant.fixed and self._problem(task).is_test_problem
            known = self.known.get(task.key)
            if not ours and known is not None and not known.failure:
                first.setdefault(task.group, task)
        for task in first.values():
            again: list[Assessed] = []
            self._workshop.make([task], again.extend)
            known = self.known[task.key]
            if again[0].failure or again[0].value != known.value:
                now = f"fails now: {again[0].failure}" if again[0].failure else f"gives {again[0].value:.9g} now"
                raise StoreError(
                    "what is stored must come out the same when it is run again",
                    f"a run of {known.name!r} on {known.problem_name!r} gave {known.value:.9g}, and {now}",
                    "If you changed the objective or the optimiser, name another store; if it draws random numbers, "
                    "fix their seed",
                )
