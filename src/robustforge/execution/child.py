"""One child process seen from the parent: started, given a task at a time, listened to, ended with all it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from multiprocessing import Pipe

from robustforge.execution.deaths import DiedEarlier, NotStarted, OutOfMemory, OutOfTime, WorkerDied, words

_PATIENCE = 120.0
"""Seconds to start, and to load a task: importing what it needs may be slow, and is no part of the task."""
_GRACE = 2.0
"""Seconds to leave by itself."""
_GLANCE = 1.0
"""Seconds between looks at the process: what it forked may hold the pipe open after its death."""


class Child:
    """A process that runs `robustforge.execution.worker`.

    Args:
        time_limit: Seconds that one task may take once it is loaded.
        memory_limit: Bytes that the process may use.
        first: A pickled task that comes before all others and has time to load what they need; `None` for none.
        quiet: Whether what tasks print is dropped.

    Attributes:
        resident: Bytes that the process occupied after its last task.
    """

    def __init__(
        self, time_limit: float | None, memory_limit: int, first: bytes | None = None, quiet: bool = False
    ) -> None:
        self.time_limit, self.memory_limit, self.resident = time_limit, memory_limit, 0
        self._first, self._started, self._over = first, False, False
        with contextlib.ExitStack() as ours:  # closed if the start fails
            self._connection, theirs = Pipe()
            ours.callback(self._connection.close)
            with theirs:
                end, self._lifeline = os.pipe()
                ours.callback(os.close, self._lifeline)
                try:
                    self._process = _start(theirs.fileno(), end, quiet)
                finally:
                    os.close(end)
            ours.pop_all()

    def run(self, task: bytes) -> bytes:
        """Have a task carried out.

        Args:
            task: The pickled function, arguments and keyword arguments.

        Returns:
            The pickled `(succeeded, value)`.

        Raises:
            WorkerError: If the process did not survive the task. The child is then only good for `end`.
        """
        kind, patience = "", None if self.time_limit is None else _PATIENCE
        try:
            if not self._started:
                self._begin(patience)
                self._started = True
            self._connection.send_bytes(task)
            kind, outcome, self.resident = self._hear(patience)
            if kind == "taken":
                kind, outcome, self.resident = self._hear(self.time_limit)
        except TimeoutError:
            if not self._started:
                raise NotStarted(f"a process took longer than {_PATIENCE:g} s to start") from None
            limit = f"{self.time_limit:g} s" if kind else f"{_PATIENCE:g} s to load"
            raise OutOfTime(f"it took longer than {limit}") from None
        except (EOFError, OSError):
            if not self._started:
                raise NotStarted(f"a process died while it started ({words(self.end())})") from None
            raise (WorkerDied if kind else DiedEarlier)(f"the process died ({words(self.end())})") from None
        if kind == "out of memory":
            raise OutOfMemory(f"it needed more than {self.memory_limit / 2**20:.0f} MB")
        return outcome

    def _begin(self, patience: float | None) -> None:
        """Tell the process what it needs to know, and have the first task done; what comes of that does not matter."""
        self._connection.send(([str(folder) for folder in sys.path], self.memory_limit))
        self._hear(patience)
        if self._first is not None:
            self._connection.send_bytes(self._first)
            while self._hear(patience)[0] == "taken":
                pass

    def kill(self) -> None:
        """End the process and all it started, at once; `end` is still to be called."""
        if not self._over:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # all of them are gone, or are zombies
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> int:
        """Let the process leave, kill what stays, and free everything; returns its return code."""
        if not self._connection.closed:
            self._connection.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE)
            self.kill()  # also what it started: a group with a member left keeps its number from being used again
            self._over = True
            os.close(self._lifeline)
        return self._process.wait()

    def disown(self) -> None:
        """Let go of the pipes: what a fork of the parent must do, or the lifeline outlives the parent."""
        if not self._connection.closed:
            self._connection.close()
            os.close(self._lifeline)

    def _hear(self, patience: float | None) -> tuple[str, bytes, int]:
        """The next message of the process, within so many seconds.

        Raises:
            TimeoutError: If there is none; the process is killed.
            EOFError: If there will be none.
        """
        deadline = float("inf") if patience is None else time.monotonic() + patience
        while not self._connection.poll(min(_GLANCE, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                self.kill()
                raise TimeoutError
            if self._process.poll() is not None and not self._connection.poll():
                raise EOFError
        kind, outcome, resident = self._connection.recv()
        return kind, outcome, resident


_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""For linear algebra: there is a worker on each core already. Who has set these keeps them."""


def _start(pipe: int, lifeline: int, quiet: bool) -> subprocess.Popen[bytes]:
    """Start a worker in a session of its own, out of reach of the terminal's Ctrl-C.

    Only these two descriptors are inherited: a sibling that held the other end of a lifeline would keep it alive.
    """
    return subprocess.Popen(
        # -P: no module is taken from the working directory before the parent's sys.path has come
        [sys.executable, "-P", "-m", "robustforge.execution.worker", str(pipe), str(lifeline)],
        pass_fds=(pipe, lifeline),
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if quiet else 2,  # what a task prints must not mix with our own output
        env={**_ONE_THREAD, **os.environ},
    )
