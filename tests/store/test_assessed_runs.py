"""Assessed runs in a store: exact, unique, and in stores of older versions."""

from __future__ import annotations

import math
import os
import sqlite3
from dataclasses import replace

import pytest

import robustforge as rf
from robustforge.store import AssessedRun, Run, Store
from robustforge.store.database import _FOLDER, APPLICATION_ID, VERSION

FULL = AssessedRun(
    contestant="0123456789abcdef",
    name='it\'s "best".json ü',
    problem='{"name": "p", "dimension": 3}',
    budget=2000,
    samples=10**9,
    attack=True,
    seed=2**53 - 1,
    repeat=3,
    value=1 / 3,
    attacked=math.inf,
    nominal=-1e-300,
    nfev=1999,
    curve=(math.nan, math.inf, -1e-300, 5e-324, *[1 / 3] * 7),
    x=(1 / 3, -0.0, 1e308),
    seconds=0.125,
)
FAILED = AssessedRun(
    "cma-es (pycma 4)", "cma-es", '{"name": "p", "dimension": 3}', 10, 1, False, 1, 0, failure="ValueError: no"
)


def reprs(runs):
    return sorted(map(repr, runs))  # NaN is not equal to itself


def old_store(path):
    """A store of format version 1: with an evolution, without assessed runs."""
    connection = sqlite3.connect(path)
    tables = (_FOLDER / "schema.sql").read_text()
    connection.executescript(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1; {tables}")
    heuristic = rf.heuristic("rpso")
    row = (1, "one", "evolution", '{"seed": 1}', "{}", heuristic.id, "2026-01-01", "2026-01-02")
    connection.execute("INSERT INTO experiment VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    connection.execute("INSERT INTO heuristic VALUES (?, ?)", (heuristic.id, heuristic.to_json()))
    connection.execute("INSERT INTO member VALUES (1, 0, 0, ?)", (heuristic.id,))
    run = Run(0, 0, heuristic.id, 0, 7, value=1 / 3)
    connection.execute(
        "INSERT INTO run VALUES (1, 0, 0, ?, 0, 7, ?, NULL, 0, 0, 0, 0.0, NULL)", (heuristic.id, run.value)
    )
    connection.commit()
    connection.close()
    return heuristic, run


def version_of(path):
    connection = sqlite3.connect(path)
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return found


def test_records_are_read_back_exactly(tmp_path):
    with Store.open(tmp_path / "s.db") as store:
        store.add_assessed_runs([FULL])
        store.add_assessed_runs([FAILED])
        assert reprs(store.assessed_runs()) == reprs([FULL, FAILED])
    with Store.read(tmp_path / "s.db") as store:
        found = store.assessed_runs()
    assert reprs(found) == reprs([FULL, FAILED])
    assert {run.attack for run in found} == {True, False}
    assert all(isinstance(run.attack, bool) for run in found)
    assert os.listdir(tmp_path) == ["s.db"]


def test_a_run_that_is_stored_again_replaces_the_first(tmp_path):
    with Store.open(tmp_path / "s.db") as store:
        store.add_assessed_runs([FULL, FAILED])
        store.add_assessed_runs([replace(FULL, name="another", value=9.0)])
        kept = {run.key: run for run in store.assessed_runs()}
    assert len(kept) == 2
    assert (kept[FULL.key].name, kept[FULL.key].value) == ("another", 9.0)


@pytest.mark.parametrize("change", ["contestant", "problem", "budget", "samples", "attack", "seed"])
def test_runs_with_different_keys_are_both_stored(change):
    value = {"contestant": "x", "problem": '{"name": "q", "dimension": 3}', "attack": False}.get(change, 77)
    other = replace(FULL, **{change: value})
    assert other.key != FULL.key
    with Store.open(None) as store:
        store.add_assessed_runs([FULL, other])
        assert len(store.assessed_runs()) == 2


def test_a_store_holds_evolutions_and_assessed_runs(tmp_path):
    with Store.open(tmp_path / "s.db") as store:
        assert store.assessed_runs() == []
        experiment = store.add_experiment("one", "evolution", {}, {})
        assert store.assessed_runs() == []
        store.add_assessed_runs([FULL])
        assert store.experiments() == [experiment]
        assert len(store.assessed_runs()) == 1


def test_reading_an_old_store_does_not_change_it(tmp_path):
    heuristic, run = old_store(tmp_path / "s.db")
    before = (tmp_path / "s.db").read_bytes()
    for how in (Store.read, Store.open):
        with how(tmp_path / "s.db") as store:
            assert store.assessed_runs() == []
            assert [found.value for found in store.runs(store.experiment("one"))] == [run.value]
            assert store.heuristic(heuristic.id) == heuristic
    assert (tmp_path / "s.db").read_bytes() == before
    assert os.listdir(tmp_path) == ["s.db"]


@pytest.mark.parametrize("first", ["assessed", "evolution"])
def test_the_first_commit_upgrades_an_old_store(tmp_path, first):
    heuristic, _ = old_store(tmp_path / "s.db")
    with Store.read(tmp_path / "s.db") as store:
        experiments, runs = store.experiments(), reprs(store.runs(store.experiment("one")))
    with Store.open(tmp_path / "s.db") as store:
        if first == "assessed":
            store.add_assessed_runs([FULL])
        else:
            store.add_experiment("two", "evolution", {}, {})
        assert len(store.assessed_runs()) == (first == "assessed")
    assert version_of(tmp_path / "s.db") == VERSION
    with Store.open(tmp_path / "s.db") as store:  # again, after the upgrade
        store.add_assessed_runs([FULL, FAILED])
    with Store.read(tmp_path / "s.db") as store:
        assert reprs(store.assessed_runs()) == reprs([FULL, FAILED])
        assert store.experiments()[:1] == experiments
        assert reprs(store.runs(experiments[0])) == runs
        assert store.members(experiments[0]) == {0: [heuristic.id]}


def test_a_reader_of_an_old_store_sees_later_commits(tmp_path):
    old_store(tmp_path / "s.db")
    with Store.read(tmp_path / "s.db") as reader, Store.open(tmp_path / "s.db") as writer:
        assert reader.assessed_runs() == []
        writer.add_assessed_runs([FULL])
        assert reprs(reader.assessed_runs()) == reprs([FULL])
