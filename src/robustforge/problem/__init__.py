"""What to minimise: problems, the boxes and sets they live in, and the ten test functions of the paper."""

from robustforge.problem.families import as_problems
from robustforge.problem.problem import Outside, Problem, Suite, Variant, problem, problems
from robustforge.problem.real import RealProblem
from robustforge.problem.sets import Ball, Box, UncertaintySet

__all__ = [
    "Ball",
    "Box",
    "Outside",
    "Problem",
    "RealProblem",
    "Suite",
    "UncertaintySet",
    "Variant",
    "as_problems",
    "problem",
    "problems",
]
