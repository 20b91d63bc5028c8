"""Offsets of a closing attack: how a point around a design gets into the batch, and where the set ends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from robustforge.components.attack_model import ClosingState, copy_active
from robustforge.components.inner_search import sample, to_surface
from robustforge.core.compiler import compiled
from robustforge.core.state import Floats

if TYPE_CHECKING:
    from robustforge.core.state import Array

SAME = 1e-6
"""Largest difference of coordinates of points that count as the same."""

CLOSE = 0.05
"""Distance below which the optimum of a model is not worth another evaluation, in units of the set."""


@compiled
def is_full(s: ClosingState) -> bool:
    """Whether the batch is full."""
    return s.counters[0].agents >= s.closing[0].limit


@compiled
def put_offset(s: ClosingState, row: int, offset: Floats, gap: float) -> bool:
    """Add the point at an offset from a design to the batch, unless there is one up to a gap away; or no room."""
    t = s.counters[0]
    if is_full(s):
        return False
    x, centre = s.x[t.agents], s.closing_x[row]
    for i in range(x.size):
        x[i] = centre[i] + offset[i]
        if t.clip == 1:
            lower = (s.user_lower[i] - s.centre[i]) / s.scale[i]
            upper = (s.user_upper[i] - s.centre[i]) / s.scale[i]
            x[i] = min(max(x[i], lower), upper)
    for k in range(t.neighbour_count):
        if _differ_less(s.history_y[s.neighbours[k]], x, s.uncertain, gap):
            return False
    for j in range(t.agents):
        if _differ_less(s.x[j], x, s.uncertain, gap):
            return False
    t.agents += 1
    return True


@compiled
def _differ_less(one: Floats, two: Floats, active: Array, gap: float) -> bool:
    furthest = 0.0
    for i in active:
        furthest = max(furthest, abs(one[i] - two[i]))
    return furthest <= gap


@compiled
def to_extreme(s: ClosingState, slope: Floats, u: Floats, is_box: bool) -> None:
    """Write the point of the set that is furthest along a slope to `u`."""
    copy_active(slope, s.uncertain, u)
    square = 0.0
    for i in s.uncertain:
        square += u[i] * u[i]
    if square > 0.0:
        to_surface(u, s.uncertain, is_box)
    else:
        random_surface(s, u)


@compiled
def random_surface(s: ClosingState, u: Floats) -> None:
    """Write a random point of the surface of the set to `u`; of a box, a corner."""
    is_box = s.counters[0].is_box == 1
    sample(s.rng, s.uncertain, is_box, u)
    to_surface(u, s.uncertain, is_box)


@compiled
def into_set(s: ClosingState, u: Floats, is_box: bool) -> None:
    """Clip an offset to the box, or shorten it to the radius of the ball."""
    square = 0.0
    for i in s.uncertain:
        if is_box:
            u[i] = min(max(u[i], -1.0), 1.0)
        square += u[i] * u[i]
    if not is_box and square > 1.0:
        length = math.sqrt(square)
        for i in s.uncertain:
            u[i] /= length
