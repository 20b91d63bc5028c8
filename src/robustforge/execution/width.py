"""How many tasks an executor does at the same time, as far as it tells."""

from __future__ import annotations

import os
from concurrent.futures import Executor
from typing import Any

from robustforge.execution.waiting import check_open


def width_of(executor: Executor) -> int:
    """Return how many tasks an executor does at the same time: the standard ones say, Dask's client says.

    A wrong guess costs speed, nothing else.

    Raises:
        ExecutionError: It is that of a Dask client which is closed.
    """
    said: Any = getattr(executor, "_max_workers", None)  # threads and processes of the standard library
    client: Any = getattr(executor, "_client", None)  # Dask's
    if said is None and client is not None:
        check_open(executor)
        said = sum(client.nthreads().values())
    return int(said) if said else os.cpu_count() or 1
