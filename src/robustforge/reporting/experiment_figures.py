"""The figures of experiments as SVG: fitness, box plots, anytime curves, and the analysis of components.

All are as wide as a phone, and are next to each other on wider screens. Figures that notebooks also show come from
`robustforge.plotting`; here are their frames, and the figures that only the report has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from matplotlib.ticker import FuncFormatter

from robustforge.analysis.features import NOT_APPLICABLE
from robustforge.formatting import percent, shorten
from robustforge.plotting import experiment_plots
from robustforge.plotting.canvas import LINE_ROLES, round_ticks
from robustforge.plotting.experiment_plots import DASHES, Contender
from robustforge.reporting.svg_canvas import Frame, SvgCanvas, draw, name_width
from robustforge.tables import Record

ROW_HEIGHT = 15.0
"""Units from one row of a figure to the next."""

_MIN_NAME_WIDTH = 84.0
"""Least units for the names of alternatives, so that rows of several figures are aligned."""

_LONG_NAME, _SHORT_NAME = 32, 16


def fitness(key: str, label: str, pairs: Sequence[tuple[float, float]], measure: str) -> Markup:
    """Return the best and the median fitness by generation."""
    return draw(key, label, Frame(right=98), lambda canvas: experiment_plots.fitness(canvas, pairs, measure))


def box_plots(key: str, label: str, contenders: Sequence[Contender], values: Mapping[str, Any], measure: str) -> Markup:
    """Return a box plot per contestant, a row each."""
    left = name_width([each.name for each in contenders]) + 10
    frame = Frame(len(contenders) * ROW_HEIGHT + 52, left=left, bottom=22)
    return draw(key, label, frame, lambda canvas: experiment_plots.box_plots(canvas, contenders, values, measure))


def anytime(key: str, label: str, contenders: Sequence[Contender], rows: Sequence[Record], measure: str) -> Markup:
    """Return how the worst case of the current design falls with the evaluations."""
    right = name_width([f"{each.name} ↑" for each in contenders], 18) + 14
    frame = Frame(max(200.0, 12.0 * len(contenders) + 64), right=right)
    return draw(key, label, frame, lambda canvas: experiment_plots.anytime_curves(canvas, contenders, rows, measure))


def deciles(key: str, label: str, rows: Sequence[Record]) -> Markup:
    """Return the frequency of each alternative in each decile, from the best to the worst."""
    names = [name for name in dict.fromkeys(row["alternative"] for row in rows) if _occurs(name, rows)]
    roles = _roles(names)

    def paint(canvas: SvgCanvas) -> None:
        axes, ends = canvas.axes, []
        for name in names:
            own = [row for row in rows if row["alternative"] == name]
            style: Any = {"linestyle": DASHES if roles[name] == "muted" else "-", "linewidth": 1.4}
            shares = [row["share"] for row in own]
            axes.plot([row["decile"] for row in own], shares, color=canvas.colour(roles[name]), **style)
            ends.append((shares[-1], name, roles[name]))
        axes.set_xlim(1, 10)
        axes.set_xticks([1, 4, 7, 10], ["best", "4th", "7th", "worst"])
        axes.get_xticklabels()[0].set_horizontalalignment("left")
        axes.set_ylim(0, None)
        axes.yaxis.set_major_locator(round_ticks(5))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
        canvas.label_axis("y", "frequency in each decile")
        canvas.label_lines(ends, _SHORT_NAME)

    return draw(key, label, Frame(170, right=name_width(names, _SHORT_NAME) + 16, bottom=22), paint)


def proportions(key: str, label: str, rows: Sequence[Record]) -> Markup:
    """Return the frequency of each alternative among all heuristics and among the top third, a row each."""
    names = [row["alternative"] for row in rows]

    def paint(canvas: SvgCanvas) -> None:
        axes, strong, muted = canvas.axes, canvas.colour("c1"), canvas.colour("muted")
        for index, row in enumerate(rows):
            shares = (row["all"], row["top_third"])
            axes.plot(shares, (index, index), color=strong, linewidth=1.2, alpha=0.45)
            axes.plot(shares[:1], [index], "o", ms=4.5, mfc=canvas.colour("page"), mec=muted, mew=1.2)
            axes.plot(shares[1:], [index], "o", ms=5.0, color=strong)
            axes.annotate(
                f"{percent(shares[0])} → {percent(shares[1])}", (1, index), (6, 0), xycoords=("axes fraction", "data"),
                textcoords="offset points", va="center", color=canvas.colour("soft"),
            )  # fmt: skip
        canvas.label_rows(names)
        axes.set_xlim(-0.02, 1.02)
        axes.set_xticks([0, 0.5, 1], ["0%", "50%", "100%"])

    left = max(name_width(names), _MIN_NAME_WIDTH) + 8
    return draw(key, label, Frame(len(rows) * ROW_HEIGHT + 30, left=left, right=80, top=6, bottom=20), paint)


def intervals(key: str, label: str, rows: Sequence[Record], measure: str) -> Markup:
    """Return effects with their confidence intervals, a row each.

    Args:
        key: The id of the figure on the page.
        label: A description of what it shows.
        rows: `name`, `effect`, `low` and `high` of each.
        measure: What the effects are fractions of.
    """
    names = [row["name"] for row in rows]

    def paint(canvas: SvgCanvas) -> None:
        axes, color = canvas.axes, canvas.colour("c1")
        for index, row in enumerate(rows):
            axes.plot((row["low"], row["high"]), (index, index), color=color, linewidth=1.2, alpha=0.6)
            axes.plot([row["effect"]], [index], "o", ms=4.5, color=color)
        canvas.label_rows([shorten(name, _LONG_NAME) for name in names], max_length=_LONG_NAME)
        axes.set_xlim(0, max(max(row["high"] for row in rows) * 1.05, 0.01))
        axes.xaxis.set_major_locator(round_ticks(4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%"))
        canvas.label_axis("x", measure)

    left = name_width(names, _LONG_NAME) * 0.93 + 10
    return draw(key, label, Frame(len(rows) * ROW_HEIGHT + 46, left=left, bottom=20), paint)


def _occurs(name: str, rows: Sequence[Record]) -> bool:
    return any(row["share"] > 0 for row in rows if row["alternative"] == name)


def _roles(names: Sequence[str]) -> dict[str, str]:
    """Return the role of the colour of each alternative; "na" and those beyond the last colour are muted."""
    applicable = [name for name in names if name != NOT_APPLICABLE]
    colours = dict(zip(applicable, LINE_ROLES, strict=False))
    return {name: colours.get(name, "muted") for name in names}
