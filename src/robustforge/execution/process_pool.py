"""`SupervisedPool`: an executor for tasks that may crash, hang or leak.

Each worker is a separate process, supervised by a thread of this process. If a task kills its worker, only that task
fails, with a `WorkerError`, and the next task gets a new process. The supervisor threads share one queue.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

import cloudpickle

from robustforge.errors import ExecutionError
from robustforge.execution.worker_errors import DiedBeforeTask, WorkerDied, WorkerError, WorkerNotStarted
from robustforge.execution.worker_process import WorkerProcess

P = ParamSpec("P")
T = TypeVar("T")


class SupervisedPool(Executor):
    """An executor whose tasks may crash, hang or leak without affecting each other or this process.

    Functions and arguments are pickled by cloudpickle, so lambdas and definitions in a script or notebook work, and a
    script needs no `if __name__ == "__main__"`. Output of tasks goes to standard error. A task that calls `sys.exit`
    ends its process.

    Args:
        workers: Number of processes; by default the number of processors.
        time_limit: Seconds that one task may take, without starting the process and importing modules.
        memory_limit: Bytes that one process may use (on Linux); by default an equal part of 80% of the memory.
        initializer: Called in each process before its first task, without a time limit.
        quiet: Whether to discard the output of tasks; by default it goes to standard error.

    Raises:
        ExecutionError: A limit is not positive, or the platform has no POSIX processes.

    Example:
        >>> with SupervisedPool(2, time_limit=60) as pool:
        ...     list(pool.map(lambda x: x * x, [1, 2, 3]))
        [1, 4, 9]
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        initializer: Callable[[], object] | None = None,
        quiet: bool = False,
    ) -> None:
        if os.name != "posix":
            raise ExecutionError(
                "a supervised pool needs POSIX processes", f"this is {os.name}", "Use concurrent.futures or WSL"
            )
        for name, value in (("workers", workers), ("time_limit", time_limit), ("memory_limit", memory_limit)):
            if value is not None and not value > 0:
                raise ExecutionError(f"`{name}` must be positive", f"got {value!r}", "Leave it out for the default")
        self.workers = self._max_workers = workers or os.cpu_count() or 1  # the latter as in the standard executors
        memory = memory_limit or int(0.8 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / self.workers)
        setup = None if initializer is None else bytes(cloudpickle.dumps((initializer, (), {})))
        self._state = _PoolState(time_limit, memory, setup, quiet)
        self._threads: list[threading.Thread] = []
        self._closed = False
        # A pool without references completes its submitted tasks. Lock-free: finalizers may run at any point.
        weakref.finalize(self, self._state.tasks.put, None).atexit = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Submit a call of `fn(*args, **kwargs)`.

        Returns:
            A future. Its exception is what the task raised, a `WorkerError` if the worker died, or an `ExecutionError`
            if the task cannot be pickled.

        Raises:
            RuntimeError: The pool was shut down.
        """
        future: Future[T] = Future()
        task = _pickled(future, fn, args, kwargs)
        with self._state.lock:
            if self._closed:
                raise RuntimeError("cannot submit a task after shutdown")
            if task is not None:
                self._state.tasks.put((future, task))
                self._add_supervisor()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more tasks, and end the workers when the queue is empty.

        Args:
            wait: Whether to return only when all tasks are complete.
            cancel_futures: Whether to cancel pending tasks.
        """
        with self._state.lock:
            self._closed = True
        if cancel_futures:
            self._state.clear()
        self._state.tasks.put(None)
        for thread in self._threads if wait else ():
            if thread is not threading.current_thread():  # a callback of a future may call this
                thread.join()

    def kill(self) -> None:
        """Shut down immediately: pending tasks are cancelled, running ones fail with `WorkerDied`."""
        with self._state.lock:
            self._closed = True
        self._state.kill()
        self.shutdown()

    def _add_supervisor(self) -> None:
        """Start another supervisor thread, unless one is idle or there is one for each worker."""
        if self._state.idle.acquire(blocking=False) or len(self._threads) >= self.workers:
            return
        name = f"robustforge-supervisor-{len(self._threads)}"
        thread = threading.Thread(target=_supervise, args=(self._state,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()


@dataclass(eq=False)
class _PoolState:
    """State shared by the supervisor threads. It has no reference to the pool, which can thus be garbage-collected."""

    time_limit: float | None
    memory_limit: int
    setup: bytes | None = None
    quiet: bool = False
    tasks: SimpleQueue[tuple[Future[Any], bytes] | None] = field(default_factory=SimpleQueue)
    idle: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    lock: threading.Lock = field(default_factory=threading.Lock)
    processes: set[WorkerProcess] = field(default_factory=set)
    killed: bool = False

    def __post_init__(self) -> None:
        _POOL_STATES.add(self)

    def next(self) -> tuple[Future[Any], bytes] | None:
        """Wait for a task; `None` if there will be no more."""
        try:
            return self.tasks.get_nowait()
        except Empty:
            self.idle.release()
            return self.tasks.get()

    def start_worker(self) -> WorkerProcess:
        """Start a worker process."""
        with _FORK_LOCK:
            worker = WorkerProcess(self.time_limit, self.memory_limit, self.setup, self.quiet)
            self.processes.add(worker)
        with self.lock:
            if self.killed:  # since the supervisor took the task
                worker.kill()
        return worker

    def end_worker(self, worker: WorkerProcess) -> None:
        """End a worker process."""
        with self.lock:
            self.processes.discard(worker)
        worker.end()

    def clear(self) -> None:
        """Cancel all pending tasks; without the lock, which callbacks of the futures may need."""
        pending = []
        with contextlib.suppress(Empty):
            while True:
                pending.append(self.tasks.get_nowait())
        for future, _ in filter(None, pending):
            future.cancel()
            future.set_running_or_notify_cancel()  # wakes threads that wait for it

    def kill(self) -> None:
        """Cancel all pending tasks, and kill all workers."""
        with self.lock:
            self.killed = True
            for worker in list(self.processes):
                worker.kill()
        self.clear()


def _pickled(future: Future[Any], function: Any, args: Any, kwargs: Any) -> bytes | None:
    """Return the pickled task; if it cannot be pickled, fail the future and return `None`."""
    try:
        return bytes(cloudpickle.dumps((function, args, kwargs)))
    except Exception as error:  # a user's __reduce__ may raise anything
        refusal = ExecutionError(
            "a task must be a picklable function with picklable arguments, since it runs in another process",
            f"{getattr(function, '__qualname__', function)} cannot be pickled: {error}",
            "Open files, connections and locks inside the function, and pass it plain data",
        )
        refusal.__cause__ = error
        future.set_exception(refusal)
        return None


def _supervise(state: _PoolState) -> None:
    """Run tasks one after the other, in one worker process at a time: the main loop of a supervisor thread."""
    worker: WorkerProcess | None = None
    while (item := state.next()) is not None:
        future, task = item
        if future.set_running_or_notify_cancel():
            worker = _run_task(state, worker, future, task)
        del item, future, task  # otherwise the result would be kept until the next task
    state.tasks.put(None)  # for the next supervisor
    if worker is not None:
        state.end_worker(worker)


def _run_task(
    state: _PoolState, worker: WorkerProcess | None, future: Future[Any], task: bytes
) -> WorkerProcess | None:
    """Run one task and set the result of its future; returns the worker if it can be used again."""
    is_new = worker is None
    try:
        worker = worker or state.start_worker()
        outcome = worker.run(task)
    except Exception as error:
        if worker is not None:
            state.end_worker(worker)
        if isinstance(error, DiedBeforeTask) and not is_new:  # it may have died after its last task
            return _run_task(state, None, future, task)
        future.set_exception(_worker_error(state, error))
        return None
    _set_outcome(future, outcome)
    if worker.resident > state.memory_limit / 2:  # stops a slow leak early
        state.end_worker(worker)
        return None
    return worker


def _worker_error(state: _PoolState, error: Exception) -> WorkerError:
    """Return the exception for the future of a task whose worker died."""
    if state.killed:
        return WorkerDied("the pool was killed")
    if isinstance(error, WorkerError):
        return error.with_traceback(None)  # the traceback would keep the task alive
    return WorkerNotStarted(f"no process could be started ({error})")


def _set_outcome(future: Future[Any], outcome: bytes) -> None:
    """Set the result or exception of a future to what the worker sent."""
    try:
        succeeded, value = pickle.loads(outcome)
    except Exception as error:
        succeeded, value = False, RuntimeError(f"the result or exception of the task cannot be unpickled ({error})")
    if succeeded:
        future.set_result(value)
    else:
        future.set_exception(value)


_POOL_STATES: weakref.WeakSet[_PoolState] = weakref.WeakSet()

_FORK_LOCK = threading.Lock()
"""Held while a worker starts and while this process forks: a fork in between would keep the worker's pipes open."""


@atexit.register
def _kill_all() -> None:
    """Kill the workers of pools that were not shut down; their supervisors are daemon threads."""
    for state in list(_POOL_STATES):
        state.kill()


def _disown_all() -> None:
    """In a fork of this process, close the pipes of the workers: these belong to the parent, and end when it ends."""
    for state in list(_POOL_STATES):
        for worker in state.processes:
            worker.disown()
    _POOL_STATES.clear()
    _FORK_LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_FORK_LOCK.acquire, after_in_parent=_FORK_LOCK.release, after_in_child=_disown_all)
