"""A search for a robust design of a user's own problem, every run of whose model is in a store.

The state of the engine is not stored. To resume a search, the optimiser is replayed with the stored values, which takes
moments and yields the same points. So a search can be stopped at any time and for any reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robustforge.engine import Batch, Optimizer, RobustResult
from robustforge.errors import ModelError, ObjectiveError, StoreError, StoreWriteError, TellError
from robustforge.representation import Heuristic
from robustforge.simulator.prior_runs import read_prior_runs
from robustforge.simulator.problem_file import ProblemFile, problem_from_settings
from robustforge.simulator.run_outcome import RunOutcome
from robustforge.simulator.worker_pool import Submit
from robustforge.solver.search_settings import (
    find_search,
    heuristic_to_resume,
    search_settings,
    stored_heuristic,
)
from robustforge.store import PRIOR, SEARCH, SOLVE, Evaluation, Experiment, Store, reporting_damage
from robustforge.store.stored_records import damaged_store_error

MAX_FAILED_RUNS = 10
"""Number of first runs that may all fail before the search is given up."""

SearchCallback = Callable[["StoredSearch"], Any]


class Reported(NamedTuple):
    """The reported outcome of a point that `ask` returned.

    Attributes:
        number: The point's id.
        outcome: Its outcome.
        where: The place of the report in a file, for messages.
    """

    number: int
    outcome: RunOutcome
    where: str = ""


class StoredSearch:
    """A search on a store. `StoredSearch.open` starts or resumes one.

    Attributes:
        file: The problem.
        store: The store of its runs.
        experiment: Its record in the store.
        optimizer: The optimiser, after the replay of all stored runs.
    """

    def __init__(self, file: ProblemFile, store: Store, experiment: Experiment, optimizer: Optimizer) -> None:
        self.file, self.store, self.experiment, self.optimizer = file, store, experiment, optimizer
        self._runs, self._failures = 0, 0
        self._replay()

    @classmethod
    def open(cls, file: ProblemFile, store: Store, accept_changes: bool = False) -> StoredSearch:
        """Start a search, or resume the stored one of the same name.

        Args:
            file: The problem.
            store: The store of its runs.
            accept_changes: Whether the stored runs are still valid although files of the model have changed.

        Raises:
            StoreError: The stored search has other settings, or cannot be resumed.
        """
        heuristic = heuristic_to_resume(file, store)
        settings = search_settings(file, heuristic)
        experiment = find_search(store, file.name, settings, accept_changes)
        if experiment is None:
            prior = _read_prior(file)
            optimizer = _optimizer(file, heuristic, prior)  # raises for an invalid problem before anything is stored
            experiment = store.add_search(file.name, settings, prior)
            return cls(file, store, experiment, optimizer)
        with reporting_damage(store.path):
            return cls(file, store, experiment, _optimizer(file, heuristic, _stored_prior(store, experiment)))

    @classmethod
    def reopen(cls, file: ProblemFile, store: Store) -> StoredSearch:
        """Open a stored search with its own budget, seed, heuristic and policy.

        Raises:
            UnknownNameError: The store has no search of this name.
            StoreError: It has another problem, or files of its model have changed.
        """
        experiment = store.experiment(file.name, SEARCH)
        with reporting_damage(store.path):
            kept = {key: experiment.settings[key] for key in ("budget", "seed", "on_failure", "retries")}
            heuristic = stored_heuristic(experiment)
            file = replace(file, **kept, data=None, verify=experiment.settings.get("verify"))
            find_search(store, file.name, {**search_settings(file, heuristic), "data": experiment.settings["data"]})
            return cls(file, store, experiment, _optimizer(file, heuristic, _stored_prior(store, experiment)))

    @classmethod
    def read(cls, store: Store, experiment: Experiment) -> StoredSearch:
        """Return a stored search in its current state, read-only; also while it is running.

        Raises:
            StoreError: The store is damaged, or was written by another version of the package.
        """
        try:
            file, heuristic = stored_problem(store, experiment), stored_heuristic(experiment)
            return cls(file, store, experiment, _optimizer(file, heuristic, _stored_prior(store, experiment)))
        except StoreError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise damaged_store_error(store.path, f"the search {experiment.name!r} is invalid ({error})") from error

    @property
    def runs(self) -> int:
        """Number of stored runs of the search, without prior runs and attacks."""
        return self._runs

    @property
    def failures(self) -> int:
        """Number of failed runs of the search."""
        return self._failures

    def solve(self, submit: Submit, callback: SearchCallback = lambda search: None) -> RobustResult:
        """Run the model at the points of the search until the search is over.

        Args:
            submit: Schedules a run of the model.
            callback: Called after each run.

        Raises:
            ModelError: The model failed at all first points; the search is deleted from the store.
            ObjectiveError: A run failed and the policy is "raise"; the failed run is not stored.
            StoreWriteError: The store became unwritable; its `result` is the result so far.
        """
        try:
            while batch := self.optimizer.ask():
                self._evaluate(batch, submit, callback)
            self.mark_finished_if_over()
        except StoreWriteError as error:
            error.result = self.result()
            raise
        return self.result()

    def mark_finished_if_over(self) -> None:
        """Mark the search as finished in the store, if it is over."""
        if self.optimizer.finished and self.experiment.ended is None:
            self.store.mark_finished(self.experiment)

    def tell(self, number: int, outcome: RunOutcome) -> None:
        """Store the outcome of a run, and pass it to the optimiser.

        Args:
            number: The id of a pending point.
            outcome: Its outcome.

        Raises:
            TellError: The point is not pending.
        """
        outcome = self.validated(outcome)
        x = self._pending_point(number)
        row = Evaluation(SOLVE, number, x, outcome.value, outcome.failure, outcome.tail, outcome.seconds)
        try:
            self.store.add_evaluations(self.experiment, [row])
        except StoreWriteError:
            if not row.failure:  # the result so far includes its value
                self._feed_optimizer([row])
            raise
        self._count(row)
        self._feed_optimizer([row])

    def new_reports(self, reports: Sequence[Reported]) -> list[tuple[int, RunOutcome]]:
        """Return the reports that are not stored yet; nothing is stored here.

        Args:
            reports: The reports; those stored before with the same value are left out.

        Raises:
            TellError: A point was never returned by `ask`, or is stored with another value.
        """
        pending = set(self.optimizer.ask().ids.tolist())
        rows = [row for row in self.store.evaluations(self.experiment) if row.part == SOLVE]
        known = {row.number: RunOutcome(row.value, row.failure) for row in rows}
        new = []
        for number, outcome, where in reports:
            validated = self.validated(outcome)
            if number in known:
                _check_same_value(number, known[number], validated, where)
            elif number in pending:
                known[number] = validated
                new.append((number, outcome))
            else:
                raise _not_pending(number, where)
        return new

    def _feed_optimizer(self, rows: Sequence[Evaluation]) -> None:
        """Pass stored runs to the optimiser."""
        first = self.optimizer.nfev
        try:
            self.optimizer.tell([row.number for row in rows], [self._minimised(row.value) for row in rows])
        except ObjectiveError as error:  # the policy is to raise, and all retries are used
            raise self._failure_error(first) from error

    def _failure_error(self, first: int) -> ObjectiveError:
        """Delete the failed runs of the last batch, so that they are repeated on resuming; return the error."""
        rows = [row for row in self.store.evaluations(self.experiment) if row.part == SOLVE and row.number >= first]
        failed = [row for row in rows if row.failure]
        for row in failed:
            self.store.delete_evaluation(self.experiment, SOLVE, row.number)
        return ObjectiveError(
            f"run {failed[0].number} failed: {failed[0].failure}",
            'on_failure = "raise" ends the search',
            "Fix the model and repeat the command, with --accept-changes if its files have changed; or choose another "
            f"policy and another name{_last_output(failed[0])}",
        )

    def result(self) -> RobustResult:
        """Return the current result, scaled for the search."""
        return self.optimizer.result()

    def _evaluate(self, batch: Batch, submit: Submit, callback: SearchCallback) -> None:
        """Run the model at all points of a batch, and store each outcome as soon as it is available."""
        pending = {submit(self.file.variables.decode(x), number): number for number, x in batch}
        try:
            while pending:
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    self.tell(pending.pop(future), future.result())
                    callback(self)
                    self._give_up()
        finally:
            for future in pending:
                future.cancel()

    def _pending_point(self, number: int) -> tuple[float, ...]:
        """Return the pending point with an id."""
        for pending, x in self.optimizer.ask():
            if pending == number:
                return tuple(x.tolist())
        raise _not_pending(number)

    def _count(self, row: Evaluation) -> None:
        self._runs += 1
        self._failures += bool(row.failure)

    def _give_up(self) -> None:
        """Delete a search whose model fails everywhere, so that it starts again once the model is fixed."""
        if self._failures < self._runs or (self._runs < MAX_FAILED_RUNS and not self.optimizer.finished):
            return
        last = max(self.store.evaluations(self.experiment), key=lambda row: (row.part == SOLVE, row.number))
        self.store.delete_search(self.experiment)
        raise ModelError(
            f"all of the first {self._runs} runs of the model failed",
            f"the last one: {last.failure}",
            "`robustforge check` runs the model once and shows its output. If these designs are infeasible, have "
            f"the model print inf{_last_output(last)}",
        )

    def validated(self, outcome: RunOutcome) -> RunOutcome:
        """Return an outcome, as a failure if its value is infinitely good."""
        if self._minimised(outcome.value) != -math.inf:
            return outcome
        return replace(outcome, value=math.nan, failure=f"the result is {outcome.value}, which is not a valid value")

    def _minimised(self, value: float) -> float:
        """Return a value for the search, negated to maximise."""
        return self.file.sign * value

    def _replay(self) -> None:
        """Pass all stored runs to the optimiser, and check that it asks for the stored points."""
        rows = {row.number: row for row in self.store.evaluations(self.experiment) if row.part == SOLVE}
        if any(self._minimised(row.value) == -math.inf for row in rows.values()):
            raise damaged_store_error(self.store.path, f"a run of {self.experiment.name!r} is infinitely good")
        remaining = dict(rows)
        while remaining:
            batch = [(number, x) for number, x in self.optimizer.ask() if number in remaining]
            if not batch or any(tuple(x.tolist()) != remaining[number].x for number, x in batch):
                raise self._replay_error()
            self._feed_optimizer([remaining.pop(n) for n, _ in batch])  # deletes a failure that ended the search
        for row in rows.values():
            self._count(row)

    def _replay_error(self) -> StoreError:
        return StoreError(
            f"the stored search {self.experiment.name!r} cannot be replayed",
            "this version of the package generates different points",
            "Use the version that started it; or write its runs by `robustforge runs STORE --csv FILE`, and start "
            "another search with them as `data`",
        )


def stored_problem(store: Store, experiment: Experiment) -> ProblemFile:
    """Return the problem of a stored search, without its model."""
    return problem_from_settings(experiment.settings, Path(store.path))


def _not_pending(number: int, where: str = "") -> TellError:
    prefix = f"{where}: " if where else ""
    return TellError(f"{prefix}point {number} is not pending", fix="`robustforge ask` lists the pending points")


def _check_same_value(number: int, before: RunOutcome, now: RunOutcome, where: str) -> None:
    """Raise if a point has another stored value."""
    if before.failed == now.failed and (before.failed or before.value == now.value):
        return
    stored, reported = ("failed" if outcome.failed else repr(outcome.value) for outcome in (before, now))
    prefix = f"{where}: " if where else ""
    raise TellError(
        f"{prefix}point {number} already has another value",
        f"{stored} is stored, {reported} is reported",
        "Stored values cannot be changed; start a search with another name if the stored one is wrong",
    )


def _last_output(row: Evaluation) -> str:
    """Return the last output of a failed run, as the end of a message."""
    return f". Last lines of output:\n{row.tail.strip()}" if row.tail.strip() else ""


def _read_prior(file: ProblemFile) -> list[Evaluation]:
    """Return the prior runs of a problem file."""
    if file.data is None:
        return []
    rows = read_prior_runs(file.data, file.variables)
    return [
        Evaluation(PRIOR, number, tuple(file.variables.encode(point).tolist()), value)
        for number, (point, value) in enumerate(rows)
    ]


def _stored_prior(store: Store, experiment: Experiment) -> list[Evaluation]:
    """Return the prior runs of a stored search."""
    prior = [row for row in store.evaluations(experiment) if row.part == PRIOR]
    if [row.number for row in prior] != list(range(len(prior))):
        raise damaged_store_error(store.path, f"prior runs of {experiment.name!r} are missing")
    return prior


def _optimizer(file: ProblemFile, heuristic: Heuristic, prior: list[Evaluation]) -> Optimizer:
    values = [file.sign * row.value for row in prior]
    return Optimizer(
        file.scaled_problem,
        budget=file.budget,
        heuristic=heuristic,
        rng=file.seed,
        on_failure=file.on_failure,
        retries=file.retries,
        verify=file.verify,
        prior_evaluations=(np.array([row.x for row in prior]), values) if prior else None,
    )
