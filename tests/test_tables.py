"""Tables: exact in CSV, whatever stands in them, and frames for those who have pandas."""

from __future__ import annotations

import csv
import io
import sys

import pytest

from robustforge.errors import MissingExtraError
from robustforge.tables import Table

ROWS = [{"name": 'a, "b"\nü', "mean": 1 / 3}, {"name": "c", "p": 5e-324, "mean": 1e300}]


def test_csv_gives_back_what_is_in_the_table():
    table = Table(ROWS)
    assert table.columns == ["name", "mean", "p"]
    first, second = csv.DictReader(io.StringIO(table.to_csv()))
    assert (first["name"], float(first["mean"]), first["p"]) == (ROWS[0]["name"], 1 / 3, "")
    assert (float(second["mean"]), float(second["p"])) == (1e300, 5e-324)


def test_a_table_is_a_list_of_its_rows():
    assert Table(ROWS) == ROWS
    assert Table() == []
    assert Table().to_csv().strip() == ""


def test_a_frame_has_the_same_columns_and_rows():
    pytest.importorskip("pandas")
    frame = Table(ROWS).to_pandas()
    assert list(frame.columns) == ["name", "mean", "p"]
    assert frame["mean"].tolist() == [1 / 3, 1e300]
    assert list(Table().to_pandas().columns) == []


def test_without_pandas_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"robustforge\[pandas\]"):
        Table(ROWS).to_pandas()
