"""Structure test: a few evaluations that tell whether another search fits the problem better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.components.coordinate import GROUP, CoordinateSearch
from robustforge.core.compiler import compiled
from robustforge.core.component import Component, Range
from robustforge.core.random import uniform
from robustforge.core.state import BEGINNING, DONE, State, random_position

LEAST_SAMPLES = 6
"""Samples per axis below which a coordinate search is not worth it, and neither is the test."""


class Structure(Component, slot=True):
    """What is looked for before the search begins.

    Kernels: `probe(s)` places the candidates of the test, `judge(s)` takes in their values.
    """

    verbs: ClassVar[Mapping[str, tuple[Any, ...]]] = {"probe": (), "judge": ()}
    probe: ClassVar[Any]
    judge: ClassVar[Any]

    @property
    def agents(self) -> int:
        """How many candidates the test has."""
        return 0

    @property
    def other(self) -> CoordinateSearch | None:
        """The search that takes over if the structure is there."""
        return None


@compiled
def _probe_nothing(s: State) -> None:
    pass


@compiled
def _probe_sums(s: State) -> None:
    """Place a base point, and for each test a second point and two mixtures of both, by a random half of the axes."""
    t, n = s.tally[0], s.tally[0].dimension
    random_position(s, 0)
    for k in range(int(s.structure[0].tests)):
        one, two, both = 1 + 3 * k, 2 + 3 * k, 3 + 3 * k
        random_position(s, both)
        kept = int(uniform(s.rng) * n)  # of both halves at least one axis, in more than one dimension
        given = (kept + 1 + int(uniform(s.rng) * (n - 1))) % n
        for i in range(n):
            mine = (uniform(s.rng) < 0.5 or i == kept) and (i != given or n == 1)
            s.x[one, i] = s.x[0, i] if mine else s.x[both, i]
            s.x[two, i] = s.x[both, i] if mine else s.x[0, i]
    t.agents = 1 + 3 * int(s.structure[0].tests)


@compiled
def _judge_sums(s: State) -> None:
    """Hand over to the coordinate search if the objective is a sum: f(a) + f(b) is then the sum over both mixtures."""
    t, p = s.tally[0], s.structure[0]
    t.phase = BEGINNING
    additive, telling = t.free >= LEAST_SAMPLES * t.dimension, 0
    for j in range(t.agents):
        additive = additive and s.status[j] == DONE and -np.inf < s.worst[j] < np.inf
    for k in range(int(p.tests)):
        a, one, two, b = s.worst[0], s.worst[1 + 3 * k], s.worst[2 + 3 * k], s.worst[3 + 3 * k]
        spread = max(max(a, b), max(one, two)) - min(min(a, b), min(one, two))
        size = max(max(abs(a), abs(b)), max(abs(one), abs(two)))
        additive = additive and abs((a + b) - (one + two)) <= p.tolerance * spread + 1e-13 * size
        if spread > 1e-9 * size:
            telling += 1
    if additive and 2 * telling >= p.tests:
        s.outer[0] = s.other[0]
        t.other = 1
        t.group = GROUP
        t.points = 1
        t.as_is = 1


@dataclass(frozen=True)
class NoTest(Structure):
    """Nothing is looked for."""

    title: ClassVar[str] = "None"
    extension: ClassVar[bool] = False
    probe: ClassVar[Any] = staticmethod(_probe_nothing)
    judge: ClassVar[Any] = staticmethod(_probe_nothing)

    def words(self) -> str:
        return "nothing is tested beforehand"


@dataclass(frozen=True)
class AdditivityTest(Structure):
    """Whether the objective is a sum of functions of one variable each: then a coordinate search takes over."""

    title: ClassVar[str] = "Additivity"
    extension: ClassVar[bool] = True
    tests: Annotated[int, Range(3, 10), "tests, of three evaluations each"]
    tolerance: Annotated[float, Range(1e-8, 1e-3, log=True), "deviation from a sum that is none, relative"]
    search: CoordinateSearch
    probe: ClassVar[Any] = staticmethod(_probe_sums)
    judge: ClassVar[Any] = staticmethod(_judge_sums)

    @property
    def agents(self) -> int:
        return 1 + 3 * self.tests

    @property
    def other(self) -> CoordinateSearch:
        return self.search

    def words(self) -> str:
        return (
            f"first, {self.agents} evaluations tell whether the objective is a sum of functions of one variable each; "
            f"if so, {self.search.words()}; otherwise:"
        )
