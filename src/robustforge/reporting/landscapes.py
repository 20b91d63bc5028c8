"""The landscapes of test problems: nominal value and worst case in one and two variables, with both optima.

The worst case is computed on a grid whose spacing divides Gamma, so it is a picture, not a measurement: a disc is a
stack of strips, and a maximum filter along the rows gives the highest value in each strip.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from matplotlib.colors import Normalize, PowerNorm
from scipy.ndimage import maximum_filter1d

from robustforge.formatting import number
from robustforge.plotting.canvas import TickFormatter, round_ticks
from robustforge.reporting.svg_canvas import Frame, SvgCanvas, draw
from robustforge.robust_problem.held_out import ALL
from robustforge.robust_problem.problem import problem
from robustforge.robust_problem.test_functions import Function
from robustforge.tables import Record
from robustforge.verification.neighbourhood import Neighbourhood

Floats = npt.NDArray[np.float64]

CELLS = 16
"""Grid cells per Gamma, in two variables."""

FINE_CELLS = 40
"""Grid cells per Gamma, in one variable."""

_TIE = 1e-3
"""Relative difference up to which worst cases count as equal: the grid is not finer."""

_COLOURS = "YlGnBu_r"  # dark is low, light is high: readable without colour vision, and in print
_SKEWED = 0.2
"""If the median is below this fraction of the range, the colour scale is stretched towards low values."""


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
        """Return the grid index of the lowest nominal value or worst case; ties are broken by the nominal value."""
        values: Floats = getattr(self, of)
        least = float(values.min())
        equal = values <= least + _TIE * abs(least)
        return tuple(
            int(k) for k in np.unravel_index(int(np.where(equal, self.nominal, np.inf).argmin()), values.shape)
        )


def functions_in(names: Iterable[str]) -> list[Function]:
    """Return the distinct test functions of problems with these names, in the order of the suite."""
    stems = {re.sub(r"-\d+d(-(shifted|rotated|shifted-rotated)-\d+)?$", "", name) for name in names}
    return [function for name, function in ALL.items() if name in stems]


def landscape(function: Function, dimension: int, cells: int) -> Landscape:
    """Return a test function in one or two variables on a grid with a number of cells per Gamma."""
    step, centre = function.radius / cells, (function.lower + function.upper) / 2
    half = int(np.floor((function.upper - function.lower) / 2 / step + 1e-9))
    steps = np.arange(
        -half - cells, half + cells + 1, dtype=np.float64
    )  # with the neighbourhoods of designs at the edge
    wide: Floats = centre + step * steps
    made = problem(function.name, dimension)
    points = np.stack(np.meshgrid(*[wide] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    values = Neighbourhood(made, points[0]).evaluate(points).reshape((wide.size,) * dimension)
    inner = slice(cells, -cells)
    inside = (inner,) * dimension
    return Landscape(wide[inner], values[inside], worst_within(values, cells)[inside], function.radius)


def worst_within(values: Floats, cells: int) -> Floats:
    """Return the highest value within a number of cells of each point of a one- or two-dimensional grid."""
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
    """Return the figures of a test problem, with a summary of what they show."""
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
            ("nominal", "nominal value", f"Lowest at {_coordinates(flat, at)}, with {_value(flat.nominal[at])}."),
            (
                "worst",
                f"worst case within {function.radius:g}",
                f"Lowest at {_coordinates(flat, robust)}, with {_value(flat.worst[robust])}.",
            ),
        )
    ]
    if function.least == 1:
        figures.insert(0, _curve_record(function))
    summary = f"In two variables, the nominal optimum has the value {_value(flat.nominal[at])} and the worst case "
    summary += f"{_value(flat.worst[at])}; "
    summary += (
        "it is the robust optimum as well."
        if at == robust
        else f"the robust optimum has {_value(flat.nominal[robust])} and {_value(flat.worst[robust])}."
    )
    return {"name": function.name, "about": function.about, "summary": summary, "figures": figures}


def _curve_record(function: Function) -> Record:
    line = landscape(function, 1, FINE_CELLS)
    at, robust = line.best("nominal"), line.best("worst")
    return {
        "title": "in one variable",
        "svg": curve(f"land-{function.name}-curve", f"{function.name} in one variable and its worst case", line),
        "caption": f"The dot is the nominal optimum, x = {_value(line.axis[at])}; the square the robust optimum, "
        f"x = {_value(line.axis[robust])}. Each is connected to its worst case.",
    }


def curve(key: str, label: str, line: Landscape) -> Markup:
    """Return a function of one variable, its worst case within Gamma, and the optimum of each."""

    def paint(canvas: SvgCanvas) -> None:
        axes, x, nominal, worst = canvas.axes, line.axis, line.nominal, line.worst
        axes.fill_between(x, nominal, worst, color=canvas.colour("c2"), alpha=0.09, lw=0)
        axes.plot(x, nominal, color=canvas.colour("c1"), linewidth=1.3)
        axes.plot(x, worst, color=canvas.colour("c2"), linewidth=1.3)
        for (k,), marker, role in ((line.best("nominal"), "o", "c1"), (line.best("worst"), "s", "c2")):
            axes.plot((x[k], x[k]), (nominal[k], worst[k]), color=canvas.colour(role), linewidth=0.9)
            axes.plot((x[k], x[k]), (nominal[k], worst[k]), marker, color=canvas.colour(role), ms=4.5, lw=0)
        axes.set_xlim(x[0], x[-1])
        axes.xaxis.set_major_locator(round_ticks(5))
        axes.yaxis.set_major_locator(round_ticks(5))
        axes.yaxis.set_major_formatter(TickFormatter())
        canvas.label_axis("y", f"f(x), and its highest value within ±{line.radius:g}")
        canvas.label_lines([(float(nominal[-1]), "f", "c1"), (float(worst[-1]), "worst", "c2")])

    return draw(key, label, Frame(262, right=48, bottom=24), paint)


def surface(key: str, label: str, flat: Landscape, of: str, limits: tuple[float, float]) -> Markup:
    """Return a colour map of a function of two variables, with both optima; light is high.

    Args:
        key: The id of the figure on the page.
        label: A description of what it shows.
        flat: The landscape, in two variables.
        of: "nominal" or "worst".
        limits: The values at the ends of the colour scale.
    """
    values: Floats = getattr(flat, of)
    skewed = np.median(flat.worst) - limits[0] < _SKEWED * (limits[1] - limits[0])
    norm = PowerNorm(0.4, *limits) if skewed else Normalize(*limits)

    def paint(canvas: SvgCanvas) -> None:
        axes, ends = canvas.axes, (flat.axis[0], flat.axis[-1])
        image = axes.imshow(values.T, origin="lower", extent=(*ends, *ends), cmap=_COLOURS, norm=norm, aspect="auto")
        for (i, j), marker, size in ((flat.best("nominal"), "o", 6.0), (flat.best("worst"), "s", 5.5)):
            optimum = ([flat.axis[i]], [flat.axis[j]])
            axes.plot(*optimum, marker, ms=size, mfc="#ffffff", mec="#111111", mew=1.2, clip_on=False)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(round_ticks(4))
        _colour_scale(axes, image)

    return draw(key, label, Frame(262, right=60, top=10, bottom=24), paint)


def _colour_scale(axes: Any, image: Any) -> None:
    """Draw the colour scale next to the map."""
    bar_axes = axes.inset_axes((1.04, 0.0, 0.035, 1.0))
    bar = axes.figure.colorbar(image, cax=bar_axes, ticks=round_ticks(5), format=TickFormatter())
    bar.outline.set_visible(False)
    bar_axes.grid(visible=False)


def _coordinates(flat: Landscape, at: tuple[int, ...]) -> str:
    return f"({', '.join(_value(flat.axis[k]) for k in at)})"


def _value(value: Any) -> str:
    return number(float(value), 3)
