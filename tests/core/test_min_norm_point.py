"""(Soc): the descent direction, against a conic solver and against cases drawn by hand."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from scipy import sparse

from robustforge.core.min_norm_point import NO_DIRECTION, minimum_norm


def ours(units: np.ndarray) -> tuple[float, np.ndarray]:
    count, n = units.shape
    p = np.zeros(n)
    room = np.zeros((count, count))
    norm = minimum_norm(
        units, count, room, room.copy(), np.zeros(count), np.zeros(count, np.int64), np.zeros((2, count)), p
    )
    return norm, p


def by_conic_solver(units: np.ndarray) -> float:
    """Minimise beta over |d| <= 1 and u.d <= beta for all u; return beta."""
    count, n = units.shape
    above = sparse.csc_matrix(np.hstack([units, -np.ones((count, 1))]))
    cone = sparse.csc_matrix(np.vstack([np.zeros((1, n + 1)), np.hstack([-np.eye(n), np.zeros((n, 1))])]))
    right = np.concatenate([np.zeros(count), [1.0], np.zeros(n)])
    cost = np.append(np.zeros(n), 1.0)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(count), clarabel.SecondOrderConeT(n + 1)]
    zero = sparse.csc_matrix((n + 1, n + 1))
    solver = clarabel.DefaultSolver(zero, cost, sparse.vstack([above, cone]).tocsc(), right, cones, settings)
    return float(solver.solve().x[-1])


def unit_rows(rng: np.random.Generator, count: int, n: int, bias: float) -> np.ndarray:
    rows = rng.standard_normal((count, n)) + bias
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("shape", [(1, 5), (2, 3), (4, 30), (10, 3), (40, 100), (60, 30), (100, 2)])
@pytest.mark.parametrize("bias", [0.0, 0.3, 1.5])
def test_it_equals_the_conic_solver(shape, bias):
    rng = np.random.default_rng(shape[0] + int(10 * bias))
    for _ in range(5):
        units = unit_rows(rng, *shape, bias)
        norm, p = ours(units)
        assert norm == pytest.approx(-by_conic_solver(units), abs=2e-7)
        if norm > NO_DIRECTION:
            assert (units @ (-p / norm)).max() == pytest.approx(-norm, abs=1e-9)


def test_one_point_gives_the_opposite_direction():
    norm, p = ours(np.array([[0.6, 0.8]]))
    assert norm == pytest.approx(1.0)
    assert p == pytest.approx([0.6, 0.8])


def test_two_points_give_the_bisector():
    norm, p = ours(np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert p == pytest.approx([0.5, 0.5])
    assert norm == pytest.approx(np.sqrt(0.5))


def test_opposite_points_leave_no_direction():
    norm, _ = ours(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    assert norm <= NO_DIRECTION


def test_duplicates_change_nothing():
    rng = np.random.default_rng(1)
    units = unit_rows(rng, 6, 5, 1.0)
    assert ours(np.vstack([units, units]))[0] == pytest.approx(ours(units)[0], abs=1e-10)
