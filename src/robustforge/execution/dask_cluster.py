"""`connect`: the executor of a running Dask cluster."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from typing import Any

from robustforge.errors import ExecutionError

_RULE = "a Dask cluster must be given by the address of its scheduler"


@contextlib.contextmanager
def connect(address: str, timeout: float = 10) -> Iterator[Executor]:
    """Connect to a Dask cluster for the duration of a `with` block.

    Args:
        address: Address of the scheduler, for instance "tcp://10.0.0.7:8786".
        timeout: Seconds to wait for the scheduler and for a first worker.

    Yields:
        An executor. Pass positional arguments only to its tasks, since Dask interprets some keywords. Tasks that are
        not complete at the end of the block are cancelled.

    Raises:
        ExecutionError: `distributed` is not installed, the address is malformed or does not answer, the cluster has no
            workers, or the connection to the scheduler is lost.

    Example:
        >>> with connect("tcp://10.0.0.7:8786") as executor:  # doctest: +SKIP
        ...     executor.submit(pow, 2, 10).result()
        1024
    """
    distributed = _distributed()
    deadline = time.monotonic() + timeout
    _check(distributed, address)
    _probe(distributed, address, timeout)
    client = _client(distributed, address, max(1.0, deadline - time.monotonic()))
    try:
        _await_worker(client, address, max(0.1, deadline - time.monotonic()))
        yield client.get_executor(pure=False)
    except (CancelledError, ExecutionError):
        if client.status == "running":
            raise
        rule, fact = "a Dask scheduler must outlive its tasks", f"the one at {address} has stopped"
        raise ExecutionError(rule, fact, "Start it and try again") from None
    finally:
        _close(client)


def _distributed() -> Any:
    """Import `distributed`, which is large and optional."""
    try:
        import distributed
    except ImportError as error:
        raise ExecutionError(
            "a Dask cluster needs the package `distributed`",
            f"it cannot be imported: {error}",
            "Install it with `pip install 'robustforge[dask]'`",
        ) from None
    return distributed


def _check(distributed: Any, address: str) -> None:
    """Check that an address has a scheme, a host and a port."""
    try:
        _, port = distributed.comm.get_address_host_port(address)
        if not 0 < port < 65536:
            raise ValueError(f"port {port} does not exist")
    except (ValueError, TypeError, NotImplementedError) as error:
        raise ExecutionError(
            _RULE,
            f"{address!r} is not a valid address: {error}",
            "Give it as 'tcp://host:8786', as the scheduler prints it",
        ) from None


def _probe(distributed: Any, address: str, timeout: float) -> None:
    """Probe the connection: check that a scheduler answers at the address.

    The client itself would wait forever for a server that is not a scheduler.
    """
    failure: list[BaseException] = []

    async def handshake() -> None:
        secrets = distributed.Security().get_connection_args("client")  # from Dask's configuration, as the client does
        comm = await asyncio.wait_for(distributed.comm.connect(address, timeout=timeout, **secrets), timeout)
        await comm.close()

    def probe() -> None:
        try:
            asyncio.run(handshake())
        except Exception as error:
            failure.append(error)

    thread = threading.Thread(target=probe, daemon=True)  # a notebook runs an event loop in this one
    thread.start()
    thread.join(timeout + 1)
    if thread.is_alive() or failure:
        why = f" ({failure[0]})" if failure and not isinstance(failure[0], OSError) else ""
        raise ExecutionError(
            _RULE,
            f"no scheduler answered at {address} within {timeout:g} s{why}",
            "Start one with `dask scheduler`, or check the address and the firewall",
        )


def _client(distributed: Any, address: str, timeout: float) -> Any:
    """Return a client of the scheduler."""
    try:
        return distributed.Client(address, timeout=timeout, set_as_default=False, name="robustforge")
    except (OSError, ValueError, ImportError) as error:
        raise ExecutionError(
            _RULE, f"{address} refused the connection: {error}", "Check which service runs there"
        ) from None


def _await_worker(client: Any, address: str, timeout: float) -> None:
    """Wait until the cluster has a worker."""
    try:
        client.wait_for_workers(1, timeout=timeout)
    except TimeoutError:
        raise ExecutionError(
            "a Dask cluster must have workers",
            f"the scheduler at {address} has none",
            f"Start some with `dask worker {address}`, or pass a longer timeout",
        ) from None


def _close(client: Any) -> None:
    """Close the client, without the traceback that Dask logs when the scheduler ended first."""
    log = logging.getLogger("distributed.client")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        client.close()
    finally:
        log.setLevel(level)
