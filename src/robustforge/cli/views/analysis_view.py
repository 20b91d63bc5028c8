"""An analysis: frequencies and effects of components."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table as Grid

from robustforge.analysis.component_tables import applicable
from robustforge.analysis.effects import MIN_HEURISTICS
from robustforge.analysis.features import COMPONENTS, NOT_APPLICABLE
from robustforge.cli.terminal import (
    Text,
    columns,
    indented,
    paragraphs,
    show,
    title,
)
from robustforge.formatting import count
from robustforge.tables import Record

_CLEARLY = 0.05
_BAR, _MAX_PAIRS = 30, 5
_HEIGHTS = "▁▂▃▄▅▆▇█"
_BEST = (
    ("group", "inner", "extent", "movement", "network", "baseline"),
    ("mutation", "relocation", "r3", "stopping", "n_dorm", "n_pbest"),
    ("outer", "clamp", "order"),
    ("structure", "restart", "returned", "final"),
)
"""Columns of the table of champions, in blocks that fit the terminal; other components follow in a further block."""


def show_analysis(payload: Record, folder: str | None) -> None:
    """Print an analysis without the details of single components.

    Args:
        payload: The analysis.
        folder: The folder that its tables were written to, if any.
    """
    parts: list[RenderableType] = []
    for pool in payload["pools"]:
        parts += [*_heading(pool), title("Components"), "", *_proportions(pool), ""]
        parts += [title("Best heuristic of each evolution"), "", *_best(pool["best"])]
        if pool["effects"] is None:
            continue
        if any(math.isnan(row["effect"]) for row in pool["effects"]):
            few = f"Effects need at least {MIN_HEURISTICS} random heuristics: e.g. evolve --initial-population 400."
            parts += [Text(few, style="dim"), ""]
            continue
        parts += [title("Effects of components"), "", *_effects(pool["effects"]), ""]
        parts += [title("Interactions of components"), "", *_pairs(pool["pairs"]), ""]
    hint = (
        f"Tables written to {folder}."
        if folder
        else "--component KEY shows one component, from the best to the worst tenth."
    )
    show(*parts, *_not_begun(payload), Text(hint, style="dim"))


def show_detail(payload: Record, folder: str | None, crossed: bool) -> None:
    """Print the deciles of one component, if one is given, and the cross table, if it was requested."""
    parts: list[RenderableType] = []
    for pool in payload["pools"]:
        parts += _heading(pool)
        if payload["component"]:
            parts += [*_deciles(pool, payload["component"]), ""]
        if crossed:
            parts += [*_cross(pool, *payload["crossed"]), ""]
    hint = f"Tables written to {folder}." if folder else "Add --csv FOLDER for all tables."
    show(*parts, *_not_begun(payload), Text(hint, style="dim"))


def _heading(pool: Record) -> list[RenderableType]:
    """Return the evolutions of a pool."""
    number = len(pool["evolutions"])
    names = ", ".join(each["name"] + ("" if each["finished"] else " (unfinished)") for each in pool["evolutions"])
    facts = paragraphs(11)
    facts.add_row("evolutions" if number > 1 else "evolution", Text(names))
    how = ", selected per evolution and then pooled" if number > 1 else ""
    facts.add_row("top third", f"{count(pool['top_third'], 'heuristic')}{how}")
    plural = "s" if pool["dimensions"] != [1] else ""
    of = f"{number} evolutions" if number > 1 else "one evolution"
    text = f"{_joined(pool['dimensions'])} variable{plural}: {count(pool['heuristics'], 'heuristic')} of {of}"
    return [title(text), "", indented(facts), ""]


def _proportions(pool: Record) -> list[RenderableType]:
    """Return the frequencies of all alternatives: a line for the top third, with a mark for all heuristics."""
    width = max([16, *(len(row["alternative"]) + 1 for row in pool["proportions"])])
    text = Text(f"{'all':>{width + 9}}  top third", style="dim")
    for component, rows in applicable(pool["proportions"]).items():
        text.append(f"\n{COMPONENTS[component]}", "not dim").append(f"  {component}")
        for row in rows:
            style = "not dim bold" if row["top_third"] - row["all"] >= _CLEARLY else "not dim"
            shares = f"{_percent(row['all']):>7}  {_percent(row['top_third']):>9}"
            text.append(f"\n  {row['alternative']:<{width}}{shares}", style).append(f"  {_bar(row)}")
    note = f"Line: top third. Mark: all. Bold: at least {100 * _CLEARLY:g} percentage points more in the top third."
    return [indented(text), "", indented(Text(note, style="dim"))]


def _bar(row: Record) -> str:
    line, mark = ("━" * round(_BAR * row["top_third"])).ljust(_BAR + 1), round(_BAR * row["all"])
    return f"{line[:mark]}│{line[mark + 1 :]}"


def _best(rows: Sequence[Record]) -> list[RenderableType]:
    parts: list[RenderableType] = []
    known = {key for block in _BEST for key in block}
    others = [key for key in (rows[0] if rows else ()) if key in COMPONENTS and key not in known]
    for block in (*_BEST, others):
        keys = [key for key in block if rows and key in rows[0]]
        if not keys:
            continue
        table = columns("", *(key.replace("extent", "points") for key in keys))
        for row in rows:
            table.add_row(row["name"], *("-" if row[key] == NOT_APPLICABLE else str(row[key]) for key in keys))
        table.columns[0].no_wrap = False  # names may wrap, words may not
        parts += [_without_wrapping(table), ""]
    return parts


def _effects(rows: Sequence[Record]) -> list[RenderableType]:
    table = _figures("component", "effect", "90% interval", "best", "worst", left=("best", "worst"))
    for row in rows:
        table.add_row(row["component"], *_strength(row), row["best"] or "-", row["worst"] or "-")
    note = (
        "Effect: fraction of the variance of ranks that a component explains, among the random heuristics of the first "
        "generation, which selection has not affected. Best and worst: alternatives, other components being equal "
        "(shown where the effect is significant)."
    )
    return [_without_wrapping(table), "", indented(Text(note, style="dim"))]


def _pairs(rows: Sequence[Record]) -> list[RenderableType]:
    clear = [row for row in rows if row["low"] > 0.0][:_MAX_PAIRS]
    if not clear:
        return [indented(Text("No two components interact significantly.", style="dim"))]
    table = _figures("components", "effect", "90% interval")
    for row in clear:
        table.add_row(f"{row['first']} and {row['second']}", *_strength(row))
    note = "In addition to the effects of each; conservative, especially with few heuristics."
    return [_without_wrapping(table), "", indented(Text(note, style="dim"))]


def _strength(row: Record) -> tuple[Text, str]:
    interval = f"{100 * row['low']:.1f} - {_percent(row['high'])}"
    return Text(_percent(row["effect"]), style="bold" if row["low"] >= 0.01 else ""), interval


def _deciles(pool: Record, component: str) -> list[RenderableType]:
    """Return a line for each alternative: its frequency in each tenth, as bars and in percent."""
    shares: dict[str, dict[int, float]] = {}
    for row in (row for row in pool["deciles"] if row["component"] == component):
        shares.setdefault(row["alternative"], {})[row["decile"]] = row["share"]
    tenths = sorted({decile for line in shares.values() for decile in line})
    most = max(share for line in shares.values() for share in line.values())
    table = _figures("best to worst", "", *map(str, tenths))
    for alternative, line in shares.items():
        bars = "".join(_HEIGHTS[round((len(_HEIGHTS) - 1) * line[decile] / most)] for decile in tenths)
        table.add_row(alternative, bars, *(f"{100 * line[decile]:.0f}" for decile in tenths))
    note = "Percent of the heuristics in each tenth; 1: the best tenth."
    return [title(COMPONENTS[component]), "", _without_wrapping(table), "", indented(Text(note, style="dim"))]


def _cross(pool: Record, first: str, second: str) -> list[RenderableType]:
    """Return a matrix of frequencies in the top third; the component with more alternatives gives the rows."""
    cells = {(row["first"], row["second"]): row for row in pool["cross"]}
    down, across = (list(dict.fromkeys(row[key] for row in pool["cross"])) for key in ("first", "second"))
    turned = len(across) > len(down)
    down, across = (across, down) if turned else (down, across)
    table = _figures("", *across)
    for one in down:
        shares = [cells[(other, one) if turned else (one, other)]["top_third"] for other in across]
        table.add_row(one, *(Text(_percent(each), style="" if each else "dim") for each in shares))
    most = max(pool["cross"], key=lambda row: row["top_third"])
    words = f"{most['first']} with {most['second']}"
    note = f"Frequencies in the top third. {words}: {_percent(most['top_third'])}, and {_percent(most['all'])} of all."
    heading = title(f"{COMPONENTS[first]}, and {COMPONENTS[second][0].lower()}{COMPONENTS[second][1:]}")
    return [heading, "", _without_wrapping(table), "", indented(Text(note, style="dim"))]


def _not_begun(payload: Record) -> list[RenderableType]:
    names = ", ".join(payload["without_generation"])
    return [Text(f"Not analysed, no complete generation: {names}.", style="dim")] if names else []


def _figures(*headings: str, left: Sequence[str] = ("",)) -> Grid:
    """Return a table of numbers; the first column and those in `left` are text."""
    table = columns(*headings)
    for column in table.columns[1:]:
        if column.header not in left:
            column.justify = "right"
    return table


def _without_wrapping(table: Grid) -> RenderableType:
    """Return a table, indented, in which only headings may wrap."""
    for column in table.columns[1:]:
        column.min_width = max((cell_len(str(each)) for each in column.cells), default=0)
    return indented(table)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _joined(dimensions: Sequence[int]) -> str:
    return " and ".join(map(str, dimensions))
