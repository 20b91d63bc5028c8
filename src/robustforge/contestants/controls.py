"""Controls: baselines that every useful search must beat.

The centre of the box needs no evaluation, and is hard to beat on those problems of the paper whose optimum is near it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from robustforge.robust_problem import Problem

Floats = npt.NDArray[np.float64]


class Centre:
    """Returns the centre of the box, without any evaluation."""

    def __init__(self, problem: Problem, budget: int, seed: int) -> None:
        low, high = problem.design_box
        self.design: Floats | None = (low + high) / 2

    def ask(self) -> Floats:
        """Return no points."""
        return np.empty((0, 0))

    def tell(self, values: Floats) -> None:
        """Never called."""


class RandomSearch:
    """Draws points uniformly from the box, and returns the one with the lowest nominal value."""

    _BATCH = 100

    def __init__(self, problem: Problem, budget: int, seed: int) -> None:
        self._lower, self._upper = problem.design_box
        self._left = budget
        self._rng = np.random.default_rng(seed)
        self._points, self._best = np.empty((0, problem.dimension)), np.inf
        self.design: Floats | None = None

    def ask(self) -> Floats:
        """Return the next points."""
        size = min(self._BATCH, self._left)
        self._left -= size
        self._points = self._lower + (self._upper - self._lower) * self._rng.random((size, self._lower.size))
        return self._points

    def tell(self, values: Floats) -> None:
        """Update the best point."""
        k = int(np.argmin(values))
        if values[k] < self._best or self.design is None:
            self._best, self.design = float(values[k]), self._points[k].copy()
