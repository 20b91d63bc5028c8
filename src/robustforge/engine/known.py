"""Earlier evaluations: points with their values that a search begins with. They cost no budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.errors import ProblemError
from robustforge.problem import Problem

Floats = npt.NDArray[np.float64]

_FIX = "Pass points (k, n) and their k values; leave out what failed"


@dataclass(frozen=True, eq=False)
class Known:
    """Points that were evaluated before.

    Attributes:
        x: The points, in the units of the problem (k, n).
        values: Their values (k,); +inf where infeasible.
    """

    x: Floats
    values: Floats

    def __len__(self) -> int:
        return int(self.values.size)


def as_known(given: Any, problem: Problem) -> Known:
    """Return earlier evaluations, given as a pair of points and values or not at all, or raise if they are none."""
    if given is None:
        return Known(np.empty((0, problem.dimension)), np.empty(0))
    if isinstance(given, Known):
        given = (given.x, given.values)
    try:
        points, values = (np.array(part, dtype=np.float64) for part in given)
    except (TypeError, ValueError) as error:
        raise ProblemError("`known` must be points and their values", f"got {given!r}", _FIX) from error
    if not values.size:
        return as_known(None, problem)
    if points.ndim != 2 or points.shape != (values.size, problem.dimension) or values.ndim != 1:
        fact = f"got arrays of shapes {points.shape} and {values.shape} for {problem.dimension} variables"
        raise ProblemError("`known` must be points and their values", fact, _FIX)
    if not np.isfinite(points).all():
        raise ProblemError("known points must be finite", "one of them is not", _FIX)
    if np.isnan(values).any() or any(np.ma.is_masked(part) for part in given) or (values == -np.inf).any():
        raise ProblemError("known values must be numbers above -inf", "one of them is not", _FIX)
    return Known(points, values)
