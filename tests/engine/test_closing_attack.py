"""The closing attack: an exact budget, the worst corner, cliffs, moved designs, failed runs, `verify`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import robustforge as rf
from robustforge.components import ClosingAttack
from robustforge.engine.attack_summary import summarise_attack
from robustforge.errors import ProblemError
from shared import bowl

DEFAULT = rf.heuristic("default/10d/few")


def slope(x):
    return float(3.0 * x[0] - 2.0 * x[1] + x[2])


def cliff(x):
    """A slope down to a cliff: the best designs are next to it."""
    return 1000.0 if x[0] + 0.3 * x[1] > 1.0 else float(5.0 - x[0] + 0.1 * (x @ x))


@pytest.mark.parametrize("budget", [3, 4, 10, 37, 60, 151])
@pytest.mark.parametrize("verify", [None, 0, 1, 5])
def test_the_budget_is_exact(budget, verify):
    calls = []
    problem = rf.Problem(lambda x: calls.append(1) or bowl(x), [(-5, 5)] * 3, rf.Box(0.5))
    if verify is not None and verify > budget - 2:
        with pytest.raises(ProblemError, match="`verify` must"):
            rf.minimize(problem, budget=budget, rng=1, verify=verify)
        return
    result = rf.minimize(problem, budget=budget, rng=1, verify=verify)
    assert result.nfev == len(calls) == budget
    assert result.attack_runs <= (budget if verify is None else verify)
    assert result.nominal_fun <= result.fun == result.history.fun[result.history.fun == result.fun][0]


def test_the_worst_corner_of_a_box_is_found():
    result = rf.minimize(slope, [(-5, 5)] * 3, rf.Box(0.5), budget=60, rng=1)
    assert result.fun == pytest.approx(slope(result.x) + 3.0)
    assert result.worst_x - result.x == pytest.approx([0.5, -0.5, 0.5])


@pytest.mark.parametrize("uncertainty", [rf.Ball(0.5), rf.Box(0.3)])
def test_designs_next_to_a_cliff_are_found_out_or_moved(uncertainty):
    """Of 10 numbers in 20 other sets of seeds, at least 7 were honest, and 9 on average."""
    honest = 0
    for seed in range(10):
        problem = rf.Problem(cliff, [(-5, 5)] * 4, uncertainty)
        result = rf.minimize(problem, budget=150, heuristic=DEFAULT, rng=seed)
        true = rf.verify(problem, result.x, samples=2000, rng=1).attacked.fun
        honest += result.fun >= 0.9 * true
    assert honest >= 6


def test_the_value_is_that_of_the_design_only_where_it_is_the_worst_point():
    for seed in range(10):
        problem = rf.problem("rastrigin", 10, "shifted-rotated", seed=seed)
        result = rf.minimize(problem, budget=300, rng=seed)
        assert (result.fun == result.nominal_fun) == (result.worst_x == result.x).all()
        assert result.attack_runs > 0
        assert "attacked by" in result.message


def test_challengers_do_not_cost_quality():
    """The true worst case is that of a search without them: in 20 other sets of seeds, from 0.97 to 1.01 times that."""
    ratios = []
    for seed in range(12):
        problem = rf.problem("rosenbrock", 5, "shifted-rotated", seed=seed)
        found = [
            rf.verify(problem, rf.minimize(problem, budget=300, heuristic=chosen, rng=seed).x, samples=500, rng=1)
            for chosen in (DEFAULT, DEFAULT.replace(final=DEFAULT.final.replace(challenge=0.0)))
        ]
        ratios.append(found[0].attacked.fun / found[1].attacked.fun)
    assert np.exp(np.mean(np.log(ratios))) < 1.04


def test_verify_is_the_number_of_runs_whatever_the_heuristic():
    problem = rf.problem("sphere", 5)
    for name in ("rpso", "default/10d/few"):
        search = rf.Optimizer(problem, budget=200, heuristic=name, rng=1, verify=30)
        assert search.arrays["counters"]["reserve"][0] == 30
        assert isinstance(search.heuristic.final, ClosingAttack)
        assert rf.Optimizer.from_json(search.to_json()).verify == 30
    plain = rf.minimize(problem, budget=200, heuristic="rpso", rng=1)
    none = rf.minimize(problem, budget=200, heuristic="rpso", rng=1, verify=0)
    assert (plain.history.x == none.history.x).all()
    assert none.attack_runs == 0
    for wrong in (-1, 200, 1.5, True, "x"):
        with pytest.raises(ProblemError, match="`verify` must be"):
            rf.minimize(problem, budget=200, verify=wrong)


def test_the_estimate_is_what_the_search_believed():
    problem = rf.problem("rastrigin", 10, "shifted-rotated", seed=3)
    search = rf.Optimizer(problem, budget=300, rng=1)
    believed = None
    while batch := search.ask():
        if search.arrays["counters"]["phase"][0] == 3 and believed is None:
            believed = float(search.arrays["closing"]["estimate"][0])
        search.tell(batch.ids, [problem(x) for x in batch.x])
    assert search.result().estimate == believed


@pytest.mark.parametrize("policy", ["infeasible", "unknown"])
def test_designs_keep_away_from_failed_runs(policy):
    safe = 0
    for seed in range(8):
        edge = np.random.default_rng(seed).uniform(-1.0, 1.0)

        def model(x, edge=edge):
            return np.nan if x[0] + 0.5 * x[1] > edge else float((x[0] - edge) ** 2 + (x[1:] ** 2).sum())

        result = rf.minimize(model, [(-5, 5)] * 4, rf.Ball(0.5), budget=150, rng=seed, on_failure=policy)
        reach = result.x[0] + 0.5 * result.x[1] + 0.5 * np.hypot(1.0, 0.5)
        safe += reach <= edge
    assert safe >= 6


def test_a_design_is_found_where_nothing_has_worked_so_far():
    found = 0
    for seed in range(8):
        problem = rf.Problem(lambda x: float(x @ x) if x[0] > 3.5 else np.nan, [(-5, 5)] * 3, rf.Ball(0.2))
        found += bool(np.isfinite(rf.minimize(problem, budget=60, rng=seed, on_failure="infeasible").nominal_fun))
    assert found >= 7


def test_workers_and_callers_make_no_difference():
    problem = rf.Problem(bowl, [(-5, 5)] * 4, rf.Box(0.5))
    alone = rf.minimize(problem, budget=120, rng=1)
    with ThreadPoolExecutor(4) as threads:
        other = rf.minimize(problem, budget=120, rng=1, workers=threads)
    search = rf.Optimizer(problem, budget=120, rng=1)
    while batch := search.ask():
        search.tell(batch.ids[::-1], [problem(x) for x in batch.x[::-1]])
    for result in (other, search.result()):
        assert (result.history.x == alone.history.x).all()
        assert (result.x == alone.x).all()


def test_retries_stay_within_the_budget():
    rng = np.random.default_rng(1)
    result = rf.minimize(
        lambda x: np.nan if rng.random() < 0.1 else float(x @ x),
        [(-5, 5)] * 3,
        rf.Ball(0.5),
        budget=100,
        rng=1,
        on_failure="infeasible",
        retries=2,
    )
    assert result.nfev == 100


@pytest.mark.parametrize(
    ("worst", "believed", "text"),
    [
        (1.31, 1.0, "31% worse than the search believed"),
        (1.0, 1.0, "no worse than the search believed"),
        (49.7, 0.02, "49.7"),
        (-69.0, -100.0, "31% worse"),
        (4.57, -0.86, "where the search believed -0.86"),
        (np.inf, 1.0, "infeasible within the tolerances"),
    ],
)
def test_what_an_attack_found_in_words(worst, believed, text):
    assert text in summarise_attack(worst, believed, 20)
    assert summarise_attack(worst, believed, 1).startswith("attacked by 1 evaluation: ")
