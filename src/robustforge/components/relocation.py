"""Relocation: where a dormant particle goes (Sections 2.2.3 and 4.2.5 of the paper).

The largest empty hypersphere (LEH) is the largest one without a high-cost point, that is a point above the best robust
value so far. A small genetic algorithm looks for its centre. The distances from its population to the whole history are
the most expensive operation of a heuristic, so they are counted and limited.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numba import int64

from robustforge.core.agents import copy, draw_velocity, forget_best, random_position
from robustforge.core.compiler import call, compiled, inlined
from robustforge.core.component import Component, Constant, Former, Range
from robustforge.core.history import widen
from robustforge.core.interpretation import Interpretation, InterpretationState
from robustforge.core.pseudocode_lines import UNIFORM
from robustforge.core.random import Stream, below, uniform
from robustforge.core.state import BLOCK, ONE, Array, Coarse, Floats, Plan, Shape, SlotRecord, State

GENERATIONS = 4
"""Generations of the genetic algorithm after its first population."""

MAX_POPULATION = 20

_COORDINATES = 10
"""Coordinates after which a block is checked for whether it can be skipped."""

Dorm = Annotated[int, Range(1, 10), "idle iterations in a row before a particle is relocated (Dorm)"]


class Relocation(Component, slot=True):
    """Where dormant particles are relocated to.

    Kernels: `relocate(s, j)` writes a new position for particle `j`.
    """

    label: ClassVar[str] = "Form of relocation due to dormancy"
    kernels: ClassVar[Mapping[str, tuple[Any, ...]]] = {"relocate": (int64,)}
    dorm: Dorm
    relocate: ClassVar[Any]


class LehState(State):
    """The genetic algorithm that looks for the largest empty hypersphere."""

    leh_mask: Annotated[Coarse, Shape("leh_history"), "0 for each high-cost point of the history, +inf for the others"]
    leh_population: Annotated[Floats, Shape("leh_size", "dimension"), "the population"]
    leh_centre: Annotated[Floats, Shape("dimension"), "the centre that it found"]
    leh_offspring: Annotated[Floats, Shape("leh_size", "dimension"), "the next one"]
    leh_clearance: Annotated[Floats, Shape("leh_size"), "squared distances to the nearest high-cost point"]
    leh_offspring_clearance: Annotated[Floats, Shape("leh_size"), "the same of the next population"]


class RelocationState(LehState, InterpretationState):
    """The record of the relocation."""

    relocation: Annotated[SlotRecord[Relocation], ONE, "the relocation of dormant particles"]


def leh_sizes(population: int, plan: Plan) -> dict[str, int]:
    """Return the sizes of the genetic algorithm's memory."""
    return {"leh_size": population, "leh_history": plan.padded_history}


@compiled
def empty_centre(
    s: LehState, population: int, probability: float, amplitude: float, elites: int, tournament_size: int
) -> float:
    """Find the point of the box furthest from all high-cost points, `s.leh_centre`; return its distance.

    The distance is in the norm of the set, in units of Gamma; +inf without any high-cost point.
    """
    parents, offspring, rng = s.leh_population, s.leh_offspring, s.rng
    clearance, offspring_clearance = s.leh_clearance, s.leh_offspring_clearance
    lower, upper = s.lower, s.upper
    first_row = elites - elites  # 0 as a variable: a literal would be compiled as another specialisation
    _mask_high_cost(s)
    for m in range(population):
        for i in range(lower.size):
            parents[m, i] = lower[i] + uniform(rng) * (upper[i] - lower[i])
    measure_clearance(s, parents, first_row, population, clearance)
    for _ in range(GENERATIONS):
        first = -1
        for e in range(elites):
            best = -1
            for m in range(population):
                if m != first and (best < 0 or clearance[m] > clearance[best]):
                    best = m
            copy(parents[best], offspring[e])
            offspring_clearance[e] = clearance[best]
            first = best
        for m in range(elites, population):
            one = _tournament(rng, clearance, population, tournament_size)
            other = _tournament(rng, clearance, population, tournament_size)
            for i in range(lower.size):
                value = parents[one, i] if uniform(rng) < 0.5 else parents[other, i]
                if uniform(rng) < probability:
                    value += amplitude * (upper[i] - lower[i]) * (2.0 * uniform(rng) - 1.0)
                offspring[m, i] = min(max(value, lower[i]), upper[i])
        measure_clearance(s, offspring, elites, population, offspring_clearance)
        for m in range(population):
            copy(offspring[m], parents[m])
            clearance[m] = offspring_clearance[m]
    best = 0
    for m in range(1, population):
        if clearance[m] > clearance[best]:
            best = m
    copy(parents[best], s.leh_centre)
    return float(math.sqrt(clearance[best]))


@inlined
def _mask_high_cost(s: LehState) -> None:
    """Mark each point of the history: 0 where it is above the best robust value, +inf where it is not."""
    mask, values, spent, tau = s.leh_mask, s.history_f, s.counters[0].spent, s.incumbent_f[0]
    for k in range(min(mask.size, spent + BLOCK)):
        high = k < spent and values[k] > tau
        mask[k] = np.float32(0.0) if high else np.float32(np.inf)


@compiled
def measure_clearance(s: LehState, points: Floats, start: int, stop: int, clearance: Floats) -> None:
    """Write the squared distance from each point to the nearest high-cost point to `clearance`; count the distances."""
    coarse, mask, variables, t = s.history_coarse, s.leh_mask, s.variables, s.counters[0]
    is_box = t.is_box == 1
    squares, nearest = np.empty(BLOCK, np.float32), np.empty(8, np.float32)
    for m in range(start, stop):
        clearance[m] = np.inf
    for block in range(0, t.spent, BLOCK):
        for m in range(start, stop):
            for b in range(BLOCK):
                squares[b] = mask[block + b]
            done, closest = 0, -1.0
            while done < variables.size and closest < clearance[m]:  # otherwise no point of the block is the nearest
                stop_at = min(done + _COORDINATES, variables.size)
                widen(coarse, variables, points[m], block, done, stop_at, is_box, squares)
                closest, done = _smallest(squares, nearest), stop_at
            clearance[m] = min(clearance[m], closest)
    t.distances += (stop - start) * t.spent


@inlined
def _smallest(squares: Array, nearest: Array) -> float:
    """Return the smallest squared distance of a block; eight at a time."""
    for lane in range(8):
        nearest[lane] = squares[lane]
    for b in range(8, BLOCK, 8):
        for lane in range(8):
            square = squares[b + lane]
            nearest[lane] = square if square < nearest[lane] else nearest[lane]
    smallest = np.inf
    for lane in range(8):
        smallest = min(smallest, float(nearest[lane]))
    return smallest


@compiled
def _tournament(rng: Stream, clearance: Floats, population: int, tournament_size: int) -> int:
    """Return the member with the largest clearance among some drawn at random."""
    winner = below(rng, population)
    for _ in range(tournament_size - 1):
        other = below(rng, population)
        if clearance[other] > clearance[winner]:
            winner = other
    return winner


@compiled
def _relocate_to_empty_centre(s: RelocationState, j: int) -> None:
    t = s.counters[0]
    p: LehRelocation = s.relocation[0]
    if t.has_incumbent == 0 or t.distances >= t.distance_limit:
        random_position(s, j)
        return
    empty_centre(s, int(p.population_size), p.mutation_probability, p.amplitude, int(p.elites), int(p.tournament_size))
    copy(s.leh_centre, s.x[j])


@compiled
def _relocate_randomly(s: RelocationState, j: int) -> None:
    random_position(s, j)


@inlined
def relocate_if_dormant(s: RelocationState, j: int) -> bool:
    """Relocate particle `j` if it is dormant: its best is kept, its velocity drawn again. Return whether it was."""
    p: Relocation = s.relocation[0]
    rules: Interpretation = s.interpretation[0]
    if p.used == 0 or s.idle[j] < p.dorm:
        return False
    call(p.relocate, s, j)
    draw_velocity(s, j)
    s.idle[j] = 0
    s.counters[0].relocations += 1
    if rules.relocation_resets_best > 0:
        forget_best(s, j)
    return True


def empty_centre_lines(search: Any, facts: Mapping[str, Any]) -> list[str]:
    """Return the genetic algorithm of an LEH search or relocation as pseudocode."""
    return [
        f"if F* = infinity, or {facts['distance_limit']:,} distances were computed here: {UNIFORM}",
        "else: x_j := the centre of the largest empty hypersphere, by a genetic algorithm (population "
        f"{search.population_size}, {GENERATIONS} generations, elites {search.elites}, tournaments of "
        f"{search.tournament_size}, each coordinate mutated with probability {search.mutation_probability:.3g} by up "
        f"to {search.amplitude:.3g} of the width of X)",
    ]


@dataclass(frozen=True)
class LehRelocation(Relocation):
    """Dormant particles are relocated to the centre of the largest empty hypersphere."""

    title: ClassVar[str] = "LEH relocation"
    source: ClassVar[str] = "Hughes, Goerigk and Wright 2019"
    population_size: Annotated[
        int, Range(5, MAX_POPULATION), Former("population"), "population of the genetic algorithm (lpop)"
    ]
    mutation_probability: Annotated[
        float, Range(0.01, 0.5), Former("mutation"), "probability that a coordinate is mutated (lmutP)"
    ]
    amplitude: Annotated[float, Range(0.05, 0.5), "largest mutation, as a fraction of the range (lmutA)"]
    elites: Annotated[int, Range(1, 2), "members that survive unchanged (lelites)"]
    tournament_size: Annotated[int, Range(2, 4), Former("tour"), "tournament size (ltour)"]
    dorm: Dorm
    relocate: ClassVar[Any] = staticmethod(_relocate_to_empty_centre)

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        return leh_sizes(self.population_size, plan)

    def describe(self) -> str:
        return (
            f"after {_idle(self.dorm)} a particle is relocated to the centre of the largest empty hypersphere (found "
            f"by a genetic algorithm: population {self.population_size}, {GENERATIONS} generations)"
        )

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return empty_centre_lines(self, facts)


@dataclass(frozen=True)
class RandomRelocation(Relocation):
    """Dormant particles are relocated to a random point of the box."""

    title: ClassVar[str] = "Random relocation"
    source: ClassVar[str] = "the paper, Section 4.2.5"
    dorm: Annotated[Dorm, Constant(1)]
    relocate: ClassVar[Any] = staticmethod(_relocate_randomly)

    def describe(self) -> str:
        return f"after {_idle(self.dorm)} a particle is relocated to a random point"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return [UNIFORM]


def _idle(count: int) -> str:
    return "an idle iteration" if count == 1 else f"{count} idle iterations"
