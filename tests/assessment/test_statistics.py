"""The statistics of a comparison equal their definitions, by enumeration or by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from robustforge.assessment.statistics import a12, holm, mean_ranks, rank_sum, standard_error

VALUES = st.lists(st.sampled_from([0.0, 1.0, 1.5, 2.0, math.inf]) | st.floats(-5, 5), min_size=1, max_size=8)
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def counted(a, b):
    """The exact p-value by its definition: the fraction of all ways to split the ranks that are at least as uneven."""
    ranks = stats.rankdata(np.concatenate([a, b]))
    middle = ranks.sum() * len(a) / len(ranks)
    sums = np.array([sum(chosen) for chosen in itertools.combinations(ranks, len(a))])
    return np.mean(np.abs(sums - middle) >= abs(ranks[: len(a)].sum() - middle))


def approximated(a, b):
    """The normal approximation with the corrections for ties and continuity, from the formula."""
    n, m = len(a), len(b)
    both = np.concatenate([a, b])
    u = stats.rankdata(both)[:n].sum() - n * (n + 1) / 2
    ties = sum(t**3 - t for t in np.unique(both, return_counts=True)[1])
    spread = math.sqrt(n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1))))
    return min(1.0, 2 * stats.norm.sf((abs(u - n * m / 2) - 0.5) / spread))


def test_a_small_rank_sum_test_by_hand():
    # ranks 1, 2, 4 sum up to 7; of the 20 ways to draw 3 ranks of 6, 2 have a sum of at most 7 and 2 of at least 14
    assert rank_sum(np.array([1.0, 2.0, 4.0]), np.array([3.0, 5.0, 6.0])) == pytest.approx(4 / 20)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 5), (4, 4), (7, 3)])
def test_small_samples_without_ties_are_tested_exactly(sizes):
    rng = np.random.default_rng(sizes)
    for _ in range(20):
        a, b = rng.normal(0, 1, sizes[0]), rng.normal(0.7, 1, sizes[1])
        assert rank_sum(a, b) == pytest.approx(counted(a, b))


@pytest.mark.parametrize("shift", [0.0, 0.5, 2.0])
def test_large_samples_and_ties_are_tested_by_the_normal_approximation(shift):
    rng = np.random.default_rng(1)
    for size, ties in ((8, True), (30, True), (21, False), (200, False)):
        a, b = rng.normal(0, 1, size), rng.normal(shift, 1, size + 1)
        if ties:
            a, b = np.round(a), np.round(b)
        assert rank_sum(a, b) == pytest.approx(approximated(a, b), rel=1e-9)


def test_the_rank_sum_test_agrees_with_scipy():
    rng = np.random.default_rng(2)
    for shift in (0.0, 0.1, 0.3):
        a, b = rng.normal(0, 1, 200), rng.normal(shift, 1, 200)
        plain = stats.ranksums(a, b).pvalue
        assert plain <= rank_sum(a, b) <= plain + 0.002


def test_a_failure_is_worse_than_any_value_and_failures_are_tied():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0, 1, 12), rng.normal(1, 1, 12)
    a[:2], b[:5] = np.inf, np.inf
    large_a, large_b = np.where(np.isinf(a), 1e9, a), np.where(np.isinf(b), 1e9, b)
    assert rank_sum(a, b) == rank_sum(large_a, large_b) < 1.0
    assert rank_sum(np.full(5, np.inf), np.full(9, np.inf)) == rank_sum(np.ones(3), np.ones(4)) == 1.0
    assert rank_sum(np.arange(20.0), np.full(20, np.inf)) < 1e-6


@given(VALUES, VALUES)
def test_the_rank_sum_test_is_symmetric(a, b):
    p = rank_sum(np.array(a), np.array(b))
    assert 0.0 <= p <= 1.0
    assert p == pytest.approx(rank_sum(np.array(b), np.array(a)), abs=1e-12)


def test_holm_by_hand():
    # sorted: 0.01 x 4 = 0.04, 0.015 x 3 = 0.045, 0.03 x 2 = 0.06, and 0.04 x 1, which must not be below 0.06
    assert holm([0.03, 0.01, 0.04, 0.015]) == pytest.approx([0.06, 0.04, 0.06, 0.045])
    assert holm([0.5, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


@given(P_VALUES)
def test_holm_never_lowers_and_keeps_the_order(p):
    corrected = holm(p)
    assert all(one <= other <= 1.0 for one, other in zip(p, corrected, strict=True))
    for (p_one, one), (p_other, other) in itertools.combinations(zip(p, corrected, strict=True), 2):
        if p_one <= p_other:
            assert one <= other
    assert min(corrected) == min(1.0, len(p) * min(p))  # the smallest as Bonferroni would have it


@given(VALUES, VALUES)
def test_a12_is_the_fraction_of_pairs_in_which_the_first_is_better(a, b):
    wins = sum((x < y) + 0.5 * (x == y) for x in a for y in b)
    assert a12(np.array(a), np.array(b)) == pytest.approx(wins / (len(a) * len(b)), abs=1e-12)


def test_the_standard_error_by_hand():
    assert standard_error(np.array([1.0, 2.0, 3.0, 6.0])) == pytest.approx(math.sqrt(14 / 3) / 2)
    assert math.isnan(standard_error(np.array([1.0])))
    assert math.isnan(standard_error(np.array([])))


def test_mean_ranks_by_hand():
    # ranks on the first problem 1, 2.5, 2.5; on the second 3, 1.5, 1.5; on the third, where two failed, 1, 2.5, 2.5
    means = np.array([[0.0, 9.0, 4.0], [5.0, 1.0, np.inf], [5.0, 1.0, np.inf]])
    assert mean_ranks(means) == pytest.approx([5 / 3, 6.5 / 3, 6.5 / 3])
