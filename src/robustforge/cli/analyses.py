"""What `analyse` hands out, and how it looks: components of bred heuristics, pooled by the number of variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table as Grid

from robustforge.analysis.components import (
    COMPONENTS,
    NOT_APPLICABLE,
    alternatives,
    applicable,
    best_components,
    cross_table,
    deciles,
    proportions,
)
from robustforge.analysis.effects import LEAST, decomposition
from robustforge.analysis.evidence import Evidence, Outcome, pooled
from robustforge.cli.layout import Text, columns, indented, paragraphs, show, title
from robustforge.cli.listings import Record
from robustforge.errors import AssessmentError
from robustforge.tables import Table

ANALYSIS_FORMAT = "robustforge-analysis/1"
TABLES = ("proportions", "deciles", "best", "cross", "effects", "pairs")

_CROSS = ("inner", "extent")
"""The two components that the paper crosses."""

_CLEARLY = 0.05
_BAR, _MOST_PAIRS = 30, 5
_HEIGHTS = "▁▂▃▄▅▆▇█"
_BEST = (
    ("group", "inner", "extent", "movement", "network", "baseline"),
    ("mutation", "relocation", "r3", "stopping", "n_dorm", "n_pbest"),
    ("outer", "clamp", "order"),
    ("structure", "restart", "returned", "final"),
)
"""The table of the best in blocks, each as wide as a screen."""


def parse_choices(component: str | None, cross: str | None) -> tuple[str, str]:
    """Return the two components to cross, after a look at all that was asked for.

    Raises:
        RobustforgeError: A component is none, or there are not two to cross.
    """
    if component is not None:
        alternatives(component)
    if cross is None:
        return _CROSS
    parts = [part.strip() for part in cross.split(",")]
    for part in parts:
        alternatives(part)
    if len(parts) != 2:
        raise AssessmentError("--cross must name two components", f"got {cross!r}", "Write --cross inner,extent")
    return parts[0], parts[1]


def analysis_record(evidence: Evidence, component: str | None, cross: tuple[str, str], effects: bool) -> Record:
    """Return the components of what was bred as plain data, those of as many variables pooled.

    Args:
        evidence: What to analyse.
        component: The one that a closer look is taken at, if any.
        cross: The two to cross.
        effects: Whether effects are wanted, which take some seconds.

    Raises:
        AssessmentError: Nothing was bred yet.
    """
    pools = pooled(evidence.outcomes)
    if not pools:
        raise AssessmentError(
            "an analysis needs an evolution with a complete generation",
            f"{evidence.where} has none",
            "Wait, or begin one with `robustforge evolve`",
        )
    return {
        "format": ANALYSIS_FORMAT,
        "where": evidence.where,
        "component": component,
        "crossed": list(cross),
        "not_begun": [outcome.name for outcome in evidence.outcomes if not outcome.bred],
        "pools": [_pool(dimensions, pool, cross, effects) for dimensions, pool in pools.items()],
    }


def _pool(dimensions: tuple[int, ...], outcomes: Sequence[Outcome], cross: tuple[str, str], effects: bool) -> Record:
    counted = proportions(outcomes)
    strength, joint = decomposition(outcomes) if effects else (None, None)
    evolutions = [{"name": each.name, "heuristics": len(each.bred), "finished": each.finished} for each in outcomes]
    return {
        "dimensions": list(dimensions),
        "evolutions": evolutions,
        "heuristics": sum(each["heuristics"] for each in evolutions),
        "top_third": sum(row["count_top"] for row in counted if row["component"] == "inner"),
        "proportions": counted,
        "deciles": [{"component": key, **row} for key in COMPONENTS for row in deciles(outcomes, key)],
        "best": best_components(outcomes),
        "cross": _crossed(outcomes, *cross),
        "effects": strength,
        "pairs": joint,
    }


def _crossed(outcomes: Sequence[Outcome], first: str, second: str) -> list[Record]:
    """Return a cross table of all and of the top third."""
    cells = {(row["first"], row["second"]): row["share"] for row in cross_table(outcomes, first, second)}
    return [
        {"first": one, "second": other, "all": row["share"], "top_third": cells.get((one, other), 0.0)}
        for row in cross_table(outcomes, first, second, top=False)
        for one, other in [(row["first"], row["second"])]
    ]


def write_tables(record: Record, folder: str) -> None:
    """Write each table of an analysis as CSV to a folder, which is made if need be; pools one below the other."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        rows = [
            {"dimension": _joined(pool["dimensions"]), **row} for pool in record["pools"] for row in pool[name] or ()
        ]
        if rows:
            Path(folder, f"{name}.csv").write_text(Table(rows).to_csv(), encoding="utf-8")


def show_analysis(record: Record, folder: str | None) -> None:
    """Print all of an analysis but what has to be asked for.

    Args:
        record: The analysis.
        folder: Where its tables were written, if they were.
    """
    parts: list[RenderableType] = []
    for pool in record["pools"]:
        parts += [*_heading(pool), title("What they are made of"), "", *_proportions(pool), ""]
        parts += [title("The best of each"), "", *_best(pool["best"])]
        if pool["effects"] is None:
            continue
        if any(math.isnan(row["effect"]) for row in pool["effects"]):
            few = f"What matters is not told by fewer than {LEAST} random heuristics: evolve --first 400 has enough."
            parts += [Text(few, style="dim"), ""]
            continue
        parts += [title("What goes with a good place"), "", *_effects(pool["effects"]), ""]
        parts += [title("What matters together"), "", *_pairs(pool["pairs"]), ""]
    hint = f"Tables written to {folder}." if folder else "--component KEY shows one from the best tenth to the worst."
    show(*parts, *_not_begun(record), Text(hint, style="dim"))


def show_closer(record: Record, folder: str | None, crossed: bool) -> None:
    """Print the deciles of one component, if one was named, and a cross table, if it was asked for."""
    parts: list[RenderableType] = []
    for pool in record["pools"]:
        parts += _heading(pool)
        if record["component"]:
            parts += [*_deciles(pool, record["component"]), ""]
        if crossed:
            parts += [*_cross(pool, *record["crossed"]), ""]
    hint = f"Tables written to {folder}." if folder else "Add --csv FOLDER for all tables."
    show(*parts, *_not_begun(record), Text(hint, style="dim"))


def _heading(pool: Record) -> list[RenderableType]:
    """Return what was analysed."""
    count = len(pool["evolutions"])
    names = ", ".join(each["name"] + ("" if each["finished"] else " (unfinished)") for each in pool["evolutions"])
    facts = paragraphs(11)
    facts.add_row("evolutions" if count > 1 else "evolution", Text(names))
    how = ", taken in each evolution and then pooled" if count > 1 else ""
    facts.add_row("top third", f"{_heuristics(pool['top_third'])}{how}")
    plural = "s" if pool["dimensions"] != [1] else ""
    of = f"{count} evolutions" if count > 1 else "one evolution"
    text = f"{_joined(pool['dimensions'])} variable{plural}: {_heuristics(pool['heuristics'])} of {of}"
    return [title(text), "", indented(facts), ""]


def _proportions(pool: Record) -> list[RenderableType]:
    """Return the shares of all alternatives, with a line as long as that in the top third and a mark at that of all."""
    width = max([16, *(len(row["alternative"]) + 1 for row in pool["proportions"])])
    text = Text(f"{'all':>{width + 9}}  top third", style="dim")
    for component, rows in applicable(pool["proportions"]).items():
        text.append(f"\n{COMPONENTS[component]}", "not dim").append(f"  {component}")
        for row in rows:
            style = "not dim bold" if row["top_third"] - row["all"] >= _CLEARLY else "not dim"
            shares = f"{_percent(row['all']):>7}  {_percent(row['top_third']):>9}"
            text.append(f"\n  {row['alternative']:<{width}}{shares}", style).append(f"  {_bar(row)}")
    note = f"Line: top third. Mark: all. Bold: at least {100 * _CLEARLY:g} points more in the top third."
    return [indented(text), "", indented(Text(note, style="dim"))]


def _bar(row: Record) -> str:
    line, mark = ("━" * round(_BAR * row["top_third"])).ljust(_BAR + 1), round(_BAR * row["all"])
    return f"{line[:mark]}│{line[mark + 1 :]}"


def _best(rows: Sequence[Record]) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for block in _BEST:
        keys = [key for key in block if rows and key in rows[0]]
        if not keys:
            continue
        table = columns("", *(key.replace("extent", "points") for key in keys))
        for row in rows:
            table.add_row(row["name"], *("-" if row[key] == NOT_APPLICABLE else str(row[key]) for key in keys))
        table.columns[0].no_wrap = False  # rather a name on two lines than a word in two
        parts += [_uncut(table), ""]
    return parts


def _effects(rows: Sequence[Record]) -> list[RenderableType]:
    table = _figures("component", "share", "90% interval", "best", "worst", left=("best", "worst"))
    for row in rows:
        table.add_row(row["component"], *_strength(row), row["best"] or "-", row["worst"] or "-")
    note = (
        "Among the random heuristics of the first generations, on which selection has not acted: the share of the "
        "variance of their places that a component explains, and its best and worst alternative, all else being equal "
        "(shown where an effect can be told from none)."
    )
    return [_uncut(table), "", indented(Text(note, style="dim"))]


def _pairs(rows: Sequence[Record]) -> list[RenderableType]:
    clear = [row for row in rows if row["low"] > 0.0][:_MOST_PAIRS]
    if not clear:
        return [indented(Text("No two components clearly matter beyond what each does by itself.", style="dim"))]
    table = _figures("components", "share", "90% interval")
    for row in clear:
        table.add_row(f"{row['first']} and {row['second']}", *_strength(row))
    note = "Beyond what both do by themselves; cautious figures, the more so the fewer heuristics there are."
    return [_uncut(table), "", indented(Text(note, style="dim"))]


def _strength(row: Record) -> tuple[Text, str]:
    interval = f"{100 * row['low']:.1f} - {_percent(row['high'])}"
    return Text(_percent(row["effect"]), style="bold" if row["low"] >= 0.01 else ""), interval


def _deciles(pool: Record, component: str) -> list[RenderableType]:
    """Return a line for each alternative: its share in each tenth, as bars and in percent."""
    shares: dict[str, dict[int, float]] = {}
    for row in (row for row in pool["deciles"] if row["component"] == component):
        shares.setdefault(row["alternative"], {})[row["decile"]] = row["share"]
    tenths = sorted({decile for line in shares.values() for decile in line})
    most = max(share for line in shares.values() for share in line.values())
    table = _figures("best to worst", "", *map(str, tenths))
    for alternative, line in shares.items():
        bars = "".join(_HEIGHTS[round((len(_HEIGHTS) - 1) * line[decile] / most)] for decile in tenths)
        table.add_row(alternative, bars, *(f"{100 * line[decile]:.0f}" for decile in tenths))
    note = "Percent of the heuristics in each tenth; 1 is the best."
    return [title(COMPONENTS[component]), "", _uncut(table), "", indented(Text(note, style="dim"))]


def _cross(pool: Record, first: str, second: str) -> list[RenderableType]:
    """Return a matrix of shares in the top third; the component with more alternatives goes down."""
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
    note = f"Of the top third. {words}: {_percent(most['top_third'])}, and {_percent(most['all'])} of all."
    heading = title(f"{COMPONENTS[first]}, and {COMPONENTS[second][0].lower()}{COMPONENTS[second][1:]}")
    return [heading, "", _uncut(table), "", indented(Text(note, style="dim"))]


def _not_begun(record: Record) -> list[RenderableType]:
    names = ", ".join(record["not_begun"])
    return [Text(f"Not analysed, since no generation is complete: {names}.", style="dim")] if names else []


def _figures(*headings: str, left: Sequence[str] = ("",)) -> Grid:
    """Return a table whose columns are numbers, but for the first and those on the left."""
    table = columns(*headings)
    for column in table.columns[1:]:
        if column.header not in left:
            column.justify = "right"
    return table


def _uncut(table: Grid) -> RenderableType:
    """Return a table that is filled, further to the right; only headings may take several lines."""
    for column in table.columns[1:]:
        column.min_width = max((cell_len(str(each)) for each in column.cells), default=0)
    return indented(table)


def _heuristics(count: int) -> str:
    return f"{count:,} heuristic{'' if count == 1 else 's'}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _joined(dimensions: Sequence[int]) -> str:
    return " and ".join(map(str, dimensions))
