"""Saves a search as JSON and restores it by replaying the reported values.

Nothing of the engine's state is stored, so a file stays readable as long as the engine generates the same points; if it
does not, the fingerprint reveals it.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from robustforge.core.interpretation import Interpretation
from robustforge.core.random import Stream
from robustforge.errors import RobustforgeError, SearchFileError
from robustforge.representation import Heuristic
from robustforge.robust_problem import Ball, Box, Problem, RealProblem, UncertaintySet

if TYPE_CHECKING:
    from robustforge.engine.optimizer import Optimizer

    O = TypeVar("O", bound=Optimizer)  # noqa: E741

FORMAT = "robustforge-search/1"
_FIX = "Give a file that `Optimizer.save` wrote"


def encode(search: Optimizer) -> str:
    """Return a search as JSON text."""
    problem = search.problem
    record = {
        "format": FORMAT,
        "problem": {
            "name": problem.name,
            "lower": problem.lower.tolist(),
            "upper": problem.upper.tolist(),
            "uncertainty": set_to_dict(problem.uncertainty, problem.dimension),
            "outside": problem.out_of_bounds,
            **_logarithmic(search.user_problem),
        },
        "heuristic": json.loads(search.heuristic.to_json()),
        "budget": search.budget,
        "on_failure": search.on_failure,
        "retries": search.retries,
        **({} if search.verify is None else {"verify": search.verify}),
        "seed": [str(word) for word in search.seed.tolist()],
        "known": {
            "x": search.user_prior.x.tolist(),
            "values": [_plain(value) for value in search.prior.values.tolist()],
        },
        "values": [[number, _plain(value)] for number, value in sorted(search.values.items())],
        "fingerprint": search.fingerprint,
    }
    return json.dumps(record, indent=1, allow_nan=False) + "\n"


def decode(kind: type[O], text: str) -> O:
    """Return the search that a JSON text describes.

    Raises:
        SearchFileError: The text is no search, or another version of the engine made it.
    """
    try:
        record = json.loads(text)
        if record["format"] != FORMAT:
            raise SearchFileError("a saved search must have a known format", f"it is {record['format']!r}", _FIX)
        search = kind(_problem(record["problem"]), rng=_words(record["seed"]), **_arguments(record))
        search.replay({int(number): _number(value) for number, value in record["values"]})
        fingerprint = record["fingerprint"]
    except SearchFileError:
        raise
    except (RobustforgeError, KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError) as error:
        raise SearchFileError("a saved search must be complete", f"this one is not ({error})", _FIX) from error
    if search.fingerprint != fingerprint:
        raise SearchFileError(
            "the saved search cannot be continued",
            "this version generates different points",
            "Use the version that saved it, or start again: `Optimizer(..., prior_evaluations=(x, values))`",
        )
    return search


def _arguments(record: Any) -> dict[str, Any]:
    known = record["known"]  # keys of the file format stay
    return {
        "budget": record["budget"],
        "heuristic": _heuristic(record),
        "on_failure": record["on_failure"],
        "retries": record["retries"],
        "verify": record.get("verify"),
        "prior_evaluations": (known["x"], [_number(value) for value in known["values"]]),
    }


def _heuristic(record: Any) -> Heuristic:
    """Return the heuristic; up to 0.2.0 its interpretation of the paper was stored separately."""
    chosen = Heuristic.from_json(json.dumps(record["heuristic"]))
    readings = record.get("readings")
    return chosen if readings is None else chosen.replace(interpretation=Interpretation(**readings))


def _words(given: Any) -> Stream:
    words = np.array([int(word) for word in given], dtype=np.uint64)
    if words.shape != (4,):
        raise ValueError("a seed has four words")
    return words


def _problem(record: Any) -> Problem:
    bounds = list(zip(record["lower"], record["upper"], strict=True))
    uncertainty = set_from_dict(record["uncertainty"])
    scaled = Problem(_no_objective, bounds, uncertainty, out_of_bounds=record["outside"], name=record["name"])
    marks = record.get("logarithmic")
    return scaled if marks is None else RealProblem(scaled, [bool(mark) for mark in marks])


def _logarithmic(problem: Problem) -> dict[str, Any]:
    """Return which variables are searched as logarithms, if any are: bounds and set are those of the scaled problem."""
    return {"logarithmic": problem.logarithmic.tolist()} if isinstance(problem, RealProblem) else {}


def set_to_dict(uncertainty: UncertaintySet, dimension: int) -> dict[str, Any]:
    """Return an uncertainty set as plain data."""
    geometry = uncertainty.geometry(dimension)
    if isinstance(uncertainty, (Ball, Box)):
        return {
            "kind": "box" if geometry.is_box else "ball",
            "lower": uncertainty.lower.tolist(),
            "upper": uncertainty.upper.tolist(),
        }
    raise SearchFileError("only searches with a Ball or a Box can be saved", f"this is {uncertainty!r}")


def set_from_dict(record: Any) -> UncertaintySet:
    """Return the uncertainty set that plain data describe."""
    kinds: dict[str, type[Ball | Box]] = {"ball": Ball, "box": Box}
    if record["lower"] == record["upper"]:
        return kinds[record["kind"]](record["lower"])
    return kinds[record["kind"]](lower=record["lower"], upper=record["upper"])


def write(path: str | Path, text: str) -> None:
    """Write a file atomically: a reader sees the old or the new content."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.new")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(target)
    except OSError as error:
        raise SearchFileError("the file of a saved search must be writable", f"{path}: {error.strerror}") from error


def read(path: str | Path) -> str:
    """Return the text of a file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SearchFileError("a saved search must be a readable file", f"{path} is not ({error})", _FIX) from error


def _plain(value: float) -> float | str | None:
    """Return a number as JSON can hold it: NaN is null, infinity a word."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _no_objective(x: Any) -> float:
    raise SearchFileError("a saved search has no objective", "it cannot be evaluated", "`ask` for points, and `tell`")
