"""Robust black-box optimisation: find the design whose worst case within its tolerances is best."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
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
    from robustforge.engine import Batch as Batch
    from robustforge.engine import History as History
    from robustforge.engine import Optimizer as Optimizer
    from robustforge.engine import minimize as minimize
    from robustforge.errors import RobustforgeError as RobustforgeError
    from robustforge.evolution import Evolution as Evolution
    from robustforge.evolution import evolve as evolve
    from robustforge.heuristic import Grammar as Grammar
    from robustforge.heuristic import Heuristic as Heuristic
    from robustforge.heuristic import grammar as grammar
    from robustforge.heuristic import heuristic as heuristic
    from robustforge.heuristic import heuristics as heuristics
    from robustforge.model.problem_file import ProblemFile as ProblemFile
    from robustforge.model.problem_file import read_problem_file as read_problem_file
    from robustforge.problem import Ball as Ball
    from robustforge.problem import Box as Box
    from robustforge.problem import Problem as Problem
    from robustforge.problem import problem as problem
    from robustforge.problem import problems as problems
    from robustforge.report import report as report
    from robustforge.verification import Verification as Verification
    from robustforge.verification import attack as attack
    from robustforge.verification import verify as verify

_HOMES = {
    "Analysis": "analysis",
    "AskTell": "contestants",
    "Assessment": "assessment",
    "Ball": "problem",
    "Batch": "engine",
    "Box": "problem",
    "Comparison": "assessment",
    "Evolution": "evolution",
    "Grammar": "heuristic",
    "Heuristic": "heuristic",
    "History": "engine",
    "Optimizer": "engine",
    "Problem": "problem",
    "ProblemFile": "model.problem_file",
    "RobustforgeError": "errors",
    "Verification": "verification",
    "analyse": "analysis",
    "assess": "assessment",
    "attack": "verification",
    "compare": "assessment",
    "evolve": "evolution",
    "grammar": "heuristic",
    "heuristic": "heuristic",
    "heuristics": "heuristic",
    "minimize": "engine",
    "problem": "problem",
    "problems": "problem",
    "read_problem_file": "model.problem_file",
    "report": "report",
    "verify": "verification",
}

__all__ = [*_HOMES, "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the command line answers before Numba is loaded."""
    if name not in _HOMES:
        raise AttributeError(f"module 'robustforge' has no attribute {name!r}")
    return getattr(import_module(f"robustforge.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *globals()])


class _Package(ModuleType):
    """The package itself: `rf.problem` stays the function, also once the folder of that name is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
