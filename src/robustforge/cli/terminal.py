"""Text on a terminal: at most 80 columns wide, in bold and dim, warnings in yellow; control characters are escaped."""

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
"""Number of coordinates of a design that fit on a line."""


class Text(text.Text):
    """Text with a style, whose control characters are escaped: a name or the output of a model may hold some."""

    def __init__(self, text: str = "", style: Any = "", **how: Any) -> None:
        super().__init__(escaped(text), style, **how)

    def append(self, text: Any, style: Any = None) -> Text:
        super().append(escaped(text) if isinstance(text, str) else text, style)
        return self


class Screen(console.Console):
    """A console that prints strings literally: control characters are escaped, and nothing is markup."""

    def __init__(self, **how: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **how)

    def render_str(self, text: str, **how: Any) -> text.Text:
        return super().render_str(escaped(text), **how)


def show(*parts: RenderableType) -> None:
    """Print to stdout, without trailing blanks."""
    screen = Screen()
    with screen.capture() as capture:
        for part in parts:
            screen.print(part)
    click.echo("\n".join(line.rstrip() for line in capture.get().split("\n")), nl=False)


def title(text: str) -> Text:
    """Return a heading."""
    return Text(text, style="bold")


def indented(part: RenderableType, by: int = 2) -> Padding:
    """Return a part with an indentation."""
    return Padding(part, (0, 0, 0, by))


def paragraphs(width: int) -> Table:
    """Return a grid with a narrow column of names and a wide column of text that wraps."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=width)
    grid.add_column()
    return grid


def columns(*headings: str) -> Table:
    """Return a table without rules, with dim headings."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, heading in enumerate(headings):
        table.add_column(heading, no_wrap=index == 0, overflow="fold")  # a name is never cut
    return table


def figures() -> Table:
    """Return a grid with columns for names, numbers and dim remarks."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(justify="right", no_wrap=True, style="bold")
    grid.add_column(style="dim")
    return grid


def bullets(text: str, **style: Any) -> Table:
    """Return lines that start with "- " as a list whose items wrap."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    for line in text.splitlines():
        grid.add_row("-", Text(line.removeprefix("- "), **style))
    return grid


def packed(items: Sequence[text.Text], width: int, gap: str, indent: str, column: int = 0) -> Text:
    """Return items side by side, wrapped at a width.

    Args:
        items: The items.
        width: The width.
        gap: What separates items on a line.
        indent: What the next lines start with.
        column: Where the first line starts.
    """
    whole = Text()
    for index, item in enumerate(items):
        if index and column + len(gap) + len(item) > width:
            whole.append(f"\n{indent}")
            column = len(indent)
        elif index:
            whole.append(gap)
            column += len(gap)
        whole.append_text(item)
        column += len(item)
    return whole


def vector(values: list[float]) -> Text:
    """Return a design, abbreviated to one line."""
    numbers = [number(value) for value in values]
    if len(values) > _SHOWN:
        numbers = [*numbers[: _SHOWN - 2], "...", numbers[-1]]
    return Text(", ".join(numbers))


def number(value: float, digits: int = 6) -> str:
    """Return a value as text; infinite and unknown values in words.

    Example:
        >>> number(1234.5), number(1e-7), number(float("inf")), number(2 / 3, 2)
        ('1,234.5', '1e-07', 'infinite', '0.67')
    """
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "infinite" if value > 0 else "-infinite"
    return significant(value, digits)
