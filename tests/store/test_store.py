"""The store: one writer, readers that never block it, and an error for every file that is not a store."""

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
        experiment = store.add_experiment("one", "evolution", SETTINGS, {"name": "paper"})
        store.add_heuristics([heuristic])
        store.add_runs(
            experiment, [Run(0, 0, heuristic.id, 0, 7, value=1 / 3, estimate=math.nan, nfev=10, seconds=0.5)]
        )
        store.add_runs(
            experiment,
            [
                Run(0, 0, heuristic.id, 1, 8, failure="ValueError: no"),
                Run(FINAL, 0, heuristic.id, 0, 2**62, value=math.inf),
            ],
        )
        store.add_generation(experiment, 0, [heuristic.id])
        store.mark_finished(experiment, heuristic.id)
    return heuristic


def test_records_are_read_back_exactly(tmp_path):
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


def test_a_closed_store_is_one_file(tmp_path):
    filled(tmp_path / "s.db")
    assert os.listdir(tmp_path) == ["s.db"]
    with Store.read(tmp_path / "s.db") as store:
        store.experiments()
    assert os.listdir(tmp_path) == ["s.db"]


def test_readers_see_commits_of_the_writer(tmp_path):
    heuristic = rf.heuristic("rpso")
    with Store.open(tmp_path / "s.db") as writer:
        experiment = writer.add_experiment("one", "evolution", SETTINGS, {})
        with Store.read(tmp_path / "s.db") as reader:
            for repeat in range(5):
                writer.add_runs(experiment, [Run(0, 0, heuristic.id, repeat, 1, value=2.0)])
                assert len(reader.runs(experiment)) == repeat + 1


def test_an_active_reader_does_not_block_the_writer(tmp_path):
    heuristic = filled(tmp_path / "s.db")
    reader = sqlite3.connect(f"file:{tmp_path / 's.db'}?mode=ro", uri=True, isolation_level=None)
    with Store.open(tmp_path / "s.db") as writer:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM run").fetchone() == (3,)
        writer.add_runs(writer.experiment("one"), [Run(1, 0, heuristic.id, 0, 1)])
        assert reader.execute("SELECT count(*) FROM run").fetchone() == (3,)
        reader.execute("COMMIT")
        assert reader.execute("SELECT count(*) FROM run").fetchone() == (4,)
    reader.close()


def test_a_run_cannot_be_stored_twice(tmp_path):
    heuristic = filled(tmp_path / "s.db")
    with Store.open(tmp_path / "s.db") as store, pytest.raises(StoreError, match="UNIQUE"):
        store.add_runs(store.experiment("one"), [Run(0, 0, heuristic.id, 0, 7)])


def test_there_is_one_writer(tmp_path):
    with Store.open(tmp_path / "s.db"), pytest.raises(StoreError, match="another process has locked the store"):
        Store.open(tmp_path / "s.db")
    Store.open(tmp_path / "s.db").close()


READ = "import sys; from robustforge.store import Store; Store.read(sys.argv[1]).close()"


def test_a_refused_second_writer_changes_nothing(tmp_path):
    """Opening and closing the file again would drop SQLite's locks, and let a reader remove the log."""
    path, heuristic = tmp_path / "s.db", rf.heuristic("rpso")
    code = f"""
import os, subprocess, sys
from robustforge.errors import StoreError
from robustforge.store import Run, Store
store = Store.open(sys.argv[1])
experiment = store.add_experiment("one", "evolution", {{}}, {{}})
store.add_runs(experiment, [Run(0, 0, "{heuristic.id}", 0, 1, value=2.0)])
try:
    Store.open(sys.argv[1])
except StoreError:
    pass
subprocess.run([sys.executable, "-c", {READ!r}, sys.argv[1]], check=True)
store.add_runs(experiment, [Run(0, 0, "{heuristic.id}", 1, 1, value=2.0)])
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    with Store.read(path) as store:
        assert len(store.runs(store.experiment("one"))) == 2


def test_the_name_of_a_database_in_memory_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    filled(":memory:")
    assert os.listdir(tmp_path) == [":memory:"]


def test_the_lock_is_released_with_its_process(tmp_path):
    code = "import os, sys; from robustforge.store import Store; s = Store.open(sys.argv[1]); os.kill(os.getpid(), 9)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "s.db")], check=False)
    assert done.returncode == -9
    Store.open(tmp_path / "s.db").close()


def test_other_settings_are_refused_with_the_differences(tmp_path):
    filled(tmp_path / "s.db")
    with Store.open(tmp_path / "s.db") as store:
        assert store.find("one", "evolution", dict(SETTINGS), {}).name == "one"
        with pytest.raises(StoreError, match="'one' has other settings; population is 5 in the store, 6 now"):
            store.find("one", "evolution", {**SETTINGS, "population": 6}, {})
        with pytest.raises(StoreError, match='extra is null in the store, "x" now'):
            store.find("one", "evolution", {**SETTINGS, "extra": "x"}, {})
        with pytest.raises(StoreError, match="UNIQUE"):
            store.add_experiment("one", "evolution", SETTINGS, {})
        assert store.add_experiment("two", "evolution", {**SETTINGS, "population": 6}, {}).id == 2


def test_a_grammar_that_was_changed_is_named_as_it_is_now(tmp_path):
    former, present = ({**rf.grammar(name).to_dict(), "name": "paper"} for name in ("paper-0.2", "paper"))
    with Store.open(tmp_path / "s.db") as store:
        store.add_experiment("old", "evolution", {**SETTINGS, "grammar": former["fingerprint"]}, former)
        with pytest.raises(StoreError, match=r'grammar is "paper-0\.2" in the store, "paper" now'):
            store.find("old", "evolution", {**SETTINGS, "grammar": present["fingerprint"]}, present)


def test_another_ranking_of_a_generation_is_refused(tmp_path):
    heuristic = filled(tmp_path / "s.db")
    with Store.open(tmp_path / "s.db") as store:
        store.add_generation(store.experiment("one"), 0, [heuristic.id])
        with pytest.raises(StoreError, match="another result now"):
            store.add_generation(store.experiment("one"), 0, ["another"])


@pytest.mark.parametrize("how", [Store.open, Store.read])
def test_other_files_are_refused_and_not_changed(tmp_path, how):
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


def test_opening_a_store_does_not_change_it(tmp_path):
    Store.open(tmp_path / "s.db").close()
    assert os.listdir(tmp_path) == []
    filled(tmp_path / "s.db")
    before = (tmp_path / "s.db").read_bytes()
    with Store.open(tmp_path / "s.db") as store:
        store.find("one", "evolution", SETTINGS, {})
    assert (tmp_path / "s.db").read_bytes() == before


def test_files_that_cannot_be_opened(tmp_path):
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
    """Root ignores permissions, so the test makes the other modes fail as on a read-only disk."""
    heuristic = filled(tmp_path / "s.db")
    connect = sqlite3.connect

    def refused(target, *args, **options):
        if "mode=r" in str(target):
            error = sqlite3.OperationalError("attempt to write a readonly database")
            error.sqlite_errorcode = sqlite3.SQLITE_READONLY
            raise error
        return connect(target, *args, **options)

    monkeypatch.setattr(sqlite3, "connect", refused)
    with Store.read(tmp_path / "s.db") as store:
        assert store.heuristic(heuristic.id) == heuristic


def test_a_full_disk_is_reported_and_writing_continues_afterwards(tmp_path):
    heuristic = filled(tmp_path / "s.db")
    with Store.open(tmp_path / "s.db") as store:
        experiment = store.experiment("one")
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        many = [Run(5, 0, heuristic.id, repeat, 1, failure="x" * 100) for repeat in range(500)]
        with pytest.raises(StoreFullError, match="free disk space"):
            store.add_runs(experiment, many)
        assert store.count_runs(experiment) == (3, 1)
        store._connection.execute("PRAGMA max_page_count = 1000000")
        store.add_runs(experiment, many)
        assert store.count_runs(experiment) == (503, 501)


def test_an_edited_heuristic_is_refused(tmp_path):
    heuristic = filled(tmp_path / "s.db")
    connection = sqlite3.connect(tmp_path / "s.db")
    with connection:
        connection.execute('UPDATE heuristic SET json = \'{"format": "robustforge-heuristic/1"}\'')
    connection.close()
    with Store.read(tmp_path / "s.db") as store, pytest.raises(RobustforgeError):
        store.heuristic(heuristic.id)


def test_an_unknown_name(tmp_path):
    filled(tmp_path / "s.db")
    with Store.read(tmp_path / "s.db") as store, pytest.raises(RobustforgeError, match="unknown evolution 'two'"):
        store.experiment("two")
