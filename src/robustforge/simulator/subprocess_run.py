"""One run of a program: reads its output, stops it after a time limit, and kills its process group at the end."""

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

from robustforge.execution.worker_errors import describe_exit
from robustforge.simulator.process_registry import ProcessRegistry
from robustforge.simulator.run_outcome import MAX_TAIL_LENGTH

MAX_OUTPUT_BYTES = 2**20
"""Bytes of standard output that are kept and parsed: the last ones."""
INTERRUPTED = "interrupted"
"""The failure of a run that `ProcessRegistry.kill` ended."""

_CHUNK_BYTES = 2**16
_POLL_SECONDS = 0.02
"""Interval between polls of the process, on systems without pidfd."""
_MAX_WAIT_SECONDS = 3600.0
"""The longest wait that selectors support everywhere."""
_GRACE_SECONDS = 5.0
"""Seconds to end after SIGKILL: a process that waits for a dead disk may never end."""
_KILLED_CODES = [code for kill in (signal.SIGKILL, signal.SIGTERM) for code in (-kill, 128 + kill)]
"""Return codes of a program that was killed from outside; 128 + n is a shell's code for its child."""


@dataclass(frozen=True)
class CompletedRun:
    """How a program ended, and its output.

    Attributes:
        failure: The reason why its output is not parsed, in one line; empty if it is.
        killed: Whether it was killed from outside, so that another attempt may succeed.
        stdout: The last part of its standard output.
        truncated: Whether `stdout` is not complete.
        stderr: The last part of its standard error.
    """

    failure: str = ""
    killed: bool = False
    stdout: str = ""
    truncated: bool = False
    stderr: str = ""

    @property
    def tail(self) -> str:
        """The last output: of standard error, or else of standard output."""
        return (self.stderr.strip() or self.stdout.strip())[-MAX_TAIL_LENGTH:]


def run_subprocess(
    arguments: Sequence[str], folder: Path, stdin: Path | None, time_limit: float | None, registry: ProcessRegistry
) -> CompletedRun:
    """Run a program to its end, and kill all processes of its group.

    Processes that leave the group (`setsid`) survive, but do not delay the return.

    Args:
        arguments: The program and its arguments.
        folder: Its working directory.
        stdin: A file for its standard input; `None` for none.
        time_limit: Seconds after which it is stopped.
        registry: Where it is registered while it runs.
    """
    try:
        with open(stdin or os.devnull, "rb") as source:
            process = registry.start(arguments, folder, source)
    except (OSError, ValueError) as error:  # the latter: a character that no argument can contain
        return CompletedRun(f"the program cannot be started: {_described(error)}")
    if process is None:
        return CompletedRun(INTERRUPTED)
    output = _OutputReader(process)
    timed_out = False
    try:
        timed_out = not output.read_until_exit(time_limit)
    finally:  # also after Ctrl-C
        registry.terminate(process)
        output.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
    if registry.killed:
        return CompletedRun(INTERRUPTED)
    if timed_out:
        return output.completed(f"it took longer than {time_limit:g} s")
    failure = describe_exit(process.returncode) if process.returncode else ""
    return output.completed(failure, process.returncode in _KILLED_CODES)


def _described(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error)


class _OutputReader:
    """Reads the output of a process while it runs, and keeps the last part."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._pipes = (process.stdout, process.stderr)
        self._tails = (_TailBuffer(MAX_OUTPUT_BYTES), _TailBuffer(4 * MAX_TAIL_LENGTH))
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)

    def read_until_exit(self, time_limit: float | None) -> bool:
        """Read until the process exits; return whether it did so in time. It is not reaped if there is a pidfd."""
        deadline = float("inf") if time_limit is None else time.monotonic() + time_limit
        with selectors.DefaultSelector() as selector, _exit_descriptor(self._process) as exited:
            for pipe, tail in zip(self._pipes, self._tails, strict=True):
                selector.register(pipe, selectors.EVENT_READ, tail)
            if exited is not None:
                selector.register(exited, selectors.EVENT_READ)
            while (remaining := deadline - time.monotonic()) > 0:
                for key, _ in selector.select(min(remaining, _POLL_SECONDS if exited is None else _MAX_WAIT_SECONDS)):
                    if key.fd == exited:
                        return True
                    if not key.data.read(key.fd):
                        selector.unregister(key.fileobj)
                if exited is None and self._process.poll() is not None:
                    return True
        return False

    def close(self) -> None:
        """Read what the pipes still hold, and no more: a process that left the group may keep writing to them."""
        for pipe, tail in zip(self._pipes, self._tails, strict=True):
            for _ in range(MAX_OUTPUT_BYTES // _CHUNK_BYTES):  # no pipe holds more
                if not tail.read(pipe.fileno()):
                    break
            pipe.close()

    def completed(self, failure: str, killed: bool = False) -> CompletedRun:
        """Return the run with the output so far."""
        stdout, stderr = (tail.text() for tail in self._tails)
        return CompletedRun(failure, killed, stdout, self._tails[0].truncated, stderr)


@contextlib.contextmanager
def _exit_descriptor(process: subprocess.Popen[bytes]) -> Iterator[int | None]:
    """Provide a pidfd, which is readable once the process has exited; `None` on systems without."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class _TailBuffer:
    """The last bytes of a stream."""

    def __init__(self, size: int) -> None:
        self.truncated = False
        self._size, self._bytes = size, bytearray()

    def read(self, descriptor: int) -> bool:
        """Read the available bytes; return whether there may be more."""
        try:
            chunk = os.read(descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        self._bytes += chunk
        if len(self._bytes) > 2 * self._size:
            self._trim()
        return bool(chunk)

    def text(self) -> str:
        """Return the buffered bytes as a string."""
        self._trim()
        return self._bytes.decode("utf-8", errors="replace")

    def _trim(self) -> None:
        if len(self._bytes) > self._size:
            del self._bytes[: -self._size]
            self.truncated = True
