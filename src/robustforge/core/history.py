"""The history of a search: all evaluated points with their values, and the query for those near a point.

Hits are rare in high dimension, so the query runs in stages: branch-free filters over a few coordinates, then more, in
float32, block by block; and the exact distance in float64 for the remaining candidates. Points whose value is unknown
(NaN) are never in a neighbourhood; infeasible ones (+inf) are.

No index helps with balls in tens of dimensions, where most of a history is just outside a ball. So that the cost of
an evaluation does not grow with the budget, what queries may examine is counted: at least the newest `RECENT` points
each time, and of the older ones as many as `PER_EVALUATION` for each evaluation so far allow, in all.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int64

from robustforge.core.compiler import Routine, call, compiled, inlined
from robustforge.core.state import BLOCK, Array, Floats, State

RECENT = 2048
"""Points, the newest, that every query examines: up to this many evaluations, it is the whole history."""

PER_EVALUATION = 512
"""Older points that queries may examine for each evaluation so far, in all."""

_STEP = 8  # coordinates compared between two checks whether a block can be discarded
_FILTERED = 16  # coordinates compared before the remaining points of a block are compared one by one
_MANY = 8  # remaining points above which the block is compared once more as a whole instead
_SAME = 1e-9  # largest difference of coordinates with tolerance 0, as a fraction of the width of the bounds


@compiled
def remember(s: State, b: int, value: float) -> None:
    """Append the point `b` of the batch and its value."""
    t = s.counters[0]
    k = t.spent
    y, x, point, evaluated, coarse = s.batch_y[b], s.batch_x[b], s.history_y[k], s.history_x[k], s.history_coarse
    for i in range(y.size):
        point[i] = y[i]
        evaluated[i] = x[i]
        coarse[i, k] = y[i]
    s.history_f[k] = value
    t.spent = k + 1


@compiled
def neighbours(s: State, y: Floats) -> int:
    """Write the indices of the points in the set around `y` to `s.neighbours`; return their number.

    Of a long history the newest part is examined, as far as the work allows.

    Args:
        s: The state.
        y: The centre, scaled.
    """
    t = s.counters[0]
    older = max(0, t.spent - RECENT)
    examined = min(older, max(0, PER_EVALUATION * t.spent - t.examined))
    t.examined += examined
    call(s.find_neighbours_kernel[0], s, y, older - examined)
    return int(t.neighbour_count)


@compiled
def find_neighbours(s: State, y: Floats, first: int) -> None:
    """Find all points from `first` on in the set around `y`.

    Their indices are written to `s.neighbours`, and their number to the counters.

    Args:
        s: The state.
        y: The centre, scaled.
        first: The oldest point to examine, rounded down to a whole block.
    """
    stop, is_box = s.counters[0].spent, s.counters[0].is_box == 1
    points, values, near, active, exact = s.history_y, s.history_f, s.neighbours, s.uncertain, s.certain
    coarse, slack, edge = s.history_coarse, s.coarse_slack[0], s.squared_radius[0]
    certainly_near, possibly_near = np.float32(1.0) - slack, np.float32(1.0) + slack
    gaps = np.empty(BLOCK, np.float32)
    more = min(_FILTERED, active.size)
    found = 0
    for block in range(first - first % BLOCK, stop, BLOCK):
        for b in range(BLOCK):
            gaps[b] = np.float32(0.0)
        count, done = BLOCK, 0
        while count > 0 and done < more:
            widen(coarse, active, y, block, done, min(done + _STEP, more), is_box, gaps)
            count, done = _close(gaps, possibly_near), done + _STEP
        if count == 0:
            continue
        whole = active.size == more
        if count > _MANY and not whole:
            widen(coarse, active, y, block, more, active.size, is_box, gaps)
            whole = True
        whole = whole and exact.size == 0
        for k in range(block, min(block + BLOCK, stop)):
            gap = gaps[k - block]
            if gap > possibly_near or np.isnan(values[k]):
                continue
            if (whole and gap < certainly_near) or holds(points[k], y, active, exact, is_box, edge):
                near[found] = k
                found += 1
    s.counters[0].neighbour_count = found


FIND_NEIGHBOURS = Routine("find_neighbours_kernel", find_neighbours, (float64[::1], int64))


@compiled
def worst_of(s: State, found: int) -> float:
    """Return the largest value among the first `found` points of `s.neighbours`; -inf if there is none."""
    values, near = s.history_f, s.neighbours
    worst = -np.inf
    for k in range(found):
        worst = max(worst, values[near[k]])
    return worst


@inlined
def holds(point: Floats, y: Floats, active: Array, exact: Array, is_box: bool, edge: float) -> bool:
    """Whether the set around `y` holds the point; coordinates with tolerance 0 must be the same but for rounding."""
    total = 0.0
    if is_box or exact.size > 0:
        for i in active:
            gap = point[i] - y[i]
            total = max(total, gap * gap) if is_box else total + gap * gap
        for i in exact:
            if abs(point[i] - y[i]) > _SAME:
                total = np.inf
    else:
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0  # independent chains, in a fixed order
        for i in range(0, y.size - 3, 4):
            g0, g1, g2, g3 = point[i] - y[i], point[i + 1] - y[i + 1], point[i + 2] - y[i + 2], point[i + 3] - y[i + 3]
            s0, s1, s2, s3 = s0 + g0 * g0, s1 + g1 * g1, s2 + g2 * g2, s3 + g3 * g3
        for i in range(y.size - y.size % 4, y.size):
            s0 += (point[i] - y[i]) * (point[i] - y[i])
        total = (s0 + s1) + (s2 + s3)
    return total <= edge


@compiled
def widen(coarse: Array, order: Array, y: Floats, block: int, start: int, stop: int, is_box: bool, gaps: Array) -> None:
    """Take further coordinates into account in the squared gaps between a block's points and `y`.

    Args:
        coarse: The coarse copy of the history.
        order: The coordinates, of which those at the positions from `start` to `stop` are taken.
        y: A point, scaled.
        block: The first position of the block.
        start: The first position in `order`.
        stop: The position after the last.
        is_box: Whether gaps are measured in the maximum norm.
        gaps: The squared gaps so far (BLOCK,), changed in place.
    """
    for position in range(start, stop):
        i = order[position]
        centre = np.float32(y[i])
        row = coarse[i, block : block + BLOCK]
        if is_box:
            for b in range(BLOCK):
                gap = row[b] - centre
                gaps[b] = max(gaps[b], gap * gap)
        else:
            for b in range(BLOCK):
                gap = row[b] - centre
                gaps[b] += gap * gap


@inlined
def _close(gaps: Array, limit: float) -> int:
    """Count the gaps up to a limit."""
    count = 0
    for b in range(BLOCK):
        count += 1 if gaps[b] <= limit else 0
    return count
