"""An evolution that is killed at any moment goes on: nothing acknowledged is lost, nothing done is done again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np

import robustforge as rf
from conftest import stored, timeless
from robustforge.errors import StoreError
from robustforge.store import Store

KILLS = 20
SETTINGS = {
    "population": 10,
    "generations": 6,
    "repeats": 8,
    "budget": 300,
    "samples": 300,
    "final_repeats": 20,
    "seed": 5,
}
RUNS = 10 * 6 * 8 + 5 * 20

PROGRAM = f"""
import sys
import robustforge as rf
from robustforge.evolution import workshop

log = open(sys.argv[2], "a", buffering=1)
whole = workshop.run_trials


def noted(problem, settings, trials):
    runs = []
    for each in trials:
        print(*each.run.key, file=log)
        runs += whole(problem, settings, [each])
    return runs


workshop.run_trials = noted
rf.evolve(rf.problem("rastrigin", 6), store=sys.argv[1], workers=2, **{SETTINGS!r})
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


def test_twenty_kills_at_random_moments_change_nothing(tmp_path):
    path, log = tmp_path / "killed.db", tmp_path / "log"
    rng = np.random.default_rng(1)
    moments = np.sort(rng.integers(0, RUNS - 20, KILLS))
    before: dict = {}
    for moment in moments:
        already = len(logged(log))
        child = subprocess.Popen([sys.executable, "-c", PROGRAM, str(path), str(log)])
        while child.poll() is None and count(path) < moment:
            time.sleep(0.002)
        time.sleep(float(rng.uniform(0.0, 0.03)))
        os.kill(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL, "it ended before it was killed: slow the setting down"
        after = stored(path)
        assert all(after.get(key) == run for key, run in before.items())  # to the bit, timings included
        begun = logged(log)[already:]
        assert len(set(begun)) == len(begun)
        assert not set(begun) & set(before)  # what was stored is not run again
        before = after
    finished = subprocess.run([sys.executable, "-c", PROGRAM, str(path), str(log)], check=True)
    assert finished.returncode == 0
    runs = stored(path)
    assert len(runs) == RUNS
    assert all(runs[key] == run for key, run in before.items())
    undisturbed = tmp_path / "undisturbed.db"
    evolution = rf.evolve(rf.problem("rastrigin", 6), store=undisturbed, **SETTINGS)
    assert timeless(runs) == timeless(stored(undisturbed))
    with Store.read(path) as one, Store.read(undisturbed) as other:
        ended = one.experiments()[0], other.experiments()[0]
        assert ended[0].champion == ended[1].champion == evolution.champion.id
        assert one.members(ended[0]) == other.members(ended[1])
    assert sorted(os.listdir(tmp_path)) == ["killed.db", "log", "undisturbed.db"]
