"""Heuristics as JSON: written and read by the fields of their classes, checked against the grammar, never executed.

A component in a slot is written with its title as "type". A field that was added to those of the paper is left out
where it has its default, so that older heuristics keep their identity. Version 1 of the format had other names for some
fields and titles; files of both versions are read, and identities are computed from version 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from robustforge.core.component import Component, Field, fields
from robustforge.errors import HeuristicError, UnknownNameError

FORMAT, FORMER_FORMAT = "robustforge-heuristic/2", "robustforge-heuristic/1"

C = TypeVar("C", bound=Component)

_MAX_FILE_SIZE = 1_000_000


def encode(component: Component, chosen: bool = True) -> dict[str, Any]:
    """Return a component as plain data; with its title where it was chosen among alternatives."""
    data: dict[str, Any] = {}
    if chosen and component.slot() is not None:
        data["type"] = component.title
    for field, value in _written(component):
        data[field.name] = encode(value, field.is_choice) if field.is_component else value
    return data


def encode_former(component: Component, chosen: bool = True) -> dict[str, Any]:
    """Return a component as plain data with the names of version 1 of the format, which identities are made of."""
    data: dict[str, Any] = {}
    if chosen and component.slot() is not None:
        data["type"] = component.former_title or component.title
    for field, value in _written(component):
        former = encode_former(value, field.is_choice) if field.is_component else field.former_value(value)
        data[field.former.name] = former
    return data


def stored_form(component: Component) -> dict[str, Any]:
    """Return a component as stores keep it among settings: version 1, so that settings of all releases compare."""
    return {"format": FORMER_FORMAT, **encode_former(component)}


def _written(component: Component) -> Iterator[tuple[Field, Any]]:
    """Yield the fields that are written, with their values."""
    for field in fields(type(component)):
        value = getattr(component, field.name)
        if not (field.optional and value == field.default):
            yield field, value


def parse(cls: type[C], text: str) -> C:
    """Return the component in a JSON text."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HeuristicError("a heuristic must be JSON", f"it could not be parsed: {error}", _FIX) from error
    if not isinstance(data, dict):
        raise HeuristicError("a heuristic must be a JSON object", f"got {_short(data)}", _FIX)
    given = data.pop("format", None)
    if given not in (FORMAT, FORMER_FORMAT):
        raise HeuristicError(f'a heuristic must have "format": "{FORMAT}"', f"got {_short(given)}", _FIX)
    return decode(cls, data, "")


def load(cls: type[C], path: str | Path) -> C:
    """Return the component in a JSON file."""
    file = Path(path)
    try:
        if file.stat().st_size > _MAX_FILE_SIZE:
            raise HeuristicError("a heuristic's file must be small", f"{file} has {file.stat().st_size} bytes", _FIX)
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HeuristicError("a heuristic must be a readable file", f"{file}: {error}", _FIX) from error
    return parse(cls, text)


def decode(cls: type[C], data: Any, place: str) -> C:
    """Return the component that plain data describes; `place` is its location, for messages."""
    where = place or "the heuristic"
    if not isinstance(data, dict):
        raise HeuristicError(f"{where} must be a JSON object", f"got {_short(data)}", _FIX)
    chosen = _alternative(cls, data.get("type"), where)
    declared = fields(chosen)
    given = _renamed(declared, data)
    unknown = set(given) - {field.name for field in declared} - ({"type"} if cls.is_slot else set())
    if unknown:
        allowed = ", ".join(field.name for field in declared) or "none"
        raise HeuristicError(
            f"{where} ({chosen.title}) has an unknown field",
            f"{', '.join(sorted(map(repr, unknown)))}",
            f"Its fields: {allowed}",
        )
    values = {}
    for field in declared:
        if field.name in given:
            inside = f"{place}.{field.name}" if place else field.name
            values[field.name] = _decode_field(field, given[field.name], inside)
        elif not field.optional:
            raise HeuristicError(
                f"{where} ({chosen.title}) must have a field {field.name!r}", "it is missing", field.meaning or _FIX
            )
    return chosen(**values)


def _renamed(declared: Sequence[Field], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return data with the present names of fields; a name that is present stays, whatever it meant before."""
    names = {field.name for field in declared}
    present = {field.former.name: field.name for field in declared if field.former.name not in names}
    renamed = {name: present[name] for name in data if name in present and present[name] not in data}
    return {renamed.get(name, name): value for name, value in data.items()}


_FIX = "`robustforge show rpso -o mine.json` writes a complete one"


def _decode_field(field: Field, value: Any, place: str) -> Any:
    if field.is_component:
        return decode(field.kind, value, place)
    if isinstance(value, str) and value in field.former.choices:
        return field.choices[field.former.choices.index(value)]
    return value


def _alternative(cls: type[C], name: Any, where: str) -> type[C]:
    if not cls.is_slot:
        return cls
    by_title = {component.title: component for component in cls.alternatives()}
    former = {component.former_title: component for component in cls.alternatives() if component.former_title}
    if isinstance(name, str) and name not in by_title and name in former:
        return cast(type[C], former[name])
    if not isinstance(name, str) or name not in by_title:
        if name is None:
            raise HeuristicError(f'{where} must have a "type"', "it has none", f"One of: {', '.join(by_title)}")
        raise UnknownNameError(f"type for {where}", str(name), by_title, "robustforge components")
    return cast(type[C], by_title[name])


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
