"""The history of a run: every point evaluated with its value, and the question which of them lie in a neighbourhood.

Hits are rare in high dimension, so the question is answered in steps: branch-free filters over a few coordinates, then
more, in float32, block by block; and the exact distance in float64 for what these leave in doubt. Points whose value is
unknown (NaN) are never in a neighbourhood; infeasible ones (+inf) are.

No index helps with balls in tens of dimensions, where most of a history lies just outside a ball. So that the cost of
an evaluation does not grow with the budget, what queries may examine is counted: at least the newest `RECENT` points
each time, and of the older ones as many as `PER_EVALUATION` for each evaluation so far allow, in all.
"""

from __future__ import annotations

import numpy as np

from robustforge.core.compiler import call, compiled, inlined
from robustforge.core.state import BLOCK, Array, Floats, State

RECENT = 2048
"""Points, the newest, that every query examines: up to this many evaluations, it is the whole history."""

PER_EVALUATION = 512
"""Older points that queries may examine for each evaluation so far, in all."""

_STEP = 8  # coordinates looked at before it is asked whether a block can be given up
_FILTERED = 16  # coordinates looked at before the points that are left are looked at one by one,
_SAME = 1e-9  # how far coordinates with tolerance 0 may be apart, as a share of the box width
_MANY = 8  # or, where they are more than this, once more together


@compiled
def remember(s: State, b: int, value: float) -> None:
    """Append the point `b` of the batch and its value."""
    t = s.tally[0]
    k = t.spent
    y, x, point, evaluated, coarse = s.batch_y[b], s.batch_x[b], s.points[k], s.evaluated_x[k], s.coarse
    for i in range(y.size):
        point[i] = y[i]
        evaluated[i] = x[i]
        coarse[i, k] = y[i]
    s.values[k] = value
    t.spent = k + 1


@compiled
def neighbours(s: State, y: Floats) -> int:
    """Write the indices of the points that lie in the set around `y` to `s.near`; return how many there are.

    Of a long history the newest part is examined, as far as the work allows.

    Args:
        s: The state.
        y: The centre, scaled.
    """
    t = s.tally[0]
    older = max(0, t.spent - RECENT)
    examined = min(older, max(0, PER_EVALUATION * t.spent - t.examined))
    t.examined += examined
    call(s.routines[0].neighbours, s, y, older - examined)
    return t.near


@compiled
def find_neighbours(s: State, y: Floats, first: int) -> None:
    """Write the indices of all points from `first` on that lie in the set around `y` to `s.near`, their number to
    the tally.

    Args:
        s: The state.
        y: The centre, scaled.
        first: The oldest point to examine, rounded down to a whole block.
    """
    stop, is_box = s.tally[0].spent, s.tally[0].is_box == 1
    points, values, near, active, exact = s.points, s.values, s.near, s.active, s.exact
    coarse, slack, edge = s.coarse, s.slack[0], s.edge[0]
    surely, maybe = np.float32(1.0) - slack, np.float32(1.0) + slack
    gaps = np.empty(BLOCK, np.float32)
    more = min(_FILTERED, active.size)
    found = 0
    for block in range(first - first % BLOCK, stop, BLOCK):
        for b in range(BLOCK):
            gaps[b] = np.float32(0.0)
        count, done = BLOCK, 0
        while count > 0 and done < more:
            widen(coarse, active, y, block, done, min(done + _STEP, more), is_box, gaps)
            count, done = _close(gaps, maybe), done + _STEP
        if count == 0:
            continue
        whole = active.size == more
        if count > _MANY and not whole:
            widen(coarse, active, y, block, more, active.size, is_box, gaps)
            whole = True
        whole = whole and exact.size == 0
        for k in range(block, min(block + BLOCK, stop)):
            gap = gaps[k - block]
            if gap > maybe or np.isnan(values[k]):
                continue
            if (whole and gap < surely) or _holds(points[k], y, active, exact, is_box, edge):
                near[found] = k
                found += 1
    s.tally[0].near = found


@compiled
def worst_of(s: State, found: int) -> float:
    """Return the largest value among the first `found` points of `s.near`; -inf if there is none."""
    values, near = s.values, s.near
    worst = -np.inf
    for k in range(found):
        worst = max(worst, values[near[k]])
    return worst


@inlined
def _holds(point: Floats, y: Floats, active: Array, exact: Array, is_box: bool, edge: float) -> bool:
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
        order: The coordinates, of which those at the places from `start` to `stop` are taken.
        y: A point, scaled.
        block: The first place of the block.
        start: The first place in `order`.
        stop: The place after the last.
        is_box: Whether gaps are measured in the maximum norm.
        gaps: The squared gaps so far (BLOCK,), changed in place.
    """
    for place in range(start, stop):
        i = order[place]
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
