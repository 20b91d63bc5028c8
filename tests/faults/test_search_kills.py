"""Killed searches, killed models and misbehaving models: the result is that of an undisturbed search."""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from processes import alive, gone
from robustforge.errors import ObjectiveError, StoreError
from robustforge.simulator.problem_file import read_problem_file
from robustforge.simulator.worker_pool import model_workers
from robustforge.solver import StoredSearch, solution_from_result
from robustforge.store import SEARCH, Store

KILLS, BUDGET = int(os.environ.get("ROBUSTFORGE_TEST_KILLS", "10")), 80
HEAD = f"""\
name = "bowl"
budget = {BUDGET}
heuristic = "rpso+dd"
[variables]
a = {{ bounds = [-2, 3], tolerance = 0.2 }}
b = {{ bounds = [1, 100], tolerance = "5%" }}
[model]
"""
COMMAND = 'command = ["sh", "{here}/model.sh", "{a}", "{b}", "{here}", "{dir}"]\n'
FUNCTION = 'function = "bowls:bowl"\n'
SHELL = """\
echo ${4##*/} $$ >> $3/begun
sleep 0.01
value=$(awk -v a=$1 -v b=$2 'BEGIN { printf "%.17g", a * a + (b - 10) * (b - 10) / 100 }')
echo ${4##*/} $1 $2 >> $3/log
echo $value
"""
BOWLS = """\
import os, time
def bowl(a, b):
    note("begun", f"{a!r} {os.getpid()}")
    time.sleep(0.01)
    value = a * a + (b - 10) * (b - 10) / 100
    note("log", f"- {a!r} {b!r}")
    return value
def note(name, text):
    with open(os.path.join(os.path.dirname(__file__), name), "a") as file:
        file.write(text + "\\n")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name, model in (("command", COMMAND), ("function", FUNCTION)):
        (tmp_path / f"{name}.toml").write_text(HEAD + model)
    (tmp_path / "model.sh").write_text(SHELL)
    (tmp_path / "bowls.py").write_text(BOWLS)
    return tmp_path


def stored(path):
    """All rows of the search in a store, by number; empty until the store exists."""
    try:
        with Store.read(path) as store:
            return {row.number: row for row in store.evaluations(store.experiment("bowl", SEARCH))}
    except StoreError:
        return {}


def timeless(rows):
    return {number: repr(replace(row, seconds=0.0)) for number, row in rows.items()}


def lines(path):
    """The complete lines of a model's log."""
    return [line.split() for line in path.read_text().split("\n")[:-1]] if path.exists() else []


def solved(file, path, workers=1, callback=lambda search: None):
    """Solve in this process; return the solution and the rows."""
    with Store.open(path, durable=True) as store, model_workers(file.model, workers, Path(f"{path}-runs")) as submit:
        answer = solution_from_result(file, StoredSearch.open(file, store).solve(submit, callback))
    return answer, stored(path)


# --- the solving process is killed


@pytest.mark.parametrize(("kind", "workers"), [("command", 1), ("command", 2), ("function", 2)])
def test_kills_at_random_times_change_nothing(folder, forks, kind, workers):
    file = read_problem_file(folder / f"{kind}.toml")
    whole, undisturbed = solved(file, folder / "undisturbed.db", workers)
    assert len(undisturbed) == BUDGET
    log, path, answer = folder / "log", folder / "killed.db", folder / "answer.json"
    log.unlink()
    solve = ["solve", file.path, "--store", path, "--workers", workers, "-o", answer]
    rng = np.random.default_rng(workers)
    before: dict = {}
    for threshold in np.sort(rng.integers(0, BUDGET - 25, KILLS)):
        already = len(lines(log))
        child = forks.start(*solve, folder=folder)
        deadline = time.monotonic() + 30
        while len(lines(log)) < threshold + already - len(before) and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(float(rng.uniform(0.0, 0.06)))
        os.kill(child, signal.SIGKILL)
        assert forks.wait() == -signal.SIGKILL, "it ended before it was killed: slow the setting down"
        after = stored(path)
        assert all(after.get(number) == row for number, row in before.items())  # exactly, timings included
        assert not points(lines(log)[already:]) & logged_points(file, before)  # stored runs are not repeated
        assert logged_points(file, after) <= points(lines(log))  # and all stored points were run
        before = after
    assert 0 < len(before) < BUDGET
    forks.start(*solve, folder=folder)
    assert forks.wait() == 0
    rows = stored(path)
    assert all(rows[number] == row for number, row in before.items())
    assert timeless(rows) == timeless(undisturbed)
    record = json.loads(answer.read_text())
    assert (record["design"], record["worst"], record["nominal"]) == (whole.design, whole.worst, whole.nominal)
    assert BUDGET <= len(lines(log)) <= BUDGET + 2 * KILLS * workers  # a run under way, and one not stored yet
    assert points(lines(log)) == logged_points(file, rows)
    left = {each.name for each in folder.glob("killed.db*")}
    assert left - {"killed.db-runs"} == {"killed.db"}


def points(noted):
    """The points of lines in the log."""
    return {(a, b) for _, a, b in noted}


def logged_points(file, rows):
    """The points of stored rows, as the model logs them."""
    decoded = (file.variables.decode(np.array(row.x)) for row in rows.values())
    return {tuple(map(repr, values.values())) for values in decoded}


def test_a_killed_search_leaves_no_folders_of_runs(folder, forks):
    solve = ["solve", folder / "command.toml", "--store", folder / "killed.db", "--budget", 30]
    for threshold in (3, 9):
        child = forks.start(*solve, folder=folder)
        while len(lines(folder / "begun")) < threshold:
            time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
        forks.wait()
    forks.start(*solve, folder=folder)
    assert forks.wait() == 0
    assert not (folder / "killed.db-runs").exists()


def test_a_kill_before_a_failed_run_is_deleted(folder, monkeypatch):
    """Under "raise" a failed run is stored, and deleted once the batch is complete; a kill may come between."""
    broken = SHELL.replace("echo $value", "[ -e $3/broken ] && exit 7; echo $value")
    (folder / "model.sh").write_text(broken.replace("sleep 0.01\n", ""))
    (folder / "command.toml").write_text('on_failure = "raise"\n' + HEAD.replace(str(BUDGET), "30") + COMMAND)
    (folder / "broken").touch()
    file, path = read_problem_file(folder / "command.toml"), folder / "killed.db"
    monkeypatch.setattr("robustforge.solver.stored_search.MAX_FAILED_RUNS", 99)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "delete_evaluation", lambda *arguments: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            solved(file, path)
    (folder / "broken").unlink()
    with contextlib.suppress(ObjectiveError):  # the failure may be reported once more
        solved(file, path)
    answer, rows = solved(file, path)
    assert (answer.runs, answer.failures, len(rows)) == (30, 0, 30)


# --- the models are killed


def kill_models(begun, indices, killed, stop):
    """Kill the models with these indices in the order of their start, each once, shortly after its start."""
    rng = np.random.default_rng(5)
    for index in indices:
        while len(noted := lines(begun)) - len(killed) <= index:
            if stop.is_set():
                return
            time.sleep(0.001)
        which, pid = noted[-1]
        time.sleep(float(rng.uniform(0.0, 0.008)))
        with contextlib.suppress(ProcessLookupError):  # it had ended
            if which not in killed:
                os.kill(int(pid), signal.SIGKILL)
                killed.append(which)


@pytest.mark.parametrize(("kind", "workers"), [("command", 1), ("command", 2), ("function", 1)])
def test_models_that_are_killed_are_run_once_more(folder, kind, workers):
    file = read_problem_file(folder / f"{kind}.toml")
    whole, undisturbed = solved(file, folder / "undisturbed.db", workers)
    begun = folder / "begun"
    begun.unlink()
    indices = np.arange(KILLS) * 4 + np.random.default_rng(1).integers(0, 2, KILLS)  # each at most once
    killed, stop = [], threading.Event()
    killer = threading.Thread(target=kill_models, args=(begun, indices.tolist(), killed, stop))
    killer.start()
    try:
        answer, rows = solved(file, folder / "shot.db", workers)
    finally:
        stop.set()
        killer.join()
    assert len(killed) > KILLS / 2
    assert len(lines(begun)) > BUDGET  # some were killed
    assert answer == whole
    assert timeless(rows) == timeless(undisturbed)
    assert not (folder / "shot.db-runs").exists()


# --- models that misbehave


def misbehaving(folder, script, limit=0.5, budget=20):
    """A problem whose model is a script with the number of its run in $n."""
    text = f"n=${{4##*/}}; n=${{n%%.*}}; n=${{n%%-*}}; n=${{n#00000}}; n=${{n#0000}}\n{script}\n"
    (folder / "model.sh").write_text(text)
    path = folder / "odd.toml"
    path.write_text(HEAD.replace(str(BUDGET), str(budget)) + COMMAND + f"time_limit = {limit}\n")
    return read_problem_file(path)


def failures(rows):
    return {number: row.failure for number, row in rows.items() if row.failure}


@pytest.mark.parametrize("workers", [1, 2])
def test_models_that_hang(folder, workers):
    hang = "trap '' TERM INT; sleep 60 & echo $$ $! >> $3/pids; while :; do wait; done"
    file = misbehaving(folder, f"case $n in 3|7) {hang};; esac\necho $1")
    start = time.monotonic()
    answer, rows = solved(file, folder / "odd.db", workers)
    assert time.monotonic() - start < 15
    assert failures(rows) == dict.fromkeys((3, 7), "it took longer than 0.5 s")
    assert (answer.runs, answer.failures, answer.success) == (20, 2, True)
    assert all(map(gone, [pid for line in lines(folder / "pids") for pid in line]))


def test_models_that_leave_a_child_behind(folder):
    """A grandchild that keeps the output open delays nothing, and ends with its parent."""
    file = misbehaving(folder, "sleep 60 & echo $! >> $3/pids; echo $1", limit=30)
    start = time.monotonic()
    _, rows = solved(file, folder / "odd.db", 2)
    assert time.monotonic() - start < 20
    assert not failures(rows)
    pids = [line[0] for line in lines(folder / "pids")]
    assert len(pids) == 20
    assert all(map(gone, pids))


def test_models_that_leave_a_process_in_another_session(folder):
    file = misbehaving(folder, "[ $n = 4 ] && { setsid sleep 60 & echo $! >> $3/pids; sleep 0.1; }; echo $1", limit=30)
    start = time.monotonic()
    _, rows = solved(file, folder / "odd.db")
    assert time.monotonic() - start < 20
    assert not failures(rows)
    ((pid,),) = lines(folder / "pids")
    assert alive(pid)
    os.kill(int(pid), signal.SIGKILL)


def test_models_that_print_without_end(folder):
    flood = "[ $n = 2 ] && yes 0123456789012345678901234567890 | head -c 300000000"
    file = misbehaving(folder, f"{flood}\necho\necho $1", limit=30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _, rows = solved(file, folder / "odd.db")
    assert not failures(rows)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB


def test_models_that_print_garbage(folder):
    garbage = r"printf 'x\000y\377\376\033[31m[/bold]\n\n'"
    file = misbehaving(folder, f"case $n in 1|2) {garbage}; {garbage} >&2; exit;; 5) echo 1e999;; 6) echo nan;; esac\n"
                               "[ $n = 8 ] || echo $1")  # fmt: skip
    _, rows = solved(file, folder / "odd.db")
    found = failures(rows)
    assert list(found) == [1, 2, 8]
    assert all("no number on the last line" in found[number] for number in (1, 2))
    assert found[8] == "the output is empty"
    assert rows[1].tail.startswith("x\0y��")
    with Store.read(folder / "odd.db") as store:
        json.dumps([row.tail for row in store.evaluations(store.experiment("bowl", SEARCH))]).encode()


def test_searches_on_random_models_end(folder):
    file = misbehaving(folder, "od -An -N2 -tu2 /dev/urandom", limit=30, budget=30)

    def stop(search):
        if search.runs in (4, 11, 23):
            raise KeyboardInterrupt

    before: dict = {}
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            solved(file, folder / "odd.db", 2, stop)
        after = stored(folder / "odd.db")
        assert all(after[number] == row for number, row in before.items())
        before = after
    answer, rows = solved(file, folder / "odd.db", 2)
    assert [rows[number] for number in before] == list(before.values())
    assert (len(rows), answer.success) == (30, True)
    again, same = solved(file, folder / "odd.db")
    assert again == answer
    assert same == rows


ODD = """\
import os, signal, sys, time
from pathlib import Path
def bowl(a, b):
    log = Path(__file__).with_name("log")
    with log.open("a") as file:
        file.write("x")
    number = len(log.read_text()) - 1
    if number == 1:
        time.sleep(60)
    if number == 2:
        os._exit(3)
    if number == 3:
        sys.exit(4)
    if number == 4:
        os.kill(os.getpid(), signal.SIGSEGV)
    if number == 5:
        os.write(1, b"\\xff" * 10_000_000)
    if number == 6:
        raise ValueError("[/bold]\\0")
    if number == 9:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
        time.sleep(60)
    return {7: "12", 8: float("nan"), 10: 1j, 11: float("inf"), 12: None, 13: 10**400}.get(number, a * a)
"""


def test_functions_that_misbehave(folder):
    (folder / "bowls.py").write_text(ODD)
    (folder / "odd.toml").write_text(HEAD.replace(str(BUDGET), "20") + FUNCTION + "time_limit = 0.5\n")
    answer, rows = solved(read_problem_file(folder / "odd.toml"), folder / "odd.db")
    found = failures(rows)
    words = {
        1: "0.5 s", 2: "exit code 3", 3: "4", 4: "SIGSEGV", 6: "ValueError: [/bold]", 7: "not a real number",
        8: "NaN", 9: "0.5 s", 10: "not a real number", 12: "not a real number", 13: "too large",
    }  # fmt: skip
    assert list(found) == list(words)
    assert all(words[number] in found[number] for number in words), found
    assert rows[11].value == math.inf
    assert (answer.runs, answer.failures) == (20, len(words))
    again = solved(read_problem_file(folder / "odd.toml"), folder / "odd.db")
    assert repr(again) == repr((answer, rows))  # NaN is not equal to itself


NO_TEXT = """\
import os
def bowl(a, b):
    if a > 0:
        raise ValueError("cannot read " + os.fsdecode(b"\\xff.txt"))
    return a * a
"""


def test_functions_whose_exception_is_not_valid_unicode(folder):
    (folder / "bowls.py").write_text(NO_TEXT)
    (folder / "odd.toml").write_text(HEAD.replace(str(BUDGET), "20") + FUNCTION)
    _, rows = solved(read_problem_file(folder / "odd.toml"), folder / "odd.db")
    assert failures(rows)
    assert all("cannot read" in failure for failure in failures(rows).values())
