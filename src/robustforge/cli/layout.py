"""How people see anything: calm, aligned text that fits 80 columns. Styles are bold and dim; warnings are yellow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import click
from rich import console, text
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table

from robustforge.errors import escaped
from robustforge.formatting import significant

WIDTH = 80

_SHOWN = 6
"""Coordinates of a design that fit on a line."""


class Text(text.Text):
    """Text with a style, in which nothing is left that a terminal obeys: a name or a model's output may hold it."""

    def __init__(self, text: str = "", style: Any = "", **how: Any) -> None:
        super().__init__(escaped(text), style, **how)

    def append(self, text: Any, style: Any = None) -> Text:
        super().append(escaped(text) if isinstance(text, str) else text, style)
        return self


class Screen(console.Console):
    """A console that takes strings as they are: neither as codes for the terminal nor as markup of rich."""

    def __init__(self, **how: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **how)

    def render_str(self, text: str, **how: Any) -> text.Text:
        return super().render_str(escaped(text), **how)


def show(*parts: RenderableType) -> None:
    """Print to stdout, without the blanks that pad a table on the right."""
    screen = Screen()
    with screen.capture() as capture:
        for part in parts:
            screen.print(part)
    click.echo("\n".join(line.rstrip() for line in capture.get().split("\n")), nl=False)


def title(text: str) -> Text:
    """Return the first line of a screen."""
    return Text(text, style="bold")


def indented(part: RenderableType, by: int = 2) -> Padding:
    """Return something further to the right."""
    return Padding(part, (0, 0, 0, by))


def paragraphs(width: int) -> Table:
    """Return a grid of a narrow column of names and a wide one of text that wraps beside it."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=width)
    grid.add_column()
    return grid


def columns(*headings: str) -> Table:
    """Return a table without lines, its headings dim."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for place, heading in enumerate(headings):
        table.add_column(heading, no_wrap=place == 0, overflow="fold")  # a name is never cut
    return table


def packed(items: Sequence[text.Text], room: int, gap: str, indent: str, column: int = 0) -> Text:
    """Return items beside each other, going on in the next line where there is no room."""
    whole = Text()
    for place, item in enumerate(items):
        if place and column + len(gap) + len(item) > room:
            whole.append(f"\n{indent}")
            column = len(indent)
        elif place:
            whole.append(gap)
            column += len(gap)
        whole.append_text(item)
        column += len(item)
    return whole


def vector(values: list[float]) -> Text:
    """Return a design, shortened to a line."""
    numbers = [number(value) for value in values]
    if len(values) > _SHOWN:
        numbers = [*numbers[: _SHOWN - 2], "...", numbers[-1]]
    return Text(", ".join(numbers))


def number(value: float, digits: int = 6) -> str:
    """Return a value for people; one that is +inf has no other name for it.

    Example:
        >>> number(1234.5), number(1e-7), number(float("inf")), number(2 / 3, 2)
        ('1,234.5', '1e-07', 'infinite', '0.67')
    """
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "infinite" if value > 0 else "-infinite"
    return significant(value, digits)


def duration(seconds: float | None) -> str:
    """Return a time that is left, as people write it: 45 s, 3:20 min, 2:05 h; no guess has parts of a second."""
    if seconds is None:
        return "?"
    if seconds < 60:
        return f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02} h"
