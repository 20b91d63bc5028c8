"""The records of a store: experiments, runs of heuristics, assessed runs, and runs of users' own models.

`decode_row` validates rows as they are read, since a file may be damaged or edited by hand.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from robustforge.errors import RobustforgeError, StoreError

EVOLUTION, SEARCH = "evolution", "search"
"""The kinds of experiments."""

PRIOR, SOLVE, VERIFY = "known", "solve", "verify"
"""The part that a run of a model belongs to: prior runs, the search, or the attack on its result."""

FINAL = -1
"""The generation number of the final comparison."""

RunKey = tuple[int, int, str, int]
"""Generation, problem, heuristic and repeat, which identify a run of an experiment."""

AssessedRunKey = tuple[str, str, int, int, bool, int]
"""Contestant, problem, budget, samples, attack and seed, which identify an assessed run of a store."""

CHECKPOINTS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Fractions of the budget at which the current design of an assessed run is evaluated."""


@dataclass(frozen=True)
class Run:
    """One run of a heuristic on a problem.

    Attributes:
        generation: The generation, or `FINAL`.
        problem: The problem's index in the experiment's list.
        heuristic: The heuristic's id.
        repeat: The number of the repeat.
        seed: The seed of the search, as for `minimize`.
        value: The independent re-estimate of the worst case at the recommended design; NaN after a failure.
        estimate: The search's own estimate of the worst case.
        nfev: Evaluations of the search.
        work: Distances computed by its relocations.
        relocations: Number of its relocations.
        seconds: Run time of search and re-estimate.
        failure: The reason of a failure; empty if there is a value.
    """

    generation: int
    problem: int
    heuristic: str
    repeat: int
    seed: int
    value: float = math.nan
    estimate: float = math.nan
    nfev: int = 0
    work: int = 0
    relocations: int = 0
    seconds: float = 0.0
    failure: str = ""

    @property
    def key(self) -> RunKey:
        """The key that identifies it in its experiment."""
        return (self.generation, self.problem, self.heuristic, self.repeat)


@dataclass(frozen=True)
class AssessedRun:
    """One run of a contestant, and the worst case of its recommended design.

    Attributes:
        contestant: A heuristic's id, or the name of another optimiser.
        name: The contestant's name in the call.
        problem: The problem, as `Problem.to_dict` in canonical JSON.
        budget: Maximum number of evaluations.
        samples: Points of the sampled worst case.
        attack: Whether the design was attacked, too.
        seed: The seed of the search.
        repeat: The number of the run.
        value: The sampled worst case of the recommended design; NaN after a failure.
        attacked: The worst case found by the attack; NaN without one.
        nominal: The value of the design itself.
        nfev: Evaluations used.
        curve: The worst of `samples` / 100 points around the current design at each of `CHECKPOINTS`; NaN before
            the first design.
        x: The design.
        seconds: Run time.
        failure: The reason of a failure; empty if there is a value.
    """

    contestant: str
    name: str
    problem: str
    budget: int
    samples: int
    attack: bool
    seed: int
    repeat: int
    value: float = math.nan
    attacked: float = math.nan
    nominal: float = math.nan
    nfev: int = 0
    curve: tuple[float, ...] = ()
    x: tuple[float, ...] = ()
    seconds: float = 0.0
    failure: str = ""

    @property
    def key(self) -> AssessedRunKey:
        """The key that identifies it in the store."""
        return (self.contestant, self.problem, self.budget, self.samples, self.attack, self.seed)

    @property
    def problem_name(self) -> str:
        """The problem's name."""
        return str(json.loads(self.problem)["name"])


@dataclass(frozen=True)
class Evaluation:
    """One run of a user's model.

    Attributes:
        part: `PRIOR`, `SOLVE` or `VERIFY`.
        number: Its number in that part.
        x: The point, scaled for the search.
        value: The model's value, with the user's sign; NaN after a failure.
        failure: The reason of a failure; empty if there is a value.
        tail: The last output of a failed run.
        seconds: Run time.
    """

    part: str
    number: int
    x: tuple[float, ...]
    value: float = math.nan
    failure: str = ""
    tail: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Experiment:
    """An experiment, without its runs.

    Attributes:
        id: Its number in this store.
        name: Its name, unique in the store.
        kind: `EVOLUTION` or `SEARCH`.
        settings: Everything that determines its result.
        grammar: The production rules.
        champion: The id of the best heuristic; `None` until it has finished.
        started: When it was started, in UTC; the column is `begun`.
        ended: When it finished, in UTC; `None` until then.
    """

    id: int
    name: str
    kind: str
    settings: dict[str, Any]
    grammar: dict[str, Any]
    champion: str | None
    started: str
    ended: str | None


COLUMNS = {"started": "begun"}
"""Columns whose name differs from that of the field."""

R = TypeVar("R", Run, AssessedRun, Evaluation, Experiment)


def decode_row(kind: type[R], path: str, row: Sequence[Any]) -> R:
    """Return the record of a row, whose columns are in the order of the record's fields.

    Raises:
        StoreError: The row is invalid; the message names the row and the column.
    """
    found: dict[str, Any] = {}
    for field, value in zip(fields(kind), row, strict=True):
        try:
            found[field.name] = _decode_value(str(field.type), field.default, value)
        except (ValueError, RecursionError) as error:
            raise damaged_store_error(
                path, f"{field.name} of {_row_name(kind, row)} is {_short(value)}; {error}"
            ) from error
    record = kind(**found)
    if reason := _CHECKS[kind](record):
        raise damaged_store_error(path, f"{_row_name(kind, row)}: {reason}")
    return record


def damaged_store_error(path: str, fact: str) -> StoreError:
    """Return the error of a store that is damaged, or was edited by hand."""
    return StoreError(f"the store {path} is damaged", fact, "Restore it from a backup, or name another file")


@contextmanager
def reporting_damage(path: str) -> Iterator[None]:
    """Report exceptions while the content of a store is processed as damage of the store."""
    try:
        yield
    except RobustforgeError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise damaged_store_error(path, f"{type(error).__name__}: {error}") from error


def _decode_value(kind: str, default: Any, value: Any) -> Any:
    """Return the value of a column; NULL is the default of floats and strings that have one."""
    if value is None and (kind == "str | None" or isinstance(default, (float, str))):
        return default if isinstance(default, (float, str)) else None
    return _DECODERS[kind](value)


def _integer(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError("expected an integer")
    return value


def _flag(value: Any) -> bool:
    if value not in (0, 1):
        raise ValueError("expected 0 or 1")
    return bool(value)


def _float(value: Any) -> float:
    if not isinstance(value, (int, float)):
        raise ValueError("expected a number")
    return float(value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a string")
    return value


def _vector(value: Any) -> tuple[float, ...]:
    if not isinstance(value, bytes) or len(value) % 8:
        raise ValueError("expected a vector of 8-byte floats")
    return tuple(np.frombuffer(value, "<f8").tolist())


def _mapping(value: Any) -> dict[str, Any]:
    found = json.loads(_string(value))
    if not isinstance(found, dict):
        raise ValueError("expected a JSON object")
    return found


_DECODERS: Mapping[str, Callable[[Any], Any]] = {
    "int": _integer,
    "bool": _flag,
    "float": _float,
    "str": _string,
    "str | None": _string,
    "tuple[float, ...]": _vector,
    "dict[str, Any]": _mapping,
}


def _check_run(run: Run) -> str:
    if run.generation < FINAL or min(run.problem, run.repeat, run.seed, run.nfev, run.work, run.relocations) < 0:
        return "a number must not be negative"
    return _check_value(run.value, run.failure) or _check_seconds(run.seconds)


def _check_assessed(run: AssessedRun) -> str:
    if min(run.budget, run.samples) < 1 or min(run.seed, run.repeat, run.nfev) < 0:
        return "a number must not be negative"
    if not run.failure and (len(run.curve) != len(CHECKPOINTS) or math.isnan(run.nominal)):
        return "a run without a failure must have a nominal value and a complete curve"
    if not _is_problem(run.problem):
        return "its problem must be a JSON object with a name and a dimension"
    return _check_value(run.value, run.failure) or _check_seconds(run.seconds)


@lru_cache(maxsize=1000)
def _is_problem(text: str) -> bool:
    try:
        problem = json.loads(text)
        return isinstance(problem["name"], str) and isinstance(problem["dimension"], int)
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def _check_evaluation(run: Evaluation) -> str:
    if run.part not in (PRIOR, SOLVE, VERIFY) or run.number < 0:
        return "it must have a part and a number"
    if not all(map(math.isfinite, run.x)):
        return "its point must be finite"
    return _check_value(run.value, run.failure) or _check_seconds(run.seconds)


def _check_experiment(experiment: Experiment) -> str:
    if experiment.kind not in (EVOLUTION, SEARCH):
        return f"its kind must be {EVOLUTION} or {SEARCH}"
    for moment in (experiment.started, experiment.ended):
        try:
            datetime.fromisoformat(moment or experiment.started)
        except ValueError as error:
            return str(error)
    return ""


def _check_value(value: float, failure: str) -> str:
    if math.isnan(value) != bool(failure):
        return "a run must have either a value or a failure"
    return ""


def _check_seconds(seconds: float) -> str:
    return "" if 0 <= seconds < math.inf else "its seconds must be a finite number of at least 0"


_CHECKS: Mapping[type, Callable[[Any], str]] = {
    Run: _check_run,
    AssessedRun: _check_assessed,
    Evaluation: _check_evaluation,
    Experiment: _check_experiment,
}
_TABLES = {Run: "run", AssessedRun: "assessed", Evaluation: "evaluation", Experiment: "experiment"}
_IDENTIFYING = {
    Run: ("generation", "problem", "heuristic", "repeat"),
    AssessedRun: ("name", "repeat"),
    Evaluation: ("part", "number"),
    Experiment: ("name",),
}
"""The columns that identify a row in a message."""


def _row_name(kind: type[Any], row: Sequence[Any]) -> str:
    """Return the table and the identifying columns of a row, for messages."""
    values = dict(zip((field.name for field in fields(kind)), row, strict=True))
    return f"{_TABLES[kind]} ({', '.join(f'{name} {_short(values[name])}' for name in _IDENTIFYING[kind])})"


def _short(value: Any) -> str:
    text = "NULL" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
