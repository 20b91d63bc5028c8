"""The attack on a search's answer: further runs of the model, spent on finding a worse case within the tolerances."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.errors import ObjectiveError, ProblemError, StoreError, StoreWriteError
from robustforge.model.outcome import Outcome
from robustforge.model.workforce import Submit
from robustforge.search.search import Search
from robustforge.store import VERIFY, Evaluation
from robustforge.verification.neighbourhood import Neighbourhood
from robustforge.verification.probing import Knowledge, probing
from robustforge.verification.verify import known_within

Floats = npt.NDArray[np.float64]

BATCH = 8
"""Runs that do not wait for each other's values."""


@dataclass(frozen=True)
class Verified:
    """What an attack came to, in the user's own names, units and sense.

    Attributes:
        nominal: What the design is worth if it is built exactly.
        known: The worst that the search itself had seen.
        worst: The worst that is known now.
        worst_point: Where that is.
        runs: Runs of the attack.
        failures: How many of them had no value.
        slopes: How much the value rises from one end of each tolerance to the other, by a linear model of all that is
            known within the tolerances; in the user's own sense.
    """

    nominal: float
    known: float
    worst: float
    worst_point: dict[str, float]
    runs: int
    failures: int
    slopes: dict[str, float]


class Attack:
    """An attack on the design that a search came to; what of it is stored is not run again.

    Args:
        search: A search that has ended.

    Raises:
        ProblemError: It has not, or came to no design.
    """

    def __init__(self, search: Search) -> None:
        result = search.result()
        if not search.optimizer.over or math.isnan(result.nominal_fun) or math.isnan(result.fun):
            fact = f"{search.experiment.name!r} has not: {result.message}"
            raise ProblemError(
                "only a search that has come to a design can be verified", fact, "`solve` goes on with it"
            )
        self.search, self.result = search, result
        self._neighbourhood = Neighbourhood(search.file.scaled_problem, result.x)
        self._rows = {e.number: e for e in search.store.evaluations(search.experiment) if e.part == VERIFY}
        self._points, self._known = known_within(self._neighbourhood, self._neighbourhood.problem, result.history)
        self.knowledge = Knowledge(self._neighbourhood.units(self._points), self._known)
        self.runs = self.failures = 0

    @property
    def stored(self) -> int:
        """Runs of the attack that are in the store."""
        return len(self._rows)

    def carry_out(self, budget: int, submit: Submit, notice: Callable[[Attack], Any] = lambda attack: None) -> Verified:
        """Spend so many runs, those that are stored included.

        Args:
            budget: Runs in all.
            submit: Has the model run.
            notice: Called after each run.

        Raises:
            StoreWriteError: The store cannot be written to any more; its `result` is what is known.
        """
        try:
            self._carry_out(budget, submit, notice)
        except StoreWriteError as error:
            error.result = self.outcome()
            raise
        return self.outcome()

    def _carry_out(self, budget: int, submit: Submit, notice: Callable[[Attack], Any]) -> None:
        probe = probing(self.knowledge, self._neighbourhood.is_box, BATCH)
        points = next(probe, None)
        while points is not None and self.runs < budget:
            values = self._values(points[: budget - self.runs], submit, notice)
            try:
                points = probe.send(np.append(values, np.full(len(points) - values.size, np.nan)))
            except StopIteration:
                points = None

    def outcome(self) -> Verified:
        """Return what is known now."""
        file, knowledge = self.search.file, self.knowledge
        slopes = np.zeros(len(file.variables.each))
        slopes[self._neighbourhood.active] = 2 * knowledge.slopes()
        return Verified(
            nominal=file.sign * float(self.result.nominal_fun),
            known=file.sign * float(self.result.fun),
            worst=file.sign * knowledge.worst,
            worst_point=file.variables.decode(self._worst_point()),
            runs=self.runs,
            failures=self.failures,
            slopes=dict(zip(file.variables.names, (file.sign * slopes).tolist(), strict=True)),
        )

    def _worst_point(self) -> Floats:
        """Return the worst point as it was evaluated: by the search, or else by the attack."""
        if self._known.size and self._known.max() >= self.knowledge.worst:
            return np.array(self._points[int(np.argmax(self._known))])
        return np.array(self._neighbourhood.place(self.knowledge.where[None])[0])

    def _values(self, units: Floats, submit: Submit, notice: Callable[[Attack], Any]) -> Floats:
        """Return the values of points of the unit set, as the search sees them, from the store or from the model."""
        points, first = self._neighbourhood.place(units), self.runs
        values = np.empty(len(units))
        waiting = {}
        for place, x in enumerate(points):
            stored = self._rows.get(first + place)
            if stored is None:
                waiting[submit(self.search.file.variables.decode(x), first + place)] = place
            elif stored.x != tuple(x.tolist()):
                raise StoreError("an attack must go on as it began", "it asks for other points than those stored")
            else:
                values[place] = self._taken(stored)
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                place = waiting.pop(future)
                values[place] = self._taken(self._stored(first + place, points[place], future.result()))
                notice(self)
        return values

    def _stored(self, number: int, x: Floats, outcome: Outcome) -> Evaluation:
        judged = self.search.judged(outcome)
        if judged.failed and self.search.file.on_failure == "raise":
            raise ObjectiveError("every run of the model must have a value", f"one has none: {judged.failure}")
        row = Evaluation(VERIFY, number, tuple(x.tolist()), judged.value, judged.failure, judged.tail, judged.seconds)
        self.search.store.add_evaluations(self.search.experiment, [row])
        return row

    def _taken(self, row: Evaluation) -> float:
        """Count a run; return its value as the search sees it: a failed one is infeasible, or unknown."""
        self.runs += 1
        self.failures += bool(row.failure)
        if row.failure:
            return math.inf if self.search.file.on_failure == "infeasible" else math.nan
        return self.search.file.sign * row.value
