"""What people see of the command line: records as aligned, calm text that fits 80 columns, and signs of life.

Bold and dim are the only styles. Nothing here computes; what is shown is what `records` holds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from robustforge.heuristic import Heuristic
from robustforge.records import Record

_SHOWN = 8
_HEAD, _TAIL = 5, 2

Callback = Callable[[Any], None]


@contextmanager
def progress(budget: int) -> Iterator[Callback | None]:
    """Show a bar while solving, fed by the callback given; without a terminal there is neither."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("solving"),
        BarColumn(bar_width=24, complete_style="bold", finished_style="bold"),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[worst]}", style="dim"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=budget, worst="")

        def update(result: Any) -> None:
            bar.update(task, completed=result.nfev, worst=f"worst known {_number(result.fun)}")

        yield update


@contextmanager
def waiting(words: str) -> Iterator[None]:
    """Show a spinner with these words, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(words):
        yield


def show_result(record: Record, radius: float, words: str, path: str | None) -> None:
    """Print a solved problem for a person.

    Args:
        record: The result.
        radius: Radius of the uncertainty ball.
        words: The heuristic in plain words.
        path: Where the result was saved, if it was.
    """
    near = f"within {radius:g} of the design"
    rows = [
        ("worst value known", _number(record["fun"]), f"the highest found {near}"),
        ("nominal value", _number(record["nominal_fun"]), "if it is built exactly as designed"),
        ("search's estimate", _number(record["estimate"]), "what the search took for the worst case"),
        ("evaluations", f"{record['nfev']:,}", f"of {record['budget']:,} allowed, in {record['seconds']:.2g} s"),
    ]
    console = _console()
    console.print(_title(f"Robust design for {_problem_words(record['problem'])}"))
    console.print()
    console.print(_figures(rows))
    console.print()
    text = _paragraphs(12)
    text.add_row("design", _vector(record["x"]))
    text.add_row("worst point", _vector(record["worst_x"]))
    text.add_row("heuristic", Text(record["heuristic_name"] or "from a file"))
    text.add_row("", Text(words, style="dim"))
    text.add_row("seed", Text(str(record["seed"])))
    text.add_row("outcome", Text(record["message"]))
    console.print(Padding(text, (0, 0, 0, 2)))
    console.print()
    if path:
        console.print(Text(f"Saved to {path}."))
    hint = f"robustforge verify {path}" if path else "robustforge verify, after solve -o FILE,"
    console.print(Text(f"The true worst case may be higher: {hint} looks for it.", style="dim"))


def show_verification(record: Record, radius: float) -> None:
    """Print a verified design for a person: what was known, and what sampling and an attack found."""
    nominal = record["nominal_fun"]
    rows = [("nominal", {"fun": nominal, "nfev": 1}, "built exactly as designed")]
    if record["known"]:
        rows.append(("search", record["known"], "the worst that the search had seen"))
    rows.append(("sampling", record["sampled"], "the worst of random points"))
    rows.append(("attack", record["attacked"], "an ascent to the worst point"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    for heading in ("value", "above nominal", "evaluations"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", style="dim")
    for label, found, meaning in rows:
        above = "" if label == "nominal" else f"{found['fun'] - nominal:+.5g}"
        count = found["nfev"]
        table.add_row(label, Text(_number(found["fun"]), style="bold"), above, f"{count:,}" if count else "", meaning)
    console = _console()
    console.print(_title(f"{_problem_words(record['problem'])}: what can happen within {radius:g} of the design"))
    console.print()
    console.print(Padding(table, (0, 0, 0, 2)))
    console.print()
    console.print(Padding(_vector(record["x"]), (0, 0, 0, 2)))


def show_problems(rows: list[Record]) -> None:
    """Print the test problems."""
    table = _listing("name", "each variable in", "tolerance", "what it is")
    for row in rows:
        table.add_row(Text(row["name"], style="bold"), f"{row['lower']:g} to {row['upper']:g}", f"{row['radius']:g}", row["about"])
    console = _console()
    console.print(table)
    console.print()
    console.print(Text("Tolerance: how far a built design may be from the intended one (Euclidean distance).", style="dim"))


def show_heuristics(rows: list[Record]) -> None:
    """Print the ready-made heuristics, a line each."""
    table = _listing("name", "search", "network", "extras", "worst case by")
    for row in rows:
        parts = {key: "-" if value == "na" else value for key, value in row["components"].items()}
        search = f"{parts['outer']} of {parts['group']}" if parts["network"] != "-" else parts["outer"]
        extras = "-" if parts["movement"] == "{}" else parts["movement"]
        table.add_row(Text(row["name"], style="bold"), search, parts["network"], extras, parts["inner"].lower())
    console = _console()
    console.print(table)
    console.print()
    console.print(
        Text("DD: descent directions. LEH: largest empty hypersphere. `robustforge heuristics NAME` explains one.", style="dim")
    )


def show_heuristic(name: str, chosen: Heuristic) -> None:
    """Print one heuristic in words."""
    console = _console()
    console.print(_title(name), Text(f"id {chosen.id}", style="dim"))
    console.print()
    for line in chosen.describe().splitlines():
        grid = _paragraphs(1)
        grid.add_row("-", Text(line.removeprefix("- ")))
        console.print(Padding(grid, (0, 0, 0, 2)))


def show_components(rows: list[Record]) -> None:
    """Print the components slot by slot, each with its fields."""
    console = _console()
    for row in rows:
        heading = _title(row["slot"])
        heading.append(f"   {row['about']}", style="not bold")
        if row["key"] != row["slot"]:
            heading.append(f' ("{row["key"]}" in JSON)', style="not bold dim")
        console.print(heading)
        for component in row["components"]:
            console.print(Padding(_component(component), (0, 0, 0, 2)))
            if component["fields"]:
                console.print(Padding(_fields(component["fields"]), (0, 0, 0, 4)))
        console.print()
    console.print(Text("+ goes beyond the paper.", style="dim"))


def _component(component: Record) -> Table:
    grid = _paragraphs(18)
    grid.add_row(Text(_marked(component["title"], component), style="bold"), Text(component["summary"]))
    if component["source"]:
        grid.add_row("", Text(component["source"], style="dim"))
    return grid


def _fields(rows: list[Record]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=16)
    grid.add_column(width=20)
    grid.add_column()
    for row in rows:
        meaning = row["meaning"] or (f"default: {row['default']}" if row["default"] is not None else "")
        grid.add_row(Text(_marked(row["name"], row)), Text(_kind(row)), Text(meaning, style="dim"))
    return grid


def _kind(row: Record) -> str:
    """Return what a field takes: a component, a range of numbers, or one of some words."""
    if row["component"]:
        return f"see {row['type']}"
    if row["range"]:
        limits = row["range"]
        return f"{row['type']} {limits['low']:g}-{limits['high']:g}{' (log)' if limits['log'] else ''}"
    if row["type"] == "word":
        return " or ".join(row["choices"])
    return str(row["type"])


def _marked(name: str, row: Record) -> str:
    return f"{name} +" if row["beyond_paper"] else name


def _console() -> Console:
    return Console(highlight=False)


def _title(text: str) -> Text:
    return Text(text, style="bold")


def _figures(rows: list[tuple[str, str, str]]) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True, style="bold")
    table.add_column(style="dim")
    for row in rows:
        table.add_row(*row)
    return Padding(table, (0, 0, 0, 2))


def _paragraphs(width: int) -> Table:
    """Return a grid of a narrow column of names and a wide one of text that wraps beside it."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=width)
    grid.add_column()
    return grid


def _listing(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in headings:
        table.add_column(heading)
    return table


def _vector(values: list[float]) -> Text:
    if len(values) <= _SHOWN:
        return Text(", ".join(map(_number, values)))
    shown = [*map(_number, values[:_HEAD]), "...", *map(_number, values[-_TAIL:])]
    return Text(f"{', '.join(shown)} ({len(values)} variables)")


def _number(value: float) -> str:
    return "unknown" if value != value else f"{value:,.6g}"


def _problem_words(spec: Record) -> str:
    seed = "" if spec["variant_seed"] is None else f" (seed {spec['variant_seed']})"
    variant = "" if spec["variant"] == "original" else f"{spec['variant']} "
    plural = "" if spec["dimension"] == 1 else "s"
    return f"{variant}{spec['name']}{seed}, {spec['dimension']} variable{plural}"
