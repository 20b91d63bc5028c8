"""Outer search: who moves where. The paper's is the swarm; two single-solution searches are the ones it grew from.

The machine knows an outer search by three verbs: `start` puts the agents somewhere, `learn` takes in what their inner
searches found, `move` puts them where they should look next. Anything with these verbs is an outer search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from robustforge.components.descent import MinStep, Sigma, SigmaLimit, add_descent, find_direction
from robustforge.components.movement import Capability, Movement, PlainMovement
from robustforge.components.mutation import Mutation
from robustforge.components.network import Network, arrange
from robustforge.components.relocation import LARGEST_POPULATION, empty_centre, relocate_if_dormant
from robustforge.core.compiler import call, compiled, inlined
from robustforge.core.component import Component, Range
from robustforge.core.history import neighbours, worst_of
from robustforge.core.state import (
    DONE,
    PARTIAL,
    SPACE_EMPTY,
    STOPPED,
    Plan,
    State,
    copy,
    fresh_velocity,
    is_inside,
    offer,
    random_position,
)


class Steps(NamedTuple):
    """An outer search in pseudo-code: what comes first, how candidates x_j are placed, what follows their values."""

    first: tuple[str, ...]
    place: tuple[str, ...]
    learn: tuple[str, ...]


class Outer(Component, slot=True):
    """The search for the best design.

    Kernels: `start(s)`, `learn(s)` and `move(s)`.
    """

    verbs: ClassVar[Mapping[str, tuple[Any, ...]]] = {"start": (), "learn": (), "move": ()}
    start: ClassVar[Any]
    learn: ClassVar[Any]
    move: ClassVar[Any]
    work_per_evaluation: ClassVar[int] = 5000
    """Distances that relocations may compute, per evaluation of the budget; beyond that they go to random points."""

    @property
    def agents(self) -> int:
        """How many candidates are looked at together."""
        return 1

    @property
    def movement(self) -> Movement:
        """What the agents can do beyond their baseline."""
        return PlainMovement()

    @property
    def uses_directions(self) -> bool:
        """Whether descent directions are computed, for which memory is needed."""
        return self.movement.directions is not None

    @property
    def offers_candidates(self) -> bool:
        """Whether the best candidate by its inner search is returned, and personal bests are kept."""
        return True

    @property
    def stops_above(self) -> str:
        """What an inner search may be ended above, in words; empty if it never is."""
        return "the candidate's own best" if self.offers_candidates else ""

    @property
    def uses_stopping(self) -> bool:
        """Whether inner searches can be ended early."""
        return bool(self.stops_above)

    @property
    def steps(self) -> Steps:
        """What it does, in pseudo-code, for a listing; by default in its own words."""
        return Steps(
            (f"{self.title} places {self.agents} candidates x_j",),
            (),
            (f"{self.title} learns from them, and moves: {self.words()}",),
        )

    @property
    def is_nominal(self) -> bool:
        """Whether candidates are evaluated as they are, whatever the inner search."""
        return False

    @property
    def leaves_box(self) -> bool:
        """Whether candidates may lie as far outside the box as disturbances reach: they are samples, not designs."""
        return False

    @property
    def parts(self) -> Mapping[str, Component | None]:
        """The components inside that kernels look up, by the name of their slot in the machine."""
        return {}

    def work_limit(self, budget: int) -> int:
        """Return the distances that relocations may compute in all: for evaluations beyond the first 2,000, a fifth.

        Each relocation compares with the whole history; else evaluations would cost the more, the more there are.
        """
        return self.work_per_evaluation * (min(budget, 2000) + max(0, budget - 2000) // 5)

    def routines(self, dimension: int) -> tuple[str, ...]:
        """Return what its kernels call by address, beside the search for neighbours, in so many variables."""
        return ("find_direction",) if self.uses_directions else ()

    def room(self, plan: Plan) -> Mapping[str, int]:
        """Return the memory that it needs beyond that of a swarm, as fields of the plan."""
        return {}


@compiled
def _start_anywhere(s: State) -> None:
    arrange(s)
    for j in range(s.tally[0].agents):
        random_position(s, j)
        fresh_velocity(s, j)


@inlined
def _robust_value(s: State, j: int, found: int) -> float:
    """Return the value of a completed search, raised to the worst of the history nearby if nPBest says so."""
    if s.tally[0].n_pbest == 1:
        return max(s.worst[j], worst_of(s, found))
    return s.worst[j]


@compiled
def _learn_as_swarm(s: State) -> None:
    directed = s.descent[0].used > 0
    for j in range(s.tally[0].first, s.tally[0].last):
        s.directed[j] = False
        done = s.status[j] == DONE and s.worst[j] > -np.inf
        ended_early = s.status[j] == STOPPED or s.status[j] == PARTIAL
        wants_direction = directed and (done or (ended_early and s.readings[0].direction_after_stop > 0))
        found = 0
        if wants_direction or (done and s.tally[0].n_pbest == 1):
            found = neighbours(s, s.x[j])
        if done:
            offer(s, j, _robust_value(s, j, found))
        if wants_direction:
            find_direction(s, j, found, s.descent[0].sigma, s.descent[0].sigma_limit)


@compiled
def _move_as_swarm(s: State) -> None:
    call(s.network[0].choose, s)
    for j in range(s.tally[0].first, s.tally[0].last):
        if relocate_if_dormant(s, j):
            continue
        call(s.baseline[0].steer, s, j)
        add_descent(s, j)
        call(s.clamp[0].limit, s, j)
        x, v = s.x[j], s.v[j]
        for i in range(x.size):
            x[i] += v[i]
        call(s.mutation[0].mutate, s, j)


@compiled
def _learn_as_descent(s: State) -> None:
    for j in range(s.tally[0].agents):
        s.directed[j] = False
        if s.worst[j] > -np.inf:
            found = neighbours(s, s.x[j])
            if s.status[j] == DONE:
                offer(s, j, _robust_value(s, j, found))
            find_direction(s, j, found, s.outer[0].sigma, s.outer[0].sigma_limit)


@compiled
def _move_as_descent(s: State) -> None:
    for j in range(s.tally[0].agents):
        if s.directed[j]:
            step = max(s.rho[j], s.outer[0].min_step)
            x, direction = s.x[j], s.direction[j]
            for i in range(x.size):
                x[i] += step * direction[i]
            if is_inside(s, j):
                continue
        random_position(s, j)  # a local minimum, or the edge of the box: begin again elsewhere
        s.placed[j] = False
        s.best[j] = np.inf


@compiled
def _learn_as_leh(s: State) -> None:
    for j in range(s.tally[0].agents):
        if s.status[j] == DONE and s.worst[j] > -np.inf:
            offer(s, j, _robust_value(s, j, neighbours(s, s.x[j])))


@compiled
def _move_as_leh(s: State) -> None:
    t, p = s.tally[0], s.outer[0]
    for j in range(t.agents):
        if t.found == 0 or t.work >= t.work_limit:
            random_position(s, j)
            continue
        room = empty_centre(s, int(p.population), p.mutation, p.amplitude, int(p.elites), int(p.tour))
        t.relocations += 1
        if room < 1.0 and s.exact.size == 0:
            t.ending = SPACE_EMPTY
        copy(s.leh_now[0], s.x[j])


@dataclass(frozen=True)
class Swarm(Outer):
    """A particle swarm: the frame of all heuristics of the paper."""

    title: ClassVar[str] = "Swarm"
    source: ClassVar[str] = "Kennedy and Eberhart 1995; the paper, Algorithm 1"
    group: Annotated[int, Range(2, 50), "particles"]
    mutation: Mutation
    network: Network
    capability: Capability
    order: Annotated[Literal["together", "in turn"], "whether all particles move and search at once, or by turns"] = (
        "together"
    )
    start: ClassVar[Any] = staticmethod(_start_anywhere)
    learn: ClassVar[Any] = staticmethod(_learn_as_swarm)
    move: ClassVar[Any] = staticmethod(_move_as_swarm)

    @property
    def agents(self) -> int:
        return self.group

    @property
    def movement(self) -> Movement:
        return self.capability.movement

    @property
    def parts(self) -> Mapping[str, Component | None]:
        return {
            "network": self.network,
            "mutation": self.mutation,
            "baseline": self.capability.baseline,
            "clamp": self.capability.clamp,
            "descent": self.movement.directions,
            "relocation": self.movement.rescue,
        }


@dataclass(frozen=True)
class DescentSearch(Outer):
    """One candidate follows descent directions to a local robust minimum, then begins again at random."""

    title: ClassVar[str] = "Descent search"
    source: ClassVar[str] = "Bertsimas, Nohadani and Teo 2010; restarts: Hughes, Goerigk and Wright 2019"
    extension: ClassVar[bool] = True
    sigma: Sigma
    sigma_limit: SigmaLimit
    min_step: MinStep
    start: ClassVar[Any] = staticmethod(_start_anywhere)
    learn: ClassVar[Any] = staticmethod(_learn_as_descent)
    move: ClassVar[Any] = staticmethod(_move_as_descent)

    @property
    def uses_directions(self) -> bool:
        return True

    def words(self) -> str:
        return (
            "one candidate steps away from its high-cost points, just far enough to leave them behind "
            f"(at least {self.min_step:.3g} Gamma), and begins again at random where no direction is left"
        )


@dataclass(frozen=True)
class LehSearch(Outer):
    """One candidate goes from the centre of one largest empty hypersphere to the next."""

    title: ClassVar[str] = "LEH search"
    source: ClassVar[str] = "Hughes, Goerigk and Wright 2019"
    extension: ClassVar[bool] = True
    work_per_evaluation: ClassVar[int] = 100_000
    population: Annotated[int, Range(5, LARGEST_POPULATION), "candidates of the genetic algorithm"]
    mutation: Annotated[float, Range(0.01, 0.5), "chance that a coordinate is shifted"]
    amplitude: Annotated[float, Range(0.05, 0.5), "largest shift, as a share of the box width"]
    elites: Annotated[int, Range(1, 2), "candidates that survive unchanged"]
    tour: Annotated[int, Range(2, 4), "size of a tournament"]
    start: ClassVar[Any] = staticmethod(_start_anywhere)
    learn: ClassVar[Any] = staticmethod(_learn_as_leh)
    move: ClassVar[Any] = staticmethod(_move_as_leh)

    def words(self) -> str:
        return (
            "one candidate goes to the centre of the largest hypersphere without a high-cost point, until none is left"
        )
