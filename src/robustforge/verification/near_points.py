"""The evaluated points in the uncertainty set of a design, and a linear model of their values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robustforge.core.ridge_regression import linear_slopes

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NearPoints:
    """The evaluated points of a unit set.

    Attributes:
        units: Points (k, m).
        values: Their values (k,); +inf where the design is infeasible.
    """

    units: Floats
    values: Floats

    @property
    def worst_value(self) -> float:
        """The worst value; -inf if there is none."""
        return float(self.values.max()) if self.values.size else -np.inf

    @property
    def worst_point(self) -> Floats:
        """The worst point; the centre if there is none."""
        if not self.values.size:
            return np.zeros(self.units.shape[1])
        return np.array(self.units[int(np.argmax(self.values))])

    def slopes(self) -> Floats:
        """Return the gradient of a linear model, fitted to all finite values by ridge regression (m,)."""
        return linear_slopes(self.units, self.values)
