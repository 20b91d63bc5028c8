"""Attacks with few evaluations: exact where a corner is the worst, never above the truth, the same with workers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import robustforge as rf
from conftest import bowl
from robustforge.errors import ProblemError
from robustforge.verification.probing import Knowledge, probing


def boxed(name, dimension, share=1 / 3):
    given = rf.problem(name, dimension)
    half = float(given.geometry.radii[0]) * share
    return rf.Problem(lambda x: float(given(x)), list(zip(given.lower, given.upper, strict=True)), rf.Box(half))


@pytest.mark.parametrize("name", rf.problems())
@pytest.mark.parametrize("box", [True, False])
def test_it_comes_close_to_the_thorough_attack(name, box):
    problem = boxed(name, 10) if box else rf.problem(name, 10)
    x = problem.lower + (0.2 + 0.6 * np.random.default_rng(1).random(10)) * (problem.upper - problem.lower)
    thorough = rf.verify(problem, x, samples=2000, rng=1)
    found = rf.attack(problem, x, budget=300)
    assert found.fun == pytest.approx(problem(found.x))
    rise, most = found.fun - thorough.nominal_fun, thorough.attacked.fun - thorough.nominal_fun
    assert rise <= most * (1 + 1e-6) + 1e-9
    assert rise >= (0.93 if box else 0.8) * most
    assert found.nfev <= 300


def test_corners_of_a_box_and_the_rim_of_a_ball_for_a_slope():
    slope = np.array([3.0, -2.0, 0.0, 1.0, 0.5])
    for uncertainty, worst in (
        (rf.Box([0.1, 0.2, 0.3, 0.0, 0.5]), 0.3 + 0.4 + 0.25),
        (rf.Box(lower=0.1, upper=0.3), 0.9 + 0.2 + 0.3 + 0.15),
        (rf.Ball(0.5), 0.5 * np.linalg.norm(slope)),
    ):
        problem = rf.Problem(lambda x: float(slope @ x), [(-5, 5)] * 5, uncertainty)
        assert rf.attack(problem, np.zeros(5), budget=40).fun == pytest.approx(worst, rel=1e-3)


def test_the_budget_is_kept_and_the_answer_does_not_depend_on_the_workers():
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


def test_infeasible_is_the_worst():
    problem = rf.Problem(lambda x: np.inf if x[0] > 1.4 else bowl(x), [(-5, 5)] * 3, rf.Box(0.5))
    assert rf.attack(problem, np.ones(3), budget=30).fun == np.inf


@pytest.mark.parametrize("is_box", [True, False])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_probing_asks_for_points_of_the_set_each_once_also_where_values_fail(is_box, size):
    knowledge = Knowledge(np.zeros((1, size)), np.zeros(1))
    probe, asked, rng = probing(knowledge, is_box), [], np.random.default_rng(1)
    points = next(probe)
    while points is not None and len(asked) < 300:
        norms = np.abs(points).max(axis=1) if is_box else np.linalg.norm(points, axis=1)
        assert (norms <= 1 + 1e-9).all()
        asked.extend(np.round(points, 12).tolist())
        values = rng.random(len(points))
        values[rng.random(len(points)) < 0.3] = np.nan
        try:
            points = probe.send(values)
        except StopIteration:
            points = None
    assert len({tuple(point) for point in asked}) == len(asked)
    assert len(asked) >= (2 if size == 1 and not is_box else 300)


@pytest.mark.parametrize("budget", [0, -1, 1.5, "x", True])
def test_mistakes(budget):
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
    with pytest.raises(ProblemError, match="evaluates by itself"):
        rf.attack(rf.Problem(columns, *arguments, vectorized=True), [0.5] * 4, workers=2)
