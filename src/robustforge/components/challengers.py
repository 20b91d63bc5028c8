"""The designs that a closing attack compares: the incumbent, other outcomes of the search, and steps away from both.

A challenger is first tested at the offset that is worst for the incumbent. The design that looks best is attacked next,
so that one which only looks good is found out; it is returned only after about as many attacks as the others.
"""

from __future__ import annotations

import math

import numpy as np

from robustforge.components.attack_hints import fit_fear
from robustforge.components.attack_model import (
    FEARED,
    ROWS,
    WINDOW,
    ClosingState,
    copy_active,
    distance,
    load_row,
    set_units,
)
from robustforge.components.attack_offsets import put_offset, random_surface
from robustforge.components.recommendation import OUTCOMES
from robustforge.core.agents import copy, fill, in_box, random_point
from robustforge.core.compiler import compiled
from robustforge.core.history import holds, neighbours, worst_of
from robustforge.core.min_norm_point import minimum_norm
from robustforge.core.state import UNKNOWN, Floats

HULL = 24
"""Bad points whose directions are avoided, at most."""

_BAD = 0.7
"""A point is bad if its value is above this fraction of the way from the lowest to the highest in the set."""

_ENOUGH = 0.6
"""Attacks on a challenger before it can become the incumbent, as a fraction of those on the incumbent."""

_STEPS = (0.3, 0.6, 0.15, 1.0)
"""Lengths of a step away from bad points, in units of the set."""

_STEP_COUNT = 4

_ENDLESS = 1 << 40
"""Evaluations of an attack on a fixed design, which may be continued at any time."""

_TRIALS = 16
"""Random points of which the furthest from failed runs is taken."""

_MARGIN = 0.3
"""How far on the safe side of failed runs a set should be, where the distance of both sides is 2."""

_BASES = 12
"""Good points of the history from which a design on the safe side of failed runs is looked for."""


@compiled
def begin(s: ClosingState) -> None:
    """Begin: the incumbent is the first design; without one, the best point of the history."""
    t, c = s.counters[0], s.closing[0]
    c.is_started = 1
    c.first = t.spent
    c.seen = t.spent
    c.total = t.unallocated if c.is_fixed == 0 else _ENDLESS
    set_units(s)
    for k in range(s.uncertain.size):
        s.attack_order[k] = s.uncertain[k]
    c.has_estimate = t.has_incumbent
    c.estimate = s.incumbent_f[0]
    for k in range(max(0, t.spent - WINDOW), t.spent):
        if not math.isfinite(s.history_f[k]):
            c.failed = 1
    if t.has_incumbent == 0:
        best = _best_point(s, -np.inf)
        if best >= 0:
            copy(s.history_y[best], s.incumbent_x)
        elif t.iteration == 0:
            random_point(s, s.incumbent_x)
    add_row(s, s.incumbent_x)
    refresh(s)


@compiled
def _best_point(s: ClosingState, above: float) -> int:
    """Return the index in the history of the lowest value above a limit, of the points that can be designs; or -1."""
    best, spent = -1, s.counters[0].spent
    for k in range(max(0, spent - WINDOW), spent):
        f = s.history_f[k]
        if above < f < np.inf and (best < 0 or f < s.history_f[best]) and in_box(s, s.history_y[k]):
            best = k
    return best


@compiled
def add_row(s: ClosingState, x: Floats) -> int:
    """Add a design to those that are compared, in place of the worst if there is no room; return its row."""
    c = s.closing[0]
    row = c.rows
    if row == ROWS:
        row = -1
        for k in range(ROWS):
            if k != c.best and k != c.target and (row < 0 or s.closing_value[k] > s.closing_value[row]):
                row = k
    else:
        c.rows += 1
    copy(x, s.closing_x[row])
    s.closing_tried[row] = 0
    s.closing_screened[row] = 0
    s.closing_radius[row] = 0.5
    s.closing_runs[row] = 0
    s.closing_worst[row] = -np.inf
    s.closing_point[row] = -1
    for m in range(neighbours(s, x)):
        _take(s, row, s.neighbours[m])
    s.closing_value[row] = s.closing_worst[row]
    return row


@compiled
def _take(s: ClosingState, row: int, k: int) -> None:
    """Take a point of the history into account that is in a design's set."""
    s.closing_runs[row] += 1 if k >= s.closing[0].first else 0
    value = np.inf if np.isnan(s.history_f[k]) else s.history_f[k]
    if value > s.closing_worst[row]:
        s.closing_worst[row] = value
        s.closing_point[row] = k


@compiled
def has_worked(s: ClosingState) -> bool:
    """Whether any evaluation of a point that can be a design has worked."""
    return s.closing[0].failed == 0 or _best_point(s, -np.inf) >= 0


@compiled
def refresh(s: ClosingState) -> None:
    """Update what is known of all designs by the newest points, and choose the incumbent."""
    t, c = s.counters[0], s.closing[0]
    is_lost = t.on_failure == UNKNOWN and t.retries == 0
    for k in range(c.seen, t.spent):
        c.failed = 1 if not math.isfinite(s.history_f[k]) else c.failed
        for row in range(c.rows if is_lost or not np.isnan(s.history_f[k]) else 0):
            if holds(s.history_y[k], s.closing_x[row], s.uncertain, s.certain, t.is_box == 1, s.squared_radius[0]):
                _take(s, row, k)
    c.seen = t.spent
    for row in range(c.rows):
        s.closing_value[row] = s.closing_worst[row]
        if c.failed == 1 and s.closing_point[row] < 0:
            s.closing_value[row] = np.inf  # nothing is known of it
        if c.failed == 1 and s.closing_worst[row] < np.inf and fit_fear(s, s.closing_x[row]) > 0.0:
            s.closing_value[row] += FEARED
    best = c.best
    for row in range(c.rows):
        if s.closing_value[row] < s.closing_value[best] and _is_attacked_enough(s, row, 0):
            best = row
    c.best = best


@compiled
def _is_attacked_enough(s: ClosingState, row: int, more: int) -> bool:
    """Whether a design has had about as many attacks as the incumbent, or will have after some more."""
    best = s.closing[0].best
    if s.closing_value[best] >= FEARED:
        return s.closing_runs[row] > 0 or more > 0
    return s.closing_runs[row] + more >= _ENOUGH * s.closing_runs[best]


@compiled
def choose_target(s: ClosingState, left: int) -> int:
    """Return the design to attack next: the one that looks best, unless too few evaluations are left for it."""
    c = s.closing[0]
    target = c.best
    for row in range(c.rows):
        if s.closing_value[row] < s.closing_value[target] and _is_attacked_enough(s, row, left):
            target = row
    return target


@compiled
def place_challengers(s: ClosingState, most: int) -> None:
    """Test some challengers at the offset that is worst for the incumbent."""
    t, c = s.counters[0], s.closing[0]
    best = c.best
    if c.failed == 1 and s.closing_value[best] >= FEARED:
        _place_safe(s)
        return
    if s.closing_worst[best] == np.inf or s.closing_point[best] < 0:
        return
    while t.agents < most and _next_finalist(s, s.attack_offset):
        _test(s, s.attack_offset)
    if t.agents >= most or not _direction_away(s):
        return
    u = s.attack_trial  # the direction
    while t.agents < most and c.steps % (_STEP_COUNT + 1) < _STEP_COUNT:
        length = _STEPS[c.steps % (_STEP_COUNT + 1)]
        c.steps += 1
        for i in range(u.size):
            x = s.closing_x[best, i] + length * u[i]
            s.attack_offset[i] = min(max(x, s.lower[i]), s.upper[i])
        _test(s, s.attack_offset)
    if c.steps % (_STEP_COUNT + 1) == _STEP_COUNT:
        c.steps += 1


@compiled
def _test(s: ClosingState, x: Floats) -> bool:
    """Add a challenger, with the point at the incumbent's worst offset, if nothing worse is known of it yet.

    Next to failed runs it is moved away from them first.
    """
    c = s.closing[0]
    if c.failed == 1 and _move_to_safety(s, x) > 0.0:
        return False
    if not worst_of(s, neighbours(s, x)) < s.closing_worst[c.best] or _is_compared(s, x):
        return False
    row = add_row(s, x)
    load_row(s, c.best, s.attack_worst)
    if not put_offset(s, row, s.attack_worst, 1e-6):
        c.rows -= 1 if row == c.rows - 1 else 0
        return False
    return True


@compiled
def _is_compared(s: ClosingState, x: Floats) -> bool:
    nearest = np.inf
    for row in range(s.closing[0].rows):
        nearest = min(nearest, distance(s, x, s.closing_x[row], False))
    return nearest < 1e-3


@compiled
def _next_finalist(s: ClosingState, out: Floats) -> bool:
    """Write the next other outcome of the search to `out`; return whether there was one."""
    t, c = s.counters[0], s.closing[0]
    while True:
        k = c.finalists
        c.finalists += 1
        if s.mean.size > 0 and t.replaced == 0:
            if k >= OUTCOMES:
                return False
            if s.outcome_f[k] < np.inf:
                copy(s.outcome_x[k], out)
                return True
        else:
            if k >= t.outer_agents or t.replaced == 1:
                return False
            if s.has_best[k] and in_box(s, s.best_x[k]):
                copy(s.best_x[k], out)
                return True


@compiled
def _direction_away(s: ClosingState) -> bool:
    """Write the direction away from all bad points in the incumbent's set to `s.attack_trial`, if there is one."""
    best, units, rooms, u = s.closing[0].best, s.bad_units, s.bad_rooms, s.attack_offset
    found, low, high, count = neighbours(s, s.closing_x[best]), np.inf, s.closing_worst[best], 0
    for m in range(found):
        low = min(low, s.history_f[s.neighbours[m]])
    for m in range(found - 1, -1, -1):
        k = s.neighbours[m]
        if count < HULL and s.history_f[k] >= low + _BAD * (high - low):
            fill(u, 0.0)
            square = 0.0
            for i in s.uncertain:
                u[i] = s.history_y[k, i] - s.closing_x[best, i]
                square += u[i] * u[i]
            if square > 0.04:
                for i in range(u.size):
                    units[count, i] = u[i] / math.sqrt(square)
                count += 1
    if count == 0:
        return False
    gram, factor, p = rooms[:HULL], rooms[HULL : 2 * HULL], s.attack_trial
    work = rooms[2 * HULL + 1 : 2 * HULL + 3]
    length = minimum_norm(units, count, gram, factor, rooms[2 * HULL], s.bad_active, work, p)
    if not length > 0.05:
        return False
    for i in range(p.size):
        p[i] = -p[i] / length
    return True


@compiled
def _place_safe(s: ClosingState) -> bool:
    """Add a design that has failed runs on the other side of its whole set; return whether one was found.

    Candidates are the incumbent and the best points of the history, each moved the shortest way.
    """
    c, x = s.closing[0], s.attack_worst
    above, fear, best = -np.inf, np.inf, s.closing_x[ROWS]
    for number in range(_BASES + 1):
        if number == 0:
            copy(s.closing_x[c.best], x)
        else:
            k = _best_point(s, above)
            if k < 0:
                break
            above = s.history_f[k]
            copy(s.history_y[k], x)
        rest = _move_to_safety(s, x)
        if worst_of(s, neighbours(s, x)) < np.inf and not _is_compared(s, x) and rest < fear:
            fear = rest
            copy(x, best)
            if rest <= -0.5 * _MARGIN:
                break
    if fear == np.inf:
        return False
    row = add_row(s, best)
    neighbours(s, best)
    if fit_fear(s, best) > -np.inf:
        copy_active(s.local_slope, s.uncertain, s.attack_offset)
        _extend(s, s.attack_offset)
    else:
        random_surface(s, s.attack_offset)
    put_offset(s, row, s.attack_offset, 1e-6)
    return True


@compiled
def _extend(s: ClosingState, u: Floats) -> None:
    """Extend a direction to the surface of the set."""
    square = 1e-300
    for i in s.uncertain:
        square += u[i] * u[i]
    for i in s.uncertain:
        u[i] = (1.0 if u[i] >= 0.0 else -1.0) if s.counters[0].is_box == 1 else u[i] / math.sqrt(square)


@compiled
def _move_to_safety(s: ClosingState, x: Floats) -> float:
    """Move a point the shortest way until its whole set is on the side of working runs; return what is left to fear."""
    slope, unit, fear = s.local_slope, s.local_unit, 0.0
    for _ in range(4):
        fear = fit_fear(s, x)
        if fear <= -_MARGIN:
            return fear
        square = 0.0
        for i in range(slope.size):
            square += slope[i] * slope[i]
        factor = 1.1 * (fear + _MARGIN) / square
        factor = min(factor, 3.0 / math.sqrt(square))
        for i in range(slope.size):
            x[i] = min(max(x[i] - factor * slope[i] * unit[i], s.lower[i]), s.upper[i])
    return fit_fear(s, x)


@compiled
def place_far(s: ClosingState) -> None:
    """Add random points of the box that are far from what failed and not far from what worked."""
    t, c, x = s.counters[0], s.closing[0], s.attack_offset
    while t.agents < c.limit:
        highest, place = -np.inf, s.x[t.agents]
        for _ in range(_TRIALS):
            random_point(s, x)
            failed, working = np.inf, np.inf
            for k in range(max(0, t.spent - WINDOW), t.spent):
                gap = distance(s, s.history_y[k], x, False)
                if math.isfinite(s.history_f[k]):
                    working = min(working, gap)
                else:
                    failed = min(failed, gap)
            score = failed - working if working < np.inf else failed
            if score > highest:
                highest = score
                copy(x, place)
        t.agents += 1
