"""What `solve` and `verify` hand out and read back, as plain data: the spec of a problem, a result, a verification.

`--json` prints these records and the screens show them; `verify` reads a result again, and believes nothing in it.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

import robustforge as rf
from robustforge.cli.listings import Record, preset_name
from robustforge.errors import ProblemError
from robustforge.problem import Problem

DESIGN_FORMAT = "robustforge-design/1"
RESULT_FORMAT = "robustforge-result/1"
VERIFICATION_FORMAT = "robustforge-verification/1"

STDIN = "-"

_LARGEST_FILE = 100_000_000
_FIX = "`robustforge solve sphere -o result.json` writes a complete one"


def to_json(record: Any) -> str:
    """Return a record as JSON text; a number that is not finite becomes null, since JSON has no word for it."""
    return json.dumps(_finite(record), indent=2, allow_nan=False).replace("\x7f", "\\u007f") + "\n"


def build_problem(spec: Record) -> Problem:
    """Return the test problem that a spec (name, dimension, variant, variant_seed, outside) describes."""
    variant, seed = spec["variant"], spec["variant_seed"]
    if variant == "original" and seed is not None:
        raise ProblemError(
            "a variant seed belongs to a variant",
            f"got {seed!r} for the original problem",
            "Add --variant shifted, or leave it out",
        )
    if variant != "original" and seed is None:
        raise ProblemError(f"the {variant} variant must be drawn from a seed", "got none", "Add --variant-seed 1")
    return rf.problem(spec["name"], spec["dimension"], variant, seed, outside=spec["outside"])


def result_record(spec: Record, name: str | None, budget: int, seed: int, result: Any, seconds: float) -> Record:
    """Return what a search found as plain data.

    Args:
        spec: The problem's spec.
        name: The heuristic as it was asked for; `None` for the default.
        budget: Evaluations allowed.
        seed: What decided the search.
        result: The `OptimizeResult`.
        seconds: How long it took.
    """
    return {
        "format": RESULT_FORMAT,
        "problem": spec,
        "heuristic_name": name or preset_name(result.heuristic),
        "heuristic": json.loads(result.heuristic.to_json()),
        "budget": budget,
        "seed": seed,
        "x": result.x.tolist(),
        "fun": result.fun,
        "worst_x": result.worst_x.tolist(),
        "nominal_fun": result.nominal_fun,
        "estimate": result.estimate,
        "nfev": result.nfev,
        "nit": result.nit,
        "success": result.success,
        "message": result.message,
        "seconds": seconds,
    }


def verification_record(
    spec: Record, x: list[float], known: Record | None, samples: int, seed: int, found: Any
) -> Record:
    """Return what a verification found as plain data; `known` is the worst point that the search itself had seen."""
    return {
        "format": VERIFICATION_FORMAT,
        "problem": spec,
        "x": x,
        "samples": samples,
        "seed": seed,
        "nominal_fun": float(found.nominal_fun),
        "known": known,
        "sampled": _worst(found.sampled),
        "attacked": _worst(found.attacked),
    }


def check_folder(path: str | None) -> None:
    """Refuse a file in a folder that is not there, before the search and not after it."""
    if path and not Path(path).absolute().parent.is_dir():
        raise ProblemError("--output must be in a folder that exists", f"got {path}", "Create the folder first")


def save(record: Record, path: str | None) -> bool:
    """Write a record to a file, if one is named; return whether it was."""
    if path:
        Path(path).write_text(to_json(record), encoding="utf-8")
    return bool(path)


def check_alone(target: str, given: list[str]) -> None:
    """Refuse a problem without a design, and a result together with the options of a problem."""
    if target in (*rf.problems(), *rf.problems("held-out")) and not Path(target).exists():
        raise ProblemError("a problem to verify needs a design", f"{target} came without", "Add for instance --x 20")
    if given:
        flags = ", ".join(f"--{key.replace('_', '-')}" for key in given)
        raise ProblemError("a result brings its problem along", f"got {flags} too", "Leave that out, or add --x")


def read_result(path: str) -> Record:
    """Return the result in a file that `solve` wrote, or in the standard input if the path is "-".

    Raises:
        ProblemError: There is none; the message says what must hold, what was found and what to do.
    """
    if path == STDIN:
        return parse_result(sys.stdin.read(), "the standard input")
    fix = "Pass what `robustforge solve -o result.json` wrote, or a problem with --x"
    try:
        if Path(path).stat().st_size > _LARGEST_FILE:
            raise ProblemError("a result must be a small file", f"{path} has more than {_LARGEST_FILE:,} bytes", fix)
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise ProblemError("a result must be a readable file", f"{path} is not: {reason}", fix) from error
    return parse_result(text, path)


def parse_result(text: str, where: str) -> Record:
    """Return the result in a JSON text, checked as far as a verification needs it; `where` is for messages."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProblemError("a result must be JSON", f"reading {where} failed: {error}", _FIX) from error
    given = data.get("format") if isinstance(data, dict) else data
    if given == DESIGN_FORMAT:
        fix = "Give the file instead: robustforge verify FILE.toml"
        raise ProblemError("the design of a problem file is verified by running its model", f"{where} is one", fix)
    if given != RESULT_FORMAT:
        raise ProblemError(f'a result must say "format": "{RESULT_FORMAT}"', f"{where} has {_short(given)}", _FIX)
    spec = _entry(data, "problem", dict, where)
    kinds = {"name": str, "dimension": int, "variant": str, "outside": str}
    checked = {key: _entry(spec, key, kind, f"the problem in {where}") for key, kind in kinds.items()}
    x = _entry(data, "x", list, where)
    if len(x) != checked["dimension"] or not all(map(_is_number, x)):
        raise ProblemError(
            f"`x` of a result must be one finite number for each of its {checked['dimension']} variables",
            f"{where} has {_short(x)}",
            _FIX,
        )
    checked["variant_seed"] = spec.get("variant_seed")
    return {**data, "x": [float(value) for value in x], "problem": checked}


def parse_design(text: str, dimension: int, fixed: bool) -> list[float]:
    """Return the design in a text such as "1,2.5"; one number alone stands for all variables.

    Args:
        text: The numbers.
        dimension: How many variables one number stands for.
        fixed: Whether there must be this many; otherwise several numbers are as many variables.
    """
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = [math.nan]
    if not all(map(_is_number, values)):
        raise ProblemError("--x must be finite numbers with commas between them", f"got {text!r}", "Write --x 1,2.5")
    if len(values) == 1:
        return values * dimension
    if fixed and len(values) != dimension:
        raise ProblemError(
            "--x must be one number for all variables, or one for each",
            f"got {len(values)} for {dimension} variables",
            "Leave --dimension out",
        )
    return values


def known_worst(result: Record) -> Record | None:
    """Return the worst point that a search had seen around its design, or `None` if its record holds none."""
    if not _is_number(result.get("fun")):
        return None
    evaluations = result.get("nfev")
    return {
        "fun": float(result["fun"]),
        "x": result.get("worst_x"),
        "nfev": evaluations if isinstance(evaluations, int) else None,
    }


def known_point(problem: rf.Problem, known: Record | None) -> tuple[list[list[float]], list[float]] | None:
    """Return the worst point that a search had seen, evaluated anew, for `verify`; `None` if its record holds none."""
    x = known["x"] if known else None
    if not isinstance(x, list) or len(x) != problem.dimension or not all(map(_is_number, x)):
        return None
    value = float(problem(x))
    return None if math.isnan(value) else ([[float(entry) for entry in x]], [value])


def _worst(found: Any) -> Record:
    return {"fun": float(found.fun), "x": np.asarray(found.x).tolist(), "nfev": int(found.nfev)}


def _entry(data: Record, key: str, kind: type, where: str) -> Any:
    value = data.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        noun = {dict: "an object", list: "a list", str: "a text", int: "an integer"}[kind]
        fact = f"it is {_short(value)}" if key in data else "it is missing"
        raise ProblemError(f"`{key}` of {where} must be {noun}", fact, _FIX)
    return value


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e308 <= value <= 1e308


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
