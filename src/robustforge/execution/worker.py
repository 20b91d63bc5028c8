"""What a child of the supervised pool runs: take a task from the pipe, call it, send back what came of it.

It is started as `python -m robustforge.execution.worker PIPE LIFELINE`, two inherited file descriptors. The lifeline is
a pipe on which nothing is ever written: its end of file says that the parent is gone.
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
"""Bytes kept free for reporting that there are no more: an interpreter takes new memory by the megabyte."""


def main() -> None:
    """Serve tasks until the parent closes the pipe."""
    pipe, lifeline = int(sys.argv.pop(1)), int(sys.argv.pop(1))
    for descriptor in (pipe, lifeline):
        os.set_inheritable(descriptor, False)
    _hold_on_to(lifeline)
    connection = Connection(pipe)
    sys.path[:], memory_limit = connection.recv()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # a crash must not lose what was printed
    reserve = bytearray(_RESERVE)
    _limit_memory(memory_limit)
    connection.send(("ready", b"", 0))
    while True:
        try:
            connection.send(("done", _carry_out(connection.recv_bytes(), connection), _resident()))
        except EOFError:
            return
        except MemoryError:
            del reserve  # what the task took may still be held, and lifting the limit allocates as well
            _limit_memory(None)
            connection.send(("out of memory", b"", 0))
            return


def _carry_out(task: bytes, connection: Connection) -> bytes:
    """Call a task; what it returns or raises, pickled as `(succeeded, value)`.

    SystemExit and its like are let through: they end the child as they would end a program.
    """
    try:
        function, args, kwargs = cloudpickle.loads(task)
        connection.send(("taken", b"", 0))  # from here on the clock of the time limit runs
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
        told = RuntimeError(f"the task returned a {kind} that cannot be pickled ({error}); return plain data instead")
        return bytes(cloudpickle.dumps((False, told)))


def _pickled_error(error: Exception) -> bytes:
    """An exception as it can travel, with its traceback as a note; as a RuntimeError if it cannot."""
    below = error.__traceback__ and error.__traceback__.tb_next  # without the line of ours that called the task
    story = "".join(traceback.format_exception(type(error), error, below)).rstrip()
    try:
        error.add_note(f"In the worker process:\n{story}")
        pickled = bytes(cloudpickle.dumps((False, error)))
        cloudpickle.loads(pickled)  # an __init__ of its own may make an exception that packs but does not unpack
    except Exception:
        pickled = bytes(cloudpickle.dumps((False, RuntimeError(f"the task raised an exception:\n{story}"))))
    return pickled


def _hold_on_to(lifeline: int) -> None:
    """End this process, and those it started, as soon as the parent is gone."""
    if hasattr(fcntl, "F_SETSIG"):
        # A thread gets no turn while compiled code holds the interpreter's lock, so let the kernel do it where it can.
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC)
    threading.Thread(target=_wait_for_the_end, args=(lifeline,), daemon=True).start()


def _wait_for_the_end(lifeline: int) -> None:
    """Block until the lifeline is cut, then kill the whole process group."""
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _limit_memory(limit: int | None) -> None:
    """Let allocations beyond `limit` bytes fail with a MemoryError; `None` lifts the limit again."""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # not every platform has it
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        soft = hard if limit is None else limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _resident() -> int:
    """The memory this process occupies now, in bytes; where that is unknown, the most it ever did."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
