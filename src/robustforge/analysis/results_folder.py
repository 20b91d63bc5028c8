"""The results folder: evolutions and assessed runs as files in open formats, suitable for version control.

In the folder of an evolution, `evolution.json` holds its settings and its result, and `heuristics.csv.gz` its distinct
heuristics with their means and components. `assessed.csv.gz`, there or in a separate folder, holds assessed runs. Files
are validated when they are read; nothing in them is executed.
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

from robustforge.analysis.dataset import (
    Dataset,
    EvolutionRecord,
    EvolvedHeuristic,
    check_assessed,
    check_settings,
    problem_sort_key,
)
from robustforge.errors import StoreError, UnknownNameError
from robustforge.representation import Heuristic
from robustforge.store import AssessedRun
from robustforge.tables import Record, Table

FORMAT = "robustforge-outcome/1"
EVOLUTION, HEURISTICS, ASSESSED = "evolution.json", "heuristics.csv.gz", "assessed.csv.gz"

_FIX = "Restore the folder from its source, or name a store"
_MAX_BYTES = 200_000_000
_SCALARS: dict[str, tuple[type, ...]] = {
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
_ATTRIBUTES = {"begun": "started"}
"""The attribute of an `EvolutionRecord` that a key of `evolution.json` stands for, where it is not the key."""
_INVALID = (OSError, EOFError, KeyError, TypeError, ValueError, AttributeError, RecursionError, zlib.error, csv.Error)


def read(folder: Path, names: Sequence[str] = ()) -> Dataset:
    """Return the contents of a results folder and its subfolders.

    Raises:
        StoreError: There are no results, or a file is damaged.
        UnknownNameError: There is no evolution of a given name.
    """
    evolutions = [read_evolution(path.parent) for path in sorted(folder.rglob(EVOLUTION))]
    assessed = list({run.key: run for path in sorted(folder.rglob(ASSESSED)) for run in read_assessed(path)}.values())
    if not evolutions and not assessed:
        fact = f"{folder} has neither {EVOLUTION} nor {ASSESSED} in it"
        raise StoreError("a results folder must contain results", fact, "`robustforge reproduce` writes one")
    known = {evolution.name: evolution for evolution in evolutions}
    for name in names:
        if name not in known:
            raise UnknownNameError("evolution", name, known, f"robustforge analyse {folder}")
    chosen = [known[name] for name in dict.fromkeys(names)] or sorted(evolutions, key=_sort_key)
    return Dataset(str(folder), tuple(chosen), tuple(assessed), running=False)


def _sort_key(evolution: EvolutionRecord) -> tuple[Any, ...]:
    """Sort evolutions by the number of variables, then by problem; those of several problems last."""
    return evolution.dimensions, len(evolution.problems) > 1, problem_sort_key(evolution.problems[0]), evolution.name


def write_evolution(evolution: EvolutionRecord, folder: Path) -> None:
    """Write an evolution to a folder, which is created if needed; `evolution.json` is written last."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_table(Table(_heuristic_row(evolution, evolved) for evolved in evolution.heuristics), folder / HEURISTICS)
    record = {
        "format": FORMAT,
        **{key: getattr(evolution, _ATTRIBUTES.get(key, key)) for key in _SCALARS},
        "fitness": [[value if math.isfinite(value) else None for value in pair] for pair in evolution.fitness],
        "champion": evolution.champion.to_dict() if evolution.champion else None,
    }
    _replace(folder / EVOLUTION, (json.dumps(record, indent=1, allow_nan=False) + "\n").encode())


def read_evolution(folder: Path) -> EvolutionRecord:
    """Return the evolution in a folder written by `write_evolution`."""
    path = folder / EVOLUTION
    try:
        record = json.loads(_read_bytes(path).decode())
        if record["format"] != FORMAT:
            raise ValueError(f'its format is {record["format"]!r}, not "{FORMAT}"')
        check_settings(record["settings"])
        problems = tuple(problem["name"] for problem in record["settings"]["problems"])
        rows = _read_table(folder / HEURISTICS)
        return EvolutionRecord(
            **{_ATTRIBUTES.get(key, key): _checked(record, key, kinds) for key, kinds in _SCALARS.items()},
            problems=problems,
            heuristics=tuple(_evolved_heuristic(row, problems) for row in rows),
            fitness=tuple((_number(best), _number(median)) for best, median in record["fitness"]),
            champion=Heuristic.from_dict(record["champion"]) if record["champion"] else None,
        )
    except _INVALID as error:
        raise _damaged(path, error) from error


def write_assessed(runs: Iterable[AssessedRun], folder: Path) -> None:
    """Write assessed runs, without their designs, to a folder, which is created if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_table(Table(_assessed_row(run) for run in runs), folder / ASSESSED)


def read_assessed(path: Path) -> list[AssessedRun]:
    """Return the assessed runs in a file written by `write_assessed`."""
    try:
        return list(check_assessed(_assessed(row) for row in _read_table(path)))
    except _INVALID as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> StoreError:
    return StoreError("a results file must be valid", f"{path} is not: {error or type(error).__name__}", _FIX)


def _heuristic_row(evolution: EvolutionRecord, evolved: EvolvedHeuristic) -> Record:
    means = {f"mean {name}": mean for name, mean in zip(evolution.problems, evolved.means, strict=True)}
    heuristic = evolved.heuristic
    plain = {"id": heuristic.id, "generation": evolved.generation, "runs": evolved.runs}
    return {**plain, **means, **heuristic.components(), "heuristic": json.dumps(heuristic.to_dict())}


def _evolved_heuristic(row: dict[str, str], problems: Sequence[str]) -> EvolvedHeuristic:
    means = tuple(float(row[f"mean {name}"]) for name in problems)
    return EvolvedHeuristic(
        Heuristic.from_dict(json.loads(row["heuristic"])), int(row["generation"]), int(row["runs"]), means
    )


def _assessed_row(run: AssessedRun) -> Record:
    row = {field.name: getattr(run, field.name) for field in fields(AssessedRun) if field.name != "x"}
    return {**row, "attack": int(run.attack), "curve": " ".join(map(repr, run.curve))}


def _assessed(row: dict[str, str]) -> AssessedRun:
    values: Record = {field.name: _TYPES[str(field.type)](row[field.name]) for field in _STORED}
    return AssessedRun(**values)


def _write_table(table: Table, path: Path) -> None:
    _replace(path, gzip.compress(table.to_csv().encode(), mtime=0))


def _replace(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.write_bytes(content)
    temporary.replace(path)


def _read_table(path: Path) -> list[dict[str, str]]:
    with gzip.GzipFile(fileobj=io.BytesIO(_read_bytes(path))) as file:
        content = file.read(_MAX_BYTES + 1)
    if not content or len(content) > _MAX_BYTES:
        raise ValueError("it is empty" if not content else f"it has more than {_MAX_BYTES:,} bytes")
    previous = csv.field_size_limit(_MAX_BYTES)  # the bounds of a large problem are one long field
    try:
        return list(csv.DictReader(io.StringIO(content.decode())))
    finally:
        csv.field_size_limit(previous)


def _read_bytes(path: Path) -> bytes:
    if path.stat().st_size > _MAX_BYTES:
        raise ValueError(f"it has more than {_MAX_BYTES:,} bytes")
    return path.read_bytes()


def _checked(record: Record, key: str, kinds: tuple[type, ...]) -> Any:
    if not isinstance(record[key], kinds):
        raise ValueError(f"{key!r} is {record[key]!r}")
    return record[key]


def _number(value: Any) -> float:
    return math.inf if value is None else float(value)


def _float(text: str) -> float:
    return float(text) if text else math.nan


_STORED = tuple(field for field in fields(AssessedRun) if field.name != "x")
_TYPES: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": _float,
    "bool": lambda text: bool(int(text)),
    "tuple[float, ...]": lambda text: tuple(float(part) for part in text.split()),
}
