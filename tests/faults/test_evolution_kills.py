"""An evolution that is killed at any time resumes: no stored run is lost, and none is repeated."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import robustforge as rf
from robustforge.errors import StoreError
from robustforge.store import Store
from shared import stored, timeless

KILLS = int(os.environ.get("ROBUSTFORGE_TEST_KILLS", "4"))
SETTINGS = {
    "population": 10,
    "generations": 6,
    "repeats": 8,
    "budget": 300,
    "samples": 300,
    "final_repeats": 20,
    "finalists": 2,
    "race_level": 0.05,
    "seed": 5,
}
PROBLEMS = ("rastrigin", "sphere")

PROGRAM = f"""
import sys
import robustforge as rf
from robustforge.evolution import runner

log = open(sys.argv[2], "a", buffering=1)
run_trials = runner.run_trials


def logged(problem, settings, trials):
    runs = []
    for each in trials:
        print(*each.run.key, file=log)
        runs += run_trials(problem, settings, [each])
    return runs


runner.run_trials = logged
rf.evolve([rf.problem(name, 6) for name in {PROBLEMS!r}], store=sys.argv[1], workers=2, **{SETTINGS!r})
"""


def count(path):
    try:
        with Store.read(path) as store:
            return sum(store.count_runs(experiment)[0] for experiment in store.experiments())
    except StoreError:
        return 0


def logged(path):
    if not path.exists():
        return []
    lines = [line.split() for line in path.read_text().splitlines()]
    return [(int(line[0]), int(line[1]), line[2], int(line[3])) for line in lines if len(line) == 4]


def test_kills_at_random_times_change_nothing(tmp_path):
    path, log, undisturbed = tmp_path / "killed.db", tmp_path / "log", tmp_path / "undisturbed.db"
    evolution = rf.evolve([rf.problem(name, 6) for name in PROBLEMS], store=undisturbed, **SETTINGS)
    assert evolution.progress.new_runs < evolution.settings.max_runs(2)  # the race has saved runs
    rng = np.random.default_rng(1)
    thresholds = np.sort(rng.integers(0, evolution.progress.new_runs - 50, KILLS))
    before: dict = {}
    for threshold in thresholds:
        already = len(logged(log))
        child = subprocess.Popen([sys.executable, "-c", PROGRAM, str(path), str(log)])
        while child.poll() is None and count(path) < threshold:
            time.sleep(0.002)
        time.sleep(float(rng.uniform(0.0, 0.03)))
        os.kill(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL, "it ended before it was killed: slow the setting down"
        after = stored(path)
        assert all(after.get(key) == run for key, run in before.items())  # exactly, timings included
        started = logged(log)[already:]
        assert len(set(started)) == len(started)
        assert not set(started) & set(before)  # stored runs are not repeated
        before = after
    finished = subprocess.run([sys.executable, "-c", PROGRAM, str(path), str(log)], check=True)
    assert finished.returncode == 0
    runs = stored(path)
    assert all(runs[key] == run for key, run in before.items())
    assert timeless(runs) == timeless(stored(undisturbed))
    with Store.read(path) as one, Store.read(undisturbed) as other:
        ended = one.experiments()[0], other.experiments()[0]
        assert ended[0].champion == ended[1].champion == evolution.champion.id
        assert one.members(ended[0]) == other.members(ended[1])
    assert sorted(os.listdir(tmp_path)) == ["killed.db", "log", "undisturbed.db"]


SLOW = """
import sys, time
import numpy as np
import pytest
import robustforge as rf


def slow(x):
    time.sleep(2e-4)
    return float(((x - 1.0) ** 2).sum())


bowl = rf.Problem(slow, [(-5.0, 5.0)] * 2, rf.Ball(0.5), name="bowl")
tiny = dict(population=6, generations=2, repeats=3, budget=60, samples=30, final_repeats=4)
rf.evolve(bowl, store=sys.argv[1], workers=2, **tiny)
"""


@pytest.mark.long
def test_kills_with_workers_in_processes(tmp_path):
    """The worker processes end with their parent, and the resumed evolution is the same."""
    path, whole = tmp_path / "killed.db", tmp_path / "whole.db"
    for threshold in (1, 9, 24):
        child = subprocess.Popen([sys.executable, "-c", SLOW, str(path)])
        while child.poll() is None and count(path) < threshold:
            time.sleep(0.002)
        os.kill(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    for place in (path, whole):
        subprocess.run([sys.executable, "-c", SLOW, str(place)], check=True)
    assert timeless(stored(path)) == timeless(stored(whole))
