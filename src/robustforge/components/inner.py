"""Inner search: the worst case around a candidate, looked for with a few evaluations (Sections 4.2.6 to 4.2.9).

All searches of an iteration advance together, a point or an inner generation of each per round. Positions here are
offsets from the agent, in the unit ball or box; the candidate itself is not evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numba import float64, int64

from robustforge.core.compiler import compiled, inlined
from robustforge.core.component import Component, Range
from robustforge.core.random import Stream, below, in_unit_ball, in_unit_box, uniform
from robustforge.core.state import Array, Floats, Plan, State, StateField, copy, fill

STATE_FIELDS = (
    StateField("inner_x", np.float64, lambda p: (p.agents * p.members, p.dimension)),
    StateField("inner_v", np.float64, lambda p: (p.agents * p.members, p.dimension)),
    StateField("inner_best_x", np.float64, lambda p: (p.agents * p.members, p.dimension)),
    StateField("inner_value", np.float64, lambda p: (p.agents * p.members,)),
    StateField("inner_best", np.float64, lambda p: (p.agents * p.members,)),
)

Share = Annotated[float, Range(0.0, 1.0)]


class InnerForm(Component, slot=True):
    """How the points of a neighbourhood are chosen.

    Kernels: `propose(s, j, room)` puts at most `room` points of agent `j` into the batch; `absorb(s, j, row, value)`
    takes a value back for the row it was proposed from.
    """

    verbs: ClassVar[Mapping[str, tuple[Any, ...]]] = {"propose": (int64, int64), "absorb": (int64, int64, float64)}
    propose: ClassVar[Any]
    absorb: ClassVar[Any]
    is_single: ClassVar[bool] = False
    """Whether a search is one evaluation, whatever its extent."""

    def members(self, plan: Plan) -> int:
        """Return how many points an agent's search holds in memory."""
        return 0


@compiled
def put(s: State, j: int, row: int, offset: Floats) -> None:
    """Put the point of agent `j` at this offset into the batch."""
    t = s.tally[0]
    b = t.batch
    y, x = s.batch_y[b], s.x[j]
    for i in range(x.size):
        y[i] = x[i] + offset[i]
    s.batch_agent[b] = j
    s.batch_row[b] = row
    s.batch_try[b] = 0
    t.batch = b + 1


@compiled
def sample(rng: Stream, active: Array, is_box: bool, out: Floats) -> None:
    """Write an offset uniform in the set to `out`."""
    if is_box:
        in_unit_box(rng, active, out)
    else:
        in_unit_ball(rng, active, out)


@compiled
def _confine(offset: Floats, active: Array, is_box: bool) -> None:
    """Bring an offset back into the set: by its length for a ball, coordinate by coordinate for a box."""
    square = 0.0
    for i in active:
        if is_box:
            offset[i] = min(max(offset[i], -1.0), 1.0)
        square += offset[i] * offset[i]
    if not is_box and square > 1.0:
        length = math.sqrt(square)
        for i in active:
            offset[i] /= length


@compiled
def _first_members(s: State, j: int, count: int, members: int) -> None:
    """Begin a search of several members with uniform samples."""
    base = j * members
    for row in range(base, base + members):
        s.inner_value[row] = -np.inf
        s.inner_best[row] = -np.inf
    for row in range(base, base + count):
        sample(s.rng, s.active, s.tally[0].is_box == 1, s.inner_x[row])
        put(s, j, row, s.inner_x[row])


@compiled
def _propose_sample(s: State, j: int, room: int) -> None:
    offset = s.batch_y[s.tally[0].batch]
    sample(s.rng, s.active, s.tally[0].is_box == 1, offset)
    put(s, j, 0, offset)


@compiled
def propose_itself(s: State, j: int, room: int) -> None:
    """Put the candidate itself into the batch."""
    offset = s.batch_y[s.tally[0].batch]
    fill(offset, 0.0)
    put(s, j, 0, offset)


@inlined
def _to_surface(offset: Floats, active: Array, is_box: bool) -> None:
    """Move an offset outwards to the surface of the set: to a corner of a box."""
    square = 0.0
    for i in active:
        if is_box:
            offset[i] = 1.0 if offset[i] >= 0.0 else -1.0
        square += offset[i] * offset[i]
    if not is_box:
        length = math.sqrt(square)
        for i in active:
            offset[i] /= length


@compiled
def _propose_shell_point(s: State, j: int, room: int) -> None:
    offset = s.batch_y[s.tally[0].batch]
    sample(s.rng, s.active, s.tally[0].is_box == 1, offset)
    _to_surface(offset, s.active, s.tally[0].is_box == 1)
    put(s, j, 0, offset)


@compiled
def _propose_opposites(s: State, j: int, room: int) -> None:
    offset, active, is_box = s.inner_x[j], s.active, s.tally[0].is_box == 1
    if s.taken[j] % 2 == 1:
        for i in active:
            offset[i] = -offset[i]
    else:
        sample(s.rng, active, is_box, offset)
        _to_surface(offset, active, is_box)
    put(s, j, 0, offset)


@compiled
def _absorb_nothing(s: State, j: int, row: int, value: float) -> None:
    pass


@compiled
def _propose_swarm(s: State, j: int, room: int) -> None:
    p, active, rng = s.inner[0], s.active, s.rng
    is_box = s.tally[0].is_box == 1
    members = int(p.swarm)
    count = min(members, room)
    base = j * members
    if s.taken[j] == 0:
        _first_members(s, j, count, members)
        for row in range(base, base + members):
            for i in active:
                s.inner_v[row, i] = 0.1 * uniform(rng)
        return
    leader = base
    for row in range(base + 1, base + members):
        if s.inner_best[row] > s.inner_best[leader]:
            leader = row
    shared = s.inner_best_x[leader]
    for row in range(base, base + count):
        x, v, own = s.inner_x[row], s.inner_v[row], s.inner_best_x[row]
        for i in active:
            pull = p.c1 * uniform(rng) * (own[i] - x[i]) + p.c2 * uniform(rng) * (shared[i] - x[i])
            v[i] = p.omega * v[i] + pull
            x[i] += v[i]
        _confine(x, active, is_box)
        put(s, j, row, x)


@compiled
def _absorb_best(s: State, j: int, row: int, value: float) -> None:
    if value > s.inner_best[row] or s.inner_best[row] == -np.inf:
        s.inner_best[row] = -np.inf if np.isnan(value) else value
        copy(s.inner_x[row], s.inner_best_x[row])


@compiled
def _rank(s: State, base: int, members: int) -> None:
    """Sort the members of a search by value, worst case first, by insertion."""
    value, x = s.inner_value, s.inner_x
    for k in range(base + 1, base + members):
        m = k
        while m > base and value[m] > value[m - 1]:
            value[m], value[m - 1] = value[m - 1], value[m]
            for i in range(x.shape[1]):
                x[m, i], x[m - 1, i] = x[m - 1, i], x[m, i]
            m -= 1


@compiled
def _tournament(rng: Stream, members: int, tour: int) -> int:
    """Return the winner among ranked members: the one with the smallest place drawn."""
    winner = below(rng, members)
    for _ in range(tour - 1):
        winner = min(winner, below(rng, members))
    return winner


@compiled
def _propose_children(s: State, j: int, room: int) -> None:
    p, active, rng = s.inner[0], s.active, s.rng
    is_box = s.tally[0].is_box == 1
    members, elites, tour = int(p.population), int(p.elites), int(p.tour)
    base = j * members
    if s.taken[j] == 0:
        _first_members(s, j, min(members, room), members)
        return
    _rank(s, base, members)
    for row in range(base, base + members):  # the parents are kept aside, their children replace all but the elites
        copy(s.inner_x[row], s.inner_v[row])
    for row in range(base + elites, base + elites + min(members - elites, room)):
        x, one, other = s.inner_x[row], base + _tournament(rng, members, tour), base + _tournament(rng, members, tour)
        for i in active:
            value = s.inner_v[one, i] if uniform(rng) < 0.5 else s.inner_v[other, i]
            if uniform(rng) < p.mutation:
                value += 2.0 * p.amplitude * (2.0 * uniform(rng) - 1.0)
            x[i] = value
        _confine(x, active, is_box)
        put(s, j, row, x)


@compiled
def _absorb_value(s: State, j: int, row: int, value: float) -> None:
    s.inner_value[row] = -np.inf if np.isnan(value) else value


@dataclass(frozen=True)
class RandomSampling(InnerForm):
    """Points uniform in the set, one a round."""

    title: ClassVar[str] = "Random sampling"
    propose: ClassVar[Any] = staticmethod(_propose_sample)
    absorb: ClassVar[Any] = staticmethod(_absorb_nothing)

    def words(self) -> str:
        return "points drawn uniformly in the uncertainty set"


@dataclass(frozen=True)
class SurfaceSampling(InnerForm):
    """Points on the surface of the set, in pairs of opposites, one a round: corners of a box, the rim of a ball.

    Wherever the value changes in one direction over the set, the worst is there, and one of two opposites is worse than
    the candidate.
    """

    title: ClassVar[str] = "Surface sampling"
    extension: ClassVar[bool] = True
    propose: ClassVar[Any] = staticmethod(_propose_opposites)
    absorb: ClassVar[Any] = staticmethod(_absorb_nothing)

    def members(self, plan: Plan) -> int:
        return 1

    def words(self) -> str:
        return "points drawn on the surface of the uncertainty set, in pairs of opposites"


@dataclass(frozen=True)
class Itself(InnerForm):
    """The candidate itself, and nothing around it: one evaluation."""

    title: ClassVar[str] = "None"
    extension: ClassVar[bool] = True
    is_single: ClassVar[bool] = True
    propose: ClassVar[Any] = staticmethod(propose_itself)
    absorb: ClassVar[Any] = staticmethod(_absorb_nothing)

    def words(self) -> str:
        return "the candidate itself"


@dataclass(frozen=True)
class ShellPoint(InnerForm):
    """One point on the surface of the set: one evaluation."""

    title: ClassVar[str] = "Shell point"
    extension: ClassVar[bool] = True
    is_single: ClassVar[bool] = True
    propose: ClassVar[Any] = staticmethod(_propose_shell_point)
    absorb: ClassVar[Any] = staticmethod(_absorb_nothing)

    def words(self) -> str:
        return "a point drawn on the surface of the uncertainty set"


@dataclass(frozen=True)
class InnerPso(InnerForm):
    """A small swarm climbs in the set, a generation a round."""

    title: ClassVar[str] = "In PSO"
    source: ClassVar[str] = "Kennedy, Eberhart and Shi 2001"
    swarm: Annotated[float, Range(0.0, 1.0), "size of the inner swarm, as a share of the extent"]
    c1: Annotated[float, Range(0.0, 2.0), "pull towards the member's own worst point"]
    c2: Annotated[float, Range(0.0, 2.0), "pull towards the worst point of the inner swarm"]
    omega: Annotated[float, Range(0.0, 1.0), "share of the velocity that is kept"]
    propose: ClassVar[Any] = staticmethod(_propose_swarm)
    absorb: ClassVar[Any] = staticmethod(_absorb_best)

    def members(self, plan: Plan) -> int:
        return max(1, round(self.swarm * plan.extent))

    def resolved(self, plan: Plan) -> dict[str, float]:
        return {"swarm": self.members(plan), "c1": self.c1, "c2": self.c2, "omega": self.omega}

    def words(self) -> str:
        return f"a particle swarm inside the uncertainty set, {self.swarm:.2g} of the points at a time"


@dataclass(frozen=True)
class InnerGa(InnerForm):
    """A small population is bred in the set, a generation a round; elites are not evaluated again."""

    title: ClassVar[str] = "In GA"
    source: ClassVar[str] = "Talbi 2009"
    population: Annotated[float, Range(0.0, 1.0), "size of the population, as a share of the extent"]
    mutation: Annotated[float, Range(0.01, 0.5), "chance that a coordinate is shifted"]
    amplitude: Annotated[float, Range(0.05, 0.5), "largest shift, as a share of the set's width"]
    elites: Annotated[float, Range(0.0, 1.0), "members that survive, as a share of the population"]
    tour: Annotated[float, Range(0.0, 1.0), "size of a tournament, as a share of the population"]
    propose: ClassVar[Any] = staticmethod(_propose_children)
    absorb: ClassVar[Any] = staticmethod(_absorb_value)

    def members(self, plan: Plan) -> int:
        return max(2, round(self.population * plan.extent))

    def resolved(self, plan: Plan) -> dict[str, float]:
        members = self.members(plan)
        return {
            "population": members,
            "mutation": self.mutation,
            "amplitude": self.amplitude,
            "elites": min(members - 1, round(self.elites * members)),
            "tour": max(1, round(self.tour * members)),
        }

    def words(self) -> str:
        return f"a genetic algorithm inside the uncertainty set, {self.population:.2g} of the points at a time"


@dataclass(frozen=True)
class Inner(Component):
    """How a candidate's worst case is estimated, and how far the history is used for it."""

    title: ClassVar[str] = "Inner"
    extent: Annotated[float, Range(0.0, 1.0), "size of a search: this share of budget / (4 x group), at least 2"]
    form: InnerForm
    n_dorm: Annotated[bool, "whether a bad history value nearby makes a search unnecessary, and the iteration idle"]
    n_pbest: Annotated[bool, "whether a completed search's value is raised to the worst of the history nearby"]
    stopping: Annotated[bool, "whether a search ends at the first point above the particle's personal best"]

    def points(self, budget: int, agents: int) -> int:
        """Return the evaluations of a complete search."""
        if self.form.is_single:
            return 1
        return max(2, round(self.extent * budget / (4 * agents)))
