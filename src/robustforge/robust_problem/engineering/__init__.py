"""The engineering suites: problems as engineers have them, one suite to choose defaults on and one to check them."""

from robustforge.robust_problem.engineering import circuits, crashing, landscapes, processes, structures
from robustforge.robust_problem.engineering.engineering_problem import (
    CHECKING,
    TRAINING,
    EngineeringProblem,
    EngineeringSuite,
)

__all__ = ["CHECKING", "ENGINEERING", "TRAINING", "EngineeringProblem", "EngineeringSuite"]

_MODULES = (landscapes, structures, circuits, processes, crashing)

ENGINEERING: dict[str, EngineeringProblem] = {
    each.name: each
    for suite in (TRAINING, CHECKING)
    for module in _MODULES
    for each in sorted(module.PROBLEMS, key=lambda problem: problem.dimension)
    if each.suite == suite
}
"""Both suites by name: first the one for training."""
