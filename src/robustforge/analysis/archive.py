"""Results as files that people and other programs can read, and that version control can hold.

In the folder of an evolution, `evolution.json` says what it was and what came out, and `heuristics.csv.gz` lists every
distinct heuristic with its means and components; `assessed.csv.gz` there, or in a folder of its own, lists assessed
runs. What is read is checked like any input; nothing in it is executed.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from robustforge.analysis.evidence import Bred, Evidence, Outcome, check_assessed, check_settings, standing
from robustforge.errors import StoreError, UnknownNameError
from robustforge.heuristic import Heuristic
from robustforge.store import Assessed
from robustforge.tables import Record, Table

FORMAT = "robustforge-outcome/1"
EVOLUTION, HEURISTICS, ASSESSED = "evolution.json", "heuristics.csv.gz", "assessed.csv.gz"

_FIX = "Take the folder from its source again, or name a store"
_LARGEST = 200_000_000
_PLAIN: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "settings": (dict,),
    "grammar": (dict,),
    "finished": (bool,),
    "runs": (int,),
    "failures": (int,),
    "seconds": (int, float),
    "begun": (str,),
    "ended": (str, type(None)),
}
_BROKEN = (OSError, EOFError, KeyError, TypeError, ValueError, AttributeError, RecursionError, zlib.error, csv.Error)


def read(folder: Path, names: Sequence[str] = ()) -> Evidence:
    """Return what a folder of results, and all folders in it, hold.

    Raises:
        StoreError: There is nothing, or a file is damaged.
        UnknownNameError: An evolution was named that is not there.
    """
    outcomes = [read_outcome(path.parent) for path in sorted(folder.rglob(EVOLUTION))]
    assessed = list({run.key: run for path in sorted(folder.rglob(ASSESSED)) for run in read_assessed(path)}.values())
    if not outcomes and not assessed:
        fact = f"{folder} has neither {EVOLUTION} nor {ASSESSED} in it"
        raise StoreError("a folder of results must hold some", fact, "`robustforge reproduce` fills one")
    known = {outcome.name: outcome for outcome in outcomes}
    for name in names:
        if name not in known:
            raise UnknownNameError("run in this folder", name, known, f"robustforge analyse {folder}")
    chosen = [known[name] for name in dict.fromkeys(names)] or sorted(outcomes, key=_place)
    return Evidence(str(folder), tuple(chosen), tuple(assessed), running=False)


def _place(outcome: Outcome) -> tuple[Any, ...]:
    """Sort evolutions by their variables, then by problem; those of several problems last."""
    return outcome.dimensions, len(outcome.problems) > 1, standing(outcome.problems[0]), outcome.name


def write_outcome(outcome: Outcome, folder: Path) -> None:
    """Write an outcome to its folder, which is made if need be; what says that it is there is written last."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_table(Table(_heuristic_row(outcome, bred) for bred in outcome.bred), folder / HEURISTICS)
    record = {
        "format": FORMAT,
        **{key: getattr(outcome, key) for key in _PLAIN},
        "fitness": [[value if math.isfinite(value) else None for value in pair] for pair in outcome.fitness],
        "champion": outcome.champion.to_dict() if outcome.champion else None,
    }
    _replace(folder / EVOLUTION, (json.dumps(record, indent=1, allow_nan=False) + "\n").encode())


def read_outcome(folder: Path) -> Outcome:
    """Return the outcome in a folder that `write_outcome` filled."""
    path = folder / EVOLUTION
    try:
        record = json.loads(_bounded(path).decode())
        if record["format"] != FORMAT:
            raise ValueError(f'its format is {record["format"]!r}, not "{FORMAT}"')
        check_settings(record["settings"])
        problems = tuple(problem["name"] for problem in record["settings"]["problems"])
        rows = _read_table(folder / HEURISTICS)
        return Outcome(
            **{key: _of_kind(record, key, kinds) for key, kinds in _PLAIN.items()},
            problems=problems,
            bred=tuple(_bred(row, problems) for row in rows),
            fitness=tuple((_number(best), _number(median)) for best, median in record["fitness"]),
            champion=_heuristic(record["champion"]) if record["champion"] else None,
        )
    except _BROKEN as error:
        raise _damaged(path, error) from error


def write_assessed(runs: Iterable[Assessed], folder: Path) -> None:
    """Write assessed runs to a folder, which is made if need be; their designs are left out, as seeds make them."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_table(Table(_assessed_row(run) for run in runs), folder / ASSESSED)


def read_assessed(path: Path) -> list[Assessed]:
    """Return the assessed runs in a file that `write_assessed` made."""
    try:
        return list(check_assessed(_assessed(row) for row in _read_table(path)))
    except _BROKEN as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> StoreError:
    return StoreError("a file of results must be in order", f"{path} is not: {error or type(error).__name__}", _FIX)


def _heuristic_row(outcome: Outcome, bred: Bred) -> Record:
    means = {f"mean {name}": mean for name, mean in zip(outcome.problems, bred.means, strict=True)}
    heuristic = bred.heuristic
    plain = {"id": heuristic.id, "generation": bred.generation, "runs": bred.runs}
    return {**plain, **means, **heuristic.components(), "heuristic": json.dumps(heuristic.to_dict())}


def _bred(row: dict[str, str], problems: Sequence[str]) -> Bred:
    means = tuple(float(row[f"mean {name}"]) for name in problems)
    return Bred(_heuristic(json.loads(row["heuristic"])), int(row["generation"]), int(row["runs"]), means)


def _heuristic(data: Any) -> Heuristic:
    return Heuristic.from_dict(data)


def _assessed_row(run: Assessed) -> Record:
    row = {field.name: getattr(run, field.name) for field in fields(Assessed) if field.name != "x"}
    return {**row, "attack": int(run.attack), "curve": " ".join(map(repr, run.curve))}


def _assessed(row: dict[str, str]) -> Assessed:
    values: Record = {field.name: _TYPES[str(field.type)](row[field.name]) for field in _STORED}
    return Assessed(**values)


def _write_table(table: Table, path: Path) -> None:
    _replace(path, gzip.compress(table.to_csv().encode(), mtime=0))


def _replace(path: Path, content: bytes) -> None:
    """Write a file as a whole or not at all."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_bytes(content)
    beside.replace(path)


def _read_table(path: Path) -> list[dict[str, str]]:
    with gzip.GzipFile(fileobj=io.BytesIO(_bounded(path))) as file:
        content = file.read(_LARGEST + 1)
    if not content or len(content) > _LARGEST:
        raise ValueError("it is empty" if not content else f"it holds more than {_LARGEST:,} bytes")
    before = csv.field_size_limit(_LARGEST)  # the bounds of a large problem are one long field
    try:
        return list(csv.DictReader(io.StringIO(content.decode())))
    finally:
        csv.field_size_limit(before)


def _bounded(path: Path) -> bytes:
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"it has more than {_LARGEST:,} bytes")
    return path.read_bytes()


def _of_kind(record: Record, key: str, kinds: tuple[type, ...]) -> Any:
    if not isinstance(record[key], kinds):
        raise ValueError(f"{key!r} is {record[key]!r}")
    return record[key]


def _number(value: Any) -> float:
    return math.inf if value is None else float(value)


def _float(text: str) -> float:
    return float(text) if text else math.nan


_STORED = tuple(field for field in fields(Assessed) if field.name != "x")
_TYPES: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": _float,
    "bool": lambda text: bool(int(text)),
    "tuple[float, ...]": lambda text: tuple(float(part) for part in text.split()),
}
