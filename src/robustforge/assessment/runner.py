"""Runs an assessment: takes the stored runs from the store, and carries out the missing ones.

A failed run is stored with its reason. It is repeated by the next assessment that needs it, since its cause may have
been fixed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from robustforge.arguments import former_attribute
from robustforge.assessment.assessment_task import AssessmentTask, run_tasks
from robustforge.contestants import Contestant
from robustforge.contestants.lookup import HeuristicContestant
from robustforge.errors import StoreError
from robustforge.formatting import whole_duration
from robustforge.robust_problem import Problem
from robustforge.scheduling import Backend, Scheduler
from robustforge.store import AssessedRun, AssessedRunKey, Store
from robustforge.store.stored_records import damaged_store_error

_logger = logging.getLogger(__name__)

REPEATS_PER_ROUND = 20
"""Repeats of all contestants before the next round starts, so that an interrupted assessment is balanced."""


@dataclass
class Progress:
    """The progress of an assessment.

    Attributes:
        total: All runs.
        stored_runs: Runs that were in the store.
        new_runs: Runs made so far.
        started: When the first run was started (`time.monotonic`).
    """

    total: int
    stored_runs: int
    new_runs: int = 0
    started: float = 0.0

    wanted = former_attribute("wanted", "total")
    found = former_attribute("found", "stored_runs")
    made = former_attribute("made", "new_runs")

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds until the assessment is complete; `None` before the first run."""
        if not self.new_runs:
            return None
        left = self.total - self.stored_runs - self.new_runs
        return left * (time.monotonic() - self.started) / self.new_runs


class AssessmentRunner:
    """Runs an assessment on a backend and stores its runs.

    Args:
        store: Stores every run.
        backend: Executes runs.
        contestants: The contestants.
        problems: The problems; group g of a task is contestant g % n on problem g // n, for n contestants.
        on_progress: Called whenever runs complete.

    Attributes:
        runs: The completed runs by key.
        progress: The progress.
    """

    def __init__(
        self,
        store: Store,
        backend: Backend,
        contestants: Sequence[Contestant],
        problems: Sequence[Problem],
        on_progress: Callable[[Progress], Any] | None,
    ) -> None:
        self._store, self._on_progress = store, on_progress
        self._scheduler: Scheduler[AssessmentTask, AssessedRun] = Scheduler(backend, self._call)
        self._contestants, self._problems = contestants, problems
        self.runs: dict[AssessedRunKey, AssessedRun] = {run.key: run for run in store.assessed_runs()}
        for run in list(self.runs.values()):
            if run.attack:  # it has everything that a run without an attack has
                self.runs.setdefault(replace(run, attack=False).key, run)
        self.progress = Progress(0, 0)

    def run(self, tasks: Sequence[AssessmentTask]) -> None:
        """Make the runs that the store does not hold."""
        self._check_stored(tasks)
        self._rename(tasks)
        missing = [task for task in tasks if task.key not in self.runs or self.runs[task.key].failure]
        self.progress = Progress(len(tasks), len(tasks) - len(missing), started=time.monotonic())
        if missing:
            self._store.add_heuristics(
                each.heuristic for each in self._contestants if isinstance(each, HeuristicContestant)
            )
        repeats = max((task.run.repeat for task in missing), default=-1) + 1
        for first in range(0, repeats, REPEATS_PER_ROUND):
            tasks_of_round = [task for task in missing if first <= task.run.repeat < first + REPEATS_PER_ROUND]
            self._scheduler.run(tasks_of_round, self._add)

    def _problem(self, task: AssessmentTask) -> Problem:
        return self._problems[task.group // len(self._contestants)]

    def _call(self, tasks: list[AssessmentTask]) -> tuple[Any, ...]:
        return run_tasks, self._problem(tasks[0]), tasks

    def _add(self, runs: list[AssessedRun]) -> None:
        self._store.add_assessed_runs(runs)
        self.runs.update((run.key, run) for run in runs)
        self.progress.new_runs += len(runs)
        self._log_progress(len(runs))
        if self._on_progress is not None:
            self._on_progress(self.progress)

    def _log_progress(self, new: int) -> None:
        """Log the progress whenever another tenth of all runs is complete."""
        progress = self.progress
        completed = progress.stored_runs + progress.new_runs
        if 10 * completed // progress.total > 10 * (completed - new) // progress.total:
            left = whole_duration(progress.seconds_left)
            _logger.info("assess: %s of %s runs, %s left", f"{completed:,}", f"{progress.total:,}", left)

    def _rename(self, tasks: Sequence[AssessmentTask]) -> None:
        """Give stored runs the present names of their contestants."""
        other = [task for task in tasks if task.key in self.runs and self.runs[task.key].name != task.run.name]
        renamed = [replace(self.runs[task.key], name=task.run.name) for task in other]
        if renamed:
            self._store.add_assessed_runs(renamed)
            self.runs.update((run.key, run) for run in renamed)

    def _check_repeat(self, task: AssessmentTask) -> None:
        """Refuse a stored run whose repeat number does not match its seed: the store was changed."""
        stored = self.runs.get(task.key)
        if stored is not None and stored.repeat != task.run.repeat:
            fact = f"run {stored.repeat} of {stored.name!r} has the seed of run {task.run.repeat}"
            raise damaged_store_error(self._store.path, fact)

    def _check_stored(self, tasks: Sequence[AssessmentTask]) -> None:
        """Repeat one stored run of each of the user's own problems and optimisers; refuse those that have changed.

        Runs of optimisers whose bits depend on the CPU are not repeated.
        """
        first: dict[int, AssessmentTask] = {}
        for task in tasks:
            self._check_repeat(task)
            is_reproducible = task.contestant.fixed and self._problem(task).is_test_problem
            stored = self.runs.get(task.key)
            if is_reproducible or not task.contestant.portable:
                continue
            if stored is not None and not stored.failure:
                first.setdefault(task.group, task)
        for task in first.values():
            repeated: list[AssessedRun] = []
            self._scheduler.run([task], repeated.extend)
            _check_same(self.runs[task.key], repeated[0])


def _check_same(stored: AssessedRun, repeated: AssessedRun) -> None:
    if not repeated.failure and repeated.value == stored.value:
        return
    now = f"fails now: {repeated.failure}" if repeated.failure else f"gives {repeated.value!r} now"
    raise StoreError(
        "stored runs must be reproducible",
        f"a run of {stored.name!r} on {stored.problem_name!r} gave {stored.value!r}, and {now}",
        "If you changed the objective or the optimiser, use another store; if it draws random numbers, fix their seed",
    )
