"""A problem file: a user's variables, tolerances and model in TOML. It says what is run, and runs nothing itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from robustforge.engine.optimizer import OnFailure
from robustforge.errors import ModelError, RobustforgeError
from robustforge.model.command import Command
from robustforge.model.function import Function
from robustforge.model.mistakes import check, is_file, unused
from robustforge.model.reading import Reading
from robustforge.model.sheet import Sheet, is_number, short, shortened
from robustforge.model.sources import fingerprint, fingerprints
from robustforge.model.variables import Tolerance, Variable, Variables
from robustforge.problem import Outside, Problem, RealProblem

Floats = npt.NDArray[np.float64]

TOP = (
    "name", "goal", "budget", "seed", "heuristic", "tolerances", "outside", "on_failure", "retries", "data",
    "variables", "model",
)  # fmt: skip
MODEL = ("command", "function", "templates", "json", "stdin", "result", "time_limit", "workers")
RESULT = ("file", "pattern", "key")
VARIABLE = ("bounds", "tolerance", "unit")
GOALS = ("minimise", "maximise")
_SPELLINGS = {"minimize": "minimise", "maximize": "maximise"}

BUDGET = 500
"""Runs of a model that nobody says a budget for."""

LARGEST = 1e300
"""How far from 0 a bound may be: what is calculated with it must be finite, too."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_RESERVED = ("dir", "here", "value", "id")


@dataclass(frozen=True, eq=False)
class ProblemFile:
    """What a problem file says.

    Attributes:
        path: The file.
        name: The problem's name; by default that of the file.
        goal: "minimise" or "maximise".
        variables: The variables.
        model: What is run; `None` if a person or a queue does it, by `ask` and `tell`.
        budget: Runs of the model in all.
        seed: Decides everything.
        heuristic: Who searches: a name or a file; empty for the default.
        outside: What happens to points outside the bounds.
        on_failure: What a failed run means.
        retries: Further attempts at a failed point.
        workers: How many runs there may be at the same time.
        data: A CSV file of earlier runs; `None` for none.
    """

    path: Path
    name: str
    goal: str
    variables: Variables
    model: Command | Function | None
    budget: int
    seed: int
    heuristic: str
    outside: Outside
    on_failure: OnFailure
    retries: int
    workers: int
    data: Path | None

    @property
    def sign(self) -> float:
        """What values are multiplied by for the search, which always minimises."""
        return -1.0 if self.goal == "maximise" else 1.0

    @property
    def problem(self) -> Problem:
        """The problem in the units of the file; its objective runs the model, and is minimised.

        It can be given to `minimize`, `Optimizer`, `verify` and `attack` like any other, and all points that go in and
        come out are in the file's units. Where a tolerance is in percent, the search itself is on a log scale.
        """
        scaled, marks = self.scaled_problem, [each.logarithmic for each in self.variables.each]
        return RealProblem(scaled, marks, self.evaluate_real) if any(marks) else scaled

    @property
    def scaled_problem(self) -> Problem:
        """The problem as the search sees it: the logarithm of a variable instead of it if its tolerance is in percent.

        `variables.encode` and `variables.decode` convert points.
        """
        v = self.variables
        return Problem(self.evaluate, v.bounds, v.uncertainty, outside=self.outside, name=self.name)

    def evaluate_real(self, x: Floats) -> float:
        """Run the model at a point in the file's units; return its value for a search that minimises.

        Raises:
            ModelError: The run failed, or there is no model.
        """
        return self._value(dict(zip(self.variables.names, np.asarray(x, dtype=np.float64).tolist(), strict=True)))

    def evaluate(self, x: Floats) -> float:
        """Run the model at a point as the search sees it; return its value for a search that minimises.

        Raises:
            ModelError: The run failed, or there is no model.
        """
        return self._value(self.variables.decode(x))

    def _value(self, values: dict[str, float]) -> float:
        if self.model is None:
            raise ModelError("a point can be evaluated if there is a model", f"{self.path.name} has none")
        outcome = self.model.call(values) if isinstance(self.model, Function) else self.model.run(values, 0)
        if outcome.failed:
            raise ModelError("a run of the model must have a value", f"at {values} it has none: {outcome.failure}")
        return self.sign * outcome.value

    def to_dict(self) -> dict[str, Any]:
        """Return all that decides what a point is worth, as plain data."""
        return {
            "name": self.name,
            "goal": self.goal,
            "tolerances": self.variables.kind,
            "outside": self.outside,
            "variables": {
                each.name: {"bounds": [each.low, each.high], "tolerance": str(each.tolerance), "unit": each.unit}
                for each in self.variables.each
            },
            "model": _model_to_dict(self.model),
        }


def problem_of(settings: Mapping[str, Any], path: Path) -> ProblemFile:
    """Return the problem that a search in a store is about, from its settings; its model is not among them.

    Args:
        settings: Those of the search, as `to_dict` and its budget, seed and policy make them.
        path: What stands for the file.
    """
    each = []
    for name, given in settings["variables"].items():
        tolerance, (low, high) = Tolerance.parse(given["tolerance"]), given["bounds"]
        if tolerance is None or settings["goal"] not in GOALS:
            raise ValueError("its problem makes no sense")
        each.append(Variable(name, float(low), float(high), tolerance, str(given["unit"])))
    return ProblemFile(
        path=path,
        name=settings["name"],
        goal=settings["goal"],
        variables=Variables(tuple(each), settings["tolerances"]),
        model=None,
        budget=settings["budget"],
        seed=settings["seed"],
        heuristic="",
        outside=settings["outside"],
        on_failure=settings["on_failure"],
        retries=settings["retries"],
        workers=1,
        data=None,
    )


def read_problem_file(path: str | Path) -> ProblemFile:
    """Read a problem file, a user's variables, tolerances and model in TOML, and check all of it.

    Args:
        path: The file. Nothing in it is run.

    Returns:
        What it says; its `problem` can be solved by `minimize` like any other, its objective runs the model. Everything
        in it is in the file's units.

    Raises:
        ProblemFileError: With every mistake that was found, its line, the rule and the fix.
    """
    where = Path(path).absolute()
    sheet = Sheet.read(where)
    sheet.only("", TOP)
    variables = _variables(sheet)
    model = _model(sheet)
    data = sheet.text("data", "")
    made = ProblemFile(
        path=where,
        name=sheet.text("name", where.stem),
        goal=_goal(sheet),
        variables=variables,
        model=model,
        budget=sheet.integer("budget", BUDGET, 3),
        seed=sheet.integer("seed", 1, 0),
        heuristic=sheet.text("heuristic", ""),
        outside=_outside(sheet),
        on_failure=_on_failure(sheet),
        retries=sheet.integer("retries", 0, 0),
        workers=sheet.integer("model.workers", 1, 1),
        data=where.parent / data if data else None,
    )
    sheet.finish()
    _check_whole(sheet, made)
    return made


def _check_whole(sheet: Sheet, made: ProblemFile) -> None:
    """Note what only all of it together shows."""
    try:
        _ = made.scaled_problem
    except RobustforgeError as error:  # a box too wide or too narrow for the tolerance
        found = re.search(r"variable (\d+)", error.fact)
        where = f"variables.{made.variables.names[int(found[1])]}" if found else "variables"
        sheet.wrong(where, error.rule, _named(error.fact, made.variables), error.fix)
    if made.data is not None and not is_file(made.data):
        sheet.wrong("data", "`data` must be a CSV file that exists", f"there is no {made.data}")
    sheet.finish()


def _named(text: str, variables: Variables) -> str:
    """Return a sentence with the names of variables instead of their numbers."""
    return re.sub(r"variable (\d+)", lambda found: variables.names[int(found[1])], text)


def _variables(sheet: Sheet) -> Variables:
    table = sheet.get("variables")
    kind = sheet.text("tolerances", "box", ("box", "ball"))
    if not isinstance(table, dict) or not table:
        fix = 'Write [variables], and below for instance R1 = { bounds = [1e3, 1e5], tolerance = "5%" }'
        sheet.wrong("variables", "a problem must have variables", "there are none", fix)
        return Variables((), kind)
    each = tuple(made for name in table if (made := _variable(sheet, name)) is not None)
    if each and all(variable.tolerance.exact for variable in each) and len(each) == len(table):
        fix = "Give at least one variable a tolerance; without any, a nominal optimiser is what you need"
        sheet.wrong("variables", "some variable must have a tolerance", "all are exact", fix)
    return Variables(each, kind)


def _variable(sheet: Sheet, name: str) -> Variable | None:
    where, before = f"variables.{name}", len(sheet.mistakes)
    if not _NAME.fullmatch(name) or name in _RESERVED:
        rule = "a variable's name must be letters, digits and underscores, and none of " + ", ".join(_RESERVED)
        sheet.wrong(where, rule, f"this is {short(name)}", "Choose another")
        return None
    if not isinstance(sheet.get(where), dict):
        fix = f'Write {name} = {{ bounds = [1e3, 1e5], tolerance = "5%" }}'
        sheet.wrong(where, "a variable must be a table", f"{name} is not", fix)
        return None
    sheet.only(where, VARIABLE)
    low, high = _bounds(sheet, name)
    tolerance = _tolerance(sheet, name, low)
    _check_width(sheet, Variable(name, low, high, tolerance), before)
    unit = sheet.text(f"{where}.unit", "")
    if len(sheet.mistakes) > before:
        return None
    return Variable(name, low, high, tolerance, unit)


def _bounds(sheet: Sheet, name: str) -> tuple[float, float]:
    where = f"variables.{name}.bounds"
    found = sheet.get(where)
    if not (isinstance(found, list) and len(found) == 2 and all(map(is_number, found)) and found[0] < found[1]):
        shown = shortened(found) if isinstance(found, str) else short(found)
        fact = f"those of {name} are {shown}" if found is not None else f"{name} has none"
        sheet.wrong(where, "bounds must be two numbers, the lower one first", fact, "Write bounds = [1e3, 1e5]")
        return 1.0, 2.0
    if max(map(abs, found)) > LARGEST:
        fact = f"those of {name} are {found[0]:g} and {found[1]:g}"
        sheet.wrong(where, f"bounds must be between {-LARGEST:g} and {LARGEST:g}", fact, "Choose another unit")
    return float(found[0]), float(found[1])


def _tolerance(sheet: Sheet, name: str, low: float) -> Tolerance:
    where = f"variables.{name}.tolerance"
    given = sheet.get(where)
    tolerance = Tolerance.parse(given)
    if tolerance is None:
        fact = f"that of {name} is {short(given)}" if given is not None else f"{name} has none"
        fix = 'Write for instance 0.1, "5%", "+5/-1" or "+5%/-1%"; 0 for a variable that is built exactly'
        negative = is_number(given) and given < 0
        rule = "must be at least 0" if negative else "must be a number, or a text that says how much"
        sheet.wrong(where, f"a tolerance {rule}", fact, fix)
        return Tolerance(0.0, 0.0)
    if tolerance.percent and tolerance.down >= 100:
        fact = f"that of {name} is {tolerance.down:g}%"
        sheet.wrong(where, "a tolerance downwards must be below 100%", fact, "Give it in the variable's own unit")
    if tolerance.percent and not tolerance.exact and low <= 0:
        fact = f"the bounds of {name} begin at {low:g}"
        fix = "Give the tolerance in the variable's own unit, or begin the bounds above 0"
        sheet.wrong(where, "a tolerance in percent needs bounds above 0", fact, fix)
    return tolerance


def _check_width(sheet: Sheet, variable: Variable, before: int) -> None:
    """Note a tolerance that is as wide as the bounds: then all designs are the same one. One in percent is compared
    with the ratio of the bounds, since the search sees logarithms."""
    if len(sheet.mistakes) > before or variable.tolerance.exact:
        return
    if max(variable.reach) >= variable.encode(variable.high) - variable.encode(variable.low):
        fact = f"that of {variable.name} is {variable.tolerance}, its bounds are {variable.low:g} and {variable.high:g}"
        fix = "Widen the bounds, which are those of the design, or lower the tolerance"
        rule = "a tolerance must be smaller than the range between the bounds"
        sheet.wrong(f"variables.{variable.name}.tolerance", rule, fact, fix)


def _model(sheet: Sheet) -> Command | Function | None:
    sheet.only("model", MODEL)
    if not isinstance(sheet.get("model"), dict):
        return None
    table = sheet.get("variables")
    names = tuple(table) if isinstance(table, dict) else ()  # also of those with a mistake
    here, limit = sheet.path.parent, sheet.positive("model.time_limit")
    command, function = sheet.texts("model.command"), sheet.text("model.function", "")
    if bool(command) == bool(function) and not sheet.mistakes:
        fix = 'Write for instance command = ["ngspice", "-b", "filter.cir"], or function = "mymodule:gain"'
        sheet.wrong("model", "a model must be either a command or a function", "there are both or neither", fix)
    if function:
        _check_function(sheet, function)
        return Function(function, here, limit)
    if not command:
        return None
    sheet.only("model.result", RESULT)
    made = Command(
        arguments=command,
        here=here,
        templates=sheet.texts("model.templates"),
        json=sheet.text("model.json", ""),
        stdin=sheet.text("model.stdin", ""),
        reading=Reading(**{key: sheet.text(f"model.result.{key}", "") for key in RESULT}),
        time_limit=limit,
    )
    for mistake in check(made, [name for name in names if name not in _RESERVED]):
        sheet.wrong(f"model.{mistake.where}", mistake.rule, mistake.fact, mistake.fix)
    if not sheet.mistakes and (lost := unused(made, names)):
        words = f"{', '.join(lost)} {'do' if len(lost) > 1 else 'does'} not"
        fix = f"Put {{{lost[0]}}} into an argument or a template, or hand over all values by json or stdin"
        sheet.wrong("model.command", "every variable must reach the model", words, fix)
    return made


def _check_function(sheet: Sheet, target: str) -> None:
    if not _TARGET.fullmatch(target):
        fix = "Write module:name, without .py; the module may lie beside the problem file"
        sheet.wrong("model.function", "a function must be written module:name", f"it is {short(target)}", fix)
    for key in ("templates", "json", "stdin", "result"):
        if sheet.get(f"model.{key}") is not None:
            rule = f"`{key}` belongs to a command"
            sheet.wrong(
                f"model.{key}", rule, "the model is a function", "It gets its values as arguments; leave it out"
            )


def _goal(sheet: Sheet) -> str:
    given = sheet.get("goal")
    return _SPELLINGS[given] if isinstance(given, str) and given in _SPELLINGS else sheet.text("goal", GOALS[0], GOALS)


def _outside(sheet: Sheet) -> Outside:
    found = sheet.text("outside", "evaluate", get_args(Outside))
    return next(each for each in get_args(Outside) if each == found)


def _on_failure(sheet: Sheet) -> OnFailure:
    found = sheet.text("on_failure", "infeasible", ("infeasible", "unknown", "raise"))
    return next(each for each in get_args(OnFailure) if each == found)


def _model_to_dict(model: Command | Function | None) -> dict[str, Any] | None:
    """Return what a model is, with a fingerprint of the files that it is made from."""
    if model is None:
        return None
    if isinstance(model, Function):
        return {"function": model.target, "time_limit": model.time_limit, "files": fingerprints(model)}
    return {
        "command": list(model.arguments),
        "templates": {name: fingerprint(model.here / name) for name in model.files},
        "files": fingerprints(model),
        "json": model.json,
        "stdin": model.stdin,
        "result": json.loads(json.dumps(model.reading.__dict__)),
        "time_limit": model.time_limit,
    }
