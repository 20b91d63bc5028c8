"""A supervised pool: the results of plain calls, whatever the tasks do to their processes."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from processes import alive, gone
from robustforge.errors import ExecutionError
from robustforge.execution import MemoryLimitExceeded, SupervisedPool, TimeLimitExceeded, WorkerDied, worker_failure

MB = 2**20


@pytest.fixture(scope="module")
def pool():
    with SupervisedPool(2) as pool:
        yield pool


def until(path: Path, seconds: float = 10.0) -> str:
    """What a file holds, once it holds something."""
    end = time.monotonic() + seconds
    while not (path.exists() and path.read_text()) and time.monotonic() < end:
        time.sleep(0.02)
    return path.read_text()


def test_results_are_those_of_direct_calls(pool):
    offset = 7
    assert list(pool.map(divmod, range(20), [3] * 20)) == [divmod(i, 3) for i in range(20)]
    assert pool.submit(lambda x, *, scale: scale * x + offset, 2, scale=10).result() == 27
    assert pool.submit(int, "ff", base=16).result() == 255


def test_a_module_of_the_user_is_found(pool, tmp_path, monkeypatch):
    (tmp_path / "my_objective.py").write_text("def cube(x):\n    return x**3\n")
    monkeypatch.syspath_prepend(tmp_path)
    from my_objective import cube

    with SupervisedPool(1) as fresh:
        assert fresh.submit(cube, 3).result() == 27


def test_an_exception_is_returned_unchanged(pool):
    class MyError(Exception):
        pass

    def fail(kind):
        raise kind("no such luck")

    for kind in (ZeroDivisionError, EOFError, TimeoutError, MyError):
        error = pool.submit(fail, kind).exception()
        assert type(error) is kind
        assert str(error) == "no such luck"
        assert "in fail" in error.__notes__[0]
        assert worker_failure(error) is None


def test_an_unpicklable_result_is_reported(pool):
    class StubbornError(Exception):
        def __init__(self, one, two):
            super().__init__(f"{one} and {two}")

    def fail():
        raise StubbornError("this", "that")

    with pytest.raises(RuntimeError, match="StubbornError: this and that"):
        pool.submit(fail).result()
    with pytest.raises(RuntimeError, match="returned a lock that cannot be pickled"):
        pool.submit(lambda: __import__("threading").Lock()).result()
    assert pool.submit(abs, -1).result() == 1


def test_an_unpicklable_task_is_reported(pool):
    with pytest.raises(ExecutionError, match=r"picklable.*print cannot be pickled: .*lock.*plain data"):
        pool.submit(print, threading.Lock()).result()


def test_tasks_that_die_fail_alone(pool):
    def task(i):
        if i == 7:
            os.kill(os.getpid(), signal.SIGSEGV)
        return i

    futures = [pool.submit(task, i) for i in range(20)]
    error = futures.pop(7).exception()
    assert isinstance(error, WorkerDied)
    assert worker_failure(error) == error.reason == str(error) == "the process died (signal SIGSEGV)"
    assert [future.result() for future in futures] == [i for i in range(20) if i != 7]


@pytest.mark.parametrize("leave", [os._exit, sys.exit])
def test_a_task_that_exits_has_failed(pool, leave):
    assert pool.submit(leave, 3).exception().reason == "the process died (exit code 3)"


def test_a_process_that_dies_between_tasks_fails_none():
    with SupervisedPool(1) as pool:
        child = pool.submit(os.getpid).result()
        os.kill(child, signal.SIGKILL)  # and at once the next task: the process may not be seen to be dead yet
        assert pool.submit(os.getpid).result() != child


def test_a_task_that_kills_its_process_while_loading_fails_after_two_attempts():
    class Deadly:
        def __reduce__(self):
            return os._exit, (3,)

    with SupervisedPool(1) as pool:
        assert pool.submit(abs, -1).result() == 1
        dead = pool.submit(print, Deadly()).exception()
        assert worker_failure(dead) == "the process died (exit code 3)"
        assert pool.submit(abs, -1).result() == 1


def test_a_hanging_task_is_killed_with_all_processes_it_started(tmp_path):
    note = tmp_path / "pids"

    def hang():
        sleeper = subprocess.Popen(["sleep", "1000"])
        note.write_text(f"{os.getpid()} {sleeper.pid}")
        while True:
            pass

    with SupervisedPool(2, time_limit=0.5) as pool:
        hanging = pool.submit(hang)
        others = [pool.submit(time.sleep, 0.1) for _ in range(6)]
        assert [other.result() for other in others] == [None] * 6
        assert isinstance(hanging.exception(), TimeLimitExceeded)
        assert worker_failure(hanging.exception()) == "it took longer than 0.5 s"
        assert all(map(gone, note.read_text().split()))
        assert pool.submit(abs, -1).result() == 1


def test_loading_a_task_is_not_timed(tmp_path, monkeypatch):
    (tmp_path / "slow_objective.py").write_text("def one():\n    return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    from slow_objective import one

    (tmp_path / "slow_objective.py").write_text("import time; time.sleep(0.5)\ndef one():\n    return 1\n")
    with SupervisedPool(1, time_limit=0.3) as pool:
        assert pool.submit(one).result() == 1


def test_a_task_that_exceeds_the_memory_limit_fails():
    def leak():
        kept = []
        while True:
            kept.append(bytearray(MB))

    def leak_in_crumbs():
        kept = []
        while True:
            kept.append(str(len(kept)))

    def leak_for_good():
        sys.leaked = []
        while True:
            sys.leaked.append(str(len(sys.leaked)))

    with SupervisedPool(1, memory_limit=128 * MB) as pool:
        for task in (leak, leak_in_crumbs, leak_for_good):
            error = pool.submit(task).exception()
            assert isinstance(error, MemoryLimitExceeded)
            assert worker_failure(error) == "it needed more than 128 MB"
        assert isinstance(pool.submit(bytearray, 512 * MB).exception(), MemoryLimitExceeded)
        assert pool.submit(abs, -1).result() == 1


def test_a_slow_leak_replaces_the_process_and_fails_nothing():
    def leak():
        sys.leaked = [*getattr(sys, "leaked", []), bytearray(b"x") * (20 * MB)]
        return os.getpid()

    with SupervisedPool(1, memory_limit=256 * MB) as pool:
        children = [pool.submit(leak).result() for _ in range(15)]
    assert 1 < len(set(children)) < 5
    assert not any(map(alive, children))


def test_output_of_a_task_is_not_mixed_with_ours():
    code = """
from robustforge.execution import SupervisedPool
import os
def task():
    print("from the task")
    os.system("echo from a process of the task")
    return os.read(0, 1)
with SupervisedPool(1) as pool:
    print(pool.submit(task).result())
"""
    done = subprocess.run([sys.executable, "-c", code], input="x", capture_output=True, text=True, timeout=20)
    assert done.stdout == "b''\n"
    assert done.stderr.splitlines() == ["from the task", "from a process of the task"]


BUSY = """
import os, re, subprocess, sys, time
from pathlib import Path
from robustforge.execution import SupervisedPool

notes = Path(sys.argv[1])
def note(name):
    (notes / "new").mkdir(exist_ok=True)
    (notes / "new" / name).write_text(str(os.getpid()))
    (notes / "new" / name).rename(notes / name)
def spin():
    note("spin")
    while True:
        pass
def sleep():
    subprocess.Popen(["sh", "-c", "echo $$ > " + str(notes / "grandchild") + "; sleep 1000"])
    note("sleep")
    time.sleep(1000)
def hold():
    note("hold")
    re.match("(a+)+$", 60 * "a" + "b")  # never lets another thread of the interpreter run
pool = SupervisedPool(3)
futures = [pool.submit(task) for task in (spin, sleep, hold)]
"""
BUSY_NAMES = ("spin", "sleep", "hold", "grandchild")


def test_workers_end_when_their_parent_is_killed(tmp_path):
    # A fork of the parent lives on; it must not hold on to the children.
    code = BUSY + "fork = os.fork()\nif fork:\n    (notes / 'fork').write_text(str(fork))\ntime.sleep(1000)\n"
    parent = subprocess.Popen([sys.executable, "-c", code, tmp_path])
    try:
        pids = [int(until(tmp_path / name)) for name in BUSY_NAMES]
        assert all(map(alive, pids))
        parent.kill()
        parent.wait()
        assert all(map(gone, pids))
        assert alive(int(until(tmp_path / "fork")))
    finally:
        parent.kill()
        parent.wait()
        os.kill(int(until(tmp_path / "fork")), signal.SIGKILL)


def test_an_exiting_interpreter_does_not_wait(tmp_path):
    code = (
        BUSY
        + "while not all((notes / n).exists() for n in ('spin', 'sleep', 'hold', 'grandchild')): time.sleep(0.01)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert all(gone(until(tmp_path / name)) for name in BUSY_NAMES)


def test_kill_ends_everything_immediately():
    pool = SupervisedPool(2)
    children = [pool.submit(lambda: (time.sleep(0.2), os.getpid())[1]) for _ in range(2)]
    children = [child.result() for child in children]
    futures = [pool.submit(time.sleep, 1000) for _ in range(5)]
    while not all(future.running() for future in futures[:2]):
        time.sleep(0.01)
    start = time.monotonic()
    pool.kill()
    assert time.monotonic() - start < 5.0  # milliseconds on a quiet machine
    assert not any(map(alive, children))
    assert [type(future.exception()) for future in futures[:2]] == [WorkerDied] * 2
    assert worker_failure(futures[0].exception()) == "the pool was killed"
    assert all(future.cancelled() for future in futures[2:])
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(abs, -1)


def test_kill_while_workers_start():
    pool = SupervisedPool(2)
    futures = [pool.submit(time.sleep, 1000) for _ in range(3)]
    pool.kill()
    assert wait(futures, timeout=5).not_done == set()


def test_shutdown_completes_submitted_tasks():
    pool = SupervisedPool(1)
    futures = [pool.submit(abs, -i) for i in range(5)]
    pool.shutdown(wait=False)
    pool.shutdown()
    assert [future.result(timeout=0) for future in futures] == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(abs, -1)
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(abs, threading.Lock())


def test_shutdown_can_cancel_pending_tasks():
    pool = SupervisedPool(1)
    called: list[Future[None]] = []
    futures = [pool.submit(time.sleep, 0.3) for _ in range(4)]
    for future in futures:
        future.add_done_callback(called.append)
        future.add_done_callback(lambda _: pool.shutdown())  # even from within
    while not futures[0].running():
        time.sleep(0.01)
    pool.shutdown(cancel_futures=True)
    assert futures[0].result(timeout=0) is None
    for future in futures[1:]:
        with pytest.raises(CancelledError):
            future.result(timeout=0)
    assert sorted(map(id, called)) == sorted(map(id, futures))


def test_a_garbage_collected_pool_completes_its_tasks():
    future = SupervisedPool(1).submit(os.getpid)
    gc.collect()
    assert gone(future.result())


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"time_limit": -1.0}, {"memory_limit": 0}])
def test_limits_are_positive(wrong):
    with pytest.raises(ExecutionError, match="must be positive; got"):
        SupervisedPool(**wrong)


def test_a_broken_process_pool_is_not_a_worker_failure():
    assert worker_failure(BrokenProcessPool()) is None  # such a pool is of no use any more
    assert worker_failure(RuntimeError("the process died")) is None


def test_nothing_heavy_is_imported():
    code = """
import sys, robustforge.execution as execution
execution.worker_failure(ValueError())
print({"numpy", "distributed"} & set(sys.modules))
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"
