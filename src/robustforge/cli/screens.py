"""What people see of the command line: records as aligned, calm text that fits 80 columns, and signs of life.

Bold and dim are the only styles. Nothing here computes; what is shown is what `records` holds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import click
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from robustforge.cli.listings import Record

_COLUMNS = 80

_SHOWN = 6
"""Coordinates of a design that fit on a line."""


def on_terminal() -> bool:
    """Whether somebody is watching."""
    return sys.stderr.isatty()


@contextmanager
def progress(budget: int) -> Iterator[Callable[[int], None]]:
    """Show a bar while solving; it wants to be told the evaluations done."""
    columns = (
        TextColumn("solving"),
        BarColumn(bar_width=30, complete_style="bold", finished_style="bold"),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=budget)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def waiting(words: str) -> Iterator[None]:
    """Show a spinner with these words, on a terminal only."""
    with Console(stderr=True).status(words) if on_terminal() else nullcontext():
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
    figures.add_row("worst value known", _number(record["fun"]), f"the highest found within {radius:g} of the design")
    figures.add_row("nominal value", _number(record["nominal_fun"]), "if it is built exactly as designed")
    figures.add_row("search's estimate", _number(record["estimate"]), "what the search took for the worst case")
    figures.add_row("evaluations", f"{record['nfev']:,}", used)
    name = record["heuristic_name"]
    text = _paragraphs(17)
    text.add_row("design", _vector(record["x"]))
    text.add_row("worst point", _vector(record["worst_x"]))
    text.add_row("heuristic", Text.assemble(name, (f"  (robustforge show {name} explains it)", "dim")))
    text.add_row("seed", Text(str(record["seed"])))
    text.add_row("outcome", Text(record["message"]))
    if path:
        hint = f"Saved to {path}. To look for a worse case: robustforge verify {path}"
    else:
        hint = "Add -o FILE to save it; robustforge verify FILE then looks for a worse case."
    _print(
        _title(f"Robust design for {_problem_words(record['problem'])}"),
        "",
        _indented(figures),
        "",
        _indented(text),
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
        table.add_row(label, Text(_number(found["fun"]), style="bold"), rise, count, meaning)
    design = _paragraphs(8)
    design.add_row("design", _vector(record["x"]))
    _print(
        _title(f"{_problem_words(record['problem'])}: the worst within {radius:g} of the design"),
        "",
        _indented(table),
        "",
        _indented(design),
    )


def show_problems(rows: list[Record]) -> None:
    """Print the test problems."""
    table = _listing("name", "each variable in", "tolerance", "what it is")
    for row in rows:
        table.add_row(
            Text(row["name"], style="bold"), f"{row['lower']:g} to {row['upper']:g}", f"{row['radius']:g}", row["about"]
        )
    _print(table, "", Text("Tolerance: how far a built design may be from the intended one.", style="dim"))


def show_heuristics(rows: list[Record]) -> None:
    """Print the ready-made heuristics, a line each."""
    table = _listing("name", "search", "network", "extras", "worst case by")
    for row in rows:
        parts = {key: "-" if value == "na" else value for key, value in row["components"].items()}
        search = f"{parts['outer']} of {parts['group']}" if parts["network"] != "-" else parts["outer"]
        extras = "-" if parts["movement"] == "{}" else parts["movement"]
        table.add_row(Text(row["name"], style="bold"), search, parts["network"], extras, parts["inner"])
    legend = "DD: descent directions. LEH: largest empty hypersphere."
    _print(table, "", Text(f"{legend}\n`robustforge show NAME` explains one.", style="dim"))


def show_heuristic(record: Record, path: str | None) -> None:
    """Print one heuristic: its derivation tree, in words, and as pseudo-code.

    Args:
        record: The heuristic in its forms.
        path: Where it was saved, if it was.
    """
    words = Table.grid(padding=(0, 1, 0, 0))
    for line in record["words"].splitlines():
        words.add_row("-", Text(line.removeprefix("- ")))
    hint = f"Saved to {path}." if path else "Add -o FILE to save it as JSON, to edit it or to solve with it."
    _print(
        Text.assemble((record["name"], "bold"), (f"  id {record['id']}", "dim")),
        "",
        _indented(_tree(record["tree"])),
        "",
        _title("In words"),
        "",
        _indented(words),
        "",
        _title("As it runs"),
        "",
        _indented(_pseudo_code(record["listing"])),
        "",
        Text(hint, style="dim"),
    )


def _tree(node: Record, depth: int = 0) -> Tree:
    """Return a derivation tree, with the values of a node beside it."""
    name = Text(f"{node['symbol']}{': ' if node['choice'] else ''}").append(node["choice"] or "", "bold")
    values = [Text.assemble((f"{key} ", "dim"), _value(value)) for key, value in node["values"].items()]
    tree = Tree(_packed([name, *values], _COLUMNS - 2 - 4 * depth, "  ", "  "), guide_style="dim")
    tree.children += [_tree(below, depth + 1) for below in node["nodes"]]
    return tree


def _value(value: float | bool | str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _pseudo_code(listing: str) -> Text:
    """Return a listing with its numbers and all that is no step dimmed."""
    text = Text()
    for line in listing.splitlines():
        number, rest = line[:4], line[4:]
        is_step = number.isspace() or number.strip().isdecimal()
        text.append(number, "dim").append(f"{rest}\n", "" if is_step else "dim")
    text.rstrip()
    return text


def show_grammar(record: Record) -> None:
    """Print the production rules: components first, then values with their ranges and meanings, then the cut points."""
    facts = _paragraphs(12)
    for kind, asked in record["restrictions"].items():
        pairs = [f"{key}={_words(value)}" for key, value in asked.items()] if isinstance(asked, dict) else asked
        facts.add_row(kind, Text("; ".join(pairs)))
    points = record["cut_points"]
    facts.add_row("cut points", Text(f"{len(points)}: {', '.join(points)}"))
    facts.add_row("fingerprint", record["fingerprint"])
    _print(
        _title(f"Grammar: {record['name']}"),
        "",
        _indented(_productions([rule for rule in record["rules"] if rule["productions"]])),
        "",
        _indented(_leaves([rule for rule in record["rules"] if not rule["productions"]])),
        "",
        _indented(facts),
        "",
        Text(
            "log: on a logarithmic scale. Cut points: the nodes that every tree has, where one "
            "can be grafted onto another. `robustforge components` explains the parts.",
            style="dim",
        ),
    )


def _productions(rules: list[Record]) -> Table:
    """Return rules as BNF: on a line, or one alternative below the other."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    width = max(len(rule["symbol"]) for rule in rules) + 2
    room = _COLUMNS - 2 - width - 1
    for rule in rules:
        ways = [_way(production) for production in rule["productions"]]
        fits = sum(len(item) + 1 for way in ways for item in way) + 3 * len(ways) <= room
        text = Text("::= ", "dim")
        for number, way in enumerate(ways):
            text.append("" if number == 0 else " | " if fits else "\n  | ", "dim")
            text.append_text(_packed(way, room, " ", " " * 6, 4))
        grid.add_row(Text(f"<{rule['symbol']}>"), text)
    return grid


def _way(production: Record) -> list[Text]:
    title = [Text(production["title"], "bold")] if production["title"] else []
    return [*title, *(Text(f"<{name}>") for name in production["symbols"])]


def _leaves(rules: list[Record]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(style="dim")
    for rule in rules:
        grid.add_row(Text(f"<{rule['symbol']}>"), Text(_allowed(rule)), Text(rule["meaning"]))
    return grid


def _allowed(rule: Record) -> str:
    """Return the values that a rule allows."""
    if rule["choices"]:
        return " | ".join(map(_value, rule["choices"]))
    low, high = f"{rule['range']['low']:g}", f"{rule['range']['high']:g}"
    kind = "integer " if rule["kind"] == "integer" else ""
    return f"{kind}{low}" if low == high else f"{kind}{low} to {high}{' log' if rule['range']['log'] else ''}"


def _words(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ",".join(value)


def _packed(items: list[Text], room: int, gap: str, indent: str, column: int = 0) -> Text:
    """Return items beside each other, going on in the next line where there is no room."""
    text = Text()
    for number, item in enumerate(items):
        if number and column + len(gap) + len(item) > room:
            text.append(f"\n{indent}")
            column = len(indent)
        elif number:
            text.append(gap)
            column += len(gap)
        text.append_text(item)
        column += len(item)
    return text


def show_components(rows: list[Record]) -> None:
    """Print the components slot by slot, each with its fields."""
    parts: list[RenderableType] = []
    for row in rows:
        heading = _paragraphs(20)
        key = "" if row["key"] == row["slot"] else f' ("{row["key"]}" in JSON)'
        heading.add_row(Text(row["slot"], style="bold underline"), Text((row["about"] if row["choice"] else "") + key))
        parts.append(heading)
        for component in row["components"]:
            parts.append(_indented(_component(component)))
            if component["fields"]:
                parts.append(_indented(_fields(component["fields"]), 4))
        parts.append("")
    _print(*parts, Text("+ goes beyond the paper. log: drawn on a logarithmic scale.", style="dim"))


def _component(component: Record) -> Table:
    grid = _paragraphs(18)
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


def _print(*parts: RenderableType) -> None:
    """Print to stdout, without the blanks that pad a table on the right."""
    console = Console(highlight=False)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    click.echo("\n".join(line.rstrip() for line in capture.get().split("\n")), nl=False)


def _title(text: str) -> Text:
    return Text(text, style="bold")


def _indented(part: RenderableType, by: int = 2) -> Padding:
    return Padding(part, (0, 0, 0, by))


def _paragraphs(width: int) -> Table:
    """Return a grid of a narrow column of names and a wide one of text that wraps beside it."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=width)
    grid.add_column()
    return grid


def _listing(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, heading in enumerate(headings):
        table.add_column(heading, no_wrap=number == 0, overflow="fold")  # a name is never cut
    return table


def _vector(values: list[float]) -> Text:
    numbers = [_number(value) for value in values]
    if len(values) > _SHOWN:
        numbers = [*numbers[: _SHOWN - 2], "...", numbers[-1]]
    return Text(", ".join(numbers))


def _number(value: float) -> str:
    return "unknown" if value != value else f"{value:,.6g}"


def _problem_words(spec: Record) -> str:
    seed = "" if spec["variant_seed"] is None else f" (seed {spec['variant_seed']})"
    variant = "" if spec["variant"] == "original" else f"{spec['variant']} "
    plural = "" if spec["dimension"] == 1 else "s"
    return f"{variant}{spec['name']}{seed}, {spec['dimension']} variable{plural}"
