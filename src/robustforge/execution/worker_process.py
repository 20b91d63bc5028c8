"""`WorkerProcess`: one worker of the supervised pool, as the parent process sees it.

It is started, given one task at a time, and ended together with the processes that it started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from multiprocessing import Pipe

from robustforge.execution.worker_errors import (
    DiedBeforeTask,
    MemoryLimitExceeded,
    TimeLimitExceeded,
    WorkerDied,
    WorkerNotStarted,
    describe_exit,
)

_START_TIMEOUT = 120.0
"""Seconds to start, and to load a task; importing modules may be slow and is not part of the task."""
_EXIT_TIMEOUT = 2.0
"""Seconds to exit before it is killed."""
_POLL_INTERVAL = 1.0
"""Seconds between checks whether it is alive: a process that it forked may hold the pipe open after its death."""


class WorkerProcess:
    """A process that runs `robustforge.execution.worker_main`.

    Args:
        time_limit: Seconds that one task may take once it is loaded.
        memory_limit: Bytes that the process may use.
        setup: A pickled task to run before all others, without a time limit.
        quiet: Whether to discard the output of tasks.

    Attributes:
        resident: Resident memory after its last task, in bytes.
    """

    def __init__(
        self, time_limit: float | None, memory_limit: int, setup: bytes | None = None, quiet: bool = False
    ) -> None:
        self.time_limit, self.memory_limit, self.resident = time_limit, memory_limit, 0
        self._setup, self._is_started, self._is_killed = setup, False, False
        with contextlib.ExitStack() as opened:  # closed if the start fails
            self._connection, theirs = Pipe()
            opened.callback(self._connection.close)
            with theirs:
                read_end, self._death_pipe = os.pipe()
                opened.callback(os.close, self._death_pipe)
                try:
                    self._process = _start(theirs.fileno(), read_end, quiet)
                finally:
                    os.close(read_end)
            opened.pop_all()

    def run(self, task: bytes) -> bytes:
        """Run a task.

        Args:
            task: The pickled function, arguments and keyword arguments.

        Returns:
            The pickled `(succeeded, value)`.

        Raises:
            WorkerError: The process died. Only `end` can be called afterwards.
        """
        kind, timeout = "", None if self.time_limit is None else _START_TIMEOUT
        try:
            if not self._is_started:
                self._initialise(timeout)
                self._is_started = True
            self._connection.send_bytes(task)
            kind, outcome, self.resident = self._receive(timeout)
            if kind == "taken":
                kind, outcome, self.resident = self._receive(self.time_limit)
        except TimeoutError:
            if not self._is_started:
                raise WorkerNotStarted(f"a process took longer than {_START_TIMEOUT:g} s to start") from None
            limit = f"{self.time_limit:g} s" if kind else f"{_START_TIMEOUT:g} s to load"
            raise TimeLimitExceeded(f"it took longer than {limit}") from None
        except (EOFError, OSError):
            if not self._is_started:
                raise WorkerNotStarted(f"a process died while starting ({describe_exit(self.end())})") from None
            raise (WorkerDied if kind else DiedBeforeTask)(f"the process died ({describe_exit(self.end())})") from None
        if kind == "out of memory":
            raise MemoryLimitExceeded(f"it needed more than {self.memory_limit / 2**20:.0f} MB")
        return outcome

    def _initialise(self, timeout: float | None) -> None:
        """Send the module path and the memory limit, and run the setup task, whose result is ignored."""
        self._connection.send(([str(folder) for folder in sys.path], self.memory_limit))
        self._receive(timeout)
        if self._setup is not None:
            self._connection.send_bytes(self._setup)
            while self._receive(timeout)[0] == "taken":
                pass

    def kill(self) -> None:
        """Kill the process and all that it started; `end` must still be called."""
        if not self._is_killed:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # they have ended, or are zombies
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> int:
        """Let the process exit, kill what remains, and free all resources; returns its return code."""
        if not self._connection.closed:
            self._connection.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_EXIT_TIMEOUT)
            self.kill()  # also what it started: the id of a group with a member left is not reused
            self._is_killed = True
            os.close(self._death_pipe)
        return self._process.wait()

    def disown(self) -> None:
        """Close the pipes; called in a fork of the parent, which would otherwise keep the parent-death pipe open."""
        if not self._connection.closed:
            self._connection.close()
            os.close(self._death_pipe)

    def _receive(self, timeout: float | None) -> tuple[str, bytes, int]:
        """Return the next message of the process.

        Raises:
            TimeoutError: There is none within `timeout` seconds; the process is killed.
            EOFError: The process has ended.
        """
        deadline = float("inf") if timeout is None else time.monotonic() + timeout
        while not self._connection.poll(min(_POLL_INTERVAL, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                self.kill()
                raise TimeoutError
            if self._process.poll() is not None and not self._connection.poll():
                raise EOFError
        kind, outcome, resident = self._connection.recv()
        return kind, outcome, resident


_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Threads of linear algebra, since there is a worker on each core already; existing settings take precedence."""


def _start(pipe: int, death_pipe: int, quiet: bool) -> subprocess.Popen[bytes]:
    """Start a worker in its own session, so that Ctrl-C in the terminal does not reach it.

    Only these two descriptors are inherited: a sibling with the other end of a parent-death pipe would keep it open.
    """
    return subprocess.Popen(
        # -P: no module is imported from the working directory before the parent's sys.path arrives
        [sys.executable, "-P", "-m", "robustforge.execution.worker_main", str(pipe), str(death_pipe)],
        pass_fds=(pipe, death_pipe),
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if quiet else 2,  # output of tasks must not mix with our own
        env={**_ONE_THREAD, **os.environ},
    )
