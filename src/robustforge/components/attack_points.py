"""The points of a closing attack: where around a design the next batch looks for a worse value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from robustforge.components.additive_surrogate import first_above, interpolated
from robustforge.components.attack_model import (
    KERNEL_POINTS,
    LONG,
    ClosingState,
    climb_ball,
    climb_box,
    copy_active,
    fill_model,
    fit_quadratic,
    fit_slope,
    keep_nearest,
    load_nearest,
    load_row,
    model_points,
)
from robustforge.components.inner_search import sample, to_surface
from robustforge.core.agents import copy, fill
from robustforge.core.compiler import compiled, inlined
from robustforge.core.history import neighbours
from robustforge.core.portable_math import cos, sin
from robustforge.core.random import normal, uniform
from robustforge.core.state import Floats

if TYPE_CHECKING:
    from robustforge.core.state import Array

_SAME = 1e-6
"""Largest difference of coordinates of points that count as the same."""

_CLOSE = 0.05
"""Distance below which the optimum of a model is not worth another evaluation, in units of the set."""

POSITIONS = 33
"""Positions on each axis that the worst case of a sum is composed of."""

_FIRST = 6
"""Batches of an attack on a design that look next to high values outside the set."""

_INFEASIBLE = 1e100
"""What counts as the value of an infeasible sample of an axis."""

_NEARBY, _HIGH = 2.0, 0.3
"""Up to which distance values outside the set count; and which of them are high, between the worst and the highest."""

_FEW_CORNERS = 5
"""Variables up to which every corner of a box is evaluated."""


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
def place_attack(s: ClosingState, row: int) -> None:
    """Fill the batch with points around a design that may be worse than all known ones."""
    t, c = s.counters[0], s.closing[0]
    neighbours(s, s.closing_x[row])
    load_row(s, row, s.attack_worst)
    if t.replaced == 1 and s.closing_tried[row] == 0:
        _put_worst_sum(s, row)
    if c.failed == 1:
        put_feared(s, row)
    _put_model_optima(s, row)
    if c.total <= LONG or s.closing_tried[row] % 2 == 1:
        _put_trust_region_step(s, row)
    if s.closing_tried[row] < _FIRST:
        _put_outside_point(s, row)
    if c.round % 3 == 0:
        _put_random(s, row)
    if t.is_box == 1:
        _explore_box(s, row)
    else:
        _explore_ball(s, row)
    for _ in range(8 * c.limit):
        if not is_full(s):
            _put_random(s, row)
    s.closing_tried[row] += 1


@compiled
def _put_model_optima(s: ClosingState, row: int) -> None:
    """Add the maxima of a linear and of a quadratic model of the nearest points of the history."""
    is_box, centre, u = s.counters[0].is_box == 1, s.closing_x[row], s.attack_offset
    fill(s.local_slope, 0.0)
    count = load_nearest(s, centre, model_points(u.size), is_box, 0, 0)
    if count < 3 or not fill_model(s, centre, count):
        return
    fit_slope(s, count)
    _to_extreme(s, s.local_slope, u, is_box)
    gap = _CLOSE if is_box else _CLOSE / math.sqrt(math.sqrt(float(u.size)))
    put_offset(s, row, u, gap)
    if s.closing_tried[row] < 2:
        _put_opposite(s, row)
    _order_flips(s)
    if is_full(s) or 2 * count < u.size:
        return
    scale = math.sqrt(float(s.uncertain.size)) if is_box else 1.0
    if s.closing[0].total > LONG and s.closing_tried[row] % 2 == 1:
        return
    count = keep_nearest(s, count, KERNEL_POINTS)
    if not (fill_model(s, centre, count) and fit_quadratic(s, count, scale)):
        return
    for start in range(3):
        if start == 1:
            copy_active(s.attack_worst, s.uncertain, u)
        elif start == 2:
            _to_extreme(s, s.local_slope, u, is_box)
            for i in s.uncertain:
                u[i] = -u[i]
        if is_box:
            climb_box(s.local_slope, s.local_hessian, s.uncertain, u)
        else:
            climb_ball(s.local_slope, s.local_hessian, s.uncertain, u, s.attack_trial)
        if start < 2 or s.closing_tried[row] % 4 == 0:
            put_offset(s, row, u, gap)


@compiled
def _put_opposite(s: ClosingState, row: int) -> None:
    """Add the mirror image of the present offset, where a cliff may be that the slope leads away from."""
    u = s.attack_offset
    for i in s.uncertain:
        u[i] = -u[i]
    put_offset(s, row, u, _CLOSE)
    for i in s.uncertain:
        u[i] = -u[i]


@compiled
def _to_extreme(s: ClosingState, slope: Floats, u: Floats, is_box: bool) -> None:
    """Write the point of the set that is furthest along a slope to `u`."""
    copy_active(slope, s.uncertain, u)
    square = 0.0
    for i in s.uncertain:
        square += u[i] * u[i]
    if square > 0.0:
        to_surface(u, s.uncertain, is_box)
    else:
        _random_surface(s, u)


@compiled
def _random_surface(s: ClosingState, u: Floats) -> None:
    is_box = s.counters[0].is_box == 1
    sample(s.rng, s.uncertain, is_box, u)
    to_surface(u, s.uncertain, is_box)


@compiled
def _put_random(s: ClosingState, row: int) -> None:
    """Add a random point of the surface; of a box, some coordinates are not at their limits."""
    u = s.attack_offset
    _random_surface(s, u)
    if s.counters[0].is_box == 1 and uniform(s.rng) < 0.5:
        for i in s.uncertain:
            if uniform(s.rng) < 0.25:
                u[i] *= uniform(s.rng)
    elif s.uncertain.size == 1 or uniform(s.rng) < 0.15:
        size = uniform(s.rng)
        for i in s.uncertain:
            u[i] *= size
    put_offset(s, row, u, _SAME)


@compiled
def _put_trust_region_step(s: ClosingState, row: int) -> None:
    """Add a step from the worst point along the slope of a linear model of the points nearest to it."""
    is_box, w, u, radius = s.counters[0].is_box == 1, s.attack_worst, s.attack_offset, s.closing_radius[row]
    if s.closing_point[row] < 0 or is_full(s):
        return
    about = s.history_y[s.closing_point[row]]
    count = load_nearest(s, about, model_points(u.size), False, 0, 0)
    if count < 3 or not fill_model(s, about, count):
        return
    _weigh_by_distance(s, count, radius * (math.sqrt(float(s.uncertain.size)) if is_box else 1.0))
    length = fit_slope(s, count)
    if not length > 0.0:
        return
    copy(w, u)
    step = radius * (math.sqrt(float(s.uncertain.size)) if is_box else 1.0) / length
    for i in s.uncertain:
        u[i] += step * s.local_slope[i]
    _into_set(s, u, is_box)
    put_offset(s, row, u, 1e-4)


@compiled
def _weigh_by_distance(s: ClosingState, count: int, radius: float) -> None:
    """Weigh the points of the model by their distance from the centre, in units of a radius."""
    for m in range(count):
        square = 0.0
        for i in range(s.local_unit.size):
            square += s.local_x[m, i] * s.local_x[m, i]
        ratio = square / (2.0 * radius * radius)
        s.local_weight[m] = 1.0 / (1.0 + ratio * ratio)


@compiled
def _into_set(s: ClosingState, u: Floats, is_box: bool) -> None:
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


@compiled
def _put_outside_point(s: ClosingState, row: int) -> None:
    """Add the point of the surface next to the nearest high value outside the set, for instance beyond a cliff."""
    is_box, centre, u, worst = s.counters[0].is_box == 1, s.closing_x[row], s.attack_offset, s.closing_worst[row]
    count, highest, best = load_nearest(s, centre, model_points(u.size), is_box, 0, 0), worst, -1
    for m in range(count):
        if 1.0 < s.local_weight[m] < _NEARBY:
            highest = max(highest, s.history_f[s.local_index[m]])
    for m in range(count):
        is_high = s.history_f[s.local_index[m]] > worst + _HIGH * (highest - worst)
        if is_high and (best < 0 or s.local_weight[m] < s.local_weight[best]):
            best = m
    if best < 0 or not s.local_weight[best] < _NEARBY:
        return
    fill(u, 0.0)
    for i in s.uncertain:
        u[i] = s.history_y[s.local_index[best], i] - centre[i]
    _into_set(s, u, is_box)
    put_offset(s, row, u, _CLOSE)


@compiled
def _order_flips(s: ClosingState) -> None:
    """Sort the variables by what the linear model expects of moving the worst point to their other side."""
    order, active, gain = s.attack_order, s.uncertain, s.attack_trial
    for k in range(active.size):
        i = active[k]
        gain[i] = -s.local_slope[i] * s.attack_worst[i]
        m = k
        while m > 0 and gain[order[m - 1]] < gain[i]:
            order[m] = order[m - 1]
            m -= 1
        order[m] = i


@compiled
def _explore_box(s: ClosingState, row: int) -> None:
    """Add corners: all of them if they are few, pairs that screen all variables, and the neighbours of the worst."""
    u, w, m = s.attack_offset, s.attack_worst, s.uncertain.size
    if m <= _FEW_CORNERS and (1 << m) <= s.closing[0].total:
        for number in range(1 << m):
            fill(u, 0.0)
            for k in range(m):
                u[s.uncertain[k]] = 1.0 if (number >> k) & 1 else -1.0
            put_offset(s, row, u, _SAME)
    elif s.closing_tried[row] > 0 or s.closing_point[row] < 0:
        _put_screening_pair(s, row)
    for turn in range(3):
        for k in range(m):
            i = s.attack_order[k]
            copy(w, u)
            u[i] = (1.0 if w[i] < 0.0 else -1.0) if turn == 0 else (0.0 if turn == 1 else 0.5 * w[i])
            if not is_full(s):
                put_offset(s, row, u, _SAME)


@compiled
def _put_screening_pair(s: ClosingState, row: int) -> None:
    """Add two opposite corners of a screening design, in which all variables are orthogonal."""
    u, m, width = s.attack_offset, s.uncertain.size, 1
    while width <= m:
        width *= 2
    number = s.closing_screened[row]
    if number >= width or 4 * number > s.closing[0].total:
        return
    fill(u, 0.0)
    for k in range(m):
        bits, sign = (k + 1) & number, 1.0
        while bits > 0:
            sign = -sign if bits & 1 else sign
            bits >>= 1
        u[s.uncertain[k]] = sign
    put_offset(s, row, u, _SAME)
    for i in s.uncertain:
        u[i] = -u[i]
    put_offset(s, row, u, _SAME)
    s.closing_screened[row] = number + 1


@compiled
def _explore_ball(s: ClosingState, row: int) -> None:
    """Add mirrored pairs about the worst point, in directions orthogonal to it and to each other."""
    u, w, n = s.attack_offset, s.attack_worst, s.attack_worst.size
    square, basis, found = 0.0, s.attack_basis, 0
    for i in s.uncertain:
        square += w[i] * w[i]
    if square > 1e-12:
        for i in range(n):
            basis[0, i] = w[i] / math.sqrt(square)
        found = 1
        if s.closing_tried[row] == 0:
            for i in range(n):
                u[i] = -w[i] / math.sqrt(square)
            put_offset(s, row, u, _CLOSE)
    pair = 0
    while found < min(s.uncertain.size, 8) and not is_full(s):
        _random_direction(s, found)
        angle = min(1.2, s.closing_radius[row] * (2.0 if pair % 2 == 0 else 0.7))
        for sign in range(2):
            along = (1.0 if sign == 0 else -1.0) * (sin(angle) if square > 1e-12 else 1.0)
            for i in range(n):
                u[i] = along * basis[found, i]
                if square > 1e-12:
                    u[i] += cos(angle) * basis[0, i]
            put_offset(s, row, u, _SAME)
        found += 1
        pair += 1


@compiled
def _random_direction(s: ClosingState, count: int) -> None:
    """Write a random unit vector that is orthogonal to the first `count` of the basis to the next row."""
    row = s.attack_basis[count]
    fill(row, 0.0)
    for i in s.uncertain:
        row[i] = normal(s.rng)
    for k in range(count):
        other, inner = s.attack_basis[k], 0.0
        for i in s.uncertain:
            inner += row[i] * other[i]
        for i in s.uncertain:
            row[i] -= inner * other[i]
    square = 1e-300
    for i in s.uncertain:
        square += row[i] * row[i]
    for i in s.uncertain:
        row[i] /= math.sqrt(square)


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
    _to_extreme(s, s.local_slope, u, is_box)
    put_offset(s, row, u, _CLOSE)
    nearest = -1
    for m in range(load_nearest(s, centre, u.size + 4, is_box, 1, 0)):
        if nearest < 0 or s.local_weight[m] < s.local_weight[nearest]:
            nearest = m
    fill(u, 0.0)
    for i in s.uncertain:
        u[i] = s.history_y[s.local_index[nearest], i] - centre[i]
    _into_set(s, u, is_box)
    put_offset(s, row, u, _CLOSE)


@compiled
def _put_worst_sum(s: ClosingState, row: int) -> None:
    """Add the point where a coordinate search, which knows the function along each axis, expects the worst."""
    u = s.attack_offset
    _tabulate_axes(s, row)
    if s.counters[0].is_box == 1:
        _worst_sum(s, 0.0, u)
        put_offset(s, row, u, _SAME)
        return
    low, high = 1e-12, 1e12
    for _ in range(40):
        price = math.sqrt(low * high)
        if _worst_sum(s, price, u) > 1.0:
            low = price
        else:
            high = price
    square = _worst_sum(s, high, u)
    put_offset(s, row, u, _SAME)
    if square > 0.0:
        for i in s.uncertain:
            u[i] /= math.sqrt(square)
        put_offset(s, row, u, _SAME)


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
