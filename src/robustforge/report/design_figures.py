"""The figures of a search for a robust design: what drives its worst case, how it went, its neighbourhood, its price.

Values that come in are in the user's own sense; where it matters, `worse` says which side is worse: 1 if high values
are, -1 if low ones are.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from robustforge.report.drawing import Frame, colour, draw, end_labels, heading, room_for
from robustforge.report.figures import ROW, WIDE_RANGE, Ticks, finish, margins, name_rows, round_ticks
from robustforge.report.words import number, short, signed

Floats = npt.NDArray[np.float64]
Points = Sequence[tuple[float, float]]

LABELS = ("lowest", "as designed", "highest")
"""What the places -1, 0 and 1 within a tolerance are called."""

THIRDS = {"middle": "muted", "best": "c1", "worst": "c2"}
"""The colours of the best, the middle and the worst third of runs, in the order in which they are painted."""

_NAMES, _TALL, _FAR, _BAD, _FAN = 14, 26.0, 3.0, 0.25, 0.07
_LETTERS, _ABOVE, _FAINT, _PALE = 48, 13.0, 0.35, 0.6


def drivers(key: str, label: str, names: Sequence[str], changes: Sequence[float]) -> Markup:
    """Return how much the value changes across the tolerance of each variable, a row each."""
    row = ROW + _ABOVE * _are_long(names)

    def paint(axes: Axes) -> None:
        most = max(map(abs, changes), default=0.0) or 1.0
        axes.barh(range(len(names)), changes, height=0.62 * ROW / row, color=colour("c1"), linewidth=0)
        axes.axvline(0, color=colour("muted"), linewidth=0.8)
        for place, change in enumerate(changes):
            axes.annotate(
                signed(change, 3), (1, place), (58, 0), xycoords=("axes fraction", "data"),
                textcoords="offset points", va="center", ha="right", color=colour("soft"),
            )  # fmt: skip
        _name(axes, names)
        axes.set_xlim(-1.06 * most, 1.06 * most)
        axes.xaxis.set_major_locator(round_ticks(4))
        axes.xaxis.set_major_formatter(Ticks())
        heading(axes, "change of the value across the tolerance")

    return draw(key, label, Frame(len(names) * row + 46, left=_room(names, 10), right=64, bottom=20), paint)


def convergence(key: str, label: str, runs: Points, estimates: Points, ends: Points, worse: float) -> Markup:
    """Return the values of all runs, and what the search took for the robust value of its design.

    Args:
        key: The figure's name on the page.
        label: What it shows.
        runs: The number and the value of each run, at least one of them finite; all others are marks at the edge.
        estimates: After how many runs, and what.
        ends: The worst known value of the design, as a point on the right; empty if there is none.
        worse: Which side is worse.
    """
    x, y = (np.array([run[k] for run in runs], dtype=float) for k in (0, 1))
    known = np.array([each for each in estimates if np.isfinite(each[1])]).reshape(-1, 2)
    late = known[len(known) // 2 :, 1]  # the first ones may be far away
    low, high = _window(y[np.isfinite(y)], np.array([*late, *(end for _, end in ends)]), worse)
    beyond = ~np.isfinite(y) | (y < low) | (y > high)

    def paint(axes: Axes) -> None:
        finish(axes, "y", np.array([low, high]), "value of each run")
        axes.plot(x[~beyond], y[~beyond], "o", ms=2.6, mew=0, color=colour("muted"), alpha=0.5)
        axes.step(known[:, 0], known[:, 1], where="post", color=colour("c1"), linewidth=1.8)
        named = [(float(known[-1, 1]), f"estimate {number(known[-1, 1])}", "c1")] if len(known) else []
        for at, end in ends:
            axes.plot([at], [end], "D", ms=4.5, color=colour("c2"), clip_on=False)
            named.append((end, f"worst {number(end)}", "c2"))
        axes.set_xlim(0, max(float(x.max()), 1.0))
        axes.set_ylim(*margins(low, high, axes.get_yscale()))
        edge = 1.0 if worse > 0 else 0.0
        marks: Any = {"ms": 5.0, "mew": 0.8, "color": colour("c2"), "alpha": 0.6, "clip_on": False}
        axes.plot(x[beyond], np.full(beyond.sum(), edge), "|", transform=axes.get_xaxis_transform(), **marks)
        axes.xaxis.set_major_locator(round_ticks(4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_xlabel("runs")
        end_labels(axes, named)

    return draw(key, label, Frame(215, right=104, top=26), paint)


def neighbourhood(key: str, label: str, names: Sequence[str], positions: Floats, badness: Floats) -> Markup:
    """Return runs within the tolerances as lines from variable to variable, by how bad they are, the worst on top.

    Many lie in corners. So that they do not cover each other there, the better ones are moved a little to the left, and
    the worse ones to the right.

    Args:
        key: The figure's name on the page.
        label: What it shows.
        names: The variables.
        positions: Where each run lies in each of them (k, m), from -1 to 1.
        badness: What orders them (k,): the worst is the highest.
    """
    order = np.argsort(badness, kind="stable")
    shift = np.empty(order.size)
    shift[order] = np.linspace(-_FAN, _FAN, order.size)
    moved = (1 - _FAN) * positions + shift[:, None]
    low, high = badness[order[order.size // 3]], badness[order[2 * order.size // 3]]
    thirds = {"worst": badness >= high, "best": badness < low, "middle": (badness >= low) & (badness < high)}
    rows = np.append(np.arange(len(names), dtype=float), np.nan)

    def paint(axes: Axes) -> None:
        for third, role in THIRDS.items():
            lines = np.column_stack([moved[thirds[third]], np.full(thirds[third].sum(), np.nan)])
            axes.plot(lines.ravel(), np.tile(rows, len(lines)), color=colour(role), linewidth=0.7, alpha=0.55)
        axes.plot(positions[order[-1]], rows[:-1], "o-", ms=4.0, color=colour("ink"), linewidth=2.0, clip_on=False)
        _name(axes, names)
        axes.grid(visible=True, axis="y")
        _places(axes)

    tall = _TALL + _ABOVE * _are_long(names)
    return draw(key, label, Frame(len(names) * tall + 36, left=_room(names, 24), right=30, top=10, bottom=24), paint)


def across(key: str, label: str, name: str, positions: Floats, values: Floats, badness: Floats) -> Markup:
    """Return the values of runs within the tolerance of the only uncertain variable, the worst one emphasised."""
    worst, finite = int(np.argmax(badness)), np.isfinite(values)

    def paint(axes: Axes) -> None:
        finish(axes, "y", values, "value of each run")
        axes.plot(positions[finite], values[finite], "o", ms=3.5, mew=0, color=colour("c1"), alpha=0.7)
        if finite[worst]:
            axes.plot(positions[[worst]], values[[worst]], "o", ms=5.5, color=colour("c2"), clip_on=False)
        axes.plot(
            positions[~finite], np.full((~finite).sum(), 1.0), "|", transform=axes.get_xaxis_transform(),
            ms=5.0, mew=0.8, color=colour("c2"), clip_on=False,
        )  # fmt: skip
        if finite.any():
            axes.set_ylim(*margins(float(values[finite].min()), float(values[finite].max()), axes.get_yscale()))
        _places(axes)
        axes.set_xlabel(short(name, _LETTERS))

    return draw(key, label, Frame(190, right=30), paint)


@dataclass(frozen=True)
class Bound:
    """A mark in the figure of prices.

    Attributes:
        factor: The tolerances, as a multiple of those of the problem.
        value: The worst value known; NaN if there is none.
        runs: How many runs that is the worst of.
        is_faint: Whether these are too few to trust.
    """

    factor: float
    value: float
    runs: int
    is_faint: bool = False


def prices(
    key: str, label: str, best: Sequence[Bound], own: Sequence[Bound], attacked: float | None, worse: float
) -> Markup:
    """Return what the best design would be worth under other tolerances, and this one, by the search's own runs.

    Args:
        key: The figure's name on the page.
        label: What it shows.
        best: The best design under each tolerance.
        own: This design under each.
        attacked: The worst value of this design after an attack, under the tolerances as given: a mark of its own.
        worse: Which side is worse.
    """
    extra = [] if attacked is None else [attacked]
    values = np.array([*(each.value for each in (*best, *own)), *extra])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))

    def paint(axes: Axes) -> None:
        finish(axes, "y", values, "worst value known")
        axes.set_xlim(-0.06, 2.06)
        axes.set_xticks(list(_FACTORS), list(_FACTORS.values()))
        limits = margins(low, high, axes.get_yscale())
        axes.set_ylim(*(margins(*limits, axes.get_yscale())))
        named = []
        for line, role, name, side in ((own, "c2", "this design", worse), (best, "c1", "best known", -worse)):
            known = [each for each in line if np.isfinite(each.value)]
            _bounds(axes, known, role, worse)
            _counts(axes, known if role == "c1" else [each for each in known if each not in best], side)
            named += [(known[-1].value, name, role)] if known else []
        if attacked is not None:
            axes.plot([1.0], [attacked], "D", ms=5.5, mfc=colour("page"), mec=colour("c2"), mew=1.5, clip_on=False)
            beside: Any = {"textcoords": "offset points", "va": "center", "ha": "right", "color": colour("c2")}
            axes.annotate(f"attacked {number(attacked)}", (1.0, attacked), (-7, 0), **beside)
        axes.set_xlabel("tolerances")
        end_labels(axes, named)

    return draw(key, label, Frame(215, right=84, top=26), paint)


def _bounds(axes: Axes, line: Sequence[Bound], role: str, worse: float) -> None:
    """Draw a line of bounds: triangles point to where the true value may lie; those of too few runs are faint."""
    for before, after in itertools.pairwise(line):
        alpha = _FAINT if before.is_faint or after.is_faint else 1.0
        ends = (before.factor, after.factor), (before.value, after.value)
        axes.plot(*ends, color=colour(role), linewidth=1.4, alpha=alpha, solid_capstyle="butt")
    for each in line:
        shape = "o" if each.factor == 0 else "^" if worse > 0 else "v"
        paint: Any = {"mfc": colour("page") if each.is_faint else colour(role), "mec": colour(role)}
        axes.plot([each.factor], [each.value], shape, ms=4.5, mew=0.9, alpha=_PALE if each.is_faint else 1.0, **paint)


def _counts(axes: Axes, line: Sequence[Bound], side: float) -> None:
    """Write beside each bound how many runs it is of."""
    for each in line:
        if each.factor > 0:
            axes.annotate(
                f"{each.runs:,}", (each.factor, each.value), (0, 5 * side), textcoords="offset points", ha="center",
                va="bottom" if side > 0 else "top", color=colour("muted"), fontsize=8.5,
            )  # fmt: skip


_FACTORS = {0.0: "none", 0.5: "half", 1.0: "as given", 1.5: "1.5×", 2.0: "double"}


def _are_long(names: Sequence[str]) -> bool:
    """Whether names need a line of their own above their rows; beside them, they would be cut."""
    return max(map(len, names), default=0) > _NAMES


def _room(names: Sequence[str], least: float) -> float:
    """Return the units on the left of rows with names."""
    return least if _are_long(names) else room_for(names, _NAMES) + 10


def _name(axes: Axes, names: Sequence[str]) -> None:
    """Make a row of each name, which stands beside its row if all are short, and else above it."""
    name_rows(axes, names, ["soft"] * len(names), [False] * len(names), _NAMES)
    if not _are_long(names):
        return
    axes.set_ylim(len(names) - 0.5, -0.75)
    axes.set_yticks(range(len(names)), [""] * len(names))
    paper: Any = {"facecolor": colour("page"), "edgecolor": "none", "alpha": 0.8, "pad": 0.6}
    for place, name in enumerate(names):
        axes.annotate(
            short(name, _LETTERS), (0, place), (4, 12), xycoords=("axes fraction", "data"), zorder=5,
            textcoords="offset points", va="center", ha="left", color=colour("soft"), bbox=paper,
        )  # fmt: skip


def _places(axes: Axes) -> None:
    """Name the places within a tolerance below the axes."""
    axes.set_xlim(-1.04, 1.04)
    axes.set_xticks([-1, 0, 1], LABELS)


def _window(values: Floats, always: Floats, worse: float) -> tuple[float, float]:
    """Return the limits of what is shown: all, unless a few runs are so bad that the others would look the same."""
    shown = np.concatenate([values, always])
    if shown.min() > 0 and shown.max() > WIDE_RANGE * shown.min():
        return float(shown.min()), float(shown.max())  # a logarithmic axis has room for all
    bad = np.sort(worse * shown)
    limit = bad[int((1 - _BAD) * (bad.size - 1))]
    if bad[-1] - bad[0] <= _FAR * (limit - bad[0]):
        limit = bad[-1]
    limit = max(limit, *(worse * always), bad[0])
    low, high = sorted((float(worse * bad[0]), float(worse * limit)))
    return low, high
