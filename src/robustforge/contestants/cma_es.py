"""CMA-ES by pycma, on the nominal objective or on the worst of a few points around each candidate.

The box is scaled to the unit cube, the initial mean is uniform in it, and the initial step size is 0.3. The mean of the
last distribution is returned, which is pycma's recommendation. All other parameters are pycma's defaults.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.core.random import stream
from robustforge.errors import MissingExtraError, ProblemError
from robustforge.robust_problem import Problem
from robustforge.verification.sampling import sample_offsets

Floats = npt.NDArray[np.float64]

INITIAL_STEP_SIZE = 0.3


class CmaEs:
    """A search by CMA-ES.

    Args:
        problem: The problem.
        budget: Number of evaluations.
        seed: Decides everything that is random; NumPy's global generator, which threads share, is not used.
        worst_of: Points sampled around each candidate, whose worst value counts; 0 for the candidate itself.
    """

    def __init__(self, problem: Problem, budget: int, seed: int, worst_of: int = 0) -> None:
        self._problem, self._worst_of = problem, worst_of
        low, high = problem.design_box
        self._lower, self._width = low, high - low
        if problem.dimension == 1:
            raise ProblemError("pycma needs at least 2 variables", f"{problem.name} has 1", "Leave cma-es out")
        rng = np.random.default_rng(seed)
        self._offsets = stream(rng)
        options = {
            "bounds": [0.0, 1.0],
            "seed": np.nan,  # no seed: it would be set for the whole process
            "randn": lambda *shape: rng.standard_normal(shape),
            "verbose": -9,
            "maxfevals": budget,
        }
        initial_mean = rng.random(problem.dimension)
        self._strategy: Any = pycma().CMAEvolutionStrategy(initial_mean, INITIAL_STEP_SIZE, options)
        self._candidates: list[Floats] = []

    def ask(self) -> Floats:
        """Return the candidates of the next generation, or points around them."""
        if self._strategy.stop():
            return np.empty((0, self._lower.size))
        self._candidates = self._strategy.ask()
        points = self._lower + self._width * np.array(self._candidates)
        if not self._worst_of:
            return np.asarray(points)
        problem, geometry = self._problem, self._problem.geometry
        offsets = sample_offsets(problem, len(points) * self._worst_of, self._offsets)
        around = np.repeat(points, self._worst_of, axis=0) + geometry.offset + geometry.radii * offsets
        return np.clip(around, problem.lower, problem.upper) if problem.out_of_bounds == "clip" else np.asarray(around)

    def tell(self, values: Floats) -> None:
        """Update the distribution with the values of the points."""
        scores = values.reshape(len(self._candidates), -1).max(axis=1)
        self._strategy.tell(self._candidates, scores.tolist())

    @property
    def design(self) -> Floats | None:
        """The mean of the distribution, in the units of the problem."""
        if not self._candidates:
            return None
        return np.asarray(self._lower + self._width * np.array(self._strategy.result.xfavorite))


def pycma() -> Any:
    """Import pycma, which is an optional extra."""
    try:
        import cma
    except ImportError as error:
        raise MissingExtraError("cma", "peers") from error
    return cma
