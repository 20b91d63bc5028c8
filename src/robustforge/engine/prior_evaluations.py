"""Prior evaluations: points with their values that a search starts with. They cost no budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.errors import ProblemError
from robustforge.robust_problem import Problem

Floats = npt.NDArray[np.float64]

_FIX = "Pass points (k, n) and their k values; leave out what failed"


@dataclass(frozen=True, eq=False)
class PriorEvaluations:
    """Points that were evaluated before the search.

    Attributes:
        x: The points, in the units of the problem (k, n).
        values: Their values (k,); +inf where infeasible.
    """

    x: Floats
    values: Floats

    def __len__(self) -> int:
        return int(self.values.size)


def as_prior(given: Any, problem: Problem) -> PriorEvaluations:
    """Return prior evaluations, given as a pair of points and values or not at all, or raise if they are invalid."""
    if given is None:
        return PriorEvaluations(np.empty((0, problem.dimension)), np.empty(0))
    if isinstance(given, PriorEvaluations):
        given = (given.x, given.values)
    try:
        points, values = (np.array(part, dtype=np.float64) for part in given)
    except (TypeError, ValueError) as error:
        raise ProblemError("`prior_evaluations` must be points and their values", f"got {given!r}", _FIX) from error
    if not values.size:
        return as_prior(None, problem)
    if points.ndim != 2 or points.shape != (values.size, problem.dimension) or values.ndim != 1:
        fact = f"got arrays of shapes {points.shape} and {values.shape} for {problem.dimension} variables"
        raise ProblemError("`prior_evaluations` must be points and their values", fact, _FIX)
    if not np.isfinite(points).all():
        raise ProblemError("prior evaluations must have finite points", "one of them is not", _FIX)
    if np.isnan(values).any() or any(np.ma.is_masked(part) for part in given) or (values == -np.inf).any():
        raise ProblemError("prior evaluations must have values above -inf", "one of them is not", _FIX)
    return PriorEvaluations(points, values)
