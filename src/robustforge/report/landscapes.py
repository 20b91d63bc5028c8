"""The test problems as landscapes: as designed and in the worst case, in one and in two variables, with both optima.

The worst case is taken on a grid whose cells divide Gamma, so it is a picture and no measurement: a disc is a stack of
strips, and the highest value in each strip comes from a filter along the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, PowerNorm
from scipy.ndimage import maximum_filter1d

from robustforge.problem.functions import Function
from robustforge.problem.held_out import ALL
from robustforge.problem.problem import problem
from robustforge.report.drawing import Frame, colour, draw, end_labels, heading
from robustforge.report.figures import Ticks, round_ticks
from robustforge.report.words import number
from robustforge.tables import Record
from robustforge.verification.neighbourhood import Neighbourhood

Floats = npt.NDArray[np.float64]

CELLS = 16
"""Cells of the grid to a Gamma, in two variables."""

FINE_CELLS = 40
"""The same in one variable."""

_EQUAL = 1e-3
"""Values of the worst case that differ by this share or less are equal: the grid is no finer."""

_COLOURS = "YlGnBu_r"  # dark is low, light is high: it reads the same without red and green, and in print
_SKEWED = 0.2
"""Where the middle value is below this share of the range, colours are spread towards the low values."""


@dataclass(frozen=True)
class Landscape:
    """A test problem on a grid.

    Attributes:
        axis: The coordinates of the grid, the same in all variables.
        nominal: The objective on it.
        worst: The highest value within Gamma of each of its points.
        radius: Gamma.
    """

    axis: Floats
    nominal: Floats
    worst: Floats
    radius: float

    def best(self, of: str) -> tuple[int, ...]:
        """Return where the nominal or the worst case is lowest; of equals, the one that is best as designed."""
        values: Floats = getattr(self, of)
        least = float(values.min())
        equal = values <= least + _EQUAL * abs(least)
        return tuple(
            int(k) for k in np.unravel_index(int(np.where(equal, self.nominal, np.inf).argmin()), values.shape)
        )


def functions_in(names: Iterable[str]) -> list[Function]:
    """Return the test functions that the names of problems stand for, each once, in the order of the listing."""
    stems = {re.sub(r"-\d+d(-(shifted|rotated|shifted-rotated)-\d+)?$", "", name) for name in names}
    return [function for name, function in ALL.items() if name in stems]


def landscape(function: Function, dimension: int, cells: int) -> Landscape:
    """Return a test function in one or two variables on a grid, so many cells to a Gamma."""
    step, middle = function.radius / cells, (function.lower + function.upper) / 2
    half = int(np.floor((function.upper - function.lower) / 2 / step + 1e-9))
    steps = np.arange(-half - cells, half + cells + 1, dtype=np.float64)  # what lies around a design at the edge counts
    wide: Floats = middle + step * steps
    made = problem(function.name, dimension)
    points = np.stack(np.meshgrid(*[wide] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    values = Neighbourhood(made, points[0]).evaluate(points).reshape((wide.size,) * dimension)
    inner = slice(cells, -cells)
    inside = (inner,) * dimension
    return Landscape(wide[inner], values[inside], worst_within(values, cells)[inside], function.radius)


def worst_within(values: Floats, cells: int) -> Floats:
    """Return the highest value within so many cells of each point of a grid of one or two dimensions."""
    if values.ndim == 1:
        return np.asarray(maximum_filter1d(values, 2 * cells + 1))
    worst = np.full_like(values, -np.inf)
    for shift in range(-cells, cells + 1):
        half = int(np.sqrt(cells * cells - shift * shift))
        strip = maximum_filter1d(values, 2 * half + 1, axis=1)
        here = slice(max(0, -shift), values.shape[0] - max(0, shift))
        there = slice(max(0, shift), values.shape[0] + min(0, shift))
        worst[here] = np.maximum(worst[here], strip[there])
    return worst


def landscape_record(function: Function) -> Record:
    """Return the figures of a test problem and what they show in words."""
    flat = landscape(function, 2, CELLS)
    at, robust = flat.best("nominal"), flat.best("worst")
    label = f"{function.name} in two variables"
    limits = (float(flat.nominal.min()), float(flat.worst.max()))
    figures = [
        {
            "title": title,
            "svg": surface(f"land-{function.name}-{of}", f"{label}, {title}", flat, of, limits),
            "caption": caption,
        }
        for of, title, caption in (
            ("nominal", "as designed", f"Lowest at {_place(flat, at)}, with {_value(flat.nominal[at])}."),
            (
                "worst",
                f"worst case within {function.radius:g}",
                f"Lowest at {_place(flat, robust)}, with {_value(flat.worst[robust])}.",
            ),
        )
    ]
    if function.least == 1:
        figures.insert(0, _curve_record(function))
    words = f"In two variables, the design that is best on paper is worth {_value(flat.nominal[at])}, and "
    words += f"{_value(flat.worst[at])} in its worst case; "
    words += (
        "it is the robust optimum as well."
        if at == robust
        else f"the robust optimum {_value(flat.nominal[robust])}, and {_value(flat.worst[robust])} in its worst case."
    )
    return {"name": function.name, "about": function.about, "words": words, "figures": figures}


def _curve_record(function: Function) -> Record:
    line = landscape(function, 1, FINE_CELLS)
    at, robust = line.best("nominal"), line.best("worst")
    return {
        "title": "in one variable",
        "svg": curve(f"land-{function.name}-curve", f"{function.name} in one variable and its worst case", line),
        "caption": f"The dot is the optimum as designed, x = {_value(line.axis[at])}; the square the robust one, "
        f"x = {_value(line.axis[robust])}. Each is joined to its worst case.",
    }


def curve(key: str, label: str, line: Landscape) -> Markup:
    """Return a function of one variable, its worst case within Gamma, and the optimum of each."""

    def paint(axes: Axes) -> None:
        x, nominal, worst = line.axis, line.nominal, line.worst
        axes.fill_between(x, nominal, worst, color=colour("c2"), alpha=0.09, lw=0)
        axes.plot(x, nominal, color=colour("c1"), linewidth=1.3)
        axes.plot(x, worst, color=colour("c2"), linewidth=1.3)
        for (k,), marker, role in ((line.best("nominal"), "o", "c1"), (line.best("worst"), "s", "c2")):
            axes.plot((x[k], x[k]), (nominal[k], worst[k]), color=colour(role), linewidth=0.9)
            axes.plot((x[k], x[k]), (nominal[k], worst[k]), marker, color=colour(role), ms=4.5, lw=0)
        axes.set_xlim(x[0], x[-1])
        axes.xaxis.set_major_locator(round_ticks(5))
        axes.yaxis.set_major_locator(round_ticks(5))
        axes.yaxis.set_major_formatter(Ticks())
        heading(axes, f"f(x), and its highest value within ±{line.radius:g}")
        end_labels(axes, [(float(nominal[-1]), "f", "c1"), (float(worst[-1]), "worst", "c2")])

    return draw(key, label, Frame(262, right=48, bottom=24), paint)


def surface(key: str, label: str, flat: Landscape, of: str, limits: tuple[float, float]) -> Markup:
    """Return a surface seen from above, with both optima; light is high.

    Args:
        key: The figure's name on the page.
        label: What it shows.
        flat: The landscape, in two variables.
        of: Which of its surfaces.
        limits: The values at the ends of the colours, the same for both.
    """
    values: Floats = getattr(flat, of)
    skewed = np.median(flat.worst) - limits[0] < _SKEWED * (limits[1] - limits[0])
    norm = PowerNorm(0.4, *limits) if skewed else Normalize(*limits)

    def paint(axes: Axes) -> None:
        ends = (flat.axis[0], flat.axis[-1])
        image = axes.imshow(values.T, origin="lower", extent=(*ends, *ends), cmap=_COLOURS, norm=norm, aspect="auto")
        for (i, j), marker, size in ((flat.best("nominal"), "o", 6.0), (flat.best("worst"), "s", 5.5)):
            place = ([flat.axis[i]], [flat.axis[j]])
            axes.plot(*place, marker, ms=size, mfc="#ffffff", mec="#111111", mew=1.2, clip_on=False)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(round_ticks(4))
        _scale(axes, image)

    return draw(key, label, Frame(262, right=60, top=10, bottom=24), paint)


def _scale(axes: Axes, image: Any) -> None:
    """Put the colours and what they stand for beside the surface."""
    beside = axes.inset_axes((1.04, 0.0, 0.035, 1.0))
    bar = axes.figure.colorbar(image, cax=beside, ticks=round_ticks(5), format=Ticks())
    bar.outline.set_visible(False)
    beside.grid(visible=False)


def _place(flat: Landscape, at: tuple[int, ...]) -> str:
    return f"({', '.join(_value(flat.axis[k]) for k in at)})"


def _value(value: Any) -> str:
    return number(float(value), 3)
