"""The history of a run: every point evaluated with its value, and the question which of them lie in a neighbourhood.

Hits are rare in high dimension, so the question is answered in two steps: a branch-free filter over the first
coordinates in float32, block by block, and the exact distance in float64 for what is left. Points whose value is
unknown (NaN) are never in a neighbourhood; infeasible ones (+inf) are.
"""

from __future__ import annotations

import numpy as np

from robustforge.core.compiler import compiled, inlined
from robustforge.core.state import BLOCK, Array, Floats, State

_FILTERED = 16  # coordinates looked at by the filter
_FIRST = 4  # of these, looked at before a block is given up
_EDGE = 1e-9  # a sampled point stays in its own ball after rounding


@inlined
def remember(s: State, y: Floats, value: float) -> None:
    """Append a point and its value."""
    t = s.tally[0]
    k = t.spent
    point, coarse = s.points[k], s.coarse
    for i in range(y.size):
        point[i] = y[i]
        coarse[i, k] = y[i]
    s.values[k] = value
    t.spent = k + 1


@compiled
def neighbours(s: State, y: Floats) -> int:
    """Write the places of all points that lie in the set around `y` to `s.near`; return how many there are.

    Args:
        s: The state.
        y: The centre, scaled.
    """
    stop, is_box = s.tally[0].spent, s.tally[0].is_box == 1
    points, values, near, active, exact = s.points, s.values, s.near, s.active, s.exact
    coarse, limit = s.coarse, np.float32(1.0) + s.slack[0]
    gaps = np.empty(BLOCK, np.float32)
    found = 0
    for block in range(0, stop, BLOCK):
        if not _filter(coarse, active, y, block, is_box, limit, gaps):
            continue
        for k in range(block, min(block + BLOCK, stop)):
            if gaps[k - block] <= limit and not np.isnan(values[k]) and _holds(points[k], y, active, exact, is_box):
                near[found] = k
                found += 1
    return found


@inlined
def worst_of(s: State, found: int) -> float:
    """Return the largest value among the first `found` points of `s.near`; -inf if there is none."""
    values, near = s.values, s.near
    worst = -np.inf
    for k in range(found):
        worst = max(worst, values[near[k]])
    return worst


@inlined
def _holds(point: Floats, y: Floats, active: Array, exact: Array, is_box: bool) -> bool:
    """Whether the set around `y` holds the point; coordinates with tolerance 0 must be equal."""
    total = 0.0
    for i in active:
        gap = point[i] - y[i]
        total = max(total, gap * gap) if is_box else total + gap * gap
    equal = True
    for i in exact:
        equal = equal and point[i] == y[i]
    return equal and total <= 1.0 + _EDGE


@inlined
def _filter(coarse: Array, active: Array, y: Floats, block: int, is_box: bool, limit: float, gaps: Array) -> bool:
    """Write the squared gaps of a block in the first coordinates to `gaps`; return whether any may be close enough."""
    for b in range(BLOCK):
        gaps[b] = np.float32(0.0)
    for done in range(min(_FILTERED, active.size)):
        i = active[done]
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
        if done == _FIRST - 1:
            hits = 0
            for b in range(BLOCK):
                hits += 1 if gaps[b] <= limit else 0
            if hits == 0:
                return False
    return True
