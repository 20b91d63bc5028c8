"""A heuristic: its derivation tree, a description, and its pseudocode."""

from __future__ import annotations

from rich.tree import Tree

from robustforge.cli.terminal import (
    WIDTH,
    Text,
    bullets,
    indented,
    packed,
    show,
    title,
)
from robustforge.representation.bnf import value_words
from robustforge.tables import Record


def show_heuristic(payload: Record, path: str | None) -> None:
    """Print a heuristic: its derivation tree, a description, and its pseudocode.

    Args:
        payload: The heuristic.
        path: The file that it was saved to, if any.
    """
    hint = f"Saved to {path}." if path else "To save it as JSON, for editing or for solve --heuristic, add -o FILE."
    show(
        Text.assemble((payload["name"], "bold"), (f"  id {payload['id']}", "dim")),
        Text(_interpretation(payload)),
        "",
        indented(_tree(payload["tree"])),
        "",
        title("Description"),
        "",
        indented(bullets(payload["description"])),
        "",
        title("Pseudocode"),
        "",
        indented(_pseudocode(payload["pseudocode"])),
        "",
        Text(hint, style="dim"),
    )


def _interpretation(payload: Record) -> str:
    """Return which interpretation of the paper a heuristic has, and what that means where it is not the default."""
    departures = "; ".join(payload["departures"])
    return f"Interpretation of the paper: {payload['interpretation']}{f' ({departures})' if departures else ''}"


def _tree(node: Record, depth: int = 0) -> Tree:
    """Return a derivation tree, with the parameters of each node."""
    name = Text(f"{node['symbol']}{': ' if node['choice'] else ''}").append(node["choice"] or "", "bold")
    values = [Text.assemble((f"{key} ", "dim"), value_words(value)) for key, value in node["values"].items()]
    tree = Tree(packed([name, *values], WIDTH - 2 - 4 * depth, "  ", "  "), guide_style="dim")
    tree.children += [_tree(below, depth + 1) for below in node["nodes"]]
    return tree


def _pseudocode(listing: str) -> Text:
    """Return the pseudocode, with line numbers and everything but the steps dimmed."""
    text = Text()
    for line in listing.splitlines():
        number, rest = line[:4], line[4:]
        is_step = number.isspace() or number.strip().isdecimal()
        text.append(number, "dim").append(f"{rest}\n", "" if is_step else "dim")
    text.rstrip()
    return text
