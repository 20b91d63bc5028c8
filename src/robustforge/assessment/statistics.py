"""Statistics of a comparison: rank-sum tests, correction for multiple tests, effect sizes, and ranks.

Failed runs have the value +inf, which is worse than all others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import mannwhitneyu, rankdata

Floats = npt.NDArray[np.float64]

LEVEL = 0.05
"""Significance level, as in the paper."""


def rank_sum(a: Floats, b: Floats) -> float:
    """Return the p-value of Wilcoxon's rank-sum test, two-sided, with correction for ties.

    It is exact for up to 20 values in each sample without ties, otherwise by the normal approximation with continuity
    correction. If all values are equal it is 1.

    Example:
        >>> round(rank_sum(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])), 2)
        0.1
    """
    both = np.concatenate([a, b])
    if (both == both[0]).all():
        return 1.0
    exact = max(len(a), len(b)) <= 20 and len(np.unique(both)) == len(both)
    return float(mannwhitneyu(a, b, alternative="two-sided", method="exact" if exact else "asymptotic").pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for multiple tests by Holm's step-down method.

    Example:
        >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    count, highest = len(p_values), 0.0
    corrected = [0.0] * count
    for position, k in enumerate(sorted(range(count), key=lambda k: p_values[k])):
        highest = max(highest, min(1.0, (count - position) * p_values[k]))
        corrected[k] = highest
    return corrected


def a12(a: Floats, b: Floats) -> float:
    """Return Vargha and Delaney's A12: the probability that a value of `a` is below one of `b`, ties counting half.

    Example:
        >>> a12(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
        0.875
    """
    ranks = rankdata(np.concatenate([a, b]))
    return float(1.0 - (ranks[: len(a)].sum() / len(a) - (len(a) + 1) / 2) / len(b))


def standard_error(values: Floats) -> float:
    """Return the standard error of the mean; NaN for a single value or infinite values."""
    if len(values) < 2 or not np.isfinite(values).all():
        return float("nan")
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def mean_ranks(means: Floats) -> Floats:
    """Return the average rank of each contestant over problems; ties share their average rank.

    Args:
        means: One row per contestant, one column per problem.
    """
    return np.asarray(rankdata(means, axis=0).mean(axis=1))
