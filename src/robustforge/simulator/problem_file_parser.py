"""Parses and validates the keys of a problem file; `problem_file` assembles the result.

Each function adds its validation errors to the reader and returns a default, so that all errors of a file are reported
together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

from robustforge.engine.optimizer import OnFailure
from robustforge.errors import RobustforgeError
from robustforge.robust_problem import OutOfBounds
from robustforge.simulator.command_checks import is_file, unused_variables, validate_command
from robustforge.simulator.command_model import CommandModel
from robustforge.simulator.function_model import FunctionModel
from robustforge.simulator.result_parser import ResultParser
from robustforge.simulator.toml_reader import TomlReader, is_number, shortened, shortened_repr
from robustforge.simulator.variables import Tolerance, Variable, Variables

TOP_KEYS = (
    "name", "goal", "budget", "seed", "heuristic", "tolerances", "out_of_bounds", "on_failure", "retries", "data",
    "verify", "variables", "model", "outside",
)  # fmt: skip
"""Keys at the top of a file; `outside` is the former name of `out_of_bounds`."""
MODEL_KEYS = ("command", "function", "templates", "json", "stdin", "result", "time_limit", "workers")
RESULT_KEYS = ("file", "pattern", "key")
VARIABLE_KEYS = ("bounds", "tolerance", "unit")
GOALS = ("minimise", "maximise")
_AMERICAN_SPELLINGS = {"minimize": "minimise", "maximize": "maximise"}

DEFAULT_BUDGET = 500
"""Runs of a model if the file has no budget."""

MAX_BOUND = 1e300
"""Maximum absolute value of a bound: quantities computed from it must be finite, too."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FUNCTION_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_RESERVED_NAMES = ("dir", "here", "value", "id")


def parse_variables(reader: TomlReader) -> Variables:
    """Return the variables, without those that have validation errors."""
    table = reader.get("variables")
    kind = reader.string("tolerances", "box", ("box", "ball"))
    if not isinstance(table, dict) or not table:
        fix = 'Write [variables], and below for instance R1 = { bounds = [1e3, 1e5], tolerance = "5%" }'
        reader.add_error("variables", "a problem must have variables", "there are none", fix)
        return Variables((), kind)
    members = tuple(variable for name in table if (variable := _parse_variable(reader, name)) is not None)
    if members and all(variable.tolerance.exact for variable in members) and len(members) == len(table):
        fix = "Give at least one variable a tolerance; without any, use a nominal optimiser"
        reader.add_error("variables", "at least one variable must have a tolerance", "all are exact", fix)
    return Variables(members, kind)


def _parse_variable(reader: TomlReader, name: str) -> Variable | None:
    key, errors_before = f"variables.{name}", len(reader.errors)
    if not _NAME.fullmatch(name) or name in _RESERVED_NAMES:
        reserved = ", ".join(_RESERVED_NAMES)
        rule = f"a variable's name must be letters, digits and underscores, and not one of {reserved}"
        reader.add_error(key, rule, f"got {shortened_repr(name)}", "Choose another name")
        return None
    if not isinstance(reader.get(key), dict):
        fix = f'Write {name} = {{ bounds = [1e3, 1e5], tolerance = "5%" }}'
        reader.add_error(key, "a variable must be a table", f"{name} is not", fix)
        return None
    reader.check_keys(key, VARIABLE_KEYS)
    low, high = _parse_bounds(reader, name)
    tolerance = _parse_tolerance(reader, name, low)
    if len(reader.errors) == errors_before:
        _check_width(reader, Variable(name, low, high, tolerance))
    unit = reader.string(f"{key}.unit", "")
    if len(reader.errors) > errors_before:
        return None
    return Variable(name, low, high, tolerance, unit)


def _parse_bounds(reader: TomlReader, name: str) -> tuple[float, float]:
    key = f"variables.{name}.bounds"
    found = reader.get(key)
    if not (isinstance(found, list) and len(found) == 2 and all(map(is_number, found)) and found[0] < found[1]):
        shown = shortened(found) if isinstance(found, str) else shortened_repr(found)
        fact = f"those of {name} are {shown}" if found is not None else f"{name} has none"
        reader.add_error(key, "bounds must be two numbers, the lower one first", fact, "Write bounds = [1e3, 1e5]")
        return 1.0, 2.0
    if max(map(abs, found)) > MAX_BOUND:
        fact = f"those of {name} are {found[0]:g} and {found[1]:g}"
        reader.add_error(key, f"bounds must be between {-MAX_BOUND:g} and {MAX_BOUND:g}", fact, "Choose another unit")
    return float(found[0]), float(found[1])


def _parse_tolerance(reader: TomlReader, name: str, low: float) -> Tolerance:
    key = f"variables.{name}.tolerance"
    given = reader.get(key)
    tolerance = Tolerance.parse(given)
    if tolerance is None:
        fact = f"that of {name} is {shortened_repr(given)}" if given is not None else f"{name} has none"
        fix = 'Write for instance 0.1, "5%", "+5/-1" or "+5%/-1%"; 0 for a variable that is built exactly'
        negative = (is_number(given) and given < 0) or (isinstance(given, str) and _is_negative(given))
        rule = "must be at least 0" if negative else 'must be a number or a string such as "5%"'
        reader.add_error(key, f"a tolerance {rule}", fact, fix)
        return Tolerance(0.0, 0.0)
    if tolerance.percent and tolerance.down >= 100:
        fact = f"that of {name} is {tolerance.down:g}%"
        reader.add_error(key, "a tolerance downwards must be below 100%", fact, "Give it in the variable's own unit")
    if tolerance.percent and not tolerance.exact and low <= 0:
        fact = f"the lower bound of {name} is {low:g}"
        fix = "Give the tolerance in the variable's own unit, or raise the lower bound above 0"
        reader.add_error(key, "a tolerance in percent needs bounds above 0", fact, fix)
    return tolerance


def _is_negative(text: str) -> bool:
    """Whether a text is a tolerance but for a minus sign in front."""
    return text.strip().startswith("-") and Tolerance.parse(text.strip()[1:]) is not None


def _check_width(reader: TomlReader, variable: Variable) -> None:
    """Add an error for a tolerance as wide as the bounds, which makes all designs equal.

    A tolerance in percent is compared with the ratio of the bounds, since the search uses logarithms.
    """
    if variable.tolerance.exact:
        return
    if max(variable.deviation) >= variable.encode(variable.high) - variable.encode(variable.low):
        fact = f"that of {variable.name} is {variable.tolerance}, its bounds are {variable.low:g} and {variable.high:g}"
        fix = "Widen the bounds, which are those of the design, or lower the tolerance"
        rule = "a tolerance must be smaller than the range between the bounds"
        reader.add_error(f"variables.{variable.name}.tolerance", rule, fact, fix)


def parse_model(reader: TomlReader) -> CommandModel | FunctionModel | None:
    """Return the model; `None` if the file has none."""
    reader.check_keys("model", MODEL_KEYS)
    if not isinstance(reader.get("model"), dict):
        return None
    folder, limit = reader.path.parent, reader.positive_number("model.time_limit")
    command, function = reader.strings("model.command"), reader.string("model.function", "")
    if bool(command) == bool(function) and not reader.errors:
        fix = 'Write for instance command = ["ngspice", "-b", "filter.cir"], or function = "mymodule:gain"'
        fact = "it has both" if command else "it has neither"
        reader.add_error("model", "a model must be either a command or a function", fact, fix)
    if function:
        _check_function(reader, function)
        return FunctionModel(function, folder, limit)
    return _parse_command(reader, command, folder, limit) if command else None


def _parse_command(reader: TomlReader, arguments: tuple[str, ...], folder: Path, limit: float | None) -> CommandModel:
    reader.check_keys("model.result", RESULT_KEYS)
    command = CommandModel(
        arguments=arguments,
        problem_folder=folder,
        templates=reader.strings("model.templates"),
        json_file=reader.string("model.json", ""),
        stdin=reader.string("model.stdin", ""),
        result_parser=ResultParser(**{key: reader.string(f"model.result.{key}", "") for key in RESULT_KEYS}),
        time_limit=limit,
    )
    table = reader.get("variables")
    names = tuple(table) if isinstance(table, dict) else ()  # including variables with validation errors
    for error in validate_command(command, [name for name in names if name not in _RESERVED_NAMES]):
        reader.add_error(f"model.{error.key}", error.rule, error.fact, error.fix)
    if not reader.errors and (unused := unused_variables(command, names)):
        fact = f"{', '.join(unused)} {'do' if len(unused) > 1 else 'does'} not"
        fix = f"Put {{{unused[0]}}} into an argument or a template, or pass all values by json or stdin"
        reader.add_error("model.command", "every variable must reach the model", fact, fix)
    return command


def _check_function(reader: TomlReader, target: str) -> None:
    if not _FUNCTION_TARGET.fullmatch(target):
        fix = "Write module:name, without .py; the module may be in the folder of the problem file"
        reader.add_error("model.function", "a function must be module:name", f"got {shortened_repr(target)}", fix)
    for key in ("templates", "json", "stdin", "result"):
        if reader.get(f"model.{key}") is not None:
            fix = "Leave it out; the function gets the values as arguments"
            reader.add_error(f"model.{key}", f"`{key}` belongs to a command", "the model is a function", fix)


def parse_goal(reader: TomlReader) -> str:
    """Return "minimise" or "maximise"."""
    given: Any = reader.get("goal")
    if isinstance(given, str) and given in _AMERICAN_SPELLINGS:
        return _AMERICAN_SPELLINGS[given]
    return reader.string("goal", GOALS[0], GOALS)


def parse_out_of_bounds(reader: TomlReader) -> OutOfBounds:
    """Return the policy for points outside the bounds."""
    both = reader.get("out_of_bounds") is not None and reader.get("outside") is not None
    if both:
        fix = "Leave out `outside`, its former name"
        reader.add_error("outside", "`out_of_bounds` must be given once", "`outside` is given, too", fix)
    former = reader.get("out_of_bounds") is None
    found = reader.string("outside" if former else "out_of_bounds", "evaluate", get_args(OutOfBounds))
    return next(policy for policy in get_args(OutOfBounds) if policy == found)


def parse_on_failure(reader: TomlReader) -> OnFailure:
    """Return the policy for failed runs."""
    found = reader.string("on_failure", "infeasible", ("infeasible", "unknown", "raise"))
    return next(policy for policy in get_args(OnFailure) if policy == found)


def check_problem(reader: TomlReader, build: Callable[[], object], names: Sequence[str]) -> None:
    """Add an error if the problem cannot be built: for instance a box that is too narrow for the tolerances."""
    try:
        build()
    except RobustforgeError as error:
        found = re.search(r"variable (\d+)", error.fact)
        key = f"variables.{names[int(found[1])]}" if found else "variables"
        fact = re.sub(r"variable (\d+)", lambda match: names[int(match[1])], error.fact)
        reader.add_error(key, error.rule, fact, error.fix)


def check_data(reader: TomlReader, data: Path | None) -> None:
    """Add an error if the CSV file of prior runs does not exist."""
    if data is not None and not is_file(data):
        reader.add_error("data", "`data` must be an existing CSV file", f"{data} does not exist")
