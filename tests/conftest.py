"""What the tests share: small problems, random heuristics, and an objective in every guise."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import robustforge as rf


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
