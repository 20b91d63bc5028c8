"""Heuristics as JSON: written and read by the fields of their classes, checked against the grammar, never executed.

A component that stands in a slot is written with its title as "type". A field that came after the paper is left out
where it has its neutral value, so that older heuristics keep their identity.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar, cast

from robustforge.core.component import Component, Field, fields
from robustforge.errors import HeuristicError, UnknownNameError

FORMAT = "robustforge-heuristic/1"

C = TypeVar("C", bound=Component)

_LARGEST_FILE = 1_000_000


def encode(component: Component, chosen: bool = True) -> dict[str, Any]:
    """Return a component as plain data; with its title where it was chosen among others."""
    data: dict[str, Any] = {}
    if chosen and component.slot() is not None:
        data["type"] = component.title
    for field in fields(type(component)):
        value = getattr(component, field.name)
        if field.optional and value == field.default:
            continue
        data[field.name] = encode(value, field.is_choice) if field.is_component else value
    return data


def parse(cls: type[C], text: str) -> C:
    """Return the component in a JSON text."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HeuristicError("a heuristic must be JSON", f"reading it failed: {error}", _FIX) from error
    if not isinstance(data, dict):
        raise HeuristicError("a heuristic must be a JSON object", f"got {_short(data)}", _FIX)
    given = data.pop("format", None)
    if given != FORMAT:
        raise HeuristicError(f'a heuristic must say "format": "{FORMAT}"', f"got {_short(given)}", _FIX)
    return decode(cls, data, "")


def load(cls: type[C], path: str | Path) -> C:
    """Return the component in a JSON file."""
    file = Path(path)
    try:
        if file.stat().st_size > _LARGEST_FILE:
            raise HeuristicError("a heuristic's file must be small", f"{file} has {file.stat().st_size} bytes", _FIX)
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HeuristicError("a heuristic must be a readable file", f"{file}: {error}", _FIX) from error
    return parse(cls, text)


def decode(cls: type[C], data: Any, place: str) -> C:
    """Return the component that plain data describes; `place` says where it stands, for messages."""
    where = place or "the heuristic"
    if not isinstance(data, dict):
        raise HeuristicError(f"{where} must be a JSON object", f"got {_short(data)}", _FIX)
    chosen = _alternative(cls, data.get("type"), where)
    declared = fields(chosen)
    unknown = set(data) - {field.name for field in declared} - ({"type"} if cls.is_slot else set())
    if unknown:
        allowed = ", ".join(field.name for field in declared) or "none"
        raise HeuristicError(
            f"{where} ({chosen.title}) must have known fields only",
            f"{', '.join(sorted(map(repr, unknown)))} is not one",
            f"Its fields: {allowed}",
        )
    values = {}
    for field in declared:
        if field.name in data:
            inside = f"{place}.{field.name}" if place else field.name
            values[field.name] = _decode_field(field, data[field.name], inside)
        elif not field.optional:
            raise HeuristicError(
                f"{where} ({chosen.title}) must have a field {field.name!r}", "it is missing", field.meaning or _FIX
            )
    return chosen(**values)


_FIX = "`robustforge show rpso -o mine.json` writes a complete one"


def _decode_field(field: Field, value: Any, place: str) -> Any:
    return decode(field.kind, value, place) if field.is_component else value


def _alternative(cls: type[C], name: Any, where: str) -> type[C]:
    if not cls.is_slot:
        return cls
    by_title = {component.title: component for component in cls.alternatives()}
    if not isinstance(name, str) or name not in by_title:
        if name is None:
            raise HeuristicError(f'{where} must have a "type"', "it has none", f"One of: {', '.join(by_title)}")
        raise UnknownNameError(f"type for {where}", str(name), by_title, "robustforge components")
    return cast(type[C], by_title[name])


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
