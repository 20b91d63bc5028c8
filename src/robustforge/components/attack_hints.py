"""What a closing attack knows beyond models of values: where runs fail, and what a coordinate search has learnt."""

from __future__ import annotations

import math

import numpy as np

from robustforge.components.additive_surrogate import first_above, interpolated
from robustforge.components.attack_model import ClosingState, fill_model, fit_slope, load_nearest
from robustforge.components.attack_offsets import CLOSE, SAME, into_set, put_offset, to_extreme
from robustforge.core.agents import fill
from robustforge.core.compiler import compiled, inlined
from robustforge.core.state import Floats

POSITIONS = 33
"""Positions on each axis that the worst case of a sum is composed of."""

_INFEASIBLE = 1e100
"""What counts as the value of an infeasible sample of an axis."""


@compiled
def fit_fear(s: ClosingState, centre: Floats) -> float:
    """Fit a linear model of what fails near a point; return how much its most feared point of the set is to be feared.

    Above 0, it is on the side of the nearest failed points. The nearest failed and working points have equal weight.
    """
    is_box, most = s.counters[0].is_box == 1, s.local_index.size // 2
    most = min(most, 2 * centre.size + 4)
    failed = load_nearest(s, centre, most, is_box, 1, 0)
    if failed == 0 or s.local_weight[0] == np.inf:
        return -np.inf
    nearest = np.inf
    for m in range(failed):
        nearest = min(nearest, s.local_weight[m])
    working = load_nearest(s, centre, most, is_box, 0, failed)
    if working == 0 or nearest > 4.0:
        return -np.inf
    fill_model(s, centre, failed + working)
    for m in range(failed + working):
        s.local_f[m] = 1.0 if m < failed else -1.0
        s.local_weight[m] = 0.5 / failed if m < failed else 0.5 / working
    if not fit_slope(s, failed + working) > 0.0:
        return -np.inf
    return _fear_of_set(s)


@compiled
def _fear_of_set(s: ClosingState) -> float:
    """Return the largest value of the linear model in the set about its centre."""
    slope, level, reach = s.local_slope, 0.0, 0.0
    for i in range(slope.size):
        level -= slope[i] * s.local_mean[i]
    for i in s.uncertain:
        reach += abs(slope[i]) if s.counters[0].is_box == 1 else slope[i] * slope[i]
    return level + (reach if s.counters[0].is_box == 1 else math.sqrt(reach))


@compiled
def put_feared(s: ClosingState, row: int) -> None:
    """Add the point of a design's set that is most on the side of failed points, and the one next to the nearest."""
    is_box, u, centre = s.counters[0].is_box == 1, s.attack_offset, s.closing_x[row]
    if fit_fear(s, centre) <= -1.0:
        return
    to_extreme(s, s.local_slope, u, is_box)
    put_offset(s, row, u, CLOSE)
    nearest = -1
    for m in range(load_nearest(s, centre, u.size + 4, is_box, 1, 0)):
        if nearest < 0 or s.local_weight[m] < s.local_weight[nearest]:
            nearest = m
    fill(u, 0.0)
    for i in s.uncertain:
        u[i] = s.history_y[s.local_index[nearest], i] - centre[i]
    into_set(s, u, is_box)
    put_offset(s, row, u, CLOSE)


@compiled
def put_worst_sum(s: ClosingState, row: int) -> None:
    """Add the point where a coordinate search, which knows the function along each axis, expects the worst."""
    u = s.attack_offset
    _tabulate_axes(s, row)
    if s.counters[0].is_box == 1:
        _worst_sum(s, 0.0, u)
        put_offset(s, row, u, SAME)
        return
    low, high = 1e-12, 1e12
    for _ in range(40):
        price = math.sqrt(low * high)
        if _worst_sum(s, price, u) > 1.0:
            low = price
        else:
            high = price
    square = _worst_sum(s, high, u)
    put_offset(s, row, u, SAME)
    if square > 0.0:
        for i in s.uncertain:
            u[i] /= math.sqrt(square)
        put_offset(s, row, u, SAME)


@inlined
def _step_at(q: int) -> float:
    """Return the offset of a position on an axis: from -1 to 1, most of them near 0."""
    root = 2.0 * q / (POSITIONS - 1) - 1.0
    return root * abs(root)


@compiled
def _tabulate_axes(s: ClosingState, row: int) -> None:
    """Write the values at all positions of each axis to `local_x`, as fractions of the largest range."""
    largest = 1e-300
    for i in s.uncertain:
        largest = max(largest, s.axis_range[i])
    for i in s.uncertain:
        positions, values, count = s.axis_x[i], s.axis_f[i], s.axis_count[i]
        for q in range(POSITIONS):
            t = s.closing_x[row, i] + _step_at(q)
            k = min(max(first_above(positions, count, t) - 1, 0), count - 2)
            value = interpolated(positions, values, count, k, t, _INFEASIBLE) if count >= 2 else 0.0
            s.local_x[q, i] = value / largest


@compiled
def _worst_sum(s: ClosingState, price: float, u: Floats) -> float:
    """Write the worst offset of each axis, where a squared offset has a price, to `u`; return their squares' sum."""
    fill(u, 0.0)
    total = 0.0
    for i in s.uncertain:
        best = -np.inf
        for q in range(POSITIONS):
            step = _step_at(q)
            value = s.local_x[q, i] - price * step * step
            if value > best:
                best, u[i] = value, step
        total += u[i] * u[i]
    return total
