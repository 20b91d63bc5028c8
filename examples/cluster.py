"""Many machines: the same search with a Dask cluster as the workers. (pip install 'robustforge[dask]')

    python examples/cluster.py                starts a small cluster here; Client("tcp://...") for yours

`evolve` and `assess` take the same executor.
"""

from __future__ import annotations

import time

import numpy as np
from distributed import Client

import robustforge as rf


def slow_model(x: np.ndarray) -> float:
    """Return a value after a delay."""
    time.sleep(0.01)
    return float(np.sum((x - 1.0) ** 2))


if __name__ == "__main__":
    arguments = {"bounds": [(-5, 5)] * 6, "uncertainty": rf.Ball(0.3), "budget": 120, "heuristic": "rpso", "rng": 1}
    with Client(n_workers=2, threads_per_worker=2, dashboard_address=None) as client:
        result = rf.minimize(slow_model, **arguments, workers=client.get_executor())
    alone = rf.minimize(slow_model, **arguments)
    print("worst found", round(result.fun, 3), "- the same without a cluster:", np.array_equal(result.x, alone.x))
