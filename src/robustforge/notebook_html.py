"""HTML fragments for notebooks: the tables, lists and folded parts that `_repr_html_` of the public classes returns.

Plain text that goes in is escaped, control characters included; what these functions return is `Html` and is not
escaped again. Styles are inline, because notebook viewers drop style sheets, and set no colours, so that a fragment
follows a light or a dark theme.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from robustforge.errors import escaped
from robustforge.formatting import significant

DIGITS = 6
"""Significant digits of a number in a table."""

_TABLE = '<table style="margin:.2em 0 .8em">'
_CELL = "padding:.15em .7em;vertical-align:baseline"
_LEFT, _RIGHT = f"text-align:left;{_CELL}", f"text-align:right;font-variant-numeric:tabular-nums;{_CELL}"


class Html(str):
    """Markup whose text is escaped already."""


def text(value: object) -> Html:
    """Return a value as text in HTML; a float is rounded, and `Html` stays as it is.

    Example:
        >>> text("<b>"), text(0.123456789), text(Html("<b>bold</b>"))
        ('&lt;b&gt;', '0.123457', '<b>bold</b>')
    """
    if isinstance(value, Html):
        return value
    if isinstance(value, float) and math.isfinite(value):
        value = significant(value, DIGITS)
    return Html(escape(escaped(str(value))))


def strong(value: object) -> Html:
    """Return a value as bold text."""
    return Html(f"<strong>{text(value)}</strong>")


def facts(values: Mapping[str, object]) -> Html:
    """Return names and values as a table of two columns without a header."""
    return Html(f"{_TABLE}<tbody>{_rows(values.items(), _LEFT)}</tbody></table>")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], numeric: bool = True) -> Html:
    """Return a table with a header; the first column names the rows.

    Args:
        columns: The header.
        rows: The cells of each row, one per column.
        numeric: Whether all columns but the first hold numbers, which are aligned at the right.
    """
    style = _RIGHT if numeric else _LEFT
    head = "".join(
        f'<th scope="col" style="{style if index else _LEFT}">{text(name)}</th>' for index, name in enumerate(columns)
    )
    return Html(f"{_TABLE}<thead><tr>{head}</tr></thead><tbody>{_rows(rows, style)}</tbody></table>")


def bullets(lines: Iterable[object]) -> Html:
    """Return lines of text as a list."""
    return Html(f"<ul>{''.join(f'<li>{text(line)}</li>' for line in lines)}</ul>")


def preformatted(lines: str) -> Html:
    """Return text with its line breaks, in a fixed-width font."""
    return Html(f'<pre style="text-align:left">{text(lines)}</pre>')


def details(summary: str, body: Html) -> Html:
    """Return a part that is folded until its summary is clicked."""
    return Html(f"<details><summary>{text(summary)}</summary>{body}</details>")


def fragment(title: str, *parts: Html) -> str:
    """Return parts below a title: the value of a `_repr_html_`."""
    return f'<div class="robustforge"><p>{strong(title)}</p>{"".join(parts)}</div>'


def _rows(rows: Iterable[Sequence[object]], style: str) -> str:
    """Return rows of a table, the first cell of each as its header."""
    return "".join(f"<tr>{_header(name)}{''.join(_cell(cell, style) for cell in cells)}</tr>" for name, *cells in rows)


def _header(name: object) -> str:
    return f'<th scope="row" style="{_LEFT};font-weight:500">{text(name)}</th>'


def _cell(value: object, style: str) -> str:
    return f'<td style="{style}">{text(value)}</td>'
