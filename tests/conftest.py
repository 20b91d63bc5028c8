"""What the tests share: small problems, random heuristics, and an objective in every guise."""

from __future__ import annotations

import signal
from dataclasses import replace

import numpy as np
import pytest
from numba import njit

import robustforge as rf
from processes import Forks
from robustforge.errors import StoreError
from robustforge.store import Store

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # so it is in what a script starts with &
    signal.signal(signal.SIGINT, signal.default_int_handler)


@njit
def bowl(x):
    total = 0.0
    for i in range(x.size):
        total += (x[i] - 1.0) * (x[i] - 1.0)
    return total


@pytest.fixture(scope="session")
def compiled_bowl():
    return bowl


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


@pytest.fixture(scope="module")
def forks():
    """Commands that start at once."""
    made = Forks()
    yield made
    made.close()


LONGEST = (
    "test_cluster.py",
    "test_documents.py",
    "test_examples.py",
    "test_kills.py",
    "test_search_kills.py",
    "test_modelling.py",
    "test_packaging.py",
)
"""Files that take minutes: they begin first, so that no worker is left alone with one at the end."""


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONGEST)
