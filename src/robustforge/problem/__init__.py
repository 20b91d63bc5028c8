"""What to minimise: problems, the boxes and sets they live in, and the ten test functions of the paper."""

from robustforge.problem.families import as_problems
from robustforge.problem.problem import Outside, Problem, Variant, problem, problems
from robustforge.problem.sets import Ball, Box, UncertaintySet

__all__ = ["Ball", "Box", "Outside", "Problem", "UncertaintySet", "Variant", "as_problems", "problem", "problems"]
