"""`Table`: a list of dictionaries, one per row, with conversions to CSV and pandas."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

from robustforge import notebook_html
from robustforge.errors import MissingExtraError

Record = dict[str, Any]


class Table(list[Record]):
    """Rows with the same keys, in a fixed order.

    Example:
        >>> Table([{"name": "a", "mean": 1.5}]).to_csv().splitlines()
        ['name,mean', 'a,1.5']
    """

    def __init__(self, rows: Iterable[Record] = ()) -> None:
        super().__init__(rows)

    @property
    def columns(self) -> list[str]:
        """The keys of the rows, in order."""
        return list(dict.fromkeys(key for row in self for key in row))

    def to_csv(self) -> str:
        """Return the table as CSV with a header; floats are exact, missing values are empty."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self)
        return text.getvalue()

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it."""
        columns = self.columns
        return notebook_html.table(columns, ([row.get(column, "") for column in columns] for row in self))

    def to_pandas(self) -> Any:
        """Return the table as a `pandas.DataFrame`."""
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise MissingExtraError("pandas", "pandas") from error
        return DataFrame(list(self), columns=self.columns)
