"""Cliffs: discontinuities of the objective, found on lines, located by bisection, and crossed along their normals.

A cliff on a line is a point of a surface of discontinuity. The intersections of parallel lines with the surface give
its normal, along which the step across takes the least radius and leaves the most for other directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robustforge.core.linear_algebra import dot, norm, norms
from robustforge.verification.counted_objective import CountedObjective

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

STEEPNESS = 4.0
"""An interval of a line is searched for a cliff if it is this many times steeper than its neighbours."""

MAX_INTERVALS = 3
"""Maximum number of intervals of a segment that are searched for a cliff."""

_BISECTIONS = 40
_OFFSET = 1e-3
_SEARCH_WIDTH = 10.0
_SAME_DISTANCE = 1e-3


@dataclass(frozen=True)
class Cliff:
    """A discontinuity at which the objective increases.

    Attributes:
        normal: Its unit normal (m,).
        distance: Its distance from the centre of the set, along the normal.
        height: The increase of the objective.
    """

    normal: Floats
    distance: float
    height: float


def steep_intervals(steps: Floats, values: Floats, most: int) -> tuple[Integers, Integers]:
    """Return the intervals that are much steeper than both their neighbours.

    Args:
        steps: Positions on a line (k,).
        values: Values at the positions, one row per line (lines, k).
        most: Maximum number of intervals per line.

    Returns:
        The line and the left end of each interval.
    """
    rise = np.abs(np.diff(values, axis=1))
    slope = rise / np.diff(steps)
    adjacent = np.zeros_like(slope)
    adjacent[:, 1:] = slope[:, :-1]
    adjacent[:, :-1] = np.maximum(adjacent[:, :-1], slope[:, 1:])
    noise = 1e-9 * np.ptp(values) + 1e-13 * np.abs(values).max()
    score = np.where((slope > STEEPNESS * adjacent) & (rise > noise), rise, 0.0)
    order = np.argsort(-score, axis=1, kind="stable")[:, :most]
    line, rank = np.nonzero(np.take_along_axis(score, order, axis=1))
    return line, order[line, rank]


def bisect_jumps(
    objective: CountedObjective,
    base: Floats,
    directions: Floats,
    ends: tuple[Floats, Floats],
    values: tuple[Floats, Floats],
) -> tuple[Floats, Floats, Floats, Floats]:
    """Bisect intervals of lines, always keeping the half with the larger change.

    Args:
        objective: The objective.
        base: The start of the lines (m,).
        directions: Their directions (k, m).
        ends: Left and right ends of the intervals, as multiples of the direction.
        values: The values at both ends.

    Returns:
        The narrowed intervals and the values at their ends; NaN where the change vanishes, so that there is no jump.
    """
    (low, high), (at_low, at_high) = (np.array(ends), np.array(values))
    first = np.abs(at_high - at_low)
    active = np.arange(low.size)
    for iteration in range(_BISECTIONS):
        if iteration == 10:
            vanished = np.abs(at_high - at_low)[active] < 0.2 * first[active]
            low[active[vanished]] = high[active[vanished]] = np.nan
            active = active[~vanished]
        if not active.size:
            break
        middle = (low[active] + high[active]) / 2
        value = objective.on_lines(base, directions[active], middle)
        lower = np.abs(value - at_low[active]) > np.abs(at_high[active] - value)
        high[active[lower]], at_high[active[lower]] = middle[lower], value[lower]
        low[active[~lower]], at_low[active[~lower]] = middle[~lower], value[~lower]
    return low, high, at_low, at_high


def find_cliffs(objective: CountedObjective, ends: Floats, most: int) -> list[Cliff]:
    """Return increasing cliffs between the centre of the ball and some points, with their normals.

    Args:
        objective: The objective.
        ends: The points (k, m).
        most: Maximum number of cliffs whose normals are estimated.

    Returns:
        The cliffs, in the order of squared distance per height.
    """
    grid, centre = np.linspace(0.0, 1.0, 49), np.zeros(objective.size)
    values = objective.on_lines(centre, np.repeat(ends, grid.size, axis=0), np.tile(grid, len(ends)))
    values = values.reshape(len(ends), -1)
    line, left = steep_intervals(grid, values, MAX_INTERVALS)
    increasing = values[line, left + 1] > values[line, left]
    line, left = line[increasing], left[increasing]
    low, high, at_low, at_high = bisect_jumps(
        objective, centre, ends[line], (grid[left], grid[left + 1]), (values[line, left], values[line, left + 1])
    )
    cliffs: list[Cliff] = []
    for k in _by_cost(low, high, at_high - at_low, ends[line]):
        if most > 0 and not any(_is_on(cliff, high[k] * ends[line[k]]) for cliff in cliffs):
            most -= 1
            found = _estimate_cliff(objective, ends[line[k]], float(high[k]), float(at_low[k]), float(at_high[k]))
            cliffs += [found] if found else []
    return sorted(cliffs, key=lambda cliff: cliff.distance * cliff.distance / cliff.height)


def _by_cost(low: Floats, high: Floats, heights: Floats, ends: Floats) -> list[int]:
    """Return the indices of the increasing cliffs inside the set, in the order of squared distance per height."""
    valid = np.flatnonzero(np.isfinite(low) & (high < 1.0) & (heights > 0))
    costs = np.square(high[valid] * norms(ends[valid])) / heights[valid]
    return [int(k) for k in valid[np.argsort(costs, kind="stable")]]


def _is_on(cliff: Cliff, point: Floats) -> bool:
    return abs(dot(cliff.normal, point) - cliff.distance) < _SAME_DISTANCE


def _estimate_cliff(objective: CountedObjective, end: Floats, at: float, below: float, above: float) -> Cliff | None:
    """Return the cliff at `at` times `end`, with its normal; `None` if a step along the normal does not cross it."""
    normal = _estimate_normal(objective, end, at, (below + above) / 2)
    if normal is None:
        return None
    estimate = dot(normal, end) * at
    centre, across = np.zeros(objective.size), np.tile(normal, (2, 1))
    ends = np.minimum(np.array([1.0 - _OFFSET, 1.0 + _OFFSET]) * estimate, 1.0)
    values = objective.on_lines(centre, across, ends)
    _, high, at_low, at_high = bisect_jumps(
        objective, centre, across[:1], (ends[:1], ends[1:]), (values[:1], values[1:])
    )
    if not at_high[0] - at_low[0] > (above - below) / 2 or np.isnan(high[0]):
        return None
    return Cliff(normal, float(high[0]), above - below)


def _estimate_normal(objective: CountedObjective, end: Floats, at: float, level: float) -> Floats | None:
    """Return the normal of the cliff at `at` times `end`, from one parallel line per coordinate.

    Each line is displaced by the same distance in its coordinate; the displacement of its intersection with the cliff
    is proportional to that coordinate of the normal.
    """
    m = objective.size
    sides = np.where(end > 0, -1.0, 1.0)
    offset = min(_OFFSET, (1.0 - at) / (2.0 * _SEARCH_WIDTH))
    low, high = np.full(m, at - _SEARCH_WIDTH * offset), np.full(m, at + _SEARCH_WIDTH * offset)
    bases, directions = np.diag(offset * sides), np.tile(end, (m, 1))
    for _ in range(20):
        middle = (low + high) / 2
        over = objective.on_lines(bases, directions, middle) > level
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    normal: Floats = (at - (low + high) / 2) * sides
    length = norm(normal)
    return normal * (np.sign(dot(normal, end)) / length) if length > 0 else None
