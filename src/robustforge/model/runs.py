"""The models under way: started here, so that all can be ended at once, and so that they end with us however we end."""

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

from robustforge.model.guard import VARIABLE, end_group


class Runs:
    """The process groups of the models that run now; threads may share one, and a search should have one.

    The first start also starts the guard, a tiny process that kills what is under way should this process be killed.

    Attributes:
        killed: Whether `kill` was called: nothing starts any more.

    Example:
        >>> with Runs() as runs:
        ...     process = runs.start(["true"], Path("/"))
        ...     runs.end(process)
    """

    def __init__(self) -> None:
        self.killed = False
        self._lock = threading.RLock()  # a signal handler may call `kill` in the middle of anything
        self._groups: set[int] = set()
        self._name, self._numbers = os.urandom(8).hex(), itertools.count()
        self._lifeline: _Lifeline | None = None
        self._idle: list[subprocess.Popen[bytes]] = []
        _EVERY.add(self)

    def start(
        self, arguments: Sequence[str], folder: Path, stdin: IO[bytes] | int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes] | None:
        """Start a model in a session and process group of its own, its output on pipes.

        Args:
            arguments: The program and its arguments; no shell sees them.
            folder: Its working directory.
            stdin: Its standard input.

        Returns:
            The process, to be given to `end`; `None` after `kill`.

        Raises:
            OSError: If the program cannot be started.
            ValueError: If an argument cannot be passed to any program.
        """
        with self._lock:  # nothing may start, unlisted, while all is killed; a start holds the interpreter up anyway
            if self.killed:
                return None
            self._lifeline = self._lifeline or _Lifeline()
            mark = f"{self._name}-{next(self._numbers)}"
            self._tell(f"?{mark}\n")
            process = subprocess.Popen(
                arguments,
                bufsize=0,
                cwd=folder,
                env={**os.environ, VARIABLE: mark},
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._groups.add(process.pid)
            self._tell(f"+{process.pid}\n")
            if self.killed:  # by a signal handler in this thread
                end_group(process.pid)
        return process

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill what is left of a model's process group, and forget it.

        Args:
            process: From `start`; best not reaped yet, for until then nobody else can get its number.
        """
        with self._lock:
            end_group(process.pid)
            self._groups.discard(process.pid)
            self._tell(f"-{process.pid}\n")

    def helper(self, arguments: Sequence[str]) -> subprocess.Popen[bytes] | None:
        """Return a helper that waits for work, or start one; it is to be given to `keep` or `dismiss`.

        Args:
            arguments: The program and its arguments, always the same. It reads its work from standard input.

        Returns:
            The process; `None` after `kill`.
        """
        with self._lock:
            return self._idle.pop() if self._idle else self.start(arguments, Path("/"), subprocess.PIPE)

    def keep(self, helper: subprocess.Popen[bytes]) -> None:
        """Let a helper wait for further work."""
        with self._lock:
            self._idle.append(helper)
        if self.killed:
            self._dismiss_idle()

    def dismiss(self, helper: subprocess.Popen[bytes]) -> int:
        """End a helper, and return its return code: its own if it has ended by itself."""
        self.end(helper)
        for pipe in (helper.stdin, helper.stdout, helper.stderr):
            if pipe is not None:
                pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            helper.wait(_GRACE)
        return helper.returncode or 0

    def _dismiss_idle(self) -> None:
        with self._lock:
            while self._idle:
                self.dismiss(self._idle.pop())

    def kill(self) -> None:
        """End all models under way at once, and start no more."""
        self.killed = True  # not under the lock: who holds it may start one more, but not the next
        with self._lock:
            for group in list(self._groups):
                end_group(group)

    def close(self) -> None:
        """Kill all, and let the guard go."""
        self.kill()
        self._dismiss_idle()
        with self._lock:
            if self._lifeline is not None:
                self._lifeline.cut()
                self._lifeline = None

    def __enter__(self) -> Runs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _disown(self) -> None:
        """In a fork of this process: the models belong to the original, whose end the guard must hear."""
        self._lock = threading.RLock()
        self._groups.clear()
        for helper in self._idle:  # the pipes of which are shared now
            helper.returncode = 0
        self._idle.clear()
        if self._lifeline is not None:
            self._lifeline.disown()
            self._lifeline = None

    def _tell(self, line: str) -> None:
        """Tell the guard; if it is gone, tell another one everything."""
        if self._lifeline is None:
            return
        try:
            self._lifeline.tell(line)
        except OSError:
            self._lifeline.cut()
            self._lifeline = None
            with contextlib.suppress(OSError):  # then the models go without; that is no reason to stop
                self._lifeline = _Lifeline()
                for group in self._groups:
                    self._lifeline.tell(f"+{group}\n")
                self._lifeline.tell(line)


_GUARD = str(Path(__file__).with_name("guard.py"))


class _Lifeline:
    """The guard and the pipe to it."""

    def __init__(self) -> None:
        self._guard = subprocess.Popen(
            # as a file, without site: that takes a fraction of the time that importing the package takes
            [sys.executable, "-I", "-S", _GUARD],
            bufsize=0,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # out of reach of the terminal
        )
        assert self._guard.stdin is not None
        self._pipe: IO[bytes] = self._guard.stdin
        os.set_blocking(self._pipe.fileno(), False)  # a guard that was stopped must not stop us
        weakref.finalize(self, _let_go, self._guard, self._pipe).atexit = False

    def tell(self, line: str) -> None:
        """Write a line, whole or not at all.

        Raises:
            OSError: If the guard does not read any more.
        """
        os.write(self._pipe.fileno(), line.encode())

    def cut(self) -> None:
        """End the guard without it killing anybody."""
        self._guard.kill()  # first: it would take the end of the pipe for the end of us
        _let_go(self._guard, self._pipe)

    def disown(self) -> None:
        """Let go of the pipe and nothing else; the guard is not our child."""
        self._guard.returncode = 0
        self._pipe.close()


def _let_go(guard: subprocess.Popen[bytes], pipe: IO[bytes]) -> None:
    """Close the pipe, and wait for the guard to end; also if its list was dropped."""
    pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        guard.wait(_GRACE)


_GRACE = 2.0
_EVERY: weakref.WeakSet[Runs] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """End what threads that nobody waits for have under way; they would start it again if the guard ended it."""
    for runs in list(_EVERY):
        runs.close()


def _disown_all() -> None:
    for runs in list(_EVERY):
        runs._disown()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown_all)
