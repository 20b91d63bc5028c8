"""The point of minimum norm in a convex hull (Wolfe's algorithm): the descent direction of the paper's problem (Soc).

The direction that makes the largest angle with all unit vectors u_k is d = -p/|p|, where p is the point of minimum norm
in their convex hull. Wolfe's algorithm finds p in finitely many steps; here all of it happens in the space of the Gram
matrix, with a Cholesky factor that grows with the active set.

P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11 (1976).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from robustforge.core.compiler import compiled
from robustforge.core.state import Floats

NO_DIRECTION = 1e-6
"""With |p| at most this there is no direction that leads away from all points."""

_TOLERANCE = 1e-12


@compiled
def minimum_norm(
    units: Floats,
    count: int,
    gram: Floats,
    factor: Floats,
    weights: Floats,
    active_set: npt.NDArray[np.int64],
    work: Floats,
    p: Floats,
) -> float:
    """Write the point of minimum norm in the hull of the first `count` rows of `units` to `p`; return its norm.

    Args:
        units: Unit vectors (at least count, n).
        count: How many of them there are.
        gram: Room for (count, count).
        factor: Room for (count, count).
        weights: Room for (count,).
        active_set: Room for (count,): the active set.
        work: Room for (2, count): inner products, and a solution.
        p: The answer (n,).
    """
    _fill_gram(units, count, gram)
    active_set[0] = 0
    weights[0] = 1.0
    size = 1
    factor[0, 0] = math.sqrt(1.0 + gram[0, 0])
    for _ in range(4 * count + 8):
        lowest, entering, square = _scan(gram, count, weights, active_set, size, work[0])
        if lowest >= square - _TOLERANCE or square <= _TOLERANCE * _TOLERANCE or _has(active_set, size, entering):
            break
        active_set[size] = entering
        weights[size] = 0.0
        if not _extend(gram, factor, active_set, size):
            break
        size = _minor_cycle(gram, factor, weights, active_set, size + 1, work[1])
    square = 0.0
    for i in range(units.shape[1]):
        total = 0.0
        for k in range(size):
            total += weights[k] * units[active_set[k], i]
        p[i] = total
        square += total * total
    return math.sqrt(square)


@compiled
def _fill_gram(units: Floats, count: int, gram: Floats) -> None:
    for a in range(count):
        for b in range(a + 1):
            # four partial sums: independent chains, in a fixed order
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            i = 0
            while i + 3 < units.shape[1]:
                s0 += units[a, i] * units[b, i]
                s1 += units[a, i + 1] * units[b, i + 1]
                s2 += units[a, i + 2] * units[b, i + 2]
                s3 += units[a, i + 3] * units[b, i + 3]
                i += 4
            while i < units.shape[1]:
                s0 += units[a, i] * units[b, i]
                i += 1
            gram[a, b] = (s0 + s1) + (s2 + s3)
            gram[b, a] = gram[a, b]


@compiled
def _scan(
    gram: Floats, count: int, weights: Floats, active_set: npt.NDArray[np.int64], size: int, products: Floats
) -> tuple[float, int, float]:
    """Return the smallest p.u over all points, whose it is, and |p|^2."""
    for m in range(count):
        products[m] = 0.0
    for k in range(size):
        row = gram[active_set[k]]
        for m in range(count):
            products[m] += weights[k] * row[m]
    entering = 0
    for m in range(1, count):
        if products[m] < products[entering]:
            entering = m
    square = 0.0
    for k in range(size):
        square += weights[k] * products[active_set[k]]
    return products[entering], entering, square


@compiled
def _has(active_set: npt.NDArray[np.int64], size: int, item: int) -> bool:
    found = False
    for k in range(size):
        found = found or active_set[k] == item
    return found


@compiled
def _extend(gram: Floats, factor: Floats, active_set: npt.NDArray[np.int64], size: int) -> bool:
    """Append the row of the newest member to the factor of (1 + Gram); False if it depends on the others."""
    new = active_set[size]
    rest = 1.0 + gram[new, new]
    for a in range(size):
        total = 1.0 + gram[new, active_set[a]]
        for b in range(a):
            total -= factor[size, b] * factor[a, b]
        factor[size, a] = total / factor[a, a]
        rest -= factor[size, a] * factor[size, a]
    if rest <= _TOLERANCE:
        return False
    factor[size, size] = math.sqrt(rest)
    return True


@compiled
def _minor_cycle(
    gram: Floats, factor: Floats, weights: Floats, active_set: npt.NDArray[np.int64], size: int, target: Floats
) -> int:
    """Wolfe's minor cycle: move to the affine minimum of the active set, dropping members until it is inside.

    Returns the size of the set.
    """
    while True:
        _affine_minimum(factor, size, target)
        step = 1.0
        for k in range(size):
            if target[k] <= _TOLERANCE:
                step = min(step, weights[k] / max(weights[k] - target[k], _TOLERANCE))
        for k in range(size):
            weights[k] += step * (target[k] - weights[k])
        if step >= 1.0:
            return size
        kept = 0
        for k in range(size):
            if weights[k] > _TOLERANCE:
                weights[kept] = weights[k]
                active_set[kept] = active_set[k]
                kept += 1
        if kept == size:  # rounding: drop the smallest, so that the loop ends
            smallest = 0
            for k in range(1, size):
                if weights[k] < weights[smallest]:
                    smallest = k
            for k in range(smallest, size - 1):
                weights[k], active_set[k] = weights[k + 1], active_set[k + 1]
            kept = size - 1
        size = kept
        for k in range(size):
            _extend(gram, factor, active_set, k)


@compiled
def _affine_minimum(factor: Floats, size: int, target: Floats) -> None:
    """Solve (1 + Gram) t = 1 by the factor and scale t to sum 1."""
    for a in range(size):
        total = 1.0
        for b in range(a):
            total -= factor[a, b] * target[b]
        target[a] = total / factor[a, a]
    for a in range(size - 1, -1, -1):
        total = target[a]
        for b in range(a + 1, size):
            total -= factor[b, a] * target[b]
        target[a] = total / factor[a, a]
    total = 0.0
    for a in range(size):
        total += target[a]
    for a in range(size):
        target[a] /= total
