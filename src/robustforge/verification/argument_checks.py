"""Checks and conversions of the arguments of `verify` and `attack`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.engine.prior_evaluations import as_prior
from robustforge.engine.result import History
from robustforge.errors import ProblemError
from robustforge.robust_problem import Problem
from robustforge.verification.neighbourhood import Neighbourhood

Floats = npt.NDArray[np.float64]


def check_design(problem: Any, x: Any) -> Floats:
    """Return the design as an array; raise if it is not one of the problem."""
    if not isinstance(problem, Problem):
        raise ProblemError("`problem` must be a Problem", f"got {problem!r}", "Pass e.g. rf.problem('sphere')")
    n = problem.dimension
    try:
        design = np.array(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ProblemError("`x` must be an array of numbers", f"got {x!r}", f"Pass {n} numbers") from error
    if design.shape != (n,):
        fact = f"its shape is {design.shape}, not ({n},)"
        raise ProblemError("`x` must have one number per variable", fact, f"Pass {n} numbers")
    invalid = np.flatnonzero(~np.isfinite(design))
    if invalid.size:
        fact = f"x[{invalid[0]}] is {design[invalid[0]]}"
        raise ProblemError("`x` must be finite", fact, "Pass the design of a result")
    _check_bounds(problem, design)
    return design


def _check_bounds(problem: Problem, design: Floats) -> None:
    (lower, upper), slack = problem.design_box, 1e-9 * (problem.upper - problem.lower)
    invalid = np.flatnonzero((design < lower - slack) | (design > upper + slack))
    if invalid.size:
        k = int(invalid[0])
        which = "shrunken bounds" if problem.out_of_bounds == "shrink" else "bounds"
        raise ProblemError(
            f"`x` must be within the {which}",
            f"x[{k}] is {design[k]:g}, its bounds are ({lower[k]:g}, {upper[k]:g})",
            "Pass a design of this problem",
        )


def check_count(name: str, count: Any, example: str) -> int:
    """Return a positive integer argument; raise if it is not one."""
    if isinstance(count, (int, np.integer)) and not isinstance(count, bool) and count >= 1:
        return int(count)
    raise ProblemError(f"`{name}` must be an integer of at least 1", f"got {count!r}", f"Pass e.g. {name}={example}")


def prior_points_within(
    neighbourhood: Neighbourhood, problem: Problem, prior_evaluations: Any
) -> tuple[Floats, Floats]:
    """Return the prior evaluations within the set: points scaled for the search (k, n), and values (k,).

    Args:
        neighbourhood: The set around the design.
        problem: The problem, in the units of the prior evaluations.
        prior_evaluations: A history, points and their values, or `None`.
    """
    if isinstance(prior_evaluations, History):
        has_value = ~np.isnan(prior_evaluations.fun)
        prior_evaluations = prior_evaluations.x[has_value], prior_evaluations.fun[has_value]
    prior = as_prior(prior_evaluations, problem)
    points = problem.to_scaled(prior.x)
    inside = neighbourhood.contains(points)
    return points[inside], prior.values[inside]
