"""The grammar: what heuristics there are, derived from the component classes, and random derivations from it."""

from __future__ import annotations

import math
from typing import TypeVar, cast

import numpy as np

from robustforge.core.component import Component, Field, Range, fields
from robustforge.errors import HeuristicError

C = TypeVar("C", bound=Component)

_TRIES = 1000


def random_component(cls: type[C], rng: np.random.Generator, *, extensions: bool = False) -> C:
    """Derive a component at random: an alternative of the slot, then its fields, each uniform in its range.

    Args:
        cls: A component class or a slot; `Heuristic` for a whole heuristic.
        rng: What decides it.
        extensions: Whether what goes beyond the paper's grammar is allowed.
    """
    allowed = [part for part in cls.alternatives() if extensions or not cls.is_slot or not part.extension]
    chosen = allowed[int(rng.integers(len(allowed)))]
    for _ in range(_TRIES):
        values = {field.name: _random_value(field, rng, extensions) for field in fields(chosen)}
        try:
            return cast(C, chosen(**values))
        except HeuristicError:  # fields that do not go together: draw them again
            continue
    raise HeuristicError(f"{chosen.title} must have fields that go together", f"none found in {_TRIES} draws")


def _random_value(field: Field, rng: np.random.Generator, extensions: bool) -> object:
    if field.is_component:
        return random_component(field.kind, rng, extensions=extensions)
    if field.choices:
        return field.choices[int(rng.integers(len(field.choices)))]
    limits = field.range or Range(0.0, 1.0)
    if field.kind is int:
        return int(rng.integers(int(limits.low), int(limits.high) + 1))
    if limits.log:
        drawn = math.exp(rng.uniform(math.log(limits.low), math.log(limits.high)))
        return min(max(drawn, limits.low), limits.high)
    return float(rng.uniform(limits.low, limits.high))
