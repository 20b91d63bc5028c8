"""What there is, as plain data: the test problems, the heuristics, the components slot by slot.

All of it is derived: from the test functions, from the preset files, and from the fields of the component classes, so
a new one appears in the listings without an edit here.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import robustforge as rf
from robustforge.core.component import Component, Field, fields
from robustforge.errors import UnknownNameError
from robustforge.heuristic import Heuristic
from robustforge.heuristic.grammar import places as all_places
from robustforge.heuristic.listing import listing
from robustforge.heuristic.restriction import label
from robustforge.heuristic.rules import anatomy
from robustforge.problem.functions import FUNCTIONS
from robustforge.problem.held_out import HELD_OUT

Record = dict[str, Any]


def problem_rows() -> list[Record]:
    """Return the test problems: box, radius, what makes them hard."""
    return [
        {
            "name": function.name,
            "suite": suite,
            "lower": function.lower,
            "upper": function.upper,
            "radius": function.radius,
            "least_dimension": function.least,
            "additive": function.additive,
            "about": function.about,
        }
        for suite, functions in (("paper", FUNCTIONS), ("held-out", HELD_OUT))
        for function in functions.values()
    ]


def heuristic_rows() -> list[Record]:
    """Return the ready-made heuristics: name, identity, and which component stands in each slot."""
    found = ((name, rf.heuristic(name)) for name in rf.heuristics())
    return [{"name": name, "id": chosen.id, "components": chosen.components()} for name, chosen in found]


def heuristic_record(name: str, chosen: Heuristic, budget: int) -> Record:
    """Return one heuristic in every form: itself, its derivation tree, in words, and as Algorithm 1 filled in.

    Args:
        name: What it was asked for by.
        chosen: The heuristic.
        budget: Evaluations, which decide the size of its inner searches.
    """
    return {
        "name": name,
        "id": chosen.id,
        "budget": budget,
        "components": chosen.components(),
        "tree": anatomy(chosen),
        "words": chosen.describe(budget),
        "listing": listing(chosen, budget),
        "heuristic": json.loads(chosen.to_json()),
    }


def preset_name(chosen: Heuristic) -> str | None:
    """Return the name of the preset that equals a heuristic, if one does."""
    return next((name for name in rf.heuristics() if rf.heuristic(name) == chosen), None)


def component_rows(slot: str | None = None) -> list[Record]:
    """Return the places in a heuristic, from the outside in, each with the components that can stand there.

    Args:
        slot: One place alone, by the name that the listing gives it or by its key in JSON.
    """
    places = {kind: field for kind, field in all_places().items() if field is not None}
    labels = {kind: label(kind) for kind in places}
    if slot is not None:
        wanted = re.sub(r"[\s_-]+", " ", slot.strip().lower())
        places = {kind: field for kind, field in places.items() if wanted in (labels[kind], field.name)}
        if not places:
            raise UnknownNameError("slot", slot, labels.values(), "robustforge components")
    return [
        {
            "slot": labels[kind],
            "key": field.name,
            "choice": kind.is_slot,
            "about": kind.summary(),
            "components": [_component_row(component, labels) for component in kind.alternatives()],
        }
        for kind, field in places.items()
    ]


def _component_row(component: Any, labels: dict[Any, str]) -> Record:
    return {
        "title": component.title,
        "summary": component.summary(),
        "source": component.source,
        "beyond_paper": component.extension,
        "fields": [_field_row(field, labels) for field in fields(component)],
    }


def _field_row(field: Field, labels: dict[Any, str]) -> Record:
    kinds: dict[type, str] = {int: "integer", float: "number", bool: "yes/no", str: "word"}
    default = None if field.default is dataclasses.MISSING else field.default
    return {
        "name": field.name,
        "type": labels[field.kind] if field.is_component else kinds[field.kind],
        "component": field.is_component,
        "range": dataclasses.asdict(field.range) if field.range else None,
        "choices": list(field.choices),
        "meaning": field.meaning,
        "beyond_paper": field.optional,
        "default": default.title if isinstance(default, Component) else default,
    }
