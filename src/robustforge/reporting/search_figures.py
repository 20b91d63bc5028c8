"""The figures of one search as SVG: sensitivity, convergence, neighbourhood, and the price of robustness.

Figures that notebooks also show come from `robustforge.plotting`; here are its frames, and the figure that only the
report has. Values are as the user sees them; `worse` is 1 if high values are worse, -1 if low values are.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from robustforge.formatting import number
from robustforge.plotting import search_plots
from robustforge.plotting.search_plots import Floats, Points
from robustforge.reporting.experiment_figures import ROW_HEIGHT
from robustforge.reporting.svg_canvas import Frame, SvgCanvas, draw, have_long_names, variable_margin

_TALL_ROW, _NAME_LINE, _FAINT_LINE, _FAINT_MARK = 26.0, 13.0, 0.35, 0.6


def sensitivity(key: str, label: str, names: Sequence[str], changes: Sequence[float]) -> Markup:
    """Return how much the value changes across the tolerance of each variable, a row each."""
    row = ROW_HEIGHT + _NAME_LINE * have_long_names(names)
    frame = Frame(len(names) * row + 46, left=variable_margin(names, 10), right=64, bottom=20)
    height = 0.62 * ROW_HEIGHT / row
    return draw(key, label, frame, lambda canvas: search_plots.sensitivity(canvas, names, changes, height))


def convergence(key: str, label: str, runs: Points, estimates: Points, worst: Points, worse: float) -> Markup:
    """Return the value of every run, and the search's estimate of the robust value of its design."""
    frame = Frame(215, right=104, top=26)
    return draw(key, label, frame, lambda canvas: search_plots.convergence(canvas, runs, estimates, worst, worse))


def neighbourhood(key: str, label: str, names: Sequence[str], positions: Floats, costs: Floats) -> Markup:
    """Return runs within the tolerances as lines from variable to variable."""
    row = _TALL_ROW + _NAME_LINE * have_long_names(names)
    frame = Frame(len(names) * row + 48, left=variable_margin(names, 24), right=30, bottom=24)
    return draw(key, label, frame, lambda canvas: search_plots.neighbourhood(canvas, names, positions, costs))


def one_variable(key: str, label: str, name: str, positions: Floats, values: Floats, costs: Floats) -> Markup:
    """Return the values of runs within the tolerance of the only uncertain variable."""
    frame = Frame(190, right=30)
    return draw(key, label, frame, lambda canvas: search_plots.one_variable(canvas, name, positions, values, costs))


@dataclass(frozen=True)
class Bound:
    """A lower bound on the worst value of a design, as a mark in the figure of the price of robustness.

    Attributes:
        factor: The tolerances, as a multiple of those of the problem.
        value: The worst value found; NaN if there is none.
        runs: The number of runs that it is the worst of.
        is_faint: Whether these are too few to be reliable.
    """

    factor: float
    value: float
    runs: int
    is_faint: bool = False


def price(
    key: str, label: str, best: Sequence[Bound], own: Sequence[Bound], attacked: float | None, worse: float
) -> Markup:
    """Return the worst value of the best design, and of this design, under other tolerances.

    Args:
        key: The id of the figure on the page.
        label: A description of what it shows.
        best: The best design under each of the tolerances.
        own: This design under each of the tolerances.
        attacked: The worst value of this design after an attack, under the given tolerances: a mark of its own.
        worse: Which side is worse.
    """
    extra = [] if attacked is None else [attacked]
    values = np.array([*(each.value for each in (*best, *own)), *extra])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))

    def paint(canvas: SvgCanvas) -> None:
        axes, ends = canvas.axes, []
        canvas.scale_axis("y", values, "worst value found")
        axes.set_xlim(-0.06, 2.06)
        axes.set_xticks(list(_FACTORS), list(_FACTORS.values()))
        axes.set_ylim(*canvas.limits(*canvas.limits(low, high)))
        for line, role, name, side in ((own, "c2", "this design", worse), (best, "c1", "best found", -worse)):
            finite = [each for each in line if np.isfinite(each.value)]
            _bounds(canvas, finite, role, worse)
            _run_counts(canvas, finite if role == "c1" else [each for each in finite if each not in best], side)
            ends += [(finite[-1].value, name, role)] if finite else []
        if attacked is not None:
            _attacked_mark(canvas, attacked)
        axes.set_xlabel("tolerances")
        canvas.label_lines(ends)

    return draw(key, label, Frame(215, right=84, top=26), paint)


def _attacked_mark(canvas: SvgCanvas, attacked: float) -> None:
    color = canvas.colour("c2")
    canvas.axes.plot([1.0], [attacked], "D", ms=5.5, mfc=canvas.colour("page"), mec=color, mew=1.5, clip_on=False)
    style: Any = {"textcoords": "offset points", "va": "center", "ha": "right", "color": color}
    canvas.axes.annotate(f"attacked {number(attacked)}", (1.0, attacked), (-7, 0), **style)


def _bounds(canvas: SvgCanvas, line: Sequence[Bound], role: str, worse: float) -> None:
    """Draw a line of bounds: triangles point to where the true value may be; those of too few runs are faint."""
    axes, color = canvas.axes, canvas.colour(role)
    for before, after in itertools.pairwise(line):
        alpha = _FAINT_LINE if before.is_faint or after.is_faint else 1.0
        ends = (before.factor, after.factor), (before.value, after.value)
        axes.plot(*ends, color=color, linewidth=1.4, alpha=alpha, solid_capstyle="butt")
    for each in line:
        shape = "o" if each.factor == 0 else "^" if worse > 0 else "v"
        style: Any = {"mfc": canvas.colour("page") if each.is_faint else color, "mec": color, "ms": 4.5, "mew": 0.9}
        axes.plot([each.factor], [each.value], shape, alpha=_FAINT_MARK if each.is_faint else 1.0, **style)


def _run_counts(canvas: SvgCanvas, line: Sequence[Bound], side: float) -> None:
    """Write the number of runs next to each bound."""
    for each in line:
        if each.factor > 0:
            canvas.axes.annotate(
                f"{each.runs:,}", (each.factor, each.value), (0, 5 * side), textcoords="offset points", ha="center",
                va="bottom" if side > 0 else "top", color=canvas.colour("muted"), fontsize=8.5,
            )  # fmt: skip


_FACTORS = {0.0: "none", 0.5: "half", 1.0: "as given", 1.5: "1.5×", 2.0: "double"}
