"""Plots of experiments: fitness by generation, box plots of runs, and anytime curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from robustforge.formatting import number
from robustforge.plotting.canvas import LINE_ROLES, Canvas
from robustforge.tables import Record

DASHES = (0, (3.5, 2.5))
"""The dashes of lines in the background."""


@dataclass(frozen=True)
class Contender:
    """How a contestant is drawn.

    Attributes:
        name: Its label.
        role: The role of its colour.
        is_dashed: Whether its line is dashed.
        is_strong: Whether its name is bold, or its line thick.
    """

    name: str
    role: str
    is_dashed: bool = False
    is_strong: bool = False


def contenders(names: Sequence[str], strong: Sequence[str] = ()) -> list[Contender]:
    """Return contestants with colours in turn; those beyond the last colour are muted."""
    roles = [*LINE_ROLES, *["muted"] * len(names)]
    return [Contender(name, role, is_strong=name in strong) for name, role in zip(names, roles, strict=False)]


def fitness(canvas: Canvas, pairs: Sequence[tuple[float, float]], measure: str) -> None:
    """Draw the best and the median fitness of each generation.

    Args:
        canvas: Where to draw.
        pairs: Best and median of each generation.
        measure: What fitness is.
    """
    best, median = (np.array(column) for column in zip(*pairs, strict=True))
    generations, ends = np.arange(1, len(pairs) + 1), []
    for name, values, role in (("median", median, "muted"), ("best", best, "c1")):
        is_finite = np.isfinite(values)
        dots: Any = {"marker": "o", "markersize": 3.5} if is_finite.sum() < 3 else {}
        canvas.axes.plot(generations[is_finite], values[is_finite], color=canvas.colour(role), **dots)
        last = values[is_finite][-1] if is_finite.any() else None
        ends += [(float(last), f"{name} {number(last)}", role)] if last is not None else []
    canvas.axes.set_xlim(1, max(len(pairs), 2))
    canvas.axes.set_xticks(_generation_ticks(len(pairs)))
    canvas.scale_axis("y", np.concatenate([best, median]), measure)
    canvas.axes.set_xlabel("generation")
    canvas.label_lines(ends)


def box_plots(canvas: Canvas, contenders: Sequence[Contender], values: Mapping[str, Any], measure: str) -> None:
    """Draw a box plot per contestant, a row each: quartiles, whiskers of 1.5 box lengths, and outliers.

    Args:
        canvas: Where to draw.
        contenders: The contestants, the first at the top.
        values: The values of the runs of each; those that are not finite are left out.
        measure: What the values are.
    """
    finite = {each.name: np.asarray(values[each.name])[np.isfinite(values[each.name])] for each in contenders}
    for row, each in enumerate(contenders):
        if finite[each.name].size:
            _box(canvas, row, finite[each.name], each.role)
    names, roles = [each.name for each in contenders], [each.role for each in contenders]
    canvas.label_rows(names, roles, [each.is_strong for each in contenders])
    canvas.scale_axis("x", np.concatenate(list(finite.values())), measure)


def anytime_curves(canvas: Canvas, contenders: Sequence[Contender], rows: Sequence[Record], measure: str) -> None:
    """Draw how the worst case of the current design falls with the evaluations, with quartiles for strong lines.

    A line that ends early, since its budget is smaller, is continued by dots up to its name. The axis leaves out the
    first tenths of the lines if they are far above the rest; a control beyond it has an arrow at its name.

    Args:
        canvas: Where to draw.
        contenders: The contestants.
        rows: `contestant`, `evaluations`, `mean`, `q1` and `q3` of each point.
        measure: What the values are.
    """
    last = max(row["evaluations"] for row in rows)
    top = _highest_mean({each.name for each in contenders if not each.is_dashed}, rows)
    ends = []
    for each in contenders:
        own = [row for row in rows if row["contestant"] == each.name]
        if own:
            end = _anytime_curve(canvas, each, own, last)
            ends.append((end, each.name if end <= top else f"{each.name} ↑", each.role))
    canvas.axes.set_xlim(0, last)
    means = np.array([row["mean"] for row in rows])
    canvas.scale_axis("y", means, measure)
    canvas.axes.set_ylim(*canvas.limits(float(means.min()), top))
    canvas.count_axis("x", "evaluations")
    canvas.label_lines(ends, 18)


def _anytime_curve(canvas: Canvas, contender: Contender, rows: Sequence[Record], last: float) -> float:
    """Draw the curve of one contestant, and return its last mean."""
    x, mean, low, high = (np.array([row[name] for row in rows]) for name in ("evaluations", "mean", "q1", "q3"))
    color, is_strong = canvas.colour(contender.role), contender.is_strong
    style: Any = {"linestyle": DASHES if contender.is_dashed else "-", "linewidth": 1.9 if is_strong else 0.9}
    canvas.axes.plot(x, mean, color=color, **style)
    if is_strong:
        canvas.axes.fill_between(x, low, high, color=color, alpha=0.14, lw=0)
    canvas.axes.plot((x[-1], last), (mean[-1], mean[-1]), color=color, linestyle=":", lw=0.7, alpha=0.6)
    return float(mean[-1])


def _box(canvas: Canvas, row: int, values: Any, role: str) -> None:
    axes, color = canvas.axes, canvas.colour(role)
    low, median, high = np.percentile(values, (25, 50, 75))
    whisker = 1.5 * (high - low)
    is_inside = (values >= low - whisker) & (values <= high + whisker)
    inside, outliers = values[is_inside], values[~is_inside]
    axes.plot((inside.min(), low), (row, row), color=color, linewidth=0.9)
    axes.plot((high, inside.max()), (row, row), color=color, linewidth=0.9)
    axes.add_patch(Rectangle((low, row - 0.3), high - low, 0.6, facecolor=color, alpha=0.22, linewidth=0))
    axes.add_patch(Rectangle((low, row - 0.3), high - low, 0.6, fill=False, edgecolor=color, linewidth=0.9))
    axes.plot((median, median), (row - 0.3, row + 0.3), color=color, linewidth=2.0, solid_capstyle="butt")
    axes.plot(outliers, np.full(outliers.size, row), "o", ms=1.7, color=color, alpha=0.55, mew=0)


def _generation_ticks(last: int) -> list[int]:
    """Return the first generation and round numbers after it."""
    step = next(size for size in (1, 2, 5, 10, 20, 50, 10**6) if last <= 5 * size or size == 10**6)
    return [1, *range(max(step, 2), last + 1, step)]


def _highest_mean(names: set[str], rows: Sequence[Record]) -> float:
    """Return the highest mean of these contestants after a fifth of their evaluations, or else of all."""
    ends = {row["contestant"]: row["evaluations"] for row in rows}
    late = [row for row in rows if row["evaluations"] >= 0.2 * ends[row["contestant"]]]
    return float(max(row["mean"] for row in [row for row in late if row["contestant"] in names] or late))
