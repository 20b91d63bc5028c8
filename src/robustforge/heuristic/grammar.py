"""The grammar: which heuristics there are, as production rules derived from the component classes (Section 4.2).

A grammar says which alternatives each slot allows and which values each field may take. "paper" has what the paper
has, whatever is added later; "extended" has everything. Both can be restricted (`restriction.py`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from robustforge.components import Outer
from robustforge.core.component import Component, Field, Range, fields
from robustforge.core.elementary import exp, log, power
from robustforge.core.random import normal, stream
from robustforge.errors import HeuristicError
from robustforge.heuristic.heuristic import Heuristic
from robustforge.heuristic.rules import Kind, Rule, Rules, symbol
from robustforge.heuristic.tree import Path

C = TypeVar("C", bound=Component)

VARIED_SHARE, VARIED_STEP = 1 / 3, 0.1
"""How many numbers are shifted when a tree is varied, and how far, as a share of their ranges."""

_TRIES = 1000


class Grammar:
    """A set of heuristics: the alternatives that each slot allows, and the values that each field may take.

    Args:
        name: The preset it comes from.
        alternatives: For each slot, the components allowed.
        values: The fields that are narrower than their class says, by class and name.
        restrictions: What was asked for beyond the preset, as plain data.

    Example:
        >>> import numpy as np
        >>> import robustforge as rf
        >>> grammar = rf.grammar("paper", only={"network": ["Ring"]}, without=["leh"])
        >>> grammar.random(np.random.default_rng(1)).outer.network.title
        'Ring'
        >>> len(rf.grammar("paper").cut_points)
        13
    """

    def __init__(
        self,
        name: str,
        alternatives: Mapping[Kind, tuple[Kind, ...]],
        values: Mapping[tuple[Kind, str], Field],
        restrictions: Mapping[str, Any],
    ) -> None:
        self.name, self.restrictions = name, restrictions
        self._alternatives, self._values = _derivable(alternatives), dict(values)

    def alternatives(self, kind: Kind) -> tuple[Kind, ...]:
        """Return the components that may stand where one of this kind is wanted."""
        return self._alternatives.get(kind, ()) if kind.is_slot else (kind,)

    def fields(self, component: Kind) -> tuple[Field, ...]:
        """Return the fields of a component, with the values that are allowed here."""
        return tuple(self._values.get((component, field.name), field) for field in fields(component))

    def random(self, rng: np.random.Generator) -> Heuristic:
        """Return a random heuristic: at each slot one of its alternatives, each value uniform in its range."""
        return self.derive(Heuristic, rng)

    def derive(self, kind: type[C], rng: np.random.Generator) -> C:
        """Derive a component of a kind at random; `Heuristic` for a whole tree."""
        allowed = self.alternatives(kind)
        chosen = allowed[int(rng.integers(len(allowed)))]
        for _ in range(_TRIES):
            values = {field.name: self.derive_field(field, rng) for field in self.fields(chosen)}
            try:
                return cast(C, chosen(**values))
            except HeuristicError:  # fields that do not go together: draw them again
                continue
        raise HeuristicError(
            f"{chosen.title} must have fields that go together",
            f"none found in {_TRIES} draws",
            "Fix fewer of its values",
        )

    def derive_field(self, field: Field, rng: np.random.Generator) -> Any:
        """Derive what stands in a field at random."""
        return self.derive(field.kind, rng) if field.is_component else _random_value(field, rng)

    def varied(self, part: C, rng: np.random.Generator) -> C:
        """Return a component with a third of its numbers, and of those below it, shifted a little in their ranges.

        Everything that is no number stays as it is. A shift is normal with a deviation of a tenth of the range, on the
        logarithmic scale where there is one.
        """
        for _ in range(_TRIES):
            values = {
                field.name: self._varied(field, getattr(part, field.name), rng) for field in self.fields(type(part))
            }
            try:
                return part.replace(**values)
            except HeuristicError:  # fields that do not go together: shift them otherwise
                continue
        return part

    def _varied(self, field: Field, value: Any, rng: np.random.Generator) -> Any:
        if field.is_component:
            return self.varied(value, rng)
        if field.range is None or rng.random() >= VARIED_SHARE:
            return value
        return _shifted(field.kind, field.range, value, normal(stream(rng)) * VARIED_STEP)

    def holds(self, part: Component, kind: Kind = None) -> bool:
        """Whether a heuristic, or a part of one, can be derived by this grammar; a part where this kind is wanted."""
        return type(part) in self.alternatives(kind or type(part).slot() or type(part)) and all(
            self.holds(value, field.kind) if field.is_component else _allows(field, value)
            for field, value in ((field, getattr(part, field.name)) for field in self.fields(type(part)))
        )

    @cached_property
    def cut_points(self) -> tuple[Path, ...]:
        """The nodes that every tree has, and below which there is something to choose.

        They go down through what is always there, and end where a choice begins: what is below a choice is not in
        every tree. They also end at a component whose fields must go together, which a cut would take apart.
        """
        return tuple(self._cuts(Heuristic, ()))

    def cuts_of(self, *trees: Heuristic) -> tuple[Path, ...]:
        """Return the cut points that some trees have in common: those of every tree, and below an outer search of which
        all have the same.
        """
        if len(self.alternatives(Outer)) == 1:
            return self.cut_points
        return tuple(self._shared(trees, ()))

    def _shared(self, parts: Sequence[Component], above: Path) -> Iterator[Path]:
        kind: Kind = type(parts[0])
        if any(type(part) is not kind for part in parts) or kind.check is not Component.check:
            return
        for field in self.fields(kind):
            if self._is_open(field):
                yield (*above, field.name)
            if field.is_component and (field.kind is Outer or len(self.alternatives(field.kind)) == 1):
                yield from self._shared([getattr(part, field.name) for part in parts], (*above, field.name))

    def field_at(self, path: Path, tree: Heuristic | None = None) -> Field:
        """Return the field that leads to a cut point: of every tree, or of this one."""
        kind: Kind = Heuristic
        part: Any = tree
        for name in path:
            component = self.alternatives(kind)[0] if tree is None else type(part)
            field = next(field for field in self.fields(component) if field.name == name)
            kind, part = field.kind, getattr(part, name, None)
        return field

    def _cuts(self, kind: Kind, above: Path) -> Iterator[Path]:
        allowed = self.alternatives(kind)
        if len(allowed) > 1 or allowed[0].check is not Component.check:  # a choice, or fields that have to go together
            return
        for field in self.fields(allowed[0]):
            if self._is_open(field):
                yield (*above, field.name)
            if field.is_component:
                yield from self._cuts(field.kind, (*above, field.name))

    def _is_open(self, field: Field) -> bool:
        """Whether there is more than one way to derive what stands in a field."""
        if not field.is_component:
            return len(field.choices) != 1 and (field.range is None or field.range.low < field.range.high)
        allowed = self.alternatives(field.kind)
        return len(allowed) > 1 or any(map(self._is_open, self.fields(allowed[0])))

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The production rules, from the start symbol down, components first; what is fixed at rest is left out."""
        return Rules(self).collected()

    def is_at_rest(self, field: Field) -> bool:
        """Whether a field that came after the paper can have its neutral value only."""
        if not field.optional or self._is_open(field):
            return False
        if field.is_component:
            return self.alternatives(field.kind) == (type(field.default),)
        return _allows(field, field.default)

    @cached_property
    def components(self) -> tuple[Kind, ...]:
        """Every component class that a tree can contain, from the top down."""
        return tuple(component for kind in kinds() if kind in self._reached for component in self.alternatives(kind))

    @cached_property
    def _reached(self) -> set[Kind]:
        reached: set[Kind] = set()
        waiting: list[Kind] = [Heuristic]
        while waiting:
            kind = waiting.pop()
            if kind not in reached:
                reached.add(kind)
                inside = (field for component in self.alternatives(kind) for field in self.fields(component))
                waiting.extend(field.kind for field in inside if field.is_component)
        return reached

    def to_dict(self) -> dict[str, Any]:
        """Return the grammar as plain data: its name, restrictions, start symbol and rules."""
        return {
            "name": self.name,
            "restrictions": dict(self.restrictions),
            "fingerprint": self.fingerprint,
            "start": symbol(Heuristic),
            "rules": [asdict(rule) for rule in self.rules],
        }

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the rules: equal for two grammars that derive the same heuristics."""
        rules = [{**asdict(rule), "meaning": ""} for rule in self.rules]
        return hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()[:16]

    def __str__(self) -> str:
        """Return the production rules in Backus-Naur form, numbers with their ranges."""
        width = max(len(rule.symbol) for rule in self.rules) + 2
        return "\n".join(f"{f'<{rule.symbol}>':{width}} ::= {rule}" for rule in self.rules)

    def __repr__(self) -> str:
        return f"<Grammar {self.name!r}, {len(self.rules)} rules, fingerprint {self.fingerprint}>"


def preset(name: str, extensions: bool) -> Grammar:
    """Return the grammar of all components, or of those that are in the paper."""
    slots = {kind: kind.alternatives() for kind in kinds() if kind.is_slot}
    if extensions:
        return Grammar(name, slots, {}, {})
    kept = {kind: tuple(part for part in parts if not part.extension) for kind, parts in slots.items()}
    parts = [part for kind in kinds() for part in kind.alternatives()]
    later = ((part, field) for part in parts for field in fields(part) if field.optional and not field.is_component)
    return Grammar(name, kept, {(part, field.name): narrowed(field, field.default) for part, field in later}, {})


def narrowed(field: Field, low: Any, high: Any = None) -> Field:
    """Return the field with only one value allowed, or only the numbers from one to another."""
    if field.choices:
        return replace(field, choices=(low,))
    limits = field.range or Range(-math.inf, math.inf)
    return replace(field, range=Range(low, low if high is None else high, limits.log))


def kinds() -> tuple[Kind, ...]:
    """Return every slot and part that a heuristic can contain, from the top down, restricted or not."""
    return tuple(places())


def places() -> dict[Kind, Field | None]:
    """Return the same with the field that leads there first; `None` for the heuristic itself."""
    found: dict[Kind, Field | None] = {Heuristic: None}

    def collect(kind: Kind) -> None:
        for component in kind.alternatives():
            for field in fields(component):
                if field.is_component and field.kind not in found:
                    found[field.kind] = field
                    collect(field.kind)

    collect(Heuristic)
    return found


def _derivable(alternatives: Mapping[Kind, tuple[Kind, ...]]) -> dict[Kind, tuple[Kind, ...]]:
    """Take out every component that needs something of which nothing is left, until nothing changes."""
    left = dict(alternatives)

    def possible(component: Kind) -> bool:
        parts: list[Kind] = [field.kind for field in fields(component) if field.is_component]
        return all(bool(left[part]) if part.is_slot else possible(part) for part in parts)

    while True:
        after = {kind: tuple(filter(possible, parts)) for kind, parts in left.items()}
        if after == left:
            break
        left = after
    if not possible(Heuristic):
        empty = ", ".join(symbol(kind).lower() for kind, parts in left.items() if not parts)
        raise HeuristicError(
            "a grammar must derive at least one heuristic", f"nothing is left for: {empty}", "Restrict it less"
        )
    return left


def _random_value(field: Field, rng: np.random.Generator) -> Any:
    if field.choices:
        return field.choices[int(rng.integers(len(field.choices)))]
    limits = field.range or Range(0.0, 1.0)
    if field.kind is int:
        return int(rng.integers(int(limits.low), int(limits.high) + 1))
    if limits.log:
        drawn = exp(_uniform(log(limits.low), log(limits.high), rng))
        return min(max(drawn, limits.low), limits.high)
    return _uniform(limits.low, limits.high, rng)


def _uniform(low: float, high: float, rng: np.random.Generator) -> float:
    return low + (high - low) * rng.random()


def _shifted(kind: type, limits: Range, value: float, step: float) -> Any:
    """Return a number moved by a share of its range, within it; an integer by one at least."""
    if limits.low == limits.high:
        return value
    if limits.log:
        moved = value * power(limits.high / limits.low, step)
    else:
        moved = value + (limits.high - limits.low) * step
    if kind is int:
        moved = value + math.copysign(max(1.0, abs(round(moved - value))), step)
    return kind(min(max(moved, limits.low), limits.high))


def _allows(field: Field, value: Any) -> bool:
    if field.choices:
        return value in field.choices
    limits = field.range or Range(-math.inf, math.inf)
    return bool(limits.low <= value <= limits.high)
