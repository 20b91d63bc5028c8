"""Problems for the commands: test problems by name, problem files, and Python objects given as `--objective`."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

import robustforge as rf
from robustforge.cli.options import VARIANTS
from robustforge.errors import EvolutionError, ObjectiveImportError, ProblemError, ProblemFileError
from robustforge.robust_problem import Problem, as_problems
from robustforge.robust_problem.engineering import ENGINEERING
from robustforge.robust_problem.test_functions import DEFAULT_DIMENSION
from robustforge.simulator.problem_file import ProblemFile, read_problem_file
from robustforge.simulator.worker_pool import Submit, model_workers
from robustforge.tables import Record

ALL = "all"

_FIX = "Name a Problem, a list of problems, or a function of the dimension that returns either"


def problem_spec(name: str, options: Mapping[str, Any]) -> Record:
    """Return a test problem as plain data: its name and the options of a problem, as saved results have them."""
    dimension = default_dimension(name) if options["dimension"] is None else options["dimension"]
    spec = {"name": name, **options, "dimension": dimension, "outside": options["out_of_bounds"]}
    del spec["out_of_bounds"]
    return spec


def default_dimension(name: str) -> int:
    """Return the variables of a test problem for which none are given."""
    return ENGINEERING[name].dimension if name in ENGINEERING else DEFAULT_DIMENSION


def build_problem(spec: Record) -> Problem:
    """Return the test problem that a spec (name, dimension, variant, variant_seed, outside) describes."""
    variant, seed = spec["variant"], spec["variant_seed"]
    if variant == "original" and seed is not None:
        fix = "Add --variant shifted, or omit --variant-seed"
        raise ProblemError("--variant-seed requires a shifted or rotated --variant", "got --variant original", fix)
    if variant != "original" and seed is None:
        raise ProblemError(f"the {variant} variant needs a seed", "got none", "Add --variant-seed 1")
    return rf.problem(spec["name"], spec["dimension"], variant, seed, spec["outside"])


def chosen_problems(
    names: Sequence[str],
    objective: str | None,
    options: Mapping[str, Any],
    dimension_given: bool,
    variants: str | None = None,
) -> tuple[Problem, ...]:
    """Return the problems of an evolution or an assessment: test problems by name, or those of `--objective`.

    Args:
        names: Test problems; "all" for all ten.
        objective: A module and a name in it.
        options: The options of a problem.
        dimension_given: Whether the dimension was given on the command line.
        variants: Several variants separated by commas, or "all"; each problem is then used in each of them.
    """
    if objective is not None:
        if names:
            raise EvolutionError("problems are given by name or by --objective", "got both", "Leave one of them out")
        if options["variant"] != "original" or options["out_of_bounds"] != "evaluate" or variants:
            rule = "--variant, --variants and --out-of-bounds apply to test problems only"
            raise EvolutionError(rule, "got --objective as well", "Set them in your Problem")
        return as_problems(load_problems(objective, options["dimension"] if dimension_given else None))
    if not names:
        raise ProblemError("no problem given", fix="Name one, for instance rastrigin, or all")
    spelled = rf.problems() if tuple(names) == (ALL,) else names
    specs = [problem_spec(name, each) for each in _variants(options, variants) for name in spelled]
    return as_problems([build_problem(spec) for spec in specs])


def _variants(options: Mapping[str, Any], variants: str | None) -> list[dict[str, Any]]:
    """Return the options of a problem for each variant."""
    if variants is None:
        return [dict(options)]
    if options["variant"] != "original":
        raise ProblemError("variants are given by --variant or by --variants", "got both", "Leave one of them out")
    kinds = VARIANTS if variants == ALL else [part.strip() for part in variants.split(",")]
    seed = 1 if options["variant_seed"] is None else options["variant_seed"]
    return [{**options, "variant": kind, "variant_seed": None if kind == "original" else seed} for kind in kinds]


def is_problem_file(target: str) -> bool:
    """Whether the argument of a command is a problem file."""
    return target.endswith(".toml")


def read_file(target: str, **changes: Any) -> ProblemFile:
    """Read a problem file; options of the command line override its entries."""
    given = {key: value for key, value in changes.items() if value is not None}
    return replace(read_problem_file(target), **given)


def store_of(target: str, store: str | None) -> str:
    """Return the store of a problem file: the given one, or the default in the folder of the file."""
    return store or str(Path(target).with_suffix(".db"))


def check_model(file: ProblemFile) -> None:
    """Refuse a problem file without a model."""
    if file.model is None:
        fix = "Add [model] with a command or a function, or evaluate points by hand with `robustforge ask` and `tell`"
        raise ProblemFileError(f"{file.path.name} has no model to run", fix=fix)


@contextmanager
def model_runner(file: ProblemFile, store: str, keep_folders: bool) -> Iterator[Submit]:
    """Open the pool that runs the model of a problem file; folders that are kept are next to the store."""
    assert file.model is not None
    with model_workers(file.model, file.workers, Path(f"{store}-runs"), keep_folders) as submit:
        yield submit


def load_problems(target: str, dimension: int | None) -> list[Problem]:
    """Return the problems that "module:name" refers to: a Problem, several, or a function of the dimension.

    Args:
        target: An importable module, also from the current folder, and a name in it.
        dimension: Argument of the function; problems that are not made by a function must have this dimension.

    Raises:
        ObjectiveImportError: The module or the name does not exist, or is not a problem.
    """
    found = _imported(target)
    if callable(found) and not isinstance(found, Problem):
        found = _called(found, target, dimension)
        dimension = None
    problems = [found] if isinstance(found, Problem) else found
    if not isinstance(problems, (list, tuple)) or not problems:
        raise ObjectiveImportError("expected a Problem or a list of problems", f"{target} is {_short(found)}", _FIX)
    for each in problems:
        if not isinstance(each, Problem):
            raise ObjectiveImportError("expected a list of problems", f"{target} contains {_short(each)}", _FIX)
        if dimension is not None and each.dimension != dimension:
            fact = f"{each.name} has {each.dimension} variables, not {dimension}"
            raise ObjectiveImportError("--dimension differs from the problem's", fact, "Leave --dimension out")
    return list(problems)


def _imported(target: str) -> Any:
    module, colon, name = target.partition(":")
    if not (module and colon and name) or module.endswith(".py"):
        example = f"Write {module.removesuffix('.py')}:{name}" if module.endswith(".py") else _FIX
        raise ObjectiveImportError("--objective must have the form module:name", f"got {target!r}", example)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
    except (Exception, SystemExit) as error:  # anything that the user's module raises
        fact = f"{type(error).__name__}: {error}"
        fix = "Run the command in the folder of the module, or install it"
        raise ObjectiveImportError(f"importing {module!r} failed", fact, fix) from error
    for part in name.split("."):
        if not hasattr(found, part):
            own = [key for key, value in vars(found).items() if isinstance(value, (Problem, list, FunctionType))]
            fix = f"It has: {', '.join(own[:10]) or 'no problems'}"
            raise ObjectiveImportError(f"module {module!r} has no {name!r}", fix=fix)
        found = getattr(found, part)
    return found


def _called(function: Any, target: str, dimension: int | None) -> Any:
    """Return what a function of the dimension, or without arguments, returns."""
    try:
        parameters: list[Any] = list(inspect.signature(function).parameters.values())
        needed = any(parameter.default is parameter.empty for parameter in parameters)
    except (TypeError, ValueError):
        parameters, needed = [None], True
    if needed and dimension is None:
        dimension = DEFAULT_DIMENSION
    arguments = [dimension] if parameters and dimension is not None else []
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:
        call = f"{target}({', '.join(map(str, arguments))})"
        raise ObjectiveImportError(f"calling {call} failed", f"{type(error).__name__}: {error}", _FIX) from error


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
