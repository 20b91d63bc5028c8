"""The main program of a worker process: receives tasks through a pipe, calls them, and sends back their results.

It is started as `python -m robustforge.execution.worker_main PIPE DEATH_PIPE` with two inherited file descriptors.
Nothing is ever written to the parent-death pipe; its end of file means that the parent has died.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import signal
import sys
import threading
import traceback
from multiprocessing.connection import Connection

import cloudpickle

_RESERVE = 4 * 2**20
"""Bytes reserved for reporting that memory is exhausted; the interpreter allocates memory by the megabyte."""


def main() -> None:
    """Run tasks until the parent closes the pipe."""
    pipe, death_pipe = int(sys.argv.pop(1)), int(sys.argv.pop(1))
    for descriptor in (pipe, death_pipe):
        os.set_inheritable(descriptor, False)
    _exit_with_parent(death_pipe)
    connection = Connection(pipe)
    sys.path[:], memory_limit = connection.recv()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # a crash must not lose output
    reserve = bytearray(_RESERVE)
    _limit_memory(memory_limit)
    connection.send(("ready", b"", 0))
    while True:
        try:
            connection.send(("done", _run(connection.recv_bytes(), connection), _resident()))
        except EOFError:
            return
        except MemoryError:
            del reserve  # the task's memory may not be freed yet, and lifting the limit allocates, too
            _limit_memory(None)
            connection.send(("out of memory", b"", 0))
            return


def _run(task: bytes, connection: Connection) -> bytes:
    """Call a task, and return its result or exception, pickled as `(succeeded, value)`.

    SystemExit and the like propagate: they end the worker as they would end a program.
    """
    try:
        function, args, kwargs = cloudpickle.loads(task)
        connection.send(("taken", b"", 0))  # the time limit starts here
        value = function(*args, **kwargs)
    except MemoryError:
        raise
    except Exception as error:
        return _pickled_error(error)
    try:
        return bytes(cloudpickle.dumps((True, value)))
    except MemoryError:
        raise
    except Exception as error:
        kind = type(value).__name__
        refusal = RuntimeError(f"the task returned a {kind} that cannot be pickled ({error}); return plain data")
        return bytes(cloudpickle.dumps((False, refusal)))


def _pickled_error(error: Exception) -> bytes:
    """Return a pickled exception with its traceback as a note; as a RuntimeError if it cannot be pickled."""
    below = error.__traceback__ and error.__traceback__.tb_next  # without our own frame
    text = "".join(traceback.format_exception(type(error), error, below)).rstrip()
    try:
        error.add_note(f"In the worker process:\n{text}")
        pickled = bytes(cloudpickle.dumps((False, error)))
        cloudpickle.loads(pickled)  # an exception with its own __init__ may pickle but not unpickle
    except Exception:
        pickled = bytes(cloudpickle.dumps((False, RuntimeError(f"the task raised an exception:\n{text}"))))
    return pickled


def _exit_with_parent(death_pipe: int) -> None:
    """End this process, and those that it started, when the parent dies."""
    if hasattr(fcntl, "F_SETSIG"):
        # A thread does not run while compiled code holds the GIL, so the kernel sends a signal where it can.
        fcntl.fcntl(death_pipe, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(death_pipe, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(death_pipe, fcntl.F_SETFL, os.O_ASYNC)
    threading.Thread(target=_wait_for_parent_death, args=(death_pipe,), daemon=True).start()


def _wait_for_parent_death(death_pipe: int) -> None:
    """Block until the parent-death pipe is closed, then kill the whole process group."""
    os.read(death_pipe, 1)
    os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _limit_memory(limit: int | None) -> None:
    """Make allocations beyond `limit` bytes fail with a MemoryError; `None` removes the limit."""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # not available on every platform
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        soft = hard if limit is None else limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _resident() -> int:
    """Return the resident memory of this process in bytes; its maximum where the current value is unknown."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
