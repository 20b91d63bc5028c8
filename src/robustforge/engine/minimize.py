"""`minimize`: solve a robust problem with a function at hand, in the manner of `scipy.optimize`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult

from robustforge.core.random import Seed
from robustforge.engine import machine
from robustforge.engine.optimizer import OnFailure, Optimizer
from robustforge.errors import ProblemError
from robustforge.heuristic import Heuristic
from robustforge.problem import Problem, UncertaintySet
from robustforge.problem.problem import CompiledObjective

Floats = npt.NDArray[np.float64]
Callback = Callable[[OptimizeResult], Any]

EVALUATIONS_PER_SLICE = 250
"""How much a compiled search does between two moments at which Ctrl-C is heard."""


def minimize(
    fun: Callable[..., Any] | Problem,
    bounds: Any = None,
    uncertainty: UncertaintySet | None = None,
    budget: int = 2000,
    heuristic: str | Path | Heuristic | None = None,
    rng: Seed = None,
    *,
    args: tuple[Any, ...] = (),
    vectorized: bool = False,
    callback: Callback | None = None,
    outside: Literal["evaluate", "clip", "shrink"] = "evaluate",
    on_failure: OnFailure = "raise",
    retries: int = 0,
) -> OptimizeResult:
    """Find the design whose worst case in its uncertainty set is best.

    Args:
        fun: The objective of a 1-D array, Python or compiled by Numba; or a `Problem`, and then neither `bounds` nor
            `uncertainty` is given.
        bounds: (low, high) pairs, one per variable, or `scipy.optimize.Bounds`.
        uncertainty: A `Ball` or a `Box`.
        budget: Evaluations of `fun` in all.
        heuristic: A name, a path to a JSON file, or a `Heuristic`; by default one that suits the dimension.
        rng: An int, a `SeedSequence` or a `Generator`: decides everything.
        args: Further arguments of `fun`.
        vectorized: Whether `fun` takes an array (n, k) of k points and returns their k values.
        callback: Called after each iteration with the intermediate result; it may raise `StopIteration` to end.
        outside: What happens to points outside the bounds: "evaluate", "clip" or "shrink".
        on_failure: What NaN, -inf and, but for "raise", exceptions mean: "raise", "infeasible" or "unknown".
        retries: Further attempts at a failed point; each costs budget.

    Returns:
        An `OptimizeResult`: `x`, the design; `fun`, the worst value known in its neighbourhood, and `worst_x`, where;
        `nominal_fun`, f(x) itself; `estimate`, what the search itself took for the worst case; `nfev`, `nit`, `success`,
        `message` and `history`.

    Raises:
        RobustforgeError: The call makes no sense; the message says why and what to do.
        Exception: What `fun` raised, with `result`, what was found until then, as an attribute.

    Example:
        >>> import robustforge as rf
        >>> r = rf.minimize(lambda x: float(x @ x), [(-5, 5)] * 4, rf.Ball(0.5), budget=500, rng=1)
        >>> r.success, r.nfev, r.nominal_fun <= r.fun
        (True, 500, True)
    """
    if isinstance(fun, Problem):
        if bounds is not None or uncertainty is not None:
            raise ProblemError(
                "a Problem brings its bounds and uncertainty along", "they were given twice", "Pass the Problem alone"
            )
        problem = fun
    else:
        if bounds is None or uncertainty is None:
            raise ProblemError(
                "a robust problem must have bounds and an uncertainty set",
                f"got bounds={bounds!r}, uncertainty={uncertainty!r}",
                "Pass both, for instance [(0, 1)] * 5 and rf.Ball(0.1)",
            )
        problem = Problem(fun, bounds, uncertainty, outside=outside)
    search = Optimizer(problem, None, budget, heuristic, rng, on_failure=on_failure, retries=retries)
    compiled = None if args or vectorized else problem.compiled
    machine.prepare()
    search.arrays["tally"]["pause"] = callback is not None
    try:
        if compiled is not None:
            _loop_compiled(search, compiled, callback)
        else:
            _loop_python(search, Objective(problem, args, vectorized, on_failure), callback)
        search.raise_failure()
    except (Exception, KeyboardInterrupt) as error:
        _attach_result(error, search)
        raise
    return search.result()


class Objective:
    """A Python objective, called for a batch of points, with its failures as NaN.

    Args:
        problem: What is called.
        args: Further arguments.
        vectorized: Whether all points go into one call.
        on_failure: Whether a failure is raised.
    """

    def __init__(self, problem: Problem, args: tuple[Any, ...], vectorized: bool, on_failure: OnFailure) -> None:
        self.call: Callable[..., Any] = problem if problem._takes_data else problem.fun
        self.args, self.vectorized, self.lenient = args, vectorized, on_failure != "raise"

    def fill(self, search: Optimizer, points: Floats, values: Floats, told: npt.NDArray[np.bool_]) -> None:
        """Write the values of the points, and mark as told what is there, also if the objective raises."""
        if self.vectorized:
            values[:] = self._all(search, points)
            told[:] = True
            return
        done: list[float] = []
        try:
            for x in points.copy():
                value = self._tried(x) if self.lenient else self.call(x, *self.args)
                done.append(value if isinstance(value, float) else self._number(search, x, value))
        finally:
            values[: len(done)] = done
            told[: len(done)] = True

    def _tried(self, x: Floats) -> Any:
        try:
            return self.call(x, *self.args)
        except Exception:
            return np.nan

    def _number(self, search: Optimizer, x: Floats, value: Any) -> float:
        """Return what is a real number, or an array of one, as a float; else a failure."""
        array = np.asarray(value) if not isinstance(value, (str, bytes)) else np.asarray(None)
        if array.size == 1 and array.dtype.kind in "fiub":
            return float(array.reshape(()))
        if self.lenient:
            return np.nan
        raise search.failure_error(x, f"{value!r}, which is no real number")

    def _all(self, search: Optimizer, points: Floats) -> Any:
        try:
            values = np.asarray(self.call(np.ascontiguousarray(points.T), *self.args))
        except Exception:
            if self.lenient:
                return np.full(len(points), np.nan)
            raise
        if values.shape != (len(points),) or values.dtype.kind not in "fiub":
            if self.lenient:
                return np.full(len(points), np.nan)
            got = f"an array of shape {values.shape} and type {values.dtype} for {len(points)} points"
            raise search.failure_error(points[0], got)
        return values


def _loop_compiled(search: Optimizer, compiled: CompiledObjective, callback: Callback | None) -> None:
    fun, data = compiled
    while True:
        try:
            why = machine.run(search.state, machine.advance, fun, data, EVALUATIONS_PER_SLICE)
        finally:
            search.note_evaluated()
        if why == machine.OVER or (why == machine.PAUSED and callback and _called_back(search, callback)):
            return


def _loop_python(search: Optimizer, objective: Objective, callback: Callback | None) -> None:
    arrays, state = search.arrays, search.state
    while True:
        size = machine.advance(state)
        if size == machine.OVER or (size == machine.PAUSED and callback and _called_back(search, callback)):
            return
        if size > 0:
            search._told = told = np.zeros(size, np.bool_)
            objective.fill(search, arrays["batch_x"][:size], arrays["batch_value"][:size], told)
            search._told = _NONE


_NONE = np.zeros(0, np.bool_)


def _called_back(search: Optimizer, callback: Callback) -> bool:
    """Call back with the intermediate result; return whether the search is to stop."""
    try:
        callback(search.result())
    except StopIteration:
        search.stopped = "the callback stopped the search"
        return True
    return False


def _attach_result(error: BaseException, search: Optimizer) -> None:
    """Give an exception that ends the search what was found until then, as its `result`."""
    if getattr(error, "result", None) is None:
        result = search.result()
        error.result = result  # type: ignore[attr-defined]
        error.add_note(f"robustforge: {result.nfev} evaluations were done; see the exception's `result`.")
