"""The store: one writer, readers that never block it, and a sentence for every file that is none."""

from __future__ import annotations

import math
import os
import sqlite3
import subprocess
import sys

import pytest

import robustforge as rf
from robustforge.errors import RobustforgeError, StoreError, StoreFullError
from robustforge.store import FINAL, Run, Store

SETTINGS = {"population": 5, "seed": 1}


def filled(path):
    """A store with one experiment and three runs, one of them failed."""
    heuristic = rf.heuristic("rpso")
    with Store.open(path) as store:
        assert store.find("one", "evolution", SETTINGS, {}) is None
        experiment = store.begin("one", "evolution", SETTINGS, {"name": "paper"})
        store.add_heuristics([heuristic])
        store.add(experiment, [Run(0, 0, heuristic.id, 0, 7, value=1 / 3, estimate=math.nan, nfev=10, seconds=0.5)])
        store.add(
            experiment,
            [
                Run(0, 0, heuristic.id, 1, 8, failure="ValueError: no"),
                Run(FINAL, 0, heuristic.id, 0, 2**62, value=math.inf),
            ],
        )
        store.add_generation(experiment, 0, [heuristic.id])
        store.end(experiment, heuristic.id)
    return heuristic


def test_what_is_stored_comes_back_to_the_bit(tmp_path):
    heuristic = filled(tmp_path / "s.db")
    with Store.read(tmp_path / "s.db") as store:
        experiment = store.experiment("one")
        final, first, failed = store.runs(experiment)
        assert (first.value, first.nfev, first.seconds, first.failure) == (1 / 3, 10, 0.5, "")
        assert math.isnan(first.estimate)
        assert failed.failure == "ValueError: no"
        assert math.isnan(failed.value)
        assert (final.seed, final.value) == (2**62, math.inf)
        assert store.members(experiment) == {0: [heuristic.id]}
        assert store.heuristic(heuristic.id) == heuristic
        assert experiment.champion == heuristic.id
        assert experiment.ended is not None
        assert experiment.settings == SETTINGS
        assert store.count_runs(experiment) == (3, 1)


def test_after_a_normal_end_a_store_is_one_file_also_after_reading(tmp_path):
    filled(tmp_path / "s.db")
    assert os.listdir(tmp_path) == ["s.db"]
    with Store.read(tmp_path / "s.db") as store:
        store.experiments()
    assert os.listdir(tmp_path) == ["s.db"]


def test_readers_see_what_is_committed_while_the_writer_writes(tmp_path):
    heuristic = rf.heuristic("rpso")
    with Store.open(tmp_path / "s.db") as writer:
        experiment = writer.begin("one", "evolution", SETTINGS, {})
        with Store.read(tmp_path / "s.db") as reader:
            for repeat in range(5):
                writer.add(experiment, [Run(0, 0, heuristic.id, repeat, 1, value=2.0)])
                assert len(reader.runs(experiment)) == repeat + 1


def test_a_reader_in_the_middle_of_reading_does_not_block_the_writer(tmp_path):
    heuristic = filled(tmp_path / "s.db")
    reader = sqlite3.connect(f"file:{tmp_path / 's.db'}?mode=ro", uri=True, isolation_level=None)
    with Store.open(tmp_path / "s.db") as writer:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM run").fetchone() == (3,)
        writer.add(writer.experiment("one"), [Run(1, 0, heuristic.id, 0, 1)])
        assert reader.execute("SELECT count(*) FROM run").fetchone() == (3,)
        reader.execute("COMMIT")
        assert reader.execute("SELECT count(*) FROM run").fetchone() == (4,)
    reader.close()


def test_a_run_is_stored_once(tmp_path):
    heuristic = filled(tmp_path / "s.db")
    with Store.open(tmp_path / "s.db") as store, pytest.raises(StoreError, match="UNIQUE"):
        store.add(store.experiment("one"), [Run(0, 0, heuristic.id, 0, 7)])


def test_there_is_one_writer(tmp_path):
    with Store.open(tmp_path / "s.db"), pytest.raises(StoreError, match="one writer"):
        Store.open(tmp_path / "s.db")
    Store.open(tmp_path / "s.db").close()


READ = "import sys; from robustforge.store import Store; Store.read(sys.argv[1]).close()"


def test_a_second_writer_that_is_refused_does_no_harm(tmp_path):
    """To open and close the file again would drop SQLite's locks, and let a reader remove what is not yet in it."""
    path, heuristic = tmp_path / "s.db", rf.heuristic("rpso")
    code = f"""
import os, subprocess, sys
from robustforge.errors import StoreError
from robustforge.store import Run, Store
store = Store.open(sys.argv[1])
experiment = store.begin("one", "evolution", {{}}, {{}})
store.add(experiment, [Run(0, 0, "{heuristic.id}", 0, 1, value=2.0)])
try:
    Store.open(sys.argv[1])
except StoreError:
    pass
subprocess.run([sys.executable, "-c", {READ!r}, sys.argv[1]], check=True)
store.add(experiment, [Run(0, 0, "{heuristic.id}", 1, 1, value=2.0)])
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    with Store.read(path) as store:
        assert len(store.runs(store.experiment("one"))) == 2


def test_a_name_that_sqlite_takes_for_memory_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    filled(":memory:")
    assert os.listdir(tmp_path) == [":memory:"]


def test_the_lock_dies_with_its_process(tmp_path):
    code = "import os, sys; from robustforge.store import Store; s = Store.open(sys.argv[1]); os.kill(os.getpid(), 9)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "s.db")], check=False)
    assert done.returncode == -9
    Store.open(tmp_path / "s.db").close()


def test_other_settings_are_refused_and_named(tmp_path):
    filled(tmp_path / "s.db")
    with Store.open(tmp_path / "s.db") as store:
        assert store.find("one", "evolution", dict(SETTINGS), {}).name == "one"
        with pytest.raises(StoreError, match="population is 5, not 6"):
            store.find("one", "evolution", {**SETTINGS, "population": 6}, {})
        with pytest.raises(StoreError, match='extra is null, not "x"'):
            store.find("one", "evolution", {**SETTINGS, "extra": "x"}, {})
        with pytest.raises(StoreError, match="UNIQUE"):
            store.begin("one", "evolution", SETTINGS, {})
        assert store.begin("two", "evolution", {**SETTINGS, "population": 6}, {}).id == 2


def test_a_generation_that_comes_out_differently_is_refused(tmp_path):
    heuristic = filled(tmp_path / "s.db")
    with Store.open(tmp_path / "s.db") as store:
        store.add_generation(store.experiment("one"), 0, [heuristic.id])
        with pytest.raises(StoreError, match="differently"):
            store.add_generation(store.experiment("one"), 0, ["another"])


@pytest.mark.parametrize("how", [Store.open, Store.read])
def test_a_file_that_is_no_store_is_left_alone(tmp_path, how):
    text, foreign = tmp_path / "text.db", tmp_path / "foreign.db"
    text.write_text("hello " * 200)
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    connection.close()
    for path, words in ((text, "an SQLite file"), (foreign, "another program")):
        before = path.read_bytes()
        with pytest.raises(StoreError, match=words):
            how(path)
        assert path.read_bytes() == before


@pytest.mark.parametrize("how", [Store.open, Store.read])
def test_another_version_is_refused(tmp_path, how):
    filled(tmp_path / "s.db")
    connection = sqlite3.connect(tmp_path / "s.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = (tmp_path / "s.db").read_bytes()
    with pytest.raises(StoreError, match="has version 99"):
        how(tmp_path / "s.db")
    assert (tmp_path / "s.db").read_bytes() == before


def test_a_store_to_which_nothing_is_stored_is_as_before(tmp_path):
    Store.open(tmp_path / "s.db").close()
    assert os.listdir(tmp_path) == []
    filled(tmp_path / "s.db")
    before = (tmp_path / "s.db").read_bytes()
    with Store.open(tmp_path / "s.db") as store:
        store.find("one", "evolution", SETTINGS, {})
    assert (tmp_path / "s.db").read_bytes() == before


def test_what_cannot_be_opened_says_so(tmp_path):
    with pytest.raises(StoreError, match="there is no"):
        Store.read(tmp_path / "none.db")
    with pytest.raises(StoreError, match="folder"):
        Store.open(tmp_path / "no" / "s.db")
    with pytest.raises(StoreError, match="is a folder"):
        Store.open(tmp_path)
    (tmp_path / "empty.db").touch()
    with pytest.raises(StoreError, match="is empty"):
        Store.read(tmp_path / "empty.db")


def test_a_store_on_a_read_only_disk_can_be_read(tmp_path, monkeypatch):
    """As root, permissions do not bind; so the read-only open fails here as it does on such a disk."""
    heuristic = filled(tmp_path / "s.db")
    whole = sqlite3.connect

    def refused(target, *args, **options):
        if "mode=r" in str(target):
            error = sqlite3.OperationalError("attempt to write a readonly database")
            error.sqlite_errorcode = sqlite3.SQLITE_READONLY
            raise error
        return whole(target, *args, **options)

    monkeypatch.setattr(sqlite3, "connect", refused)
    with Store.read(tmp_path / "s.db") as store:
        assert store.heuristic(heuristic.id) == heuristic


def test_a_full_disk_is_said_and_goes_on_once_there_is_room(tmp_path):
    heuristic = filled(tmp_path / "s.db")
    with Store.open(tmp_path / "s.db") as store:
        experiment = store.experiment("one")
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        many = [Run(5, 0, heuristic.id, repeat, 1, failure="x" * 100) for repeat in range(500)]
        with pytest.raises(StoreFullError, match="make room"):
            store.add(experiment, many)
        assert store.count_runs(experiment) == (3, 1)
        store._connection.execute("PRAGMA max_page_count = 1000000")
        store.add(experiment, many)
        assert store.count_runs(experiment) == (503, 501)


def test_a_heuristic_that_was_tampered_with_is_refused(tmp_path):
    heuristic = filled(tmp_path / "s.db")
    connection = sqlite3.connect(tmp_path / "s.db")
    with connection:
        connection.execute('UPDATE heuristic SET json = \'{"format": "robustforge-heuristic/1"}\'')
    connection.close()
    with Store.read(tmp_path / "s.db") as store, pytest.raises(RobustforgeError):
        store.heuristic(heuristic.id)


def test_an_unknown_name_is_said(tmp_path):
    filled(tmp_path / "s.db")
    with Store.read(tmp_path / "s.db") as store, pytest.raises(RobustforgeError, match="'two'"):
        store.experiment("two")
