"""Emulator search and the second stage: good designs from few runs, away from failures, within the rules."""

from __future__ import annotations

import math

import numpy as np
import pytest

import robustforge as rf
from robustforge.components import EmulatorSearch, NoSelection, NoTest
from robustforge.components.emulator import compress, value_of
from robustforge.components.second_stage import EmulatorStage

EMULATOR = EmulatorSearch(
    batch=1, initial_factor=3, exploration=2, probing=1, caution=0.5, failure_margin=0.9, model_points=128
)
ALONE = rf.heuristic("champion/10d/few").replace(outer=EMULATOR, separability=NoTest(), final=NoSelection())
STAGED = rf.heuristic("champion/10d/few").replace(
    second_stage=EmulatorStage(first_fraction=0.5, search=EMULATOR), final=NoSelection()
)


def bowl(x):
    return float(((x - 0.2) ** 2).sum() + 0.5 * x[0] * x[1])


def worst(problem, x):
    return rf.verify(problem, x, samples=1000, rng=1).attacked.fun


def test_the_standard_example_of_the_field_is_solved_with_a_hundred_runs():
    """Regret of at most 5% of that of a median random design; of 20 other sets of seeds the worst had 0.5%."""
    problem, best, median = rf.problem("bertsimas-nohadani-teo"), 4.29, 54.3
    found = [worst(problem, rf.minimize(problem, budget=100, heuristic=STAGED, rng=seed).x) for seed in range(7)]
    assert np.median([(value - best) / (median - best) for value in found]) < 0.05


@pytest.mark.parametrize("heuristic", [ALONE, STAGED], ids=["alone", "second-stage"])
@pytest.mark.parametrize("policy", ["evaluate", "clip", "shrink"])
def test_points_are_within_reach_of_designs(heuristic, policy):
    problem = rf.Problem(bowl, [(-1, 1), (0, 2), (-3, 3)], rf.Box([0.2, 0.0, 0.5]), out_of_bounds=policy)
    result = rf.minimize(problem, budget=60, heuristic=heuristic, rng=2)
    reach = np.array([0.2, 0.0, 0.5]) if policy == "evaluate" else np.zeros(3)
    assert (result.history.x >= problem.lower - reach - 1e-9).all()
    assert (result.history.x <= problem.upper + reach + 1e-9).all()
    assert result.nfev == 60
    assert result.success


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_batches_can_be_told_in_any_order(batch):
    heuristic = ALONE.replace(outer=EMULATOR.replace(batch=batch))
    problem = rf.Problem(bowl, [(-1, 1)] * 3, rf.Ball(0.2))
    usual = rf.minimize(problem, budget=50, heuristic=heuristic, rng=3)
    search = rf.Optimizer(problem, None, 50, heuristic, rng=3)
    while points := search.ask():
        assert len(points) <= batch
        order = np.argsort(-points.ids)
        search.tell(points.ids[order], [bowl(x) for x in points.x[order]])
    assert (search.result().history.x == usual.history.x).all()
    assert len(np.unique(usual.history.x[:-1].round(9), axis=0)) == 49  # no point is evaluated twice


def test_the_second_stage_takes_over_in_time():
    search = rf.Optimizer([(-1, 1)] * 3, rf.Ball(0.2), 80, STAGED, rng=1)
    before = []
    while points := search.ask():
        if search.arrays["counters"]["handed_over"][0] == 0:
            before.append(search.nfev + len(points))
        search.tell(points.ids, [bowl(x) * math.exp(x[2]) for x in points.x])
    assert 40 <= max(before) <= 40 + STAGED.outer.agents


def test_sums_are_left_to_the_coordinate_search():
    search = rf.Optimizer([(-1, 1)] * 3, rf.Ball(0.2), 90, STAGED, rng=1)
    while points := search.ask():
        search.tell(points.ids, [float((x**4).sum()) for x in points.x])
    assert search.arrays["counters"]["replaced"][0] == 1
    assert search.arrays["counters"]["handed_over"][0] == 0


def test_designs_keep_away_from_failures():
    """Of 8 designs in 20 other sets of seeds, 4 worked throughout in one set, and at least 6 in the others."""

    def crashing(x):
        return math.inf if x[0] + x[1] > 0.6 else float(((x - 0.8) ** 2).sum() + 0.2 * x[2])

    problem = rf.Problem(crashing, [(0, 1)] * 3, rf.Box(0.08))
    works = 0
    for seed in range(8):
        x = rf.minimize(problem, budget=80, heuristic=STAGED, rng=seed, on_failure="infeasible").x
        works += bool(x[0] + x[1] + 0.16 <= 0.6)
    assert works >= 3


@pytest.mark.parametrize("failing", [math.inf, math.nan])
def test_a_model_that_hardly_ever_works(failing):
    problem = rf.Problem(lambda x: 1.0 if x[0] > 0.97 else failing, [(0, 1)] * 2, rf.Ball(0.01))
    result = rf.minimize(problem, budget=40, heuristic=ALONE, rng=1, on_failure="unknown")
    assert result.nfev == 40
    assert np.isfinite(result.x).all()


def test_constant_and_huge_values():
    for value in (0.0, 1e300, -1e300):
        result = rf.minimize(lambda x, v=value: v, [(0, 1)] * 2, rf.Ball(0.1), budget=30, heuristic=ALONE, rng=1)
        assert np.isfinite(result.x).all()
        assert result.fun == value


def test_compressed_values_keep_their_order_and_can_be_undone():
    search = rf.Optimizer([(-1, 1)] * 2, rf.Ball(0.2), 60, ALONE, rng=1)
    while (points := search.ask()) and search.nfev < 40:
        search.tell(points.ids, [bowl(x) + 1e4 * max(0.0, x[0] - 0.5) for x in points.x])
    numbers = search.arrays["emulator"][0]
    assert numbers["compressed"] == 1  # a cliff
    values = np.array([-1.0, 0.0, 1.0, 100.0, 1e4])
    seen = [(compress(search.state, v) - numbers["shift"]) / numbers["scale"] for v in values]
    assert (np.diff(seen) > 0).all()
    assert [value_of(search.state, v) for v in seen] == pytest.approx(values)


def test_a_heuristic_with_a_second_stage_shows_itself():
    again = rf.Heuristic.from_json(STAGED.to_json())
    assert again == STAGED
    assert "after 50% of the budget" in STAGED.describe()
    assert "second_stage" not in rf.heuristic("champion/10d/few").to_json()
    drawn = [rf.grammar("expensive").random(np.random.default_rng(seed)) for seed in range(40)]
    assert any(isinstance(chosen.second_stage, EmulatorStage) for chosen in drawn)
    assert not any(
        rf.grammar("extended").random(np.random.default_rng(seed)).second_stage.continuation for seed in range(40)
    )
