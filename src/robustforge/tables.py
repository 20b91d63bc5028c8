"""Tables as plain records: a list of dictionaries, one per row, that knows how to become CSV or a pandas frame."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

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
        """Return the table as CSV text with a heading; floats are exact, what is missing is empty."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self)
        return text.getvalue()

    def to_pandas(self) -> Any:
        """Return the table as a `pandas.DataFrame`."""
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise MissingExtraError("pandas", "pandas") from error
        return DataFrame(list(self), columns=self.columns)
