"""An evolution on a Dask cluster: the same rows, also if a worker is killed during a generation."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

import robustforge as rf
from robustforge.cli import main
from robustforge.store import Store
from shared import stored, timeless

distributed = pytest.importorskip("distributed")

SETTINGS = {"population": 8, "generations": 3, "repeats": 6, "budget": 300, "samples": 300, "final_repeats": 10}


def problem():
    return rf.problem("ackley", 5)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made:
        yield made


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "r.db"
    rf.evolve(problem(), store=path, **SETTINGS)
    return timeless(stored(path))


def test_the_rows_are_the_same_on_two_dask_workers(cluster, reference, tmp_path):
    with distributed.Client(cluster, set_as_default=False) as client:
        rf.evolve(problem(), store=tmp_path / "d.db", executor=client.get_executor(pure=False), **SETTINGS)
    assert timeless(stored(tmp_path / "d.db")) == reference


def test_the_command_line_uses_a_cluster(cluster, reference, tmp_path):
    options = [word for key, value in SETTINGS.items() for word in (f"--{key.replace('_', '-')}", str(value))]
    place = ["--store", str(tmp_path / "c.db"), "--dask", cluster.scheduler_address]
    ended = CliRunner().invoke(main, ["evolve", "ackley", "--dimension", "5", *options, *place])
    assert ended.exit_code == 0, ended.output
    assert timeless(stored(tmp_path / "c.db")) == reference


def test_a_worker_killed_during_a_generation_changes_nothing(cluster, reference, tmp_path, monkeypatch):
    whole, stores = Store.add_runs, []
    with distributed.Client(cluster, set_as_default=False) as client:
        pids = list(client.run(os.getpid).values())
        assert len(pids) == 2

        def killing(self, experiment, runs):
            stores.append(len(runs))
            if len(stores) == 4:
                os.kill(pids[0], signal.SIGKILL)
            return whole(self, experiment, runs)

        monkeypatch.setattr(Store, "add_runs", killing)
        evolution = rf.evolve(problem(), store=tmp_path / "k.db", executor=client.get_executor(pure=False), **SETTINGS)
    assert evolution.finished
    assert len(stores) > 4
    assert timeless(stored(tmp_path / "k.db")) == reference


DEADLY = """
import os, signal, sys
import dask, distributed
import robustforge as rf


def deadly(x):
    if 4.85 < x[0] < 4.9:
        os.kill(os.getpid(), signal.SIGKILL)
    return float(x @ x)


if __name__ == "__main__":
    bowl = rf.Problem(deadly, [(-5.0, 5.0)] * 2, rf.Ball(0.5), name="bowl")
    tiny = {"population": 4, "generations": 1, "repeats": 2, "budget": 60, "samples": 30, "final_repeats": 2}
    once = dask.config.set({"distributed.scheduler.allowed-failures": 0})
    local = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with once, distributed.LocalCluster(**local) as fragile, distributed.Client(fragile) as client:
        assert rf.evolve(bowl, store=sys.argv[1], executor=client.get_executor(pure=False), **tiny).finished
"""


@pytest.mark.long
def test_an_objective_that_kills_dask_workers_fails_alone(tmp_path):
    """Dask itself would retry each fatal task on four workers, and fail the tasks queued on them, too.

    Now and then Dask loses a task whose worker died, and waits for it forever; then the same call goes on.
    """
    program, path = tmp_path / "deadly.py", tmp_path / "f.db"
    program.write_text(DEADLY)
    for _ in range(3):
        child = subprocess.Popen([sys.executable, program, path], start_new_session=True, stderr=subprocess.DEVNULL)
        try:
            assert child.wait(timeout=100) == 0
            break
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    runs = stored(path).values()
    failed = [run for run in runs if run.failure]
    with Store.read(path) as store:
        assert store.experiments()[0].champion
    assert 0 < len(failed) < len(runs)
    assert all("the process died" in run.failure for run in failed)
