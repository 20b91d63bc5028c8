"""The payloads of `problems`, `heuristics`, `components` and `show`.

They are derived from the test functions, the preset files and the component classes: a new one appears without a change
here.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import numpy as np
import numpy.typing as npt

import robustforge as rf
from robustforge.core.component import Component, Field, fields, slots_and_parts
from robustforge.errors import UnknownNameError
from robustforge.representation import Heuristic
from robustforge.representation.bnf import derivation_tree
from robustforge.representation.letter import departures, interpretation_name
from robustforge.representation.pseudocode import pseudocode
from robustforge.representation.restriction import label
from robustforge.robust_problem.engineering import ENGINEERING, EngineeringProblem
from robustforge.robust_problem.held_out import HELD_OUT
from robustforge.robust_problem.test_functions import FUNCTIONS
from robustforge.tables import Record


def problem_rows() -> list[Record]:
    """Return the test problems: bounds, size of the uncertainty set, what makes them hard, description."""
    return [
        {
            "name": function.name,
            "suite": suite,
            "dimension": None,
            "set": "ball",
            "lower": function.lower,
            "upper": function.upper,
            "radius": function.radius,
            "least_dimension": function.least,
            "additive": function.additive,
            "traits": ["additive"] if function.additive else [],
            "about": function.about,
        }
        for suite, functions in (("paper", FUNCTIONS), ("held-out", HELD_OUT))
        for function in functions.values()
    ] + [_engineering_row(each) for each in ENGINEERING.values()]


def _engineering_row(given: EngineeringProblem) -> Record:
    """Return an engineering problem; bounds and radius are one number, or one for each variable."""
    geometry = given.uncertainty.geometry(given.dimension)
    lower, upper = np.array(given.bounds).T
    return {
        "name": given.name,
        "suite": given.suite,
        "dimension": given.dimension,
        "set": "box" if geometry.is_box else "ball",
        "lower": _shortened(lower),
        "upper": _shortened(upper),
        "radius": _shortened(geometry.radii),
        "least_dimension": given.dimension,
        "additive": "additive" in given.traits,
        "traits": list(given.traits),
        "about": given.about,
    }


def _shortened(numbers: npt.NDArray[np.float64]) -> float | list[float]:
    return float(numbers[0]) if np.ptp(numbers) == 0 else [float(each) for each in numbers]


def heuristic_rows() -> list[Record]:
    """Return the ready-made heuristics: name, id, interpretation of the paper, and the component in each slot."""
    found = ((name, rf.heuristic(name)) for name in rf.heuristics())
    return [
        {
            "name": name,
            "id": chosen.id,
            "interpretation": interpretation_name(chosen),
            "components": chosen.components(),
        }
        for name, chosen in found
    ]


def heuristic_payload(name: str, chosen: Heuristic, budget: int) -> Record:
    """Return a heuristic as JSON, with its derivation tree, its description and its pseudocode.

    Args:
        name: Its name or file.
        chosen: The heuristic.
        budget: Number of evaluations, which determines the size of its inner searches.
    """
    return {
        "name": name,
        "id": chosen.id,
        "budget": budget,
        "interpretation": interpretation_name(chosen),
        "departures": departures(chosen),
        "components": chosen.components(),
        "tree": derivation_tree(chosen),
        "description": chosen.describe(budget),
        "pseudocode": pseudocode(chosen, budget),
        "heuristic": json.loads(chosen.to_json()),
    }


def preset_name(chosen: Heuristic) -> str | None:
    """Return the name of the ready-made heuristic that equals a heuristic, if any."""
    return next((name for name in rf.heuristics() if rf.heuristic(name) == chosen), None)


def component_rows(slot: str | None = None) -> list[Record]:
    """Return the slots of a heuristic, outermost first, each with its alternatives.

    Args:
        slot: A single slot, by its name or by its key in JSON.
    """
    slots = {kind: field for kind, field in slots_and_parts(Heuristic).items() if field is not None}
    labels = {kind: label(kind) for kind in slots}
    if slot is not None:
        given = re.sub(r"[\s_-]+", " ", slot.strip().lower())
        slots = {kind: field for kind, field in slots.items() if given in (labels[kind], field.name)}
        if not slots:
            raise UnknownNameError("slot", slot, labels.values(), "robustforge components")
    return [
        {
            "slot": labels[kind],
            "key": field.name,
            "choice": kind.is_slot,
            "about": kind.summary(),
            "components": [_component_row(component, labels) for component in kind.alternatives()],
        }
        for kind, field in slots.items()
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
