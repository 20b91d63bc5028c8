"""Cholesky factors: the same as NumPy's, up to rounding."""

from __future__ import annotations

import numpy as np
import pytest

from robustforge.core.cholesky import factorise, invert, solve_lower, solve_upper


def matrix(size, seed):
    a = np.random.default_rng(seed).normal(size=(size, size))
    return a @ a.T + size * np.eye(size)


@pytest.mark.parametrize("size", [1, 2, 5, 37])
def test_factors_solve_and_invert(size):
    given = matrix(size, size)
    room = np.zeros((size + 3, size + 3))
    room[:size, :size] = np.tril(given)
    determinant = factorise(room, size)
    factor = np.tril(room[:size, :size])
    assert factor == pytest.approx(np.linalg.cholesky(given))
    assert determinant == pytest.approx(np.linalg.slogdet(given)[1])
    right = np.arange(1.0, size + 1)
    solution = right.copy()
    solve_lower(room, size, solution)
    solve_upper(room, size, solution)
    assert given @ solution == pytest.approx(right)
    inverse = np.zeros_like(room)
    invert(room, size, inverse)
    assert np.tril(inverse[:size, :size]) == pytest.approx(np.tril(np.linalg.inv(given)))


def test_a_singular_matrix_has_a_finite_factor():
    room = np.ones((4, 4))
    factorise(room, 4)
    assert np.isfinite(np.tril(room)).all()
