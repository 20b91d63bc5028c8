"""A linear model of a function around a design: ridge regression with the same bits on every CPU.

The attack follows its slopes, and plots and reports show them as the sensitivity of a design.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from robustforge.core.linear_algebra import product, solve_positive, times

Floats = npt.NDArray[np.float64]

_RIDGE = 1e-3
"""The ridge, as a fraction of the mean diagonal entry of the Gram matrix."""


def linear_slopes(points: Floats, values: Floats) -> Floats:
    """Return the slope along each coordinate of a linear model of all finite values (m,).

    Args:
        points: Points (k, m).
        values: Their values (k,); those that are not finite are ignored. Of fewer than two, all slopes are 0.
    """
    finite = np.isfinite(values)
    points, values = points[finite], values[finite]
    if values.size < 2:
        return np.zeros(points.shape[1])
    centred, rises = points - points.mean(axis=0), values - values.mean()
    across = np.ascontiguousarray(centred.T)
    gram = product(across, centred)
    ridge = _RIDGE * max(np.trace(gram) / gram.shape[0], 1e-300)
    return solve_positive(gram + ridge * np.eye(gram.shape[0]), times(across, rises))
