"""A Dask cluster as an executor, and an error message for every failed connection."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import dask
import pytest
from distributed import Client, LocalCluster

import robustforge as rf
from robustforge.errors import ExecutionError
from robustforge.execution import connect, executor_wait, worker_failure
from robustforge.execution.executor_wait import wait_first
from shared import same


@pytest.fixture(scope="module")
def cluster():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
    ):
        yield cluster


def test_results_are_those_of_direct_calls(cluster):
    offset = 7
    with connect(cluster.scheduler_address) as executor:
        assert [executor.submit(lambda x: x + offset, i).result() for i in range(3)] == [7, 8, 9]
        draws = [executor.submit(os.urandom, 8) for _ in range(3)]
        assert len({draw.result() for draw in draws}) == 3  # the same call again is another task
        error = executor.submit(divmod, 1, 0).exception()
    assert type(error) is ZeroDivisionError
    assert worker_failure(error) is None


def test_a_task_that_kills_its_worker_has_a_reason(cluster):
    def task(i):
        if i == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    with connect(cluster.scheduler_address) as executor:
        deadly = executor.submit(task, 1)
        assert worker_failure(deadly.exception(timeout=30)) == "the process died (on each of 2 Dask workers)"
        others = [executor.submit(task, i) for i in range(2, 8)]
        assert [other.result(timeout=30) for other in others] == [2, 3, 4, 5, 6, 7]


def test_a_cluster_without_workers_is_reported():
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0", protocol="tcp") as empty,
        pytest.raises(ExecutionError, match=r"must have workers; the scheduler at tcp:.* has none\. Start some"),
    ):
        connect(empty.scheduler_address, timeout=0.5).__enter__()


SCHEDULER = """
import time
from distributed import LocalCluster
cluster = LocalCluster(n_workers=1, processes=False, protocol="tcp", dashboard_address=":0")
print(cluster.scheduler_address, flush=True)
time.sleep(1000)
"""


def outlive(scheduler, address):
    with connect(address) as executor:
        future = executor.submit(time.sleep, 1000)
        scheduler.kill()
        future.result(timeout=20)


def test_a_scheduler_that_ends_is_reported(capfd):
    with subprocess.Popen([sys.executable, "-c", SCHEDULER], stdout=subprocess.PIPE, text=True) as scheduler:
        try:
            address = scheduler.stdout.readline().strip()
            with pytest.raises(ExecutionError, match=f"the one at {address} has stopped"):
                outlive(scheduler, address)
        finally:
            scheduler.kill()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://no-such-host.invalid:8786"])
def test_no_answer_is_reported(address, capfd):
    with pytest.raises(ExecutionError, match=rf"no scheduler answered at {address} within 0\.5 s\. Start one"):
        connect(address, timeout=0.5).__enter__()
    assert capfd.readouterr() == ("", "")


def test_another_server_at_the_address_is_reported(capfd):
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(ExecutionError, match="no scheduler answered"),
    ):
        connect(f"tcp://127.0.0.1:{silent.getsockname()[1]}", timeout=0.5).__enter__()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("address", ["", "nonsense", "tcp://host:port", "http://127.0.0.1:80", "127.0.0.1:99999"])
def test_a_malformed_address_is_reported(address):
    with pytest.raises(ExecutionError, match=rf"{address!r} is not a valid address: .*\. Give it as"):
        connect(address).__enter__()


def test_distributed_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ExecutionError, match=r"needs the package `distributed`; .*pip install 'robustforge\[dask\]'"):
        connect("tcp://127.0.0.1:8786").__enter__()
    assert worker_failure(ValueError()) is None


SMALL = {"population": 3, "generations": 1, "repeats": 2, "budget": 60, "samples": 30, "final_repeats": 2}
ARGUMENTS = ([(-3, 5)] * 3, rf.Ball(0.5), 40, "rpso", 3)


def evolved(executor):
    return rf.evolve(rf.problem("sphere", 2), executor=executor, **SMALL).finished


def bowl(x):
    return float(((x - 1.0) ** 2).sum())


def minimized(executor):
    return same(rf.minimize(bowl, *ARGUMENTS, workers=executor), rf.minimize(bowl, *ARGUMENTS))


@pytest.mark.parametrize("work", [evolved, minimized])
def test_waiting_for_workers_is_reported(work, monkeypatch, capfd):
    monkeypatch.setattr("robustforge.execution.executor_wait.NOTICE_INTERVAL", 0.1)
    local = {"processes": False, "protocol": "tcp", "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=0, **local) as empty, Client(empty, set_as_default=False) as client:
        asked, waiting_for = [], executor_wait.waiting_for

        def counted(executor):
            asked.append(executor)
            if len(asked) == 3:
                empty.scale(1)
            return waiting_for(executor)

        monkeypatch.setattr(executor_wait, "waiting_for", counted)
        assert work(client.get_executor(pure=False))
        said = capfd.readouterr().err.splitlines()
        address = empty.scheduler_address
    words = f"robustforge: waiting for workers: the Dask scheduler at {address} has none. Start some with `dask worker"
    assert len([line for line in said if line.startswith(words)]) >= 2


def test_no_notice_while_there_are_workers(cluster, monkeypatch, capfd):
    monkeypatch.setattr("robustforge.execution.executor_wait.NOTICE_INTERVAL", 0.1)
    with Client(cluster, set_as_default=False) as client:
        executor = client.get_executor(pure=False)
        assert wait_first([executor.submit(time.sleep, 1.0)], executor)
    assert "waiting" not in capfd.readouterr().err


@pytest.mark.parametrize("work", [evolved, minimized])
def test_a_closed_client_is_reported(cluster, work):
    client = Client(cluster, set_as_default=False)
    executor = client.get_executor(pure=False)
    client.close()
    with pytest.raises(ExecutionError, match=r"a Dask client must be open .*tcp:.* is closed.* Create a new client"):
        work(executor)


@pytest.mark.parametrize("work", [evolved, minimized])
def test_a_client_closed_meanwhile_is_reported(monkeypatch, work):
    monkeypatch.setattr("robustforge.execution.executor_wait.NOTICE_INTERVAL", 0.1)
    local = {"processes": False, "protocol": "tcp", "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=0, **local) as empty:
        client = Client(empty, set_as_default=False)
        threading.Timer(1.0, client.close).start()
        with pytest.raises(ExecutionError, match="a Dask client must be open"):
            work(client.get_executor(pure=False))


def test_an_executor_that_is_shut_down_is_reported():
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    for work in (evolved, minimized):
        with pytest.raises(ExecutionError, match="an executor must accept tasks; this one raised RuntimeError"):
            work(executor)
