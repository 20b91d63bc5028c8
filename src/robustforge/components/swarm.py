"""Particle swarm: the outer search of the paper's heuristics (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from robustforge.components.descent_directions import (
    FIND_DIRECTION,
    DescentDirections,
    DescentState,
    add_descent,
    direction_lines,
    find_direction,
)
from robustforge.components.movement import Capability, Movement
from robustforge.components.mutation import Mutation, MutationState
from robustforge.components.network import Network, NetworkState, arrange
from robustforge.components.outer import Outer, OuterState
from robustforge.components.relocation import Relocation, RelocationState, relocate_if_dormant
from robustforge.components.velocity import Baseline, VelocityState
from robustforge.components.velocity_clamp import Clamp, ClampState
from robustforge.core.agents import draw_velocity, random_position, update_bests
from robustforge.core.compiler import Routine, call, compiled
from robustforge.core.component import Component, Former, Range, codes
from robustforge.core.history import neighbours, worst_of
from robustforge.core.interpretation import Interpretation
from robustforge.core.pseudocode_lines import UNIFORM, indented
from robustforge.core.state import DONE, PARTIAL, STAGNATION_LIMIT, STOPPED, Plan, State

if TYPE_CHECKING:
    from robustforge.core.pseudocode_lines import Frame

Update = Literal["synchronous", "asynchronous"]
SYNCHRONOUS, ASYNCHRONOUS = codes(Update)

_ALL = "T := all particles"


class SwarmState(VelocityState, ClampState, MutationState, DescentState, RelocationState, OuterState):
    """The state that the kernels of a swarm use: the records and arrays of its components."""


@compiled
def start_at_random(s: NetworkState) -> None:
    """Place all agents at random, with random velocities."""
    arrange(s)
    for j in range(s.counters[0].agents):
        random_position(s, j)
        draw_velocity(s, j)


@compiled
def robust_value(s: State, j: int, found: int) -> float:
    """Return the value of a completed inner search, raised to the worst neighbour in the history if nPBest is set."""
    if s.counters[0].n_pbest == 1:
        return max(s.worst[j], worst_of(s, found))
    return s.worst[j]


@compiled
def _update_swarm(s: SwarmState) -> None:
    t = s.counters[0]
    descent: DescentDirections = s.descent[0]
    rules: Interpretation = s.interpretation[0]
    after_stop, without_search = rules.direction_after_stop > 0, rules.direction_without_search > 0
    directed = descent.used > 0
    for j in range(t.first_agent, t.end_agent):
        done = s.status[j] == DONE and s.worst[j] > -np.inf
        ended_early = s.status[j] == STOPPED or s.status[j] == PARTIAL
        wants_direction = directed and (done or (after_stop if ended_early else without_search))
        found = 0
        if directed:
            s.has_direction[j] = False
        if wants_direction or (done and t.n_pbest == 1):
            found = neighbours(s, s.x[j])
        if done:
            update_bests(s, j, robust_value(s, j, found))
        if wants_direction:
            find_direction(s, j, found, descent.sigma, descent.sigma_limit)


@compiled
def _move_swarm(s: SwarmState) -> None:
    network: Network = s.network[0]
    baseline: Baseline = s.baseline[0]
    clamp: Clamp = s.clamp[0]
    mutation: Mutation = s.mutation[0]
    rules: Interpretation = s.interpretation[0]
    call(network.choose_informants, s)
    for j in range(s.counters[0].first_agent, s.counters[0].end_agent):
        if not relocate_if_dormant(s, j):
            call(baseline.update_velocity, s, j)
            add_descent(s, j)
            call(clamp.limit_velocity, s, j)
            x, v = s.x[j], s.velocity[j]
            for i in range(x.size):
                x[i] += v[i]
        elif rules.mutation_after_relocation == 0:
            continue
        call(mutation.mutate, s, j)


@dataclass(frozen=True)
class Swarm(Outer):
    """A particle swarm."""

    title: ClassVar[str] = "Swarm"
    rank: ClassVar[int] = 0
    source: ClassVar[str] = "Kennedy and Eberhart 1995; the paper, Algorithm 1"
    swarm_size: Annotated[int, Range(2, 50), Former("group"), "particles (Group of the paper)"]
    mutation: Mutation
    network: Network
    capability: Capability
    update_order: Annotated[
        Update,
        Former("order", ("together", "in turn")),
        "whether all particles move in each iteration, or one after the other",
    ] = "synchronous"
    start: ClassVar[Any] = staticmethod(start_at_random)
    update: ClassVar[Any] = staticmethod(_update_swarm)
    move: ClassVar[Any] = staticmethod(_move_swarm)

    @property
    def agents(self) -> int:
        return self.swarm_size

    @property
    def is_asynchronous(self) -> bool:
        return self.update_order == "asynchronous"

    @property
    def movement(self) -> Movement:
        return self.capability.movement

    @property
    def described_parts(self) -> list[Component]:
        capability, movement = self.capability, self.movement
        clamp = capability.clamp if type(capability.clamp).extension else None
        parts = (capability.baseline, movement.directions, movement.relocates, self.mutation, clamp)
        return [part for part in parts if part is not None]

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        return {"particles": self.swarm_size}

    def routines(self, dimension: int) -> tuple[Routine, ...]:
        return (FIND_DIRECTION,) if self.movement.directions else ()

    def algorithm(self, frame: Frame) -> list[str]:
        relocation, facts = self.movement.relocates, {**frame.facts, "particles": self.swarm_size}
        idle, some = "; idle_j := 0" if relocation else "", " of T" if self.is_asynchronous else ""
        return [
            f"for each of {self.swarm_size} particles j:",
            *indented([UNIFORM, f"{_velocity(frame.rules)}; F_j := infinity{idle}"]),
            f"x* := x_1; F* := infinity{f'; {_ALL}' if some else ''}",
            "while evaluations are left:",
            *indented(self._searches(frame, some)),
            *indented(self._updates(frame, some)),
            *indented(self._reinitialisation(frame, some)),
            *(["  T := the particle after the last of T, cyclically"] if some else []),
            *indented(self.network.pseudocode(facts)),
            f"  for each particle j{some}:",
            *indented(self._moves(relocation, facts), 2),
        ]

    def _searches(self, frame: Frame, some: str) -> list[str]:
        """Return which particles search, and how all inner searches advance together."""
        relocation = self.movement.relocates is not None
        idle, busy = ("; idle_j := idle_j + 1", "idle_j := 0; ") if relocation else ("", "")
        outside = idle if frame.rules.outside_is_idle else ""
        lines = [f"for each particle j{some}, in order:", f"  if x_j is outside X: no search{outside}"]
        if relocation and frame.n_dorm:
            lines.append(f"  else if H has an f > F_j near x_j: no search{idle}")
        lines.append(f"  else: {busy}inner search with {frame.inner_budget} points, or as many as are left")
        return [*lines, f"all inner searches in parallel, one {frame.pace} of each per round:", *indented(frame.points)]

    def _updates(self, frame: Frame, some: str) -> list[str]:
        """Return how personal bests and descent directions are updated."""
        best = frame.completed("if F(x_j) < F_j: p_j := x_j; F_j := F(x_j)")
        directions, rules = direction_lines(self.movement.directions), frame.rules
        lines = [f"for each particle j{some} that has searched:", *indented(best)]
        if directions and rules.direction_without_search:
            whose = "" if rules.direction_after_stop else " whose search was not stopped early"
            return [*lines, f"for each particle j{some}{whose}:", *indented(directions)]
        return [*lines, *indented(directions, 1 if rules.direction_after_stop else 2)]

    def _moves(self, relocation: Relocation | None, facts: Mapping[str, Any]) -> list[str]:
        capability, directions = self.capability, self.movement.directions
        rules: Interpretation = facts["interpretation"]
        lines = [
            *capability.baseline.pseudocode(facts),
            *(directions.pseudocode(facts) if directions else ()),
            *capability.clamp.pseudocode(facts),
            "x_j := x_j + v_j",
        ]
        mutation = list(self.mutation.pseudocode(facts))
        if relocation is None:
            return [*lines, *mutation]
        best = "p_j := undefined; F_j := infinity" if rules.relocation_resets_best else "keep p_j and F_j"
        moved = [f"if idle_j >= {relocation.dorm}:", *indented(relocation.pseudocode(facts))]
        moved += indented([f"{_velocity(rules)}; idle_j := 0"])
        if rules.mutation_after_relocation:
            return [*moved, f"  {best}", "else:", *indented(lines), *mutation]
        return [*moved, f"  {best}; next particle", *lines, *mutation]

    def _reinitialisation(self, frame: Frame, some: str) -> list[str]:
        relocation = self.movement.relocates is not None
        idle = "; all idle_j := 0" if relocation else ""
        free = ", in which H prevents no search" if relocation and frame.n_dorm else ""
        turns, all_turns = (self.swarm_size, f"; {_ALL}") if some and self.swarm_size > 1 else (1, "")
        return [
            f"if no particle has searched for {STAGNATION_LIMIT * turns} iterations:",
            f"  draw all x_j and v_j as at the start{idle}{all_turns}; next iteration{free}",
        ]

    def describe(self) -> str:
        order = ", updated asynchronously" if self.is_asynchronous else ""
        return f"{self.swarm_size} particles{order}; {self.network.describe()}"


def _velocity(rules: Interpretation) -> str:
    return f"v_j := U(0, 0.1){'' if rules.first_speed_in_x else ' Gamma'} in each coordinate"
