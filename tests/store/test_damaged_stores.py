"""Damaged and edited stores: every command prints a result or an error, never a stack trace.

`ROBUSTFORGE_FUZZ` sets how many damaged stores are tried; the seeds are fixed.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import traceback
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import robustforge as rf
from robustforge.cli import main

COUNT = int(os.environ.get("ROBUSTFORGE_FUZZ", "400"))
BYTES = COUNT // 4
"""How many of the stores have damaged bytes; in the others, a row, a table or a setting was edited."""

VARIABLES = """\
budget = 24
heuristic = "rpso"
data = "prior.csv"
[variables]
a = { bounds = [-2, 3], tolerance = 0.2, unit = "mm" }
b = { bounds = [1, 100], tolerance = "5%" }
"""
MODEL = """\
[model]
command = ["awk", "-v", "a={a}", "-v", "b={b}", "-f", "{here}/model.awk"]
"""
AWK = "BEGIN { if (a > 2.5) exit 1; print a * a + (b - 10) ^ 2 / 100 }"
PRIOR_CSV = "a,b,value\n0,10,0\n1,20,2\n"
EVOLVE = (
    "evolve sphere --dimension 2 --population 4 --generations 2 --repeats 2 --budget 60 --samples 50 --final-repeats 2"
)
COMPARE = "compare rpso random --problems sphere --dimension 2 --runs 3 --samples 50 --budget 60"
COMMANDS = {
    "runs": "runs s.db",
    "runs --json": "runs s.db --json",
    "runs --csv": "runs s.db --csv out.csv --name beam",
    "champion": "champion s.db --name sphere-2d",
    "analyse": "analyse s.db --no-effects",
    "report": "report s.db -o out.html",
    "solve": "solve beam.toml --store s.db",
    "verify": "verify beam.toml --store s.db --budget 6",
    "ask": "ask lab.toml --store s.db",
    "tell": "tell lab.toml 5 3.5 --store s.db",
    "evolve": f"{EVOLVE} --workers 1 --store s.db",
    "compare": f"{COMPARE} --workers 1 --store s.db",
}
SLOW = ("report",)
"""Slow commands, which are tried rarely."""

NASTY = (
    None, "", "x", "nan", "null", "[]", "{}", '{"a": 1}', "[" * 100_000, "1" * 5000, '"\\ud800"', "\0",
    "é" * 300, "\x1b[31m",
    b"", b"\xff\xfe", bytes(7), bytes(8), bytes(16), b"\xff" * 16, b"\0\0\0\0\0\0\xf0\x7f" * 2,
    0, 1, -1, 2, 7, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 0.5, -0.0, 1e308, float("inf"), float("-inf"),
    "evolution", "search", "known", "solve", "verify", "2026-01-01", "0123456789abcdef",
)  # fmt: skip
"""Values for columns and settings; SQLite's largest integers have 64 bits."""


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    """A folder with a store that has all kinds of records, without its NOT NULL constraints."""
    folder = tmp_path_factory.mktemp("intact")
    (folder / "beam.toml").write_text(VARIABLES + MODEL)
    (folder / "lab.toml").write_text(VARIABLES)
    (folder / "prior.csv").write_text(PRIOR_CSV)
    (folder / "model.awk").write_text(AWK)
    before = os.getcwd()
    os.chdir(folder)
    try:
        for command in ("solve", "verify", "ask", "evolve", "compare"):
            assert (ended := called(command)).exit_code == 0, ended.output
        for number, value in enumerate((1.0, 2.0, "failed", 4.0, 3.0)):
            tell = ["tell", "lab.toml", str(number), str(value), "--store", "s.db"]
            assert CliRunner().invoke(main, tell).exit_code == 0
        rf.evolve(
            [rf.problem("sphere", 2), rf.problem("ackley", 2)], store="s.db", name="two", callback=stopped, **SMALL
        )
        with closing(sqlite3.connect("s.db", isolation_level=None)) as connection:
            connection.execute("PRAGMA writable_schema = 1")
            connection.execute("UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '')")
            connection.execute("PRAGMA journal_mode = DELETE")
    finally:
        os.chdir(before)
    return folder


SMALL = {"population": 4, "generations": 3, "repeats": 2, "budget": 60, "samples": 50, "final_repeats": 2}


def stopped(evolution):
    raise StopIteration


def called(command):
    return CliRunner().invoke(main, COMMANDS[command].split())


@pytest.fixture
def folder(intact, tmp_path, monkeypatch):
    for name in ("beam.toml", "lab.toml", "prior.csv", "model.awk"):
        shutil.copy(intact / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def restore(intact):
    """Copy the intact store into the current folder, and remove everything beside it."""
    for left in Path().glob("s.db*"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    shutil.copy(intact / "s.db", "s.db")


def check(number, command):
    """Run a command; it must end with a result or an error message."""
    ended = called(command)
    story = f"damage {number}, {command}: {ended.output[-500:]}"
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise AssertionError(story + "".join(traceback.format_exception(ended.exception)))
    assert ended.exit_code in (0, 1, 2), story
    if ended.exit_code:
        assert ended.output.strip(), story
    assert "Traceback" not in ended.output, story
    return ended.exit_code


def chosen_command(rng):
    names = [name for name in COMMANDS if name not in SLOW or rng.random() < 0.1]
    return names[rng.integers(len(names))]


def test_the_intact_store(folder, intact):
    for command in COMMANDS:
        restore(intact)
        assert check("none", command) == 0, command


# --- bytes


def flip(content, rng):
    for place in rng.integers(len(content), size=rng.integers(1, 4)):
        content[place] ^= 1 << int(rng.integers(8))


def overwrite(content, rng):
    for place in rng.integers(len(content), size=20):
        content[place] = rng.integers(256)


def overwrite_the_head(content, rng):
    for place in rng.integers(16, 200, size=3):
        content[place] = rng.integers(256)


def cut(content, rng):
    del content[int(rng.integers(len(content))) :]


def move_pages(content, rng):
    size = 4096
    one, other = (int(page) * size for page in rng.integers(1, len(content) // size, size=2))
    content[one : one + size], content[other : other + size] = content[other : other + size], content[one : one + size]


def blank_a_page(content, rng):
    place = int(rng.integers(len(content) // 4096)) * 4096
    content[place : place + 4096] = rng.bytes(4096) if rng.random() < 0.5 else bytes(4096)


DAMAGES = (flip, overwrite, overwrite, overwrite_the_head, cut, move_pages, blank_a_page)


def test_damaged_bytes(folder, intact):
    codes = []
    for number in range(BYTES):
        rng = np.random.default_rng([1, number])
        content = bytearray((intact / "s.db").read_bytes())
        DAMAGES[number % len(DAMAGES)](content, rng)
        restore(intact)
        Path("s.db").write_bytes(content)
        if rng.random() < 0.1:
            Path("s.db-wal").write_bytes(rng.bytes(5000))
        codes.append(check(f"of bytes {number}", chosen_command(rng)))
    assert 0.1 < np.mean(np.array(codes) == 2) < 1


# --- rows


def edit_a_value(connection, rng):
    table, column, key = some_cell(connection, rng)
    set_value(connection, table, column, key, NASTY[rng.integers(len(NASTY))])


def swap_values(connection, rng):
    table, column, key = some_cell(connection, rng)
    other = some_row(connection, table, rng)
    value = connection.execute(f"SELECT {column} FROM {table} WHERE {where(other)}", [*other.values()]).fetchone()[0]
    set_value(connection, table, column, key, value)


def break_text(connection, rng):
    table, column, key = some_cell(connection, rng)
    text = f"UPDATE OR REPLACE {table} SET {column} = CAST(x'c3ff41' AS TEXT) WHERE {where(key)}"
    try_to(connection, text, [*key.values()])


def edit_json(connection, rng):
    table, column = (
        ("experiment", "settings"),
        ("experiment", "grammar"),
        ("heuristic", "json"),
        ("assessed", "problem"),
    )[rng.integers(4)]
    key = some_row(connection, table, rng)
    text = connection.execute(f"SELECT {column} FROM {table} WHERE {where(key)}", [*key.values()]).fetchone()[0]
    data = json.loads(text) or {"a": 1}
    edit_inside(data, rng)
    set_value(connection, table, column, key, json.dumps(data))


def edit_inside(data, rng):
    """Change a random item of nested lists and objects."""
    while True:
        keys = list(data) if isinstance(data, dict) else range(len(data))
        key = keys[rng.integers(len(keys))]
        if isinstance(data[key], (dict, list)) and data[key] and rng.random() < 0.8:
            data = data[key]
            continue
        if rng.random() < 0.2:
            del data[key]
        else:
            data[key] = [None, "", "x", [], {}, [1], {"a": 1}, 0, -1, 10**30, 1.5, 1e400, float("nan"), True, "\ud800"][
                rng.integers(15)
            ]
        return


def delete_rows(connection, rng):
    table = some_table(connection, rng)
    key = some_row(connection, table, rng)
    text = "" if rng.random() < 0.3 else f" WHERE {where(key)}"
    connection.execute(f"DELETE FROM {table}{text}", [*key.values()] if text else [])


def copy_a_row(connection, rng):
    table, column, key = some_cell(connection, rng)
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    row = list(connection.execute(f"SELECT * FROM {table} WHERE {where(key)}", [*key.values()]).fetchone())
    row[columns.index(column)] = NASTY[rng.integers(len(NASTY))]
    try_to(connection, f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def edit_the_schema(connection, rng):
    table, column, _ = some_cell(connection, rng)
    connection.execute(
        (
            f"DROP TABLE {table}",
            f"ALTER TABLE {table} RENAME TO other",
            f"ALTER TABLE {table} RENAME COLUMN {column} TO other",
            f"PRAGMA user_version = {rng.integers(-1, 5)}",
            f"PRAGMA application_id = {rng.integers(-1, 5)}",
            f"ALTER TABLE {table} ADD COLUMN other",
        )[rng.integers(6)]
    )


ENDLESS = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n)"


def add_code(connection, rng):
    """Put a view in the place of a table, or a trigger on it."""
    table = some_table(connection, rng)
    if rng.random() < 0.5:
        connection.execute(f"CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END")
    else:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        connection.execute(f"ALTER TABLE {table} RENAME TO other")
        values = ", ".join(f"k AS {column}" for column in columns)
        connection.execute(f"CREATE VIEW {table} AS {ENDLESS} SELECT {values} FROM n")


EDITS = (edit_a_value, edit_a_value, edit_a_value, edit_a_value, swap_values, break_text, edit_json, edit_json,
         delete_rows, copy_a_row, edit_the_schema, add_code)  # fmt: skip


def some_table(connection, rng):
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    return names[rng.integers(len(names))]


def some_row(connection, table, rng):
    """The key of a row, by the names of its columns."""
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[5]]
    rows = connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
    return dict(zip(columns, rows[rng.integers(len(rows))], strict=True))


def some_cell(connection, rng):
    table = some_table(connection, rng)
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    return table, columns[rng.integers(len(columns))], some_row(connection, table, rng)


def where(key):
    return " AND ".join(f"{name} = ?" for name in key)


def set_value(connection, table, column, key, value):
    try_to(connection, f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {where(key)}", [value, *key.values()])


def try_to(connection, text, values):
    try:
        connection.execute(text, values)
    except (sqlite3.IntegrityError, UnicodeEncodeError):  # SQLite refuses it
        connection.execute("DELETE FROM member")


def test_edited_rows(folder, intact):
    codes = []
    for number in range(COUNT - BYTES):
        rng = np.random.default_rng([2, number])
        restore(intact)
        with closing(sqlite3.connect("s.db", isolation_level=None)) as connection:
            EDITS[number % len(EDITS)](connection, rng)
        codes.append(check(f"of rows {number}", chosen_command(rng)))
    assert 0.1 < np.mean(np.array(codes) == 2) < 1


@pytest.mark.parametrize(
    "code",
    ["CREATE VIEW extra AS SELECT 1", "CREATE TRIGGER extra AFTER INSERT ON run BEGIN DELETE FROM run; END"],
)
def test_a_store_with_views_or_triggers_is_refused(folder, intact, code):
    restore(intact)
    with closing(sqlite3.connect("s.db", isolation_level=None)) as connection:
        connection.execute(code)
    ended = called("runs")
    assert ended.exit_code == 2
    assert "'extra', which no store has" in " ".join(ended.output.split())


@pytest.mark.parametrize("restrictions", [True, [1], {"only": True}, {"only": {"network": "Ring"}}, {"without": {}}])
def test_edited_restrictions_of_a_grammar_are_refused(folder, intact, restrictions):
    restore(intact)
    with closing(sqlite3.connect("s.db", isolation_level=None)) as connection:
        grammar = json.dumps({"name": "paper", "restrictions": restrictions})
        connection.execute("UPDATE experiment SET grammar = ? WHERE kind = 'evolution'", (grammar,))
    ended = called("report")
    assert ended.exit_code == (0 if restrictions == {"without": {}} else 2), ended.output
