"""A user's own problems for the command line: what stands behind `--objective module:name`."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from types import FunctionType
from typing import Any

from robustforge.errors import ObjectiveImportError
from robustforge.problem import Problem

DEFAULT_DIMENSION = 30

_FIX = "Name a Problem, a list of them, or a function of the dimension that returns one or the other"


def load_problems(target: str, dimension: int | None) -> list[Problem]:
    """Return the problems behind "module:name": a Problem, several, or what a function of the dimension returns.

    Args:
        target: An importable module, also from the current folder, and a name in it.
        dimension: For the function; for problems that are there already, what theirs must be.

    Raises:
        ObjectiveImportError: There is no such thing, or it is something else.
    """
    found = _found(target)
    if callable(found) and not isinstance(found, Problem):
        found = _called(found, target, dimension)
        dimension = None
    problems = [found] if isinstance(found, Problem) else found
    if not isinstance(problems, (list, tuple)) or not problems:
        raise ObjectiveImportError("an objective must be problems", f"{target} gives {_short(found)}", _FIX)
    for each in problems:
        if not isinstance(each, Problem):
            raise ObjectiveImportError("an objective must be problems", f"{target} holds {_short(each)}", _FIX)
        if dimension is not None and each.dimension != dimension:
            raise ObjectiveImportError(
                "--dimension must be that of the problems",
                f"{each.name} has {each.dimension} variables, not {dimension}",
                "Leave --dimension out",
            )
    return list(problems)


def _found(target: str) -> Any:
    module, colon, name = target.partition(":")
    if not (module and colon and name) or module.endswith(".py"):
        example = f"Write {module.removesuffix('.py')}:{name}" if module.endswith(".py") else _FIX
        raise ObjectiveImportError("an objective must be written module:name", f"got {target!r}", example)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
    except (Exception, SystemExit) as error:  # whatever the user's module does
        raise ObjectiveImportError(
            "an objective must be importable",
            f"importing {module!r} failed: {type(error).__name__}: {error}",
            "Run the command in the folder of the module, or install it",
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            own = [key for key, value in vars(found).items() if isinstance(value, (Problem, list, FunctionType))]
            fix = f"It has: {', '.join(own[:10]) or 'nothing of the kind'}"
            raise ObjectiveImportError("an objective must be in its module", f"{module!r} has no {name!r}", fix)
        found = getattr(found, part)
    return found


def _called(function: Any, target: str, dimension: int | None) -> Any:
    """Return what a function of the dimension, or of nothing, returns."""
    try:
        parameters: list[Any] = list(inspect.signature(function).parameters.values())
        needed = any(parameter.default is parameter.empty for parameter in parameters)
    except (TypeError, ValueError):
        parameters, needed = [None], True
    if needed and dimension is None:
        dimension = DEFAULT_DIMENSION
    given = [dimension] if parameters and dimension is not None else []
    try:
        return function(*given)
    except (Exception, SystemExit) as error:
        call = f"{target}({', '.join(map(str, given))})"
        raise ObjectiveImportError(
            "an objective must give problems", f"calling {call} failed: {type(error).__name__}: {error}", _FIX
        ) from error


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
