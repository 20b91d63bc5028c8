"""Executors for tasks: supervised local processes, or a Dask cluster.

Both are a `concurrent.futures.Executor`. `worker_failure` distinguishes a task whose worker died from one that raised.
"""

from __future__ import annotations

from robustforge.execution.dask_cluster import connect as connect
from robustforge.execution.process_pool import SupervisedPool as SupervisedPool
from robustforge.execution.worker_errors import MemoryLimitExceeded as MemoryLimitExceeded
from robustforge.execution.worker_errors import TimeLimitExceeded as TimeLimitExceeded
from robustforge.execution.worker_errors import WorkerDied as WorkerDied
from robustforge.execution.worker_errors import WorkerError as WorkerError
from robustforge.execution.worker_errors import WorkerNotStarted as WorkerNotStarted
from robustforge.execution.worker_errors import worker_failure as worker_failure

__all__ = [
    "MemoryLimitExceeded",
    "SupervisedPool",
    "TimeLimitExceeded",
    "WorkerDied",
    "WorkerError",
    "WorkerNotStarted",
    "connect",
    "worker_failure",
]
