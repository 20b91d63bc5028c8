"""The payloads of `ask` and `tell`: points that need a value, and the values that are reported."""

from __future__ import annotations

import csv
import math
from typing import Any

from robustforge.cli.payloads.designs import design_payload, units
from robustforge.errors import ProblemError
from robustforge.simulator.prior_runs import VALUE_COLUMN
from robustforge.simulator.result_parser import parse_number
from robustforge.simulator.run_outcome import RunOutcome
from robustforge.simulator.toml_reader import shortened, shortened_repr
from robustforge.solver import Reported, StoredSearch
from robustforge.tables import Record

FAILED_WORD = "failed"
_DIGITS = 18
"""Maximum number of digits of an id."""


def points_payload(search: StoredSearch, store: str) -> Record:
    """Return the pending points: those that need a value."""
    points = [{"id": number, **search.file.variables.decode(x)} for number, x in search.optimizer.ask()]
    return {
        "name": search.file.name,
        "units": units(search.file),
        "points": points,
        "runs": search.runs,
        "budget": search.file.budget,
        "store": store,
    }


def write_points(payload: Record, path: str) -> None:
    """Write the pending points as CSV, with an empty column for the values."""
    columns = list(payload["points"][0]) if payload["points"] else ["id"]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*columns, VALUE_COLUMN])
        writer.writeheader()
        writer.writerows({key: _exactly(value) for key, value in point.items()} for point in payload["points"])


def parse_reported(what: str, value: str | None) -> list[Reported]:
    """Return the reported values: one by its id, or those of a CSV file."""
    if value is not None:
        number = _id(what)
        if number is None:
            raise ProblemError("expected the id of a point", f"got {shortened_repr(what)}", "Write: tell FILE 3 0.52")
        return [Reported(number, _outcome(value, "the value"))]
    if what.isdecimal():
        shown = shortened(what)
        raise ProblemError(f"no value given for point {shown}", fix=f"Write: tell FILE {shown} 0.52")
    try:
        with open(what, newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), list(reader.fieldnames or ["nothing"])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        fix = "Fill in the file that `ask -o points.csv` writes"
        raise ProblemError("cannot read the CSV file of values", f"{what}: {error}", fix) from error
    if not {"id", "value"} <= set(columns):
        fact = f"{what} has {shortened(', '.join(columns))}"
        raise ProblemError("expected a CSV file with the columns id and value", fact, "See `ask -o`")
    reported = []
    for line, row in enumerate(rows, 2):
        if row["value"] and row["value"].strip():
            where, number = f"line {line} of {what}", _id(row["id"] or "")
            if number is None:
                raise ProblemError("expected a number as id", f"{where} has {shortened_repr(row['id'])}", "See `ask`")
            reported.append(Reported(number, _outcome(row["value"], where), where))
    return reported


def _id(text: str) -> int | None:
    """Return the id of a point; `None` if the string is not one."""
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else None


def reported_payload(search: StoredSearch, count: int, store: str) -> Record:
    """Return the state of a search after values were reported."""
    payload = points_payload(search, store)
    finished = search.optimizer.finished
    result = design_payload(search, store, 0.0) if finished else None
    return {**payload, "new_values": count, "finished": finished, "result": result}


def _outcome(text: str, where: str) -> RunOutcome:
    if text.strip().lower() == FAILED_WORD:
        return RunOutcome(failure="reported as failed")
    value = parse_number(text)
    if value is None or math.isnan(value):
        fact = f"{where} has {shortened_repr(text.strip())}"
        raise ProblemError(f'expected a number or the word "{FAILED_WORD}"', fact)
    return RunOutcome(value)


def _exactly(value: Any) -> Any:
    return repr(value) if isinstance(value, float) else value
