"""Inner search: an estimate of the worst case around a candidate by a few evaluations (Sections 4.2.6 to 4.2.9).

All inner searches of an iteration advance together, by one point or one inner generation each per round. Positions here
are offsets from the agent, in the unit ball or box; the candidate itself is not evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from numba import float64, int64

from robustforge.core.agents import fill
from robustforge.core.compiler import compiled, inlined
from robustforge.core.component import Component, Range
from robustforge.core.interpretation import Interpretation
from robustforge.core.random import Stream, in_unit_ball, in_unit_box
from robustforge.core.state import ONE, Array, Floats, Plan, Shape, SlotRecord, State


class InnerForm(Component, slot=True):
    """The form of the inner search: how the points around a candidate are chosen.

    Kernels: `propose(s, j, limit)` puts at most `limit` points of agent `j` into the batch; `report(s, j, row, value)`
    takes the value of the point that was proposed from a row.
    """

    label: ClassVar[str] = "Form of inner search"
    key: ClassVar[str] = "inner"
    kernels: ClassVar[Mapping[str, tuple[Any, ...]]] = {"propose": (int64, int64), "report": (int64, int64, float64)}
    propose: ClassVar[Any]
    report: ClassVar[Any]
    is_single: ClassVar[bool] = False
    """Whether a search is one evaluation, whatever the inner budget."""

    def members(self, plan: Plan) -> int:
        """Return how many points the search of an agent holds in memory."""
        return 0

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        return {"inner_members": self.members(plan)}


class InnerState(State):
    """The inner searches: their record, and the populations of all agents, one after the other."""

    inner: Annotated[SlotRecord[InnerForm], ONE, "the inner search"]
    inner_offset: Annotated[Floats, Shape("dimension"), "offset from the agent of the point that is proposed"]
    opposite_offset: Annotated[
        Floats, Shape("agents", "dimension"), "the offset of each agent's last point, whose opposite is next"
    ]
    inner_x: Annotated[Floats, Shape("inner_rows", "dimension"), "offsets from the agent"]
    inner_velocity: Annotated[Floats, Shape("inner_rows", "dimension"), "velocities of an inner swarm"]
    inner_parents: Annotated[Floats, Shape("inner_rows", "dimension"), "the last population of an inner GA"]
    inner_value: Annotated[Floats, Shape("inner_rows"), "values of an inner GA's members"]
    inner_best_x: Annotated[Floats, Shape("inner_rows", "dimension"), "personal bests of an inner swarm: worst points"]
    inner_best: Annotated[Floats, Shape("inner_rows"), "their values"]


@compiled
def put(s: InnerState, j: int, row: int, offset: Floats) -> None:
    """Put the point of agent `j` at this offset into the batch."""
    t = s.counters[0]
    b = t.batch_size
    y, x = s.batch_y[b], s.x[j]
    for i in range(x.size):
        y[i] = x[i] + offset[i]
    s.batch_agent[b] = j
    s.batch_row[b] = row
    s.batch_attempt[b] = 0
    t.batch_size = b + 1


@compiled
def sample(rng: Stream, uncertain: Array, is_box: bool, out: Floats) -> None:
    """Write an offset uniform in the set to `out`."""
    if is_box:
        in_unit_box(rng, uncertain, out)
    else:
        in_unit_ball(rng, uncertain, out)


@compiled
def _propose_sample(s: InnerState, j: int, limit: int) -> None:
    offset = s.inner_offset
    sample(s.rng, s.uncertain, s.counters[0].is_box == 1, offset)
    put(s, j, 0, offset)


@compiled
def propose_candidate(s: InnerState, j: int, limit: int) -> None:
    """Put the candidate itself into the batch."""
    offset = s.inner_offset
    fill(offset, 0.0)
    put(s, j, 0, offset)


@inlined
def to_surface(offset: Floats, uncertain: Array, is_box: bool) -> None:
    """Move an offset to the surface of the set: to a corner of a box."""
    square = 0.0
    for i in uncertain:
        if is_box:
            offset[i] = 1.0 if offset[i] >= 0.0 else -1.0
        square += offset[i] * offset[i]
    if not is_box:
        length = math.sqrt(square)
        for i in uncertain:
            offset[i] /= length


@compiled
def _propose_surface_point(s: InnerState, j: int, limit: int) -> None:
    offset = s.inner_offset
    sample(s.rng, s.uncertain, s.counters[0].is_box == 1, offset)
    to_surface(offset, s.uncertain, s.counters[0].is_box == 1)
    put(s, j, 0, offset)


@compiled
def _propose_opposites(s: InnerState, j: int, limit: int) -> None:
    offset, uncertain, is_box = s.opposite_offset[j], s.uncertain, s.counters[0].is_box == 1
    if s.taken[j] % 2 == 1:
        for i in uncertain:
            offset[i] = -offset[i]
    else:
        sample(s.rng, uncertain, is_box, offset)
        to_surface(offset, uncertain, is_box)
    put(s, j, 0, offset)


@compiled
def report_nothing(s: InnerState, j: int, row: int, value: float) -> None:
    """Ignore a value: the next points do not depend on it."""


@dataclass(frozen=True)
class RandomSampling(InnerForm):
    """Points uniform in the uncertainty set, one per round."""

    title: ClassVar[str] = "Random sampling"
    propose: ClassVar[Any] = staticmethod(_propose_sample)
    report: ClassVar[Any] = staticmethod(report_nothing)

    def describe(self) -> str:
        return "points drawn uniformly in the uncertainty set"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return ["y := uniform near x_j; evaluate f(y)"]


@dataclass(frozen=True)
class SurfaceSampling(InnerForm):
    """Points on the surface of the uncertainty set, in opposite pairs, one per round: for a box, corners.

    Where the objective is monotone over the set, its maximum is on the surface, and one of two opposite points is
    worse than the candidate.
    """

    title: ClassVar[str] = "Surface sampling"
    extension: ClassVar[bool] = True
    propose: ClassVar[Any] = staticmethod(_propose_opposites)
    report: ClassVar[Any] = staticmethod(report_nothing)

    def describe(self) -> str:
        return "points drawn on the surface of the uncertainty set, in opposite pairs"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return [
            "in turns: y := on the surface of the set around x_j (a corner of a box); y := its opposite; evaluate f(y)"
        ]


@dataclass(frozen=True)
class NoInnerSearch(InnerForm):
    """The candidate itself: one evaluation."""

    title: ClassVar[str] = "None"
    extension: ClassVar[bool] = True
    is_single: ClassVar[bool] = True
    propose: ClassVar[Any] = staticmethod(propose_candidate)
    report: ClassVar[Any] = staticmethod(report_nothing)

    def describe(self) -> str:
        return "the candidate itself"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return ["evaluate f(x_j)"]


@dataclass(frozen=True)
class SurfacePoint(InnerForm):
    """One point on the surface of the uncertainty set: one evaluation."""

    title: ClassVar[str] = "Surface point"
    former_title: ClassVar[str] = "Shell point"
    extension: ClassVar[bool] = True
    is_single: ClassVar[bool] = True
    propose: ClassVar[Any] = staticmethod(_propose_surface_point)
    report: ClassVar[Any] = staticmethod(report_nothing)

    def describe(self) -> str:
        return "a point drawn on the surface of the uncertainty set"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return ["y := on the surface of the set around x_j; evaluate f(y)"]


@dataclass(frozen=True)
class Inner(Component):
    """How the worst case of a candidate is estimated, and how far the history is used for it."""

    title: ClassVar[str] = "Inner"
    extent: Annotated[
        float,
        Range(0.0, 1.0),
        "inner budget, as a fraction of budget / (4 x swarm size), at least 2, or as set by the interpretation "
        "(In Ext)",
    ]
    form: InnerForm
    n_dorm: Annotated[bool, "whether a worse neighbour in the history makes a search unnecessary (nDorm)"]
    n_pbest: Annotated[bool, "whether a candidate's value is raised to the worst neighbour in the history (nPBest)"]
    stopping: Annotated[bool, "whether a search is stopped at the first point above the personal best"]

    def points(self, budget: int, agents: int, rules: Interpretation) -> int:
        """Return the inner budget: the evaluations of a complete search."""
        if self.form.is_single:
            return 1
        return max(rules.min_inner_points, round(self.extent * budget / (rules.min_searches * agents)))
