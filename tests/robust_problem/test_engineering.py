"""The engineering suites: their sizes, what they contain, and values from the literature."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import robustforge as rf
from robustforge.errors import ProblemError
from robustforge.robust_problem.engineering import ENGINEERING
from robustforge.robust_problem.engineering.references import references

SUITES = ("engineering", "engineering-held-out")

PUBLISHED = {
    "bertsimas-nohadani-teo": [((2.8, 4.0), -20.8, 0.05)],
    "branin": [((np.pi, 2.275), 0.397887, 1e-6), ((-np.pi, 12.275), 0.397887, 1e-6)],
    "goldstein-price": [((0.0, -1.0), np.log(3.0), 1e-12)],
    "rippled-funnel": [((0.0, 0.0), 0.0, 1e-12)],
    "three-bowls": [((1.139286, 0.899365), 1.9522245, 1e-5)],
    "hartmann-3": [((0.114614, 0.555649, 0.852547), -3.86278, 1e-5)],
    "curved-valley": [((1.0, 1.0, 1.0, 1.0), 0.0, 0.0)],
    "six-hump-camel": [((0.0898, -0.7126), -1.0316, 1e-4)],
    "himmelblau": [((3.0, 2.0), 0.0, 0.0), ((-2.805118, 3.131312), 0.0, 1e-9)],
    "egg-crate": [((0.0, 0.0), 0.0, 0.0)],
    "rosen-suzuki": [((0.0, 1.0, 2.0, -1.0), -44.0, 0.0)],
    "hartmann-6": [((0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573), -3.32237, 1e-5)],
    "three-bar-truss": [((0.788676, 0.408246), 263.896, 0.01)],
    "speed-reducer": [((3.5, 0.7, 17.0, 7.3, 7.71532, 3.350215, 5.286655), 2994.47, 0.5)],
    "i-beam": [((80.0, 50.0, 0.9, 2.32179), 13.0741, 1e-3)],
    "stepped-cantilever": [((6.016, 5.3092, 4.4943, 3.5015, 2.1527), 1.33996, 1e-4)],
    "tubular-column": [((5.45116, 0.29197), 26.5313, 1e-3)],
    "pressure-vessel": [((0.7782, 0.3847, 40.32, 200.0), 5885.33, 1.0)],
    "spill": [((10.0, 0.07, 1.505, 30.1525), 0.0, 0.0)],
}
"""Points of the literature, their values and the rounding of both."""

LIMITED = {
    "welded-beam": ((0.20573, 3.470489, 9.036624, 0.20573), 1.724852, 50.0),
    "spring": ((0.05169, 0.35675, 11.287126), 12.665, 1000.0),
}
"""The same for optima at their limits, which rounding violates a little, with the weight of a penalty."""


@pytest.mark.parametrize("suite", SUITES)
def test_what_a_suite_contains(suite):
    chosen = [ENGINEERING[name] for name in rf.problems(suite)]
    assert len(chosen) == 26
    assert {2, 3, 4, 5, 6, 10, 12} <= {each.dimension for each in chosen} <= set(range(2, 13))
    assert sum(each.dimension <= 3 for each in chosen) >= 7
    crashing = [each for each in chosen if "crashes" in each.traits]
    assert len(crashing) >= 4
    assert all(3 <= each.dimension <= 10 for each in crashing)
    for trait in ("additive", "multimodal", "kinks", "cliffs"):
        assert sum(trait in each.traits for each in chosen) >= 2
    assert {rf.problem(each.name).geometry.is_box for each in chosen} == {True, False}


def test_the_suites_are_disjoint():
    names = [name for suite in ("paper", "held-out", *SUITES) for name in rf.problems(suite)]
    assert len(set(names)) == len(names)
    assert set(ENGINEERING) < set(names)


@pytest.mark.parametrize("name", ENGINEERING)
def test_values_are_numbers_wherever_a_run_can_be(name):
    problem, rng = rf.problem(name), np.random.default_rng(1)
    radii = problem.geometry.radii
    everywhere = rng.uniform(problem.lower - radii, problem.upper + radii, (2000, problem.dimension))
    values = np.array([problem(x) for x in everywhere])
    assert not np.isnan(values).any()
    assert (values > -np.inf).all()
    failed = np.isinf([problem(x) for x in rng.uniform(problem.lower, problem.upper, (2000, problem.dimension))])
    if "crashes" in ENGINEERING[name].traits:
        assert 0.15 < failed.mean() < 0.4
    else:
        assert np.isfinite(values).all()


@pytest.mark.parametrize("name", PUBLISHED)
def test_values_of_the_literature(name):
    problem = rf.problem(name)
    for x, value, rounding in PUBLISHED[name]:
        assert problem(x) == pytest.approx(value, abs=max(rounding, 1e-12))


@pytest.mark.parametrize("name", LIMITED)
def test_optima_at_their_limits(name):
    x, value, weight = LIMITED[name]
    assert value * 0.9999 < rf.problem(name)(x) < value + 2e-3 * weight


def test_the_polynomial_has_its_published_worst_case():
    problem = rf.problem("bertsimas-nohadani-teo")
    assert rf.verify(problem, [-0.18, 0.29], samples=2000, rng=1).attacked.fun == pytest.approx(4.3, abs=0.1)
    assert rf.verify(problem, [2.8, 4.0], samples=2000, rng=1).attacked.fun > 28


@pytest.mark.parametrize("name", ENGINEERING)
def test_a_sum_is_said_to_be_one(name):
    problem, rng = rf.problem(name), np.random.default_rng(1)
    gaps, sizes = [], []
    for k in range(100):
        a, b = rng.uniform(problem.lower, problem.upper, (2, problem.dimension))
        mine = (np.arange(problem.dimension) + k) // 2 % 2 == 0
        values = [problem(x) for x in (a, b, np.where(mine, a, b), np.where(mine, b, a))]
        if np.isfinite(values).all():
            gaps.append(abs(values[0] + values[1] - values[2] - values[3]))
            sizes.append(np.abs(values).max())
    assert (max(gaps) < 1e-9 * max(sizes)) == ("additive" in ENGINEERING[name].traits)


def test_pickled_problems_are_the_same():
    given = rf.problem("spring", out_of_bounds="clip")
    again = pickle.loads(pickle.dumps(given))
    assert again.to_dict() == given.to_dict()
    assert again.instance(3) is again
    x = (given.lower + given.upper) / 2
    assert again(x) == given(x)
    assert again.is_test_problem


def test_a_dimension_may_be_given_if_it_is_the_right_one():
    assert rf.problem("welded-beam", 4).to_dict() == rf.problem("welded-beam").to_dict()
    for dimension in (3, 30, 4.5, "4"):
        with pytest.raises(ProblemError, match="welded-beam has 4"):
            rf.problem("welded-beam", dimension)
    with pytest.raises(ProblemError, match='"original" only'):
        rf.problem("welded-beam", variant="shifted", seed=1)


def test_a_search_finds_a_design():
    problem = rf.problem("pressure-vessel")
    found = rf.minimize(problem, budget=60, rng=1)
    assert found.nfev == 60
    assert (found.x >= problem.lower).all()
    assert (found.x <= problem.upper).all()


@pytest.mark.parametrize("name", ENGINEERING)
def test_the_reference_is_attained(name):
    problem, reference = rf.problem(name), references()[name]
    found = rf.verify(problem, reference.x, samples=5000, rng=2).attacked.fun
    assert 0.0 <= reference.regret(found) < 1.0
    assert reference.regret(found - 0.01 * (reference.median - reference.best)) == 0.0
    assert reference.best < reference.median
    assert (reference.working < 1.0) == ("crashes" in ENGINEERING[name].traits)
    assert reference.gap < 1.0


def test_regret_is_clipped():
    reference = references()["spring"]
    assert reference.regret(reference.median) == pytest.approx(100.0)
    assert reference.regret(np.inf) == reference.regret(1e9) == 200.0
    assert reference.regret(-1e9) == 0.0
