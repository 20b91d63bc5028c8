"""Assessed runs in a store: exact to the bit, one of each, and in stores that were made before there were any."""

from __future__ import annotations

import math
import os
import sqlite3
from dataclasses import replace

import pytest

import robustforge as rf
from robustforge.store import Assessed, Run, Store
from robustforge.store.database import _FOLDER, APPLICATION, VERSION

FULL = Assessed(
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
FAILED = Assessed(
    "cma-es (pycma 4)", "cma-es", '{"name": "p", "dimension": 3}', 10, 1, False, 1, 0, failure="ValueError: no"
)


def text(runs):
    return sorted(map(repr, runs))  # NaN is not equal to itself


def old(path):
    """A store as version 1 made it: without assessed runs, with an evolution."""
    connection = sqlite3.connect(path)
    tables = (_FOLDER / "schema.sql").read_text()
    connection.executescript(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = 1; {tables}")
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


def test_what_is_stored_comes_back_to_the_bit(tmp_path):
    with Store.open(tmp_path / "s.db") as store:
        store.add_assessed([FULL])
        store.add_assessed([FAILED])
        assert text(store.assessed()) == text([FULL, FAILED])
    with Store.read(tmp_path / "s.db") as store:
        found = store.assessed()
    assert text(found) == text([FULL, FAILED])
    assert {run.attack for run in found} == {True, False}
    assert all(isinstance(run.attack, bool) for run in found)
    assert os.listdir(tmp_path) == ["s.db"]


def test_a_run_that_is_stored_again_takes_the_place_of_the_first(tmp_path):
    with Store.open(tmp_path / "s.db") as store:
        store.add_assessed([FULL, FAILED])
        store.add_assessed([replace(FULL, name="another", value=9.0)])
        kept = {run.key: run for run in store.assessed()}
    assert len(kept) == 2
    assert (kept[FULL.key].name, kept[FULL.key].value) == ("another", 9.0)


@pytest.mark.parametrize("change", ["contestant", "problem", "budget", "samples", "attack", "seed"])
def test_runs_that_differ_in_any_part_of_the_key_are_both_kept(change):
    value = {"contestant": "x", "problem": '{"name": "q", "dimension": 3}', "attack": False}.get(change, 77)
    other = replace(FULL, **{change: value})
    assert other.key != FULL.key
    with Store.open(None) as store:
        store.add_assessed([FULL, other])
        assert len(store.assessed()) == 2


def test_a_store_of_evolutions_holds_assessed_runs_beside_them(tmp_path):
    with Store.open(tmp_path / "s.db") as store:
        assert store.assessed() == []
        experiment = store.begin("one", "evolution", {}, {})
        assert store.assessed() == []
        store.add_assessed([FULL])
        assert store.experiments() == [experiment]
        assert len(store.assessed()) == 1


def test_an_old_store_is_read_as_it_is(tmp_path):
    heuristic, run = old(tmp_path / "s.db")
    before = (tmp_path / "s.db").read_bytes()
    for how in (Store.read, Store.open):
        with how(tmp_path / "s.db") as store:
            assert store.assessed() == []
            assert [found.value for found in store.runs(store.experiment("one"))] == [run.value]
            assert store.heuristic(heuristic.id) == heuristic
    assert (tmp_path / "s.db").read_bytes() == before
    assert os.listdir(tmp_path) == ["s.db"]


@pytest.mark.parametrize("first", ["assessed", "evolution"])
def test_an_old_store_is_brought_up_to_date_by_the_first_that_is_stored(tmp_path, first):
    heuristic, _ = old(tmp_path / "s.db")
    with Store.read(tmp_path / "s.db") as store:
        experiments, runs = store.experiments(), text(store.runs(store.experiment("one")))
    with Store.open(tmp_path / "s.db") as store:
        if first == "assessed":
            store.add_assessed([FULL])
        else:
            store.begin("two", "evolution", {}, {})
        assert len(store.assessed()) == (first == "assessed")
    assert version_of(tmp_path / "s.db") == VERSION
    with Store.open(tmp_path / "s.db") as store:  # once more, now that it is up to date
        store.add_assessed([FULL, FAILED])
    with Store.read(tmp_path / "s.db") as store:
        assert text(store.assessed()) == text([FULL, FAILED])
        assert store.experiments()[:1] == experiments
        assert text(store.runs(experiments[0])) == runs
        assert store.members(experiments[0]) == {0: [heuristic.id]}


def test_a_reader_of_an_old_store_sees_what_is_committed_later(tmp_path):
    old(tmp_path / "s.db")
    with Store.read(tmp_path / "s.db") as reader, Store.open(tmp_path / "s.db") as writer:
        assert reader.assessed() == []
        writer.add_assessed([FULL])
        assert text(reader.assessed()) == text([FULL])
