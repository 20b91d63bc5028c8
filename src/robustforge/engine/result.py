"""What a search hands back: an `OptimizeResult` with the design, its worst known value, and the whole history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult

from robustforge.core.state import BUDGET_SPENT, FAILED, INFEASIBLE, NOWHERE, RUNNING, SPACE_EMPTY
from robustforge.engine import machine
from robustforge.problem import Problem

if TYPE_CHECKING:
    from robustforge.engine.optimizer import Optimizer

Floats = npt.NDArray[np.float64]

ENDINGS = {
    RUNNING: "the search is not finished",
    BUDGET_SPENT: "the budget is spent",
    SPACE_EMPTY: "no point of the box is a Gamma away from all high-cost points: the search ended early",
    NOWHERE: "no candidate could be placed in the box: the search ended early",
    FAILED: "an evaluation failed",
}


@dataclass(frozen=True, eq=False)
class History:
    """Every point evaluated, in order, after those that were known before. The arrays are read-only.

    Attributes:
        x: The points, in the units of the problem (k, n).
        fun: Their values (k,); +inf where infeasible, NaN where the evaluation failed.
    """

    x: Floats
    fun: Floats

    def __len__(self) -> int:
        return int(self.fun.size)

    def __repr__(self) -> str:
        return f"<History of {len(self)} evaluations>"


def make_result(search: Optimizer, told: npt.NDArray[np.intp]) -> OptimizeResult:
    """Return the result of a search as it stands.

    Args:
        search: The search.
        told: Places in its batch that have a value not taken in yet.
    """
    t, arrays = search.arrays["tally"][0], search.arrays
    spent, found = int(t["spent"]), bool(t["found"] == 1)
    history, failures = _history(search, told)
    closed = bool(t["closing"] == 1 and t["batch"] == 0)
    x = history.x[spent - 1].copy() if closed else design_of(search)
    near = _near(search, history, spent)
    worst = int(near[np.argmax(history.fun[near])]) if near.size else -1
    estimate = float(arrays["incumbent"][0]) if found else np.nan
    success, message = _ending(search, history, failures)
    return OptimizeResult(
        x=x,
        fun=float(history.fun[worst]) if near.size else np.nan,
        worst_x=history.x[worst].copy() if near.size else np.full_like(x, np.nan),
        nominal_fun=float(history.fun[spent - 1]) if closed else np.nan,
        estimate=estimate,
        nfev=len(history) - len(search.known),
        nit=search.nit,
        success=success,
        message=message,
        ending=_ending(search, history, 0)[1],
        failures=failures,
        work=int(t["work"]),
        relocations=int(t["relocations"]),
        heuristic=search.heuristic,
        history=history,
    )


def in_units_of(problem: Problem, result: OptimizeResult) -> OptimizeResult:
    """Return a result with its points in the units of a problem, from those that the search sees."""
    if problem.scaled is problem:
        return result
    x = problem.from_scaled(result.history.x)
    x.flags.writeable = False
    result.history = History(x, result.history.fun)
    result.x, result.worst_x = problem.from_scaled(result.x), problem.from_scaled(result.worst_x)
    return result


def _history(search: Optimizer, told: npt.NDArray[np.intp]) -> tuple[History, int]:
    """Return the history with what is told but not taken in, and how many evaluations failed."""
    arrays, t = search.arrays, search.arrays["tally"][0]
    spent = int(t["spent"])
    x, fun, failures = arrays["evaluated_x"][:spent], arrays["values"][:spent], int(t["failures"])
    if told.size:
        late = arrays["batch_value"][told]
        failed = np.isnan(late) | (late == -np.inf)
        failures += int(failed.sum())
        late = np.where(failed, np.inf if t["on_failure"] == INFEASIBLE else np.nan, late)
        x, fun = np.concatenate([x, arrays["batch_x"][told]]), np.concatenate([fun, late])
    x, fun = x.view(), fun.view()
    x.flags.writeable = fun.flags.writeable = False
    return History(x, fun), failures


def design_of(search: Optimizer) -> Floats:
    """Return the design that the search would return now, in the user's units."""
    space, problem = search.problem.space, search.problem
    x = (search.arrays["incumbent_x"] - space.offset) * space.scale + space.centre
    return np.clip(x, problem.lower, problem.upper)


def _near(search: Optimizer, history: History, spent: int) -> npt.NDArray[np.intp]:
    """Return the places of all evaluated points with a known value in the neighbourhood of the design."""
    centre, geometry, space = search.arrays["incumbent_x"], search.problem.geometry, search.problem.space
    near = search.arrays["near"][: machine.find_near(search.state, centre)]
    if len(history) == spent:
        return near
    late = (history.x[spent:] - space.centre) / space.scale - centre
    places = spent + np.flatnonzero(geometry.holds(late) & ~np.isnan(history.fun[spent:]))
    return np.concatenate([near, places])


def _ending(search: Optimizer, history: History, failures: int) -> tuple[bool, str]:
    """Return whether the search succeeded, and why it ended, in words."""
    t = search.arrays["tally"][0]
    ending = int(t["ending"])
    words = search.stopped or ENDINGS[ending]
    if failures and t["first_failure"] >= 0:
        first = search.surface.from_scaled(history.x[int(t["first_failure"])])
        where = np.array2string(first, precision=6, threshold=12)
        count = "1 evaluation" if failures == 1 else f"{failures} evaluations"
        words += f"; {count} failed, the first at x = {where}"
    if t["found"] == 0:
        return False, f"{words}; no inner search was completed, so no design has a robust value"
    if t["closing"] == 1 and t["batch"] == 0 and np.isnan(history.fun[int(t["spent"]) - 1]):
        return False, f"{words}; f at the returned design itself is unknown, as its evaluation failed"
    if search.arrays["incumbent"][0] == np.inf:
        return False, f"{words}; no design was found whose neighbourhood is feasible"
    return bool(search.over and not search.stopped and ending not in (RUNNING, FAILED)), words
