"""Cholesky factors as rows of a lower triangle: factorisation, solution, inverse; the same bits on every CPU."""

from __future__ import annotations

import math

from robustforge.core.compiler import compiled
from robustforge.core.portable_math import log
from robustforge.core.state import Floats

_SMALLEST_PIVOT = 1e-14


@compiled
def inner_product(a: Floats, b: Floats, count: int) -> float:
    """Return the inner product of the first entries, in four chains of a fixed order."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = count // 4 * 4
    for k in range(0, whole, 4):
        s0 += a[k] * b[k]
        s1 += a[k + 1] * b[k + 1]
        s2 += a[k + 2] * b[k + 2]
        s3 += a[k + 3] * b[k + 3]
    total = (s0 + s1) + (s2 + s3)
    for k in range(whole, count):
        total += a[k] * b[k]
    return total


@compiled
def factor_row(matrix: Floats, row: int) -> None:
    """Turn a row of a matrix into that of its factor, after all rows above it; a pivot is never below a small one."""
    new = matrix[row]
    for column in range(row):
        other = matrix[column]
        new[column] = (new[column] - inner_product(new, other, column)) / other[column]
    new[row] = math.sqrt(max(new[row] - inner_product(new, new, row), _SMALLEST_PIVOT))


@compiled
def factorise(matrix: Floats, count: int) -> float:
    """Turn the first rows of a lower triangle into its factor; return the logarithm of the determinant."""
    total = 0.0
    for row in range(count):
        factor_row(matrix, row)
        total += 2.0 * log(matrix[row, row])
    return total


@compiled
def solve_lower(factor: Floats, count: int, right: Floats) -> None:
    """Solve L x = b in place."""
    for a in range(count):
        right[a] = (right[a] - inner_product(factor[a], right, a)) / factor[a, a]


@compiled
def solve_upper(factor: Floats, count: int, right: Floats) -> None:
    """Solve L' x = b in place."""
    for a in range(count - 1, -1, -1):
        row = factor[a]
        right[a] /= row[a]
        part = right[a]
        for k in range(a):
            right[k] -= part * row[k]


@compiled
def invert(factor: Floats, count: int, inverse: Floats) -> None:
    """Write the inverse of L L' to the lower triangle of `inverse`.

    First, row b holds column b of the inverse of L, from its diagonal on.
    """
    for b in range(count):
        column = inverse[b]
        for a in range(b):
            column[a] = 0.0
        for a in range(b, count):
            row, total = factor[a], 1.0 if a == b else 0.0
            for k in range(b, a):
                total -= row[k] * column[k]
            column[a] = total / row[a]
    for a in range(count):
        one = inverse[a]
        for b in range(a):
            other, total = inverse[b], 0.0
            for k in range(a, count):
                total += one[k] * other[k]
            one[b] = total
    for a in range(count):
        one, total = inverse[a], 0.0
        for k in range(a, count):
            total += one[k] * one[k]
        one[a] = total
