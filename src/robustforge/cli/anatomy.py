"""Heuristics and grammars on a screen: the tree, the words, the pseudo-code; the production rules."""

from __future__ import annotations

from rich.table import Table
from rich.tree import Tree

from robustforge.cli.layout import WIDTH, Text, indented, packed, paragraphs, show, title
from robustforge.cli.listings import Record
from robustforge.heuristic.rules import value_words


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
    show(
        Text.assemble((record["name"], "bold"), (f"  id {record['id']}", "dim")),
        "",
        indented(_tree(record["tree"])),
        "",
        title("In words"),
        "",
        indented(words),
        "",
        title("As it runs"),
        "",
        indented(_pseudo_code(record["listing"])),
        "",
        Text(hint, style="dim"),
    )


def _tree(node: Record, depth: int = 0) -> Tree:
    """Return a derivation tree, with the values of a node beside it."""
    name = Text(f"{node['symbol']}{': ' if node['choice'] else ''}").append(node["choice"] or "", "bold")
    values = [Text.assemble((f"{key} ", "dim"), value_words(value)) for key, value in node["values"].items()]
    tree = Tree(packed([name, *values], WIDTH - 2 - 4 * depth, "  ", "  "), guide_style="dim")
    tree.children += [_tree(below, depth + 1) for below in node["nodes"]]
    return tree


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
    facts = paragraphs(12)
    for kind, asked in record["restrictions"].items():
        pairs = [f"{key}={_words(value)}" for key, value in asked.items()] if isinstance(asked, dict) else asked
        facts.add_row(kind, Text("; ".join(pairs)))
    points = record["cut_points"]
    facts.add_row("cut points", Text(f"{len(points)}: {', '.join(points)}"))
    facts.add_row("fingerprint", record["fingerprint"])
    show(
        title(f"Grammar: {record['name']}"),
        "",
        indented(_productions([rule for rule in record["rules"] if rule["productions"]])),
        "",
        indented(_leaves([rule for rule in record["rules"] if not rule["productions"]])),
        "",
        indented(facts),
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
    room = WIDTH - 2 - width - 1
    for rule in rules:
        ways = [_way(production) for production in rule["productions"]]
        fits = sum(len(item) + 1 for way in ways for item in way) + 3 * len(ways) <= room
        text = Text("::= ", "dim")
        for number, way in enumerate(ways):
            text.append("" if number == 0 else " | " if fits else "\n  | ", "dim")
            text.append_text(packed(way, room, " ", " " * 6, 4))
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
        return " | ".join(map(value_words, rule["choices"]))
    low, high = f"{rule['range']['low']:g}", f"{rule['range']['high']:g}"
    kind = "integer " if rule["kind"] == "integer" else ""
    return f"{kind}{low}" if low == high else f"{kind}{low} to {high}{' log' if rule['range']['log'] else ''}"


def _words(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ",".join(value)
