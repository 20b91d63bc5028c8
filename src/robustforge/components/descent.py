"""Descent directions: a step away from the high-cost points of the neighbourhood (Section 2.2.2 of the paper).

The directions come from (Soc), solved in `core.hull`. In the swarm they add the component (ddVel) to the velocity; the
single-solution search moves along them by (Rho).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from robustforge.core.compiler import call, compiled, inlined
from robustforge.core.component import Component, Range
from robustforge.core.hull import NO_DIRECTION, minimum_norm
from robustforge.core.random import uniform
from robustforge.core.state import State, StateField

HIGH_COST_POINTS = 256
"""High-cost points that one direction can take into account; of more, the highest are taken."""

STATE_FIELDS = (
    StateField("direction", np.float64, lambda p: (p.agents, p.dimension)),
    StateField("directed", np.bool_, lambda p: (p.agents,)),
    StateField("rho", np.float64, lambda p: (p.agents,)),
    StateField("high", np.int64, lambda p: (p.high_cost,)),
    StateField("hull_units", np.float64, lambda p: (p.high_cost, p.dimension)),
    StateField("hull_gram", np.float64, lambda p: (p.high_cost, p.high_cost)),
    StateField("hull_factor", np.float64, lambda p: (p.high_cost, p.high_cost)),
    StateField("hull_weights", np.float64, lambda p: (p.high_cost,)),
    StateField("hull_corral", np.int64, lambda p: (p.high_cost,)),
    StateField("hull_work", np.float64, lambda p: (2, p.high_cost)),
)

Sigma = Annotated[float, Range(0.01, 0.8, log=True), "depth of the high-cost set, as a share of the local spread of f"]
SigmaLimit = Annotated[float, Range(0.0001, 0.1, log=True), "where halving sigma ends"]
MinStep = Annotated[float, Range(0.0, 1.0), "shortest step, in Gamma"]


@dataclass(frozen=True)
class DescentDirections(Component):
    """The velocity gets a component that points away from the neighbourhood's high-cost points."""

    title: ClassVar[str] = "DD"
    source: ClassVar[str] = "Bertsimas, Nohadani and Teo 2010"
    c3: Annotated[float, Range(0.0, 3.0), "length of the component, in Gamma"]
    sigma: Sigma
    sigma_limit: SigmaLimit
    min_step: MinStep
    r3: Annotated[Literal["random", "unity"], "whether each coordinate is scaled by U(0, 1) or left as it is"]

    def words(self) -> str:
        scaled = "each coordinate scaled at random" if self.r3 == "random" else "unscaled"
        return (
            f"descent directions: {self.c3:.3g} Gamma ({scaled}, at least {self.min_step:.3g} Gamma) away from the "
            f"points within {self.sigma:.3g} of the local spread below the worst; sigma halves down to "
            f"{self.sigma_limit:.2g}"
        )


@compiled
def find_direction(s: State, j: int, found: int, sigma: float, sigma_limit: float) -> None:
    """Find the direction of agent `j`, by the address of `direction_away`, which only some heuristics need."""
    call(s.routines[0].find_direction, s, j, found, sigma, sigma_limit)


@compiled
def direction_away(s: State, j: int, found: int, sigma: float, sigma_limit: float) -> None:
    """Find the direction of agent `j` from the first `found` points of `s.near`; `s.directed[j]` says if there is one.

    Sigma is halved, down to its limit, until the high-cost points leave a direction open.
    """
    values, near, direction = s.values, s.near, s.direction[j]
    s.directed[j] = False
    worst, lowest, highest = -np.inf, np.inf, -np.inf
    for k in range(found):
        value = values[near[k]]
        worst = max(worst, value)
        if value < np.inf:
            lowest = min(lowest, value)
            highest = max(highest, value)
    spread = highest - lowest if highest >= lowest else 0.0
    while True:
        count = _collect_high(s, j, found, worst - sigma * spread)
        if count > 0:
            length = minimum_norm(
                s.hull_units, count, s.hull_gram, s.hull_factor, s.hull_weights, s.hull_corral, s.hull_work, direction
            )
            if length > NO_DIRECTION:
                for i in range(direction.size):
                    direction[i] = -direction[i] / length
                s.directed[j] = True
                s.rho[j] = _step_length(s, j, count)
                return
        sigma *= 0.5
        if sigma < sigma_limit:
            return


@compiled
def _collect_high(s: State, j: int, found: int, threshold: float) -> int:
    """Gather the near points of at least this value as unit vectors from agent `j`; return how many there are.

    If there are more than fit, the highest are kept.
    """
    x, points, values, near, high, units = s.x[j], s.points, s.values, s.near, s.high, s.hull_units
    count, lowest = 0, 0
    for k in range(found):
        place = near[k]
        if values[place] < threshold or (count == high.size and values[place] <= values[high[lowest]]):
            continue
        square = 0.0
        for i in range(x.size):
            gap = points[place, i] - x[i]
            square += gap * gap
        if square == 0.0:
            continue
        row = count if count < high.size else lowest
        count = min(count + 1, high.size)
        high[row] = place
        length = math.sqrt(square)
        for i in range(x.size):
            units[row, i] = (points[place, i] - x[i]) / length
        if count == high.size:
            lowest = 0
            for m in range(1, count):
                if values[high[m]] < values[high[lowest]]:
                    lowest = m
    return count


@inlined
def _step_length(s: State, j: int, count: int) -> float:
    """Return the step along the direction that takes all high-cost points out of the neighbourhood, (Rho)."""
    x, direction, points, high, active = s.x[j], s.direction[j], s.points, s.high, s.active
    is_box = s.tally[0].is_box == 1
    longest = 0.0
    for k in range(count):
        point = points[high[k]]
        along, square, soonest = 0.0, 0.0, np.inf
        for i in active:
            d, gap = direction[i], point[i] - x[i]
            along += d * gap
            square += gap * gap
            if d != 0.0:
                soonest = min(soonest, (gap + (1.0 if d > 0 else -1.0)) / d)
        ball = along + math.sqrt(max(0.0, along * along - square + 1.0))
        longest = max(longest, soonest if is_box else ball)
    return longest


@inlined
def add_descent(s: State, j: int) -> None:
    """Add C3 Gamma r3 d to the velocity of agent `j`, at least Min step long (ddVel)."""
    p = s.descent[0]
    if p.used == 0 or not s.directed[j]:
        return
    direction, v, rng = s.direction[j], s.v[j], s.rng
    length = p.c3 * s.readings[0].step_scale * (s.rho[j] if s.readings[0].step_by_rho > 0 else 1.0)
    random = p.r3 == 0.0
    square = 0.0
    for i in range(v.size):
        if random:
            direction[i] *= uniform(rng)
        square += direction[i] * direction[i]
    if square > 0.0:
        length = max(length, p.min_step / math.sqrt(square))
    for i in range(v.size):
        v[i] += length * direction[i]
    s.directed[j] = False
