"""`attack`: exact where a corner is the worst point, never above the true worst case, independent of the workers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import njit

import robustforge as rf
from robustforge.errors import ProblemError
from robustforge.verification.neighbourhood import Neighbourhood
from shared import bowl


def boxed(name, dimension, fraction=1 / 3):
    given = rf.problem(name, dimension)
    half = float(given.geometry.radii[0]) * fraction
    return rf.Problem(lambda x: float(given(x)), list(zip(given.lower, given.upper, strict=True)), rf.Box(half))


FRACTIONS = {
    **dict.fromkeys(rf.problems(), (0.97, 0.97)),
    "rastrigin": (0.97, 0.9),
    "multipeak-f1": (0.97, 0.85),
    "multipeak-f2": (0.97, 0.9),
    "branke": (0.97, 0.9),
    "sawtooth": (0.97, 0.5),
    "ackley": (0.8, 0.75),
}
"""The minimum fraction of the full attack's increase, on average over five designs: in a box, in a ball.

With 20 other sets of seeds, all means were above these, those below 0.97 by 0.05 and more.
"""


@pytest.mark.parametrize("name", rf.problems())
@pytest.mark.parametrize("box", [True, False])
def test_it_comes_close_to_the_full_attack(name, box):
    problem = boxed(name, 10) if box else rf.problem(name, 10)
    fractions = []
    for position in np.random.default_rng(1).random((5, 10)):
        x = problem.lower + (0.2 + 0.6 * position) * (problem.upper - problem.lower)
        full = rf.verify(problem, x, samples=500, rng=1)
        found = rf.attack(problem, x, budget=300)
        assert found.fun == pytest.approx(problem(found.x))
        assert found.nfev <= 300
        fractions.append((found.fun - full.nominal_fun) / (full.attacked.fun - full.nominal_fun))
    assert max(fractions) <= 1.01  # of 100 designs, one was 1.00014: the full attack does not find everything
    assert np.mean(fractions) >= FRACTIONS[name][0 if box else 1]


@njit
def hill(x):
    total = 0.0
    for i in range(x.size):
        total += abs(x[i] - np.floor(x[i]) - 0.1 * i)
    return total


def random_problem(seed, objective):
    """Balls and boxes, also with unequal sides and far from 0; every policy for points outside the bounds."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    lower = rng.uniform(-3.0, 0.0, n) + rng.choice([0.0, 0.0, 1e6])
    down, up = rng.uniform(0.05, 0.3, (2, n)) * rng.choice([1.0, 1e-3])
    sets = [
        rf.Ball(down[0]),
        rf.Ball(lower=0.8 * up, upper=up),
        rf.Box(down[0]),
        rf.Box(lower=down, upper=up),
    ]
    out_of_bounds = ("clip", "shrink", "evaluate")[seed % 3]
    bounds = list(zip(lower, lower + rng.uniform(1.5, 4.0, n), strict=True))
    return rf.Problem(objective, bounds, sets[int(rng.integers(4))], out_of_bounds=out_of_bounds)


@pytest.mark.parametrize("objective", [bowl, hill], ids=["bowl", "hill"])
def test_the_attack_is_never_below_the_worst_value_of_the_search(objective):
    """Without prior evaluations, about one result in a hundred is lower, by a rounding error."""
    for seed in range(200):
        problem = random_problem(seed, objective)
        result = rf.minimize(problem, budget=100, rng=seed)
        full = rf.verify(problem, result.x, samples=10, rng=1, prior_evaluations=result.history).attacked
        for found in (full, rf.attack(problem, result.x, budget=30, prior_evaluations=result.history)):
            assert found.fun >= result.fun
            assert found.fun == problem(found.x)


@pytest.mark.parametrize("uncertainty", [rf.Ball(1e-4), rf.Box(1e-4)])
def test_far_from_0_the_boundary_of_the_set_is_inside(uncertainty):
    """Rounding moves a point by a millionth of the tolerance there."""
    problem = rf.Problem(bowl, [(1e6, 1e6 + 1.0)] * 3, uncertainty)
    for x in 1e6 + np.random.default_rng(1).uniform(0.1, 0.9, (100, 3)):
        edges = x + 1e-4 * np.concatenate([np.eye(3), -np.eye(3)])
        around = Neighbourhood(problem, x)
        assert around.contains(edges).all()
        assert not around.contains(x + 1.0001 * (edges - x)).any()


def test_prior_evaluations_within_the_set_are_used_and_not_repeated():
    calls = []
    problem = rf.Problem(lambda x: calls.append(x.tolist()) or float(x.sum()), [(-5, 5)] * 2, rf.Box(0.5))
    corners = [[1.5, 1.5], [0.5, 0.5], [1.5, 0.5], [9.0, 9.0]]
    found = rf.attack(problem, [1.0, 1.0], budget=6, prior_evaluations=(corners, [100.0, 1.0, 2.0, 1e9]))
    assert (found.fun, found.x.tolist(), found.nfev) == (100.0, [1.5, 1.5], 6)
    assert not [x for x in calls if x in corners]
    found = rf.verify(problem, [1.0, 1.0], samples=5, rng=1, prior_evaluations=(corners, [100.0, 1.0, 2.0, 1e9]))
    assert (found.attacked.fun, found.attacked.x.tolist()) == (100.0, [1.5, 1.5])
    assert found.sampled.fun < 3.0
    with pytest.warns(DeprecationWarning, match="`known=` was renamed to `prior_evaluations=`"):
        assert rf.attack(problem, [1.0, 1.0], budget=6, known=(corners, [100.0, 1.0, 2.0, 1e9])).fun == 100.0
    for prior in ([[1.0, 1.0]], ([[1.0]], [1.0]), ([[1.0, 1.0]], [np.nan])):
        for check in (rf.attack, rf.verify):
            with pytest.raises(ProblemError, match=r"known|prior"):
                check(problem, [1.0, 1.0], 10, prior_evaluations=prior)


def test_linear_functions_on_a_box_and_a_ball():
    slope = np.array([3.0, -2.0, 0.0, 1.0, 0.5])
    for uncertainty, worst in (
        (rf.Box([0.1, 0.2, 0.3, 0.0, 0.5]), 0.3 + 0.4 + 0.25),
        (rf.Box(lower=0.1, upper=0.3), 0.9 + 0.2 + 0.3 + 0.15),
        (rf.Ball(0.5), 0.5 * np.linalg.norm(slope)),
    ):
        problem = rf.Problem(lambda x: float(slope @ x), [(-5, 5)] * 5, uncertainty)
        assert rf.attack(problem, np.zeros(5), budget=40).fun == pytest.approx(worst, rel=1e-3)


def test_the_budget_is_exact_and_the_result_independent_of_the_workers():
    calls = []
    problem = rf.Problem(lambda x: calls.append(1) or bowl(x), [(-5, 5)] * 4, rf.Box(0.5))
    for budget in (1, 2, 7, 33):
        calls.clear()
        assert rf.attack(problem, np.ones(4), budget=budget).nfev == budget == len(calls)
    plain = rf.Problem(bowl, [(-5, 5)] * 4, rf.Box(0.5))
    alone = rf.attack(plain, np.ones(4), budget=50)
    with ThreadPoolExecutor(4) as threads:
        for workers in (2, threads):
            other = rf.attack(plain, np.ones(4), budget=50, workers=workers)
            assert (other.fun, other.x.tolist(), other.nfev) == (alone.fun, alone.x.tolist(), alone.nfev)


def test_infeasible_points_are_the_worst():
    problem = rf.Problem(lambda x: np.inf if x[0] > 1.4 else bowl(x), [(-5, 5)] * 3, rf.Box(0.5))
    assert rf.attack(problem, np.ones(3), budget=30).fun == np.inf


@pytest.mark.parametrize("is_box", [True, False])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_points_are_in_the_set_and_distinct(is_box, size):
    asked, rng = [], np.random.default_rng(1)
    problem = rf.Problem(
        lambda x: asked.append(x) or float(rng.random()), [(-9, 9)] * size, (rf.Box if is_box else rf.Ball)(1.0)
    )
    rf.attack(problem, np.zeros(size), budget=301)
    points = np.array(asked[:-1])
    norms = np.abs(points).max(axis=1) if is_box else np.linalg.norm(points, axis=1)
    assert (norms <= 1 + 1e-9).all()
    assert len({tuple(point) for point in np.round(points, 12).tolist()}) == (
        len(points) if size > 1 or is_box else 300
    )


@pytest.mark.parametrize("budget", [0, -1, 1.5, "x", True])
def test_invalid_budgets(budget):
    with pytest.raises(ProblemError, match="budget"):
        rf.attack(rf.problem("sphere", 3), [20.0] * 3, budget=budget)


def test_a_vectorized_objective_is_called_for_a_batch_at_once():
    calls = []

    def columns(xs):
        calls.append(xs.shape[1])
        return ((xs - 1.0) ** 2).sum(axis=0)

    arguments = ([(-3, 5)] * 4, rf.Box(0.5))
    found = rf.attack(rf.Problem(columns, *arguments, vectorized=True), [0.5] * 4, budget=100)
    assert found.fun == rf.attack(rf.Problem(bowl, *arguments), [0.5] * 4, budget=100).fun
    assert sum(calls) == found.nfev
    assert len(calls) < found.nfev / 3
    with pytest.raises(ProblemError, match="cannot be used with a vectorized function"):
        rf.attack(rf.Problem(columns, *arguments, vectorized=True), [0.5] * 4, workers=2)
