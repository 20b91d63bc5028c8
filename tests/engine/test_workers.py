"""Functions evaluated by several workers: the same answer, whatever their number and kind."""

from __future__ import annotations

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest

import robustforge as rf
from robustforge.errors import ProblemError
from robustforge.execution import WorkerDied
from shared import bowl, same

ARGUMENTS = ([(-3, 5)] * 4, rf.Ball(0.5), 120, "rpso", 3)


def test_the_answer_does_not_depend_on_the_workers():
    alone = rf.minimize(bowl, *ARGUMENTS)
    here = os.getpid()

    def elsewhere(x, pid):
        assert os.getpid() != pid
        return bowl(x)

    assert same(rf.minimize(lambda x: bowl(x), *ARGUMENTS, workers=2), alone)
    with ThreadPoolExecutor(3) as threads:
        assert same(rf.minimize(bowl, *ARGUMENTS, workers=threads), alone)
    assert rf.minimize(elsewhere, *ARGUMENTS[:2], 20, "rpso", 3, args=(here,), workers=2).nfev == 20


def test_points_of_a_batch_are_evaluated_at_the_same_time():
    active, most, lock = [0], [0], threading.Lock()

    def counted(x):
        with lock:
            active[0] += 1
            most[0] = max(most[0], active[0])
        time.sleep(0.005)
        with lock:
            active[0] -= 1
        return bowl(x)

    with ThreadPoolExecutor(4) as threads:
        rf.minimize(counted, *ARGUMENTS, workers=threads)
    assert most[0] == 4


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_in_a_worker_is_the_users_own_and_has_the_result(workers):
    def fails(x):
        if x[0] < -1:
            raise ZeroDivisionError("too low")
        return bowl(x)

    with pytest.raises(ZeroDivisionError, match="too low") as raised:
        rf.minimize(fails, *ARGUMENTS, workers=workers)
    found = raised.value.result
    assert found.nfev == len(found.history)
    policies = [rf.minimize(fails, *ARGUMENTS, on_failure=p, workers=workers) for p in ("infeasible", "unknown")]
    assert [result.failures > 0 for result in policies] == [True, True]


def test_a_worker_that_dies_is_a_failure_like_any_other():
    def deadly(x):
        if x[0] > 4:
            os._exit(3)
        return bowl(x)

    result = rf.minimize(deadly, *ARGUMENTS, on_failure="infeasible", workers=2)
    high = result.history.x[:, 0] > 4
    assert result.failures == high.sum() > 0
    assert np.isinf(result.history.fun[high]).all()


def test_a_compiled_function_needs_no_workers():
    compiled = numba.njit(lambda x: np.sum(x**2))
    assert same(rf.minimize(compiled, *ARGUMENTS, workers=2), rf.minimize(compiled, *ARGUMENTS))


@pytest.mark.parametrize("workers", [0, -1, 1.5, "two", None, True])
def test_workers_that_are_none(workers):
    with pytest.raises(ProblemError, match="workers"):
        rf.minimize(bowl, *ARGUMENTS, workers=workers)


def test_vectorized_functions_take_no_workers():
    with pytest.raises(ProblemError, match="cannot be used"):
        rf.minimize(lambda x: np.sum(x**2, axis=0), *ARGUMENTS, vectorized=True, workers=2)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_objective_that_exits_leaves_what_was_found(workers):
    def exits(x):
        if x[0] > 4:
            sys.exit(3)
        return bowl(x)

    with pytest.raises((SystemExit, WorkerDied)) as raised:
        rf.minimize(exits, *ARGUMENTS, workers=workers)
    assert raised.value.result.nfev == len(raised.value.result.history) > 0
    assert (raised.value.result.history.x[:, 0] <= 4).all()
