"""The chi-squared and Student's t distributions for the tests of a race, with the same bits on every CPU.

SciPy's use functions of the C library, whose last digits differ between CPUs. These could decide which heuristics
survive a race.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from robustforge.core.portable_math import exp, log, log1p

_TINY = 1e-300  # replaces a divisor of 0
_PRECISION, _MAX_TERMS = 1e-16, 10_000
_HALF_LOG_2_PI = 0.9189385332046727


def chi2_sf(x: float, freedom: int) -> float:
    """Return the probability that a chi-squared variable exceeds `x`.

    This is the regularised incomplete gamma function, by its series below the mean and its continued fraction above.

    Args:
        x: A number of at least 0.
        freedom: Degrees of freedom.

    Example:
        >>> round(chi2_sf(3.841458820694124, 1), 12)
        0.05
    """
    a, x = freedom / 2, x / 2
    if x <= 0.0:
        return 1.0
    scale = exp(a * log(x) - x - _log_gamma(a))
    if x < a + 1.0:
        term = total = 1.0 / a
        k = 1
        while term > _PRECISION * total:
            term *= x / (a + k)
            total += term
            k += 1
        return 1.0 - scale * total

    def coefficients(k: int) -> tuple[float, float]:
        return (1.0 if k == 1 else (k - 1) * (a - (k - 1))), x + 2 * k - 1 - a

    return scale * _continued_fraction(coefficients)


def t_quantile(p: float, freedom: int) -> float:
    """Return the quantile of Student's t distribution, by bisection.

    Args:
        p: Probability, between 1/2 and 1.
        freedom: Degrees of freedom.

    Example:
        >>> round(t_quantile(0.975, 10), 9)
        2.228138852
    """
    low, high = 0.0, 1.0
    while _t_sf(high, freedom) > 1.0 - p:
        low, high = high, 2.0 * high
    while low < (mid := (low + high) / 2) < high:
        low, high = (mid, high) if _t_sf(mid, freedom) > 1.0 - p else (low, mid)
    return high


def _t_sf(t: float, freedom: int) -> float:
    """Return the probability that a variable with Student's t distribution exceeds `t` >= 0.

    Half the regularised incomplete beta function of x = freedom / (freedom + t^2) with a = freedom / 2 and b = 1/2.
    """
    if t == 0.0:
        return 0.5
    a, x = freedom / 2, freedom / (freedom + t * t)
    rest = t * t / (freedom + t * t)
    scale = exp(a * log1p(-rest) if rest < 0.5 else a * log(x)) * math.sqrt(rest) * _gamma_ratio(a) / math.sqrt(math.pi)
    if x < (a + 1.0) / (a + 2.5):
        return 0.5 * scale * _beta_fraction(a, 0.5, x) / a
    return 0.5 - scale * _beta_fraction(0.5, a, rest)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function (DLMF 8.17.22)."""

    def coefficients(k: int) -> tuple[float, float]:
        m, is_odd = divmod(k - 1, 2)
        if k == 1:
            return 1.0, 1.0
        if is_odd:
            return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), 1.0
        return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), 1.0

    return _continued_fraction(coefficients)


def _continued_fraction(coefficients: Callable[[int], tuple[float, float]]) -> float:
    """Return a_1 / (b_1 + a_2 / (b_2 + ...)) from its pairs (a_k, b_k), by Lentz's method."""
    value = above = _TINY
    below, k = 0.0, 1
    while True:
        a, b = coefficients(k)
        below = b + a * below
        below = 1.0 / (below if below != 0.0 else _TINY)
        above = b + a / above
        above = above if above != 0.0 else _TINY
        value *= above * below
        if abs(above * below - 1.0) <= 4 * _PRECISION or k == _MAX_TERMS:
            return value
        k += 1


def _log_gamma(a: float) -> float:
    """Return the logarithm of the gamma function of a positive number, by Stirling's series from 16 up."""
    product = 1.0
    while a < 16.0:
        product *= a
        a += 1.0
    z = 1.0 / (a * a)
    series = (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z / 1188.0)))) / a
    return (a - 0.5) * log(a) - a + _HALF_LOG_2_PI + series - log(product)


def _gamma_ratio(a: float) -> float:
    """Return gamma(a + 1/2) / gamma(a) for a positive number, by its series in 1/a from 40 up."""
    factor = 1.0
    while a < 40.0:
        factor *= a / (a + 0.5)
        a += 1.0
    z = 1.0 / a
    series = 1.0 - z * (
        1 / 8 - z * (1 / 128 + z * (5 / 1024 - z * (21 / 32768 + z * (399 / 262144 - z * 869 / 4194304))))
    )
    return factor * math.sqrt(a) * series
