"""Submits tasks to an executor and waits for them, with a notice and clear errors if a Dask cluster is the reason.

A Dask cluster may lose all its workers, which is reported on standard error at intervals, and its client may be closed,
which is an `ExecutionError`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any, TypeVar

from robustforge.errors import ExecutionError, RobustforgeError

T = TypeVar("T")

NOTICE_INTERVAL = 10.0
"""Seconds without any result before a notice about what is missing."""

_QUERY_TIMEOUT = 5.0
"""Seconds that a scheduler may take to list its workers."""

_FIX = "Create a new client, and repeat the call with its executor"


def submit(executor: Executor, function: Callable[..., T], *arguments: Any) -> Future[T]:
    """Submit a task to an executor.

    Raises:
        ExecutionError: The executor does not accept it.
    """
    try:
        return executor.submit(function, *arguments)
    except RobustforgeError:
        raise
    except Exception as error:
        check_client_open(executor)
        fact = f"this one raised {type(error).__name__}: {error}"
        raise ExecutionError("an executor must accept tasks", fact, "Pass one that is not shut down") from error


def wait_first(futures: Iterable[Future[T]], executor: Executor) -> set[Future[T]]:
    """Wait until at least one future is done, with a notice on stderr while there are no workers.

    Raises:
        ExecutionError: The executor has cancelled one of them.
    """
    futures = list(futures)
    while not (done := wait(futures, timeout=NOTICE_INTERVAL, return_when=FIRST_COMPLETED).done):
        if notice := waiting_for(executor):
            print(f"robustforge: {notice}", file=sys.stderr, flush=True)
    for future in done:
        if future.cancelled():
            check_client_open(executor)
            raise ExecutionError(
                "an executor must run its tasks", "the executor cancelled a task", "Pass another executor"
            )
    return done


def waiting_for(executor: Executor) -> str:
    """Return what a Dask executor is waiting for; empty if it has workers or is not a Dask executor."""
    client: Any = getattr(executor, "_client", None)
    if client is None:
        return ""
    address = _address(client)
    try:
        workers = client.sync(client.scheduler.ncores, callback_timeout=_QUERY_TIMEOUT)
    except Exception:  # of any kind, since the connection may be lost meanwhile
        return f"waiting for the Dask scheduler at {address}, which does not answer"
    if workers:
        return ""
    return f"waiting for workers: the Dask scheduler at {address} has none. Start some with `dask worker {address}`"


def check_client_open(executor: Executor) -> None:
    """Raise if an executor belongs to a closed Dask client; Dask's own errors do not explain this."""
    client: Any = getattr(executor, "_client", None)
    if client is not None and getattr(client, "status", "running") in ("closed", "closing"):
        fact = f"the client of the scheduler at {_address(client)} is closed, or has lost its scheduler"
        raise ExecutionError("a Dask client must be open while its executor is used", fact, _FIX)


def _address(client: Any) -> str:
    """Return the address of a client's scheduler, also after the connection was lost."""
    scheduler = getattr(client, "scheduler", None)
    return str(getattr(scheduler, "address", None) or getattr(client, "_start_arg", "") or "an unknown address")
