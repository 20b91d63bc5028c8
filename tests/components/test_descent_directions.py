"""Descent directions in a run: away from high-cost points, with sigma halved where it has to be."""

from __future__ import annotations

import numpy as np
import pytest

import robustforge as rf
from robustforge.components.descent_directions import direction_away


def directed(points, values, sigma=0.5, sigma_limit=0.01, uncertainty=None):
    """Return the direction and (Rho) at 0 for scaled points around it; `None` where there is no direction."""
    points = np.asarray(points, dtype=float)
    count, dimension = points.shape
    search = rf.Optimizer([(-5, 5)] * dimension, uncertainty or rf.Ball(1.0), 500, "rpso+dd", 1)
    arrays = search.arrays
    arrays["history_y"][:count], arrays["history_f"][:count] = points, values
    arrays["neighbours"][:count] = range(count)
    arrays["x"][0] = 0.0
    direction_away(search.state, 0, count, sigma, sigma_limit)
    return (arrays["direction"][0].copy(), arrays["rho"][0]) if arrays["has_direction"][0] else None


def test_away_from_the_worst_point():
    direction, rho = directed([[0.5, 0.0], [0.0, 0.5]], [10.0, 0.0], sigma=0.1)
    assert direction == pytest.approx([-1.0, 0.0])
    assert rho == pytest.approx(0.5)  # half a Gamma further, the point is a whole Gamma away


def test_rho_takes_all_high_cost_points_out_of_the_ball():
    points = np.array([[0.5, 0.1], [0.3, -0.4], [0.2, 0.2]])
    direction, rho = directed(points, [10.0, 10.0, 10.0])
    distances = np.linalg.norm(points - rho * direction, axis=1)
    assert distances.min() == pytest.approx(1.0)


def test_rho_for_a_box_is_where_a_point_leaves_in_one_coordinate():
    points = np.array([[0.5, 0.25]])
    direction, rho = directed(points, [1.0], uncertainty=rf.Box(1.0))
    gaps = np.abs(points[0] - rho * direction)
    assert gaps.max() == pytest.approx(1.0)


def test_sigma_is_halved_until_a_direction_opens():
    points = [[0.5, 0.0], [-0.5, 0.0]]
    assert directed(points, [10.0, 6.0], sigma=0.8, sigma_limit=0.5)[0] == pytest.approx([-1.0, 0.0])
    values = [10.0, 10.0]
    assert directed(points, values, sigma=0.8, sigma_limit=0.01) is None


def test_sigma_below_its_limit_is_tried_once():
    assert directed([[0.5, 0.0]], [1.0], sigma=0.02, sigma_limit=0.1) is not None


def test_an_infeasible_point_is_above_all_and_outside_the_spread():
    points = [[0.5, 0.0], [0.0, 0.5], [0.0, -0.5]]
    direction, _ = directed(points, [np.inf, 5.0, 4.9], sigma=0.8)
    assert direction == pytest.approx([-1.0, 0.0])


def test_the_candidate_itself_is_left_out():
    assert directed([[0.0, 0.0]], [1.0]) is None
    direction, _ = directed([[0.0, 0.0], [0.0, 0.5]], [2.0, 2.0])
    assert direction == pytest.approx([0.0, -1.0])


def test_of_too_many_points_the_highest_count():
    rng = np.random.default_rng(1)
    many = rng.uniform(-0.5, 0.5, (400, 3))
    many[:, 0] = np.abs(many[:, 0])  # the 256 highest are all on one side
    values = np.concatenate([np.full(300, 2.0), np.full(100, 1.0)])
    many[300:, 0] *= -1
    direction, _ = directed(many, values, sigma=0.8)
    assert direction[0] < 0
