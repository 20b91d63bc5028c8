"""What was bred, on a screen: the end of an evolution, a champion, the list of what a store holds."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table

from robustforge.cli.layout import Text, columns, indented, number, paragraphs, show, title
from robustforge.cli.listings import Record
from robustforge.heuristic import Heuristic


def show_evolution(record: Record, champion: Heuristic, path: str | None) -> None:
    """Print what came out of an evolution.

    Args:
        record: The evolution.
        champion: Its champion.
        path: Where the champion was saved, if it was.
    """
    figures = paragraphs(12)
    new, every = record["new_runs"], record["runs"]
    figures.add_row("runs", f"{every:,}" + (f", {every - new:,} of them from the store" if every > new else ""))
    if record["failures"]:
        reason, count = next(iter(record["reasons"].items()))
        figures.add_row("failed", f"{record['failures']:,} runs, {count:,} of them with: {reason}")
    first, last = record["generations"][0], record["generations"][-1]
    kind = "mean worst case" if len(record["problems"]) == 1 else "0: best, 1: median of the first generation"
    figures.add_row(
        "best", f"{number(first['best'])} -> {number(last['best'])} in {last['number']} generations ({kind})"
    )
    heading = f"{record['name']}: {_outcome(record)}"
    if not record["champion"]["works"]:
        hint = "Every finalist failed on some problem, so there is no champion to use."
    else:
        keep = f"To keep it: robustforge champion {record['store']} --name {record['name']} -o FILE"
        hint = _saved(path, record["settings"]["budget"], record["own_problems"]) or (
            keep if record["finished"] else ""
        )
    show(
        title(heading),
        "",
        indented(figures),
        "",
        *_champion(record["champion"], champion, record["settings"]["budget"]),
        "",
        Text(hint, style="dim"),
    )


def _outcome(record: Record) -> str:
    """Return how far an evolution came."""
    if not record["finished"]:
        return (
            f"stopped, the best after {len(record['generations'])} of {record['settings']['generations']} generations"
        )
    return "finished" if record["new_runs"] else "finished, and was before; nothing was run"


def show_champion(record: Record, champion: Heuristic, path: str | None) -> None:
    """Print the champion of a run in a store, or the best so far."""
    what = "champion" if record["finished"] else f"best of generation {record['generation']} of {record['generations']}"
    hint = _saved(path, record["budget"], False) or "Add -o FILE to save it."
    show(
        title(f"{record['name']}: {what}"),
        "",
        *_champion(record, champion, record["budget"]),
        "",
        Text(hint, style="dim"),
    )


def show_runs(rows: list[Record]) -> None:
    """Print what a store holds, a line each: what was bred and searched in it, and who was assessed."""
    parts: list[RenderableType] = []
    if bred := [row for row in rows if row["kind"] == "evolution"]:
        hint = "`robustforge champion STORE --name NAME` takes a champion out; the command that began a run goes on "
        parts += [_bred_table(bred), "", Text(f"{hint}with it.", style="dim")]
    if searched := [row for row in rows if row["kind"] == "search"]:
        hint = "`robustforge report STORE` shows what to build; the command that began a search goes on with it."
        parts += [*([""] if parts else []), _searched_table(searched), "", Text(hint, style="dim")]
    if assessed := [row for row in rows if row["kind"] == "assessment"]:
        parts += [*([""] if parts else []), _assessed_table(assessed), ""]
        parts += [Text("`robustforge report STORE` puts all of it onto a page.", style="dim")]
    show(*(parts or [Text("There is nothing in it yet.", style="dim")]))


def _bred_table(rows: list[Record]) -> Table:
    table = columns("name", "problems", "generations", "runs", "failed", "state", "begun")
    for row in rows:
        generations, begun = f"{row['generation']} of {row['generations']}", row["begun"][:10]
        counts = (str(len(row["problems"])), generations, f"{row['runs']:,}", _failed(row))
        table.add_row(Text(row["name"], style="bold"), *counts, row["state"], begun)
    return table


def _searched_table(rows: list[Record]) -> Table:
    table = columns("search", "variables", "runs", "verifying", "failed", "state", "begun")
    for row in rows:
        counts = (str(row["variables"]), f"{row['runs']:,} of {row['budget']:,}", f"{row['verified']:,}", _failed(row))
        table.add_row(Text(row["name"], style="bold"), *counts, row["state"], row["begun"][:10])
    return table


def _assessed_table(rows: list[Record]) -> Table:
    table = columns("assessed", "problems", "evaluations", "samples", "runs", "failed")
    for row in rows:
        counts = (str(len(row["problems"])), f"{row['budget']:,}", f"{row['samples']:,}", f"{row['runs']:,}")
        table.add_row(Text(row["name"], style="bold"), *counts, _failed(row))
    return table


def _failed(row: Record) -> str:
    return f"{row['failures']:,}" if row["failures"] else "-"


def _saved(path: str | None, budget: int, own: bool) -> str:
    """Return where a champion was saved and how it is used, with the budget that it was bred for."""
    if not path:
        return ""
    if own:
        return f'Saved to {path}. To use it: rf.minimize(problem, heuristic="{path}", budget={budget})'
    return f"Saved to {path}. To use it: robustforge solve PROBLEM --heuristic {path} --budget {budget}"


def _champion(record: Record, champion: Heuristic, budget: int) -> list[RenderableType]:
    """Return a champion: what it is worth, and what it does."""
    values = columns("problem", "mean worst case", "runs")
    for row in record["means"]:
        values.add_row(row["problem"], Text(number(row["mean"]), style="bold"), str(row["runs"]))
    lines = Table.grid(padding=(0, 1, 0, 0))
    for line in champion.describe(budget).splitlines():
        lines.add_row("-", Text(line.removeprefix("- ")))
    return [Text.assemble("  heuristic ", (record["id"], "dim")), "", indented(values), "", indented(lines)]
