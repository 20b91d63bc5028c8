"""A problem file: a user's variables, tolerances and model in TOML. Reading one runs nothing."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.engine.optimizer import OnFailure
from robustforge.errors import ModelError
from robustforge.robust_problem import OutOfBounds, Problem, RealProblem
from robustforge.simulator import problem_file_parser as parser
from robustforge.simulator.command_model import CommandModel
from robustforge.simulator.function_model import FunctionModel
from robustforge.simulator.model_files import fingerprint, fingerprints
from robustforge.simulator.toml_reader import TomlReader
from robustforge.simulator.variables import Tolerance, Variable, Variables

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProblemFile:
    """The content of a problem file.

    Attributes:
        path: The file.
        name: The problem's name; by default that of the file.
        goal: "minimise" or "maximise".
        variables: The variables.
        model: The model; `None` if its runs are made by hand or by a queue, with `ask` and `tell`.
        budget: Total number of runs of the model.
        seed: Seed of the search.
        heuristic: The heuristic, by name or as a file; empty for the default.
        out_of_bounds: Policy for points outside the bounds.
        on_failure: Policy for failed runs.
        retries: Further attempts at a failed point.
        workers: Maximum number of runs at a time.
        data: A CSV file of prior runs; `None` for none.
        verify: Runs, out of the budget, that attack the design before it is returned; `None` if the heuristic decides.
    """

    path: Path
    name: str
    goal: str
    variables: Variables
    model: CommandModel | FunctionModel | None
    budget: int
    seed: int
    heuristic: str
    out_of_bounds: OutOfBounds
    on_failure: OnFailure
    retries: int
    workers: int
    data: Path | None
    verify: int | None = None

    @property
    def sign(self) -> float:
        """The factor of the model's values in the search, which always minimises: -1 to maximise."""
        return -1.0 if self.goal == "maximise" else 1.0

    @property
    def problem(self) -> Problem:
        """The problem in the units of the file; its objective runs the model, and is minimised.

        `minimize`, `Optimizer`, `verify` and `attack` accept it, with all points in the file's units. Variables whose
        tolerance is in percent are searched on a log scale.
        """
        scaled, logarithmic = self.scaled_problem, [each.logarithmic for each in self.variables.members]
        return RealProblem(scaled, logarithmic, self.evaluate_unscaled) if any(logarithmic) else scaled

    @property
    def scaled_problem(self) -> Problem:
        """The problem scaled for the search: with logarithms of the variables whose tolerance is in percent.

        `variables.encode` and `variables.decode` convert points.
        """
        v = self.variables
        return Problem(self.evaluate, v.bounds, v.uncertainty, out_of_bounds=self.out_of_bounds, name=self.name)

    @property
    def outside(self) -> OutOfBounds:
        """Deprecated name of `out_of_bounds`."""
        text = "`outside` was renamed to `out_of_bounds`; the former name will be removed in the next minor release"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return self.out_of_bounds

    def evaluate_unscaled(self, x: Floats) -> float:
        """Run the model at a point in the file's units, and return its value, negated to maximise.

        Raises:
            ModelError: The run failed, or there is no model.
        """
        return self._value(dict(zip(self.variables.names, np.asarray(x, dtype=np.float64).tolist(), strict=True)))

    def evaluate(self, x: Floats) -> float:
        """Run the model at a point scaled for the search, and return its value, negated to maximise.

        Raises:
            ModelError: The run failed, or there is no model.
        """
        return self._value(self.variables.decode(x))

    def _value(self, values: dict[str, float]) -> float:
        if self.model is None:
            raise ModelError("only a problem with a model can be evaluated", f"{self.path.name} has none")
        outcome = self.model.call(values) if isinstance(self.model, FunctionModel) else self.model.run(values, 0)
        if outcome.failed:
            raise ModelError("a run of the model failed", f"at {values}: {outcome.failure}")
        return self.sign * outcome.value

    def to_dict(self) -> dict[str, Any]:
        """Return everything that determines the model's values, as plain data; the keys are those of stores."""
        return {
            "name": self.name,
            "goal": self.goal,
            "tolerances": self.variables.kind,
            "outside": self.out_of_bounds,
            "variables": {
                each.name: {"bounds": [each.low, each.high], "tolerance": str(each.tolerance), "unit": each.unit}
                for each in self.variables.members
            },
            "model": _model_to_dict(self.model),
        }


def problem_from_settings(settings: Mapping[str, Any], path: Path) -> ProblemFile:
    """Return the problem of a stored search; its model is not stored.

    Args:
        settings: Settings of the search: those of `to_dict`, with budget, seed and policy.
        path: A path that takes the place of the problem file's.
    """
    members = []
    for name, given in settings["variables"].items():
        tolerance, (low, high) = Tolerance.parse(given["tolerance"]), given["bounds"]
        if tolerance is None or settings["goal"] not in parser.GOALS:
            raise ValueError("its problem is invalid")
        members.append(Variable(name, float(low), float(high), tolerance, str(given["unit"])))
    return ProblemFile(
        path=path,
        name=settings["name"],
        goal=settings["goal"],
        variables=Variables(tuple(members), settings["tolerances"]),
        model=None,
        budget=settings["budget"],
        seed=settings["seed"],
        heuristic="",
        out_of_bounds=settings["outside"],
        on_failure=settings["on_failure"],
        retries=settings["retries"],
        workers=1,
        data=None,
        verify=settings.get("verify"),
    )


def read_problem_file(path: str | Path) -> ProblemFile:
    """Read a problem file, a user's variables, tolerances and model in TOML, and validate all of it.

    Args:
        path: The file. Nothing in it is run.

    Returns:
        Its content. `minimize` solves its `problem` like any other; the objective runs the model. All points are in
        the units of the file.

    Raises:
        ProblemFileError: With all validation errors, their lines, rules and fixes.
    """
    where = Path(path).absolute()
    reader = TomlReader.open(where)
    reader.check_keys("", parser.TOP_KEYS)
    variables = parser.parse_variables(reader)
    model = parser.parse_model(reader)
    data, verify = reader.string("data", ""), reader.integer("verify", -1, 0)
    file = ProblemFile(
        path=where,
        name=reader.string("name", where.stem),
        goal=parser.parse_goal(reader),
        variables=variables,
        model=model,
        budget=reader.integer("budget", parser.DEFAULT_BUDGET, 3),
        seed=reader.integer("seed", 1, 0),
        heuristic=reader.string("heuristic", ""),
        out_of_bounds=parser.parse_out_of_bounds(reader),
        on_failure=parser.parse_on_failure(reader),
        retries=reader.integer("retries", 0, 0),
        workers=reader.integer("model.workers", 1, 1),
        data=where.parent / data if data else None,
        verify=None if verify < 0 else verify,
    )
    reader.raise_errors()
    parser.check_problem(reader, lambda: file.scaled_problem, variables.names)
    parser.check_data(reader, file.data)
    reader.raise_errors()
    return file


def _model_to_dict(model: CommandModel | FunctionModel | None) -> dict[str, Any] | None:
    """Return the settings of a model, with the fingerprints of its source files."""
    if model is None:
        return None
    if isinstance(model, FunctionModel):
        return {"function": model.target, "time_limit": model.time_limit, "files": fingerprints(model)}
    return {
        "command": list(model.arguments),
        "templates": {name: fingerprint(model.problem_folder / name) for name in model.template_files},
        "files": fingerprints(model),
        "json": model.json_file,
        "stdin": model.stdin,
        "result": json.loads(json.dumps(model.result_parser.__dict__)),
        "time_limit": model.time_limit,
    }
