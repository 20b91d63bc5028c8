"""Errors of tasks whose worker process did not survive, in a supervised pool and in other executors."""

from __future__ import annotations

import signal
import sys

_MAX_LENGTH = 500
"""Characters of a failure reason."""


class WorkerError(RuntimeError):
    """A task did not complete, and its worker process has ended.

    Attributes:
        reason: What happened.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class WorkerDied(WorkerError):  # noqa: N818
    """The worker process crashed, exited or was killed."""


class DiedBeforeTask(WorkerDied):
    """The worker process died before it received the task. If a new process dies as well, the task is the cause."""


class WorkerNotStarted(WorkerError):  # noqa: N818
    """No worker process could be started; the task is not the cause."""


class TimeLimitExceeded(WorkerError):  # noqa: N818
    """The task exceeded the time limit and was killed."""


class MemoryLimitExceeded(WorkerError):  # noqa: N818
    """The task exceeded the memory limit."""


def worker_failure(error: BaseException) -> str | None:
    """Return why the worker of a task ended, or `None` if the task itself raised `error`.

    Args:
        error: The exception of the task's future, from any executor.

    Example:
        >>> worker_failure(TimeLimitExceeded("it took longer than 5 s"))
        'it took longer than 5 s'
        >>> worker_failure(ZeroDivisionError()) is None
        True
    """
    if isinstance(error, WorkerError):
        return error.reason
    if isinstance(error, MemoryError):
        return "it needed more memory than available"
    distributed = sys.modules.get("distributed")  # its errors occur only if it was imported
    if distributed is not None and isinstance(error, distributed.KilledWorker):
        return f"the process died (on each of {error.allowed_failures + 1} Dask workers)"
    return None


def describe_exit(returncode: int) -> str:
    """Return how a process ended, for instance 'exit code 3' or 'signal SIGSEGV'."""
    if returncode >= 0:
        return f"exit code {returncode}"
    try:
        return f"signal {signal.Signals(-returncode).name}"
    except ValueError:  # a real-time signal has no name
        return f"signal {-returncode}"


def describe_error(error: BaseException) -> str:
    """Return why a run failed, in one line of limited length."""
    text = " ".join(f"{type(error).__name__}: {error}".split()).encode(errors="backslashreplace").decode()
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 3] + "..."
