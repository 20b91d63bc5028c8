"""The attack on the design of a stored search: further runs of the model that look for a worse case."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.engine import Optimizer
from robustforge.engine.design_attack import attack_on, is_attack_over
from robustforge.engine.prior_evaluations import PriorEvaluations
from robustforge.errors import ObjectiveError, ProblemError, StoreWriteError
from robustforge.simulator.run_outcome import RunOutcome
from robustforge.simulator.worker_pool import Submit
from robustforge.solver.stored_search import StoredSearch
from robustforge.store import VERIFY, Evaluation
from robustforge.verification.argument_checks import prior_points_within
from robustforge.verification.near_points import NearPoints
from robustforge.verification.neighbourhood import Neighbourhood

Floats = npt.NDArray[np.float64]


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

    The attack starts from all runs of the search. Stored runs that it asks for again are its own; earlier ones, as an
    older version or a shorter attack made, are known to it from the start.

    Args:
        search: The search.

    Attributes:
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
        rows = [row for row in search.store.evaluations(search.experiment) if row.part == VERIFY]
        self._rows = {row.number: row for row in rows}
        self._seen: list[Evaluation] = []
        problem = self._neighbourhood.problem
        self._prior_points, self._prior_values = prior_points_within(self._neighbourhood, problem, result.history)

    @property
    def runs(self) -> int:
        """Runs of the attack so far."""
        return len(self._seen)

    @property
    def failures(self) -> int:
        """Number of failed runs."""
        return sum(bool(row.failure) for row in self._seen)

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
        known, machine = self._replayed(budget)
        self._seen = list(known)
        first = _after(known)
        while self.runs < budget:
            batch = machine.ask()
            if is_attack_over(machine) or not batch:
                return
            machine.tell(batch.ids, self._values(first, batch.x, submit, callback))
            first += len(batch)

    def _replayed(self, budget: int) -> tuple[list[Evaluation], Optimizer]:
        """Return the runs that are known from the start, and an attack that asks for all other stored ones."""
        rows = [self._rows[number] for number in sorted(self._rows) if number < budget]
        count = next((k for k in range(len(rows)) if self._asks_for(rows, k, budget)), len(rows))
        return rows[:count], self._machine(rows[:count], budget - count)

    def _asks_for(self, rows: list[Evaluation], count: int, budget: int) -> bool:
        """Whether an attack that knows the first few stored runs asks for all the others."""
        machine, left = self._machine(rows[:count], budget - count), {row.number: row for row in rows[count:]}
        number = _after(rows[:count])
        while left:
            batch = machine.ask()
            if is_attack_over(machine) or not batch:
                return False
            points = [tuple(x.tolist()) for x in batch.x]
            own = [left.pop(number + k, None) for k in range(len(points))]
            if any(row is not None and row.x != x for row, x in zip(own, points, strict=True)):
                return False
            if any(row is None for row in own):
                return not left
            number += len(points)
            machine.tell(batch.ids, [self._minimised(row) for row in own if row is not None])
        return True

    def _machine(self, known: list[Evaluation], runs: int) -> Optimizer:
        """Return an attack that knows all runs of the search, and some stored ones."""
        history, problem = self.search_result.history, self.search.file.scaled_problem
        points, values = [history.x], [history.fun]
        if known:
            points.append(np.array([row.x for row in known]))
            values.append(np.array([self._minimised(row) for row in known]))
        x, fun = np.concatenate(points), np.concatenate(values)
        prior = PriorEvaluations(x[~np.isnan(fun)], fun[~np.isnan(fun)])
        policy = self.search.file.on_failure
        return attack_on(problem, self.search_result.x, runs, prior, policy)

    def near_points(self) -> NearPoints:
        """Return all evaluated points within the tolerances."""
        rows = sorted(self._seen, key=lambda row: row.number)
        values = np.array([self._minimised(row) for row in rows])
        points = np.array([row.x for row in rows]).reshape(-1, self.search_result.x.size)
        is_known = ~np.isnan(values)
        units = self._neighbourhood.to_unit(np.concatenate([self._prior_points, points[is_known]]))
        return NearPoints(units, np.append(self._prior_values, values[is_known]))

    def result(self) -> AttackResult:
        """Return the current result."""
        file, near = self.search.file, self.near_points()
        slopes = np.zeros(len(file.variables.members))
        slopes[self._neighbourhood.uncertain] = 2 * near.slopes()
        return AttackResult(
            nominal=file.sign * float(self.search_result.nominal_fun),
            found_by_search=file.sign * float(self.search_result.fun),
            worst=file.sign * near.worst_value,
            worst_point=file.variables.decode(self._worst_point()),
            runs=self.runs,
            failures=self.failures,
            slopes=dict(zip(file.variables.names, (file.sign * slopes).tolist(), strict=True)),
        )

    def _worst_point(self) -> Floats:
        """Return the worst point as it was evaluated, by the search or else by the attack."""
        rows = sorted(self._seen, key=lambda row: row.number)
        values = [float(self._prior_values.max(initial=-math.inf)), *map(self._minimised, rows)]
        worst = max(range(len(values)), key=lambda k: -math.inf if math.isnan(values[k]) else values[k])
        if worst == 0:
            return np.array(self._prior_points[int(np.argmax(self._prior_values))])
        return np.array(rows[worst - 1].x)

    def _values(
        self, first: int, points: Floats, submit: Submit, callback: Callable[[StoredAttack], Any]
    ) -> list[float]:
        """Return the minimised values of points, from the store or from the model."""
        rows: dict[int, Evaluation] = {}
        pending = {}
        for i, x in enumerate(points):
            stored = self._rows.get(first + i)
            if stored is None:
                pending[submit(self.search.file.variables.decode(x), first + i)] = i
            else:
                rows[i] = stored
                self._seen.append(stored)
        while pending:
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                i = pending.pop(future)
                rows[i] = self._add_row(first + i, points[i], future.result())
                self._seen.append(rows[i])
                callback(self)
        return [self._minimised(rows[i]) for i in range(len(points))]

    def _add_row(self, number: int, x: Floats, outcome: RunOutcome) -> Evaluation:
        """Store the outcome of a run."""
        outcome = self.search.validated(outcome)
        if outcome.failed and self.search.file.on_failure == "raise":
            raise ObjectiveError(f"a run failed: {outcome.failure}", 'on_failure = "raise" ends the attack')
        x_and_outcome = tuple(x.tolist()), outcome.value, outcome.failure, outcome.tail, outcome.seconds
        row = Evaluation(VERIFY, number, *x_and_outcome)
        self.search.store.add_evaluations(self.search.experiment, [row])
        return row

    def _minimised(self, row: Evaluation) -> float:
        """Return the minimised value of a run: of a failed one, infeasible or unknown."""
        if row.failure:
            return math.inf if self.search.file.on_failure == "infeasible" else math.nan
        return self.search.file.sign * row.value


def _after(rows: list[Evaluation]) -> int:
    """Return the number of the run that follows some others."""
    return rows[-1].number + 1 if rows else 0
