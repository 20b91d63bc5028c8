"""Boxes and uncertainty sets: what is read, what is refused, and where the engine may go."""

from __future__ import annotations

import json
import pickle

import cloudpickle
import numpy as np
import pytest
from numba import njit
from scipy.optimize import Bounds

import robustforge as rf
from robustforge.errors import ProblemError, UnknownNameError
from shared import bowl


def solve(uncertainty, bounds=((-3.0, 5.0),) * 3, out_of_bounds="evaluate", budget=400, rng=1, heuristic="rpso+dd"):
    return rf.minimize(bowl, list(bounds), uncertainty, budget, heuristic, rng, out_of_bounds=out_of_bounds)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ([(1.0, 0.0)], "reversed"),
        ([(0.0, 1.0), (2.0, 2.0)], "equal"),
        ([(0.0, np.inf)], "finite"),
        ([(np.nan, 1.0)], "finite"),
        ([], "pairs"),
        ([(0.0, 1.0, 2.0)], "pairs"),
        ([("a", "b")], "pairs"),
        (5, "pairs"),
        ([0.0, 1.0], "pairs"),
    ],
)
def test_bad_bounds(bounds, words):
    with pytest.raises(ProblemError, match=words):
        rf.Problem(bowl, bounds, rf.Ball(0.1))


def test_bounds_of_scipy():
    problem = rf.Problem(bowl, Bounds([0, 1], [2, 3]), rf.Ball(0.1))
    assert problem.lower.tolist() == [0, 1]
    assert problem.upper.tolist() == [2, 3]


@pytest.mark.parametrize("radius", [-1.0, np.nan, np.inf, "wide", [[1.0]], []])
def test_bad_radius(radius):
    with pytest.raises(ProblemError, match="non-negative"):
        rf.Ball(radius)


def test_no_tolerance_at_all_is_refused():
    for make in (
        lambda: rf.Ball(0.0),
        lambda: rf.Ball([0.0, 0.0]),
        lambda: rf.Box(0.0),
        lambda: rf.Box(lower=0, upper=0),
    ):
        with pytest.raises(ProblemError, match="all tolerances are 0"):
            make()


def test_a_radius_of_the_wrong_length():
    with pytest.raises(ProblemError, match="got 2 for 3 variables"):
        rf.Problem(bowl, [(0, 1)] * 3, rf.Ball([0.1, 0.2]))


def test_a_box_is_given_in_one_way():
    for call in (lambda: rf.Box(), lambda: rf.Box(0.1, lower=0.2)):
        with pytest.raises(ProblemError, match="either"):
            call()


def test_shrinking_to_nothing_is_refused():
    with pytest.raises(ProblemError, match="shrink"):
        rf.Problem(bowl, [(0, 1)] * 2, rf.Box([0.1, 0.6]), out_of_bounds="shrink")


def test_what_is_no_set_or_no_function():
    with pytest.raises(ProblemError, match="Ball or a Box"):
        rf.Problem(bowl, [(0, 1)], 0.5)
    with pytest.raises(ProblemError, match="callable"):
        rf.Problem(3, [(0, 1)], rf.Ball(0.5))
    with pytest.raises(ValueError, match="out_of_bounds"):
        rf.Problem(bowl, [(0, 1)], rf.Ball(0.5), out_of_bounds="ignore")


def brute_worst(result, inside):
    gaps = result.history.x - result.x
    return result.history.fun[inside(gaps)].max()


def test_ellipsoid():
    radii = np.array([0.5, 1.0, 0.25])
    result = solve(rf.Ball(radii))
    assert result.fun == brute_worst(result, lambda d: np.sum((d / radii) ** 2, axis=1) <= 1 + 1e-9)


def test_box():
    half = np.array([0.5, 1.0, 0.25])
    result = solve(rf.Box(half))
    assert result.fun == brute_worst(result, lambda d: (np.abs(d) / half).max(axis=1) <= 1 + 1e-9)


def test_unequal_sides():
    lower, upper = np.array([0.1, 0.0, 0.5]), np.array([0.9, 1.0, 0.5])
    result = solve(rf.Box(lower=lower, upper=upper))
    inside = lambda d: ((d >= -lower - 1e-9) & (d <= upper + 1e-9)).all(axis=1)  # noqa: E731
    assert result.fun == pytest.approx(brute_worst(result, inside))
    assert result.nominal_fun == bowl(result.x)
    # a search that knows its set ends below the optimum by the set's offset
    result = solve(rf.Box(lower=0.0, upper=1.0), budget=3000, heuristic=None)
    assert result.x == pytest.approx([0.5] * 3, abs=0.05)  # with 20 other seeds, 0.002 at most


def test_an_ellipsoid_with_unequal_sides():
    lower, upper = np.array([0.1, 0.3, 0.5]), np.array([0.9, 0.7, 0.5])
    result = solve(rf.Ball(lower=lower, upper=upper))
    middle, radii = (upper - lower) / 2, (upper + lower) / 2
    inside = lambda d: np.sum(((d - middle) / radii) ** 2, axis=1) <= 1 + 1e-9  # noqa: E731
    assert result.fun == pytest.approx(brute_worst(result, inside))
    assert rf.Ball(lower=lower, upper=upper) == rf.Ball(lower=lower, upper=upper) != rf.Box(lower=lower, upper=upper)
    result = solve(rf.Ball(lower=0.25, upper=0.75), budget=3000)
    assert result.x == pytest.approx([0.75] * 3, abs=0.15)  # with 20 other seeds, 0.05 at most


def test_a_ball_must_hold_the_design():
    rf.Ball(lower=[0.0, 0.5, 0.5], upper=[1.0, 0.5, 0.5]).geometry(3)
    with pytest.raises(ProblemError, match="contain the design"):
        rf.Problem(bowl, [(-1, 1)] * 2, rf.Ball(lower=[0.0, 0.4], upper=[1.0, 0.5]))


def test_exact_variables_are_searched_but_not_disturbed():
    result = solve(rf.Ball([0.5, 0.0, 0.5]), budget=3000, heuristic="paper/30d/general")
    near = np.abs(result.history.x[:, 1] - result.x[1]) < 1e-12
    assert near.sum() >= 2
    assert result.x == pytest.approx([1.0, 1.0, 1.0], abs=0.7)  # with 40 other seeds, 0.40 at most


@pytest.mark.parametrize("uncertainty", [rf.Ball(1.0), rf.Box(1.0), rf.Box(lower=0.2, upper=1.0)], ids=repr)
@pytest.mark.parametrize("out_of_bounds", ["clip", "shrink"])
def test_nothing_outside_the_box_is_evaluated(uncertainty, out_of_bounds):
    result = solve(uncertainty, bounds=((1.0, 4.0),) * 3, out_of_bounds=out_of_bounds)
    assert (result.history.x >= 1.0 - 1e-12).all()
    assert (result.history.x <= 4.0 + 1e-12).all()
    assert (result.x >= 1.0).all()


def test_points_outside_are_evaluated_as_in_the_paper():
    result = solve(rf.Ball(1.0), bounds=((1.0, 4.0),) * 3)
    assert (result.history.x < 1.0).any()


def test_a_problem_can_be_called_and_solved():
    problem = rf.Problem(bowl, [(-3, 5)] * 3, rf.Ball(0.5), name="bowl")
    assert problem([1.0, 1.0, 3.0]) == 4.0
    assert rf.minimize(problem, budget=100, heuristic="rpso", rng=1).nfev == 100
    with pytest.raises(ProblemError, match="also passed"):
        rf.minimize(problem, [(0, 1)] * 3, rf.Ball(0.5))
    with pytest.raises(ProblemError, match="bounds and an uncertainty"):
        rf.minimize(bowl, [(0, 1)] * 3)


def test_a_compiled_objective_of_the_wrong_type():
    @njit
    def pair(x):
        return x[0], x[0]

    with pytest.raises(ProblemError, match="real number"):
        rf.minimize(pair, [(0, 1)] * 3, rf.Ball(0.5), budget=50, heuristic="rpso")


def test_a_compiled_objective_may_return_an_integer():
    @njit
    def steps(x):
        return int(np.sum(x))

    result = rf.minimize(steps, [(0, 9)] * 3, rf.Ball(0.5), budget=50, heuristic="rpso", rng=1)
    assert result.fun == int(result.fun)


def test_large_offsets_do_not_blur_the_neighbourhood():
    """Variables around a million with a tolerance of a hundredth: distances must still be exact."""
    far = 1e6
    result = rf.minimize(
        lambda x: float(np.sum((x - far) ** 2)), [(far - 5, far + 5)] * 3, rf.Ball(0.01), 300, "rpso+dd", 1
    )
    near = np.linalg.norm(result.history.x - result.x, axis=1) <= 0.01 * (1 + 1e-6)
    assert result.fun == result.history.fun[near].max()


@pytest.mark.parametrize(("bounds", "radius"), [((-1e308, 1e308), 1.0), ((0.0, 1.0), 1e-12)])
def test_a_box_too_wide_for_its_tolerance(bounds, radius):
    with pytest.raises(ProblemError, match="times as wide"):
        rf.Problem(bowl, [bounds] * 2, rf.Ball(radius))


def test_compiled_objectives_with_a_signature():
    from numba import float64

    plain = solve(rf.Ball(0.5))
    for signature in (float64(float64[:]), float64(float64[::1])):
        typed = njit(signature)(bowl.py_func)
        assert rf.minimize(typed, [(-3.0, 5.0)] * 3, rf.Ball(0.5), 400, "rpso+dd", 1).fun == plain.fun


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("out_of_bounds", ["clip", "shrink", "evaluate"])
def test_what_is_reported_is_what_was_evaluated(seed, out_of_bounds):
    seen = []

    def watched(x):
        seen.append(x.copy())
        return float(bowl(x))

    result = rf.minimize(watched, [(0.1, 0.7)] * 3, rf.Box(0.29), 60, "leh", seed, out_of_bounds=out_of_bounds)
    assert np.array_equal(np.array(seen), result.history.x)
    assert np.array_equal(result.x, seen[-1])
    assert float(bowl(result.worst_x)) == result.fun
    if out_of_bounds != "evaluate":
        assert (result.history.x >= 0.1).all()
        assert (result.history.x <= 0.7).all()


def test_leh_search_with_an_exact_variable_goes_on():
    result = rf.minimize(lambda x: float((x[1] - 0.7) ** 2), [(0, 1)] * 2, rf.Ball([1.0, 0.0]), 300, "leh", 1)
    assert result.nfev == 300


def square(x):
    return float(x @ x)


@pytest.mark.parametrize(
    "problem",
    [
        rf.problem("rastrigin", 5, "shifted-rotated", 3, "clip"),
        rf.Problem(square, [(-1, 2), (0, 3)], rf.Ball([0.1, 0.2]), out_of_bounds="shrink", name="mine"),
        rf.Problem(square, [(-1, 2), (0, 3)], rf.Box(lower=0.1, upper=0.3)),
    ],
    ids=lambda problem: problem.name,
)
def test_a_problem_reaches_another_process_whole(problem):
    assert problem.compiled is None or problem.compiled  # what is cached must not be in the way
    there = pickle.loads(pickle.dumps(problem))
    assert there.to_dict() == problem.to_dict()
    assert json.loads(json.dumps(problem.to_dict())) == problem.to_dict()
    x = (problem.lower + problem.upper) / 3
    assert there(x) == problem(x)
    assert (there.space.offset == problem.space.offset).all()


def test_errors_reach_another_process_whole():
    for error in (
        UnknownNameError("problem", "spere", ["sphere"], "robustforge problems"),
        ProblemError("a", "b", "c"),
    ):
        there = pickle.loads(pickle.dumps(error))
        assert type(there) is type(error)
        assert str(there) == str(error)
        assert there.fix == error.fix


def test_a_vectorized_problem():
    def columns(xs):
        return (xs**2).sum(axis=0)

    plain = rf.Problem(columns, [(-1, 1)] * 2, rf.Ball(0.1))
    problem = rf.Problem(columns, [(-1, 1)] * 2, rf.Ball(0.1), vectorized=True)
    assert "vectorized" not in plain.to_dict()
    assert problem.to_dict() == {**plain.to_dict(), "vectorized": True}
    there = pickle.loads(cloudpickle.dumps(problem))
    assert there.vectorized
    assert there([0.5, 0.5]) == 0.5
    assert there([[0.5, 1.0], [0.5, 0.0]]).tolist() == [0.5, 1.0]
    assert not pickle.loads(cloudpickle.dumps(plain)).vectorized
