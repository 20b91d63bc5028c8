"""Controls: what any search must beat to have shown anything.

The centre of the box costs nothing and is hard to beat on many of the paper's problems, whose optima lie near it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from robustforge.problem import Problem

Floats = npt.NDArray[np.float64]


class Centre:
    """The centre of the box, without a single evaluation."""

    def __init__(self, problem: Problem, budget: int, seed: int) -> None:
        low, high = problem.design_box
        self.design: Floats | None = (low + high) / 2

    def ask(self) -> Floats:
        """Return nothing: there is nothing to find out."""
        return np.empty((0, 0))

    def tell(self, values: Floats) -> None:
        """Never called."""


class RandomSearch:
    """Points drawn uniformly from the box; the one with the lowest value is returned."""

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
        self._points = self._rng.uniform(self._lower, self._upper, (size, self._lower.size))
        return self._points

    def tell(self, values: Floats) -> None:
        """Keep the best."""
        k = int(np.argmin(values))
        if values[k] < self._best or self.design is None:
            self._best, self.design = float(values[k]), self._points[k].copy()
