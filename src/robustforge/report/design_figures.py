"""The figures of a search for a robust design: what drives its worst case, how it went, its neighbourhood, its price.

Values that come in are in the user's own sense; where it matters, `worse` says which side is worse: 1 if high values
are, -1 if low ones are.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def drivers(key: str, label: str, names: Sequence[str], changes: Sequence[float]) -> Markup:
    """Return how much the value changes across the tolerance of each variable, a row each."""

    def paint(axes: Axes) -> None:
        most = max(map(abs, changes), default=0.0) or 1.0
        axes.barh(range(len(names)), changes, height=0.62, color=colour("c1"), linewidth=0)
        axes.axvline(0, color=colour("muted"), linewidth=0.8)
        for place, change in enumerate(changes):
            axes.annotate(
                signed(change, 3), (1, place), (58, 0), xycoords=("axes fraction", "data"),
                textcoords="offset points", va="center", ha="right", color=colour("soft"),
            )  # fmt: skip
        name_rows(axes, names, ["soft"] * len(names), [False] * len(names), _NAMES)
        axes.set_xlim(-1.06 * most, 1.06 * most)
        axes.xaxis.set_major_locator(round_ticks(4))
        axes.xaxis.set_major_formatter(Ticks())
        heading(axes, "change of the value across the tolerance")

    frame = Frame(len(names) * ROW + 46, left=room_for(names, _NAMES) + 10, right=64, bottom=20)
    return draw(key, label, frame, paint)


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
        name_rows(axes, names, ["soft"] * len(names), [False] * len(names), _NAMES)
        axes.grid(visible=True, axis="y")
        _places(axes)

    return draw(
        key,
        label,
        Frame(len(names) * _TALL + 36, left=room_for(names, _NAMES) + 10, right=30, top=10, bottom=24),
        paint,
    )


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
        axes.set_xlabel(short(name))

    return draw(key, label, Frame(190, right=30), paint)


def prices(key: str, label: str, best: Sequence[tuple[float, float, int]], own: Points, worse: float) -> Markup:
    """Return what the best design would be worth under other tolerances, and this one, as far as the history knows.

    Args:
        key: The figure's name on the page.
        label: What it shows.
        best: A factor of the tolerances, the value, NaN where none is known, and how many points that is the worst of.
        own: A factor, and the value of the design.
        worse: Which side is worse.
    """
    values = np.array([*(each[1] for each in best), *(each[1] for each in own)])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))

    def paint(axes: Axes) -> None:
        finish(axes, "y", values, "worst known value")
        named = []
        for line, role, name in ((own, "c2", "this design"), (best, "c1", "best known")):
            known = [each[1] for each in line if np.isfinite(each[1])]
            axes.plot([each[0] for each in line], [each[1] for each in line], "o-", ms=3.5, color=colour(role))
            named += [(known[-1], name, role)] if known else []
        for factor, value, points in best:
            if factor > 0 and np.isfinite(value):
                axes.annotate(
                    f"{points:,}", (factor, value), (2, -4 * worse), textcoords="offset points", ha="left",
                    va="top" if worse > 0 else "bottom", color=colour("muted"), fontsize=8.5,
                )  # fmt: skip
        axes.set_xlim(-0.06, 2.06)
        axes.set_xticks(list(_FACTORS), list(_FACTORS.values()))
        limits = margins(low, high, axes.get_yscale())
        axes.set_ylim(*(margins(*limits, axes.get_yscale())))
        axes.set_xlabel("tolerances")
        end_labels(axes, named)

    return draw(key, label, Frame(215, right=84, top=26), paint)


_FACTORS = {0.0: "none", 0.5: "half", 1.0: "as given", 1.5: "1.5×", 2.0: "double"}


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
