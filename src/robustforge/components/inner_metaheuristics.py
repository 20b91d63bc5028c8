"""Inner searches with a population: a swarm or a genetic algorithm inside the uncertainty set (Section 4.2.7)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.components.inner_search import InnerForm, InnerState, put, sample
from robustforge.core.agents import copy
from robustforge.core.compiler import compiled
from robustforge.core.component import Former, Range
from robustforge.core.random import Stream, below, uniform
from robustforge.core.state import Array, Floats, Plan


@compiled
def _project(offset: Floats, uncertain: Array, is_box: bool) -> None:
    """Project an offset onto the set: scaled for a ball, clipped for a box."""
    square = 0.0
    for i in uncertain:
        if is_box:
            offset[i] = min(max(offset[i], -1.0), 1.0)
        square += offset[i] * offset[i]
    if not is_box and square > 1.0:
        length = math.sqrt(square)
        for i in uncertain:
            offset[i] /= length


@compiled
def _initialise(s: InnerState, j: int, count: int, members: int) -> None:
    """Initialise the population of an agent's search by uniform samples."""
    base = j * members
    for row in range(base, base + members):
        s.inner_value[row] = -np.inf
        s.inner_best[row] = -np.inf
    for row in range(base, base + count):
        sample(s.rng, s.uncertain, s.counters[0].is_box == 1, s.inner_x[row])
        put(s, j, row, s.inner_x[row])


@compiled
def _propose_swarm(s: InnerState, j: int, limit: int) -> None:
    p: InnerPso = s.inner[0]
    uncertain, rng, is_box = s.uncertain, s.rng, s.counters[0].is_box == 1
    members = int(p.swarm_size)
    count = min(members, limit)
    base = j * members
    if s.taken[j] == 0:
        _initialise(s, j, count, members)
        for row in range(base, base + members):
            for i in uncertain:
                s.inner_velocity[row, i] = 0.1 * uniform(rng)
        return
    best = base
    for row in range(base + 1, base + members):
        if s.inner_best[row] > s.inner_best[best]:
            best = row
    shared = s.inner_best_x[best]
    for row in range(base, base + count):
        x, v, own = s.inner_x[row], s.inner_velocity[row], s.inner_best_x[row]
        for i in uncertain:
            pull = p.c1 * uniform(rng) * (own[i] - x[i]) + p.c2 * uniform(rng) * (shared[i] - x[i])
            v[i] = p.omega * v[i] + pull
            x[i] += v[i]
        _project(x, uncertain, is_box)
        put(s, j, row, x)


@compiled
def _report_best(s: InnerState, j: int, row: int, value: float) -> None:
    if value > s.inner_best[row] or s.inner_best[row] == -np.inf:
        s.inner_best[row] = -np.inf if np.isnan(value) else value
        copy(s.inner_x[row], s.inner_best_x[row])


@compiled
def _rank(s: InnerState, base: int, members: int) -> None:
    """Sort the members of an agent's search by value, the largest first, by insertion."""
    value, x = s.inner_value, s.inner_x
    for k in range(base + 1, base + members):
        m = k
        while m > base and value[m] > value[m - 1]:
            value[m], value[m - 1] = value[m - 1], value[m]
            for i in range(x.shape[1]):
                x[m, i], x[m - 1, i] = x[m - 1, i], x[m, i]
            m -= 1


@compiled
def _tournament(rng: Stream, members: int, tournament_size: int) -> int:
    """Return the winner among ranked members: the lowest rank drawn."""
    winner = below(rng, members)
    for _ in range(tournament_size - 1):
        winner = min(winner, below(rng, members))
    return winner


@compiled
def _propose_children(s: InnerState, j: int, limit: int) -> None:
    p: InnerGa = s.inner[0]
    uncertain, rng, is_box = s.uncertain, s.rng, s.counters[0].is_box == 1
    members, elites, tournament_size = int(p.population_size), int(p.elites), int(p.tournament_size)
    base = j * members
    if s.taken[j] == 0:
        _initialise(s, j, min(members, limit), members)
        return
    _rank(s, base, members)
    for row in range(base, base + members):  # children replace all but the elites
        copy(s.inner_x[row], s.inner_parents[row])
    for row in range(base + elites, base + elites + min(members - elites, limit)):
        x = s.inner_x[row]
        one, other = _tournament(rng, members, tournament_size), _tournament(rng, members, tournament_size)
        for i in uncertain:
            value = s.inner_parents[base + one, i] if uniform(rng) < 0.5 else s.inner_parents[base + other, i]
            if uniform(rng) < p.mutation_probability:
                value += 2.0 * p.amplitude * (2.0 * uniform(rng) - 1.0)
            x[i] = value
        _project(x, uncertain, is_box)
        put(s, j, row, x)


@compiled
def _report_value(s: InnerState, j: int, row: int, value: float) -> None:
    s.inner_value[row] = -np.inf if np.isnan(value) else value


@dataclass(frozen=True)
class InnerPso(InnerForm):
    """A particle swarm inside the uncertainty set, one generation per round."""

    title: ClassVar[str] = "In PSO"
    rank: ClassVar[int] = 101
    source: ClassVar[str] = "Kennedy, Eberhart and Shi 2001"
    swarm_fraction: Annotated[
        float, Range(0.0, 1.0), Former("swarm"), "size of the inner swarm, as a fraction of the inner budget (In Swarm)"
    ]
    c1: Annotated[float, Range(0.0, 2.0), "acceleration towards the personal worst point (In C1)"]
    c2: Annotated[float, Range(0.0, 2.0), "acceleration towards the worst point of the inner swarm (In C2)"]
    omega: Annotated[float, Range(0.0, 1.0), "inertia weight (In Omega)"]
    computed: ClassVar[Sequence[str]] = ("swarm_size",)
    swarm_size: ClassVar[float]
    propose: ClassVar[Any] = staticmethod(_propose_swarm)
    report: ClassVar[Any] = staticmethod(_report_best)

    def members(self, plan: Plan) -> int:
        return max(1, round(self.swarm_fraction * plan.inner_budget))

    def parameters(self, plan: Plan) -> Mapping[str, float]:
        return {**super().parameters(plan), "swarm_size": self.members(plan)}

    def describe(self) -> str:
        return f"a particle swarm inside the uncertainty set, of {self.swarm_fraction:.2g} of the inner budget"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return [
            f"first, a generation of {facts['members']}: y := uniform near x_j; w := U(0, 0.1) Gamma; evaluate f(y)",
            f"then, for each y: w := {self.omega:.3g} w + {self.c1:.3g} r1 (its worst point - y) + {self.c2:.3g} r2 "
            "(the worst point of all - y); y := y + w, projected onto the set around x_j; evaluate f(y)",
        ]


@dataclass(frozen=True)
class InnerGa(InnerForm):
    """A genetic algorithm inside the uncertainty set, one generation per round; elites are not evaluated again."""

    title: ClassVar[str] = "In GA"
    rank: ClassVar[int] = 102
    source: ClassVar[str] = "Talbi 2009"
    population_fraction: Annotated[
        float, Range(0.0, 1.0), Former("population"), "size of the population, as a fraction of the inner budget"
    ]
    mutation_probability: Annotated[
        float, Range(0.01, 0.5), Former("mutation"), "probability that a coordinate is mutated (In mutP)"
    ]
    amplitude: Annotated[float, Range(0.05, 0.5), "largest mutation, as a fraction of the set's width (In mutA)"]
    elite_fraction: Annotated[
        float, Range(0.0, 1.0), Former("elites"), "members that survive, as a fraction of the population (In elites)"
    ]
    tournament_fraction: Annotated[
        float, Range(0.0, 1.0), Former("tour"), "tournament size, as a fraction of the population (In tour)"
    ]
    computed: ClassVar[Sequence[str]] = ("population_size", "elites", "tournament_size")
    population_size: ClassVar[float]
    elites: ClassVar[float]
    tournament_size: ClassVar[float]
    propose: ClassVar[Any] = staticmethod(_propose_children)
    report: ClassVar[Any] = staticmethod(_report_value)

    def members(self, plan: Plan) -> int:
        return max(2, round(self.population_fraction * plan.inner_budget))

    def parameters(self, plan: Plan) -> Mapping[str, float]:
        members = self.members(plan)
        return {
            **super().parameters(plan),
            "population_size": members,
            "elites": min(members - 1, round(self.elite_fraction * members)),
            "tournament_size": max(1, round(self.tournament_fraction * members)),
        }

    def describe(self) -> str:
        return f"a genetic algorithm inside the uncertainty set, of {self.population_fraction:.2g} of the inner budget"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        numbers, members = facts["parameters"], facts["members"]
        return [
            f"first, a generation of {members}: y := uniform near x_j; evaluate f(y)",
            f"then: keep the elites, the {numbers['elites']} worst points; "
            f"{members - numbers['elites']} children y by "
            f"tournaments of {numbers['tournament_size']}, each coordinate from either parent, mutated with "
            f"probability {self.mutation_probability:.3g} by up to {self.amplitude:.3g} of the set's width; projected "
            "onto the set around x_j; evaluate f(y)",
        ]
