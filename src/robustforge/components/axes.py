"""What is known along each axis: samples, an emulator through them, and how bad the sum of all axes can get.

Along an axis the samples are interpolated by blended parabolas, on a grid. The worst case of the sum over a ball is, by
a multiplier l for its radius,

    min over l of  l Gamma^2 + sum over i of  max over |d| <= Gamma of  h_i(t_i + d) - l d^2

and each term is minimised over t_i by itself.
"""

from __future__ import annotations

import math

import numpy as np

from robustforge.core.compiler import compiled
from robustforge.core.elementary import exp, log
from robustforge.core.state import Floats, Plan, State, StateField, fill

GRID = 256
"""Points of an axis at which its emulator is evaluated."""

PART = 16
"""Points of the grid that are ruled out together, by the lowest of them."""

_WIDEST = 1e300
"""Range of values from which on sums of them may overflow, so that an emulator would tell nothing."""

_COARSE, _RATIO = 9, 2.0
"""Multipliers that are tried first, and the logarithm of the ratio of two of them."""

_GOLDEN, _STEPS, _FEWER_STEPS = (math.sqrt(5.0) - 1.0) / 2.0, 7, 3

STATE_FIELDS = (
    StateField("multiplier", np.float64, lambda p: (1,)),
    StateField("axis_t", np.float64, lambda p: (axes_of(p), p.axis)),
    StateField("axis_h", np.float64, lambda p: (axes_of(p), p.axis)),
    StateField("axis_count", np.int64, lambda p: (axes_of(p),)),
    StateField("axis_new", np.int64, lambda p: (axes_of(p), 2)),
    StateField("grids", np.float64, lambda p: (axes_of(p), GRID)),
    StateField("axis_floor", np.float64, lambda p: (axes_of(p), GRID // PART)),
    StateField("axis_range", np.float64, lambda p: (axes_of(p),)),
    StateField("axis_lowest", np.int64, lambda p: (axes_of(p),)),
)


def axes_of(plan: Plan) -> int:
    """Return the axes that there is room for: all, or none."""
    return plan.dimension if plan.axis else 0


@compiled
def first_above(times: Floats, count: int, place: float) -> int:
    """Return the first of the sorted samples beyond a place; `count` if there is none."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if times[middle] > place:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def insert(s: State, i: int, place: float, value: float) -> None:
    """Add a sample to those of an axis, which are sorted; one at the place of another is left out."""
    times, heights, count = s.axis_t[i], s.axis_h[i], s.axis_count[i]
    k = first_above(times, count, place)
    closest = 1e-12 * (s.upper[i] - s.lower[i])
    if (
        count == times.size
        or (k > 0 and place - times[k - 1] <= closest)
        or (k < count and times[k] - place <= closest)
    ):
        return
    for m in range(count, k, -1):
        times[m], heights[m] = times[m - 1], heights[m - 1]
    times[k], heights[k] = place, value
    s.axis_count[i] = count + 1
    changed = s.axis_new[i]  # the emulator changes in three gaps to either side at most
    per_cell = (GRID - 1) / (s.upper[i] - s.lower[i])
    if k >= 2 and value < np.inf:
        changed[0] = min(changed[0], int((times[k - 2] - s.lower[i]) * per_cell))
    else:
        changed[0] = 0
    if k + 2 <= count and value < np.inf:
        changed[1] = max(changed[1], int((times[k + 2] - s.lower[i]) * per_cell) + 1)
    else:
        changed[1] = GRID - 1


@compiled
def _height(times: Floats, heights: Floats, count: int, k: int, t: float, ceiling: float) -> float:
    """Return the emulator between samples `k` and `k + 1`: two parabolas through three samples each, blended."""
    h0, h1 = min(heights[k], ceiling), min(heights[k + 1], ceiling)
    gap = times[k + 1] - times[k]
    slope = (h1 - h0) / gap
    w = (t - times[k]) / gap
    if w < 0.0 or w > 1.0:
        return h0 if w < 0.0 else h1
    left, right, has_left, has_right = 0.0, 0.0, k > 0, k + 2 < count
    if has_left:
        before = (h0 - min(heights[k - 1], ceiling)) / (times[k] - times[k - 1])
        left = (slope - before) / (times[k + 1] - times[k - 1])
    if has_right:
        after = (min(heights[k + 2], ceiling) - h1) / (times[k + 2] - times[k + 1])
        right = (after - slope) / (times[k + 2] - times[k])
    bend = (1.0 - w) * left + w * right if has_left and has_right else left + right
    return float(h0 + slope * (t - times[k]) + bend * (t - times[k]) * (t - times[k + 1]))


@compiled
def emulate(s: State, i: int) -> float:
    """Evaluate the emulator of an axis on its grid; return its range. Infeasible samples count as the worst others."""
    times, heights, count, grid = s.axis_t[i], s.axis_h[i], s.axis_count[i], s.grids[i]
    low, high = np.inf, -np.inf
    for k in range(count):
        low = min(low, heights[k])
        if heights[k] < np.inf:
            high = max(high, heights[k])
        else:
            s.axis_new[i, 0], s.axis_new[i, 1] = 0, GRID - 1
    if count < 2 or not low < high or not high - low < _WIDEST:
        fill(grid, low if low < np.inf else 0.0)
        fill(s.axis_floor[i], grid[0])
        s.axis_range[i] = 0.0
        return 0.0
    ceiling, changed = high + (high - low), s.axis_new[i]
    k = 0
    for q in range(changed[0], min(changed[1], GRID - 1) + 1):
        t = place_of(s, i, float(q))
        while k < count - 2 and times[k + 1] <= t:
            k += 1
        grid[q] = _height(times, heights, count, k, t, ceiling)
    changed[0], changed[1] = GRID, -1
    s.axis_range[i] = _range(grid)
    _find_floor(grid, s.axis_floor[i])
    return high - low


@compiled
def _range(grid: Floats) -> float:
    """Return how far a grid reaches from its lowest to its highest; four at a time, twice as fast as NumPy's."""
    a, b, c, d = grid[0], grid[1], grid[2], grid[3]
    e, f, g, h = a, b, c, d
    for k in range(0, GRID, 4):
        a, b, c, d = max(a, grid[k]), max(b, grid[k + 1]), max(c, grid[k + 2]), max(d, grid[k + 3])
        e, f, g, h = min(e, grid[k]), min(f, grid[k + 1]), min(g, grid[k + 2]), min(h, grid[k + 3])
    return float(max(a, b, c, d) - min(e, f, g, h))


@compiled
def _find_floor(grid: Floats, floor: Floats) -> None:
    """Write the lowest of each part of a grid to `floor`."""
    for part in range(floor.size):
        least = grid[part * PART]
        for k in range(part * PART + 1, (part + 1) * PART):
            least = min(least, grid[k])
        floor[part] = least


@compiled
def place_of(s: State, i: int, q: float) -> float:
    """Return where on an axis a point of its grid is, or what lies between two of them."""
    return s.lower[i] + (s.upper[i] - s.lower[i]) * q / (GRID - 1)


@compiled
def worst_at(heights: Floats, a: float, reach: int, p: int) -> float:
    """Return max over q of heights[q] - a (p - q)^2, with q no further than `reach` from p."""
    worst = heights[p]
    for q in range(max(0, p - reach), min(heights.size, p + reach + 1)):
        worst = max(worst, heights[q] - a * (p - q) * (p - q))
    return worst


@compiled
def lowest(heights: Floats, floor: Floats, a: float, reach: int, guess: int) -> tuple[int, float]:
    """Return the p with the lowest `worst_at`, and that; with a good guess, most others are ruled out at sight.

    By the floor of their part of the grid, by their own height, or by what ruled out the one before.
    """
    best, best_p, culprit = worst_at(heights, a, reach, guess), guess, guess
    for part in range(floor.size):
        if floor[part] >= best:
            continue
        for p in range(part * PART, (part + 1) * PART):
            gap = p - culprit
            if heights[p] >= best or (abs(gap) <= reach and heights[culprit] - a * gap * gap >= best):
                continue
            worst = -np.inf
            for q in range(max(0, p - reach), min(heights.size, p + reach + 1)):
                value = heights[q] - a * (p - q) * (p - q)
                if value > worst:
                    worst, culprit = value, q
                    if worst >= best:
                        break
            if worst < best:
                best, best_p = worst, p
    return best_p, best


@compiled
def charge_of(s: State, i: int, multiplier: float) -> tuple[float, int]:
    """Return what a step on the grid of an axis costs, squared, and how many steps a disturbance can be worth it."""
    cell = (s.upper[i] - s.lower[i]) / (GRID - 1)
    if cell == 0.0:
        return 0.0, 0
    for k in s.exact:
        if k == i:
            return 0.0, 0
    if s.tally[0].is_box == 1:
        return 0.0, int(min(1.0 / cell + 0.5, float(GRID)))
    furthest = min(s.outer[0].reach / cell + 0.5, float(GRID))  # no variable alone goes further than the ball
    a = multiplier * cell * cell
    return a, int(min(furthest, math.sqrt(s.axis_range[i] / a) + 1.0))


@compiled
def settle_axis(s: State, i: int, multiplier: float) -> float:
    """Find where an axis is best, given what a disturbance is charged; return how bad it can get there."""
    a, reach = charge_of(s, i, multiplier)
    s.axis_lowest[i], worst = lowest(s.grids[i], s.axis_floor[i], a, reach, s.axis_lowest[i])
    return worst


@compiled
def _bound(s: State, multiplier: float) -> float:
    """Return the worst case of the best design for a multiplier, but for a constant."""
    total = multiplier * s.outer[0].reach * s.outer[0].reach
    for i in range(s.tally[0].dimension):
        total += settle_axis(s, i, multiplier)
    return total


@compiled
def adjust(s: State, spread: float, anew: bool) -> None:
    """Find the multiplier with the lowest bound, by golden sections; anew: coarsely first, for there are valleys."""
    near, steps = log(max(s.multiplier[0], 1e-300)), _FEWER_STEPS
    if anew:
        first, lowest, steps = log(spread) - 0.5 * (_COARSE - 1) * _RATIO, np.inf, _STEPS
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
