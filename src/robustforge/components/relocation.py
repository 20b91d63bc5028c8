"""Relocation: where a dormant particle goes (Sections 2.2.3 and 4.2.5 of the paper).

The largest empty hypersphere (LEH) is the largest one without a high-cost point, that is one above the best robust
value known. Its centre is looked for by a small genetic algorithm; the distances from its candidates to the whole
history are the most expensive thing a heuristic can do, so they are counted, and limited.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numba import int64

from robustforge.core.compiler import call, compiled, inlined
from robustforge.core.component import Component, Range
from robustforge.core.history import widen
from robustforge.core.random import Stream, below, uniform
from robustforge.core.state import BLOCK, Array, Floats, State, StateField, copy, fresh_velocity, random_position

GENERATIONS = 4
"""Generations of the genetic algorithm after its first population."""

LARGEST_POPULATION = 20

_COORDINATES = 10
"""Coordinates looked at before it is asked whether a block can be given up."""

STATE_FIELDS = (
    StateField("leh_mask", np.float32, lambda p: (p.padded,)),
    StateField("leh_now", np.float64, lambda p: (LARGEST_POPULATION, p.dimension)),
    StateField("leh_next", np.float64, lambda p: (LARGEST_POPULATION, p.dimension)),
    StateField("leh_room", np.float64, lambda p: (LARGEST_POPULATION,)),
    StateField("leh_next_room", np.float64, lambda p: (LARGEST_POPULATION,)),
)

Dorm = Annotated[int, Range(1, 10), "idle iterations in a row before a particle is relocated"]


class Relocation(Component, slot=True):
    """Where dormant particles go.

    Kernels: `relocate(s, j)` writes a new position for agent `j`.
    """

    verbs: ClassVar[Mapping[str, tuple[Any, ...]]] = {"relocate": (int64,)}
    dorm: Dorm
    relocate: ClassVar[Any]


@compiled
def empty_centre(s: State, population: int, chance: float, amplitude: float, elites: int, tour: int) -> float:
    """Find the point of the box furthest from all high-cost points; it is `s.leh_now[0]`, its distance is returned.

    The distance is in the norm of the set, in units of Gamma; +inf without any high-cost point.
    """
    now, bred, room, bred_room, rng = s.leh_now, s.leh_next, s.leh_room, s.leh_next_room, s.rng
    lower, upper = s.lower, s.upper
    nobody = elites - elites  # 0, but not a literal, for which another version would be compiled
    _mask_high_cost(s)
    for m in range(population):
        for i in range(lower.size):
            now[m, i] = lower[i] + uniform(rng) * (upper[i] - lower[i])
    measure_room(s, now, nobody, population, room)
    for _ in range(GENERATIONS):
        first = -1
        for e in range(elites):
            best = -1
            for m in range(population):
                if m != first and (best < 0 or room[m] > room[best]):
                    best = m
            copy(now[best], bred[e])
            bred_room[e] = room[best]
            first = best
        for m in range(elites, population):
            one = _tournament(rng, room, population, tour)
            other = _tournament(rng, room, population, tour)
            for i in range(lower.size):
                value = now[one, i] if uniform(rng) < 0.5 else now[other, i]
                if uniform(rng) < chance:
                    value += amplitude * (upper[i] - lower[i]) * (2.0 * uniform(rng) - 1.0)
                bred[m, i] = min(max(value, lower[i]), upper[i])
        measure_room(s, bred, elites, population, bred_room)
        for m in range(population):
            copy(bred[m], now[m])
            room[m] = bred_room[m]
    best = 0
    for m in range(1, population):
        if room[m] > room[best]:
            best = m
    copy(now[best], now[0])
    return float(math.sqrt(room[best]))


@inlined
def _mask_high_cost(s: State) -> None:
    """Mark each point of the history: 0 where it is above the best robust value, +inf where it is not."""
    mask, values, spent, tau = s.leh_mask, s.values, s.tally[0].spent, s.incumbent[0]
    for k in range(min(mask.size, spent + BLOCK)):
        high = k < spent and values[k] > tau
        mask[k] = np.float32(0.0) if high else np.float32(np.inf)


@compiled
def measure_room(s: State, candidates: Floats, start: int, stop: int, room: Floats) -> None:
    """Write the squared distance from each candidate to the nearest high-cost point to `room`; count the work."""
    coarse, mask, t = s.coarse, s.leh_mask, s.tally[0]
    is_box = t.is_box == 1
    gaps, nearest = np.empty(BLOCK, np.float32), np.empty(8, np.float32)
    for m in range(start, stop):
        room[m] = np.inf
    for block in range(0, t.spent, BLOCK):
        for m in range(start, stop):
            for b in range(BLOCK):
                gaps[b] = mask[block + b]
            done, closest = 0, -1.0
            while done < s.every.size and closest < room[m]:  # else no point of the block can be the nearest
                stop_at = min(done + _COORDINATES, s.every.size)
                widen(coarse, s.every, candidates[m], block, done, stop_at, is_box, gaps)
                closest, done = _smallest(gaps, nearest), stop_at
            room[m] = min(room[m], closest)
    t.work += (stop - start) * t.spent


@inlined
def _smallest(gaps: Array, nearest: Array) -> float:
    """Return the smallest gap of a block; eight at a time."""
    for lane in range(8):
        nearest[lane] = gaps[lane]
    for b in range(8, BLOCK, 8):
        for lane in range(8):
            gap = gaps[b + lane]
            nearest[lane] = gap if gap < nearest[lane] else nearest[lane]
    smallest = np.inf
    for lane in range(8):
        smallest = min(smallest, float(nearest[lane]))
    return smallest


@compiled
def _tournament(rng: Stream, room: Floats, population: int, tour: int) -> int:
    """Return the candidate with the most room among some drawn at random."""
    winner = below(rng, population)
    for _ in range(tour - 1):
        other = below(rng, population)
        if room[other] > room[winner]:
            winner = other
    return winner


@compiled
def _relocate_to_emptiness(s: State, j: int) -> None:
    if s.tally[0].found == 0 or s.tally[0].work >= s.tally[0].work_limit:
        random_position(s, j)
        return
    p = s.relocation[0]
    empty_centre(s, int(p.population), p.mutation, p.amplitude, int(p.elites), int(p.tour))
    copy(s.leh_now[0], s.x[j])


@compiled
def _relocate_randomly(s: State, j: int) -> None:
    random_position(s, j)


@dataclass(frozen=True)
class LehRelocation(Relocation):
    """A dormant particle goes to the centre of the largest empty hypersphere."""

    title: ClassVar[str] = "LEH relocation"
    source: ClassVar[str] = "Hughes, Goerigk and Wright 2019"
    population: Annotated[int, Range(5, LARGEST_POPULATION), "candidates of the genetic algorithm (lpop)"]
    mutation: Annotated[float, Range(0.01, 0.5), "chance that a coordinate is shifted (lmutP)"]
    amplitude: Annotated[float, Range(0.05, 0.5), "largest shift, as a share of the box width (lmutA)"]
    elites: Annotated[int, Range(1, 2), "candidates that survive unchanged (lelites)"]
    tour: Annotated[int, Range(2, 4), "size of a tournament (ltour)"]
    dorm: Dorm
    relocate: ClassVar[Any] = staticmethod(_relocate_to_emptiness)

    def words(self) -> str:
        return (
            f"after {_idle(self.dorm)} a particle goes to the centre of the largest empty hypersphere "
            f"(found by {self.population} candidates, {GENERATIONS} generations)"
        )


@dataclass(frozen=True)
class RandomRelocation(Relocation):
    """A dormant particle goes to a random point of the box."""

    title: ClassVar[str] = "Random relocation"
    source: ClassVar[str] = "the paper, Section 4.2.5"
    dorm: Dorm
    relocate: ClassVar[Any] = staticmethod(_relocate_randomly)

    def words(self) -> str:
        return f"after {_idle(self.dorm)} a particle goes to a random point"


def _idle(count: int) -> str:
    return "an idle iteration" if count == 1 else f"{count} idle iterations"


@inlined
def relocate_if_dormant(s: State, j: int) -> bool:
    """Relocate agent `j` if it is dormant: its best is kept, its velocity drawn anew. Return whether it was."""
    if s.relocation[0].used == 0 or s.idle[j] < s.relocation[0].dorm:
        return False
    call(s.relocation[0].relocate, s, j)
    fresh_velocity(s, j)
    s.idle[j] = 0
    s.tally[0].relocations += 1
    if s.readings[0].relocation_resets_best > 0:
        s.placed[j] = False
        s.best[j] = np.inf
    return True
