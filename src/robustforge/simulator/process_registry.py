"""The registry of running processes: it starts models, ends them together, and makes them end with this process."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from robustforge.simulator.orphan_guard import MARK_VARIABLE, kill_group


class ProcessRegistry:
    """The process groups of all running models; thread-safe, and one per search.

    The first start also starts the orphan guard, a small process that kills the models if this process is killed.

    Attributes:
        killed: Whether `kill` was called, after which nothing starts any more.

    Example:
        >>> with ProcessRegistry() as registry:
        ...     process = registry.start(["true"], Path("/"))
        ...     registry.terminate(process)
    """

    def __init__(self) -> None:
        self.killed = False
        self._lock = threading.RLock()  # reentrant: a signal handler may call `kill` at any point
        self._groups: set[int] = set()
        self._name, self._numbers = os.urandom(8).hex(), itertools.count()
        self._guard: _OrphanGuard | None = None
        self._idle: list[subprocess.Popen[bytes]] = []
        _REGISTRIES.add(self)

    def start(
        self, arguments: Sequence[str], folder: Path, stdin: IO[bytes] | int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes] | None:
        """Start a model in its own session and process group, with its output on pipes.

        Args:
            arguments: The program and its arguments; they are not passed to a shell.
            folder: Its working directory.
            stdin: Its standard input.

        Returns:
            The process, for `terminate`; `None` after `kill`.

        Raises:
            OSError: The program cannot be started.
            ValueError: An argument contains a character that no argument can contain.
        """
        with self._lock:  # `kill` must not miss a process that is starting
            if self.killed:
                return None
            self._guard = self._guard or _OrphanGuard()
            mark = f"{self._name}-{next(self._numbers)}"
            self._notify_guard(f"?{mark}\n")
            process = subprocess.Popen(
                arguments,
                bufsize=0,
                cwd=folder,
                env={**os.environ, MARK_VARIABLE: mark},
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._groups.add(process.pid)
            self._notify_guard(f"+{process.pid}\n")
            if self.killed:  # by a signal handler in this thread
                kill_group(process.pid)
        return process

    def terminate(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the remaining processes of a model's process group, and unregister it.

        Args:
            process: From `start`; not reaped yet if possible, since its number may be reused afterwards.
        """
        with self._lock:
            kill_group(process.pid)
            self._groups.discard(process.pid)
            self._notify_guard(f"-{process.pid}\n")

    def acquire_helper(self, arguments: Sequence[str]) -> subprocess.Popen[bytes] | None:
        """Return an idle helper, or start one; pass it to `release_helper` or `stop_helper` afterwards.

        Args:
            arguments: The program and its arguments, always the same. It reads requests from standard input.

        Returns:
            The process; `None` after `kill`.
        """
        with self._lock:
            return self._idle.pop() if self._idle else self.start(arguments, Path("/"), subprocess.PIPE)

    def release_helper(self, helper: subprocess.Popen[bytes]) -> None:
        """Make a helper available for further requests."""
        with self._lock:
            self._idle.append(helper)
        if self.killed:
            self._stop_idle_helpers()

    def stop_helper(self, helper: subprocess.Popen[bytes]) -> int:
        """Stop a helper, and return its return code, also if it has ended before."""
        self.terminate(helper)
        for pipe in (helper.stdin, helper.stdout, helper.stderr):
            if pipe is not None:
                pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            helper.wait(_GRACE_SECONDS)
        return helper.returncode or 0

    def _stop_idle_helpers(self) -> None:
        with self._lock:
            while self._idle:
                self.stop_helper(self._idle.pop())

    def kill(self) -> None:
        """Kill all running models, and start no more."""
        self.killed = True  # before taking the lock: its holder may start one more process, but not a second one
        with self._lock:
            for group in list(self._groups):
                kill_group(group)

    def close(self) -> None:
        """Kill all running models and stop the orphan guard."""
        self.kill()
        self._stop_idle_helpers()
        with self._lock:
            if self._guard is not None:
                self._guard.stop()
                self._guard = None

    def __enter__(self) -> ProcessRegistry:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _disown(self) -> None:
        """Forget everything, in a fork of this process: models and guard belong to the parent."""
        self._lock = threading.RLock()
        self._groups.clear()
        for helper in self._idle:  # its pipes are shared with the parent
            helper.returncode = 0
        self._idle.clear()
        if self._guard is not None:
            self._guard.disown()
            self._guard = None

    def _notify_guard(self, line: str) -> None:
        """Send a line to the orphan guard; if it has ended, start another one and send it all groups."""
        if self._guard is None:
            return
        try:
            self._guard.send(line)
        except OSError:
            self._guard.stop()
            self._guard = None
            with contextlib.suppress(OSError):  # without a guard the models run all the same
                self._guard = _OrphanGuard()
                for group in self._groups:
                    self._guard.send(f"+{group}\n")
                self._guard.send(line)


_GUARD_FILE = str(Path(__file__).with_name("orphan_guard.py"))


class _OrphanGuard:
    """The orphan guard's process and the pipe to it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            # as a file and without site: importing the package would take many times longer
            [sys.executable, "-I", "-S", _GUARD_FILE],
            bufsize=0,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # signals of the terminal do not reach it
        )
        assert self._process.stdin is not None
        self._pipe: IO[bytes] = self._process.stdin
        os.set_blocking(self._pipe.fileno(), False)  # a suspended guard must not block this process
        weakref.finalize(self, _close, self._process, self._pipe).atexit = False

    def send(self, line: str) -> None:
        """Write a line, completely or not at all.

        Raises:
            OSError: The guard does not read any more.
        """
        os.write(self._pipe.fileno(), line.encode())

    def stop(self) -> None:
        """Stop the guard without killing any model."""
        self._process.kill()  # before the pipe closes, which the guard takes for the end of this process
        _close(self._process, self._pipe)

    def disown(self) -> None:
        """Close the pipe only; the guard is not a child of this process."""
        self._process.returncode = 0
        self._pipe.close()


def _close(process: subprocess.Popen[bytes], pipe: IO[bytes]) -> None:
    """Close the pipe, and wait for the guard to end; also when a registry is garbage collected."""
    pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_SECONDS)


_GRACE_SECONDS = 2.0
_REGISTRIES: weakref.WeakSet[ProcessRegistry] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Close all registries at exit: daemon threads would restart models that the guard kills."""
    for registry in list(_REGISTRIES):
        registry.close()


def _disown_all() -> None:
    for registry in list(_REGISTRIES):
        registry._disown()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown_all)
