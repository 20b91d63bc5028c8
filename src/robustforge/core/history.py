"""The history of a run: every point evaluated with its value, and the question which of them lie in a neighbourhood.

Hits are rare in high dimension, so the question is answered in two steps: a branch-free filter over the first
coordinates in float32, block by block, and the exact distance in float64 for what is left. Points whose value is
unknown (NaN) are never in a neighbourhood; infeasible ones (+inf) are.
"""

from __future__ import annotations

import numpy as np

from robustforge.core.compiler import compiled
from robustforge.core.state import BLOCK, Floats, State

_FILTERED = 16  # coordinates looked at by the filter
_FIRST = 4  # of these, looked at before a block is given up
_EDGE = 1e-9  # a sampled point stays in its own ball after rounding


@compiled
def remember(s: State, y: Floats, value: float) -> None:
    """Append a point and its value."""
    k = s.tally[0].spent
    for i in range(s.tally[0].dimension):
        s.points[k, i] = y[i]
        s.coarse[i, k] = y[i]
    s.values[k] = value
    s.tally[0].spent = k + 1


@compiled
def neighbours(s: State, y: Floats, start: int, found: int) -> int:
    """Add the places of the points from `start` on that lie in the set around `y` to `s.near`; return how many it has.

    Args:
        s: The state.
        y: The centre, scaled.
        start: The first place looked at.
        found: How many places `s.near` holds already.
    """
    stop = s.tally[0].spent
    gaps = np.empty(BLOCK, np.float32)
    limit = np.float32(1.0) + s.slack[0]
    first = start - start % BLOCK
    for block in range(first, stop, BLOCK):
        if s.tally[0].is_box == 1:
            open_block = _box_gaps(s, y, block, gaps, limit)
        else:
            open_block = _ball_gaps(s, y, block, gaps, limit)
        if not open_block:
            continue
        for k in range(max(start, block), min(block + BLOCK, stop)):
            if gaps[k - block] <= limit and holds(s, y, s.points[k]) and not np.isnan(s.values[k]):
                s.near[found] = k
                found += 1
    return found


@compiled
def holds(s: State, y: Floats, point: Floats) -> bool:
    """Whether the set around `y` holds the point; coordinates with tolerance 0 must be equal."""
    total = 0.0
    for i in s.active:
        gap = abs(point[i] - y[i])
        total = max(total, gap * gap) if s.tally[0].is_box == 1 else total + gap * gap
    if total > 1.0 + _EDGE:
        return False
    for i in s.exact:
        if point[i] != y[i]:
            return False
    return True


@compiled
def worst_of(s: State, found: int) -> float:
    """Return the largest value among the first `found` points of `s.near`; -inf if there is none."""
    worst = -np.inf
    for k in range(found):
        worst = max(worst, s.values[s.near[k]])
    return worst


@compiled
def _ball_gaps(s: State, y: Floats, block: int, gaps: Floats, limit: float) -> bool:
    """Write squared distances in the first coordinates to `gaps`; return whether any may be close enough."""
    gaps[:] = np.float32(0.0)
    count = min(_FILTERED, s.active.size)
    for done in range(count):
        i = s.active[done]
        centre = np.float32(y[i])
        row = s.coarse[i, block : block + BLOCK]
        for b in range(BLOCK):
            gap = row[b] - centre
            gaps[b] += gap * gap
        if done == _FIRST - 1 and not _any_below(gaps, limit):
            return False
    return True


@compiled
def _box_gaps(s: State, y: Floats, block: int, gaps: Floats, limit: float) -> bool:
    """The same in the maximum norm."""
    gaps[:] = np.float32(0.0)
    count = min(_FILTERED, s.active.size)
    for done in range(count):
        i = s.active[done]
        centre = np.float32(y[i])
        row = s.coarse[i, block : block + BLOCK]
        for b in range(BLOCK):
            gap = abs(row[b] - centre)
            gaps[b] = gap if gap > gaps[b] else gaps[b]
        if done == _FIRST - 1 and not _any_below(gaps, limit):
            return False
    return True


@compiled
def _any_below(gaps: Floats, limit: float) -> bool:
    hits = 0
    for b in range(BLOCK):
        hits += 1 if gaps[b] <= limit else 0
    return hits > 0
