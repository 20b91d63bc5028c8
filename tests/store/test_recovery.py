"""Stores that are deleted, replaced or truncated while they are written, locks, and full disks."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

import robustforge as rf
from robustforge.errors import StoreError, StoreFullError, StoreLostError, StoreWriteError
from robustforge.store import Run, Store, file_guard
from robustforge.store.lock_file import LockFile

SMALL = {"population": 4, "generations": 3, "repeats": 2, "budget": 60, "samples": 50, "final_repeats": 2}


def run(repeat):
    return Run(0, 0, "0123456789abcdef", repeat, 7, value=repeat / 3)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def runs(path):
    with Store.read(path) as store:
        return store.runs(store.experiment("one"))


def delete():
    os.unlink("s.db")


def delete_all():
    for path in Path().glob("s.db*"):
        path.unlink()


def delete_the_log():
    os.unlink("s.db-wal")


def rename():
    os.rename("s.db", "moved.db")


def replace_by_a_copy():
    shutil.copy("s.db", "copy.db")
    os.replace("copy.db", "s.db")


def replace_by_text():
    Path("text").write_text("no store")
    os.replace("text", "s.db")


def empty():
    os.truncate("s.db", 0)


def shorten():
    os.truncate("s.db", os.stat("s.db").st_size - 4096)


def overwrite_by_another():
    with Store.open("another.db") as store:
        store.add_experiment("another", "evolution", {"a": "b" * 20_000}, {})
    Path("s.db").write_bytes(Path("another.db").read_bytes())


LOSSES = {
    delete: "was deleted",
    delete_all: "was deleted",
    delete_the_log: "lost .*s.db-wal",
    rename: "was deleted",
    replace_by_a_copy: "was replaced",
    replace_by_text: "was replaced",
    empty: "was truncated",
    shorten: "was truncated",
    overwrite_by_another: "was overwritten",
}


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("lose", LOSSES)
def test_a_loss_is_detected_at_the_next_commit_and_recovered(folder, lose, existing):
    if existing:
        with Store.open("s.db") as store:
            experiment = store.add_experiment("one", "evolution", {}, {})
            store.add_runs(experiment, map(run, range(50)))
    with Store.open("s.db") as store:
        experiment = store.experiment("one") if existing else store.add_experiment("one", "evolution", {}, {})
        store.add_runs(experiment, map(run, range(50, 100)))
        lose()
        with pytest.raises(StoreLostError, match=LOSSES[lose]) as caught:
            store.add_runs(experiment, [run(100)])
        assert caught.value.recovery_copy == str(folder / "s.db-recovered")
        with pytest.raises(StoreLostError):  # nothing is written to the file that is there now
            store.add_runs(experiment, [run(101)])
    found = [each.repeat for each in runs("s.db-recovered")]
    assert found == list(range(0 if existing else 50, 101))
    assert not {"s.db-wal", "s.db-shm", "s.db-lock"} & set(os.listdir())
    os.replace("s.db-recovered", "s.db")
    with Store.open("s.db") as store:  # the same process continues
        store.add_runs(store.experiment("one"), [run(101)])
    assert len(runs("s.db")) == len(found) + 1


def test_a_loss_after_the_last_commit_is_detected_on_close(folder):
    store = Store.open("s.db")
    store.add_experiment("one", "evolution", {}, {})
    delete()
    with pytest.raises(StoreLostError, match="was deleted"):
        store.close()
    assert os.listdir() == ["s.db-recovered"]
    assert runs("s.db-recovered") == []
    Store.open("s.db").close()  # the lock is free


def test_the_file_in_the_place_of_a_lost_store_is_not_changed(folder):
    """SQLite deletes the log by its name when it closes a database; it may belong to another one by then."""
    code = """
import sys
from robustforge.store import Store
store = Store.open("s.db")
store.add_experiment("another", "evolution", {}, {})
print("there", flush=True)
sys.stdin.readline()
store.add_experiment("and one more", "evolution", {}, {})
sys.stdin.readline()
import os; os.kill(os.getpid(), 9)
"""
    store = Store.open("s.db")
    store.add_experiment("one", "evolution", {}, {})
    delete_all()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    other = subprocess.Popen([sys.executable, "-c", code], **pipes)
    try:
        assert other.stdout.readline() == "there\n"
        with pytest.raises(StoreLostError, match="was replaced"):
            store.close()
        assert os.path.exists("s.db-wal")
        assert LockFile.is_held("s.db")
        other.stdin.write("\n\n")
        other.stdin.flush()
        assert other.wait(30) == -9
    finally:
        other.kill()
        other.communicate()
    with Store.read("s.db") as found:
        assert [each.name for each in found.experiments()] == ["another", "and one more"]


def test_leftover_files_of_a_deleted_store_are_ignored(folder):
    with Store.open("s.db") as store:
        store.add_experiment("one", "evolution", {}, {})
        for name in ("s.db-wal", "s.db-shm"):
            shutil.copy(name, f"kept{name}")
    os.unlink("s.db")
    for name in ("s.db-wal", "s.db-shm"):
        os.rename(f"kept{name}", name)
    with Store.open("s.db") as store:
        store.add_experiment("two", "evolution", {}, {})
    with Store.read("s.db") as store:
        assert [each.name for each in store.experiments()] == ["two"]


def test_a_recovery_copy_replaces_no_file(folder):
    Path("s.db-recovered").write_text("mine")
    store = Store.open("s.db")
    store.add_experiment("one", "evolution", {}, {})
    delete()
    with pytest.raises(StoreLostError) as caught:
        store.close()
    assert caught.value.recovery_copy.endswith("s.db-recovered-2")
    assert Path("s.db-recovered").read_text() == "mine"


def test_the_recovery_copy_is_elsewhere_if_the_folder_is_deleted(folder, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    os.mkdir("inside")
    store = Store.open("inside/s.db")
    store.add_experiment("one", "evolution", {}, {})
    shutil.rmtree("inside")
    with pytest.raises(StoreLostError) as caught:
        store.close()
    assert caught.value.recovery_copy == str(folder / "s.db-recovered")
    assert runs("s.db-recovered") == []


def test_a_long_log_is_checkpointed(folder, monkeypatch):
    monkeypatch.setattr("robustforge.store.database._MAX_LOG_BYTES", 50_000)
    with Store.open("s.db") as store:
        experiment = store.add_experiment("one", "evolution", {}, {})
        sizes = []
        for first in range(0, 3000, 100):
            store.add_runs(experiment, map(run, range(first, first + 100)))
            sizes.append(os.stat("s.db-wal").st_size)
        assert os.stat("s.db").st_size > 100_000
        assert max(sizes) < 150_000
        with closing(sqlite3.connect("s.db")) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM run").fetchone()
            for first in range(3000, 5000, 100):  # a reader may delay it
                store.add_runs(experiment, map(run, range(first, first + 100)))
    assert len(runs("s.db")) == 5000


# --- the lock


OPEN = """
import sys
from robustforge.store import Store
Store.open(sys.argv[1]).add_experiment("other", "evolution", {}, {})
"""


def attempt(path):
    """Write to a store in another process; return its error message."""
    done = subprocess.run([sys.executable, "-c", OPEN, path], check=False, capture_output=True, text=True)
    return done.stderr


@pytest.mark.parametrize("path", ["s.db", "link.db"])
def test_a_deleted_lock_file_admits_no_second_writer(folder, path):
    os.symlink("s.db", "link.db")
    with Store.open("s.db") as store:
        experiment = store.add_experiment("one", "evolution", {}, {})
        os.unlink("s.db-lock")
        assert "another process has locked the store" in attempt(path)
        with pytest.raises(StoreError, match="another process has locked the store"):
            Store.open("s.db")
        store.add_runs(experiment, [run(0)])
        assert LockFile.is_held("s.db")  # the lock file was written again
        assert f"locked the store (pid {os.getpid()})" in attempt(path)
        store.add_runs(experiment, [run(1)])
    assert len(runs("s.db")) == 2
    assert sorted(os.listdir()) == ["link.db", "s.db"]
    assert attempt(path) == ""


def test_a_lock_file_deleted_before_the_store_exists_admits_one_writer(folder):
    with Store.open("s.db") as one:
        os.unlink("s.db-lock")
        with Store.open("s.db") as other:
            other.add_experiment("other", "evolution", {}, {})
            with pytest.raises(StoreError, match="another process has locked the store"):
                one.add_experiment("one", "evolution", {}, {})
    with Store.read("s.db") as store:
        assert [each.name for each in store.experiments()] == ["other"]


def test_without_locks_on_the_file_itself_the_first_writer_stops(folder, monkeypatch):
    """On systems and file systems without such locks."""
    monkeypatch.setattr(file_guard, "_SET", None)
    with Store.open("s.db") as one:
        experiment = one.add_experiment("one", "evolution", {}, {})
        os.unlink("s.db-lock")
        one.add_runs(experiment, [run(0)])
        os.unlink("s.db-lock")
        file_guard._guarded.clear()
        with Store.open("s.db"), pytest.raises(StoreWriteError, match="another process has locked the store now"):
            one.add_runs(experiment, [run(1)])


def test_readers_need_no_lock_file(folder):
    with Store.open("s.db") as store:
        experiment = store.add_experiment("one", "evolution", {}, {})
        os.unlink("s.db-lock")
        for repeat in range(3):
            store.add_runs(experiment, [run(repeat)])
            assert len(runs("s.db")) == repeat + 1


def test_descriptors_are_closed(folder):
    def count():
        return len(os.listdir("/proc/self/fd"))

    before = count()
    for _ in range(3):
        with Store.open("s.db") as store:
            with suppress(StoreError):
                store.add_experiment("one", "evolution", {}, {})
            with Store.read("s.db"), suppress(StoreError):
                Store.open("s.db")
        delete()
    assert count() == before


# --- disks


def failing(message, code):
    error = sqlite3.OperationalError(message)
    error.sqlite_errorcode = code
    return error


class Refusing(sqlite3.Connection):
    """A connection whose commits start to fail."""

    error: Exception | None = None

    def execute(self, text, *values):
        if text == "COMMIT" and self.error is not None:
            raise self.error
        return super().execute(text, *values)


ERRORS = (
    ("database or disk is full", sqlite3.SQLITE_FULL),
    ("attempt to write a readonly database", sqlite3.SQLITE_READONLY),
    ("disk I/O error", sqlite3.SQLITE_IOERR),
)


@pytest.fixture
def refusing(monkeypatch):
    monkeypatch.setattr(Refusing, "error", None)
    whole = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **options: whole(*args, factory=Refusing, **options))
    return Refusing


@pytest.mark.parametrize(("message", "code"), ERRORS)
def test_a_failing_disk_is_reported_and_stored_runs_are_safe(folder, refusing, message, code):
    with Store.open("s.db") as store:
        experiment = store.add_experiment("one", "evolution", {}, {})
        store.add_runs(experiment, [run(0)])
        refusing.error = failing(message, code)
        with pytest.raises(StoreFullError, match=message):
            store.add_runs(experiment, [run(1)])
    assert len(runs("s.db")) == 1


def stopping(refusing, generation):
    def callback(evolution):
        if len(evolution.generations) == generation:
            if refusing is None:
                delete()
            else:
                refusing.error = failing("database or disk is full", sqlite3.SQLITE_FULL)

    return callback


def test_an_evolution_whose_disk_is_full_returns_the_best_so_far(folder, refusing):
    with pytest.raises(StoreFullError) as caught:
        rf.evolve(rf.problem("sphere", 2), store="s.db", callback=stopping(refusing, 2), **SMALL)
    assert len(caught.value.result.generations) == 2
    assert isinstance(caught.value.result.champion, rf.Heuristic)
    refusing.error = None
    again = rf.evolve(rf.problem("sphere", 2), store="s.db", **SMALL)
    assert again.champion == rf.evolve(rf.problem("sphere", 2), **SMALL).champion


def test_an_evolution_whose_store_is_deleted_returns_the_best_so_far(folder):
    with pytest.raises(StoreLostError) as caught:
        rf.evolve(rf.problem("sphere", 2), store="s.db", callback=stopping(None, 2), **SMALL)
    assert len(caught.value.result.generations) == 2
    os.replace(caught.value.recovery_copy, "s.db")
    again = rf.evolve(rf.problem("sphere", 2), store="s.db", **SMALL)
    assert again.progress.stored_runs
    assert again.champion == rf.evolve(rf.problem("sphere", 2), **SMALL).champion


def test_an_evolution_without_a_generation_has_nothing_to_return(folder, refusing):
    refusing.error = failing("database or disk is full", sqlite3.SQLITE_FULL)
    with pytest.raises(StoreFullError) as caught:
        rf.evolve(rf.problem("sphere", 2), store="s.db", **SMALL)
    assert caught.value.result is None


def test_an_assessment_whose_store_is_deleted_returns_the_runs_so_far(folder):
    given = {"runs": 30, "samples": 50, "budget": 60, "store": "s.db", "attack": False}

    def callback(progress):
        if progress.new_runs >= 10 and os.path.exists("s.db"):
            delete()

    with pytest.raises(StoreLostError) as caught:
        rf.assess(["rpso", "random"], rf.problem("sphere", 2), on_progress=callback, workers=1, **given)
    made = caught.value.result
    assert 10 <= len(made.runs) < 60
    assert made.new_runs == len(made.runs)
    assert made.summaries()
    os.replace(caught.value.recovery_copy, "s.db")
    found = rf.assess(["rpso", "random"], rf.problem("sphere", 2), **given)
    assert found.new_runs < 60 - 10


# --- paths that are not files


def test_other_kinds_of_files_are_refused(folder):
    os.mkfifo("pipe")
    os.mkdir("inside")
    server = socket.socket(socket.AF_UNIX)
    server.bind("socket")
    os.symlink("pipe", "link")
    words = {"pipe": "a named pipe", "link": "a named pipe", "inside": "a folder", "socket": "a socket"}
    for path, kind in {**words, "/dev/null": "a device", "/dev/full": "a device"}.items():
        for how in (Store.open, Store.read):
            with pytest.raises(StoreError, match=f"{path} is {kind}"):
                how(path)
    server.close()
    assert sorted(os.listdir()) == ["inside", "link", "pipe", "socket"]


def test_invalid_paths_are_refused(folder):
    os.symlink("loop", "loop")
    Path("file").write_text("")
    for path in ("loop", "a\0b", "x" * 300, "file/s.db", "\udcff\0"):
        for how in (Store.open, Store.read):
            with pytest.raises(StoreError):
                how(path)
    os.symlink("gone.db", "dangling")
    with pytest.raises(StoreError, match="there is no"):
        Store.read("dangling")
    with Store.open("dangling") as store:
        store.add_experiment("one", "evolution", {}, {})
    assert runs("gone.db") == []


def test_links_are_resolved(folder):
    os.mkdir("inside")
    os.symlink("inside/s.db", "link.db")
    with Store.open("link.db") as store:
        store.add_experiment("one", "evolution", {}, {})
        with pytest.raises(StoreError, match="another process has locked the store"):
            Store.open("inside/s.db")
    assert runs("inside/s.db") == runs("link.db") == []
    assert sorted(os.listdir()) == ["inside", "link.db"]


def test_a_name_that_is_not_valid_unicode_is_refused(folder):
    with Store.open("s.db") as store, pytest.raises(StoreError, match="valid Unicode"):
        store.add_experiment("\udcff", "evolution", {}, {})
