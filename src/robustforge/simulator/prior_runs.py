"""Prior runs of a model, read from a CSV file: evaluations that a search starts with."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path

from robustforge.errors import ProblemFileError
from robustforge.simulator.toml_reader import shortened_repr
from robustforge.simulator.variables import Variables

VALUE_COLUMN = "value"
"""The column of the model's values."""


def read_prior_runs(path: Path, variables: Variables) -> list[tuple[dict[str, float], float]]:
    """Return points, by variable, and the model's values there.

    Args:
        path: A CSV file with one column per variable and one called `value`; further columns are ignored.
        variables: The variables.

    Raises:
        ProblemFileError: With the line, the rule and the fix.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return list(_parse_rows(path.name, csv.DictReader(file), variables))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ProblemFileError("prior runs must be a CSV file in UTF-8", f"{path}: {error}") from error


def _parse_rows(
    name: str, reader: csv.DictReader[str], variables: Variables
) -> Iterator[tuple[dict[str, float], float]]:
    columns = (*variables.names, VALUE_COLUMN)
    missing = [column for column in columns if column not in (reader.fieldnames or ())]
    if missing:
        raise ProblemFileError(
            f"{name}, line 1: missing column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
            f"prior runs need a column for each variable and one called {VALUE_COLUMN}",
            f"Start the file with {','.join(columns)}",
        )
    for row in reader:
        numbers = {column: _parse_number(row[column]) for column in columns}
        for column, number in numbers.items():
            if math.isnan(number) or (math.isinf(number) and column != VALUE_COLUMN):
                raise ProblemFileError(
                    f"{name}, line {reader.line_num}: expected a number in column {column}",
                    f"got {shortened_repr(row[column])}",
                    "Leave out the lines of failed runs",
                )
        value = numbers.pop(VALUE_COLUMN)
        for variable in variables.members:
            if variable.logarithmic and numbers[variable.name] <= 0:
                rule = f"{name}, line {reader.line_num}: a variable with a tolerance in percent must be positive"
                raise ProblemFileError(rule, f"{variable.name} is {numbers[variable.name]:g}", "Leave the line out")
        yield numbers, value


def _parse_number(text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        return math.nan
