"""The neighbourhood query and the room around a point, against the plain definition in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import robustforge as rf
from robustforge.components.relocation import empty_centre, measure_clearance
from robustforge.core.history import PER_EVALUATION, RECENT
from robustforge.engine import ask_tell, kernels

COUNT = 700


def filled(dimension: int, uncertainty, spread: float, seed: int = 1) -> rf.Optimizer:
    """Return a search whose history is `COUNT` points, so many Gamma apart, with random values."""
    search = rf.Optimizer([(-5, 5)] * dimension, uncertainty, 1000, "rpso+dd+leh", 1)
    rng = np.random.default_rng(seed)
    arrays = search.arrays
    points = rng.normal(0.0, spread, (COUNT, dimension))
    if arrays["certain"].size:
        points[:, arrays["certain"]] = rng.integers(0, 2, (COUNT, arrays["certain"].size))
    arrays["history_y"][:COUNT] = points
    arrays["history_coarse"][:, :COUNT] = points.T
    arrays["history_f"][:COUNT] = rng.normal(size=COUNT)
    arrays["history_f"][::50] = np.nan
    arrays["counters"]["spent"] = COUNT
    return search


@pytest.mark.parametrize("dimension", [1, 2, 5, 17, 30, 100])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9, 3.0])
@pytest.mark.parametrize("make", [rf.Ball, rf.Box])
def test_neighbours(dimension, share, make):
    spread = share / (np.sqrt(dimension) if make is rf.Ball else 1.0)
    search = filled(dimension, make(0.5), spread)
    points, values = search.arrays["history_y"][:COUNT], search.arrays["history_f"][:COUNT]
    for y in (np.zeros(dimension), points[3].copy(), points[COUNT - 1] * 0.5):
        gaps = points - y
        distance = np.linalg.norm(gaps, axis=1) if make is rf.Ball else np.abs(gaps).max(axis=1)
        expected = np.flatnonzero((distance <= 1.0) & ~np.isnan(values))
        found = search.arrays["neighbours"][: ask_tell.find_near(search.state, y)]
        assert found.tolist() == expected.tolist()


def test_neighbours_agree_exactly_in_exact_variables():
    search = filled(4, rf.Ball([0.5, 0.0, 0.5, 0.0]), 0.3)
    points, values = search.arrays["history_y"][:COUNT], search.arrays["history_f"][:COUNT]
    y = points[7].copy()
    near = np.linalg.norm(points[:, [0, 2]] - y[[0, 2]], axis=1) <= 1.0
    same = (points[:, [1, 3]] == y[[1, 3]]).all(axis=1)
    found = search.arrays["neighbours"][: ask_tell.find_near(search.state, y)]
    assert found.tolist() == np.flatnonzero(near & same & ~np.isnan(values)).tolist()


@pytest.mark.parametrize("make", [rf.Ball, rf.Box])
@pytest.mark.parametrize("dimension", [1, 3, 40])
def test_room_is_the_distance_to_the_nearest_high_cost_point(make, dimension):
    search = filled(dimension, make(0.5), 3.0)
    arrays = search.arrays
    arrays["incumbent_f"][0], arrays["counters"]["has_incumbent"] = 0.5, 1
    before = int(arrays["counters"]["distances"][0])
    reached = empty_centre(search.state, 8, 0.2, 0.3, 1, 2)
    assert int(arrays["counters"]["distances"][0]) == before + (8 + 4 * 7) * COUNT
    high = arrays["history_y"][:COUNT][arrays["history_f"][:COUNT] > 0.5]
    order = np.inf if make is rf.Box else 2
    centre = arrays["leh_centre"]
    assert reached == pytest.approx(np.linalg.norm(high - centre, ord=order, axis=1).min(), rel=1e-5)
    assert ((centre >= arrays["lower"]) & (centre <= arrays["upper"])).all()
    room, candidates = np.zeros(20), arrays["leh_offspring"]
    measure_clearance(search.state, candidates, 0, 5, room)
    for k in range(5):
        nearest = np.linalg.norm(high - candidates[k], ord=order, axis=1).min()
        assert np.sqrt(room[k]) == pytest.approx(nearest, rel=1e-5)


def test_the_empty_centre_is_better_than_a_random_point():
    search = filled(10, rf.Ball(0.5), 3.0)
    search.arrays["incumbent_f"][0], search.arrays["counters"]["has_incumbent"] = 0.5, 1
    high = search.arrays["history_y"][:COUNT][search.arrays["history_f"][:COUNT] > 0.5]
    rng = np.random.default_rng(0)
    at_random = [np.linalg.norm(high - rng.uniform(-10, 10, 10), axis=1).min() for _ in range(50)]
    reached = empty_centre(search.state, 10, 0.1, 0.2, 1, 2)
    assert reached > 1.1 * np.median(at_random)  # with 20 other seeds, 1.3 times as far at least


def test_what_queries_examine_is_bounded_and_whole_up_to_2048_points():
    problem = rf.problem("sphere", 10)
    fun, data = problem.compiled
    for budget in (2000, 12_000):
        search = rf.Optimizer(problem, budget=budget, heuristic="paper/30d/general", rng=1)
        kernels.prepare_run()
        while (why := ask_tell.run(search.state, ask_tell.advance, fun, data, 1000)) != ask_tell.OVER:
            if why == ask_tell.UNLINKED:
                search.link()
        counters = search.arrays["counters"][0]
        assert counters["spent"] == budget
        assert (counters["examined"] > 0) == (budget > RECENT)
        assert counters["examined"] <= PER_EVALUATION * budget
        centre = search.arrays["incumbent_x"]
        found = np.sort(search.arrays["neighbours"][: ask_tell.find_near(search.state, centre)])
        gaps = ((search.arrays["history_y"] - centre) ** 2).sum(axis=1)
        assert np.array_equal(found, np.flatnonzero(gaps <= 1.0 + 1e-9))  # whoever asks for all, gets all
