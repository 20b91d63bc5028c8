"""Stores that are lost, or whose disk is full, during `solve` and `verify`: the design is printed."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest
from cli_runner import as_json, run
from spring_problem import (
    HEAD,
    SHELL,
    problem,
    rows,
    timeless,
    values_of,
)

from robustforge.store import VERIFY, Store

pytestmark = pytest.mark.usefixtures("folder")


AT_A_RUN = """
echo x >> $4/log
[ $(wc -l < $4/log) -eq $(cat $4/when) ] && {}
"""


def write_losing_problem(how, when):
    """A model that does something to the store at one of its runs, and one that does not."""
    head = HEAD.replace("rpso", "rpso+dd")  # which has a design after 20 runs
    problem("quick", 'name = "spring"\n' + head)
    problem("spring", head, model=SHELL, script=values_of(AT_A_RUN.format(how)))
    Path("when").write_text(str(when))
    Path("log").unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("how", "fact"),
    [
        ("rm $4/spring.db", "was deleted"),
        ("mv $4/spring.db $4/moved.db", "was deleted"),
        ("echo other > $4/other && mv $4/other $4/spring.db", "was replaced"),
        (": > $4/spring.db", "was truncated"),
    ],
)
@pytest.mark.parametrize("when", [38, 40])
def test_the_design_is_printed_if_the_store_is_lost(how, fact, when):
    write_losing_problem(how, when)
    ended = run("solve", "spring.toml", "-o", "design.json", code=1)
    assert ended.stdout.startswith("Robust design of spring")
    assert fact in ended.stderr
    assert "spring.db-recovered" in ended.stderr
    record = json.loads(Path("design.json").read_text())
    assert record["found"]
    assert when - 1 <= record["runs"] == len(rows("spring.db-recovered")) <= when  # the model may be a run ahead
    os.replace("spring.db-recovered", "spring.db")
    assert timeless(as_json("solve", "spring.toml")) == timeless(as_json("solve", "quick.toml"))
    assert len(Path("log").read_text().split()) <= 41  # nothing that was stored is run twice


def test_the_worst_case_is_printed_if_the_store_is_lost():
    write_losing_problem("rm $4/spring.db", 60)
    run("solve", "spring.toml")
    ended = run("verify", "spring.toml", "--budget", "30", code=1)
    assert "worst case within the tolerances" in ended.stdout
    assert "was deleted" in ended.stderr
    assert len(rows("spring.db-recovered", part=VERIFY)) in (19, 20)  # the model may be a run ahead of the store
    os.replace("spring.db-recovered", "spring.db")
    run("solve", "quick.toml")
    found = as_json("verify", "quick.toml", "--budget", "30")
    assert timeless(as_json("verify", "spring.toml", "--budget", "30")) == timeless(found)


@pytest.mark.parametrize("command", ["solve", "verify"])
@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("database or disk is full", sqlite3.SQLITE_FULL),
        ("attempt to write a readonly database", sqlite3.SQLITE_READONLY),
        ("disk I/O error", sqlite3.SQLITE_IOERR),
    ],
)
def test_the_result_is_printed_if_the_disk_fails(monkeypatch, command, message, code):
    whole, count = Store._insert_evaluations, 0
    if command == "verify":
        run("solve", "spring.toml")

    def full(self, number, evaluations):
        nonlocal count
        count += len(evaluations)
        if count == (39 if command == "solve" else 12):
            error = sqlite3.OperationalError(message)
            error.sqlite_errorcode = code
            raise error
        whole(self, number, evaluations)

    monkeypatch.setattr(Store, "_insert_evaluations", full)
    budget = ["--budget", "20"] if command == "verify" else []
    ended = run(command, "spring.toml", *budget, code=1)
    assert ("Robust design" if command == "solve" else "worst case within the tolerances") in ended.stdout
    assert message in ended.stderr
    assert "All stored runs are safe" in ended.stderr
    run(command, "spring.toml", *budget)
    assert len(rows("spring.db")) == 40


def test_a_deleted_lock_file_changes_nothing():
    write_losing_problem("rm $4/spring.db-lock", 20)
    assert timeless(as_json("solve", "spring.toml")) == timeless(as_json("solve", "quick.toml"))
    assert not Path("spring.db-lock").exists()
