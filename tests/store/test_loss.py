"""Stores that are deleted, replaced, truncated or locked out while they are written to; and disks that fill up."""

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
from robustforge.store import Run, Store, guard
from robustforge.store.lock import Lock

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
        store.begin("another", "evolution", {"a": "b" * 20_000}, {})
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


@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("lose", LOSSES)
def test_a_loss_is_noticed_at_the_next_commit_and_nothing_is_lost(folder, lose, earlier):
    if earlier:
        with Store.open("s.db") as store:
            experiment = store.begin("one", "evolution", {}, {})
            store.add(experiment, map(run, range(50)))
    with Store.open("s.db") as store:
        experiment = store.experiment("one") if earlier else store.begin("one", "evolution", {}, {})
        store.add(experiment, map(run, range(50, 100)))
        lose()
        with pytest.raises(StoreLostError, match=LOSSES[lose]) as caught:
            store.add(experiment, [run(100)])
        assert caught.value.rescued == str(folder / "s.db-rescued")
        with pytest.raises(StoreLostError):  # and nothing goes to whatever is there now
            store.add(experiment, [run(101)])
    found = [each.repeat for each in runs("s.db-rescued")]
    assert found == list(range(0 if earlier else 50, 101))
    assert not {"s.db-wal", "s.db-shm", "s.db-lock"} & set(os.listdir())
    os.replace("s.db-rescued", "s.db")
    with Store.open("s.db") as store:  # the same process goes on with it
        store.add(store.experiment("one"), [run(101)])
    assert len(runs("s.db")) == len(found) + 1


def test_a_loss_after_the_last_commit_is_noticed_at_the_end(folder):
    store = Store.open("s.db")
    store.begin("one", "evolution", {}, {})
    delete()
    with pytest.raises(StoreLostError, match="was deleted"):
        store.close()
    assert os.listdir() == ["s.db-rescued"]
    assert runs("s.db-rescued") == []
    Store.open("s.db").close()  # the lock is free


def test_what_lies_in_the_place_of_a_lost_store_is_left_alone(folder):
    """SQLite deletes the log by its name when it closes a database: it may be that of another one by then."""
    code = """
import sys
from robustforge.store import Store
store = Store.open("s.db")
store.begin("another", "evolution", {}, {})
print("there", flush=True)
sys.stdin.readline()
store.begin("and one more", "evolution", {}, {})
sys.stdin.readline()
import os; os.kill(os.getpid(), 9)
"""
    store = Store.open("s.db")
    store.begin("one", "evolution", {}, {})
    delete_all()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    other = subprocess.Popen([sys.executable, "-c", code], **pipes)
    try:
        assert other.stdout.readline() == "there\n"
        with pytest.raises(StoreLostError, match="was replaced"):
            store.close()
        assert os.path.exists("s.db-wal")
        assert Lock.is_held("s.db")
        other.stdin.write("\n\n")
        other.stdin.flush()
        assert other.wait(30) == -9
    finally:
        other.kill()
        other.communicate()
    with Store.read("s.db") as found:
        assert [each.name for each in found.experiments()] == ["another", "and one more"]


def test_files_left_beside_a_store_that_was_deleted_do_no_harm(folder):
    with Store.open("s.db") as store:
        store.begin("one", "evolution", {}, {})
        for name in ("s.db-wal", "s.db-shm"):
            shutil.copy(name, f"kept{name}")
    os.unlink("s.db")
    for name in ("s.db-wal", "s.db-shm"):
        os.rename(f"kept{name}", name)
    with Store.open("s.db") as store:
        store.begin("two", "evolution", {}, {})
    with Store.read("s.db") as store:
        assert [each.name for each in store.experiments()] == ["two"]


def test_a_rescued_file_takes_nobodys_place(folder):
    Path("s.db-rescued").write_text("mine")
    store = Store.open("s.db")
    store.begin("one", "evolution", {}, {})
    delete()
    with pytest.raises(StoreLostError) as caught:
        store.close()
    assert caught.value.rescued.endswith("s.db-rescued-2")
    assert Path("s.db-rescued").read_text() == "mine"


def test_a_folder_that_is_deleted_takes_the_rescued_file_elsewhere(folder, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    os.mkdir("inside")
    store = Store.open("inside/s.db")
    store.begin("one", "evolution", {}, {})
    shutil.rmtree("inside")
    with pytest.raises(StoreLostError) as caught:
        store.close()
    assert caught.value.rescued == str(folder / "s.db-rescued")
    assert runs("s.db-rescued") == []


def test_a_long_log_is_written_into_the_store_in_between(folder, monkeypatch):
    monkeypatch.setattr("robustforge.store.database._LONGEST_LOG", 50_000)
    with Store.open("s.db") as store:
        experiment = store.begin("one", "evolution", {}, {})
        sizes = []
        for first in range(0, 3000, 100):
            store.add(experiment, map(run, range(first, first + 100)))
            sizes.append(os.stat("s.db-wal").st_size)
        assert os.stat("s.db").st_size > 100_000
        assert max(sizes) < 150_000
        with closing(sqlite3.connect("s.db")) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM run").fetchone()
            for first in range(3000, 5000, 100):  # a reader may hold it up, and does no harm
                store.add(experiment, map(run, range(first, first + 100)))
    assert len(runs("s.db")) == 5000


# --- the lock


OPEN = """
import sys
from robustforge.store import Store
Store.open(sys.argv[1]).begin("other", "evolution", {}, {})
"""


def attempt(path):
    """Write to a store in another process; returns what it says if it must not."""
    done = subprocess.run([sys.executable, "-c", OPEN, path], check=False, capture_output=True, text=True)
    return done.stderr


@pytest.mark.parametrize("path", ["s.db", "link.db"])
def test_a_deleted_lock_file_lets_nobody_in(folder, path):
    os.symlink("s.db", "link.db")
    with Store.open("s.db") as store:
        experiment = store.begin("one", "evolution", {}, {})
        os.unlink("s.db-lock")
        assert "has one writer at a time" in attempt(path)
        with pytest.raises(StoreError, match="one writer"):
            Store.open("s.db")
        store.add(experiment, [run(0)])
        assert Lock.is_held("s.db")  # the file is there again
        assert f"locked (pid {os.getpid()})" in attempt(path)
        store.add(experiment, [run(1)])
    assert len(runs("s.db")) == 2
    assert sorted(os.listdir()) == ["link.db", "s.db"]
    assert attempt(path) == ""


def test_a_lock_file_deleted_before_there_is_a_store_lets_one_writer_in(folder):
    with Store.open("s.db") as one:
        os.unlink("s.db-lock")
        with Store.open("s.db") as other:
            other.begin("other", "evolution", {}, {})
            with pytest.raises(StoreError, match="one writer"):
                one.begin("one", "evolution", {}, {})
    with Store.read("s.db") as store:
        assert [each.name for each in store.experiments()] == ["other"]


def test_without_locks_on_the_file_itself_the_first_writer_stops(folder, monkeypatch):
    """On systems that have no such locks, and some file systems."""
    monkeypatch.setattr(guard, "_SET", None)
    with Store.open("s.db") as one:
        experiment = one.begin("one", "evolution", {}, {})
        os.unlink("s.db-lock")
        one.add(experiment, [run(0)])
        os.unlink("s.db-lock")
        guard._guarded.clear()
        with Store.open("s.db"), pytest.raises(StoreWriteError, match="another process has the store locked now"):
            one.add(experiment, [run(1)])


def test_readers_read_while_it_is_written_also_without_a_lock_file(folder):
    with Store.open("s.db") as store:
        experiment = store.begin("one", "evolution", {}, {})
        os.unlink("s.db-lock")
        for repeat in range(3):
            store.add(experiment, [run(repeat)])
            assert len(runs("s.db")) == repeat + 1


def test_descriptors_are_closed(folder):
    def count():
        return len(os.listdir("/proc/self/fd"))

    before = count()
    for _ in range(3):
        with Store.open("s.db") as store:
            with suppress(StoreError):
                store.begin("one", "evolution", {}, {})
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
    """A connection whose commits fail from some moment on."""

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
def test_a_disk_that_fails_is_said_and_what_was_stored_is_safe(folder, refusing, message, code):
    with Store.open("s.db") as store:
        experiment = store.begin("one", "evolution", {}, {})
        store.add(experiment, [run(0)])
        refusing.error = failing(message, code)
        with pytest.raises(StoreFullError, match=message):
            store.add(experiment, [run(1)])
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
    os.replace(caught.value.rescued, "s.db")
    again = rf.evolve(rf.problem("sphere", 2), store="s.db", **SMALL)
    assert again.progress.found
    assert again.champion == rf.evolve(rf.problem("sphere", 2), **SMALL).champion


def test_an_evolution_without_a_generation_has_nothing_to_return(folder, refusing):
    refusing.error = failing("database or disk is full", sqlite3.SQLITE_FULL)
    with pytest.raises(StoreFullError) as caught:
        rf.evolve(rf.problem("sphere", 2), store="s.db", **SMALL)
    assert caught.value.result is None


def test_an_assessment_whose_store_is_deleted_returns_what_was_run(folder):
    given = {"runs": 30, "samples": 50, "budget": 60, "store": "s.db", "attack": False}

    def callback(progress):
        if progress.made >= 10 and os.path.exists("s.db"):
            delete()

    with pytest.raises(StoreLostError) as caught:
        rf.assess(["rpso", "random"], rf.problem("sphere", 2), callback=callback, workers=1, **given)
    made = caught.value.result
    assert 10 <= len(made.runs) < 60
    assert made.new == len(made.runs)
    assert made.summaries()
    os.replace(caught.value.rescued, "s.db")
    found = rf.assess(["rpso", "random"], rf.problem("sphere", 2), **given)
    assert found.new < 60 - 10


# --- what is no file


def test_what_is_no_file_is_refused(folder):
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


def test_paths_that_lead_nowhere_are_refused(folder):
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
        store.begin("one", "evolution", {}, {})
    assert runs("gone.db") == []


def test_a_link_leads_to_the_store(folder):
    os.mkdir("inside")
    os.symlink("inside/s.db", "link.db")
    with Store.open("link.db") as store:
        store.begin("one", "evolution", {}, {})
        with pytest.raises(StoreError, match="one writer"):
            Store.open("inside/s.db")
    assert runs("inside/s.db") == runs("link.db") == []
    assert sorted(os.listdir()) == ["inside", "link.db"]


def test_a_name_that_is_no_text_is_refused(folder):
    with Store.open("s.db") as store, pytest.raises(StoreError, match="valid Unicode"):
        store.begin("\udcff", "evolution", {}, {})
