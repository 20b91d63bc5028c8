"""The process registry and the orphan guard: no model outlives its search, and no other process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from processes import alive, gone, text_of
from robustforge.simulator import orphan_guard
from robustforge.simulator.process_registry import ProcessRegistry


@pytest.fixture
def sleeper():
    """A process in its own group."""
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def start_guard() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-I", "-S", orphan_guard.__file__], stdin=subprocess.PIPE, bufsize=0)


@pytest.mark.parametrize(
    ("pieces", "groups", "mark"),
    [
        ([b"?a-0\n+12\n?a-1\n+3", b"4\n-12", b"\n+56\n-99\n", b"+7"], {34, 56}, ""),
        ([b"?a-0\n+12\n?a-", b"1\n?a-2\n"], {12}, "a-2"),
        ([], set(), ""),
    ],
)
def test_lines_may_arrive_in_pieces(pieces, groups, mark):
    read, write = os.pipe()
    for piece in pieces:
        os.write(write, piece)
    os.close(write)
    assert orphan_guard.remaining_groups(read) == (groups, mark)
    os.close(read)


def test_the_guard_finds_a_model_that_was_starting(sleeper):
    process = start_guard()
    process.stdin.write(b"?us-1\n")
    process.stdin.close()  # before the model starts
    late = subprocess.Popen(
        ["sleep", "60"], start_new_session=True, env={**os.environ, orphan_guard.MARK_VARIABLE: "us-1"}
    )
    other = subprocess.Popen(
        ["sleep", "60"], start_new_session=True, env={**os.environ, orphan_guard.MARK_VARIABLE: "us-11"}
    )
    assert late.wait(5) == -signal.SIGKILL
    assert process.wait(5) == 0
    assert other.poll() is None
    assert sleeper.poll() is None
    other.kill()
    other.wait()


def test_the_guard_kills_the_registered_groups_and_no_other(sleeper):
    other = subprocess.Popen(["sleep", "60"], start_new_session=True)
    process = start_guard()
    process.stdin.write(b"+%d\n+%d\n-%d\n+%d\n" % (other.pid, sleeper.pid, other.pid, 2**22 + 1))
    process.stdin.close()
    assert process.wait(5) == 0
    assert sleeper.wait(2) == -signal.SIGKILL
    assert other.poll() is None
    other.kill()
    other.wait()


def test_the_guard_ignores_signals(sleeper):
    process = start_guard()
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
from robustforge.simulator.command_model import CommandModel
here = Path(sys.argv[1])
if sys.argv[2] == "fork":
    CommandModel(("true",), here).run({}, 0)
    if os.fork() == 0:
        Path(here / "fork").write_text(f"{os.getpid()}\\n")
        signal.pause()
CommandModel(("sh", "{here}/model.sh", "{here}"), here).run({}, 1)
"""


@pytest.mark.parametrize("how", ["plain", "fork"])
def test_models_end_when_their_search_is_killed(tmp_path, how):
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


def test_models_of_daemon_threads_end_with_the_interpreter(tmp_path):
    (tmp_path / "model.sh").write_text("echo $$ > $1/pid; sleep 60")
    code = SEARCH.replace('CommandModel(("sh"', 'import threading, time\nrun = lambda: CommandModel(("sh"') + (
        "threading.Thread(target=run, daemon=True).start()\nwhile not (here / 'pid').exists(): time.sleep(0.01)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path), "plain"], timeout=30).returncode == 0
    assert gone(int(text_of(tmp_path / "pid")))


def guard_of(registry: ProcessRegistry) -> subprocess.Popen[bytes]:
    return registry._guard._process


def test_a_killed_guard_is_replaced(tmp_path):
    with ProcessRegistry() as registry:
        model = registry.start(["sleep", "60"], tmp_path)
        first = guard_of(registry)
        first.kill()
        first.wait()
        other = registry.start(["true"], tmp_path)
        second = guard_of(registry)
        assert second.pid != first.pid
        assert model.poll() is None
        os.close(os.dup(second.stdin.fileno()))  # it is open
        second.stdin.close()  # as if this process had ended
        assert model.wait(2) == -signal.SIGKILL
        other.wait()
        for process in (model, other):
            process.stdout.close()
            process.stderr.close()


def test_a_suspended_guard_blocks_nothing(tmp_path):
    with ProcessRegistry() as registry:
        model = registry.start(["sleep", "60"], tmp_path)
        first = guard_of(registry)
        first.send_signal(signal.SIGSTOP)
        while guard_of(registry) is first:
            registry._notify_guard("+999999\n-999999\n")
        assert first.poll() == -signal.SIGKILL
        assert model.poll() is None
        registry.terminate(model)
        assert model.wait(2) == -signal.SIGKILL
        model.stdout.close()
        model.stderr.close()


def test_close_ends_all_models_and_the_guard(tmp_path):
    with ProcessRegistry() as registry:
        model = registry.start(["sleep", "60"], tmp_path)
        process = guard_of(registry)
    assert model.wait(2) == -signal.SIGKILL
    assert process.poll() == -signal.SIGKILL
    assert registry.start(["true"], tmp_path) is None
    registry.terminate(model)  # later, by the thread that ran it
    registry.close()
    model.stdout.close()
    model.stderr.close()


def test_the_guard_imports_almost_nothing():
    how = ["-I", "-S", "-X", "importtime", orphan_guard.__file__]
    report = subprocess.run([sys.executable, *how], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    modules = {line.rpartition("|")[2].strip() for line in report.stderr.splitlines()}
    assert {"os", "signal"} < modules
    assert not {"site", "contextlib", "subprocess", "threading", "robustforge"} & modules
