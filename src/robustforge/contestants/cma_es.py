"""CMA-ES by pycma, as people use it: on the nominal objective, or on the worst of a few points around a candidate.

Candidates live in the unit box, start uniformly in it with a step of 0.3, and the mean of the last distribution is
returned, which is pycma's own recommendation. Everything else is pycma's default.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.core.random import stream
from robustforge.errors import MissingExtraError, ProblemError
from robustforge.problem import Problem
from robustforge.verification.drawing import draw_offsets

Floats = npt.NDArray[np.float64]

STEP = 0.3


class CmaEs:
    """A search by CMA-ES.

    Args:
        problem: What is searched.
        budget: Evaluations in all.
        seed: Decides it; nothing is drawn from NumPy's global generator, which threads share.
        worst_of: Points around each candidate whose worst is its value; 0 for the candidate itself.
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
            "seed": np.nan,  # none: it would be set for the whole process
            "randn": lambda *shape: rng.standard_normal(shape),
            "verbose": -9,
            "maxfevals": budget,
        }
        start = rng.random(problem.dimension)
        self._strategy: Any = pycma().CMAEvolutionStrategy(start, STEP, options)
        self._candidates: list[Floats] = []

    def ask(self) -> Floats:
        """Return the candidates of the next generation, or the points around them."""
        if self._strategy.stop():
            return np.empty((0, self._lower.size))
        self._candidates = self._strategy.ask()
        points = self._lower + self._width * np.array(self._candidates)
        if not self._worst_of:
            return np.asarray(points)
        problem, geometry = self._problem, self._problem.geometry
        offsets = draw_offsets(problem, len(points) * self._worst_of, self._offsets)
        around = np.repeat(points, self._worst_of, axis=0) + geometry.offset + geometry.radii * offsets
        return np.clip(around, problem.lower, problem.upper) if problem.outside == "clip" else np.asarray(around)

    def tell(self, values: Floats) -> None:
        """Take the values of the points."""
        scores = values.reshape(len(self._candidates), -1).max(axis=1)
        self._strategy.tell(self._candidates, scores.tolist())

    @property
    def design(self) -> Floats | None:
        """The mean of the distribution, in the box."""
        if not self._candidates:
            return None
        return np.asarray(self._lower + self._width * np.array(self._strategy.result.xfavorite))


def pycma() -> Any:
    """Return pycma, which is an optional extra."""
    try:
        import cma
    except ImportError as error:
        raise MissingExtraError("cma", "peers") from error
    return cma
