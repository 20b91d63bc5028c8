"""Where tasks run: in supervised processes of this machine, or on a Dask cluster.

Everything here is a `concurrent.futures.Executor`, so who submits tasks need not know which; `death_of` tells a task
that took its process with it from one that merely raised.
"""

from __future__ import annotations

from robustforge.execution.dask import connect as connect
from robustforge.execution.deaths import NotStarted as NotStarted
from robustforge.execution.deaths import OutOfMemory as OutOfMemory
from robustforge.execution.deaths import OutOfTime as OutOfTime
from robustforge.execution.deaths import WorkerDied as WorkerDied
from robustforge.execution.deaths import WorkerError as WorkerError
from robustforge.execution.deaths import death_of as death_of
from robustforge.execution.pool import SupervisedPool as SupervisedPool
from robustforge.execution.width import width_of as width_of

__all__ = [
    "NotStarted",
    "OutOfMemory",
    "OutOfTime",
    "SupervisedPool",
    "WorkerDied",
    "WorkerError",
    "connect",
    "death_of",
    "width_of",
]
