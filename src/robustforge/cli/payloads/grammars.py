"""The payload of `grammar`, and the grammar that the options `--only`, `--without` and `--fix` describe."""

from __future__ import annotations

from collections.abc import Iterable

from robustforge.errors import HeuristicError
from robustforge.representation import Grammar
from robustforge.representation.restriction import grammar
from robustforge.tables import Record


def parse_grammar(name: str, only: Iterable[str], without: Iterable[str], fix: Iterable[str]) -> Grammar:
    """Return the grammar with a name, restricted by the values of three options.

    Args:
        name: "paper", "letter", "extended" or "expensive".
        only: Strings such as "network=Global,Ring"; several for one slot are combined.
        without: Names to exclude, such as "leh" or "mutation=none".
        fix: Strings such as "swarm_size=20", "c3=0.5:2" or "In PSO.c1=1".

    Raises:
        RobustforgeError: A string has another form, or the restrictions leave no heuristic.

    Example:
        >>> parse_grammar("paper", ["network=ring"], ["leh"], ["swarm_size=20"]).restrictions["fix"]
        {'swarm_size': '20'}
    """
    kept: dict[str, list[str]] = {}
    for text in only:
        slot, names = _pair("--only", text, "network=Global,Ring")
        kept.setdefault(slot, []).extend(each.strip() for each in names.split(","))
    fixed: dict[str, str] = {}
    for text in fix:
        field, value = _pair("--fix", text, "swarm_size=20 or c3=0.5:2")
        if field in fixed:
            raise HeuristicError(f"{field} is fixed twice", f"got {fixed[field]} and {value}", "Leave one of them out")
        fixed[field] = value
    return grammar(name, only=kept, without=list(without), fix=fixed)


def grammar_payload(made: Grammar) -> Record:
    """Return a grammar as plain data: its rules, and its crossover points (cut points in the paper)."""
    return {**made.to_dict(), "crossover_points": [".".join(path) for path in made.crossover_points]}


def _pair(flag: str, text: str, example: str) -> tuple[str, str]:
    """Return the parts before and after the equals sign of an option's value."""
    key, _, value = (part.strip() for part in text.partition("="))
    if not key or not value:
        raise HeuristicError(f"{flag} must have the form NAME=VALUE", f"got {text!r}", f"Write {flag} {example}")
    return key, value
