"""The paper to the letter: what it fixes in addition to the interpretation, and which heuristics are in it."""

from __future__ import annotations

from dataclasses import MISSING
from typing import Any

from robustforge.core.interpretation import LETTER
from robustforge.representation.derivation_tree import nodes, replaced
from robustforge.representation.heuristic import Heuristic

LETTER_FIELDS: dict[str, Any] = {"update_order": "asynchronous", "include_self": False}
"""The values of fields of components in the letter's interpretation."""

_DEPARTURES = {
    "update_order": "particles move one after the other",
    "include_self": "a particle is not its own neighbour in a ring or on a torus",
}
DEFAULT, BY_LETTER, MIXED = "default", "letter", "mixed"


def letter_variant(chosen: Heuristic) -> Heuristic:
    """Return the same heuristic in the letter's interpretation, without parameters that the paper does not have."""
    for path, field, _ in nodes(chosen):
        if field.name in LETTER_FIELDS:
            chosen = replaced(chosen, path, LETTER_FIELDS[field.name])
        elif field.constant is not MISSING:
            chosen = replaced(chosen, path, field.constant)
    return chosen.replace(interpretation=LETTER)


def interpretation_name(chosen: Heuristic) -> str:
    """Return which interpretation of the paper a heuristic has: "default", "letter" or "mixed", some of both."""
    if not departures(chosen):
        return DEFAULT
    return BY_LETTER if chosen == letter_variant(chosen) else MIXED


def departures(chosen: Heuristic) -> list[str]:
    """Return where a heuristic departs from the default interpretation of the paper, in words."""
    found = [field.name for _, field, value in nodes(chosen) if field.name in _DEPARTURES and value != field.default]
    return [*(_DEPARTURES[name] for name in found), *chosen.interpretation.departures]
