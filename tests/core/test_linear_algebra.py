"""Linear algebra of our own: as NumPy's to rounding, also where matrices are singular or small."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from robustforge.core.linear_algebra import (
    complement,
    dot,
    hadamard,
    norm,
    norms,
    product,
    shortest_solution,
    solve_positive,
    times,
)

SIZES = [1, 2, 3, 4, 7, 30, 101]


def same(found, expected):
    """Equal to 1e-12 of the largest entry."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    return np.abs(found - expected).max(initial=0.0) <= 1e-12 * max(np.abs(expected).max(initial=0.0), 1e-300)


@pytest.mark.parametrize("size", SIZES)
def test_products_and_norms(size):
    rng = np.random.default_rng(size)
    a, b, x = rng.standard_normal((9, size)), rng.standard_normal((size, 13)), rng.standard_normal(size)
    assert same(product(a, b), a @ b)
    assert same(product(b.T, a.T), (a @ b).T)  # not contiguous
    assert same(times(a, x), a @ x)
    assert same(norms(a), np.linalg.norm(a, axis=1))
    assert abs(dot(x, a[0]) - x @ a[0]) <= 1e-12 * norm(x) * norm(a[0])
    assert norm(x) == pytest.approx(np.linalg.norm(x), rel=1e-12)


def test_products_of_nothing_and_of_zeros():
    assert product(np.ones((3, 0)), np.ones((0, 2))).tolist() == np.zeros((3, 2)).tolist()
    assert product(np.ones((0, 4)), np.ones((4, 2))).shape == (0, 2)
    assert norm(np.zeros(5)) == 0.0
    assert norms(np.zeros((2, 3))).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("size", SIZES)
def test_positive_definite_systems(size):
    rng = np.random.default_rng(size)
    root, right = rng.standard_normal((size, size)), rng.standard_normal(size)
    matrix = root @ root.T + 0.1 * size * np.eye(size)
    kept = matrix.copy(), right.copy()
    found = solve_positive(matrix, right)
    assert same(found, np.linalg.solve(matrix, right))
    assert np.array_equal(matrix, kept[0])
    assert np.array_equal(right, kept[1])
    lower = np.tril(matrix) + np.triu(np.full((size, size), 7.0), 1)
    assert np.array_equal(solve_positive(lower, right), found)  # the upper triangle is not read


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), -np.eye(2), np.ones((2, 2)), np.array([[-1.0]])])
def test_what_is_not_positive_definite_has_no_finite_solution(matrix):
    assert not np.isfinite(solve_positive(matrix, np.ones(len(matrix)))).all()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [1, 2, 5, 14])
def test_the_shortest_solution_and_the_orthogonal_complement(size, count):
    rng = np.random.default_rng(100 * size + count)
    rows = rng.standard_normal((count, size))
    right = rows @ rng.standard_normal(size)  # solvable, also with more rows than columns
    found = shortest_solution(rows, right)
    expected = np.linalg.lstsq(rows, right, rcond=None)[0]
    bound = 1e-12 * np.linalg.cond(rows[: min(count, size)]) * np.linalg.norm(expected)
    assert np.abs(found - expected).max() <= bound
    rest = complement(rows)
    assert rest.shape == (max(size - count, 0), size)
    assert np.abs(rest @ rest.T - np.eye(len(rest))).max(initial=0.0) <= 1e-12
    assert np.abs(rest @ rows.T).max(initial=0.0) <= 1e-12 * np.abs(rows).max() * size
    if size > count:  # the same directions as LAPACK's, which an attack has always taken
        whole, _ = np.linalg.qr(rows.T, mode="complete")
        assert np.abs(rest - whole[:, count:].T).max() <= 1e-11


def test_rows_that_depend_on_each_other():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((3, 6))
    rows = np.concatenate([np.zeros((1, 6)), rows[:2], rows[:1] - 2.0 * rows[1:2], rows[2:], rows[:1]])
    right = rows @ rng.standard_normal(6)
    assert same(shortest_solution(rows, right), np.linalg.lstsq(rows, right, rcond=None)[0])
    assert complement(rows).shape == (3, 6)
    assert np.abs(complement(rows) @ rows.T).max() <= 1e-12
    right[-1] += 1.0  # contradicts the second: the others are solved
    assert same(rows[:-1] @ shortest_solution(rows, right), right[:-1])


def test_zero_rows_and_one_variable():
    assert shortest_solution(np.zeros((2, 3)), np.zeros(2)).tolist() == [0.0] * 3
    assert np.array_equal(complement(np.zeros((2, 3))), np.eye(3))
    assert np.array_equal(complement(np.zeros((0, 3))), np.eye(3))
    assert shortest_solution(np.array([[-2.0]]), np.array([3.0])).tolist() == [-1.5]
    assert complement(np.array([[-2.0]])).shape == (0, 1)


@pytest.mark.parametrize("power", range(8))
def test_hadamard_matrices_are_sylvesters(power):
    assert np.array_equal(hadamard(2**power), scipy.linalg.hadamard(2**power))
