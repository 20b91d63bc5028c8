"""Grammars by name, and narrower ones: some alternatives only, some left out, some values fixed.

Names are those that people see (`robustforge grammar` prints them), in any case, with or without blanks. A restriction
that names nothing, or leaves nothing, is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from robustforge.core.component import Field, fields, slots_and_parts
from robustforge.errors import HeuristicError, RobustforgeError, UnknownNameError
from robustforge.representation.bnf import Kind, symbol
from robustforge.representation.grammar import FORMER_PAPER, GRAMMARS, PAPER, Grammar, kinds, narrowed, preset
from robustforge.representation.heuristic import Heuristic

_LISTING = "robustforge grammar"


def grammar(
    name: str = "paper",
    *,
    only: Mapping[str, str | Sequence[str]] | None = None,
    without: Iterable[str] = (),
    fix: Mapping[str, Any] | None = None,
) -> Grammar:
    """Return a grammar by name, optionally restricted.

    Args:
        name: "paper", the paper's own; "letter", the same in the letter's interpretation of the paper; "extended", with
            what was added to it; "expensive", with emulators, too; or "paper-0.2", called "paper" up to release 0.2.
        only: For a slot, the alternatives to keep, e.g. {"network": ["Global", "Ring"]}.
        without: Alternatives to leave out: every one whose name has this word, e.g. "leh", or "mutation=none" for that
            of one slot.
        fix: For a field, its value, or the limits of a number, e.g. {"swarm_size": 20, "c1": (0.5, 2), "c2": 1},
            also where the paper's grammar keeps its default, e.g. {"update_order": "asynchronous"};
            with the name of its component where several have such a field, e.g. "In PSO.c1".

    Raises:
        HeuristicError: Nothing is left, or a restriction has no effect since what it is about is left out.

    Example:
        >>> import robustforge as rf
        >>> print(rf.grammar("paper", only={"network": "ring"}).rules[3])
        Ring
    """
    if name not in GRAMMARS:
        raise UnknownNameError("grammar", str(name), GRAMMARS, "robustforge grammar --help")
    for asked_for, given in (("only", only), ("fix", fix)):
        if given is not None and not isinstance(given, Mapping):
            raise HeuristicError(f"`{asked_for}` must be a dict", f"got {given!r}", "Write e.g. {'network': ['Ring']}")
    kept = {slot: [names] if isinstance(names, str) else list(names) for slot, names in (only or {}).items()}
    dropped = [part.strip() for words in _listed(without) for part in words.split(",")]
    fixed = dict(fix or {})
    base = preset(name)
    if not (kept or dropped or fixed):
        return base
    slots = {kind: base.alternatives(kind) for kind in kinds() if kind.is_slot}
    asked: dict[Kind, str] = {}
    for label, names in kept.items():
        slot = _slot(label)
        asked[slot] = f"only {label}"
        slots[slot] = tuple(dict.fromkeys(_alternative(slot, slots[slot], each) for each in names))
    for words in dropped:
        _drop(slots, words)
    left = Grammar(name, slots, {}, {}).components
    values = {(part, field.name): field for part in base.components for field in fields(part)}
    places_fixed = [_fix(values, left, label, value) for label, value in fixed.items()]
    defaults = {(part, field.name): field for part in base.components for field in base.fields(part)}
    values = defaults | {place: values[place] for found in places_fixed for place in found}
    restrictions = {"only": kept, "without": dropped, "fix": {key: _plain(value) for key, value in fixed.items()}}
    made = Grammar(name, slots, values, {key: value for key, value in restrictions.items() if value})
    _check_effect(made, asked, dict(zip(fixed, places_fixed, strict=True)))
    for part in made.components:  # inadmissible combinations are found now, not during a run
        made.derive(part, np.random.default_rng(0))
    return made


def present_name(stored: Mapping[str, Any]) -> str:
    """Return the present name of a grammar in a store: up to release 0.2, "paper" was what "paper-0.2" is now."""
    name, restrictions = str(stored.get("name", PAPER)), stored.get("restrictions") or {}
    if name != PAPER:
        return name
    try:
        former = grammar(FORMER_PAPER, **restrictions).fingerprint
    except (RobustforgeError, TypeError):  # restrictions that this release does not know
        return name
    return FORMER_PAPER if former == stored.get("fingerprint") else name


def label(kind: Kind) -> str:
    """Return the label of a slot or part: its key in JSON, or the words of its class where these end in the key."""
    field = slots_and_parts(Heuristic)[kind]
    words = symbol(kind).lower()
    return words if field is None or words.endswith(field.name) else field.name


def _slot(name: str) -> Kind:
    """Return the slot of a name: its label, its key in JSON, or a former one."""
    slots = [kind for kind in kinds() if kind.is_slot]
    for kind in slots:
        field = slots_and_parts(Heuristic)[kind]
        names = [label(kind), kind.former_symbol, *((field.name, field.former.name) if field else ())]
        if _plain_name(name) in map(_plain_name, filter(None, names)):
            return kind
    raise UnknownNameError("slot", name, [label(kind) for kind in slots], _LISTING)


def _alternative(slot: Kind, allowed: tuple[Kind, ...], name: str) -> Kind:
    found = [part for part in allowed if _is_titled(part, name)]
    if not found:
        if any(_is_titled(part, name) for part in slot.alternatives()):
            raise HeuristicError(
                "a choice must be in the grammar",
                f"{name!r} is not in the paper's grammar, or is excluded",
                "Use --grammar extended",
            )
        raise UnknownNameError(f"choice for {label(slot)}", name, [part.title for part in allowed], _LISTING)
    return found[0]


def _is_titled(part: Kind, name: str) -> bool:
    return _plain_name(name) in map(_plain_name, filter(None, (part.title, part.former_title)))


def _drop(slots: dict[Kind, tuple[Kind, ...]], words: str) -> None:
    """Leave out every alternative whose title has all of these words; of one slot, if it is named."""
    slot, _, name = words.rpartition("=")
    within = [_slot(slot)] if slot else list(slots)
    searched = set(_words(name))
    left_out = {part for slot in within for part in slots[slot] if searched and searched <= set(_words(part.title))}
    if not left_out:
        titles = {part.title.lower() for slot in within for part in slots[slot]}
        raise UnknownNameError("name to leave out", words, titles, _LISTING)
    for slot in within:
        slots[slot] = tuple(part for part in slots[slot] if part not in left_out)


def _fix(
    values: dict[tuple[Kind, str], Field], left: tuple[Kind, ...], name: str, value: Any
) -> list[tuple[Kind, str]]:
    """Narrow the field of a name, in every component left that has the same one; return where that was."""
    owner, _, own = name.rpartition(".")
    found = [
        (part, key)
        for part, key in values
        if _plain_name(key) == _plain_name(own) and (not owner or _is_titled(part, owner))
        if not values[part, key].is_component
    ] or [
        (part, key)
        for (part, key), field in values.items()
        if _plain_name(field.former.name) == _plain_name(own) and (not owner or _is_titled(part, owner))
        if not field.is_component
    ]
    found = [target for target in found if target[0] in left] or found
    if not found:
        if any(_plain_name(key) == _plain_name(own) for _, key in values):
            fact = f"{name!r} is a component"
            raise HeuristicError(
                "a field to fix must be a number or a choice", fact, f"Restrict it by --only {name}=..."
            )
        known = {key for part, key in values if not values[part, key].is_component}
        raise UnknownNameError("field to fix", name, known, _LISTING)
    if len({(values[target].kind, values[target].range) for target in found}) > 1:
        several = ", ".join(f"{part.title}.{key}" for part, key in found)
        raise HeuristicError(
            "a field to fix must be unambiguous", f"{name!r} matches several fields", f"Specify which: {several}"
        )
    for target in found:
        low, high = _limits(values[target], name, value)
        values[target] = narrowed(values[target], low, high)
    return found


def _limits(field: Field, name: str, value: Any) -> tuple[Any, Any]:
    """Return the value, or the two limits, that a user gave for a field, checked against what it allows."""
    given = _parsed(field, value) if isinstance(value, str) else value
    low, high = given if isinstance(given, (tuple, list)) and len(given) == 2 else (given, None)
    if field.choices:
        if high is None and low in field.choices and isinstance(low, type(field.choices[0])):
            return low, None
        allowed = [{True: "yes", False: "no"}.get(choice, str(choice)) for choice in field.choices]
        fix = f"Write for instance {name}={allowed[0]}"
        raise HeuristicError(f"{name} must be {' or '.join(allowed)}", f"got {value!r}", fix)
    assert field.range is not None
    bounds = [number for number in (low, high) if number is not None]
    numbers = bool(bounds) and all(_is_number(n) and field.kind(n) == n for n in bounds)
    if not numbers or not field.range.low <= min(bounds) <= max(bounds) <= field.range.high or bounds != sorted(bounds):
        noun = "an integer" if field.kind is int else "a number"
        raise HeuristicError(
            f"{name} must be {noun} from {field.range.low:g} to {field.range.high:g}, or a range within",
            f"got {value!r}",
            f"Write for instance {name}={field.range.low:g}:{field.range.high:g}",
        )
    return field.kind(low), None if high is None else field.kind(high)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _parsed(field: Field, text: str) -> Any:
    """Return the value of a string: yes or no, a choice, a number, or two numbers with a colon between them."""
    if field.kind is bool:
        return {"yes": True, "true": True, "no": False, "false": False}.get(text.lower(), text)
    if field.choices:
        choices = {former.lower(): choice for former, choice in zip(field.former.choices, field.choices, strict=False)}
        return {**choices, **{choice.lower(): choice for choice in field.choices}}.get(text.lower(), text)
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        return text
    whole = [int(number) if number.is_integer() else number for number in numbers]
    return whole[0] if len(whole) == 1 else tuple(whole)


def _check_effect(made: Grammar, asked: Mapping[Kind, str], fixed: Mapping[str, list[tuple[Kind, str]]]) -> None:
    """Refuse a restriction of something that no tree of the grammar contains."""
    reached = set(made.components)
    excluded = [words for slot, words in asked.items() if not reached & set(made.alternatives(slot))]
    excluded += [f"fix {name}" for name, where in fixed.items() if not reached & {part for part, _ in where}]
    if excluded:
        raise HeuristicError(
            "restrictions must not contradict each other",
            f"{excluded[0]!r} refers to something excluded by another restriction",
            "Drop one of them",
        )


def _listed(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _plain_name(name: str) -> str:
    return re.sub(r"[^a-z0-9{}]", "", name.lower().replace("+", "and"))


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9{}]+", name.lower())
