"""The guard: no model outlives the search that started it, however that ends; and nobody else is touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from processes import alive, gone, text_of
from robustforge.model import guard
from robustforge.model.runs import Runs


@pytest.fixture
def sleeper():
    """A process in a group of its own."""
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def started() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-I", "-S", guard.__file__], stdin=subprocess.PIPE, bufsize=0)


@pytest.mark.parametrize(
    ("pieces", "groups", "mark"),
    [
        ([b"?a-0\n+12\n?a-1\n+3", b"4\n-12", b"\n+56\n-99\n", b"+7"], {34, 56}, ""),
        ([b"?a-0\n+12\n?a-", b"1\n?a-2\n"], {12}, "a-2"),
        ([], set(), ""),
    ],
)
def test_the_list_is_kept_however_it_arrives(pieces, groups, mark):
    read, write = os.pipe()
    for piece in pieces:
        os.write(write, piece)
    os.close(write)
    assert guard.left(read) == (groups, mark)
    os.close(read)


def test_it_finds_one_that_was_about_to_start(sleeper):
    process = started()
    process.stdin.write(b"?us-1\n")
    process.stdin.close()  # and only now does it start
    late = subprocess.Popen(["sleep", "60"], start_new_session=True, env={**os.environ, guard.VARIABLE: "us-1"})
    other = subprocess.Popen(["sleep", "60"], start_new_session=True, env={**os.environ, guard.VARIABLE: "us-11"})
    assert late.wait(5) == -signal.SIGKILL
    assert process.wait(5) == 0
    assert other.poll() is None
    assert sleeper.poll() is None
    other.kill()
    other.wait()


def test_it_kills_what_is_listed_and_nothing_else(sleeper):
    other = subprocess.Popen(["sleep", "60"], start_new_session=True)
    process = started()
    process.stdin.write(b"+%d\n+%d\n-%d\n+%d\n" % (other.pid, sleeper.pid, other.pid, 2**22 + 1))
    process.stdin.close()
    assert process.wait(5) == 0
    assert sleeper.wait(2) == -signal.SIGKILL
    assert other.poll() is None
    other.kill()
    other.wait()


def test_it_stays_when_told_to_go(sleeper):
    process = started()
    process.stdin.write(b"+%d\n" % sleeper.pid)
    status = Path(f"/proc/{process.pid}/status")
    while not int(status.read_text().partition("SigIgn:\t")[2].split()[0], 16) & 1 << signal.SIGTERM - 1:
        time.sleep(0.01)
    for number in (signal.SIGINT, signal.SIGTERM):
        process.send_signal(number)
    time.sleep(0.05)
    assert process.poll() is None
    assert sleeper.poll() is None
    process.stdin.close()
    assert process.wait(5) == 0
    assert sleeper.wait(2) == -signal.SIGKILL


SEARCH = """
import os, signal, sys
from pathlib import Path
from robustforge.model.command import Command
here = Path(sys.argv[1])
if sys.argv[2] == "fork":
    Command(("true",), here).run({}, 0)
    if os.fork() == 0:
        Path(here / "fork").write_text(f"{os.getpid()}\\n")
        signal.pause()
Command(("sh", "{here}/model.sh", "{here}"), here).run({}, 1)
"""


@pytest.mark.parametrize("how", ["plain", "fork"])
def test_models_end_with_a_search_that_is_killed(tmp_path, how):
    (tmp_path / "model.sh").write_text("trap '' TERM HUP INT; sleep 60 & echo $! > $1/child; echo $$ > $1/pid; wait")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    search = subprocess.Popen([sys.executable, "-c", SEARCH, str(tmp_path), how], env=environment)
    try:
        pids = [int(text_of(tmp_path / name)) for name in ("pid", "child")]
        assert all(map(alive, pids))
    finally:
        search.kill()
        search.wait()
    try:
        assert all(map(gone, pids))
    finally:
        if how == "fork":
            os.kill(int(text_of(tmp_path / "fork")), signal.SIGKILL)


def test_models_of_threads_nobody_waits_for_end_with_the_interpreter(tmp_path):
    (tmp_path / "model.sh").write_text("echo $$ > $1/pid; sleep 60")
    code = SEARCH.replace('Command(("sh"', 'import threading, time\nrun = lambda: Command(("sh"') + (
        "threading.Thread(target=run, daemon=True).start()\nwhile not (here / 'pid').exists(): time.sleep(0.01)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path), "plain"], timeout=30).returncode == 0
    assert gone(int(text_of(tmp_path / "pid")))


def guard_of(runs: Runs) -> subprocess.Popen[bytes]:
    return runs._lifeline._guard


def test_a_guard_that_was_killed_is_replaced(tmp_path):
    with Runs() as runs:
        model = runs.start(["sleep", "60"], tmp_path)
        first = guard_of(runs)
        first.kill()
        first.wait()
        other = runs.start(["true"], tmp_path)
        second = guard_of(runs)
        assert second.pid != first.pid
        assert model.poll() is None
        os.close(os.dup(second.stdin.fileno()))  # it is open
        second.stdin.close()  # as if we were gone
        assert model.wait(2) == -signal.SIGKILL
        other.wait()
        for process in (model, other):
            process.stdout.close()
            process.stderr.close()


def test_a_guard_that_was_stopped_stops_nobody(tmp_path):
    with Runs() as runs:
        model = runs.start(["sleep", "60"], tmp_path)
        first = guard_of(runs)
        first.send_signal(signal.SIGSTOP)
        while guard_of(runs) is first:
            runs._tell("+999999\n-999999\n")
        assert first.poll() == -signal.SIGKILL
        assert model.poll() is None
        runs.end(model)
        assert model.wait(2) == -signal.SIGKILL
        model.stdout.close()
        model.stderr.close()


def test_close_ends_all_and_the_guard(tmp_path):
    with Runs() as runs:
        model = runs.start(["sleep", "60"], tmp_path)
        process = guard_of(runs)
    assert model.wait(2) == -signal.SIGKILL
    assert process.poll() == -signal.SIGKILL
    assert runs.start(["true"], tmp_path) is None
    runs.end(model)  # by the thread that ran it, which comes later
    runs.close()
    model.stdout.close()
    model.stderr.close()


def test_a_guard_has_almost_nothing_to_load():
    how = ["-I", "-S", "-X", "importtime", guard.__file__]
    report = subprocess.run([sys.executable, *how], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    modules = {line.rpartition("|")[2].strip() for line in report.stderr.splitlines()}
    assert {"os", "signal"} < modules
    assert not {"site", "contextlib", "subprocess", "threading", "robustforge"} & modules
