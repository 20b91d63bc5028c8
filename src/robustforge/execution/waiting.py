"""Tasks handed to somebody's executor, and waited for: never in silence where nobody works, and with our own errors.

A Dask cluster may lose all its workers, and its client may be closed: the first is said now and then, the second is an
`ExecutionError`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any, TypeVar

from robustforge.errors import ExecutionError, RobustforgeError

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds without any result after which is said what is waited for, if that is known."""

_ANSWER = 5.0
"""Seconds for a scheduler to say who works for it."""

_FIX = "Make a new client, and give the same call again with its executor"


def submitted(executor: Executor, function: Callable[..., T], *arguments: Any) -> Future[T]:
    """Hand a task to an executor.

    Raises:
        ExecutionError: It takes none.
    """
    try:
        return executor.submit(function, *arguments)
    except RobustforgeError:
        raise
    except Exception as error:
        check_open(executor)
        fact = f"this one does not: {type(error).__name__}: {error}"
        raise ExecutionError("an executor must take tasks", fact, "Pass one that is not shut down") from error


def first_done(futures: Iterable[Future[T]], executor: Executor) -> set[Future[T]]:
    """Wait for one of some tasks, and say on stderr what is waited for if there is nobody to do them.

    Raises:
        ExecutionError: The executor has dropped one of them.
    """
    futures = list(futures)
    while not (done := wait(futures, timeout=PATIENCE, return_when=FIRST_COMPLETED).done):
        if words := waits_for(executor):
            print(f"robustforge: {words}", file=sys.stderr, flush=True)
    for future in done:
        if future.cancelled():
            check_open(executor)
            raise ExecutionError("an executor must do the tasks that it took", "it has cancelled one", "Pass another")
    return done


def waits_for(executor: Executor) -> str:
    """Return what a Dask executor waits for, in words; nothing if it has workers, or is no Dask executor."""
    client: Any = getattr(executor, "_client", None)
    if client is None:
        return ""
    address = _address(client)
    try:
        workers = client.sync(client.scheduler.ncores, callback_timeout=_ANSWER)
    except Exception:  # of any kind, since the connection may break in between
        return f"waiting for the Dask scheduler at {address}, which does not answer"
    if workers:
        return ""
    return f"waiting for workers: the Dask scheduler at {address} has none. Start some with `dask worker {address}`"


def check_open(executor: Executor) -> None:
    """Raise if an executor is that of a Dask client which is closed; Dask's own errors would not say so."""
    client: Any = getattr(executor, "_client", None)
    if client is not None and getattr(client, "status", "running") in ("closed", "closing"):
        fact = f"that of the scheduler at {_address(client)} is closed, or has lost its scheduler"
        raise ExecutionError("a Dask client must be open as long as its executor is used", fact, _FIX)


def _address(client: Any) -> str:
    """Return the address of a client's scheduler, also if there is no connection any more."""
    scheduler = getattr(client, "scheduler", None)
    return str(getattr(scheduler, "address", None) or getattr(client, "_start_arg", "") or "an unknown address")
