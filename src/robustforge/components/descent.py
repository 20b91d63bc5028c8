"""Descent directions: a step away from the high-cost points of the neighbourhood (Section 2.2.2 of the paper).

The directions come from (Soc), solved in `core.hull`. In the swarm they add the component (ddVel) to the velocity; the
single-solution search moves along them by (Rho).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from robustforge.core.compiler import compiled
from robustforge.core.component import Component, Range
from robustforge.core.hull import NO_DIRECTION, minimum_norm
from robustforge.core.random import uniform
from robustforge.core.state import State, StateField

HIGH_COST_POINTS = 256
"""High-cost points that one direction can take into account; with more, sigma is halved."""

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
            f"descent directions: {self.c3:.3g} Gamma ({scaled}, at least {self.min_step:.3g} Gamma) away from the points "
            f"within {self.sigma:.3g} of the local spread below the worst; sigma halves down to {self.sigma_limit:.2g}"
        )


@compiled
def find_direction(s: State, j: int, found: int, sigma: float, sigma_limit: float) -> None:
    """Find the direction of agent `j` from the first `found` points of `s.near`; `s.directed[j]` says if there is one.

    Sigma is halved, down to its limit, until the high-cost points leave a direction open.
    """
    s.directed[j] = False
    worst, lowest, highest = -np.inf, np.inf, -np.inf
    for k in range(found):
        value = s.values[s.near[k]]
        worst = max(worst, value)
        if value < np.inf:
            lowest = min(lowest, value)
            highest = max(highest, value)
    spread = highest - lowest if highest >= lowest else 0.0
    while sigma >= sigma_limit:
        count = _collect_high(s, j, found, worst - sigma * spread)
        if 0 < count <= s.high.size:
            length = minimum_norm(
                s.hull_units, count, s.hull_gram, s.hull_factor, s.hull_weights, s.hull_corral, s.hull_work, s.direction[j]
            )
            if length > NO_DIRECTION:
                for i in range(s.tally[0].dimension):
                    s.direction[j, i] = -s.direction[j, i] / length
                s.directed[j] = True
                s.rho[j] = _step_length(s, j, count)
                return
        sigma *= 0.5


@compiled
def _collect_high(s: State, j: int, found: int, threshold: float) -> int:
    """Gather the near points of at least this value as unit vectors from agent `j`; return how many there are."""
    count = 0
    for k in range(found):
        place = s.near[k]
        if s.values[place] < threshold:
            continue
        square = 0.0
        for i in range(s.tally[0].dimension):
            gap = s.points[place, i] - s.x[j, i]
            square += gap * gap
        if square == 0.0:
            continue
        if count < s.high.size:
            s.high[count] = place
            length = math.sqrt(square)
            for i in range(s.tally[0].dimension):
                s.hull_units[count, i] = (s.points[place, i] - s.x[j, i]) / length
        count += 1
    return count


@compiled
def _step_length(s: State, j: int, count: int) -> float:
    """Return the step along the direction that takes all high-cost points out of the neighbourhood, (Rho)."""
    longest = 0.0
    for k in range(count):
        longest = max(longest, _box_exit(s, j, s.high[k]) if s.tally[0].is_box == 1 else _ball_exit(s, j, s.high[k]))
    return longest


@compiled
def _ball_exit(s: State, j: int, place: int) -> float:
    along, square = 0.0, 0.0
    for i in range(s.tally[0].dimension):
        gap = s.points[place, i] - s.x[j, i]
        along += s.direction[j, i] * gap
        square += gap * gap
    return along + math.sqrt(max(0.0, along * along - square + 1.0))


@compiled
def _box_exit(s: State, j: int, place: int) -> float:
    soonest = np.inf
    for i in s.active:
        d = s.direction[j, i]
        if d != 0.0:
            gap = s.points[place, i] - s.x[j, i]
            soonest = min(soonest, (gap + (1.0 if d > 0 else -1.0)) / d)
    return max(0.0, soonest) if soonest < np.inf else 0.0


@compiled
def add_descent(s: State, j: int) -> None:
    """Add C3 Gamma r3 d to the velocity of agent `j`, at least Min step long (ddVel)."""
    if s.descent[0].code < 0 or not s.directed[j]:
        return
    p = s.descent[0]
    length = p.c3 * (s.rho[j] if s.readings[0].step_by_rho > 0 else 1.0)
    random = p.r3 == 0.0
    square = 0.0
    for i in range(s.tally[0].dimension):
        step = length * s.direction[j, i]
        if random:
            step *= uniform(s.rng)
        s.direction[j, i] = step
        square += step * step
    grow = 1.0
    if 0.0 < square < p.min_step * p.min_step:
        grow = p.min_step / math.sqrt(square)
    for i in range(s.tally[0].dimension):
        s.v[j, i] += grow * s.direction[j, i]
    s.directed[j] = False


