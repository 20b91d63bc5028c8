"""What the commands for users' own models hand out, as plain data; `--json` prints it, `designs` shows it."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from robustforge.cli.listings import Record, preset_name
from robustforge.cli.records import DESIGN_FORMAT
from robustforge.engine import Optimizer
from robustforge.engine.optimizer import resolve_heuristic
from robustforge.errors import ProblemError, ProblemFileError
from robustforge.model.earlier import VALUE, read_earlier
from robustforge.model.outcome import Outcome
from robustforge.model.problem_file import ProblemFile
from robustforge.model.reading import number
from robustforge.model.sheet import short, shortened
from robustforge.model.workforce import Submit, workforce
from robustforge.search import Search, Told, Verified, answer_of, heuristic_of, verdict
from robustforge.store import SEARCH, Store, damage

FAILED_WORD = "failed"
_DIGITS = 18
"""Digits that the id of a point may have."""


def check_model(file: ProblemFile) -> None:
    """Refuse a problem without a model."""
    if file.model is None:
        fix = "Add [model] with a command or a function; or run it by hand, with `robustforge ask` and `tell`"
        raise ProblemFileError("a problem that is to be solved must have a model", f"{file.path.name} has none", fix)


@contextmanager
def running(file: ProblemFile, store: str, keep: bool) -> Iterator[Submit]:
    """Gather who runs the model of a problem file; folders that are kept lie beside the store."""
    assert file.model is not None
    with workforce(file.model, file.workers, Path(f"{store}-runs"), keep) as submit:
        yield submit


def design_record(search: Search, store: str, seconds: float) -> Record:
    """Return what a search came to."""
    file, answer = search.file, answer_of(search.file, search.result())
    return {
        "format": DESIGN_FORMAT,
        "name": file.name,
        "goal": file.goal,
        "variables": [
            {
                "name": each.name,
                "unit": each.unit,
                "value": answer.design[each.name],
                "tolerance": str(each.tolerance),
                "built": list(each.built(answer.design[each.name])),
            }
            for each in file.variables.each
        ],
        "tolerances": file.variables.kind,
        **asdict(answer),
        "budget": file.budget,
        "seed": file.seed,
        "heuristic_name": heuristic_name(file),
        "in_flight": search.optimizer.width,
        "store": store,
        "seconds": seconds,
    }


def verified_record(file: ProblemFile, found: Verified, store: str, budget: int) -> Record:
    """Return what an attack came to, and what that says about the search; the strongest drivers first."""
    slopes = dict(sorted(found.slopes.items(), key=lambda item: -abs(item[1])))
    point = {each.name: each.built(found.worst_point[each.name]) for each in file.variables.each}
    widths = {name: high - low for name, (low, high) in point.items()}
    rest = {"units": units(file), "widths": widths, "budget": budget, "store": store, "verdict": asdict(verdict(found))}
    return {"name": file.name, "goal": file.goal, **asdict(found), "slopes": slopes, **rest}


def plan_record(file: ProblemFile) -> Record:
    """Return what would be done with a problem file, after running its model once in the middle of the bounds."""
    heuristic = heuristic_of(file)
    search = Optimizer(file.scaled_problem, budget=file.budget, heuristic=heuristic, rng=file.seed)
    earlier = len(read_earlier(file.data, file.variables)) if file.data else 0
    trial = _trial(file)
    most = min(file.workers, search.width)
    return {
        "name": file.name,
        "goal": file.goal,
        "variables": file.to_dict()["variables"],
        "tolerances": file.variables.kind,
        "budget": file.budget,
        "heuristic_name": heuristic_name(file),
        "on_failure": file.on_failure,
        "workers": file.workers,
        "in_flight": search.width,
        "earlier": earlier,
        "trial": trial,
        "seconds": trial["seconds"] * file.budget / most if trial else None,
    }


def _trial(file: ProblemFile) -> Record | None:
    """Run the model once, in the middle of the bounds as the search sees them."""
    if file.model is None:
        return None
    low, high = file.scaled_problem.design_box
    point = file.variables.decode((low + high) / 2)
    with workforce(file.model, 1) as submit:
        outcome = submit(point, 0).result()
    return {"point": point, **asdict(outcome)}


def points_record(search: Search, store: str) -> Record:
    """Return the points that wait for a value."""
    points = [{"id": number, **search.file.variables.decode(x)} for number, x in search.optimizer.ask()]
    return {
        "name": search.file.name,
        "units": units(search.file),
        "points": points,
        "runs": search.runs,
        "budget": search.file.budget,
        "store": store,
    }


def write_points(record: Record, path: str) -> None:
    """Write the points that wait as CSV, with an empty column for the values."""
    columns = list(record["points"][0]) if record["points"] else ["id"]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*columns, VALUE])
        writer.writeheader()
        writer.writerows({key: _exactly(value) for key, value in point.items()} for point in record["points"])


def write_runs(path: str, name: str | None, output: str) -> tuple[int, int]:
    """Write what a model said in a search as CSV that a problem file can begin with; how many runs, how many failed."""
    with Store.read(path) as store, damage(store.path):
        experiment = store.chosen(name, SEARCH)
        variables, rows = Search.look(store, experiment).file.variables, store.evaluations(experiment)
        said = [[*variables.decode(np.array(row.x)).values(), row.value] for row in rows if not row.failure]
    with open(output, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*variables.names, VALUE])
        for row in said:
            writer.writerow(map(repr, row))
    return len(said), len(rows) - len(said)


def parse_told(what: str, value: str | None) -> list[Told]:
    """Return what is told: one value by its id, or those of a CSV file."""
    if value is not None:
        number = _id(what)
        if number is None:
            fact = f"got {short(what)}"
            raise ProblemError("a value must come with the id of its point", fact, "Write: tell FILE 3 0.52")
        return [Told(number, _outcome(value, "the value"))]
    if what.isdecimal():
        shown = shortened(what)
        raise ProblemError("an id must come with a value", f"{shown} came without", f"Write: tell FILE {shown} 0.52")
    try:
        with open(what, newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), list(reader.fieldnames or ["nothing"])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ProblemError(
            "values must be in a CSV file", f"{what}: {error}", "`ask -o points.csv` makes one"
        ) from error
    if not {"id", "value"} <= set(columns):
        fact = f"{what} has {shortened(', '.join(columns))}"
        raise ProblemError("values must be in a CSV file with the columns id and value", fact, "See `ask -o`")
    told = []
    for line, row in enumerate(rows, 2):
        if row["value"] and row["value"].strip():
            where, number = f"line {line} of {what}", _id(row["id"] or "")
            if number is None:
                raise ProblemError("an id must be a number", f"{where} has {short(row['id'])}", "See `ask`")
            told.append(Told(number, _outcome(row["value"], where), where))
    return told


def _id(text: str) -> int | None:
    """Return the id of a point; `None` if a text is none."""
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else None


def told_record(search: Search, count: int, store: str) -> Record:
    """Return how far a search is that is told values."""
    record = points_record(search, store)
    over = search.optimizer.over
    found = design_record(search, store, 0.0) if over else None
    return {**record, "told": count, "over": over, "answer": found}


def units(file: ProblemFile) -> dict[str, str]:
    """Return the unit of each variable; an empty text for none."""
    return {each.name: each.unit for each in file.variables.each}


def heuristic_name(file: ProblemFile) -> str:
    """Return what the heuristic of a problem file is called."""
    return file.heuristic or preset_name(resolve_heuristic(None, file.scaled_problem, file.budget)) or "its own"


def _outcome(text: str, where: str) -> Outcome:
    if text.strip().lower() == FAILED_WORD:
        return Outcome(failure="told that it failed")
    value = number(text)
    if value is None or math.isnan(value):
        fact = f"{where} has {short(text.strip())}"
        raise ProblemError(f'a value must be a number, or the word "{FAILED_WORD}"', fact)
    return Outcome(value)


def _exactly(value: Any) -> Any:
    return repr(value) if isinstance(value, float) else value
