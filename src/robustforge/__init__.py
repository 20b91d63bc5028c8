"""Robust black-box optimisation: find the design whose worst case within its tolerances is best."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from robustforge._version import __version__ as __version__

if TYPE_CHECKING:
    from robustforge.analysis import Analysis as Analysis
    from robustforge.analysis import analyse as analyse
    from robustforge.assessment import Assessment as Assessment
    from robustforge.assessment import Comparison as Comparison
    from robustforge.assessment import assess as assess
    from robustforge.assessment import compare as compare
    from robustforge.contestants import AskTell as AskTell
    from robustforge.core.interpretation import LETTER as LETTER
    from robustforge.core.interpretation import Interpretation as Interpretation
    from robustforge.engine import Batch as Batch
    from robustforge.engine import History as History
    from robustforge.engine import Optimizer as Optimizer
    from robustforge.engine import RobustResult as RobustResult
    from robustforge.engine import minimize as minimize
    from robustforge.errors import RobustforgeError as RobustforgeError
    from robustforge.evolution import Evolution as Evolution
    from robustforge.evolution import evolve as evolve
    from robustforge.reporting import report as report
    from robustforge.representation import Grammar as Grammar
    from robustforge.representation import Heuristic as Heuristic
    from robustforge.representation.presets import heuristic as heuristic
    from robustforge.representation.presets import heuristics as heuristics
    from robustforge.representation.restriction import grammar as grammar
    from robustforge.robust_problem import Ball as Ball
    from robustforge.robust_problem import Box as Box
    from robustforge.robust_problem import Problem as Problem
    from robustforge.robust_problem.problem import problem as problem
    from robustforge.robust_problem.problem import problems as problems
    from robustforge.simulator.problem_file import ProblemFile as ProblemFile
    from robustforge.simulator.problem_file import read_problem_file as read_problem_file
    from robustforge.verification import Verification as Verification
    from robustforge.verification import attack as attack
    from robustforge.verification import verify as verify

_MODULES = {
    "Analysis": "analysis",
    "AskTell": "contestants",
    "Assessment": "assessment",
    "Ball": "robust_problem",
    "Batch": "engine",
    "Box": "robust_problem",
    "Comparison": "assessment",
    "Evolution": "evolution",
    "Grammar": "representation",
    "Heuristic": "representation",
    "History": "engine",
    "Interpretation": "core.interpretation",
    "LETTER": "core.interpretation",
    "Optimizer": "engine",
    "Problem": "robust_problem",
    "ProblemFile": "simulator.problem_file",
    "RobustResult": "engine",
    "RobustforgeError": "errors",
    "Verification": "verification",
    "analyse": "analysis",
    "assess": "assessment",
    "attack": "verification",
    "compare": "assessment",
    "evolve": "evolution",
    "grammar": "representation.restriction",
    "heuristic": "representation.presets",
    "heuristics": "representation.presets",
    "minimize": "engine",
    "problem": "robust_problem.problem",
    "problems": "robust_problem.problem",
    "read_problem_file": "simulator.problem_file",
    "report": "reporting",
    "verify": "verification",
}

logging.getLogger(__name__).addHandler(logging.NullHandler())  # a program decides where messages go

__all__ = [*_MODULES, "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the command line answers before Numba is loaded."""
    if name not in _MODULES:
        raise AttributeError(f"module 'robustforge' has no attribute {name!r}")
    return getattr(import_module(f"robustforge.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *globals()])
