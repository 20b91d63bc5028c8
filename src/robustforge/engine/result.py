"""`RobustResult`: an `OptimizeResult` with the design, the worst value found and the history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult

from robustforge import notebook_html
from robustforge.core.state import BUDGET_SPENT, FAILED, INFEASIBLE, NO_CANDIDATE, RUNNING, SPACE_COVERED
from robustforge.engine import ask_tell, result_plots
from robustforge.engine.attack_summary import summarise_attack
from robustforge.engine.result_plots import Provenance
from robustforge.robust_problem import Problem

if TYPE_CHECKING:
    from robustforge.engine.optimizer import Optimizer

Floats = npt.NDArray[np.float64]
PlotKind = Literal["convergence", "neighbourhood", "sensitivity"]

SHOWN_VARIABLES = 12
"""Variables that a notebook shows unfolded."""

ENDINGS = {
    RUNNING: "the search is not finished",
    BUDGET_SPENT: "the budget is exhausted",
    SPACE_COVERED: "the uncertainty sets around evaluated points cover the box: the search ended early",
    NO_CANDIDATE: "no valid candidate was found: the search ended early",
    FAILED: "an evaluation failed",
}


@dataclass(frozen=True, eq=False)
class History:
    """All evaluated points in order, preceded by the prior evaluations. The arrays are read-only.

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


class RobustResult(OptimizeResult):
    """The result of a search: an `OptimizeResult`, a dictionary with attributes, that shows itself in a notebook.

    Attributes:
        x: The design (n,).
        fun: The worst value found within its uncertainty set.
        worst_x: The point with that value (n,).
        nominal_fun: f(x) of the design itself.
        estimate: What the search believed the worst case to be, before the attack.
        attack_runs: Evaluations of the closing attack in the uncertainty set of the design.
        nfev: Evaluations.
        nit: Iterations.
        success: Whether the search ended with a design.
        message: Why it ended.
        history: All evaluations, a `History`.

    Example:
        >>> import robustforge as rf
        >>> result = rf.minimize(lambda x: float(x @ x), [(-5, 5)] * 4, rf.Ball(0.5), budget=100, rng=1)
        >>> axes = result.plot("sensitivity")
        >>> axes.get_xlabel()
        'change of the value across the tolerance'
    """

    @property
    def provenance(self) -> Provenance | None:
        """Data about the search that plots need; `None` for a result without a search."""
        found: Provenance | None = self.__dict__.get("_provenance")
        return found

    def plot(self, kind: PlotKind = "convergence", ax: Any = None) -> Any:
        """Draw the result with Matplotlib.

        Args:
            kind: "convergence" for the value of every evaluation and the estimate of the robust value, for which the
                search is replayed on the values of the history; "neighbourhood" for the evaluations within the
                uncertainty set of the design; "sensitivity" for what drives the worst case: the change of the value
                across the tolerance of each variable, by a linear model of these evaluations.
            ax: Matplotlib axes to draw on; by default those of a new figure.

        Returns:
            The Matplotlib axes.

        Raises:
            MissingExtraError: Matplotlib is not installed.
        """
        return result_plots.plot(self, kind, ax)

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:>{width}}: {_short(value)}" for name, value in self.items() if name != "ending")

    def _repr_html_(self) -> str:
        """Return the result as a notebook shows it: the status and the values, then the design and its worst point."""
        facts = {
            "status": self.get("message", ""),
            "worst value found": self.get("fun", ""),
            "attack": _attack_fact(self),
            "nominal value": self.get("nominal_fun", ""),
            "evaluations": f"{self.get('nfev', 0):,}",
        }
        columns, rows = ("variable", "design", "worst point"), self._variables()
        parts = [notebook_html.facts(facts), notebook_html.table(columns, rows[:SHOWN_VARIABLES])]
        if len(rows) > SHOWN_VARIABLES:
            others = notebook_html.table(columns, rows[SHOWN_VARIABLES:])
            parts.append(notebook_html.details(f"{len(rows) - SHOWN_VARIABLES} more variables", others))
        return notebook_html.fragment("Robust design" if self.get("success") else "No robust design", *parts)

    def _variables(self) -> list[tuple[str, float, float]]:
        x = np.atleast_1d(self.get("x", []))
        worst = np.atleast_1d(self.get("worst_x", np.full(x.size, np.nan)))
        return [(f"x[{k}]", float(x[k]), float(worst[k])) for k in range(x.size)]


def _attack_fact(result: RobustResult) -> str:
    if not result.get("attack_runs"):
        return "none: the worst value is that of the search"
    return summarise_attack(result.fun, result.estimate, result.attack_runs)


def _short(value: Any) -> str:
    """Return a value of a result on one line or a few."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, threshold=12, edgeitems=4)
    return f"{value:.6g}" if isinstance(value, float) else repr(value) if not isinstance(value, str) else value


def make_result(search: Optimizer, reported: npt.NDArray[np.intp], in_place: bool = False) -> RobustResult:
    """Return the result of a search as it stands.

    Args:
        search: The search.
        reported: Indices in its batch with a value that is not in the history yet.
        in_place: Whether these are written to the history, because the search is not continued.
    """
    t, arrays = search.arrays["counters"][0], search.arrays
    spent, found = int(t["spent"]), bool(t["has_incumbent"] == 1)
    history, failures = _history(search, reported, in_place)
    closed = bool(t["final_requested"] == 1 and t["batch_size"] == 0)
    x = history.x[spent - 1].copy() if closed else design_of(search)
    near = _neighbour_indices(search, history, spent)
    worst = int(near[np.argmax(history.fun[near])]) if near.size else -1
    estimate, attacks = _attacked(arrays, near, spent - closed)
    estimate = estimate if found else np.nan
    success, message = _ending(search, history, failures)
    fun = float(history.fun[worst]) if near.size else np.nan
    if closed and success and attacks:
        message = f"{message}; {summarise_attack(fun, estimate, attacks)}"
    result = RobustResult(
        x=x,
        fun=fun,
        worst_x=history.x[worst].copy() if near.size else np.full_like(x, np.nan),
        nominal_fun=float(history.fun[spent - 1]) if closed else np.nan,
        estimate=estimate,
        attack_runs=attacks,
        nfev=len(history) - len(search.prior),
        nit=search.nit,
        success=success,
        message=message,
        ending=_ending(search, history, 0)[1],
        failures=failures,
        work=int(t["distances"]),
        relocations=int(t["relocations"]),
        heuristic=search.heuristic,
        history=history,
    )
    result.__dict__["_provenance"] = Provenance(history, x, near, search.problem.geometry, search.restart)
    return result


def _attacked(arrays: Mapping[str, Any], near: npt.NDArray[np.intp], end: int) -> tuple[float, int]:
    """Return what the search believed before the closing attack, and how many evaluations of it are in the set."""
    closing, believed = arrays["closing"][0], float(arrays["incumbent_f"][0])
    if not closing["is_started"]:
        return believed, 0
    attacks = int(np.count_nonzero((near >= closing["first"]) & (near < end)))
    return float(closing["estimate"]) if closing["has_estimate"] else believed, attacks


def in_units_of(problem: Problem, result: RobustResult) -> RobustResult:
    """Return a result with its points in the units of a problem, from those that the search sees."""
    if problem.scaled is problem:
        return result
    x = problem.from_scaled(result.history.x)
    x.flags.writeable = False
    result.history = History(x, result.history.fun)
    result.x, result.worst_x = problem.from_scaled(result.x), problem.from_scaled(result.worst_x)
    return result


def _history(search: Optimizer, reported: npt.NDArray[np.intp], in_place: bool) -> tuple[History, int]:
    """Return the history with reported values that are not in it yet, and how many evaluations failed."""
    arrays, t = search.arrays, search.arrays["counters"][0]
    spent = int(t["spent"])
    x, fun, failures = arrays["history_x"][:spent], arrays["history_f"][:spent], int(t["failures"])
    if reported.size:
        values = arrays["batch_f"][reported]
        failed = np.isnan(values) | (values == -np.inf)
        failures += int(failed.sum())
        values = np.where(failed, np.inf if t["on_failure"] == INFEASIBLE else np.nan, values)
        if in_place:
            x, fun = arrays["history_x"][: spent + values.size], arrays["history_f"][: spent + values.size]
            x[spent:], fun[spent:] = arrays["batch_x"][reported], values
        else:
            x, fun = np.concatenate([x, arrays["batch_x"][reported]]), np.concatenate([fun, values])
    x, fun = x.view(), fun.view()
    x.flags.writeable = fun.flags.writeable = False
    return History(x, fun), failures


def design_of(search: Optimizer) -> Floats:
    """Return the design that the search would return now, in the user's units."""
    space, problem = search.problem.space, search.problem
    x = (search.arrays["incumbent_x"] - space.offset) * space.scale + space.centre
    return np.clip(x, problem.lower, problem.upper)


def _neighbour_indices(search: Optimizer, history: History, spent: int) -> npt.NDArray[np.intp]:
    """Return the indices of all evaluated points with a known value in the neighbourhood of the design."""
    centre, geometry, space = search.arrays["incumbent_x"], search.problem.geometry, search.problem.space
    near = search.arrays["neighbours"][: ask_tell.find_near(search.state, centre)]
    if len(history) == spent:
        return near
    offsets = (history.x[spent:] - space.centre) / space.scale - centre
    newest = spent + np.flatnonzero(geometry.holds(offsets) & ~np.isnan(history.fun[spent:]))
    return np.concatenate([near, newest])


def _ending(search: Optimizer, history: History, failures: int) -> tuple[bool, str]:
    """Return whether the search succeeded, and why it ended, in words."""
    t = search.arrays["counters"][0]
    ending = int(t["ending"])
    message = search.stop_message or ENDINGS[ending]
    if failures and t["first_failure"] >= 0:
        first = search.user_problem.from_scaled(history.x[int(t["first_failure"])])
        where = np.array2string(first, precision=6, threshold=12)
        count = "1 evaluation" if failures == 1 else f"{failures} evaluations"
        message += f"; {count} failed, the first at x = {where}"
    if t["has_incumbent"] == 0:
        return False, f"{message}; no inner search was completed, so no design has a robust value"
    if t["final_requested"] == 1 and t["batch_size"] == 0 and np.isnan(history.fun[int(t["spent"]) - 1]):
        return False, f"{message}; f at the returned design itself is unknown, because its evaluation failed"
    if search.arrays["incumbent_f"][0] == np.inf:
        return False, f"{message}; no design was found whose neighbourhood is feasible"
    return bool(search.finished and not search.stop_message and ending not in (RUNNING, FAILED)), message
