"""The canvas of a plot: Matplotlib axes, with the colours, axes, row names and line names that all plots share.

`Canvas` draws in the style that the user has set for Matplotlib. The report derives a canvas of its own, whose colours
are those of the page and whose texts stand where a narrow figure has room for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import Formatter, FuncFormatter, MaxNLocator, NullFormatter

from robustforge.formatting import MINUS, shorten

Direction = Literal["x", "y"]

LINE_ROLES = ("c1", "c2", "c3", "c4", "c5", "c6", "c7")
"""The colours that distinguish lines, in the order in which they are assigned."""

LOG_RATIO = 30.0
"""Positive values whose extremes differ by more than this factor are shown on a logarithmic axis."""


class Canvas:
    """Matplotlib axes that plots draw on.

    Colours are named by their role: `LINE_ROLES` for lines, "ink" and "soft" for text, "muted" for what stays in the
    background, "page" for the background itself.

    Args:
        axes: The Matplotlib axes.
    """

    def __init__(self, axes: Axes) -> None:
        self.axes = axes

    def colour(self, role: str) -> str:
        """Return the colour of a role: lines have the user's colour cycle."""
        if role in LINE_ROLES:
            return f"C{LINE_ROLES.index(role)}"
        return {"muted": "0.55", "page": str(mpl.rcParams["axes.facecolor"])}.get(role, str(mpl.rcParams["text.color"]))

    def label_axis(self, direction: Direction, text: str) -> None:
        """Name the quantity on an axis."""
        (self.axes.set_xlabel if direction == "x" else self.axes.set_ylabel)(text)

    def label_lines(self, ends: Sequence[tuple[float, str, str]], max_length: int = 22) -> None:
        """Name the lines of the plot.

        Args:
            ends: For each line the value at its right end, its name, and the role of its colour.
            max_length: Letters of a name.
        """
        if ends:
            lines = [Line2D([], [], color=self.colour(role), label=shorten(name, 40)) for _, name, role in ends]
            self.axes.legend(handles=lines)

    def label_rows(
        self, names: Sequence[str], roles: Sequence[str] = (), bold: Sequence[bool] = (), max_length: int = 22
    ) -> None:
        """Make a row of each name, the first at the top.

        Args:
            names: The names.
            roles: The roles of their colours; "soft" for all by default.
            bold: Whether each is bold; none is by default.
            max_length: Letters of a name.
        """
        axes = self.axes
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_yticks(range(len(names)), [shorten(name, max_length) for name in names])
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.set_axisbelow(True)
        styles = zip(axes.get_yticklabels(), roles or ["soft"] * len(names), bold or [False] * len(names), strict=True)
        for text, role, is_bold in styles:
            text.set_color(self.colour(role))
            text.set_fontweight("bold" if is_bold else "normal")

    def label_variables(self, names: Sequence[str]) -> None:
        """Make a row of each variable, the first at the top."""
        self.label_rows(names)

    def scale_axis(self, direction: Direction, values: Any, measure: str) -> None:
        """Choose a linear or a logarithmic axis, format its ticks, and name the quantity on it.

        Args:
            direction: Which axis.
            values: What it has to show; values that are not finite are ignored.
            measure: The name of the quantity.
        """
        finite = np.asarray(values, dtype=float)
        finite = finite[np.isfinite(finite)]
        axis = self.axes.yaxis if direction == "y" else self.axes.xaxis
        is_log = finite.size > 0 and finite.min() > 0 and finite.max() > LOG_RATIO * finite.min()
        if is_log:
            (self.axes.set_yscale if direction == "y" else self.axes.set_xscale)("log")
            decades = math.log10(finite.max() / finite.min())
            axis.set_minor_formatter(NullFormatter() if decades > 1.5 else FuncFormatter(_log_tick))
        else:
            axis.set_major_locator(round_ticks(5 if direction == "y" else 4))
        axis.set_major_formatter(FuncFormatter(_log_tick) if is_log else TickFormatter())
        self.label_axis(direction, f"{measure}, log scale" if is_log else measure)

    def count_axis(self, direction: Direction, name: str) -> None:
        """Format the ticks of an axis that counts something, and name it."""
        axis = self.axes.xaxis if direction == "x" else self.axes.yaxis
        axis.set_major_locator(round_ticks(4))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axis.set_label_text(name)

    def limits(self, low: float, high: float) -> tuple[float, float]:
        """Return limits of the y axis with a margin beyond the values to show."""
        if self.axes.get_yscale() == "log":
            factor = (high / low) ** 0.05
            return low / factor, high * factor
        margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        return low - margin, high + margin


def round_ticks(most: int) -> MaxNLocator:
    """Return a locator of at most this many ticks, in steps of 1, 2, 2.5 or 5."""
    return MaxNLocator(most, steps=[1, 2, 2.5, 5, 10])


class TickFormatter(Formatter):
    """Formats all ticks of an axis with the same number of decimals: that of the tick that needs most."""

    def format_ticks(self, values: Any) -> list[str]:
        """Return the labels of the ticks."""
        size = max((abs(value) for value in values), default=1.0) or 1.0
        exact = (places for places in range(9) if all(abs(v - round(v, places)) < 1e-6 * size for v in values))
        places = next(exact, 9)
        form = ".3g" if size >= 1e6 or places > 6 else f",.{places}f"
        return [f"{value:{form}}".replace("-", MINUS) for value in values]

    def __call__(self, value: float, pos: int | None = None) -> str:
        return self.format_ticks([value])[0]


def _log_tick(value: float, _: Any = None) -> str:
    """Return the label of a tick on a logarithmic axis."""
    return f"{value:,.0f}" if 1 <= value < 1e6 else f"{value:.3g}".replace("-", MINUS)
