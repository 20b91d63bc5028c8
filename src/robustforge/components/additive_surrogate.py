"""Additive surrogate: samples along each axis, an interpolant of each, and the worst case of their sum.

The samples of an axis are interpolated by blended parabolas, on a grid. The worst case of the sum over a ball is, by
a multiplier l for its radius,

    min over l of  l Gamma^2 + sum over i of  max over |d| <= Gamma of  h_i(t_i + d) - l d^2

and each term is minimised over t_i by itself.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import numpy as np

from robustforge.components.outer import OuterState
from robustforge.core.agents import fill
from robustforge.core.compiler import compiled
from robustforge.core.portable_math import exp, log
from robustforge.core.state import ONE, Floats, Integers, Shape

if TYPE_CHECKING:
    from robustforge.components.coordinate_search import CoordinateSearch

GRID = 256
"""Points of an axis at which its interpolant is evaluated."""

PART = 16
"""Points of the grid that are excluded together, by the minimum over them."""

_WIDEST = 1e300
"""Range of values from which on sums of them may overflow."""

_COARSE, _RATIO = 9, 2.0
"""Multipliers that are tried first, and the logarithm of the ratio of two of them."""

_GOLDEN, _STEPS, _FEWER_STEPS = (math.sqrt(5.0) - 1.0) / 2.0, 7, 3


class AdditiveState(OuterState):
    """The samples and interpolants of a coordinate search, per axis."""

    multiplier: Annotated[Floats, ONE, "the multiplier of the ball's radius"]
    axis_x: Annotated[Floats, Shape("axes", "axis_samples"), "positions of the samples, sorted"]
    axis_f: Annotated[Floats, Shape("axes", "axis_samples"), "their values"]
    axis_count: Annotated[Integers, Shape("axes"), "number of samples"]
    axis_changed: Annotated[
        Integers, Shape("axes", 2), "first and last grid point where the interpolant is out of date"
    ]
    axis_grid: Annotated[Floats, Shape("axes", GRID), "the interpolant on the grid"]
    axis_part_minimum: Annotated[Floats, Shape("axes", GRID // PART), "its minimum in each part of the grid"]
    axis_range: Annotated[Floats, Shape("axes"), "its range"]
    axis_argmin: Annotated[Integers, Shape("axes"), "grid point where its worst case is best"]


@compiled
def first_above(positions: Floats, count: int, position: float) -> int:
    """Return the first of the sorted samples beyond a position; `count` if there is none."""
    low, high = 0, count
    while low < high:
        centre = (low + high) // 2
        if positions[centre] > position:
            high = centre
        else:
            low = centre + 1
    return low


@compiled
def insert(s: AdditiveState, i: int, position: float, value: float) -> None:
    """Add a sample to those of an axis, which are sorted; one at the position of another is ignored."""
    positions, values, count = s.axis_x[i], s.axis_f[i], s.axis_count[i]
    k = first_above(positions, count, position)
    closest = 1e-12 * (s.upper[i] - s.lower[i])
    if (
        count == positions.size
        or (k > 0 and position - positions[k - 1] <= closest)
        or (k < count and positions[k] - position <= closest)
    ):
        return
    for m in range(count, k, -1):
        positions[m], values[m] = positions[m - 1], values[m - 1]
    positions[k], values[k] = position, value
    s.axis_count[i] = count + 1
    changed = s.axis_changed[i]  # the interpolant changes in at most three intervals on either side
    per_cell = (GRID - 1) / (s.upper[i] - s.lower[i])
    if k >= 2 and value < np.inf:
        changed[0] = min(changed[0], int((positions[k - 2] - s.lower[i]) * per_cell))
    else:
        changed[0] = 0
    if k + 2 <= count and value < np.inf:
        changed[1] = max(changed[1], int((positions[k + 2] - s.lower[i]) * per_cell) + 1)
    else:
        changed[1] = GRID - 1


@compiled
def interpolated(positions: Floats, values: Floats, count: int, k: int, t: float, ceiling: float) -> float:
    """Return the interpolant between samples `k` and `k + 1`: two parabolas through three samples each, blended."""
    h0, h1 = min(values[k], ceiling), min(values[k + 1], ceiling)
    gap = positions[k + 1] - positions[k]
    slope = (h1 - h0) / gap
    w = (t - positions[k]) / gap
    if w < 0.0 or w > 1.0:
        return h0 if w < 0.0 else h1
    left, right, has_left, has_right = 0.0, 0.0, k > 0, k + 2 < count
    if has_left:
        before = (h0 - min(values[k - 1], ceiling)) / (positions[k] - positions[k - 1])
        left = (slope - before) / (positions[k + 1] - positions[k - 1])
    if has_right:
        after = (min(values[k + 2], ceiling) - h1) / (positions[k + 2] - positions[k + 1])
        right = (after - slope) / (positions[k + 2] - positions[k])
    bend = (1.0 - w) * left + w * right if has_left and has_right else left + right
    return float(h0 + slope * (t - positions[k]) + bend * (t - positions[k]) * (t - positions[k + 1]))


@compiled
def interpolate(s: AdditiveState, i: int) -> float:
    """Update the interpolant of an axis on its grid; return its range. Infeasible samples count as the worst others."""
    positions, values, count, grid = s.axis_x[i], s.axis_f[i], s.axis_count[i], s.axis_grid[i]
    low, high = np.inf, -np.inf
    for k in range(count):
        low = min(low, values[k])
        if values[k] < np.inf:
            high = max(high, values[k])
        else:
            s.axis_changed[i, 0], s.axis_changed[i, 1] = 0, GRID - 1
    if count < 2 or not low < high or not high - low < _WIDEST:
        fill(grid, low if low < np.inf else 0.0)
        fill(s.axis_part_minimum[i], grid[0])
        s.axis_range[i] = 0.0
        return 0.0
    ceiling, changed = high + (high - low), s.axis_changed[i]
    k = 0
    for q in range(changed[0], min(changed[1], GRID - 1) + 1):
        t = grid_position(s, i, float(q))
        while k < count - 2 and positions[k + 1] <= t:
            k += 1
        grid[q] = interpolated(positions, values, count, k, t, ceiling)
    changed[0], changed[1] = GRID, -1
    s.axis_range[i] = _range(grid)
    _find_part_minima(grid, s.axis_part_minimum[i])
    return high - low


@compiled
def _range(grid: Floats) -> float:
    """Return the range of values on a grid; four at a time, twice as fast as NumPy's."""
    a, b, c, d = grid[0], grid[1], grid[2], grid[3]
    e, f, g, h = a, b, c, d
    for k in range(0, GRID, 4):
        a, b, c, d = max(a, grid[k]), max(b, grid[k + 1]), max(c, grid[k + 2]), max(d, grid[k + 3])
        e, f, g, h = min(e, grid[k]), min(f, grid[k + 1]), min(g, grid[k + 2]), min(h, grid[k + 3])
    return float(max(a, b, c, d) - min(e, f, g, h))


@compiled
def _find_part_minima(grid: Floats, minima: Floats) -> None:
    """Write the minimum over each part of a grid to `minima`."""
    for part in range(minima.size):
        least = grid[part * PART]
        for k in range(part * PART + 1, (part + 1) * PART):
            least = min(least, grid[k])
        minima[part] = least


@compiled
def grid_position(s: AdditiveState, i: int, q: float) -> float:
    """Return the position of a grid point on its axis; a fraction is between two of them."""
    return s.lower[i] + (s.upper[i] - s.lower[i]) * q / (GRID - 1)


@compiled
def worst_at(values: Floats, a: float, steps: int, p: int) -> float:
    """Return max over q of values[q] - a (p - q)^2, with |p - q| <= steps."""
    worst = values[p]
    for q in range(max(0, p - steps), min(values.size, p + steps + 1)):
        worst = max(worst, values[q] - a * (p - q) * (p - q))
    return worst


@compiled
def lowest(values: Floats, minima: Floats, a: float, steps: int, guess: int) -> tuple[int, float]:
    """Return the p with the lowest `worst_at`, and that value; with a good guess, most others are excluded at once:

    by the minimum over their part of the grid, by their own value, or by the point that excluded the one before.
    """
    best, best_p, excluding = worst_at(values, a, steps, guess), guess, guess
    for part in range(minima.size):
        if minima[part] >= best:
            continue
        for p in range(part * PART, (part + 1) * PART):
            offset = p - excluding
            if values[p] >= best or (abs(offset) <= steps and values[excluding] - a * offset * offset >= best):
                continue
            worst = -np.inf
            for q in range(max(0, p - steps), min(values.size, p + steps + 1)):
                value = values[q] - a * (p - q) * (p - q)
                if value > worst:
                    worst, excluding = value, q
                    if worst >= best:
                        break
            if worst < best:
                best, best_p = worst, p
    return best_p, best


@compiled
def disturbance_cost(s: AdditiveState, i: int, multiplier: float) -> tuple[float, int]:
    """Return the cost of a squared step on the grid of an axis, and how many steps can be worth their cost."""
    p: CoordinateSearch = s.outer[0]
    cell = (s.upper[i] - s.lower[i]) / (GRID - 1)
    if cell == 0.0:
        return 0.0, 0
    for k in s.certain:
        if k == i:
            return 0.0, 0
    if s.counters[0].is_box == 1:
        return 0.0, int(min(1.0 / cell + 0.5, float(GRID)))
    furthest = min(p.protected_radius / cell + 0.5, float(GRID))  # no variable alone goes further than the ball
    a = multiplier * cell * cell
    return a, int(min(furthest, math.sqrt(s.axis_range[i] / a) + 1.0))


@compiled
def minimise_axis(s: AdditiveState, i: int, multiplier: float) -> float:
    """Minimise the worst case along an axis, given the cost of disturbances; return the minimum."""
    a, steps = disturbance_cost(s, i, multiplier)
    s.axis_argmin[i], worst = lowest(s.axis_grid[i], s.axis_part_minimum[i], a, steps, s.axis_argmin[i])
    return worst


@compiled
def _bound(s: AdditiveState, multiplier: float) -> float:
    """Return the worst case of the best design for a multiplier, up to a constant."""
    p: CoordinateSearch = s.outer[0]
    total = multiplier * p.protected_radius * p.protected_radius
    for i in range(s.counters[0].dimension):
        total += minimise_axis(s, i, multiplier)
    return total


@compiled
def adjust_multiplier(s: AdditiveState, value_range: float, from_scratch: bool) -> None:
    """Find the multiplier with the lowest bound by golden section search; from scratch, after a coarse scan."""
    near, steps = log(max(s.multiplier[0], 1e-300)), _FEWER_STEPS
    if from_scratch:
        first, lowest, steps = log(value_range) - 0.5 * (_COARSE - 1) * _RATIO, np.inf, _STEPS
        for k in range(_COARSE):
            value = _bound(s, exp(first + k * _RATIO))
            if value < lowest:
                near, lowest = first + k * _RATIO, value
    low, high = near - _RATIO, near + _RATIO
    one, two = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_one, at_two = _bound(s, exp(one)), _bound(s, exp(two))
    for _ in range(steps):
        if at_one < at_two:
            high, two, at_two = two, one, at_one
            one = high - _GOLDEN * (high - low)
            at_one = _bound(s, exp(one))
        else:
            low, one, at_one = one, two, at_two
            two = low + _GOLDEN * (high - low)
            at_two = _bound(s, exp(two))
    s.multiplier[0] = exp(one if at_one < at_two else two)
