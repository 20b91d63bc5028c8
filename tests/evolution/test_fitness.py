"""Ranking and fitness: worked examples, ties, agreement with a plain definition, and the test of a race."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2, friedmanchisquare, rankdata
from scipy.stats import t as student

from robustforge.evolution.fitness import (
    MAX_REGRET,
    goal_loss,
    mean_regret,
    normalised_distance,
    normalised_fitness,
    race_survivors,
    rank_by_elimination,
    ranking,
)


def test_one_problem_is_ranked_by_the_mean():
    assert ranking(np.array([[3.0], [1.0], [np.inf], [2.0]])).tolist() == [1, 3, 0, 2]


def test_elimination_on_a_worked_example():
    """Four heuristics A to D on three problems, by hand.

    Ranks, all four:  A 1 4 3 = 8,  B 2 1 4 = 7,  C 3 2 2 = 7,  D 4 3 1 = 8.
    A and D are the worst, and were so in the first ranking, which this is: the later one, D, leaves.
    Without D:        A 1 3 2 = 6,  B 2 1 3 = 6,  C 3 2 1 = 6. All equal; in the first ranking A had 8: A leaves.
    Without A and D:  B 1 1 2 = 4,  C 2 2 1 = 5. C leaves; B is the best.
    """
    means = np.array([[10.0, 40.0, 30.0], [20.0, 10.0, 40.0], [30.0, 20.0, 20.0], [40.0, 30.0, 10.0]])
    assert ["ABCD"[k] for k in ranking(means)] == ["B", "C", "A", "D"]


def test_elimination_differs_from_the_average_rank():
    """The refinement matters: ranks change once the worst have left."""
    rng = np.random.default_rng(1)
    differ = 0
    for _ in range(50):
        means = rng.random((12, 5))
        averages = np.argsort(rankdata(means, axis=0).mean(axis=1), kind="stable")
        differ += ranking(means).tolist() != averages.tolist()
    assert differ > 10  # at least 45 with 20 other sets of seeds


def plainly(means):
    """The definition, ranked again in every round."""
    left, last_first = list(range(len(means))), []
    first = rankdata(means, axis=0).mean(axis=1)
    while left:
        averages = rankdata(means[left], axis=0).mean(axis=1)
        worst = max(range(len(left)), key=lambda m: (round(averages[m], 9), round(first[left[m]], 9), left[m]))
        last_first.append(left.pop(worst))
    return last_first[::-1]


@given(
    arrays(
        np.float64, st.tuples(st.integers(1, 12), st.integers(2, 5)), elements=st.sampled_from([1.0, 2.0, 3.5, np.inf])
    )
)
@settings(max_examples=200, deadline=None)
def test_elimination_equals_its_plain_definition_also_with_ties(means):
    assert rank_by_elimination(means).tolist() == plainly(means)


def test_ties_keep_their_order():
    assert ranking(np.ones((5, 3))).tolist() == [0, 1, 2, 3, 4]
    assert ranking(np.ones((5, 1))).tolist() == [0, 1, 2, 3, 4]


def test_the_best_of_all_is_first_and_a_failure_is_last():
    rng = np.random.default_rng(2)
    means = rng.random((20, 4)) + 1
    means[7] = 0.5
    means[3] = np.inf
    best_first = ranking(means)
    assert best_first[0] == 7
    assert best_first[-1] == 3


@pytest.mark.parametrize("seed", range(5))
def test_equal_heuristics_are_seldom_eliminated(seed):
    """Friedman's test at 5%: of 200 races among equals, about 10 eliminate one; with 40 other seeds, 12 at most."""
    rng = np.random.default_rng(seed)
    lost = sum(not race_survivors(rng.random((10, 8)), 0.05, 2).all() for _ in range(200))
    assert lost <= 22


def test_clearly_worse_heuristics_are_eliminated_and_the_best_never():
    """Of six equals in front, about five stay: on average over 60 races, 4.5 at least with 20 other sets of seeds."""
    rng, equals = np.random.default_rng(3), []
    for _ in range(60):
        values = rng.random((10, 8))
        values[6:] += 2.0
        stay = race_survivors(values, 0.05, 2)
        assert stay[rankdata(values, axis=0).mean(axis=1).argmin()]
        assert not stay[6:].any()
        equals.append(stay[:6].sum())
    assert np.mean(equals) > 4.0


def test_the_minimum_number_of_survivors():
    values = np.repeat(np.arange(10.0)[:, None], 8, axis=1)
    assert race_survivors(values, 0.05, 2).sum() == 2
    assert race_survivors(values, 0.05, 5).sum() == 5
    assert race_survivors(np.ones((10, 8)), 0.05, 2).all()


def conover(values, level):
    """Who survives, by the formulas of Conover (1999, Section 5.8), written out plainly."""
    k, b = values.shape
    ranks = np.array([rankdata(column) for column in values.T])  # one row per block
    sums = ranks.sum(axis=0)
    squares, centre = (ranks**2).sum(), b * k * (k + 1) ** 2 / 4
    statistic = (k - 1) * ((sums - b * (k + 1) / 2) ** 2).sum() / (squares - centre)
    if chi2.sf(statistic, k - 1) >= level:
        return np.ones(k, bool)
    within = 2 * (b * squares - (sums**2).sum()) / ((b - 1) * (k - 1))
    return sums - sums.min() <= student.ppf(1 - level / 2, (b - 1) * (k - 1)) * np.sqrt(within)


def test_a_race_is_decided_by_friedmans_and_conovers_tests():
    rng = np.random.default_rng(4)
    outcomes = set()
    for spread in (0.0, 0.05, 0.1, 0.2) * 15:
        values = np.round(rng.random((6, 9)) + spread * np.arange(6)[:, None], 1)  # with ties
        stay = race_survivors(values, 0.05, 1)
        if friedmanchisquare(*values).pvalue >= 0.05:
            assert stay.all()
        assert stay.tolist() == conover(values, 0.05).tolist()
        outcomes.add(int(stay.sum()))
    assert len(outcomes) > 3  # with 20 other seeds, 5 at least


def test_heuristics_with_a_failure_are_ranked_last():
    """The first is best on two problems of three and failed on the third; so did the last, and is worse."""
    means = np.array([[np.inf, 0.0, 0.0], [1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [np.inf, 5.0, 5.0]])
    assert ranking(means).tolist() == [1, 2, 0, 3]
    assert ranking(np.full((3, 2), np.inf)).tolist() == [0, 1, 2]


def test_a_problem_that_most_heuristics_solve_does_not_dominate():
    first = np.array([[1.0, 10.0], [1.0 + 1e-12, 20.0], [1.0 + 1e-12, 20.0]])
    later = np.array([[1.0 + 1e-6, 10.0], [1.0 + 1e-6, 15.0]])
    assert normalised_fitness(later, first) == pytest.approx([0.0005, 0.2505])
    assert normalised_fitness(first, first) == pytest.approx([0.0, 0.5, 0.5])


def test_regret_depends_on_the_size_of_differences():
    """The first is a little better on two of three problems, and far behind on the third."""
    means = np.array([[0.99, 0.99, 2.5], [1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [3.0, 3.0, 3.0]])
    assert ranking(means).tolist() == [1, 0, 2, 3] or ranking(means).tolist() == [0, 1, 2, 3]
    assert ranking(means, by_regret=True).tolist()[0] == 1
    far = np.array([[0.0, 1e9], [0.0, 1e3], [1.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
    figures = mean_regret(far, far, 0.0)
    assert figures[0] == figures[1] == MAX_REGRET / 2  # one problem does not decide everything


def test_differences_below_the_tie_threshold_count_as_ties():
    means = np.array([[1.0000, 5.0], [1.0001, 4.0], [1.0002, 3.0], [5.0, 9.0], [6.0, 10.0], [7.0, 11.0]])
    assert ranking(means).tolist()[:3] != [2, 1, 0]
    assert ranking(means, tie_threshold=0.05).tolist()[:3] == [2, 1, 0]


def test_the_unit_of_regret_is_that_of_the_current_generation():
    """All are within 1% of the first generation's way: in its units the second problem would count for nothing."""
    first = np.array([[0.0, 0.0], [1.0, 100.0], [2.0, 200.0]])
    means = np.array([[0.5, 0.0], [0.4, 0.3], [0.3, 0.2], [0.2, 0.4], [0.1, 0.6]])
    assert mean_regret(means, first, 0.0)[0] == pytest.approx((0.4 / 0.2 + 0.0) / 2)
    assert ranking(means, by_regret=True, first_means=first).tolist()[0] == 2
    assert (
        ranking(means, by_regret=True, tie_threshold=0.05, first_means=first).tolist()[0] == 4
    )  # unless differences are none below that
    assert ranking(np.array([[np.inf, 0.0], [2.0, 200.0]]), by_regret=True, first_means=first).tolist() == [1, 0]
    assert normalised_distance(means, first)[0] == pytest.approx([0.5, 0.0])


def test_a_goal_is_half_lost_by_the_margin_and_gains_are_capped():
    """Goals 10 and -2, margin 4%: missed by 4% and by 12%, then better by 1% and by far more than half the margin."""
    means = np.array([[10.4, -1.76], [9.9, -3.0]])
    np.testing.assert_allclose(goal_loss(means, (10.0, -2.0), 0.04), [(0.5 + 0.75) / 2, (-0.01 - 0.02) / 2])


def test_a_strict_margin_prefers_many_goals_that_are_reached():
    """One misses a goal by far, the other misses all of them by a little: the margin says which is better."""
    means, goals = np.array([[9.9, 9.9, 15.0], [10.4, 10.4, 10.4]]), (10.0, 10.0, 10.0)
    assert ranking(means, goals=goals, goal_margin=0.01).tolist() == [0, 1]
    assert ranking(means, goals=goals, goal_margin=0.5).tolist() == [1, 0]
