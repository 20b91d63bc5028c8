"""A grammar: its production rules, and the ranges of its parameters."""

from __future__ import annotations

from rich.table import Table

from robustforge.cli.terminal import (
    WIDTH,
    Text,
    indented,
    packed,
    paragraphs,
    show,
    title,
)
from robustforge.representation.bnf import value_words
from robustforge.tables import Record


def show_grammar(payload: Record) -> None:
    """Print the production rules, the parameters with their ranges and meanings, and the crossover points."""
    facts = paragraphs(16)
    for kind, asked in payload["restrictions"].items():
        pairs = [f"{key}={_words(value)}" for key, value in asked.items()] if isinstance(asked, dict) else asked
        facts.add_row(kind, Text("; ".join(pairs)))
    if payload["constants"]:
        pairs = [f"{key} {value_words(value)}" for key, value in payload["constants"].items()]
        facts.add_row("constants", Text("; ".join(pairs)))
    points = payload["crossover_points"]
    facts.add_row("crossover points", Text(f"{len(points)}: {', '.join(points)}"))
    facts.add_row("fingerprint", payload["fingerprint"])
    show(
        title(f"Grammar: {payload['name']}"),
        "",
        indented(_productions([rule for rule in payload["rules"] if rule["productions"]])),
        "",
        indented(_leaves([rule for rule in payload["rules"] if not rule["productions"]])),
        "",
        indented(facts),
        "",
        Text(
            "log: sampled on a logarithmic scale. Crossover points: nodes that every tree has, at which subtrees are "
            "exchanged (cut points in the paper). `robustforge components` describes the components.",
            style="dim",
        ),
    )


def _productions(rules: list[Record]) -> Table:
    """Return rules in BNF: on one line, or with one alternative per line."""
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
