"""How a task can take its process with it: three ways in a supervised pool, and their kin in other executors."""

from __future__ import annotations

import signal
import sys


class WorkerError(RuntimeError):
    """A task that did not end by itself; its process is gone.

    Attributes:
        reason: What happened, in words.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class WorkerDied(WorkerError):  # noqa: N818
    """The process of the task died: it crashed, exited, or was killed by someone else."""


class DiedEarlier(WorkerDied):
    """The process died before it had taken the task: the task is to blame if a fresh process dies of it as well."""


class NotStarted(WorkerError):  # noqa: N818
    """There was no worker to take the task; the task is not to blame."""


class OutOfTime(WorkerError):  # noqa: N818
    """The task took longer than the time limit and was killed."""


class OutOfMemory(WorkerError):  # noqa: N818
    """The task needed more than the memory limit."""


def death_of(error: BaseException) -> str | None:
    """Why the worker of a task is gone, or `None` if the task raised `error` itself.

    Args:
        error: What the future of the task failed with, whichever executor it came from.

    Example:
        >>> death_of(OutOfTime("it took longer than 5 s"))
        'it took longer than 5 s'
        >>> death_of(ZeroDivisionError()) is None
        True
    """
    if isinstance(error, WorkerError):
        return error.reason
    if isinstance(error, MemoryError):
        return "it needed more memory than there is"
    distributed = sys.modules.get("distributed")  # an error of a package that was never imported cannot be met
    if distributed is not None and isinstance(error, distributed.KilledWorker):
        return f"the process died (on each of {error.allowed_failures + 1} Dask workers)"
    return None


def words(returncode: int) -> str:
    """How a process ended, for instance 'exit code 3' or 'signal SIGSEGV'."""
    if returncode >= 0:
        return f"exit code {returncode}"
    try:
        return f"signal {signal.Signals(-returncode).name}"
    except ValueError:  # a real-time signal has no name
        return f"signal {-returncode}"


def described(error: BaseException) -> str:
    """Return why a run failed, in one line that fits a table."""
    text = " ".join(f"{type(error).__name__}: {error}".split()).encode(errors="backslashreplace").decode()
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


_LONGEST = 500
