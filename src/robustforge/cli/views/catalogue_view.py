"""The lists of test problems, ready-made heuristics and components."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table

from robustforge.cli.terminal import (
    Text,
    columns,
    indented,
    paragraphs,
    show,
)
from robustforge.tables import Record

_NOTES = {
    "held-out": "not used for evolving heuristics",
    "engineering": "the default heuristics are chosen on these",
    "engineering-held-out": "only to check that choice",
}


def show_problems(rows: list[Record]) -> None:
    """Print the test problems."""
    table = columns("name", "bounds", "tolerance", "description")
    for index, row in enumerate(rows):
        if index and row["suite"] != rows[index - 1]["suite"]:
            table.add_row()
            suite, note = row["suite"].replace("-", " "), _NOTES[row["suite"]]
            table.add_row(Text(suite, style="dim"), "", "", Text(note, style="dim"))
        box, radius = f"{_number(row['lower'])} to {_number(row['upper'])}", _number(row["radius"])
        if row["dimension"] is not None:
            box = f"{row['dimension']} variables"
        table.add_row(Text(row["name"], style="bold"), box, radius, row["about"])
    show(table, "", Text("Tolerance: radius of the uncertainty set around a design.", style="dim"))


def _number(given: float | list[float]) -> str:
    return "own" if isinstance(given, list) else f"{given:g}"


def show_heuristics(rows: list[Record]) -> None:
    """Print the ready-made heuristics, one per line."""
    table = columns("name", "outer search", "network", "movement", "inner search")
    for row in rows:
        parts = {key: "-" if value == "na" else value for key, value in row["components"].items()}
        search = f"{parts['outer']} of {parts['group']}" if parts["network"] != "-" else parts["outer"]
        movement = "-" if parts["movement"] == "{}" else parts["movement"]
        note = "" if row["interpretation"] == "default" else f" ({row['interpretation']})"
        name = Text.assemble((row["name"], "bold"), (note, "dim"))
        table.add_row(name, search, parts["network"], movement, parts["inner"])
    legend = (
        "DD: descent directions. LEH: largest empty hypersphere.\n"
        "Interpretation of the paper: the default, unless it is noted next to the name.\n"
        "`robustforge show NAME` describes one."
    )
    show(table, "", Text(legend, style="dim"))


def show_components(rows: list[Record]) -> None:
    """Print the components slot by slot, each with its fields."""
    parts: list[RenderableType] = []
    for row in rows:
        heading = paragraphs(20)
        key = "" if row["key"] == row["slot"] else f' ("{row["key"]}" in JSON)'
        heading.add_row(Text(row["slot"], style="bold underline"), Text((row["about"] if row["choice"] else "") + key))
        parts.append(heading)
        for component in row["components"]:
            parts.append(indented(_component(component)))
            if component["fields"]:
                parts.append(indented(_fields(component["fields"]), 4))
        parts.append("")
    show(*parts, Text("+: not in the grammar of the paper. log: sampled on a logarithmic scale.", style="dim"))


def _component(component: Record) -> Table:
    grid = paragraphs(24)
    grid.add_row(Text(_marked(component["title"], component), style="bold"), Text(component["summary"]))
    if component["source"]:
        grid.add_row("", Text(component["source"], style="dim"))
    return grid


def _fields(rows: list[Record]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=max(16, *(len(_marked(row["name"], row)) for row in rows)))
    grid.add_column(width=21)
    grid.add_column()
    for row in rows:
        meaning = row["meaning"] or (f"default: {row['default']}" if row["default"] is not None else "")
        grid.add_row(Text(_marked(row["name"], row)), Text(_kind(row)), Text(meaning, style="dim"))
    return grid


def _kind(row: Record) -> str:
    """Return what a field takes: a component, a range of numbers, or one of several words."""
    if row["component"]:
        return f"see {row['type']}"
    if row["range"]:
        limits = row["range"]
        return f"{row['type']} {limits['low']:g}-{limits['high']:g}{' log' if limits['log'] else ''}"
    if row["type"] == "word":
        return " or ".join(row["choices"])
    return str(row["type"])


def _marked(name: str, row: Record) -> str:
    return f"{name} +" if row["beyond_paper"] else name
