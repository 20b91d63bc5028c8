"""The attack on the design of a stored search: further runs of the model that look for a worse case."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.errors import ObjectiveError, ProblemError, StoreError, StoreWriteError
from robustforge.simulator.run_outcome import RunOutcome
from robustforge.simulator.worker_pool import Submit
from robustforge.solver.stored_search import StoredSearch
from robustforge.store import VERIFY, Evaluation
from robustforge.verification.argument_checks import prior_points_within
from robustforge.verification.neighbourhood import Neighbourhood
from robustforge.verification.screening import PointArchive, screening_attack

Floats = npt.NDArray[np.float64]

BATCH_SIZE = 8
"""Runs that are independent of each other's values."""


@dataclass(frozen=True)
class AttackResult:
    """The result of an attack, in the user's names and units, with the user's sign.

    Attributes:
        nominal: The nominal value of the design, if it is built exactly.
        found_by_search: The worst value that the search had found.
        worst: The worst value found after the attack.
        worst_point: The point of that value.
        runs: Runs of the attack.
        failures: Number of failed runs.
        slopes: The change of the value across each tolerance, by a linear model of all evaluations within the
            tolerances.
    """

    nominal: float
    found_by_search: float
    worst: float
    worst_point: dict[str, float]
    runs: int
    failures: int
    slopes: dict[str, float]


class StoredAttack:
    """An attack on the design of a finished search; stored runs are not repeated.

    Args:
        search: The search.

    Attributes:
        archive: All evaluated points within the tolerances.
        runs: Runs of the attack so far.
        failures: Number of failed runs.

    Raises:
        ProblemError: The search is not finished, or has no design.
    """

    def __init__(self, search: StoredSearch) -> None:
        result = search.result()
        if not search.optimizer.finished or math.isnan(result.nominal_fun) or math.isnan(result.fun):
            fact = f"{search.experiment.name!r} has no design yet: {result.message}"
            raise ProblemError("only a finished search can be verified", fact, "Finish it with `solve`")
        self.search, self.search_result = search, result
        self._neighbourhood = Neighbourhood(search.file.scaled_problem, result.x)
        self._rows = {e.number: e for e in search.store.evaluations(search.experiment) if e.part == VERIFY}
        problem = self._neighbourhood.problem
        self._prior_points, self._prior_values = prior_points_within(self._neighbourhood, problem, result.history)
        self.archive = PointArchive(self._neighbourhood.to_unit(self._prior_points), self._prior_values)
        self.runs = self.failures = 0

    @property
    def stored(self) -> int:
        """Number of stored runs of the attack."""
        return len(self._rows)

    def run(
        self, budget: int, submit: Submit, callback: Callable[[StoredAttack], Any] = lambda attack: None
    ) -> AttackResult:
        """Run the attack.

        Args:
            budget: Total number of runs, including the stored ones.
            submit: Schedules a run of the model.
            callback: Called after each run.

        Raises:
            StoreWriteError: The store became unwritable; its `result` is the result so far.
        """
        try:
            self._run(budget, submit, callback)
        except StoreWriteError as error:
            error.result = self.result()
            raise
        return self.result()

    def _run(self, budget: int, submit: Submit, callback: Callable[[StoredAttack], Any]) -> None:
        batches = screening_attack(self.archive, self._neighbourhood.is_box, BATCH_SIZE)
        points = next(batches, None)
        while points is not None and self.runs < budget:
            values = self._values(points[: budget - self.runs], submit, callback)
            try:
                points = batches.send(np.append(values, np.full(len(points) - values.size, np.nan)))
            except StopIteration:
                points = None

    def result(self) -> AttackResult:
        """Return the current result."""
        file, archive = self.search.file, self.archive
        slopes = np.zeros(len(file.variables.members))
        slopes[self._neighbourhood.uncertain] = 2 * archive.slopes()
        return AttackResult(
            nominal=file.sign * float(self.search_result.nominal_fun),
            found_by_search=file.sign * float(self.search_result.fun),
            worst=file.sign * archive.worst_value,
            worst_point=file.variables.decode(self._worst_point()),
            runs=self.runs,
            failures=self.failures,
            slopes=dict(zip(file.variables.names, (file.sign * slopes).tolist(), strict=True)),
        )

    def _worst_point(self) -> Floats:
        """Return the worst point as it was evaluated, by the search or else by the attack."""
        if self._prior_values.size and self._prior_values.max() >= self.archive.worst_value:
            return np.array(self._prior_points[int(np.argmax(self._prior_values))])
        return np.array(self._neighbourhood.to_points(self.archive.worst_point[None])[0])

    def _values(self, units: Floats, submit: Submit, callback: Callable[[StoredAttack], Any]) -> Floats:
        """Return the minimised values of points of the unit set, from the store or from the model."""
        points, first = self._neighbourhood.to_points(units), self.runs
        values = np.empty(len(units))
        pending = {}
        for i, x in enumerate(points):
            stored = self._rows.get(first + i)
            if stored is None:
                pending[submit(self.search.file.variables.decode(x), first + i)] = i
            elif stored.x != tuple(x.tolist()):
                raise StoreError(
                    f"the stored attack on {self.search.experiment.name!r} cannot be resumed",
                    "this version of the package generates different points",
                )
            else:
                values[i] = self._count(stored)
        while pending:
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                i = pending.pop(future)
                values[i] = self._count(self._add_row(first + i, points[i], future.result()))
                callback(self)
        return values

    def _add_row(self, number: int, x: Floats, outcome: RunOutcome) -> Evaluation:
        """Store the outcome of a run."""
        outcome = self.search.validated(outcome)
        if outcome.failed and self.search.file.on_failure == "raise":
            raise ObjectiveError(f"a run failed: {outcome.failure}", 'on_failure = "raise" ends the attack')
        x_and_outcome = tuple(x.tolist()), outcome.value, outcome.failure, outcome.tail, outcome.seconds
        row = Evaluation(VERIFY, number, *x_and_outcome)
        self.search.store.add_evaluations(self.search.experiment, [row])
        return row

    def _count(self, row: Evaluation) -> float:
        """Count a run, and return its minimised value: of a failed one, infeasible or unknown."""
        self.runs += 1
        self.failures += bool(row.failure)
        if row.failure:
            return math.inf if self.search.file.on_failure == "infeasible" else math.nan
        return self.search.file.sign * row.value
