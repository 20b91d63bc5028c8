"""Separability test: a few evaluations that show whether a search that exploits separability can be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.components.coordinate_search import BATCH, CoordinateSearch
from robustforge.components.outer import Outer, OuterState
from robustforge.core.agents import random_position
from robustforge.core.compiler import compiled
from robustforge.core.component import Component, Range
from robustforge.core.random import uniform
from robustforge.core.state import DONE, ONE, STARTING_PHASE, SlotRecord

MIN_SAMPLES_PER_AXIS = 6
"""Samples per axis below which a coordinate search is not worth it, and neither is the test."""


class Separability(Component, slot=True):
    """The test before the outer search.

    Kernels: `sample(s)` places the candidates of the test, `decide(s)` uses their values.
    """

    label: ClassVar[str] = "Separability test"
    key: ClassVar[str] = "structure"
    former_symbol: ClassVar[str] = "Structure"
    kernels: ClassVar[Mapping[str, tuple[Any, ...]]] = {"sample": (), "decide": ()}
    sample: ClassVar[Any]
    decide: ClassVar[Any]

    @property
    def agents(self) -> int:
        """Candidates of the test."""
        return 0

    @property
    def replacement(self) -> CoordinateSearch | None:
        """The search that replaces the outer search if the objective is separable."""
        return None


class SeparabilityState(OuterState):
    """The records of the test, and of the search that it may put in the place of the outer search."""

    separability: Annotated[SlotRecord[Separability], ONE, "the separability test"]
    replacement: Annotated[SlotRecord[Outer], ONE, "the search for separable objectives"]


@compiled
def _do_nothing(s: SeparabilityState) -> None:
    pass


@compiled
def _sample_mixtures(s: SeparabilityState) -> None:
    """Place a base point, and for each test a second point and two mixtures of both, by a random half of the axes."""
    t, n = s.counters[0], s.counters[0].dimension
    p: AdditivityTest = s.separability[0]
    random_position(s, 0)
    for k in range(int(p.tests)):
        one, two, both = 1 + 3 * k, 2 + 3 * k, 3 + 3 * k
        random_position(s, both)
        kept = int(uniform(s.rng) * n)  # at least one axis of each half, in more than one dimension
        given = (kept + 1 + int(uniform(s.rng) * (n - 1))) % n
        for i in range(n):
            from_base = (uniform(s.rng) < 0.5 or i == kept) and (i != given or n == 1)
            s.x[one, i] = s.x[0, i] if from_base else s.x[both, i]
            s.x[two, i] = s.x[both, i] if from_base else s.x[0, i]
    t.agents = 1 + 3 * int(p.tests)


@compiled
def _decide_by_sums(s: SeparabilityState) -> None:
    """Switch to the coordinate search if the objective is a sum: f(a) + f(b) is then the sum over both mixtures."""
    t = s.counters[0]
    p: AdditivityTest = s.separability[0]
    t.phase = STARTING_PHASE
    additive, informative = t.unallocated >= MIN_SAMPLES_PER_AXIS * t.dimension, 0
    for j in range(t.agents):
        additive = additive and s.status[j] == DONE and -np.inf < s.worst[j] < np.inf
    for k in range(int(p.tests)):
        a, one, two, b = s.worst[0], s.worst[1 + 3 * k], s.worst[2 + 3 * k], s.worst[3 + 3 * k]
        value_range = max(max(a, b), max(one, two)) - min(min(a, b), min(one, two))
        size = max(max(abs(a), abs(b)), max(abs(one), abs(two)))
        additive = additive and abs((a + b) - (one + two)) <= p.tolerance * value_range + 1e-13 * size
        if value_range > 1e-9 * size:
            informative += 1
    if additive and 2 * informative >= p.tests:
        s.outer[0] = s.replacement[0]
        t.replaced = 1
        t.outer_agents = BATCH
        t.outer_inner_budget = 1
        t.outer_nominal = 1
        t.asynchronous = 0


@dataclass(frozen=True)
class NoTest(Separability):
    """Nothing is tested."""

    title: ClassVar[str] = "None"
    extension: ClassVar[bool] = False
    sample: ClassVar[Any] = staticmethod(_do_nothing)
    decide: ClassVar[Any] = staticmethod(_do_nothing)

    def describe(self) -> str:
        return "no separability test"


@dataclass(frozen=True)
class AdditivityTest(Separability):
    """Whether the objective is a sum of functions of one variable each: then a coordinate search is used."""

    title: ClassVar[str] = "Additivity"
    extension: ClassVar[bool] = True
    tests: Annotated[int, Range(3, 10), "tests, of three evaluations each"]
    tolerance: Annotated[float, Range(1e-8, 1e-3, log=True), "relative deviation from a sum that is ignored"]
    search: CoordinateSearch
    sample: ClassVar[Any] = staticmethod(_sample_mixtures)
    decide: ClassVar[Any] = staticmethod(_decide_by_sums)

    @property
    def agents(self) -> int:
        return 1 + 3 * self.tests

    @property
    def replacement(self) -> CoordinateSearch:
        return self.search

    def describe(self) -> str:
        return (
            f"first, {self.agents} evaluations test whether the objective is a sum of functions of one variable each; "
            f"if so, {self.search.describe()}; otherwise:"
        )

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return [
            "a := uniform in X; evaluate f(a)",
            f"{self.tests} times: b := uniform in X; c, c' := mixtures of a and b, each variable of a in one of them, "
            "of b in the other; evaluate f(b), f(c), f(c')",
            "if f(a) + f(b) = f(c) + f(c') each time:",
        ]
