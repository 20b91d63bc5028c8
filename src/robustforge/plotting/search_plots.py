"""Plots of one search: its convergence, the neighbourhood of its design, and what drives the worst case.

Values are as the user sees them. Where it matters, `worse` is 1 if high values are worse, -1 if low values
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.formatting import number, shorten, signed
from robustforge.plotting.canvas import LOG_RATIO, Canvas, TickFormatter, round_ticks

Floats = npt.NDArray[np.float64]
Points = Sequence[tuple[float, float]]

POSITIONS = ("lowest", "as designed", "highest")
"""Labels of the positions -1, 0 and 1 within a tolerance."""

THIRDS = {"middle": "muted", "best": "c1", "worst": "c2"}
"""Roles of the colours of the best, the middle and the worst third of runs, in the order in which they are drawn."""

_SHIFT, _OUTLIER_RATIO, _OUTLIERS, _NAME_LENGTH = 0.07, 3.0, 0.25, 48


def convergence(
    canvas: Canvas, runs: Points, estimates: Points, worst: Points, worse: float, noun: str = "run"
) -> None:
    """Draw the value of every run, and the search's estimate of the robust value of its design.

    Args:
        canvas: Where to draw.
        runs: The number and the value of each run, at least one of them finite; others are marks at the edge.
        estimates: The number of runs and the estimate after them.
        worst: The worst value found around the design, as a point at the right; empty if there is none.
        worse: Which side is worse.
        noun: What a run is called.
    """
    axes = canvas.axes
    x, y = (np.array([run[k] for run in runs], dtype=float) for k in (0, 1))
    finite = np.array([point for point in estimates if np.isfinite(point[1])]).reshape(-1, 2)
    late = finite[len(finite) // 2 :, 1]  # the first estimates may be far away
    low, high = _value_limits(y[np.isfinite(y)], np.array([*late, *(value for _, value in worst)]), worse)
    is_beyond = ~np.isfinite(y) | (y < low) | (y > high)
    canvas.scale_axis("y", np.array([low, high]), f"value of each {noun}")
    axes.plot(x[~is_beyond], y[~is_beyond], "o", ms=2.6, mew=0, color=canvas.colour("muted"), alpha=0.5)
    axes.step(finite[:, 0], finite[:, 1], where="post", color=canvas.colour("c1"), linewidth=1.8)
    ends = [(float(finite[-1, 1]), f"estimate {number(finite[-1, 1])}", "c1")] if len(finite) else []
    for at, value in worst:
        axes.plot([at], [value], "D", ms=4.5, color=canvas.colour("c2"), clip_on=False)
        ends.append((value, f"worst {number(value)}", "c2"))
    axes.set_xlim(0, max(float(x.max()), 1.0))
    axes.set_ylim(*canvas.limits(low, high))
    _edge_marks(canvas, x[is_beyond], 1.0 if worse > 0 else 0.0, alpha=0.6)
    canvas.count_axis("x", f"{noun}s")
    canvas.label_lines(ends)


def sensitivity(canvas: Canvas, names: Sequence[str], changes: Sequence[float], bar_height: float = 0.62) -> None:
    """Draw how much the value changes across the tolerance of each variable, a row each.

    Args:
        canvas: Where to draw.
        names: The variables, the one with the largest effect first.
        changes: The change of the value from the lowest to the highest position of each.
        bar_height: Height of a bar, as a fraction of its row.
    """
    axes, largest = canvas.axes, max(map(abs, changes), default=0.0) or 1.0
    axes.barh(range(len(names)), changes, height=bar_height, color=canvas.colour("c1"), linewidth=0)
    axes.axvline(0, color=canvas.colour("muted"), linewidth=0.8)
    for row, change in enumerate(changes):
        axes.annotate(
            signed(change, 3), (1, row), (58, 0), xycoords=("axes fraction", "data"),
            textcoords="offset points", va="center", ha="right", color=canvas.colour("soft"),
        )  # fmt: skip
    canvas.label_variables(names)
    axes.set_xlim(-1.06 * largest, 1.06 * largest)
    axes.xaxis.set_major_locator(round_ticks(4))
    axes.xaxis.set_major_formatter(TickFormatter())
    canvas.label_axis("x", "change of the value across the tolerance")


def neighbourhood(canvas: Canvas, names: Sequence[str], positions: Floats, costs: Floats) -> None:
    """Draw runs within the tolerances as lines from variable to variable, coloured by thirds, the worst in front.

    Many runs are in corners. So that they do not cover each other there, better runs are moved a little to the left,
    and worse ones to the right.

    Args:
        canvas: Where to draw.
        names: The variables.
        positions: The position of each run in each variable (k, m), from -1 to 1.
        costs: The values of the runs, higher being worse (k,).
    """
    order = np.argsort(costs, kind="stable")
    shift = np.empty(order.size)
    shift[order] = np.linspace(-_SHIFT, _SHIFT, order.size)
    moved = (1 - _SHIFT) * positions + shift[:, None]
    low, high = costs[order[order.size // 3]], costs[order[2 * order.size // 3]]
    thirds = {"worst": costs >= high, "best": costs < low, "middle": (costs >= low) & (costs < high)}
    rows = np.append(np.arange(len(names), dtype=float), np.nan)
    for third, role in THIRDS.items():
        lines = np.column_stack([moved[thirds[third]], np.full(thirds[third].sum(), np.nan)])
        color = canvas.colour(role)
        canvas.axes.plot(lines.ravel(), np.tile(rows, len(lines)), color=color, linewidth=0.7, alpha=0.55)
    worst = positions[order[-1]]
    canvas.axes.plot(worst, rows[:-1], "o-", ms=4.0, color=canvas.colour("ink"), linewidth=2.0, clip_on=False)
    canvas.label_variables(names)
    canvas.axes.grid(visible=True, axis="y")
    _position_axis(canvas)
    canvas.label_axis("x", "position within the tolerance")


def one_variable(
    canvas: Canvas, name: str, positions: Floats, values: Floats, costs: Floats, noun: str = "run"
) -> None:
    """Draw the values of runs within the tolerance of the only uncertain variable, the worst one emphasised."""
    axes, worst, is_finite = canvas.axes, int(np.argmax(costs)), np.isfinite(values)
    canvas.scale_axis("y", values, f"value of each {noun}")
    axes.plot(positions[is_finite], values[is_finite], "o", ms=3.5, mew=0, color=canvas.colour("c1"), alpha=0.7)
    if is_finite[worst]:
        axes.plot(positions[[worst]], values[[worst]], "o", ms=5.5, color=canvas.colour("c2"), clip_on=False)
    _edge_marks(canvas, positions[~is_finite], 1.0)
    if is_finite.any():
        axes.set_ylim(*canvas.limits(float(values[is_finite].min()), float(values[is_finite].max())))
    _position_axis(canvas)
    axes.set_xlabel(shorten(name, _NAME_LENGTH))


def _edge_marks(canvas: Canvas, x: Floats, edge: float, **style: Any) -> None:
    """Mark points beyond the limits of the plot at its upper (1) or lower (0) edge."""
    style = {"ms": 5.0, "mew": 0.8, "color": canvas.colour("c2"), "clip_on": False, **style}
    canvas.axes.plot(x, np.full(x.size, edge), "|", transform=canvas.axes.get_xaxis_transform(), **style)


def _position_axis(canvas: Canvas) -> None:
    """Label the positions within a tolerance."""
    canvas.axes.set_xlim(-1.04, 1.04)
    canvas.axes.set_xticks([-1, 0, 1], POSITIONS)


def _value_limits(values: Floats, always: Floats, worse: float) -> tuple[float, float]:
    """Return the limits of the values to show: all, unless a few are so bad that the others would look the same."""
    shown = np.concatenate([values, always])
    if shown.min() > 0 and shown.max() > LOG_RATIO * shown.min():
        return float(shown.min()), float(shown.max())  # a logarithmic axis shows them all
    bad = np.sort(worse * shown)
    limit = bad[int((1 - _OUTLIERS) * (bad.size - 1))]
    if bad[-1] - bad[0] <= _OUTLIER_RATIO * (limit - bad[0]):
        limit = bad[-1]
    limit = max(limit, *(worse * always), bad[0])
    low, high = sorted((float(worse * bad[0]), float(worse * limit)))
    return low, high
