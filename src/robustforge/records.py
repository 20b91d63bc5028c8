"""What the command line hands out and reads back, as plain data: results, verifications and the three listings.

Every `--json` prints one of these, every screen shows one, and `verify` reads a result again. The listings are derived
from the test functions, the preset files and the component classes, so a new one appears without an edit here.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Any

import numpy as np

import robustforge as rf
from robustforge.core.component import Component, Field, fields
from robustforge.errors import ProblemError, UnknownNameError
from robustforge.heuristic import Heuristic
from robustforge.problem import Problem
from robustforge.problem.functions import FUNCTIONS

Record = dict[str, Any]

RESULT_FORMAT = "robustforge-result/1"
VERIFICATION_FORMAT = "robustforge-verification/1"

_FIX = "`robustforge solve sphere -o result.json` writes a complete one"


def to_json(record: Any) -> str:
    """Return a record as JSON text; a number that is not finite becomes null, since JSON has no word for it."""
    return json.dumps(_finite(record), indent=2, allow_nan=False) + "\n"


def build_problem(spec: Record) -> Problem:
    """Return the test problem that a spec (name, dimension, variant, variant_seed, outside) describes."""
    variant, seed = spec["variant"], spec["variant_seed"]
    if variant == "original" and seed is not None:
        raise ProblemError(
            "a variant seed belongs to a variant", f"got {seed!r} for the original problem", "Add --variant shifted, or leave it out"
        )
    return rf.problem(spec["name"], spec["dimension"], variant, seed, outside=spec["outside"])


def result_record(spec: Record, name: str | None, budget: int, seed: int, result: Any, seconds: float) -> Record:
    """Return what a search found as plain data.

    Args:
        spec: The problem's spec.
        name: The heuristic as it was asked for; `None` for the default.
        budget: Evaluations allowed.
        seed: What decided the search.
        result: The `OptimizeResult`.
        seconds: How long it took.
    """
    return {
        "format": RESULT_FORMAT,
        "problem": spec,
        "heuristic_name": name or preset_name(result.heuristic),
        "heuristic": json.loads(result.heuristic.to_json()),
        "budget": budget,
        "seed": seed,
        "x": result.x.tolist(),
        "fun": result.fun,
        "worst_x": result.worst_x.tolist(),
        "nominal_fun": result.nominal_fun,
        "estimate": result.estimate,
        "nfev": result.nfev,
        "nit": result.nit,
        "success": result.success,
        "message": result.message,
        "seconds": seconds,
    }


def verification_record(spec: Record, x: list[float], known: Record | None, samples: int, seed: int, found: Any) -> Record:
    """Return what a verification found as plain data; `known` is the worst point that the search itself had seen."""
    return {
        "format": VERIFICATION_FORMAT,
        "problem": spec,
        "x": x,
        "samples": samples,
        "seed": seed,
        "nominal_fun": float(found.nominal_fun),
        "known": known,
        "sampled": _worst(found.sampled),
        "attacked": _worst(found.attacked),
    }


def parse_result(text: str, name: str) -> Record:
    """Return the result in a JSON text, checked as far as a verification needs it.

    Args:
        text: What `solve` wrote.
        name: Where it was read, for messages.

    Raises:
        ProblemError: It is no such result; the message says what must hold, what was found and what to do.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProblemError("a result must be JSON", f"reading {name} failed: {error}", _FIX) from error
    given = data.get("format") if isinstance(data, dict) else data
    if given != RESULT_FORMAT:
        raise ProblemError(f'a result must say "format": "{RESULT_FORMAT}"', f"{name} has {_short(given)}", _FIX)
    spec = _entry(data, "problem", dict, name)
    for key, kind in (("name", str), ("dimension", int), ("variant", str), ("outside", str)):
        _entry(spec, key, kind, f"the problem in {name}")
    x = _entry(data, "x", list, name)
    if len(x) != spec["dimension"] or not all(_is_number(value) for value in x):
        raise ProblemError(
            f"`x` in a result must have one finite number for each of its {spec['dimension']} variables",
            f"{name} has {_short(x)}",
            _FIX,
        )
    spec.setdefault("variant_seed", None)
    return data  # type: ignore[no-any-return]


def known_worst(result: Record) -> Record | None:
    """Return the worst point that a search had seen around its design, or `None` if its record holds none."""
    if not _is_number(result.get("fun")):
        return None
    return {"fun": float(result["fun"]), "x": result.get("worst_x"), "nfev": result.get("nfev")}


def problem_rows() -> list[Record]:
    """Return the test problems: box, radius, what makes them hard."""
    return [
        {
            "name": function.name,
            "lower": function.lower,
            "upper": function.upper,
            "radius": function.radius,
            "least_dimension": function.least,
            "additive": function.additive,
            "about": function.about,
        }
        for function in FUNCTIONS.values()
    ]


def heuristic_rows() -> list[Record]:
    """Return the ready-made heuristics: name, identity, and which component stands in each slot."""
    found = ((name, rf.heuristic(name)) for name in rf.heuristics())
    return [{"name": name, "id": chosen.id, "components": chosen.components()} for name, chosen in found]


def preset_name(chosen: Heuristic) -> str | None:
    """Return the name of the preset that equals a heuristic, if one does."""
    return next((name for name in rf.heuristics() if rf.heuristic(name) == chosen), None)


def component_rows(slot: str | None = None) -> list[Record]:
    """Return the places in a heuristic, from the outside in, each with the components that can stand there.

    Args:
        slot: One place alone, by the name that the listing gives it or by its key in JSON.
    """
    places: dict[type[Component], Field] = {}
    _collect(Heuristic, places)
    labels = {kind: _label(field) for kind, field in places.items()}
    if slot is not None:
        wanted = re.sub(r"[\s_-]+", " ", slot.strip().lower())
        places = {kind: field for kind, field in places.items() if wanted in (labels[kind], field.name)}
        if not places:
            raise UnknownNameError("slot", slot, labels.values(), "robustforge components")
    return [
        {
            "slot": labels[kind],
            "key": field.name,
            "about": kind.summary(),
            "components": [_component_row(component, labels) for component in kind.alternatives()],
        }
        for kind, field in places.items()
    ]


def _collect(cls: type[Component], places: dict[type[Component], Field]) -> None:
    """Gather all fields below a class that hold components, each kind once, in the order of the grammar."""
    for component in cls.alternatives():
        for field in fields(component):
            if field.is_component and field.kind not in places:
                places[field.kind] = field
                _collect(field.kind, places)


def _label(field: Field) -> str:
    """Return a place's name: its key in JSON, or the words of its class where these end in the key (inner form)."""
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", field.kind.__name__).lower()
    return words if words.endswith(field.name) else field.name


def _component_row(component: type[Component], labels: dict[type[Component], str]) -> Record:
    return {
        "title": component.title,
        "summary": component.summary(),
        "source": component.source,
        "beyond_paper": component.extension,
        "fields": [_field_row(field, labels) for field in fields(component)],
    }


def _field_row(field: Field, labels: dict[type[Component], str]) -> Record:
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


def _worst(found: Any) -> Record:
    return {"fun": float(found.fun), "x": np.asarray(found.x).tolist(), "nfev": int(found.nfev)}


def _entry(data: Record, key: str, kind: type, where: str) -> Any:
    value = data.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        noun = {dict: "an object", list: "a list", str: "a text", int: "an integer"}[kind]
        fact = f"it is {_short(value)}" if key in data else "it is missing"
        raise ProblemError(f"`{key}` of {where} must be {noun}", fact, _FIX)
    return value


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e308 <= value <= 1e308


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
