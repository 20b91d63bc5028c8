"""What tests share: an objective, random heuristics, and comparisons to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import njit

import robustforge as rf
from robustforge.errors import StoreError
from robustforge.store import Store


@njit
def bowl(x):
    total = 0.0
    for i in range(x.size):
        total += (x[i] - 1.0) * (x[i] - 1.0)
    return total


def random_heuristic(seed: int, extensions: bool = True) -> rf.Heuristic:
    return rf.grammar("extended" if extensions else "paper").random(np.random.default_rng(seed))


def same(a, b) -> bool:
    """Whether two results agree to the bit."""
    return (
        np.array_equal(a.x, b.x)
        and np.array_equal(a.history.fun, b.history.fun, equal_nan=True)
        and np.array_equal(a.history.x, b.history.x)
        and a.fun == b.fun
        and a.nominal_fun == b.nominal_fun
    )


def stored(path):
    """All runs in a store by key, timings included; none while there is no store."""
    try:
        with Store.read(path) as store:
            return {run.key: run for experiment in store.experiments() for run in store.runs(experiment)}
    except StoreError:
        return {}


def timeless(runs):
    return {key: repr(replace(run, seconds=0.0)) for key, run in runs.items()}
