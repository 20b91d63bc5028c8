"""Relocation: where a dormant particle goes (Sections 2.2.3 and 4.2.5 of the paper).

The largest empty hypersphere (LEH) is the largest one without a high-cost point, that is one above the best robust
value known. Its centre is looked for by a small genetic algorithm; the distances from its candidates to the whole
history are the most expensive thing a heuristic can do, so they are counted, and limited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.core.compiler import compiled
from robustforge.core.component import Component, Range, dispatch
from robustforge.core.random import below, uniform
from robustforge.core.state import BLOCK, Floats, State, StateField, fresh_velocity, random_position

GENERATIONS = 4
"""Generations of the genetic algorithm after its first population."""

LARGEST_POPULATION = 20

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

    dorm: Dorm
    relocate: ClassVar[Any]


@compiled
def empty_centre(s: State, population: int, chance: float, amplitude: float, elites: int, tour: int) -> float:
    """Find the point of the box furthest from all high-cost points; it is `s.leh_now[0]`, its distance is returned.

    The distance is in the norm of the set, in units of Gamma; +inf without any high-cost point.
    """
    _mask_high_cost(s)
    for m in range(population):
        for i in range(s.tally[0].dimension):
            s.leh_now[m, i] = s.lower[i] + uniform(s.rng) * (s.upper[i] - s.lower[i])
    _room(s, s.leh_now, 0, population, s.leh_room)
    for _ in range(GENERATIONS):
        _keep_elites(s, population, elites)
        for m in range(elites, population):
            _breed(s, m, population, chance, amplitude, tour)
        _room(s, s.leh_next, elites, population, s.leh_next_room)
        s.leh_now[:population] = s.leh_next[:population]
        s.leh_room[:population] = s.leh_next_room[:population]
    best = 0
    for m in range(1, population):
        if s.leh_room[m] > s.leh_room[best]:
            best = m
    for i in range(s.tally[0].dimension):
        s.leh_now[0, i] = s.leh_now[best, i]
    room = s.leh_room[best]
    return float(room if s.tally[0].is_box == 1 else np.sqrt(room))


@compiled
def _mask_high_cost(s: State) -> None:
    """Mark each point of the history: 0 where it is above the best robust value, +inf where it is not."""
    tau = s.incumbent[0]
    for k in range(s.leh_mask.size):
        high = k < s.tally[0].spent and s.values[k] > tau
        s.leh_mask[k] = np.float32(0.0) if high else np.float32(np.inf)


@compiled
def _room(s: State, candidates: Floats, start: int, stop: int, room: Floats) -> None:
    """Write the (squared, for a ball) distance from each candidate to the nearest high-cost point to `room`."""
    gaps = np.empty(BLOCK, np.float32)
    for m in range(start, stop):
        room[m] = np.inf
    is_box = s.tally[0].is_box == 1
    for block in range(0, s.tally[0].spent, BLOCK):
        for m in range(start, stop):
            gaps[:] = s.leh_mask[block : block + BLOCK]
            for i in range(s.tally[0].dimension):
                centre = np.float32(candidates[m, i])
                row = s.coarse[i, block : block + BLOCK]
                if is_box:
                    for b in range(BLOCK):
                        gap = abs(row[b] - centre)
                        gaps[b] = gap if gap > gaps[b] else gaps[b]
                else:
                    for b in range(BLOCK):
                        gap = row[b] - centre
                        gaps[b] += gap * gap
            nearest = np.float32(np.inf)
            for b in range(BLOCK):
                nearest = min(nearest, gaps[b])
            room[m] = min(room[m], float(nearest))
    s.tally[0].work += (stop - start) * s.tally[0].spent


@compiled
def _keep_elites(s: State, population: int, elites: int) -> None:
    """Copy the candidates with the most room to the next population."""
    first = -1
    for e in range(elites):
        best = -1
        for m in range(population):
            if m != first and (best < 0 or s.leh_room[m] > s.leh_room[best]):
                best = m
        s.leh_next[e] = s.leh_now[best]
        s.leh_next_room[e] = s.leh_room[best]
        first = best


@compiled
def _tournament(s: State, population: int, tour: int) -> int:
    winner = below(s.rng, population)
    for _ in range(tour - 1):
        other = below(s.rng, population)
        if s.leh_room[other] > s.leh_room[winner]:
            winner = other
    return winner


@compiled
def _breed(s: State, m: int, population: int, chance: float, amplitude: float, tour: int) -> None:
    """Write a child of two tournament winners: each coordinate from either, some of them shifted."""
    first, second = _tournament(s, population, tour), _tournament(s, population, tour)
    for i in range(s.tally[0].dimension):
        parent = first if uniform(s.rng) < 0.5 else second
        value = s.leh_now[parent, i]
        if uniform(s.rng) < chance:
            value += amplitude * (s.upper[i] - s.lower[i]) * (2.0 * uniform(s.rng) - 1.0)
        s.leh_next[m, i] = min(max(value, s.lower[i]), s.upper[i])


@compiled
def _relocate_to_emptiness(s: State, j: int) -> None:
    if s.tally[0].found == 0 or s.tally[0].work >= s.tally[0].work_limit:
        random_position(s, j)
        return
    p = s.relocation[0]
    empty_centre(s, int(p.population), p.mutation, p.amplitude, int(p.elites), int(p.tour))
    s.x[j] = s.leh_now[0]


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
            f"after {self.dorm} idle iterations a particle goes to the centre of the largest empty hypersphere "
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
        return f"after {self.dorm} idle iterations a particle goes to a random point"


_relocate = dispatch(Relocation, "relocate")


@compiled
def relocate_if_dormant(s: State, j: int) -> bool:
    """Relocate agent `j` if it is dormant: its best is kept, its velocity drawn anew. Return whether it was."""
    if s.relocation[0].code < 0 or s.idle[j] < s.relocation[0].dorm:
        return False
    _relocate(int(s.relocation[0].code), s, j)
    fresh_velocity(s, j)
    s.idle[j] = 0
    s.tally[0].relocations += 1
    if s.readings[0].relocation_resets_best > 0:
        s.placed[j] = False
        s.best[j] = np.inf
    return True
