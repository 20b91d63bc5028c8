"""Cliffs: places where the objective jumps. Found on lines, located by halving, and turned into the shortest step over.

A cliff met on a line is a piece of a surface. Where lines beside the first one meet it gives its normal, and along the
normal the step over it takes the least radius, which leaves most for others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robustforge.core.linear_algebra import dot, norm, norms
from robustforge.verification.target import Target

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

STEEP = 4.0
"""How many times steeper than its neighbours an interval of a line must be to be searched for a cliff."""

PER_SEGMENT = 3
"""Intervals of a segment that are searched for a cliff, at most."""

_HALVINGS = 40
_BESIDE = 1e-3
_REACH = 10.0
_SAME = 1e-3


@dataclass(frozen=True)
class Cliff:
    """A rising step of the objective.

    Attributes:
        normal: The direction straight over it, of length 1 (m,).
        distance: How far it is from the centre of the set, along the normal.
        height: By how much the objective rises there.
    """

    normal: Floats
    distance: float
    height: float


def steep(steps: Floats, values: Floats, most: int) -> tuple[Integers, Integers]:
    """Find the intervals that are much steeper than both their neighbours.

    Args:
        steps: Places on a line (k,).
        values: The values there, one row per line (lines, k).
        most: How many intervals of a line may be returned.

    Returns:
        The line and the left end of each interval.
    """
    rise = np.abs(np.diff(values, axis=1))
    slope = rise / np.diff(steps)
    beside = np.zeros_like(slope)
    beside[:, 1:] = slope[:, :-1]
    beside[:, :-1] = np.maximum(beside[:, :-1], slope[:, 1:])
    visible = 1e-9 * np.ptp(values) + 1e-13 * np.abs(values).max()
    score = np.where((slope > STEEP * beside) & (rise > visible), rise, 0.0)
    order = np.argsort(-score, axis=1, kind="stable")[:, :most]
    line, rank = np.nonzero(np.take_along_axis(score, order, axis=1))
    return line, order[line, rank]


def locate(
    target: Target,
    base: Floats,
    directions: Floats,
    ends: tuple[Floats, Floats],
    values: tuple[Floats, Floats],
) -> tuple[Floats, Floats, Floats, Floats]:
    """Halve intervals of lines, always keeping the half with the greater change.

    Args:
        target: What is evaluated.
        base: Where the lines start (m,).
        directions: Where they go (k, m).
        ends: Left and right ends of the intervals, as multiples of the direction.
        values: The values at both ends.

    Returns:
        The narrow intervals and the values at their ends; NaN where the change vanished, that is where there is none.
    """
    (low, high), (at_low, at_high) = (np.array(ends), np.array(values))
    first = np.abs(at_high - at_low)
    alive = np.arange(low.size)
    for halving in range(_HALVINGS):
        if halving == 10:
            gone = np.abs(at_high - at_low)[alive] < 0.2 * first[alive]
            low[alive[gone]] = high[alive[gone]] = np.nan
            alive = alive[~gone]
        if not alive.size:
            break
        middle = (low[alive] + high[alive]) / 2
        value = target.on_lines(base, directions[alive], middle)
        lower = np.abs(value - at_low[alive]) > np.abs(at_high[alive] - value)
        high[alive[lower]], at_high[alive[lower]] = middle[lower], value[lower]
        low[alive[~lower]], at_low[alive[~lower]] = middle[~lower], value[~lower]
    return low, high, at_low, at_high


def on_segments(target: Target, ends: Floats, most: int) -> list[Cliff]:
    """Find rising cliffs between the centre of the ball and some points, and their normals.

    Args:
        target: What is evaluated.
        ends: The points (k, m).
        most: How many cliffs to straighten.

    Returns:
        The cliffs, those that are highest for the square of their distance first.
    """
    grid, centre = np.linspace(0.0, 1.0, 49), np.zeros(target.size)
    values = target.on_lines(centre, np.repeat(ends, grid.size, axis=0), np.tile(grid, len(ends)))
    values = values.reshape(len(ends), -1)
    line, left = steep(grid, values, PER_SEGMENT)
    rising = values[line, left + 1] > values[line, left]
    line, left = line[rising], left[rising]
    low, high, at_low, at_high = locate(
        target, centre, ends[line], (grid[left], grid[left + 1]), (values[line, left], values[line, left + 1])
    )
    cliffs: list[Cliff] = []
    for k in _promising(low, high, at_high - at_low, ends[line]):
        if most > 0 and not any(_on(cliff, high[k] * ends[line[k]]) for cliff in cliffs):
            most -= 1
            found = _straighten(target, ends[line[k]], float(high[k]), float(at_low[k]), float(at_high[k]))
            cliffs += [found] if found else []
    return sorted(cliffs, key=lambda cliff: cliff.distance * cliff.distance / cliff.height)


def _promising(low: Floats, high: Floats, heights: Floats, ends: Floats) -> list[int]:
    """Return the numbers of the rising cliffs inside the set, those first that are highest for the radius they take."""
    real = np.flatnonzero(np.isfinite(low) & (high < 1.0) & (heights > 0))
    costs = np.square(high[real] * norms(ends[real])) / heights[real]
    return [int(k) for k in real[np.argsort(costs, kind="stable")]]


def _on(cliff: Cliff, point: Floats) -> bool:
    return abs(dot(cliff.normal, point) - cliff.distance) < _SAME


def _straighten(target: Target, end: Floats, at: float, below: float, above: float) -> Cliff | None:
    """Return the cliff that is met at `at` times `end`, with its normal, if a step along the normal does go over it."""
    normal = _normal(target, end, at, (below + above) / 2)
    if normal is None:
        return None
    estimate = dot(normal, end) * at
    centre, across = np.zeros(target.size), np.tile(normal, (2, 1))
    ends = np.minimum(np.array([1.0 - _BESIDE, 1.0 + _BESIDE]) * estimate, 1.0)
    values = target.on_lines(centre, across, ends)
    _, high, at_low, at_high = locate(target, centre, across[:1], (ends[:1], ends[1:]), (values[:1], values[1:]))
    if not at_high[0] - at_low[0] > (above - below) / 2 or np.isnan(high[0]):
        return None
    return Cliff(normal, float(high[0]), above - below)


def _normal(target: Target, end: Floats, at: float, level: float) -> Floats | None:
    """Return the normal of the cliff that is met at `at` times `end`: one line beside that one for every coordinate.

    Each line is as far aside in its coordinate; how much sooner or later it meets the cliff is in proportion to the
    coordinate of the normal.
    """
    m = target.size
    sides = np.where(end > 0, -1.0, 1.0)
    aside = min(_BESIDE, (1.0 - at) / (2.0 * _REACH))
    low, high = np.full(m, at - _REACH * aside), np.full(m, at + _REACH * aside)
    bases, directions = np.diag(aside * sides), np.tile(end, (m, 1))
    for _ in range(20):
        middle = (low + high) / 2
        over = target.on_lines(bases, directions, middle) > level
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    normal: Floats = (at - (low + high) / 2) * sides
    length = norm(normal)
    return normal * (np.sign(dot(normal, end)) / length) if length > 0 else None
