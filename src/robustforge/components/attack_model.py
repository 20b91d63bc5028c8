"""Models of a closing attack: ridge regressions, linear and quadratic, on the history near a point.

They are small, at most some hundred points, so that an attack costs little however long the history is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import numpy as np

from robustforge.components.additive_surrogate import AdditiveState
from robustforge.components.final_selection import FinalState
from robustforge.core.agents import fill
from robustforge.core.compiler import both_ways, compiled, inlined
from robustforge.core.linear_algebra import solve_in_place
from robustforge.core.state import BLOCK, ONE, Floats, Integers, Record, Shape

if TYPE_CHECKING:
    from robustforge.core.state import Array

WINDOW = 8192
"""Points of the history, the newest, among which the nearest are looked for."""

ROWS = 8
"""Designs that are compared at most: the incumbent and its challengers."""

MANY_VARIABLES, KERNEL_POINTS = 160, 72
"""Variables from which on models are smaller; and the points of a quadratic model, at most."""

LONG = 60
"""Evaluations above which an attack has time for one of two models after the other."""

_RIDGE = 1e-3
"""The ridge, as a fraction of the mean diagonal entry of the Gram matrix."""

FEARED = 1e200
"""What is added to the worst value of a design if a model expects failed runs in its set."""

_CERTAIN = 0.1
"""Difference in a variable without a tolerance that counts like the radius of the set, as a fraction of its range."""


class Closing:
    """The progress of a closing attack."""

    is_started: int  # whether it has started
    is_fixed: int  # whether the design is fixed, so that it is only attacked
    first: int  # the index in the history of its first evaluation
    seen: int  # points of the history that all designs were compared with
    total: int  # evaluations that it may have
    rows: int  # designs that are compared
    best: int  # which of them is the incumbent
    target: int  # which of them is attacked at present
    round: int  # batches so far
    limit: int  # points of the present batch at most
    finalists: int  # outcomes of the search that were considered as challengers
    steps: int  # steps away from bad directions that were considered
    failed: int  # whether a point of the history has failed, or is infeasible
    has_estimate: int  # whether the search had an incumbent
    estimate: float  # the value of the incumbent before the attack, as the search believed it


class ClosingState(AdditiveState, FinalState):
    """The designs of a closing attack, and the model of the function near one of them."""

    closing: Annotated[Record[Closing], ONE, "the progress of the attack"]
    closing_x: Annotated[Floats, Shape("closing_rows", "dimension"), "the designs that are compared, and one more"]
    closing_worst: Annotated[Floats, Shape("closing_rows"), "the worst value known in the set of each"]
    closing_value: Annotated[Floats, Shape("closing_rows"), "the same, or above `FEARED` next to failed runs"]
    closing_point: Annotated[Integers, Shape("closing_rows"), "index in the history of that point; -1 if unknown"]
    closing_runs: Annotated[Integers, Shape("closing_rows"), "evaluations of the attack in the set of each"]
    closing_tried: Annotated[Integers, Shape("closing_rows"), "batches that each was the target of"]
    closing_screened: Annotated[Integers, Shape("closing_rows"), "screening corners that were proposed for each"]
    closing_radius: Annotated[Floats, Shape("closing_rows"), "radius of the trust region about its worst point"]
    closing_key: Annotated[Floats, Shape("closing_window"), "distance of each point of the history"]
    closing_sorted: Annotated[Floats, Shape("closing_window"), "the same, partly sorted"]
    local_index: Annotated[Integers, Shape("closing_points"), "indices in the history of the points of the model"]
    local_x: Annotated[Floats, Shape("closing_points", "dimension"), "offsets of these points, in units of the set"]
    local_f: Annotated[Floats, Shape("closing_points"), "their values"]
    local_weight: Annotated[Floats, Shape("closing_points"), "their weights"]
    local_alpha: Annotated[Floats, Shape("closing_square"), "their coefficients in a kernel model"]
    local_gram: Annotated[Floats, Shape("closing_square", "closing_square"), "the normal equations"]
    local_mean: Annotated[Floats, Shape("closing_points_dimension"), "weighted mean of the points"]
    local_unit: Annotated[Floats, Shape("closing_points_dimension"), "one unit of each variable"]
    local_slope: Annotated[Floats, Shape("closing_points_dimension"), "slope of the model"]
    local_hessian: Annotated[
        Floats, Shape("closing_points_dimension", "closing_points_dimension"), "second derivatives of the model"
    ]
    attack_offset: Annotated[Floats, Shape("closing_points_dimension"), "an offset that is being composed"]
    attack_trial: Annotated[Floats, Shape("closing_points_dimension"), "another one"]
    attack_worst: Annotated[Floats, Shape("closing_points_dimension"), "offset of the worst point of the target"]
    attack_basis: Annotated[Floats, Shape(8, "closing_points_dimension"), "orthogonal directions"]
    attack_order: Annotated[Integers, Shape("closing_points_dimension"), "variables, by what their change may gain"]
    bad_units: Annotated[Floats, Shape("closing_hull", "dimension"), "unit vectors towards bad points"]
    bad_rooms: Annotated[Floats, Shape("closing_hull_rooms", "closing_hull"), "memory for the direction from them"]
    bad_active: Annotated[Integers, Shape("closing_hull"), "the vectors that decide it"]


@both_ways
def model_points(dimension: int) -> int:
    """Return how many points a linear model has at most."""
    if dimension > MANY_VARIABLES:
        return MANY_VARIABLES
    return min(3 * dimension + 10, dimension + 110)


@compiled
def set_units(s: ClosingState) -> None:
    """Write how long one unit of each variable is: the radius of the set, or a fraction of the variable's range."""
    fill(s.local_unit, 1.0)
    for i in s.certain:
        s.local_unit[i] = max(_CERTAIN * (s.upper[i] - s.lower[i]), 1e-12)


@compiled
def distance(s: ClosingState, y: Floats, centre: Floats, is_box: bool) -> float:
    """Return the distance of two points in units of the set, in its norm."""
    unit, total = s.local_unit, 0.0
    for i in range(unit.size):
        gap = (y[i] - centre[i]) / unit[i]
        total = max(total, gap * gap) if is_box else total + gap * gap
    return math.sqrt(total)


@compiled
def load_nearest(s: ClosingState, centre: Floats, most: int, is_box: bool, kind: int, at: int) -> int:
    """Load the nearest points of the history about a centre: of those within the set, the newest.

    Args:
        s: The state.
        centre: The centre, scaled.
        most: How many points at most.
        is_box: Whether distances are measured in the maximum norm.
        kind: Which points: 0 with finite values, 1 that failed or are infeasible.
        at: Where in the model they are written.

    Returns:
        How many there are; their distances are in `local_weight`.
    """
    spent, values, keys, partly = s.counters[0].spent, s.history_f, s.closing_key, s.closing_sorted
    first = max(0, spent - keys.size) // BLOCK * BLOCK
    first, count = first if spent - first <= keys.size else first + BLOCK, 0
    _measure(s, centre, first, is_box)
    recent = 1e-6 / keys.size
    for k in range(first, spent):
        if math.isfinite(values[k]) == (kind == 0):
            gap = keys[k - first]
            if gap < 1.0 + 1e-6 and kind == 0:
                gap = 1.0 - recent * (k - first)  # the newest ones first
            keys[k - first] = gap
            partly[count] = gap
            count += 1
        else:
            keys[k - first] = np.inf
    limit = _smallest(partly, count, most) if count > most else np.inf
    found = 0
    for k in range(spent - 1, first - 1, -1):
        if found < most and keys[k - first] <= limit and keys[k - first] < np.inf:
            s.local_index[at + found] = k
            s.local_weight[at + found] = math.sqrt(keys[k - first])
            found += 1
    return found


@compiled
def _measure(s: ClosingState, centre: Floats, first: int, is_box: bool) -> None:
    """Write the squared distances of all points from `first` on, a whole block, to `closing_key`; in single precision.

    It runs along the coarse history, whose points are side by side.
    """
    coarse, keys, spent, unit = s.history_coarse, s.closing_key, s.counters[0].spent, s.local_unit
    gaps = np.empty(BLOCK, np.float32)
    for block in range(first, spent, BLOCK):
        for b in range(BLOCK):
            gaps[b] = np.float32(0.0)
        for i in range(unit.size):
            middle, scale, row = np.float32(centre[i]), np.float32(1.0 / unit[i]), coarse[i, block : block + BLOCK]
            if is_box:
                for b in range(BLOCK):
                    gap = (row[b] - middle) * scale
                    gaps[b] = max(gaps[b], gap * gap)
            else:
                for b in range(BLOCK):
                    gap = (row[b] - middle) * scale
                    gaps[b] += gap * gap
        for b in range(min(BLOCK, spent - block)):
            keys[block - first + b] = gaps[b]


@compiled
def keep_nearest(s: ClosingState, count: int, most: int) -> int:
    """Keep the nearest of the points that a model was fitted to; return how many there are.

    Their weights become distances again, as after `load_nearest`.
    """
    for m in range(count):
        s.local_weight[m] = 1.0 + 0.5 * math.sqrt(max(0.0, 1.0 / s.local_weight[m] - 1.0))
        s.closing_sorted[m] = s.local_weight[m]
    if count <= most:
        return count
    limit, kept = _smallest(s.closing_sorted, count, most), 0
    for m in range(count):
        if s.local_weight[m] <= limit and kept < most:
            s.local_index[kept], s.local_weight[kept] = s.local_index[m], s.local_weight[m]
            kept += 1
    return kept


@compiled
def _smallest(values: Floats, count: int, rank: int) -> float:
    """Return the value of a rank, counted from 1, among the first `count`, which change their order."""
    low, high, k = 0, count - 1, rank - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return float(values[k])


@compiled
def fill_model(s: ClosingState, centre: Floats, count: int) -> bool:
    """Write the loaded points, relative to a centre, and their values; return whether the values differ.

    Points outside the set count less, the further they are.
    """
    unit, x, f, weight = s.local_unit, s.local_x, s.local_f, s.local_weight
    low, high = np.inf, -np.inf
    for m in range(count):
        k = s.local_index[m]
        y, row = s.history_y[k], x[m]
        for i in range(unit.size):
            row[i] = (y[i] - centre[i]) / unit[i]
        f[m] = s.history_f[k]
        low, high = min(low, f[m]), max(high, f[m])
        beyond = max(0.0, weight[m] - 1.0)
        weight[m] = 1.0 / (1.0 + 4.0 * beyond * beyond)
    return low < high and high - low < 1e300


@compiled
def fit_slope(s: ClosingState, count: int) -> float:
    """Fit a linear model to the loaded points by weighted ridge regression; return the length of its slope.

    The slope and the mean point are in `local_slope` and `local_mean`; the centred values replace `local_f`.
    """
    n, x, f, weight = s.local_unit.size, s.local_x, s.local_f, s.local_weight
    mean, slope, total, level = s.local_mean, s.local_slope, 0.0, 0.0
    fill(mean, 0.0)
    for m in range(count):
        total += weight[m]
        level += weight[m] * f[m]
        row = x[m]
        for i in range(n):
            mean[i] += weight[m] * row[i]
    for i in range(n):
        mean[i] /= total
    level /= total
    for m in range(count):
        f[m] -= level
        row = x[m]
        for i in range(n):
            row[i] -= mean[i]
    if count >= n:
        _solve_primal(s, count)
    else:
        _solve_dual(s, count)
    square = 0.0
    for i in range(n):
        square += slope[i] * slope[i]
    return math.sqrt(square) if math.isfinite(square) else 0.0


@compiled
def _solve_primal(s: ClosingState, count: int) -> None:
    n, x, f, weight, slope = s.local_unit.size, s.local_x, s.local_f, s.local_weight, s.local_slope
    gram = s.local_gram[:n, :n]
    fill(slope, 0.0)
    for i in range(n):
        fill(gram[i], 0.0)
    for m in range(count):
        row = x[m]
        for i in range(n):
            part = weight[m] * row[i]
            slope[i] += part * f[m]
            out = gram[i]
            for j in range(i + 1):
                out[j] += part * row[j]
    solve_with_ridge(gram, slope)


@compiled
def _solve_dual(s: ClosingState, count: int) -> None:
    n, x, f, weight, slope = s.local_unit.size, s.local_x, s.local_f, s.local_weight, s.local_slope
    gram, alpha = s.local_gram[:count, :count], s.local_alpha[:count]
    for a in range(count):
        root = math.sqrt(weight[a])
        alpha[a] = root * f[a]
        for b in range(a + 1):
            gram[a, b] = root * math.sqrt(weight[b]) * inner_product(x[a], x[b])
    solve_with_ridge(gram, alpha)
    fill(slope, 0.0)
    for a in range(count):
        part, row = alpha[a] * math.sqrt(weight[a]), x[a]
        for i in range(n):
            slope[i] += part * row[i]


@compiled
def solve_with_ridge(gram: Floats, solution: Floats) -> None:
    """Solve a system in place, with a ridge."""
    trace = 0.0
    for a in range(solution.size):
        trace += gram[a, a]
    for a in range(solution.size):
        gram[a, a] += _RIDGE * trace / solution.size + 1e-300
    solve_in_place(gram, solution)


@compiled
def inner_product(a: Floats, b: Floats) -> float:
    """Return the inner product of two rows; with four independent sums, in a fixed order."""
    p, q, r, t = 0.0, 0.0, 0.0, 0.0
    whole = a.size // 4 * 4
    for i in range(0, whole, 4):
        p += a[i] * b[i]
        q += a[i + 1] * b[i + 1]
        r += a[i + 2] * b[i + 2]
        t += a[i + 3] * b[i + 3]
    for i in range(whole, a.size):
        p += a[i] * b[i]
    return (p + q) + (r + t)


@inlined
def copy_active(source: Floats, active: Array, target: Floats) -> None:
    """Copy the variables with a tolerance; the others become 0."""
    fill(target, 0.0)
    for i in active:
        target[i] = source[i]


@compiled
def load_row(s: ClosingState, row: int, out: Floats) -> None:
    """Write the offset of the worst point known of a design to `out`; 0 if there is none."""
    fill(out, 0.0)
    k = s.closing_point[row]
    if k >= 0:
        for i in s.uncertain:
            out[i] = s.history_y[k, i] - s.closing_x[row, i]
