"""The plots of a result: from the history and the uncertainty set of a search to the numbers that are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from robustforge.core.ridge_regression import linear_slopes
from robustforge.engine.estimate_trace import trace_estimates
from robustforge.errors import ProblemError, UnknownNameError
from robustforge.plotting import new_canvas
from robustforge.robust_problem.uncertainty_sets import Geometry

if TYPE_CHECKING:
    from robustforge.engine.optimizer import Optimizer
    from robustforge.engine.result import History, RobustResult

Floats = npt.NDArray[np.float64]

MAX_VARIABLES, MAX_RUNS = 12, 300
"""Variables with the largest effects, and worst evaluations, that are drawn at most."""


@dataclass(frozen=True, eq=False)
class Provenance:
    """The search behind a result, in the coordinates of the search, as far as plots need it.

    Attributes:
        history: Its evaluations, prior evaluations first.
        x: Its design (n,).
        neighbours: Indices of the evaluations within the uncertainty set of the design (k,).
        geometry: The uncertainty set.
        restart: Returns the search before its first evaluation.
    """

    history: History
    x: Floats
    neighbours: npt.NDArray[np.intp]
    geometry: Geometry
    restart: Callable[[], Optimizer]

    @property
    def names(self) -> list[str]:
        """The names of the uncertain variables."""
        return [f"x[{k}]" for k in self.geometry.active]

    def positions(self) -> Floats:
        """Return where the neighbours are within each tolerance (k, m): -1 lowest, 0 as designed, 1 highest."""
        moved, radii, offset = self._moved(), *self._tolerance()
        reach = np.where(moved < 0, radii - offset, radii + offset)
        return np.asarray(moved / np.where(reach > 0, reach, np.inf))

    def changes(self) -> Floats:
        """Return the change of the value across each tolerance, by a linear model of the neighbours (m,)."""
        radii, offset = self._tolerance()
        return 2.0 * linear_slopes((self._moved() - offset) / radii, self.values)

    @property
    def values(self) -> Floats:
        """The values of the neighbours (k,)."""
        return self.history.fun[self.neighbours]

    def _moved(self) -> Floats:
        return np.asarray((self.history.x[self.neighbours] - self.x)[:, self.geometry.active])

    def _tolerance(self) -> tuple[Floats, Floats]:
        active = self.geometry.active
        return self.geometry.radii[active], self.geometry.offset[active]


def plot(result: RobustResult, kind: str, ax: Any) -> Any:
    """Draw one of the plots of a result, and return its axes."""
    if kind not in PLOTS:
        raise UnknownNameError("plot of a result", str(kind), PLOTS, "help(robustforge.RobustResult.plot)")
    provenance = result.provenance
    if provenance is None or not np.isfinite(provenance.history.fun).any():
        raise ProblemError("the result of a search can be plotted once it has a value", "this one has none")
    return PLOTS[kind](result, provenance, ax)


def _convergence(result: RobustResult, search: Provenance, ax: Any) -> Any:
    canvas = new_canvas(ax)
    from robustforge.plotting import search_plots

    before = len(search.history) - int(result.nfev)
    values = search.history.fun[before:]
    trace = trace_estimates(search.restart(), dict(enumerate(values.tolist())), search.history.x[before:])
    runs = list(enumerate(values.tolist(), 1))
    worst = [(len(runs), float(result.fun))] if np.isfinite(result.fun) else []
    search_plots.convergence(canvas, runs, trace, worst, 1.0, "evaluation")
    return canvas.axes


def _neighbourhood(result: RobustResult, search: Provenance, ax: Any) -> Any:
    _check_neighbours(search)
    shown = _strongest(search)
    canvas = new_canvas(ax, 1.2 + 0.3 * shown.size if len(search.names) > 1 else 3.6)
    from robustforge.plotting import search_plots

    kept = np.argsort(-search.values, kind="stable")[:MAX_RUNS]
    positions, values = search.positions()[np.ix_(kept, shown)], search.values[kept]
    if len(search.names) == 1:
        search_plots.one_variable(canvas, search.names[0], positions[:, 0], values, values, "evaluation")
    else:
        search_plots.neighbourhood(canvas, [search.names[k] for k in shown], positions, values)
        canvas.label_lines([(0.0, "worst", "ink"), (0.0, "worst third", "c2"), (0.0, "best third", "c1")])
    return canvas.axes


def _sensitivity(result: RobustResult, search: Provenance, ax: Any) -> Any:
    _check_neighbours(search)
    shown = _strongest(search)
    canvas = new_canvas(ax, 1.0 + 0.28 * shown.size)
    from robustforge.plotting import search_plots

    search_plots.sensitivity(canvas, [search.names[k] for k in shown], search.changes()[shown].tolist())
    return canvas.axes


def _check_neighbours(search: Provenance) -> None:
    if np.isfinite(search.values).sum() < 2:
        fact = "fewer than two evaluations are within the uncertainty set of the design"
        raise ProblemError("the neighbourhood of a design can be plotted where it was evaluated", fact)


def _strongest(search: Provenance) -> npt.NDArray[np.intp]:
    """Return the indices of the variables with the largest effects, the largest first."""
    return np.argsort(-np.abs(search.changes()), kind="stable")[:MAX_VARIABLES]


PLOTS: dict[str, Callable[[RobustResult, Provenance, Any], Any]] = {
    "convergence": _convergence,
    "neighbourhood": _neighbourhood,
    "sensitivity": _sensitivity,
}
