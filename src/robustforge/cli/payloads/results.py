"""The payloads of `solve` and `verify` for test problems: a result, and a verification.

`verify` reads results that `solve` saved, in any version; it checks all that it uses.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

import robustforge as rf
from robustforge.cli.payloads.catalogue import preset_name
from robustforge.cli.payloads.designs import DESIGN_FORMAT
from robustforge.engine.attack_summary import summarise_attack
from robustforge.errors import ProblemError
from robustforge.robust_problem.engineering import ENGINEERING
from robustforge.robust_problem.held_out import ALL
from robustforge.tables import Record

RESULT_FORMAT = "robustforge-result/1"
VERIFICATION_FORMAT = "robustforge-verification/1"

STDIN = "-"

_MAX_FILE_SIZE = 100_000_000
_FIX = "`robustforge solve sphere -o result.json` writes a valid one"


def result_payload(spec: Record, name: str | None, budget: int, seed: int, result: Any, seconds: float) -> Record:
    """Return the result of a search as plain data.

    Args:
        spec: The problem's spec.
        name: The heuristic as it was given; `None` for the default.
        budget: Maximum number of evaluations.
        seed: The random seed.
        result: The `RobustResult`.
        seconds: Duration of the search.
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
        "attack_runs": result.attack_runs,
        "attack": summarise_attack(result.fun, result.estimate, result.attack_runs) if result.attack_runs else "",
        "nfev": result.nfev,
        "nit": result.nit,
        "success": result.success,
        "message": result.message,
        "seconds": seconds,
    }


def verification_payload(
    spec: Record, x: list[float], known: Record | None, samples: int, seed: int, found: Any
) -> Record:
    """Return a verification as plain data; `known` is the worst point that the search itself had evaluated."""
    return {
        "format": VERIFICATION_FORMAT,
        "problem": spec,
        "x": x,
        "samples": samples,
        "seed": seed,
        "nominal_fun": float(found.nominal_fun),
        "found_by_search": known,
        "sampled": _worst(found.sampled),
        "attacked": _worst(found.attacked),
    }


def check_alone(target: str, given: list[str]) -> None:
    """Refuse a test problem without a design, and a result together with the options of a test problem."""
    if target in (*ALL, *ENGINEERING) and not Path(target).exists():
        raise ProblemError(f"no design given for {target}", fix="Add one, for instance --x 20")
    if given:
        flags = ", ".join(f"--{key.replace('_', '-')}" for key in given)
        raise ProblemError("a result file has its own problem", f"got {flags} as well", "Leave that out, or add --x")


def read_result(path: str) -> Record:
    """Return the result in a file that `solve` wrote, or in the standard input if the path is "-".

    Raises:
        ProblemError: The file is missing or is not a result.
    """
    if path == STDIN:
        return parse_result(sys.stdin.read(), "the standard input")
    fix = "Pass a file that `robustforge solve -o result.json` wrote, or a test problem with --x"
    try:
        if Path(path).stat().st_size > _MAX_FILE_SIZE:
            raise ProblemError("a result is a small file", f"{path} has more than {_MAX_FILE_SIZE:,} bytes", fix)
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise ProblemError("cannot read the result", f"{path}: {reason}", fix) from error
    return parse_result(text, path)


def parse_result(text: str, where: str) -> Record:
    """Return the result in a JSON string, checked as far as a verification needs it; `where` is for messages."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProblemError(f"{where} is not valid JSON", str(error), _FIX) from error
    given = data.get("format") if isinstance(data, dict) else data
    if given == DESIGN_FORMAT:
        fix = "Pass the problem file instead: robustforge verify FILE.toml"
        raise ProblemError(f"{where} is the design of a problem file, which is verified by running its model", fix=fix)
    if given != RESULT_FORMAT:
        raise ProblemError(f'expected "format": "{RESULT_FORMAT}"', f"{where} has {_short(given)}", _FIX)
    spec = _entry(data, "problem", dict, where)
    kinds = {"name": str, "dimension": int, "variant": str, "outside": str}
    checked = {key: _entry(spec, key, kind, f"the problem in {where}") for key, kind in kinds.items()}
    x = _entry(data, "x", list, where)
    if len(x) != checked["dimension"] or not all(map(_is_number, x)):
        raise ProblemError(
            f"`x` must have one finite number for each of the {checked['dimension']} variables",
            f"{where} has {_short(x)}",
            _FIX,
        )
    checked["variant_seed"] = spec.get("variant_seed")
    return {**data, "x": [float(value) for value in x], "problem": checked}


def parse_design(text: str, dimension: int, fixed: bool) -> list[float]:
    """Return the design in a string such as "1,2.5"; a single number is used for all variables.

    Args:
        text: The numbers.
        dimension: Number of variables.
        fixed: Whether several numbers must match the dimension; otherwise their number is the dimension.
    """
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = [math.nan]
    if not all(map(_is_number, values)):
        raise ProblemError("--x must be finite numbers separated by commas", f"got {text!r}", "Write --x 1,2.5")
    if len(values) == 1:
        return values * dimension
    if fixed and len(values) != dimension:
        raise ProblemError(
            "--x must have one number, or one for each variable",
            f"got {len(values)} for {dimension} variables",
            "Leave --dimension out",
        )
    return values


def known_worst(result: Record) -> Record | None:
    """Return the worst point that a search had evaluated around its design; `None` if its payload has none."""
    if not _is_number(result.get("fun")):
        return None
    evaluations = result.get("nfev")
    return {
        "fun": float(result["fun"]),
        "x": result.get("worst_x"),
        "nfev": evaluations if isinstance(evaluations, int) else None,
    }


def known_point(problem: rf.Problem, known: Record | None) -> tuple[list[list[float]], list[float]] | None:
    """Return the worst point that a search had evaluated, evaluated again, for `verify`; `None` without one."""
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
        noun = {dict: "an object", list: "a list", str: "a string", int: "an integer"}[kind]
        fact = f"got {_short(value)}" if key in data else "it is missing"
        raise ProblemError(f"`{key}` of {where} must be {noun}", fact, _FIX)
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e308 <= value <= 1e308


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
