"""Grammars at the command line: from the texts of options to a grammar, and from a grammar to plain data.

Every command that takes a grammar takes the same three restrictions: `--only`, `--without` and `--fix`.
"""

from __future__ import annotations

from collections.abc import Iterable

from robustforge.cli.listings import Record
from robustforge.errors import HeuristicError
from robustforge.heuristic import Grammar, grammar


def parse_grammar(name: str, only: Iterable[str], without: Iterable[str], fix: Iterable[str]) -> Grammar:
    """Return the grammar that a name and the texts of the three restrictions describe.

    Args:
        name: "paper" or "extended".
        only: Texts such as "network=Global,Ring"; for one slot several add up.
        without: Names to leave out, such as "leh" or "mutation=none".
        fix: Texts such as "group=20", "c3=0.5:2" or "In PSO.c1=1".

    Raises:
        RobustforgeError: A text is none of these, or the restriction makes no grammar.

    Example:
        >>> parse_grammar("paper", ["network=ring"], ["leh"], ["group=20"]).restrictions["fix"]
        {'group': '20'}
    """
    kept: dict[str, list[str]] = {}
    for text in only:
        slot, names = _pair("--only", text, "network=Global,Ring")
        kept.setdefault(slot, []).extend(each.strip() for each in names.split(","))
    fixed: dict[str, str] = {}
    for text in fix:
        field, value = _pair("--fix", text, "group=20 or c3=0.5:2")
        if field in fixed:
            raise HeuristicError("a field is fixed once", f"{field} is {fixed[field]} and {value}", "Drop one of them")
        fixed[field] = value
    return grammar(name, only=kept, without=list(without), fix=fixed)


def grammar_record(made: Grammar) -> Record:
    """Return a grammar as plain data: its rules, and the nodes at which trees are cut."""
    return {**made.to_dict(), "cut_points": [".".join(path) for path in made.cut_points]}


def _pair(flag: str, text: str, example: str) -> tuple[str, str]:
    """Return what stands before and after the equals sign of an option's text."""
    key, _, value = (part.strip() for part in text.partition("="))
    if not key or not value:
        raise HeuristicError(f"{flag} must have the form NAME=VALUE", f"got {text!r}", f"Write {flag} {example}")
    return key, value
