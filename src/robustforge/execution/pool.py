"""An executor for tasks that may crash, hang or leak: each worker is a process of its own, watched by a thread of ours.

A task that takes its process with it fails alone, with a `WorkerError`; the next task gets a fresh process. The threads
wait on one queue; a task in flight belongs to one thread and its one child.
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
from robustforge.execution.child import Child
from robustforge.execution.deaths import DiedEarlier, NotStarted, WorkerDied, WorkerError

P = ParamSpec("P")
T = TypeVar("T")


class SupervisedPool(Executor):
    """An executor whose tasks may crash, hang or leak without harm to each other or to you.

    Functions and arguments travel by cloudpickle, so lambdas and what is defined in a script or a notebook will do, and
    a script needs no `if __name__ == "__main__"`. What tasks print goes to standard error. A task that calls `sys.exit`
    ends its process.

    Args:
        workers: How many processes; by default as many as there are processors.
        time_limit: Seconds that one task may take; starting a process and importing what the task needs do not count.
        memory_limit: Bytes that one process may use (on Linux); by default its share of 80% of the physical memory.
        initializer: Called in each process before its first task, with time to load what the tasks need.
        quiet: Whether what tasks print is dropped; else it goes to standard error.

    Raises:
        ExecutionError: If a limit is not positive, or the platform has no POSIX processes.

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
        first = None if initializer is None else bytes(cloudpickle.dumps((initializer, (), {})))
        self._desk = _Desk(time_limit, memory, first, quiet)
        self._threads: list[threading.Thread] = []
        self._closed = False
        # A pool nobody holds any more finishes what was submitted. Lock-free, for it may run in the middle of anything.
        weakref.finalize(self, self._desk.tasks.put, None).atexit = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have `fn(*args, **kwargs)` called by a worker.

        Returns:
            A future. It fails with what the task raised, with a `WorkerError` if the task did not survive, or with an
            `ExecutionError` if the task cannot be pickled.

        Raises:
            RuntimeError: If the pool was shut down.
        """
        future: Future[T] = Future()
        task = _pickled(future, fn, args, kwargs)
        with self._desk.lock:
            if self._closed:
                raise RuntimeError("cannot submit a task after shutdown")
            if task is not None:
                self._desk.tasks.put((future, task))
                self._add_supervisor()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; end each child when the queue is empty.

        Args:
            wait: Whether to return only when all is done.
            cancel_futures: Whether to cancel the tasks that no worker has begun.
        """
        with self._desk.lock:
            self._closed = True
        if cancel_futures:
            self._desk.clear()
        self._desk.tasks.put(None)
        for thread in self._threads if wait else ():
            if thread is not threading.current_thread():  # a callback of a future may call this, too
                thread.join()

    def kill(self) -> None:
        """Shut down at once: queued tasks are cancelled, those in flight fail with `WorkerDied`."""
        with self._desk.lock:
            self._closed = True
        self._desk.kill()
        self.shutdown()

    def _add_supervisor(self) -> None:
        """Start another thread, unless one is idle or all are there."""
        if self._desk.idle.acquire(blocking=False) or len(self._threads) >= self.workers:
            return
        name = f"robustforge-supervisor-{len(self._threads)}"
        thread = threading.Thread(target=_supervise, args=(self._desk,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()


@dataclass(eq=False)
class _Desk:
    """What the supervisors share. It does not know the pool, so that a forgotten pool can be collected."""

    time_limit: float | None
    memory_limit: int
    first: bytes | None = None
    quiet: bool = False
    tasks: SimpleQueue[tuple[Future[Any], bytes] | None] = field(default_factory=SimpleQueue)
    idle: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    lock: threading.Lock = field(default_factory=threading.Lock)
    children: set[Child] = field(default_factory=set)
    killed: bool = False

    def __post_init__(self) -> None:
        _DESKS.add(self)

    def next(self) -> tuple[Future[Any], bytes] | None:
        """Wait for a task; `None` says that there will be no more."""
        try:
            return self.tasks.get_nowait()
        except Empty:
            self.idle.release()
            return self.tasks.get()

    def hire(self) -> Child:
        """Start a child."""
        with _FORKING:
            child = Child(self.time_limit, self.memory_limit, self.first, self.quiet)
            self.children.add(child)
        with self.lock:
            if self.killed:  # between our taking the task and now
                child.kill()
        return child

    def dismiss(self, child: Child) -> None:
        """End a child."""
        with self.lock:
            self.children.discard(child)
        child.end()

    def clear(self) -> None:
        """Cancel all tasks that wait; not under the lock, for callbacks of the futures may want it."""
        waiting = []
        with contextlib.suppress(Empty):
            while True:
                waiting.append(self.tasks.get_nowait())
        for future, _ in filter(None, waiting):
            future.cancel()
            future.set_running_or_notify_cancel()  # wakes those who wait for it

    def kill(self) -> None:
        """Cancel all tasks that wait, and end all children."""
        with self.lock:
            self.killed = True
            for child in list(self.children):
                child.kill()
        self.clear()


def _pickled(future: Future[Any], function: Any, args: Any, kwargs: Any) -> bytes | None:
    """The task as bytes; if that cannot be, `None`, and the future fails."""
    try:
        return bytes(cloudpickle.dumps((function, args, kwargs)))
    except Exception as error:  # a user's __reduce__ may raise anything
        refusal = ExecutionError(
            "a task must be a function and arguments that can be pickled, for it runs in another process",
            f"{getattr(function, '__qualname__', function)} cannot: {error}",
            "Open files, connections and locks inside the function, and pass it plain data",
        )
        refusal.__cause__ = error
        future.set_exception(refusal)
        return None


def _supervise(desk: _Desk) -> None:
    """Serve tasks, one after the other, with one child at a time: the life of one worker slot."""
    child: Child | None = None
    while (item := desk.next()) is not None:
        future, task = item
        if future.set_running_or_notify_cancel():
            child = _serve(desk, child, future, task)
        del item, future, task  # or a result would live until the next task comes
    desk.tasks.put(None)  # for the next supervisor
    if child is not None:
        desk.dismiss(child)


def _serve(desk: _Desk, child: Child | None, future: Future[Any], task: bytes) -> Child | None:
    """Carry out one task, and see to it that its future is answered; returns the child if it can serve on."""
    is_fresh = child is None
    try:
        child = child or desk.hire()
        outcome = child.run(task)
    except Exception as error:
        if child is not None:
            desk.dismiss(child)
        if isinstance(error, DiedEarlier) and not is_fresh:  # after its last task, perhaps: no fault of this one
            return _serve(desk, None, future, task)
        future.set_exception(_verdict(desk, error))
        return None
    _answer(future, outcome)
    if child.resident > desk.memory_limit / 2:  # a slow leak is stopped long before it hurts
        desk.dismiss(child)
        return None
    return child


def _verdict(desk: _Desk, error: Exception) -> WorkerError:
    """What a future fails with whose task did not survive."""
    if desk.killed:
        return WorkerDied("the pool was killed")
    if isinstance(error, WorkerError):
        return error.with_traceback(None)  # it would keep the task alive, and tells nothing
    return NotStarted(f"no process could be had ({error})")


def _answer(future: Future[Any], outcome: bytes) -> None:
    """Settle a future with what came from the child."""
    try:
        succeeded, value = pickle.loads(outcome)
    except Exception as error:
        succeeded, value = False, RuntimeError(f"what the task returned or raised cannot be read here ({error})")
    if succeeded:
        future.set_result(value)
    else:
        future.set_exception(value)


_DESKS: weakref.WeakSet[_Desk] = weakref.WeakSet()

_FORKING = threading.Lock()
"""Held while a child starts and while this process forks: a fork with half a child would keep its pipes open."""


@atexit.register
def _kill_all() -> None:
    """End the children of pools that were not shut down; their supervisors are daemons and hold nothing up."""
    for desk in list(_DESKS):
        desk.kill()


def _disown_all() -> None:
    """In a fork of this process: the children belong to the original, whose end they must hear."""
    for desk in list(_DESKS):
        for child in desk.children:
            child.disown()
    _DESKS.clear()
    _FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_FORKING.acquire, after_in_parent=_FORKING.release, after_in_child=_disown_all)
