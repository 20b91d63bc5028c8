"""From values to standings: means, ranks over several problems, and the test that ends a race (Section 5.1)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from robustforge.evolution.distributions import chi2_sf, t_quantile

Floats = npt.NDArray[np.float64]
Order = npt.NDArray[np.intp]


def order(
    means: Floats,
    by_size: bool = False,
    tie: float = 0.0,
    first: Floats | None = None,
    goals: tuple[float, ...] = (),
    margin: float = 0.1,
) -> Order:
    """Return who is best, second, ...: by the mean on one problem, by elimination, by size or by goals on several.

    Who has no mean on some problem, since a run failed there, comes after all who have.

    Args:
        means: One row per heuristic, one column per problem; +inf for a failure.
        by_size: Whether sizes count, averaged over the problems, and not ranks.
        tie: Differences that are none, as a share of the way from the best to the median of the first generation.
        first: The means of the first generation, by default these.
        goals: What to reach on each problem, if that is what counts.
        margin: By how much a goal is missed, as a share of it, that is half lost.

    Example:
        >>> order(np.array([[3.0], [1.0], [2.0]]))
        array([1, 2, 0])
    """
    if means.shape[1] == 1:
        return np.argsort(means[:, 0], kind="stable")
    whole = np.isfinite(means).all(axis=1)
    groups = (np.flatnonzero(whole), np.flatnonzero(~whole))
    first = means if first is None else first
    if by_size or goals:
        figures = losses(means, goals, margin) if goals else sizes(means, first, tie)
        return np.concatenate([group[np.argsort(figures[group], kind="stable")] for group in groups])
    if tie > 0:
        means = np.floor(distances(means, first) / tie)
    return np.concatenate([group[order_by_elimination(means[group])] for group in groups])


FAR = 3.0
"""Sizes beyond this are as bad as this: one problem does not decide everything."""


def sizes(means: Floats, first: Floats, tie: float) -> Floats:
    """Return how much worse than the best each heuristic is, averaged over the problems.

    On each in units of how much worse the median is, so that late in an evolution, too, when all are much alike, every
    problem has its say.

    Args:
        means: One row per heuristic, one column per problem; +inf for a failure.
        first: The same of the first generation.
        tie: The least unit, as a share of that of the first generation: on problems that everybody solves, what is left
            are differences without a meaning.
    """
    known = _known(means)
    best = np.array([column.min() for column in known])
    unit = np.array([np.median(column) for column in known]) - best
    widest = np.array([np.median(column) - column.min() for column in _known(first)])
    unit = np.maximum(unit, tie * widest)
    return np.asarray(np.minimum((means - best) / np.where(unit > 0, unit, 1.0), FAR).mean(axis=1))


def losses(means: Floats, goals: tuple[float, ...], margin: float) -> Floats:
    """Return how much of its goals each heuristic loses, averaged over the problems.

    A miss of m, as a share of the goal, counts m / (m + margin): a little more or less matters most where the goal is
    near, and a goal out of reach does not decide everything. What is better than its goal gains, up to half a margin.

    Args:
        means: One row per heuristic, one column per problem; +inf for a failure.
        goals: One per problem, none of them 0.
        margin: The miss by which a goal is half lost, as a share of it.

    Example:
        >>> losses(np.array([[11.0, -2.0], [10.0, -1.6]]), (10.0, -2.0), margin=0.1).round(3)
        array([0.25 , 0.333])
    """
    missed = (means - np.asarray(goals)) / np.abs(goals)
    lost = 1.0 - margin / (np.maximum(missed, 0.0) + margin)
    return np.asarray((lost + np.clip(missed, -margin / 2, 0.0)).mean(axis=1))


def distances(means: Floats, first: Floats, best: Floats | None = None, least: float = 0.0) -> Floats:
    """Return how far each mean is on the way from the best (0) to the median (1) of the first generation.

    Only those count that have a mean.

    Args:
        means: One row per heuristic, one column per problem; +inf for a failure.
        first: The same of the first generation.
        best: The best on each problem; by default, the best of the first generation and of these, so that no distance
            is negative.
        least: The shortest way there is, as a share of the median.
    """
    if best is None:
        best = np.array([column.min() for column in _known(np.concatenate([means, first]))])
    median = np.array([np.median(column) for column in _known(first)])
    span = np.maximum(median - best, least * np.abs(median))
    return np.asarray((means - best) / np.where(span > 0, span, 1.0))


def _known(means: Floats) -> list[Floats]:
    """Return the means that there are on each problem; a 0 where there is none."""
    return [column[np.isfinite(column)] if np.isfinite(column).any() else np.zeros(1) for column in means.T]


def order_by_elimination(means: Floats) -> Order:
    """Return who is best, second, ..., by ranks over several problems, refined by elimination.

    On each problem the heuristics are ranked, equal means sharing their average rank, and the ranks are averaged. The
    worst on average is placed last and leaves; the others are ranked anew, and so on. Of several that are equally bad,
    the one leaves that was worse in the first ranking of all, and if they were equal there too, the later one.

    Args:
        means: One row per heuristic, one column per problem.
    """
    ranks = rankdata(means, axis=0)
    first = ranks.sum(axis=1)  # sums order like averages, and are exact: ranks are whole or half
    left, last_first = list(range(len(means))), []
    while left:
        worst = max(left, key=lambda k: (ranks[k].sum(), first[k], k))
        left.remove(worst)
        last_first.append(worst)
        ranks -= (means > means[worst]) + 0.5 * (means == means[worst])  # as if it had never been there
    return np.array(last_first[::-1], dtype=np.intp)


def scaled(means: Floats, first: Floats) -> Floats:
    """Return one figure per heuristic, comparable between generations: on one problem the mean.

    On several it is how far a heuristic is, on average over the problems, on the way from the best (0) to the median
    (1) of the first generation on each; only those count there that have a mean. Where half of the first generation
    was as good as its best, a thousandth of the median is taken for the way.

    Args:
        means: One row per heuristic, one column per problem; +inf for a failure.
        first: The same of the first generation.
    """
    if means.shape[1] == 1:
        return means[:, 0]
    best = np.array([column.min() for column in _known(first)])
    return np.asarray(distances(means, first, best, least=0.001).mean(axis=1))


def survivors(values: Floats, level: float, least: int) -> npt.NDArray[np.bool_]:
    """Return who is not clearly worse than the best: Friedman's test, then Conover's comparison with the best.

    Args:
        values: One row per heuristic, one column per block: the same problem and repeat, so the same seed.
        level: Of both tests.
        least: How many survive in any case, the best by rank.

    Returns:
        Whether each heuristic goes on (rows,).
    """
    count, blocks = values.shape
    stay = np.ones(count, np.bool_)
    if count <= max(least, 2) or blocks < 2:
        return stay
    ranks: Floats = rankdata(values, axis=0)
    sums = ranks.sum(axis=1)
    spread = float((ranks * ranks).sum() - blocks * count * (count + 1) * (count + 1) / 4)
    if spread <= 0:  # all equal in every block
        return stay
    off = sums - blocks * (count + 1) / 2
    statistic = (count - 1) * float((off * off).sum()) / spread
    if chi2_sf(statistic, count - 1) >= level:
        return stay
    freedom = (blocks - 1) * (count - 1)
    rest = max(0.0, 1.0 - statistic / (blocks * (count - 1)))
    gap = t_quantile(1 - level / 2, freedom) * math.sqrt(2 * blocks * rest * spread / freedom)
    stay = np.asarray(sums - sums.min() <= gap, np.bool_)
    stay[np.argsort(sums, kind="stable")[:least]] = True
    return stay
