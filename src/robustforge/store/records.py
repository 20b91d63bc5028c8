"""What a store holds: experiments, the runs of heuristics in them, and runs of users' own models.

`decoded` makes records of rows, and refuses what no writer stores: a file may be damaged, or edited by hand.
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

KNOWN, SOLVE, VERIFY = "known", "solve", "verify"
"""What a run of a model was for: it was known before, the search asked for it, or the attack on its answer."""

FINAL = -1
"""The generation that the final comparison is stored under."""


RunKey = tuple[int, int, str, int]
"""Generation, problem, heuristic and repeat: what tells a run from all others of an experiment."""

AssessedKey = tuple[str, str, int, int, bool, int]
"""Contestant, problem, budget, samples, attack and seed: what tells an assessed run from all others of a store."""

CHECKPOINTS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Shares of the budget at which an assessed run is looked at."""


@dataclass(frozen=True)
class Run:
    """One run of a heuristic on a problem.

    Attributes:
        generation: The generation, or `FINAL`.
        problem: The problem's place in the experiment's list.
        heuristic: The heuristic's id.
        repeat: The number of the repeat.
        seed: What decided the search, as for `minimize`.
        value: The independent re-estimate of the worst case at the returned point; NaN after a failure.
        estimate: What the search itself took for it.
        nfev: Evaluations of the search.
        work: Distances computed by its relocations.
        relocations: How many these were.
        seconds: How long search and re-estimate took.
        failure: Why there is no value; empty if there is one.
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
        """What tells it from all other runs of an experiment."""
        return (self.generation, self.problem, self.heuristic, self.repeat)


@dataclass(frozen=True)
class Assessed:
    """One run of a contestant, and what the design that it returned is worth.

    Attributes:
        contestant: Who ran: a heuristic's id, or the name of another optimiser.
        name: What it was called.
        problem: The problem, as `Problem.to_dict` in canonical JSON.
        budget: Evaluations that it was given.
        samples: Points of the re-estimate.
        attack: Whether the design was attacked, too.
        seed: What decided the search.
        repeat: The number of the run.
        value: The worst of the samples around the returned design; NaN after a failure.
        attacked: The worst that the attack found; NaN if there was none.
        nominal: The value of the design itself.
        nfev: Evaluations that it used.
        curve: The worst of `samples` / 100 points around the design that would have been returned after each of
            `CHECKPOINTS`, as shares of the budget; NaN until there was one.
        x: The design.
        seconds: How long it all took.
        failure: Why there is no value; empty if there is one.
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
    def key(self) -> AssessedKey:
        """What tells it from all other assessed runs."""
        return (self.contestant, self.problem, self.budget, self.samples, self.attack, self.seed)

    @property
    def problem_name(self) -> str:
        """The problem's name."""
        return str(json.loads(self.problem)["name"])


@dataclass(frozen=True)
class Evaluation:
    """One run of a user's model.

    Attributes:
        part: What it was for: `KNOWN`, `SOLVE` or `VERIFY`.
        number: Its number among those.
        x: The point, as the search sees it.
        value: What the model says, in the user's own sense; NaN after a failure.
        failure: Why there is no value; empty if there is one.
        tail: The last of what a failed run printed.
        seconds: How long it took.
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
    """What is stored of an experiment beside its runs.

    Attributes:
        id: Its number in this store.
        name: Its name, unique in the store.
        kind: What it is, `EVOLUTION` or `SEARCH`.
        settings: All that decides its outcome.
        grammar: The production rules.
        champion: The id of what came out, `None` until it has ended.
        begun: When, in UTC.
        ended: When, in UTC; `None` until then.
    """

    id: int
    name: str
    kind: str
    settings: dict[str, Any]
    grammar: dict[str, Any]
    champion: str | None
    begun: str
    ended: str | None


R = TypeVar("R", Run, Assessed, Evaluation, Experiment)


def decoded(kind: type[R], path: str, row: Sequence[Any]) -> R:
    """Return the record in a row, whose columns are in the order of the record's fields.

    Raises:
        StoreError: It is not what is stored in such a row; the message names the row and the column.
    """
    found: dict[str, Any] = {}
    for field, value in zip(fields(kind), row, strict=True):
        try:
            found[field.name] = _decoded(str(field.type), field.default, value)
        except (ValueError, RecursionError) as error:
            raise damaged(path, f"{field.name} of {_row_name(kind, row)} is {_short(value)}; {error}") from error
    made = kind(**found)
    if reason := _CHECKS[kind](made):
        raise damaged(path, f"{_row_name(kind, row)}: {reason}")
    return made


def damaged(path: str, fact: str) -> StoreError:
    """Return the error of a store that is damaged or was edited."""
    return StoreError("a store must be in order", f"{path} is not: {fact}", "Take it from a copy, or name another file")


@contextmanager
def damage(path: str) -> Iterator[None]:
    """Turn what does not fit together in a store into a sentence: around all that is made of its content."""
    try:
        yield
    except RobustforgeError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise damaged(path, f"{type(error).__name__}: {error}") from error


def _decoded(kind: str, default: Any, value: Any) -> Any:
    """Return what a column stands for; NULL stands for the default of numbers and texts that have one."""
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


def _real(value: Any) -> float:
    if not isinstance(value, (int, float)):
        raise ValueError("expected a number")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected text")
    return value


def _vector(value: Any) -> tuple[float, ...]:
    if not isinstance(value, bytes) or len(value) % 8:
        raise ValueError("expected a vector of 8 bytes a number")
    return tuple(np.frombuffer(value, "<f8").tolist())


def _mapping(value: Any) -> dict[str, Any]:
    found = json.loads(_text(value))
    if not isinstance(found, dict):
        raise ValueError("expected a JSON object")
    return found


_DECODERS: Mapping[str, Callable[[Any], Any]] = {
    "int": _integer,
    "bool": _flag,
    "float": _real,
    "str": _text,
    "str | None": _text,
    "tuple[float, ...]": _vector,
    "dict[str, Any]": _mapping,
}


def _check_run(run: Run) -> str:
    if run.generation < FINAL or min(run.problem, run.repeat, run.seed, run.nfev, run.work, run.relocations) < 0:
        return "a number must not be negative"
    return _check_value(run.value, run.failure) or _check_seconds(run.seconds)


def _check_assessed(run: Assessed) -> str:
    if min(run.budget, run.samples) < 1 or min(run.seed, run.repeat, run.nfev) < 0:
        return "a number must not be negative"
    if not run.failure and (len(run.curve) != len(CHECKPOINTS) or math.isnan(run.nominal)):
        return "a run without a failure must have a nominal value and a whole curve"
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
    if run.part not in (KNOWN, SOLVE, VERIFY) or run.number < 0:
        return "it must have a part and a number"
    if not all(map(math.isfinite, run.x)):
        return "its point must be finite"
    return _check_value(run.value, run.failure) or _check_seconds(run.seconds)


def _check_experiment(experiment: Experiment) -> str:
    if experiment.kind not in (EVOLUTION, SEARCH):
        return f"its kind must be {EVOLUTION} or {SEARCH}"
    for moment in (experiment.begun, experiment.ended):
        try:
            datetime.fromisoformat(moment or experiment.begun)
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
    Assessed: _check_assessed,
    Evaluation: _check_evaluation,
    Experiment: _check_experiment,
}
_NAMES = {
    Run: ("generation", "problem", "heuristic", "repeat"),
    Assessed: ("name", "repeat"),
    Evaluation: ("part", "number"),
    Experiment: ("name",),
}
"""Which columns tell a reader which row it is."""


def _row_name(kind: type[Any], row: Sequence[Any]) -> str:
    """Return a row's table and which row it is, for messages."""
    values = dict(zip((field.name for field in fields(kind)), row, strict=True))
    return f"{kind.__name__.lower()} ({', '.join(f'{name} {_short(values[name])}' for name in _NAMES[kind])})"


def _short(value: Any) -> str:
    text = "NULL" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
