"""Coordinate search: an interpolant along each axis, and the exact robust optimum of their sum.

For objectives that are sums of functions of one variable each; it is hard to beat there, and of little use elsewhere.
All samples are on the axes through one base point. The design is the exact robust optimum of the interpolants
(`additive_surrogate.py`), and further samples go where they can change it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.components.additive_surrogate import (
    GRID,
    AdditiveState,
    adjust_multiplier,
    disturbance_cost,
    first_above,
    grid_position,
    insert,
    interpolate,
    minimise_axis,
    worst_at,
)
from robustforge.components.outer import Outer
from robustforge.core.agents import copy, random_point, random_position
from robustforge.core.compiler import compiled, inlined
from robustforge.core.component import Former, Range
from robustforge.core.random import uniform
from robustforge.core.state import DONE, ONE, Floats, Integers, Plan, Record, Shape

MAX_SAMPLES_PER_AXIS = 2048
"""Samples of an axis that are kept: eight for each point of its grid; more are of no use."""

BATCH = 32
"""Samples of an iteration at most."""

_ADJUST_EVERY = 6
"""Rounds between two adjustments of the multiplier."""


class Rounds:
    """The progress of a coordinate search: in each round, every axis gets a sample."""

    has_base: int  # whether the base point has a value
    total: int  # rounds in all
    space_filling_rounds: int  # how many of them, the first ones, are spread evenly over the axes
    current: int  # the present round
    next_axis: int  # the axis whose sample is next in it


class CoordinateState(AdditiveState):
    """The base point, and the samples to come."""

    rounds: Annotated[Record[Rounds], ONE, "the progress of the search"]
    base_x: Annotated[Floats, Shape("axes"), "the base point"]
    base_f: Annotated[Floats, ONE, "its value"]
    axis_best: Annotated[Floats, Shape("axes"), "the robust optimum"]
    axis_next_x: Annotated[Floats, Shape("axes"), "position of the next sample of each axis"]
    sample_axis: Annotated[Integers, Shape("axis_batch"), "the axis of each candidate; -1 for the base point"]


@compiled
def _start(s: CoordinateState) -> None:
    t, rounds, n = s.counters[0], s.rounds[0], s.counters[0].dimension
    p: CoordinateSearch = s.outer[0]
    rounds.total = max(1, min((t.unallocated - 1) // n, s.axis_x.shape[1] - 1))
    rounds.space_filling_rounds = max(2, round(p.space_filling * rounds.total))
    rounds.has_base = 0
    rounds.current = 0
    rounds.next_axis = 0
    s.multiplier[0] = 0.0
    for i in range(n):
        s.axis_count[i] = 0
    _place_base(s)


@compiled
def _place_base(s: CoordinateState) -> None:
    """Place the base point at random. It is evaluated first, alone, since all samples are compared with it."""
    t = s.counters[0]
    random_position(s, 0)
    copy(s.x[0], s.base_x)
    copy(s.x[0], s.axis_best)
    s.sample_axis[0] = -1
    t.agents = 1


@compiled
def _move_along_axes(s: CoordinateState) -> None:
    """Place the next samples of this round on their axes."""
    t, rounds, n = s.counters[0], s.rounds[0], s.counters[0].dimension
    if rounds.has_base == 0:
        _place_base(s)
        return
    t.agents = 0
    while t.agents < t.outer_agents and (
        rounds.next_axis < n or t.agents == 0 or rounds.current + 1 < rounds.space_filling_rounds
    ):
        if rounds.next_axis >= n:
            rounds.current += 1
            rounds.next_axis = 0
            if rounds.current >= rounds.space_filling_rounds:
                _optimise(s)
        i = rounds.next_axis
        position = s.axis_next_x[i]
        if rounds.current < rounds.space_filling_rounds:
            position = (
                s.lower[i] + (s.upper[i] - s.lower[i]) * (rounds.current + uniform(s.rng)) / rounds.space_filling_rounds
            )
        j = t.agents
        copy(s.base_x, s.x[j])
        s.x[j, i] = position
        s.sample_axis[j] = i
        rounds.next_axis += 1
        t.agents += 1


@compiled
def _update_axes(s: CoordinateState) -> None:
    t, rounds = s.counters[0], s.rounds[0]
    for j in range(t.agents):
        if s.status[j] != DONE or not s.worst[j] > -np.inf:
            continue
        i = s.sample_axis[j]
        if i >= 0:
            insert(s, i, s.x[j, i], s.worst[j])
            continue
        if s.worst[j] == np.inf:
            continue
        rounds.has_base = 1
        s.base_f[0] = s.worst[j]
        for i in range(t.dimension):
            insert(s, i, s.base_x[i], s.worst[j])
        t.has_incumbent = 1
        s.incumbent_f[0] = s.worst[j]
        copy(s.base_x, s.incumbent_x)
    if t.unallocated == 0:
        _optimise(s)


@compiled
def _optimise(s: CoordinateState) -> None:
    """Find the robust optimum of the interpolants, and the next sample of each axis."""
    t, rounds, n = s.counters[0], s.rounds[0], s.counters[0].dimension
    p: CoordinateSearch = s.outer[0]
    if rounds.has_base == 0:
        return
    value_range = 0.0
    for i in range(n):
        value_range = max(value_range, interpolate(s, i))
    if not value_range > 0.0:
        random_point(s, s.axis_next_x)
        return
    since, from_scratch = rounds.current - rounds.space_filling_rounds, s.multiplier[0] == 0.0 or t.unallocated == 0
    if from_scratch or since % _ADJUST_EVERY == 0:
        adjust_multiplier(s, value_range, from_scratch)
    multiplier = s.multiplier[0]
    total = multiplier * p.protected_radius * p.protected_radius - (n - 1) * s.base_f[0]
    for i in range(n):
        worst = minimise_axis(s, i, multiplier)
        total += worst
        q = s.axis_argmin[i]
        exactly = float(q)
        if 0 < q < GRID - 1:
            a, steps = disturbance_cost(s, i, multiplier)
            before, after = worst_at(s.axis_grid[i], a, steps, q - 1), worst_at(s.axis_grid[i], a, steps, q + 1)
            bend = before - 2.0 * worst + after
            if bend > 0.0:
                exactly += 0.5 * (before - after) / bend
        s.axis_best[i] = min(max(grid_position(s, i, exactly), s.lower[i]), s.upper[i])
        s.axis_next_x[i] = _next_sample(s, i, q, multiplier, value_range, since % 2 == 0)
    s.incumbent_f[0] = total
    copy(s.axis_best, s.incumbent_x)


@inlined
def _next_sample(s: CoordinateState, i: int, q: int, multiplier: float, value_range: float, explore: bool) -> float:
    """Return the next sample of an axis: the optimum, the worst point on either side, or between two samples.

    Once samples are near all three, it is the centre of the widest interval between samples, or of the one nearby with
    the largest product of width and difference.
    """
    p: CoordinateSearch = s.outer[0]
    cell = (s.upper[i] - s.lower[i]) / (GRID - 1)
    grid, positions, values, count = s.axis_grid[i], s.axis_x[i], s.axis_f[i], s.axis_count[i]
    left, right, worst_left, worst_right = q, q, -np.inf, -np.inf
    furthest_away = min(p.protected_radius, math.sqrt(value_range / multiplier))
    steps = int(min(float(GRID), furthest_away / cell + 1.0)) if cell > 0.0 else 0
    for k in range(
        max(0, q - steps), min(GRID, q + steps + 1)
    ):  # further away, a disturbance costs more than it can gain
        offset = (k - q) * cell
        value = grid[k] - multiplier * offset * offset
        if k < q and value > worst_left:
            left, worst_left = k, value
        if k > q and value > worst_right:
            right, worst_right = k, value
    best, furthest = s.axis_best[i], -1.0
    position = best
    for which in range(3):
        at = best if which == 0 else grid_position(s, i, float(left if which == 1 else right))
        k = first_above(positions, count, at)
        nearest = min(positions[k] - at if k < count else np.inf, at - positions[k - 1] if k > 0 else np.inf)
        if which == 0:
            nearest *= 3.0
        if nearest > furthest:
            furthest, position = nearest, at
    if furthest * math.sqrt(float(s.uncertain.size)) >= p.sample_distance:
        return position
    low, high, most = grid_position(s, i, float(left)), grid_position(s, i, float(right)), -1.0
    for k in range(0 if explore else max(first_above(positions, count, low) - 1, 0), count - 1):
        if not explore and positions[k] > high:
            break
        if explore or (positions[k + 1] >= low and positions[k] <= high):
            size = positions[k + 1] - positions[k]
            if not explore:
                size *= abs(values[k + 1] - values[k])
            if size > most:
                most, position = size, 0.5 * (positions[k] + positions[k + 1])
    return position


@dataclass(frozen=True)
class CoordinateSearch(Outer):
    """Samples along each axis, an interpolant of each, and their robust optimum: exploits separability.

    It evaluates candidates as they are, whatever the inner search.
    """

    title: ClassVar[str] = "Coordinate search"
    rank: ClassVar[int] = 3
    source: ClassVar[str] = "robust counterpart of a sum by its dual: Boyd and Vandenberghe 2004, section 5"
    extension: ClassVar[bool] = True
    space_filling: Annotated[
        float, Range(0.3, 1.0), Former("spread"), "fraction of the samples that are spread evenly over the axes"
    ]
    protected_radius: Annotated[
        float, Range(0.5, 1.2), Former("reach"), "radius against which the design is protected, in units of the set's"
    ]
    sample_distance: Annotated[
        float,
        Range(0.1, 2.0, log=True),
        Former("resolution"),
        "distance up to which a sample is near, in Gamma / sqrt n",
    ]
    start: ClassVar[Any] = staticmethod(_start)
    update: ClassVar[Any] = staticmethod(_update_axes)
    move: ClassVar[Any] = staticmethod(_move_along_axes)

    @property
    def agents(self) -> int:
        return BATCH

    @property
    def is_nominal(self) -> bool:
        return True

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        samples = min(plan.budget // plan.dimension + 2, MAX_SAMPLES_PER_AXIS)
        return {"axes": plan.dimension, "axis_samples": samples, "axis_batch": BATCH}

    @property
    def offers_candidates(self) -> bool:
        return False

    @property
    def steps(self) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        return (
            ("b := uniform in X; evaluate f(b); h_i := f along axis i through b, known where it was evaluated",),
            (
                f"{100 * self.space_filling:.2g}% of the samples of each axis are spread evenly over it, at random "
                "within equal parts; the others go where x* or its worst point on that axis is far from any sample, "
                "otherwise into the widest interval, or the one nearby with the largest difference",
                f"up to {BATCH} candidates x_j := b with one variable changed",
            ),
            (
                "h_i := blended parabolas through the samples of axis i",
                f"x* := the robust optimum of the sum of all h_i against {self.protected_radius:.3g} Gamma, by its "
                "dual: min over l of l Gamma^2 + sum of min over t of max over d of h_i(t + d) - l d^2",
            ),
        )

    def describe(self) -> str:
        return (
            f"samples along each axis, {100 * self.space_filling:.2g}% of them spread evenly, the others where they "
            "affect the design most; the robust optimum of the sum of their interpolants is recommended (uses "
            "separability)"
        )
