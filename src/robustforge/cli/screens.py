"""What people see of the command line: records as aligned, calm text that fits 80 columns, and signs of life.

Bold and dim are the only styles. Nothing here computes; what is shown is what `records` holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from robustforge.cli.layout import Screen, Text, columns, indented, number, paragraphs, show, title, vector
from robustforge.cli.listings import Record
from robustforge.cli.log import on_terminal


@contextmanager
def progress(budget: int) -> Iterator[Callable[[int], None]]:
    """Show a bar while solving; it wants to be told the evaluations done."""
    columns = (
        TextColumn("solving"),
        BarColumn(bar_width=30, complete_style="bold", finished_style="bold"),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Screen(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=budget)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def waiting(words: str) -> Iterator[None]:
    """Show a spinner with these words, on a terminal only."""
    with Screen(stderr=True).status(words) if on_terminal() else nullcontext():
        yield


def show_result(record: Record, radius: float, path: str | None) -> None:
    """Print a solved problem for a person.

    Args:
        record: The result.
        radius: Radius of the uncertainty ball.
        path: Where the result was saved, if it was.
    """
    figures = Table.grid(padding=(0, 2, 0, 0))
    figures.add_column(no_wrap=True)
    figures.add_column(justify="right", no_wrap=True, style="bold")
    figures.add_column(style="dim")
    used = f"of {record['budget']:,} allowed, in {record['seconds']:.2g} s"
    is_own = record["worst_x"] == record["x"]
    known = (
        f"its own: nothing worse is known within {radius:g}" if is_own else f"the highest found within {radius:g} of it"
    )
    figures.add_row("worst value known", number(record["fun"]), known)
    figures.add_row("nominal value", number(record["nominal_fun"]), "if it is built exactly as designed")
    figures.add_row("search's estimate", number(record["estimate"]), "what the search took for the worst case")
    figures.add_row("evaluations", f"{record['nfev']:,}", used)
    name = record["heuristic_name"]
    text = paragraphs(17)
    text.add_row("design", vector(record["x"]))
    text.add_row("worst point", vector(record["worst_x"]))
    text.add_row("heuristic", Text.assemble(name, (f"  (robustforge show {name} explains it)", "dim")))
    text.add_row("seed", Text(str(record["seed"])))
    text.add_row("outcome", Text(record["message"]))
    if path:
        hint = f"Saved to {path}. To look for a worse case: robustforge verify {path}"
    else:
        hint = "Add -o FILE to save it; robustforge verify FILE then looks for a worse case."
    show(
        title(f"Robust design for {_problem_words(record['problem'])}"),
        "",
        indented(figures),
        "",
        indented(text),
        "",
        Text(hint, style="dim"),
    )


def show_verification(record: Record, radius: float) -> None:
    """Print a verified design for a person: what was known, and what sampling and an attack found."""
    nominal = record["nominal_fun"]
    rows = [("nominal", {"fun": nominal, "nfev": None}, "built exactly as designed")]
    if record["known"]:
        rows.append(("known", record["known"], "the worst that the search had seen"))
    rows.append(("sampled", record["sampled"], "the worst of random points"))
    rows.append(("attacked", record["attacked"], "climbing to the worst point"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    for heading in ("value", "rise", "evaluations"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", style="dim")
    for label, found, meaning in rows:
        rise = "" if label == "nominal" else f"{found['fun'] - nominal:+,.5g}"
        count = "" if found["nfev"] is None else f"{found['nfev']:,}"
        table.add_row(label, Text(number(found["fun"]), style="bold"), rise, count, meaning)
    design = paragraphs(8)
    design.add_row("design", vector(record["x"]))
    show(
        title(f"{_problem_words(record['problem'])}: the worst within {radius:g} of the design"),
        "",
        indented(table),
        "",
        indented(design),
    )


def show_problems(rows: list[Record]) -> None:
    """Print the test problems."""
    table = columns("name", "each variable in", "tolerance", "what it is")
    for place, row in enumerate(rows):
        if place and row["suite"] != rows[place - 1]["suite"]:
            table.add_row()
            table.add_row(Text("held out", style="dim"), "", "", Text("nothing is bred on these", style="dim"))
        box, radius = f"{row['lower']:g} to {row['upper']:g}", f"{row['radius']:g}"
        table.add_row(Text(row["name"], style="bold"), box, radius, row["about"])
    show(table, "", Text("Tolerance: how far a built design may be from the intended one.", style="dim"))


def show_heuristics(rows: list[Record]) -> None:
    """Print the ready-made heuristics, a line each."""
    table = columns("name", "search", "network", "extras", "worst case by")
    for row in rows:
        parts = {key: "-" if value == "na" else value for key, value in row["components"].items()}
        search = f"{parts['outer']} of {parts['group']}" if parts["network"] != "-" else parts["outer"]
        extras = "-" if parts["movement"] == "{}" else parts["movement"]
        table.add_row(Text(row["name"], style="bold"), search, parts["network"], extras, parts["inner"])
    legend = "DD: descent directions. LEH: largest empty hypersphere."
    show(table, "", Text(f"{legend}\n`robustforge show NAME` explains one.", style="dim"))


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
    show(*parts, Text("+ goes beyond the paper. log: drawn on a logarithmic scale.", style="dim"))


def _component(component: Record) -> Table:
    grid = paragraphs(18)
    grid.add_row(Text(_marked(component["title"], component), style="bold"), Text(component["summary"]))
    if component["source"]:
        grid.add_row("", Text(component["source"], style="dim"))
    return grid


def _fields(rows: list[Record]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=16)
    grid.add_column(width=21)
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
        return f"{row['type']} {limits['low']:g}-{limits['high']:g}{' log' if limits['log'] else ''}"
    if row["type"] == "word":
        return " or ".join(row["choices"])
    return str(row["type"])


def _marked(name: str, row: Record) -> str:
    return f"{name} +" if row["beyond_paper"] else name


def _problem_words(spec: Record) -> str:
    seed = "" if spec["variant_seed"] is None else f" (seed {spec['variant_seed']})"
    variant = "" if spec["variant"] == "original" else f"{spec['variant']} "
    plural = "" if spec["dimension"] == 1 else "s"
    return f"{variant}{spec['name']}{seed}, {spec['dimension']} variable{plural}"
