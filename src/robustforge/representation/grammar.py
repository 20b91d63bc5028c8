"""The grammar: which heuristics there are, as production rules derived from the component classes (Section 4.2).

A grammar defines which alternatives each slot allows and which values each field may take. "paper" has what the paper
has, whatever is added later, "letter" has the same in the letter's interpretation, and "extended" has everything. All
can be restricted (`restriction.py`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from robustforge import notebook_html
from robustforge.components import Outer
from robustforge.core.component import Component, Field, Range, fields, slots_and_parts
from robustforge.core.interpretation import LETTER, Interpretation
from robustforge.core.portable_math import exp, log, power
from robustforge.core.random import normal, stream
from robustforge.errors import HeuristicError
from robustforge.representation.bnf import Kind, Rule, Rules, symbol
from robustforge.representation.derivation_tree import Path
from robustforge.representation.heuristic import Heuristic
from robustforge.representation.letter import LETTER_FIELDS

PAPER, LETTER_GRAMMAR, EXTENDED, EXPENSIVE, FORMER_PAPER = "paper", "letter", "extended", "expensive", "paper-0.2"
GRAMMARS = {
    PAPER: "what the paper has",
    LETTER_GRAMMAR: "the same, in the letter's interpretation",
    EXTENDED: "additional components included",
    EXPENSIVE: "the same, and emulators, which take milliseconds per evaluation: for expensive models",
    FORMER_PAPER: "the grammar called paper up to release 0.2, with two parameters that the paper does not have",
}
"""The named grammars, and what they have."""

C = TypeVar("C", bound=Component)

_ALL_FIELDS = (EXTENDED, EXPENSIVE)
"""The grammars that have the fields that were added to those of the paper."""

MUTATED_FRACTION, MUTATION_STEP = 1 / 3, 0.1
"""Fraction of the numbers that a parameter mutation changes, and its standard deviation as a fraction of ranges."""

_TRIES = 1000


class Grammar:
    """A set of heuristics: the alternatives that each slot allows, and the values that each field may take.

    Args:
        name: The preset it comes from.
        alternatives: For each slot, the components allowed.
        values: The fields that are narrower than in their class, by class and name.
        restrictions: The restrictions, as plain data.

    Example:
        >>> import numpy as np
        >>> import robustforge as rf
        >>> grammar = rf.grammar("paper", only={"network": ["Ring"]}, without=["leh"])
        >>> grammar.random(np.random.default_rng(1)).outer.network.title
        'Ring'
        >>> len(rf.grammar("paper").crossover_points)
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
        """Return the components that are allowed where one of this kind is needed."""
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
            except HeuristicError:  # an inadmissible combination: draw again
                continue
        raise HeuristicError(
            f"{chosen.title} must have compatible field values",
            f"none found in {_TRIES} draws",
            "Fix fewer of its values",
        )

    def derive_field(self, field: Field, rng: np.random.Generator) -> Any:
        """Derive the value of a field at random."""
        if not field.is_component:
            return _random_value(field, rng)
        return field.default if self.is_fixed_at_default(field) else self.derive(field.kind, rng)

    def mutate_parameters(self, part: C, rng: np.random.Generator) -> C:
        """Return a component with a third of its numbers, and of those below it, changed a little within their ranges.

        Only numbers change. A change is normal with a standard deviation of a tenth of the range, on a logarithmic
        scale where the range has one.
        """
        for _ in range(_TRIES):
            values = {
                field.name: self._mutated(field, getattr(part, field.name), rng) for field in self.fields(type(part))
            }
            try:
                return part.replace(**values)
            except HeuristicError:  # an inadmissible combination: draw again
                continue
        return part

    def _mutated(self, field: Field, value: Any, rng: np.random.Generator) -> Any:
        if field.is_component:
            return value if self.is_fixed_at_default(field) else self.mutate_parameters(value, rng)
        if field.range is None or rng.random() >= MUTATED_FRACTION:
            return value
        return _shifted(field.kind, field.range, value, normal(stream(rng)) * MUTATION_STEP)

    def holds(self, part: Component, kind: Kind = None) -> bool:
        """Whether a heuristic, or a part of one, can be derived by this grammar; a part where this kind is wanted."""
        return type(part) in self.alternatives(kind or type(part).slot() or type(part)) and all(
            self.holds(value, field.kind) if field.is_component else _allows(field, value)
            for field, value in ((field, getattr(part, field.name)) for field in self.fields(type(part)))
        )

    @cached_property
    def crossover_points(self) -> tuple[Path, ...]:
        """The nodes that every tree has, and below which there is something to choose.

        They descend through what every tree has, and end at a choice: what is below a choice is not in
        every tree. They also end at a component whose fields must go together, which a cut would take apart.
        """
        return tuple(self._cuts(Heuristic, ()))

    def crossover_points_of(self, *trees: Heuristic) -> tuple[Path, ...]:
        """Return the crossover points that some trees share: those of every tree, and those below an outer search of
        which all trees have the same.
        """
        if len(self.alternatives(Outer)) == 1:
            return self.crossover_points
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
        """Return the field that leads to a crossover point: of every tree, or of this one."""
        kind: Kind = Heuristic
        part: Any = tree
        for name in path:
            component = self.alternatives(kind)[0] if tree is None else type(part)
            field = next(field for field in self.fields(component) if field.name == name)
            kind, part = field.kind, getattr(part, name, None)
        return field

    def _cuts(self, kind: Kind, above: Path) -> Iterator[Path]:
        allowed = self.alternatives(kind)
        if len(allowed) > 1 or allowed[0].check is not Component.check:  # a choice, or fields that must be compatible
            return
        for field in self.fields(allowed[0]):
            if self._is_open(field):
                yield (*above, field.name)
            if field.is_component:
                yield from self._cuts(field.kind, (*above, field.name))

    def _is_open(self, field: Field) -> bool:
        """Whether there is more than one way to derive the value of a field."""
        if not field.is_component:
            return len(field.choices) != 1 and (field.range is None or field.range.low < field.range.high)
        allowed = self.alternatives(field.kind)
        return len(allowed) > 1 or any(map(self._is_open, self.fields(allowed[0])))

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The production rules, from the start symbol down, components first, without constants of a named grammar."""
        return Rules(self).collected()

    def is_fixed_at_default(self, field: Field) -> bool:
        """Whether a field that was added to those of the paper can only have its default."""
        if not field.optional or self._is_open(field):
            return False
        return self.holds(field.default, field.kind) if field.is_component else _allows(field, field.default)

    def is_constant(self, component: Kind, field: Field) -> bool:
        """Whether a named grammar has only one value for a field, which is no parameter of it then."""
        if field.is_component:
            parts = [] if field.kind.is_slot else [(field.kind, below) for below in self.fields(field.kind)]
            return bool(parts) and all(self.is_constant(*part) for part in parts)
        value = _only_value(self.name, component, field)
        return value is not MISSING and not self._is_open(field) and _allows(field, value)

    @cached_property
    def constants(self) -> dict[str, Any]:
        """The constants that are not defaults, by component and field, e.g. "Swarm.update_order"."""
        return {
            f"{part.title}.{field.name}": _only_value(self.name, part, field)
            for part in self.components
            for field in self.fields(part)
            if not field.is_component and self.is_constant(part, field) and not self.is_fixed_at_default(field)
        }

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
        """Return the grammar as plain data: its name, restrictions, constants, start symbol and rules."""
        return {
            "name": self.name,
            "restrictions": dict(self.restrictions),
            "fingerprint": self.fingerprint,
            "constants": self.constants,
            "start": symbol(Heuristic),
            "rules": [asdict(rule) for rule in self.rules],
        }

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the rules, the same in every release: equal for two grammars that derive the same heuristics."""
        rules = [{**asdict(rule), "meaning": ""} for rule in Rules(self, former=True).collected()]
        return hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()[:16]

    def __str__(self) -> str:
        """Return the production rules in Backus-Naur form, numbers with their ranges."""
        width = max(len(rule.symbol) for rule in self.rules) + 2
        return "\n".join(f"{f'<{rule.symbol}>':{width}} ::= {rule}" for rule in self.rules)

    def _repr_html_(self) -> str:
        """Return the production rules as a notebook shows them."""
        title = f"Grammar {self.name!r}, fingerprint {self.fingerprint}"
        limits = {f"restricted by {key}": value for key, value in self.restrictions.items() if value}
        limits |= {"constants": self.constants} if self.constants else {}
        rules = notebook_html.table(
            ("symbol", "derives"), ((f"<{rule.symbol}>", rule) for rule in self.rules), numeric=False
        )
        return notebook_html.fragment(title, *([notebook_html.facts(limits)] if limits else []), rules)

    def __repr__(self) -> str:
        return f"<Grammar {self.name!r}, {len(self.rules)} rules, fingerprint {self.fingerprint}>"


def preset(name: str) -> Grammar:
    """Return one of `GRAMMARS` by its name."""
    slots = {kind: kind.alternatives() for kind in kinds() if kind.is_slot}
    if name not in _ALL_FIELDS:
        slots = {kind: tuple(part for part in parts if not part.extension) for kind, parts in slots.items()}
    elif name == EXTENDED:
        slots = {kind: tuple(part for part in parts if not part.costly) for kind, parts in slots.items()}
    every = ((part, field) for kind in kinds() for part in kind.alternatives() for field in fields(part))
    only = {(part, field): _only_value(name, part, field) for part, field in every}
    closed = {
        (part, field.name): narrowed(field, value) for (part, field), value in only.items() if value is not MISSING
    }
    return Grammar(name, slots, closed, {})


def _only_value(name: str, part: Kind, field: Field) -> Any:
    """Return the only value of a field in a named grammar; `MISSING` where it has several, or is a component."""
    if part is Interpretation:
        return getattr(LETTER if name == LETTER_GRAMMAR else Interpretation(), field.name)
    if name in _ALL_FIELDS or field.is_component:
        return MISSING
    if name == LETTER_GRAMMAR and field.name in LETTER_FIELDS:
        return LETTER_FIELDS[field.name]
    return field.default if field.constant is MISSING or name == FORMER_PAPER else field.constant


def narrowed(field: Field, low: Any, high: Any = None) -> Field:
    """Return the field with only one value allowed, or only the numbers from one to another."""
    if field.choices:
        former = replace(field.former, choices=(field.former_value(low),)) if field.former.choices else field.former
        return replace(field, choices=(low,), former=former)
    limits = field.range or Range(-math.inf, math.inf)
    return replace(field, range=Range(low, low if high is None else high, limits.log))


def kinds() -> tuple[Kind, ...]:
    """Return every slot and part that a heuristic can contain, from the top down, restricted or not."""
    return tuple(slots_and_parts(Heuristic))


def _derivable(alternatives: Mapping[Kind, tuple[Kind, ...]]) -> dict[Kind, tuple[Kind, ...]]:
    """Remove the components that can no longer be derived, repeatedly."""
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
            "a grammar must derive at least one heuristic", f"nothing is left for: {empty}", "Relax the restrictions"
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
    """Return a number moved by a fraction of its range, within it; an integer by one at least."""
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
