"""The points of a closing attack: where around a design the next batch looks for a worse value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from robustforge.components.attack_hints import put_feared, put_worst_sum
from robustforge.components.attack_model import (
    KERNEL_POINTS,
    LONG,
    ClosingState,
    copy_active,
    fill_model,
    fit_slope,
    keep_nearest,
    load_nearest,
    load_row,
    model_points,
)
from robustforge.components.attack_offsets import CLOSE, SAME, into_set, is_full, put_offset, random_surface, to_extreme
from robustforge.components.attack_quadratic import climb_ball, climb_box, fit_quadratic
from robustforge.core.agents import copy, fill
from robustforge.core.compiler import compiled
from robustforge.core.history import neighbours
from robustforge.core.portable_math import cos, sin
from robustforge.core.random import normal, uniform

if TYPE_CHECKING:
    pass

_FIRST = 3
"""Batches of an attack on a design that look next to high values outside the set."""

_NEARBY, _HIGH = 2.0, 0.3
"""Up to which distance values outside the set count; and which of them are high, between the worst and the highest."""

_FEW_CORNERS = 5
"""Variables up to which every corner of a box is evaluated."""


@compiled
def place_attack(s: ClosingState, row: int) -> None:
    """Fill the batch with points around a design that may be worse than all known ones."""
    t, c = s.counters[0], s.closing[0]
    neighbours(s, s.closing_x[row])
    load_row(s, row, s.attack_worst)
    if t.replaced == 1 and s.closing_tried[row] == 0:
        put_worst_sum(s, row)
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
    to_extreme(s, s.local_slope, u, is_box)
    gap = CLOSE if is_box else CLOSE / math.sqrt(math.sqrt(float(u.size)))
    put_offset(s, row, u, gap)
    if s.closing_tried[row] < 2 and s.closing[0].limit > 2:
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
            to_extreme(s, s.local_slope, u, is_box)
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
    put_offset(s, row, u, CLOSE)
    for i in s.uncertain:
        u[i] = -u[i]


@compiled
def _put_random(s: ClosingState, row: int) -> None:
    """Add a random point of the surface; of a box, some coordinates are not at their limits."""
    u = s.attack_offset
    random_surface(s, u)
    if s.counters[0].is_box == 1 and uniform(s.rng) < 0.5:
        for i in s.uncertain:
            if uniform(s.rng) < 0.25:
                u[i] *= uniform(s.rng)
    elif s.uncertain.size == 1 or uniform(s.rng) < 0.15:
        size = uniform(s.rng)
        for i in s.uncertain:
            u[i] *= size
    put_offset(s, row, u, SAME)


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
    into_set(s, u, is_box)
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
    into_set(s, u, is_box)
    put_offset(s, row, u, CLOSE)


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
            put_offset(s, row, u, SAME)
    elif s.closing_tried[row] > 0 or s.closing_point[row] < 0:
        _put_screening_pair(s, row)
    for turn in range(3):
        for k in range(m):
            i = s.attack_order[k]
            copy(w, u)
            u[i] = (1.0 if w[i] < 0.0 else -1.0) if turn == 0 else (0.0 if turn == 1 else 0.5 * w[i])
            if not is_full(s):
                put_offset(s, row, u, SAME)


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
    put_offset(s, row, u, SAME)
    for i in s.uncertain:
        u[i] = -u[i]
    put_offset(s, row, u, SAME)
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
            put_offset(s, row, u, CLOSE)
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
            put_offset(s, row, u, SAME)
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
