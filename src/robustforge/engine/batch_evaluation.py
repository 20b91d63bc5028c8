"""`Objective`: calls a Python objective for a batch of points, in this thread or in worker processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.engine.optimizer import failure_error
from robustforge.errors import ProblemError
from robustforge.execution.executor_wait import submit, wait_first
from robustforge.robust_problem import Problem
from robustforge.robust_problem.objective_value import NoNumberError, as_number, as_numbers

Floats = npt.NDArray[np.float64]


class Objective:
    """An objective called from Python for a batch of points.

    Args:
        problem: The problem whose objective is called.
        args: Further arguments.
        vectorized: Whether all points go into one call.
        strict: Whether an invalid value raises immediately; otherwise it becomes NaN, and `on_failure` decides.
        executor: The executor that calls it; `None` for this thread.

    Attributes:
        error: The last exception that became a NaN.
    """

    def __init__(
        self,
        problem: Problem,
        args: tuple[Any, ...],
        vectorized: bool,
        strict: bool,
        executor: Executor | None = None,
    ) -> None:
        self.call: Callable[..., Any] = problem if problem.takes_data else problem.fun
        self.args, self.vectorized, self.strict, self.executor = args, vectorized, strict, executor
        self.error: Exception | None = None

    def values(self, points: Floats, done: list[float]) -> None:
        """Append the values of the points to `done`, one by one, so that none is lost if the next call raises."""
        if self.vectorized:
            done.extend(self._vectorized_values(points))
            return
        if self.executor is not None:
            self._values_in_parallel(points.copy(), self.executor, done)
            return
        for x in points.copy():
            value = self.call(x, *self.args) if self.strict else self._value_or_nan(partial(self.call, x, *self.args))
            done.append(value if isinstance(value, float) else self._number(x, value))

    def _values_in_parallel(self, points: Floats, executor: Executor, done: list[float]) -> None:
        """Append the values of points that are evaluated at the same time, in their order."""
        futures: list[Future[Any]] = []
        try:
            futures.extend(submit(executor, self.call, x, *self.args) for x in points)
            for x, future in zip(points, futures, strict=True):
                wait_first([future], executor)
                value = future.result() if self.strict else self._value_or_nan(future.result)
                done.append(value if isinstance(value, float) else self._number(x, value))
        finally:
            for future in futures:
                future.cancel()

    def _value_or_nan(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except MemoryError:
            raise
        except Exception as error:
            self.error = error
            return np.nan

    def _number(self, x: Floats, value: Any) -> float:
        """Return a value as a float; anything else is a failure."""
        try:
            return as_number(value)
        except NoNumberError as error:
            if self.strict:
                raise failure_error(x, error.reason) from error.__cause__
            return np.nan

    def _vectorized_values(self, points: Floats) -> Iterable[float]:
        arguments = (points.T.copy(), *self.args)
        values = self.call(*arguments) if self.strict else self._value_or_nan(partial(self.call, *arguments))
        if not self.strict and values is np.nan:  # it raised
            return np.full(len(points), np.nan)
        try:
            return as_numbers(values, len(points))
        except NoNumberError as error:
            if self.strict:
                raise failure_error(points[0].copy(), error.reason) from error.__cause__
            return np.full(len(points), np.nan)


@contextmanager
def executor_of(workers: Any, vectorized: bool, compiled: bool) -> Iterator[Executor | None]:
    """Yield the executor that evaluates a function: `None` for this thread, our own processes, or the given one."""
    if not isinstance(workers, Executor) and not (
        isinstance(workers, (int, np.integer)) and not isinstance(workers, bool) and workers >= 1
    ):
        raise ProblemError("`workers` must be a number of at least 1, or an executor", f"got {workers!r}")
    if vectorized and (isinstance(workers, Executor) or workers > 1):
        fix = "Leave `workers` out: the function gets all points of a batch at once"
        raise ProblemError("`workers` cannot be used with a vectorized function", "`workers` were given as well", fix)
    if compiled or isinstance(workers, Executor) or workers == 1:
        yield workers if isinstance(workers, Executor) and not compiled else None
        return
    from robustforge.execution.process_pool import SupervisedPool

    pool = SupervisedPool(int(workers))
    try:
        yield pool
    except BaseException:
        pool.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
