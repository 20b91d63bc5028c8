"""The figures of the page but for the landscapes: plain numbers in, SVG out.

All are as wide as a phone, and stand beside each other where there is room. Lines are named where they end. An axis is
logarithmic if the values are positive and far apart, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import Formatter, FuncFormatter, MaxNLocator, NullFormatter

from robustforge.analysis.components import NOT_APPLICABLE
from robustforge.formatting import percent
from robustforge.report.drawing import LINES, Frame, colour, draw, end_labels, heading, room_for
from robustforge.report.words import MINUS, number, short
from robustforge.tables import Record

WIDE_RANGE = 30.0
"""Positive values that differ by more than this factor are shown on a logarithmic axis."""

ROW = 15.0
"""Units from one row of a figure to the next."""

_NAMES = 84.0
"""Units for the names of alternatives, at least, so that rows stand below each other."""

_DASHES = (0, (3.5, 2.5))


@dataclass(frozen=True)
class Line:
    """A contestant in a figure.

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


def fitness(key: str, label: str, pairs: Sequence[tuple[float, float]], measure: str) -> Markup:
    """Return best and median by generation."""
    best, median = (np.array(column) for column in zip(*pairs, strict=True))
    generations = np.arange(1, len(pairs) + 1)

    def paint(axes: Axes) -> None:
        ends = []
        for name, values, role in (("median", median, "muted"), ("best", best, "c1")):
            known = np.isfinite(values)
            dots: Any = {"marker": "o", "markersize": 3.5} if known.sum() < 3 else {}
            axes.plot(generations[known], values[known], color=colour(role), **dots)
            ends += [(values[known][-1], f"{name} {number(values[known][-1])}", role)] if known.any() else []
        axes.set_xlim(1, max(len(pairs), 2))
        axes.set_xticks(_generation_ticks(len(pairs)))
        finish(axes, "y", np.concatenate([best, median]), measure)
        axes.set_xlabel("generation")
        end_labels(axes, ends)

    return draw(key, label, Frame(right=98), paint)


def boxes(key: str, label: str, lines: Sequence[Line], values: Mapping[str, Any], measure: str) -> Markup:
    """Return box plots, a row each: the quartiles, whiskers up to 1.5 times their distance, and what is beyond."""
    known = {line.name: np.asarray(values[line.name])[np.isfinite(values[line.name])] for line in lines}

    def paint(axes: Axes) -> None:
        for row, line in enumerate(lines):
            if known[line.name].size:
                _box(axes, row, known[line.name], line.role)
        name_rows(
            axes, [line.name for line in lines], [line.role for line in lines], [line.is_strong for line in lines]
        )
        finish(axes, "x", np.concatenate(list(known.values())), measure)

    left = room_for([line.name for line in lines]) + 10
    return draw(key, label, Frame(len(lines) * ROW + 52, left=left, bottom=22), paint)


def anytime(key: str, label: str, lines: Sequence[Line], rows: Sequence[Record], measure: str) -> Markup:
    """Return how the worst case of the design at hand falls with the evaluations, with quartiles for strong lines.

    A line that ends early, for want of budget, is joined to its name by dots. The axis ends where the first tenths of
    the lines begin to fall out of it; a control beyond that has an arrow at its name.
    """
    last = max(row["evaluations"] for row in rows)
    top = _highest({line.name for line in lines if not line.is_dashed}, rows)

    def paint(axes: Axes) -> None:
        ends = []
        for line in lines:
            own = [row for row in rows if row["contestant"] == line.name]
            if not own:
                continue
            x, mean, low, high = (np.array([row[name] for row in own]) for name in ("evaluations", "mean", "q1", "q3"))
            style: Any = {"linestyle": _DASHES if line.is_dashed else "-", "linewidth": 1.9 if line.is_strong else 0.9}
            axes.plot(x, mean, color=colour(line.role), **style)
            if line.is_strong:
                axes.fill_between(x, low, high, color=colour(line.role), alpha=0.14, lw=0)
            axes.plot((x[-1], last), (mean[-1], mean[-1]), color=colour(line.role), linestyle=":", lw=0.7, alpha=0.6)
            ends.append((float(mean[-1]), line.name if mean[-1] <= top else f"{line.name} ↑", line.role))
        axes.set_xlim(0, last)
        axes.xaxis.set_major_locator(round_ticks(4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        means = np.array([row["mean"] for row in rows])
        finish(axes, "y", means, measure)
        axes.set_ylim(*margins(float(means.min()), top, axes.get_yscale()))
        axes.set_xlabel("evaluations")
        end_labels(axes, ends, 18)

    height = max(200.0, 12.0 * len(lines) + 64)
    return draw(key, label, Frame(height, right=room_for([f"{line.name} ↑" for line in lines], 18) + 14), paint)


def deciles(key: str, label: str, rows: Sequence[Record]) -> Markup:
    """Return the share of each alternative in each tenth, from the best to the worst."""
    names = [name for name in dict.fromkeys(row["alternative"] for row in rows) if _occurs(name, rows)]
    roles = _roles(names)

    def paint(axes: Axes) -> None:
        ends = []
        for name in names:
            own = [row for row in rows if row["alternative"] == name]
            style = _DASHES if roles[name] == "muted" else "-"
            shares = [row["share"] for row in own]
            axes.plot([row["decile"] for row in own], shares, color=colour(roles[name]), linestyle=style, linewidth=1.4)
            ends.append((shares[-1], name, roles[name]))
        axes.set_xlim(1, 10)
        axes.set_xticks([1, 4, 7, 10], ["best", "4th", "7th", "worst"])
        axes.get_xticklabels()[0].set_horizontalalignment("left")
        axes.set_ylim(0, None)
        axes.yaxis.set_major_locator(round_ticks(5))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
        heading(axes, "share of each tenth")
        end_labels(axes, ends, 16)

    return draw(key, label, Frame(170, right=room_for(names, 16) + 16, bottom=22), paint)


def proportions(key: str, label: str, rows: Sequence[Record]) -> Markup:
    """Return the shares of alternatives among all and among the top third, a row each."""
    names = [row["alternative"] for row in rows]

    def paint(axes: Axes) -> None:
        for place, row in enumerate(rows):
            shares = (row["all"], row["top_third"])
            axes.plot(shares, (place, place), color=colour("c1"), linewidth=1.2, alpha=0.45)
            axes.plot(shares[:1], [place], "o", ms=4.5, mfc=colour("page"), mec=colour("muted"), mew=1.2)
            axes.plot(shares[1:], [place], "o", ms=5.0, color=colour("c1"))
            axes.annotate(
                f"{percent(shares[0])} → {percent(shares[1])}", (1, place), (6, 0), xycoords=("axes fraction", "data"),
                textcoords="offset points", va="center", color=colour("soft"),
            )  # fmt: skip
        name_rows(axes, names, ["soft"] * len(names), [False] * len(names))
        axes.set_xlim(-0.02, 1.02)
        axes.set_xticks([0, 0.5, 1], ["0%", "50%", "100%"])

    frame = Frame(len(rows) * ROW + 30, left=max(room_for(names), _NAMES) + 8, right=80, top=6, bottom=20)
    return draw(key, label, frame, paint)


def intervals(key: str, label: str, rows: Sequence[Record], measure: str) -> Markup:
    """Return figures with their intervals, a row each.

    Args:
        key: The figure's name on the page.
        label: What it shows.
        rows: `name`, `effect`, `low` and `high` of each.
        measure: What the figures are shares of.
    """
    names = [row["name"] for row in rows]

    def paint(axes: Axes) -> None:
        for place, row in enumerate(rows):
            axes.plot((row["low"], row["high"]), (place, place), color=colour("c1"), linewidth=1.2, alpha=0.6)
            axes.plot([row["effect"]], [place], "o", ms=4.5, color=colour("c1"))
        name_rows(axes, [short(name, 32) for name in names], ["soft"] * len(names), [False] * len(names), 32)
        axes.set_xlim(0, max(max(row["high"] for row in rows) * 1.05, 0.01))
        axes.xaxis.set_major_locator(round_ticks(4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%"))
        heading(axes, measure)

    return draw(key, label, Frame(len(rows) * ROW + 46, left=room_for(names, 32) * 0.93 + 10, bottom=20), paint)


def _box(axes: Axes, row: int, values: Any, role: str) -> None:
    low, middle, high = np.percentile(values, (25, 50, 75))
    reach = 1.5 * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    beyond = values[(values < low - reach) | (values > high + reach)]
    paint = colour(role)
    axes.plot((inside.min(), low), (row, row), color=paint, linewidth=0.9)
    axes.plot((high, inside.max()), (row, row), color=paint, linewidth=0.9)
    axes.add_patch(Rectangle((low, row - 0.3), high - low, 0.6, facecolor=paint, alpha=0.22, linewidth=0))
    axes.add_patch(Rectangle((low, row - 0.3), high - low, 0.6, fill=False, edgecolor=paint, linewidth=0.9))
    axes.plot((middle, middle), (row - 0.3, row + 0.3), color=paint, linewidth=2.0, solid_capstyle="butt")
    axes.plot(beyond, np.full(beyond.size, row), "o", ms=1.7, color=paint, alpha=0.55, mew=0)


def name_rows(axes: Axes, names: Sequence[str], roles: Sequence[str], strong: Sequence[bool], most: int = 22) -> None:
    """Make a row of each name, the first on top."""
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), [short(name, most) for name in names])
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    for text, role, is_strong in zip(axes.get_yticklabels(), roles, strong, strict=True):
        text.set_color(colour(role))
        text.set_fontweight("bold" if is_strong else "normal")


def finish(axes: Axes, which: str, values: Any, measure: str) -> None:
    """Choose the scale of an axis, keep its numbers short, and say what it measures."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    axis = axes.yaxis if which == "y" else axes.xaxis
    wide = known.size > 0 and known.min() > 0 and known.max() > WIDE_RANGE * known.min()
    if wide:
        (axes.set_yscale if which == "y" else axes.set_xscale)("log")
        decades = math.log10(known.max() / known.min())
        axis.set_minor_formatter(NullFormatter() if decades > 1.5 else FuncFormatter(_power))
    else:
        axis.set_major_locator(round_ticks(5 if which == "y" else 4))
    axis.set_major_formatter(FuncFormatter(_power) if wide else Ticks())
    heading(axes, f"{measure}, log scale" if wide else measure)


def round_ticks(most: int) -> MaxNLocator:
    """Return what puts up to so many numbers beside an axis, in steps of 1, 2, 2.5 or 5."""
    return MaxNLocator(most, steps=[1, 2, 2.5, 5, 10])


class Ticks(Formatter):
    """The numbers beside an axis, all with as many places as the one that needs most."""

    def format_ticks(self, values: Any) -> list[str]:
        """Return the numbers as texts."""
        size = max((abs(value) for value in values), default=1.0) or 1.0
        rounded = (places for places in range(9) if all(abs(v - round(v, places)) < 1e-6 * size for v in values))
        places = next(rounded, 9)
        form = ".3g" if size >= 1e6 or places > 6 else f",.{places}f"
        return [f"{value:{form}}".replace("-", MINUS) for value in values]

    def __call__(self, value: float, pos: int | None = None) -> str:
        return self.format_ticks([value])[0]


def _power(value: float, _: Any = None) -> str:
    """Return a number beside a logarithmic axis."""
    return f"{value:,.0f}" if 1 <= value < 1e6 else f"{value:.3g}".replace("-", MINUS)


def _generation_ticks(last: int) -> list[int]:
    """Return the first generation and round ones after it."""
    step = next(size for size in (1, 2, 5, 10, 20, 50, 10**6) if last <= 5 * size or size == 10**6)
    return [1, *range(max(step, 2), last + 1, step)]


def _highest(names: set[str], rows: Sequence[Record]) -> float:
    """Return the highest mean of these contestants after a fifth of their evaluations; of all, if they are none."""
    ends = {row["contestant"]: row["evaluations"] for row in rows}
    late = [row for row in rows if row["evaluations"] >= 0.2 * ends[row["contestant"]]]
    return float(max(row["mean"] for row in [row for row in late if row["contestant"] in names] or late))


def margins(low: float, high: float, scale: str) -> tuple[float, float]:
    """Return the limits of an axis, with a little room beyond what it shows."""
    if scale == "log":
        room = (high / low) ** 0.05
        return low / room, high * room
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def _occurs(name: str, rows: Sequence[Record]) -> bool:
    return any(row["share"] > 0 for row in rows if row["alternative"] == name)


def _roles(names: Sequence[str]) -> dict[str, str]:
    """Give a colour to each alternative; what has no effect is muted, and so are those for which none is left."""
    real = [name for name in names if name != NOT_APPLICABLE]
    return {name: LINES[real.index(name)] if name in real[: len(LINES)] else "muted" for name in names}
