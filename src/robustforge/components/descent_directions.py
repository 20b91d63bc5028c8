"""Descent directions: a step away from the high-cost points of the neighbourhood (Section 2.2.2 of the paper).

The directions come from (Soc), solved in `core.min_norm_point`. In a swarm they add the component (ddVel) to the
velocity; the single-candidate descent search moves along them by (Rho).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numba import float64, int64

from robustforge.core.compiler import Routine, call, compiled, inlined
from robustforge.core.component import Component, Range, codes
from robustforge.core.interpretation import Interpretation, InterpretationState
from robustforge.core.min_norm_point import NO_DIRECTION, minimum_norm
from robustforge.core.random import uniform
from robustforge.core.state import ONE, Booleans, Floats, Integers, Plan, Shape, SlotRecord

HIGH_COST_POINTS = 256
"""High-cost points that one direction can take into account; of more, the highest are taken."""

Sigma = Annotated[
    float, Range(0.01, 0.8, log=True), "depth of the high-cost set, as a fraction of the local range of f"
]
SigmaLimit = Annotated[float, Range(0.0001, 0.1, log=True), "smallest sigma: it is halved down to this"]
MinStep = Annotated[float, Range(0.0, 1.0), "shortest step, in Gamma"]


R3 = Literal["random", "unity"]
RANDOM, UNITY = codes(R3)


@dataclass(frozen=True)
class DescentDirections(Component):
    """The velocity gets a component that points away from the neighbourhood's high-cost points."""

    title: ClassVar[str] = "DD"
    source: ClassVar[str] = "Bertsimas, Nohadani and Teo 2010"
    c3: Annotated[float, Range(0.0, 3.0), "length of the component, in Gamma"]
    sigma: Sigma
    sigma_limit: SigmaLimit
    min_step: MinStep
    r3: Annotated[R3, "whether each coordinate is scaled by U(0, 1) or not"]

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        return directions_of(plan.agents, plan)

    def describe(self) -> str:
        scaled = "each coordinate scaled at random" if self.r3 == "random" else "unscaled"
        return (
            f"descent directions: {self.c3:.3g} Gamma ({scaled}, at least {self.min_step:.3g} Gamma) away from the "
            f"points within {self.sigma:.3g} of the local range of f below the worst; sigma halves down to "
            f"{self.sigma_limit:.2g}"
        )

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        rules: Interpretation = facts["interpretation"]
        length = f"{self.c3 * rules.step_scale:.3g}{' rho_j' if rules.step_by_rho else ''}"
        if self.r3 == "unity":
            return [f"if d_j exists: v_j := v_j + max({length}, {self.min_step:.3g}) Gamma d_j"]
        return [f"if d_j exists: v_j := v_j + max({length}, {self.min_step:.3g} / |r3 d_j|) Gamma r3 d_j"]


class DescentState(InterpretationState):
    """Descent directions: their record, the directions, and the memory of the solver."""

    descent: Annotated[SlotRecord[DescentDirections], ONE, "the descent directions of a swarm"]
    find_direction_kernel: Annotated[Integers, ONE, "address of `direction_away`"]
    direction: Annotated[Floats, Shape("directed", "dimension"), "descent directions, of length 1"]
    has_direction: Annotated[Booleans, Shape("directed"), "whether there is one"]
    rho: Annotated[Floats, Shape("directed"), "the step along it that leaves all high-cost points behind, (Rho)"]
    high_cost: Annotated[Integers, Shape("high_cost"), "indices of the high-cost points in the history"]
    mnp_units: Annotated[Floats, Shape("high_cost", "dimension"), "unit vectors towards them"]
    mnp_gram: Annotated[Floats, Shape("high_cost", "high_cost"), "inner products of these"]
    mnp_factor: Annotated[Floats, Shape("high_cost", "high_cost"), "triangular factor of a part of them"]
    mnp_weights: Annotated[Floats, Shape("high_cost"), "weights of the minimum-norm point"]
    mnp_corral: Annotated[Integers, Shape("high_cost"), "the unit vectors with a positive weight"]
    mnp_work: Annotated[Floats, Shape(2, "high_cost"), "intermediate results of the solver"]


def directions_of(agents: int, plan: Plan) -> dict[str, int]:
    """Return the sizes of the memory for the directions of some agents."""
    return {"directed": agents, "high_cost": min(HIGH_COST_POINTS, plan.history)}


def direction_lines(descent: Any) -> list[str]:
    """Return how the direction of a candidate is found, as pseudocode; nothing for `None`."""
    if descent is None:
        return []
    retry = f"halve s and try again while s >= {descent.sigma_limit:.3g}"
    if descent.sigma / 2 < descent.sigma_limit:
        retry = f"there is no d_j, as s / 2 < {descent.sigma_limit:.3g}"
    return [
        f"D := points of H near x_j within s (max - min) of the max f, s = {descent.sigma:.3g}",
        f"d_j := the unit vector at the widest angle to D; if none leads away from D, {retry}",
    ]


@compiled
def find_direction(s: DescentState, j: int, found: int, sigma: float, sigma_limit: float) -> None:
    """Find the direction of agent `j`, by the address of `direction_away`, which only some heuristics need."""
    call(s.find_direction_kernel[0], s, j, found, sigma, sigma_limit)


@compiled
def direction_away(s: DescentState, j: int, found: int, sigma: float, sigma_limit: float) -> None:
    """Find the direction of agent `j` from the first `found` neighbours.

    `s.has_direction[j]` indicates whether one exists. Sigma is halved, down to its limit, until the high-cost points
    leave a direction open.
    """
    values, near, direction = s.history_f, s.neighbours, s.direction[j]
    s.has_direction[j] = False
    worst, lowest, highest = -np.inf, np.inf, -np.inf
    for k in range(found):
        value = values[near[k]]
        worst = max(worst, value)
        if value < np.inf:
            lowest = min(lowest, value)
            highest = max(highest, value)
    value_range = highest - lowest if highest >= lowest else 0.0
    while True:
        count = _collect_high(s, j, found, worst - sigma * value_range)
        if count > 0:
            length = minimum_norm(
                s.mnp_units, count, s.mnp_gram, s.mnp_factor, s.mnp_weights, s.mnp_corral, s.mnp_work, direction
            )
            if length > NO_DIRECTION:
                for i in range(direction.size):
                    direction[i] = -direction[i] / length
                s.has_direction[j] = True
                s.rho[j] = _step_length(s, j, count)
                return
        sigma *= 0.5
        if sigma < sigma_limit:
            return


FIND_DIRECTION = Routine("find_direction_kernel", direction_away, (int64, int64, float64, float64))


@compiled
def _collect_high(s: DescentState, j: int, found: int, threshold: float) -> int:
    """Collect the neighbours of at least this value as unit vectors from agent `j`; return how many there are.

    If there are more than fit, the highest are kept.
    """
    x, points, values, near, high, units = s.x[j], s.history_y, s.history_f, s.neighbours, s.high_cost, s.mnp_units
    count, lowest = 0, 0
    for k in range(found):
        index = near[k]
        if values[index] < threshold or (count == high.size and values[index] <= values[high[lowest]]):
            continue
        square = 0.0
        for i in range(x.size):
            difference = points[index, i] - x[i]
            square += difference * difference
        if square == 0.0:
            continue
        row = count if count < high.size else lowest
        count = min(count + 1, high.size)
        high[row] = index
        length = math.sqrt(square)
        for i in range(x.size):
            units[row, i] = (points[index, i] - x[i]) / length
        if count == high.size:
            lowest = 0
            for m in range(1, count):
                if values[high[m]] < values[high[lowest]]:
                    lowest = m
    return count


@inlined
def _step_length(s: DescentState, j: int, count: int) -> float:
    """Return the step along the direction that takes all high-cost points out of the neighbourhood, (Rho)."""
    x, direction, points, high, active = s.x[j], s.direction[j], s.history_y, s.high_cost, s.uncertain
    is_box = s.counters[0].is_box == 1
    longest = 0.0
    for k in range(count):
        point = points[high[k]]
        along, square, first_exit = 0.0, 0.0, np.inf
        for i in active:
            d, difference = direction[i], point[i] - x[i]
            along += d * difference
            square += difference * difference
            if d != 0.0:
                first_exit = min(first_exit, (difference + (1.0 if d > 0 else -1.0)) / d)
        ball = along + math.sqrt(max(0.0, along * along - square + 1.0))
        longest = max(longest, first_exit if is_box else ball)
    return longest


@inlined
def add_descent(s: DescentState, j: int) -> None:
    """Add C3 Gamma r3 d to the velocity of agent `j`, at least Min step long (ddVel)."""
    p: DescentDirections = s.descent[0]
    rules: Interpretation = s.interpretation[0]
    if p.used == 0 or not s.has_direction[j]:
        return
    direction, v, rng = s.direction[j], s.velocity[j], s.rng
    length = p.c3 * rules.step_scale * (s.rho[j] if rules.step_by_rho > 0 else 1.0)
    random = p.r3 == RANDOM
    square = 0.0
    for i in range(v.size):
        if random:
            direction[i] *= uniform(rng)
        square += direction[i] * direction[i]
    if square > 0.0:
        length = max(length, p.min_step / math.sqrt(square))
    for i in range(v.size):
        v[i] += length * direction[i]
    s.has_direction[j] = False
