"""Linear algebra with the same bits on every CPU.

BLAS and LAPACK choose their kernels by the CPU, and each kernel rounds in another order. Here, the order of every sum
is fixed: by NumPy's pairwise summation, or by compiled loops that run over the entries of the result side by side.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from robustforge.core.compiler import compiled

Floats = npt.NDArray[np.float64]

_EPSILON = 2.0**-52


def dot(a: Floats, b: Floats) -> float:
    """Return the inner product of two vectors."""
    return float((a * b).sum())


def norm(a: Floats) -> float:
    """Return the Euclidean length of a vector."""
    return math.sqrt(dot(a, a))


def norms(rows: Floats) -> Floats:
    """Return the Euclidean lengths of the rows of a matrix."""
    lengths: Floats = np.sqrt((rows * rows).sum(axis=1))
    return lengths


def times(matrix: Floats, vector: Floats) -> Floats:
    """Return the product of a matrix and a vector."""
    product: Floats = (matrix * vector).sum(axis=1)
    return product


def product(a: Floats, b: Floats) -> Floats:
    """Return the product of two matrices."""
    result = np.zeros((len(a), b.shape[1]))
    _add_product(np.ascontiguousarray(a), np.ascontiguousarray(b), result)
    return result


def solve_positive(matrix: Floats, right: Floats) -> Floats:
    """Return the solution x of `matrix @ x = right`, by Cholesky factorisation.

    Args:
        matrix: Symmetric and positive definite (n, n); only its lower triangle is read.
        right: The right-hand side (n,).

    Returns:
        The solution (n,), which is not finite if the matrix is not positive definite.
    """
    solution = np.array(right)
    solve_in_place(np.array(matrix, order="C"), solution)
    return solution


def shortest_solution(rows: Floats, right: Floats) -> Floats:
    """Return the shortest x with `rows @ x = right`, by Householder QR factorisation of the transposed matrix.

    Rows that depend linearly on those before them are left out: where they contradict them, the equations have no
    solution, and x solves the others.

    Args:
        rows: The matrix (k, n).
        right: The right-hand side (k,).
    """
    basis, triangle, pivots = _factored(rows)
    parts = np.zeros(len(pivots))
    for row, k in enumerate(pivots):
        rest = right[k] - dot(triangle[k, :row], parts[:row])
        parts[row] = rest / triangle[k, row]
    return product(parts[None], basis[: len(pivots)])[0]


def complement(rows: Floats) -> Floats:
    """Return orthonormal rows that span all that is orthogonal to the given ones (n - rank, n)."""
    basis, _, pivots = _factored(rows)
    return basis[len(pivots) :]


def hadamard(size: int) -> Floats:
    """Return the Hadamard matrix of Sylvester: entries of +-1, rows orthogonal to each other.

    Args:
        size: A power of 2.
    """
    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def _factored(rows: Floats) -> tuple[Floats, Floats, list[int]]:
    """Return an orthogonal matrix, the rows in its basis, and the numbers of the linearly independent rows.

    The first rows of the orthogonal matrix (n, n) span the given ones; in its basis, these form a triangle.
    """
    count, size = rows.shape
    triangle, basis = np.array(rows), np.eye(size)
    mirrors: list[Floats] = []
    pivots: list[int] = []
    longest = 0.0
    for k, row in enumerate(triangle):
        for mirror in mirrors:
            row -= 2.0 * dot(row, mirror) * mirror
        rank = len(pivots)
        length = norm(row[rank:])
        longest = max(longest, length)
        if rank < size and length > _EPSILON * max(count, size) * longest:
            mirrors.append(_mirror(row, rank, length))
            pivots.append(k)
    for mirror in reversed(mirrors):
        basis -= 2.0 * times(basis, mirror)[:, None] * mirror
    return basis, triangle, pivots


def _mirror(row: Floats, first: int, length: float) -> Floats:
    """Return the unit normal of the plane that takes all of a row from an entry on into that entry, and do so."""
    mirror = np.zeros(row.size)
    end = length if row[first] < 0 else -length  # away from the entry, so that nothing cancels
    mirror[first:] = row[first:]
    mirror[first] -= end
    row[first], row[first + 1 :] = end, 0.0
    return mirror / norm(mirror)


@compiled
def _add_product(a: Floats, b: Floats, result: Floats) -> None:
    """Add a product of matrices: the terms of each entry one after the other, the entries of a row side by side."""
    inner = a.shape[1]
    whole = inner // 4 * 4
    for i in range(a.shape[0]):
        out = result[i]
        for k in range(0, whole, 4):
            p, q, r, s = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
            t, u, v, w = b[k], b[k + 1], b[k + 2], b[k + 3]
            for j in range(out.size):
                out[j] = (((out[j] + p * t[j]) + q * u[j]) + r * v[j]) + s * w[j]
        for k in range(whole, inner):
            p, t = a[i, k], b[k]
            for j in range(out.size):
                out[j] += p * t[j]


@compiled
def solve_in_place(a: Floats, x: Floats) -> None:
    """Solve a positive definite system in place: `a` becomes its Cholesky factor and, above, the factor's transpose.

    Inner loops run along rows, whose entries are side by side.
    """
    n = x.size
    for i in range(n):
        for j in range(i + 1, n):
            a[i, j] = a[j, i]
    for i in range(n):
        row = a[i]
        pivot = math.sqrt(row[i])
        row[i] = pivot
        x[i] /= pivot
        for j in range(i + 1, n):
            row[j] /= pivot
            x[j] -= x[i] * row[j]
        for k in range(i + 1, n):
            factor, below = row[k], a[k]
            below[i] = factor
            for j in range(k, n):
                below[j] -= factor * row[j]
    for i in range(n - 1, -1, -1):
        row = a[i]
        x[i] /= row[i]
        for j in range(i):
            x[j] -= x[i] * row[j]
