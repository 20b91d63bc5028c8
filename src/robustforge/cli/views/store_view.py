"""The content of a store: evolutions, searches and assessments."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table

from robustforge.cli.terminal import (
    Text,
    columns,
    show,
)
from robustforge.tables import Record


def show_runs(rows: list[Record]) -> None:
    """Print the evolutions, searches and assessments in a store, one per line."""
    parts: list[RenderableType] = []
    if evolutions := [row for row in rows if row["kind"] == "evolution"]:
        hint = "`robustforge champion STORE --name NAME` shows a champion. To resume: the command that started it."
        parts += [_evolution_table(evolutions), "", Text(hint, style="dim")]
    if searches := [row for row in rows if row["kind"] == "search"]:
        hint = "`robustforge report STORE` shows the designs. To resume: the command that started the search."
        parts += [*([""] if parts else []), _search_table(searches), "", Text(hint, style="dim")]
    if assessments := [row for row in rows if row["kind"] == "assessment"]:
        parts += [*([""] if parts else []), _assessment_table(assessments), ""]
        parts += [Text("`robustforge report STORE` writes a page about all of it.", style="dim")]
    show(*(parts or [Text("The store is empty.", style="dim")]))


def _evolution_table(rows: list[Record]) -> Table:
    table = columns("evolution", "problems", "generations", "runs", "failed", "state", "started")
    for row in rows:
        generations, started = f"{row['generation']} of {row['generations']}", row["started"][:10]
        counts = (str(len(row["problems"])), generations, f"{row['runs']:,}", _failed(row))
        table.add_row(Text(row["name"], style="bold"), *counts, row["state"], started)
    return table


def _search_table(rows: list[Record]) -> Table:
    table = columns("search", "variables", "runs", "verification", "failed", "state", "started")
    for row in rows:
        counts = (str(row["variables"]), f"{row['runs']:,} of {row['budget']:,}", f"{row['verified']:,}", _failed(row))
        table.add_row(Text(row["name"], style="bold"), *counts, row["state"], row["started"][:10])
    return table


def _assessment_table(rows: list[Record]) -> Table:
    table = columns("contestant", "problems", "evaluations", "samples", "runs", "failed")
    for row in rows:
        counts = (str(len(row["problems"])), f"{row['budget']:,}", f"{row['samples']:,}", f"{row['runs']:,}")
        table.add_row(Text(row["name"], style="bold"), *counts, _failed(row))
    return table


def _failed(row: Record) -> str:
    return f"{row['failures']:,}" if row["failures"] else "-"
