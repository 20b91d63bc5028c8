"""Fitness and ranking: means, ranks over several problems, and the test that ends a race (Section 5.1 of the paper)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from robustforge.evolution.distributions import chi2_sf, t_quantile

Floats = npt.NDArray[np.float64]
Ranking = npt.NDArray[np.intp]
"""Indices of heuristics, best first."""

MAX_REGRET = 3.0
"""Upper limit of the regret on one problem, so that no single problem dominates."""


def ranking(
    means: Floats,
    *,
    by_regret: bool = False,
    tie_threshold: float = 0.0,
    first_means: Floats | None = None,
    goals: tuple[float, ...] = (),
    goal_margin: float = 0.1,
) -> Ranking:
    """Return the indices of heuristics, best first.

    On one problem heuristics are ranked by their mean; on several by elimination, regret or goals. Heuristics with a
    failed run on some problem come last.

    Args:
        means: One row per heuristic, one column per problem; +inf for a failure.
        by_regret: Whether to rank by the mean regret over the problems instead of ranks.
        tie_threshold: Threshold below which two results on a problem count as tied, as a fraction of the distance from
            the best to the median of the first generation.
        first_means: The means of the first generation; by default `means`.
        goals: A target value for each problem; if given, heuristics are ranked by their loss.
        goal_margin: The relative miss of a goal that counts as a loss of one half.

    Example:
        >>> ranking(np.array([[3.0], [1.0], [2.0]]))
        array([1, 2, 0])
    """
    if means.shape[1] == 1:
        return np.argsort(means[:, 0], kind="stable")
    complete = np.isfinite(means).all(axis=1)
    groups = (np.flatnonzero(complete), np.flatnonzero(~complete))
    first_means = means if first_means is None else first_means
    if by_regret or goals:
        scores = goal_loss(means, goals, goal_margin) if goals else mean_regret(means, first_means, tie_threshold)
        return np.concatenate([group[np.argsort(scores[group], kind="stable")] for group in groups])
    if tie_threshold > 0:
        means = np.floor(normalised_distance(means, first_means) / tie_threshold)
    return np.concatenate([group[rank_by_elimination(means[group])] for group in groups])


def mean_regret(means: Floats, first_means: Floats, tie_threshold: float) -> Floats:
    """Return the difference of each heuristic to the best, averaged over the problems.

    On each problem it is in units of the median's difference to the best, so that all problems keep their weight when
    an evolution has converged.

    Args:
        means: One row per heuristic, one column per problem; +inf for a failure.
        first_means: The same of the first generation.
        tie_threshold: The smallest unit, as a fraction of that of the first generation. On problems that all heuristics
            solve, the remaining differences are meaningless.
    """
    finite = _finite_columns(means)
    best = np.array([column.min() for column in finite])
    unit = np.array([np.median(column) for column in finite]) - best
    first_unit = np.array([np.median(column) - column.min() for column in _finite_columns(first_means)])
    unit = np.maximum(unit, tie_threshold * first_unit)
    return np.asarray(np.minimum((means - best) / np.where(unit > 0, unit, 1.0), MAX_REGRET).mean(axis=1))


def goal_loss(means: Floats, goals: tuple[float, ...], goal_margin: float) -> Floats:
    """Return the loss of each heuristic with respect to the goals, averaged over the problems.

    A relative miss of m costs m / (m + goal_margin): differences matter most near the goal, and an unreachable goal
    does not dominate. A value better than the goal reduces the loss, by at most half the margin.

    Args:
        means: One row per heuristic, one column per problem; +inf for a failure.
        goals: One per problem, nonzero.
        goal_margin: The relative miss that counts as a loss of one half.

    Example:
        >>> goal_loss(np.array([[11.0, -2.0], [10.0, -1.6]]), (10.0, -2.0), goal_margin=0.1).round(3)
        array([0.25 , 0.333])
    """
    miss = (means - np.asarray(goals)) / np.abs(goals)
    loss = 1.0 - goal_margin / (np.maximum(miss, 0.0) + goal_margin)
    return np.asarray((loss + np.clip(miss, -goal_margin / 2, 0.0)).mean(axis=1))


def normalised_distance(
    means: Floats, first_means: Floats, best: Floats | None = None, min_scale: float = 0.0
) -> Floats:
    """Return the position of each mean on the scale from the best (0) to the median (1) of the first generation.

    Args:
        means: One row per heuristic, one column per problem; +inf for a failure.
        first_means: The same of the first generation; failures are left out.
        best: The best value on each problem; by default the best of `means` and `first_means`, so that no distance is
            negative.
        min_scale: The smallest length of the scale, as a fraction of the median.
    """
    if best is None:
        best = np.array([column.min() for column in _finite_columns(np.concatenate([means, first_means]))])
    median = np.array([np.median(column) for column in _finite_columns(first_means)])
    scale = np.maximum(median - best, min_scale * np.abs(median))
    return np.asarray((means - best) / np.where(scale > 0, scale, 1.0))


def _finite_columns(means: Floats) -> list[Floats]:
    """Return the finite means on each problem; a single 0 if there are none."""
    return [column[np.isfinite(column)] if np.isfinite(column).any() else np.zeros(1) for column in means.T]


def rank_by_elimination(means: Floats) -> Ranking:
    """Return the indices of heuristics, best first, by average ranks over several problems, refined by elimination.

    Heuristics are ranked on each problem, ties sharing their average rank, and the ranks are averaged. The worst on
    average is eliminated and placed last; the others are ranked again, and so on. Of several that are equally bad, the
    one with the worse initial rank is eliminated, or else the one with the higher index.

    Args:
        means: One row per heuristic, one column per problem.
    """
    ranks = rankdata(means, axis=0)
    initial = ranks.sum(axis=1)  # sums order like averages, and are exact: ranks are whole or half
    remaining, worst_first = list(range(len(means))), []
    while remaining:
        worst = max(remaining, key=lambda k: (ranks[k].sum(), initial[k], k))
        remaining.remove(worst)
        worst_first.append(worst)
        ranks -= (means > means[worst]) + 0.5 * (means == means[worst])  # the ranks without the eliminated one
    return np.array(worst_first[::-1], dtype=np.intp)


def normalised_fitness(means: Floats, first_means: Floats) -> Floats:
    """Return the fitness of each heuristic, comparable between generations: on one problem the mean.

    On several problems it is the mean position on the scale from the best (0) to the median (1) of the first
    generation. The scale is at least a thousandth of the median, in case half of the first generation equals its best.

    Args:
        means: One row per heuristic, one column per problem; +inf for a failure.
        first_means: The same of the first generation.
    """
    if means.shape[1] == 1:
        return means[:, 0]
    best = np.array([column.min() for column in _finite_columns(first_means)])
    return np.asarray(normalised_distance(means, first_means, best, min_scale=0.001).mean(axis=1))


def race_survivors(values: Floats, level: float, min_survivors: int) -> npt.NDArray[np.bool_]:
    """Return which heuristics are not significantly worse than the best: Friedman's test, then Conover's post-hoc test.

    Args:
        values: One row per heuristic, one column per block (the same problem, repeat and seed).
        level: Significance level of both tests.
        min_survivors: How many survive in any case, the best by rank.

    Returns:
        Whether each heuristic stays in the race (rows,).
    """
    count, blocks = values.shape
    survives = np.ones(count, np.bool_)
    if count <= max(min_survivors, 2) or blocks < 2:
        return survives
    ranks: Floats = rankdata(values, axis=0)
    sums = ranks.sum(axis=1)
    variation = float((ranks * ranks).sum() - blocks * count * (count + 1) * (count + 1) / 4)
    if variation <= 0:  # all equal in every block
        return survives
    deviations = sums - blocks * (count + 1) / 2
    statistic = (count - 1) * float((deviations * deviations).sum()) / variation
    if chi2_sf(statistic, count - 1) >= level:
        return survives
    freedom = (blocks - 1) * (count - 1)
    unexplained = max(0.0, 1.0 - statistic / (blocks * (count - 1)))
    critical = t_quantile(1 - level / 2, freedom) * math.sqrt(2 * blocks * unexplained * variation / freedom)
    survives = np.asarray(sums - sums.min() <= critical, np.bool_)
    survives[np.argsort(sums, kind="stable")[:min_survivors]] = True
    return survives
