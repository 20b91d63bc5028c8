"""One run of a program: started, listened to, stopped when its time is up, and ended with all it started."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from robustforge.execution.deaths import words
from robustforge.model.outcome import TAIL
from robustforge.model.runs import Runs

KEPT = 2**20
"""Bytes of standard output from which a result is read: its last."""
INTERRUPTED = "interrupted"
"""Why a run has no value that `Runs.kill` ended."""

_CHUNK = 2**16
_GLANCE = 0.02
"""Seconds between looks at the process, where the system does not tell of its end."""
_LONGEST = 3600.0
"""Seconds that the system can be asked to wait."""
_GRACE = 5.0
"""Seconds to die after SIGKILL: a process that waits for a dead disk may take forever."""
_KILLED = [code for kill in (signal.SIGKILL, signal.SIGTERM) for code in (-kill, 128 + kill)]
"""How a program ends that somebody killed; a shell says so of what it ran by the latter."""


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it printed.

    Attributes:
        failure: Why what it printed does not count, in one line; empty if it does.
        killed: Whether somebody else killed it, so that another try is worthwhile.
        out: The last of its standard output.
        cut: Whether that is not all.
        err: The last of its standard error.
    """

    failure: str = ""
    killed: bool = False
    out: str = ""
    cut: bool = False
    err: str = ""

    @property
    def tail(self) -> str:
        """Its last words: on standard error if it said anything there."""
        return (self.err.strip() or self.out.strip())[-TAIL:]


def execute(arguments: Sequence[str], folder: Path, stdin: Path | None, time_limit: float | None, runs: Runs) -> Ended:
    """Run a program to its end, and leave nothing behind that it started.

    What leaves the program's process group (`setsid`) is out of reach, but holds nothing up.

    Args:
        arguments: The program and its arguments.
        folder: Its working directory.
        stdin: A file for its standard input; `None` for nothing.
        time_limit: Seconds that it may take.
        runs: Where it is listed while it runs.
    """
    try:
        with open(stdin or os.devnull, "rb") as source:
            process = runs.start(arguments, folder, source)
    except (OSError, ValueError) as error:  # the latter: a character that no argument can hold
        return Ended(f"the program cannot be started: {_described(error)}")
    if process is None:
        return Ended(INTERRUPTED)
    listener = _Listener(process)
    late = False
    try:
        late = not listener.listen(time_limit)
    finally:  # also when Ctrl-C comes
        runs.end(process)
        listener.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    if runs.killed:
        return Ended(INTERRUPTED)
    if late:
        return listener.told(f"it took longer than {time_limit:g} s")
    return listener.told(words(process.returncode) if process.returncode else "", process.returncode in _KILLED)


def _described(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error)


class _Listener:
    """Reads what a process prints, as fast as it prints, and keeps the last of it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._pipes = (process.stdout, process.stderr)
        self._tails = (_Tail(KEPT), _Tail(4 * TAIL))
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)

    def listen(self, time_limit: float | None) -> bool:
        """Read until the process ends; returns whether it did so in time. It is not reaped where that can be."""
        deadline = float("inf") if time_limit is None else time.monotonic() + time_limit
        with selectors.DefaultSelector() as selector, _end_of(self._process) as end:
            for pipe, tail in zip(self._pipes, self._tails, strict=True):
                selector.register(pipe, selectors.EVENT_READ, tail)
            if end is not None:
                selector.register(end, selectors.EVENT_READ)
            while (patience := deadline - time.monotonic()) > 0:
                for key, _ in selector.select(min(patience, _GLANCE if end is None else _LONGEST)):
                    if key.fd == end:
                        return True
                    if not key.data.read(key.fd):
                        selector.unregister(key.fileobj)
                if end is None and self._process.poll() is not None:
                    return True
        return False

    def close(self) -> None:
        """Take what is still in the pipes, and no more: something may hold them open, or even write to them."""
        for pipe, tail in zip(self._pipes, self._tails, strict=True):
            for _ in range(KEPT // _CHUNK):  # no pipe holds more
                if not tail.read(pipe.fileno()):
                    break
            pipe.close()

    def told(self, failure: str, killed: bool = False) -> Ended:
        """What is known of the run."""
        out, err = (tail.text() for tail in self._tails)
        return Ended(failure, killed, out, self._tails[0].cut, err)


@contextlib.contextmanager
def _end_of(process: subprocess.Popen[bytes]) -> Iterator[int | None]:
    """A descriptor that can be read once a process has ended; `None` where there is no such thing."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class _Tail:
    """The last bytes of a stream."""

    def __init__(self, size: int) -> None:
        self.cut = False
        self._size, self._bytes = size, bytearray()

    def read(self, descriptor: int) -> bool:
        """Read what is there; returns whether there may be more."""
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        self._bytes += chunk
        if len(self._bytes) > 2 * self._size:
            self._trim()
        return bool(chunk)

    def text(self) -> str:
        """What was kept."""
        self._trim()
        return self._bytes.decode("utf-8", errors="replace")

    def _trim(self) -> None:
        if len(self._bytes) > self._size:
            del self._bytes[: -self._size]
            self.cut = True
