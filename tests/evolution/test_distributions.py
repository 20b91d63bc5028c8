"""The distributions of a race against SciPy's."""

from __future__ import annotations

import pytest
from scipy import stats

from robustforge.evolution.distributions import chi2_sf, t_quantile


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 10, 29, 100, 299, 1000, 5000])
def test_chi_squared(freedom):
    for p in (0.999, 0.9, 0.5, 0.1, 0.05, 0.01, 1e-3, 1e-6, 1e-12, 1e-30):
        x = float(stats.chi2.isf(p, freedom))
        assert chi2_sf(x, freedom) == pytest.approx(stats.chi2.sf(x, freedom), rel=1e-9)
    assert chi2_sf(0.0, freedom) == 1.0


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 9, 10, 63, 79, 80, 100, 999, 5000, 100_000])
def test_student(freedom):
    for p in (0.5001, 0.6, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9995, 1 - 1e-6):
        assert t_quantile(p, freedom) == pytest.approx(stats.t.ppf(p, freedom), rel=1e-9)
