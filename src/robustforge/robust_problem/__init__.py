"""Problems: objectives, bounds, uncertainty sets, and the test problems."""

from robustforge.robust_problem.families import as_problems
from robustforge.robust_problem.log_scaling import RealProblem
from robustforge.robust_problem.problem import OutOfBounds, Problem, Suite, Variant
from robustforge.robust_problem.uncertainty_sets import Ball, Box, UncertaintySet

__all__ = [
    "Ball",
    "Box",
    "OutOfBounds",
    "Problem",
    "RealProblem",
    "Suite",
    "UncertaintySet",
    "Variant",
    "as_problems",
]
