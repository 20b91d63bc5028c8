"""How people see anything: calm, aligned text that fits 80 columns. Bold and dim are the only styles."""

from __future__ import annotations

import click
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

WIDTH = 80

_SHOWN = 6
"""Coordinates of a design that fit on a line."""


def show(*parts: RenderableType) -> None:
    """Print to stdout, without the blanks that pad a table on the right."""
    console = Console(highlight=False, markup=False, emoji=False)  # a name may look like markup
    with console.capture() as capture:
        for part in parts:
            console.print(part)
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


def packed(items: list[Text], room: int, gap: str, indent: str, column: int = 0) -> Text:
    """Return items beside each other, going on in the next line where there is no room."""
    text = Text()
    for place, item in enumerate(items):
        if place and column + len(gap) + len(item) > room:
            text.append(f"\n{indent}")
            column = len(indent)
        elif place:
            text.append(gap)
            column += len(gap)
        text.append_text(item)
        column += len(item)
    return text


def vector(values: list[float]) -> Text:
    """Return a design, shortened to a line."""
    numbers = [number(value) for value in values]
    if len(values) > _SHOWN:
        numbers = [*numbers[: _SHOWN - 2], "...", numbers[-1]]
    return Text(", ".join(numbers))


def number(value: float, digits: int = 6) -> str:
    """Return a value for people; one that is +inf has no other name for it.

    It is as short as can be and plain, so that it can be copied into a program; a page, which is typeset, has the rules
    of `report.words.number`.

    Example:
        >>> number(1234.5), number(1e-7), number(float("inf")), number(2 / 3, 2)
        ('1,234.5', '1e-07', 'infinite', '0.67')
    """
    return "unknown" if value != value else "infinite" if value == float("inf") else f"{value:,.{digits}g}"


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
