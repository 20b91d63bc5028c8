"""Earlier runs of a model, from a CSV file: points that the search begins with."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path

from robustforge.errors import ProblemFileError
from robustforge.model.sheet import short
from robustforge.model.variables import Variables

VALUE = "value"
"""The column of the values."""


def read_earlier(path: Path, variables: Variables) -> list[tuple[dict[str, float], float]]:
    """Return points by name, and what the model said there.

    Args:
        path: A CSV file with a column per variable, and one called `value`; further columns do not matter.
        variables: The variables.

    Raises:
        ProblemFileError: With the line, the rule and the fix.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return list(_rows(path.name, csv.DictReader(file), variables))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ProblemFileError("earlier data must be a CSV file in UTF-8", f"{path}: {error}") from error


def _rows(name: str, reader: csv.DictReader[str], variables: Variables) -> Iterator[tuple[dict[str, float], float]]:
    wanted = (*variables.names, VALUE)
    missing = [column for column in wanted if column not in (reader.fieldnames or ())]
    if missing:
        raise ProblemFileError(
            f"{name}, line 1: earlier data must have a column for each variable, and one called {VALUE}",
            f"there is none called {', '.join(missing)}",
            f"Begin the file with {','.join(wanted)}",
        )
    for row in reader:
        found = {column: _number(row[column]) for column in wanted}
        for column, number in found.items():
            if math.isnan(number) or (math.isinf(number) and column != VALUE):
                raise ProblemFileError(
                    f"{name}, line {reader.line_num}: earlier data must be numbers",
                    f"{column} is {short(row[column])}",
                    "Leave out the lines of runs that failed",
                )
        value = found.pop(VALUE)
        for variable in variables.each:
            if variable.logarithmic and found[variable.name] <= 0:
                rule = f"{name}, line {reader.line_num}: a variable with a tolerance in percent must be positive"
                raise ProblemFileError(rule, f"{variable.name} is {found[variable.name]:g}", "Leave the line out")
        yield found, value


def _number(text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        return math.nan
