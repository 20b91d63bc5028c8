"""`minimize`: solve a robust problem with a callable objective, like `scipy.optimize`."""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.arguments import named_arguments
from robustforge.core.random import Seed
from robustforge.engine import ask_tell, kernels
from robustforge.engine.batch_evaluation import Objective, executor_of
from robustforge.engine.optimizer import OnFailure, Optimizer, as_problem
from robustforge.engine.result import RobustResult
from robustforge.errors import ObjectiveError, ProblemError
from robustforge.representation import Heuristic
from robustforge.robust_problem import OutOfBounds, Problem, UncertaintySet

Floats = npt.NDArray[np.float64]
Callback = Callable[[RobustResult], Any]

FIRST_SLICE, FIRST_SLICE_COORDINATES = 250, 25_000
"""Limits on the evaluations, and on the coordinates of their points, before Ctrl-C is checked for the first time."""

SLICE_SECONDS = 0.05
"""About how long a later slice between two checks takes."""

MAX_SLICE_GROWTH = 16.0
"""How many times as large a slice may be as the one before it."""


@named_arguments(outside="out_of_bounds")
def minimize(
    fun: Callable[..., Any] | Problem,
    bounds: Any = None,
    uncertainty: UncertaintySet | None = None,
    budget: int = 2000,
    heuristic: str | Path | Heuristic | None = None,
    rng: Seed = None,
    *,
    args: tuple[Any, ...] = (),
    vectorized: bool | None = None,
    callback: Callback | None = None,
    out_of_bounds: OutOfBounds | None = None,
    on_failure: OnFailure = "raise",
    retries: int = 0,
    workers: int | Executor = 1,
    verify: int | None = None,
) -> RobustResult:
    """Find the design whose worst case in its uncertainty set is best.

    Args:
        fun: The objective of a 1-D array, Python or compiled by Numba; or a `Problem`, alone.
        bounds: (low, high) pairs, one per variable, or `scipy.optimize.Bounds`.
        uncertainty: A `Ball` or a `Box`.
        budget: Evaluations of `fun` in all.
        heuristic: A name, a path to a JSON file, or a `Heuristic`; by default one for this dimension and budget.
        rng: An int, a `SeedSequence` or a `Generator`: the same seed gives the same result.
        args: Further arguments of `fun`.
        vectorized: Whether `fun` takes an array (n, k) of k points and returns their k values.
        callback: Called after each iteration with the intermediate result; it may raise `StopIteration` to end.
        out_of_bounds: What happens to points outside the bounds: "evaluate" (the default), "clip" or "shrink".
        on_failure: What NaN, -inf and exceptions of `fun` mean: "raise", "infeasible" (as +inf) or "unknown".
        retries: Further attempts at a failed point; each costs budget. The last evaluation, f(x), has only one.
        workers: Processes that evaluate a Python function, or an executor; the result does not depend on it.
        verify: Evaluations of the budget that attack the design in the end, 0 for none; by default of the heuristic.

    Returns:
        A `RobustResult`, which is an `OptimizeResult`: `x`, the design; `fun`, the worst value found in its
        uncertainty set, and `worst_x`, where; `nominal_fun`, f(x); `estimate`, what the search believed before the
        attack; `attack_runs`; `nfev`, `nit`, `success`, `message` and `history`.

    Raises:
        RobustforgeError: An argument is invalid; the message has the rule, the fact and the fix.
        BaseException: What `fun` raised, also `SystemExit`; its attribute `result` is what was found until then.

    Example:
        >>> import robustforge as rf
        >>> r = rf.minimize(lambda x: float(x @ x), [(-5, 5)] * 4, rf.Ball(0.5), budget=500, rng=1)
        >>> r.success, r.nfev, r.nominal_fun <= r.fun
        (True, 500, True)
    """
    if isinstance(fun, Problem):
        if bounds is not None:
            raise ProblemError("a Problem already has bounds", "bounds were also passed", "Pass the Problem alone")
        problem = _vectorized_as_given(as_problem(None, fun, uncertainty, out_of_bounds), vectorized)
    else:
        problem = as_problem(fun, bounds, uncertainty, out_of_bounds, bool(vectorized))
    search = Optimizer(problem, None, budget, heuristic, rng, on_failure=on_failure, retries=retries, verify=verify)
    search.arrays["counters"]["pause"] = callback is not None
    problem = search.problem
    with executor_of(workers, problem.vectorized, problem.compiled is not None and not args) as executor:
        objective = Objective(problem, args, problem.vectorized, on_failure == "raise" and retries == 0, executor)
        return _run(search, objective, callback, Checkpoints())


def _vectorized_as_given(problem: Problem, vectorized: bool | None) -> Problem:
    """Return a problem whose objective is called as requested, if that does not contradict the problem."""
    if vectorized is None or bool(vectorized) == problem.vectorized:
        return problem
    if problem.vectorized:
        fact = "the Problem sets `vectorized`, the argument contradicts it"
        raise ProblemError("an objective is vectorized or not", fact, "Leave `vectorized` out")
    if problem.takes_data or problem.scaled is not problem:
        fact = f"{problem.name} takes one"
        raise ProblemError("a vectorized objective takes many points at once", fact, "Leave `vectorized` out")
    bounds = list(zip(problem.lower, problem.upper, strict=True))
    made = (problem.fun, bounds, problem.uncertainty)
    return Problem(*made, out_of_bounds=problem.out_of_bounds, name=problem.name, vectorized=True)


def minimize_with_checkpoints(
    problem: Problem,
    budget: int,
    heuristic: Heuristic,
    rng: Seed,
    checkpoints: Sequence[int],
    on_checkpoint: Callable[[Floats | None], Any],
) -> RobustResult:
    """Do the same as `minimize`, and call a function with the present design at some checkpoints.

    Args:
        problem: The problem.
        budget: Evaluations in all.
        heuristic: The heuristic.
        rng: The seed. Checkpoints do not affect the search.
        checkpoints: Numbers of evaluations, in ascending order.
        on_checkpoint: Called with the design that would be returned now; `None` before there is one.
    """
    search = Optimizer(problem, None, budget, heuristic, rng)
    objective = Objective(search.problem, (), problem.vectorized, True)
    return _run(search, objective, None, Checkpoints(checkpoints, lambda: on_checkpoint(search.design)))


class Checkpoints:
    """The checkpoints of a search: numbers of evaluations after which a function is called.

    Args:
        numbers: Numbers of evaluations, in ascending order.
        on_checkpoint: The function.
    """

    def __init__(self, numbers: Sequence[int] = (), on_checkpoint: Callable[[], Any] = lambda: None) -> None:
        self._numbers, self._on_checkpoint = deque(numbers), on_checkpoint

    def evaluations_until_next(self, nfev: int, usual: int) -> int:
        """Return the number of evaluations until the next checkpoint, at most `usual`."""
        return min(usual, self._numbers[0] - nfev) if self._numbers else usual

    def call_reached(self, nfev: int) -> None:
        """Call the function once for each checkpoint that has been reached."""
        while self._numbers and self._numbers[0] <= nfev:
            self._numbers.popleft()
            self._on_checkpoint()


def _run(search: Optimizer, objective: Objective, callback: Callback | None, checkpoints: Checkpoints) -> RobustResult:
    try:
        if objective.args or search.problem.compiled is None:
            _loop_python(search, objective, callback, checkpoints)
        else:
            _loop_compiled(search, objective, callback, checkpoints)
        search.raise_failure()
        return search.result()
    except BaseException as error:  # also SystemExit and Ctrl-C: what was found is not lost
        final = _with_result(error, objective, search)
        if final is error:
            raise
        raise final from None


def _loop_compiled(
    search: Optimizer, objective: Objective, callback: Callback | None, checkpoints: Checkpoints
) -> None:
    assert search.problem.compiled is not None
    kernels.prepare_run()
    fun, data = search.problem.compiled
    points, values, counters = search.arrays["batch_x"], search.arrays["batch_f"], search.arrays["counters"]
    on_main_thread = threading.current_thread() is threading.main_thread()  # Ctrl-C is delivered there only
    size_of_slice = (
        max(1, min(FIRST_SLICE, FIRST_SLICE_COORDINATES // points.shape[1])) if on_main_thread else search.budget
    )
    _reserve_memory(search.arrays["history_coarse"])
    with _interrupts_deferred() as interrupted:
        while True:
            status, error = ask_tell.UNFINISHED, None
            try:
                started = time.perf_counter()
                status = ask_tell.run(
                    search.state,
                    ask_tell.advance,
                    fun,
                    data,
                    checkpoints.evaluations_until_next(search.nfev, size_of_slice),
                )
                size_of_slice = _next_slice(size_of_slice, time.perf_counter() - started, search.budget)
            except Exception as raised:
                error = raised
            size, reached = int(counters["batch_size"][0]), int(counters["evaluated"][0])
            search.mark_reported(np.arange(size) < reached)
            if status == ask_tell.UNLINKED:
                search.link()
            checkpoints.call_reached(search.nfev)
            if interrupted:
                raise KeyboardInterrupt
            if error is not None:  # in the objective: a failure like any other, unless it is to be raised
                if objective.strict:
                    raise error
                rest: list[float] = []
                objective.values(points[reached:size], rest)
                values[reached:size] = rest
            if status == ask_tell.OVER or (
                status == ask_tell.PAUSED and callback and _stopped_by_callback(search, callback)
            ):
                return


def _reserve_memory(rows: Floats) -> None:
    """Write to each row of a large array, whose memory the system provides now: this can be interrupted."""
    for row in rows:
        row[:1] = row[:1]


def _next_slice(size: int, seconds: float, most: int) -> int:
    """Return the evaluations of the next slice, given the size and the duration of the last one."""
    return max(1, min(int(size * min(MAX_SLICE_GROWTH, SLICE_SECONDS / max(seconds, 1e-9))), most))


@contextmanager
def _interrupts_deferred() -> Iterator[list[int]]:
    """Handle Ctrl-C between two slices only: inside, it would break into Numba's handling of arguments.

    Yields a list that is empty until there was one. Where Ctrl-C is handled elsewhere, or this is not the main thread,
    nothing is changed.
    """
    interrupts: list[int] = []
    on_main_thread = threading.current_thread() is threading.main_thread()
    if not on_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupts
        return
    signal.signal(signal.SIGINT, lambda number, frame: interrupts.append(number))
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _loop_python(search: Optimizer, objective: Objective, callback: Callback | None, checkpoints: Checkpoints) -> None:
    points, values = search.arrays["batch_x"], search.arrays["batch_f"]
    done: list[float] = []
    try:
        while True:
            size = search.advance()
            checkpoints.call_reached(search.nfev)
            done = []
            if size == ask_tell.OVER or (
                size == ask_tell.PAUSED and callback and _stopped_by_callback(search, callback)
            ):
                return
            if size > 0:
                objective.values(points[:size], done)
                values[:size] = done
    finally:  # the objective may have raised within a batch
        values[: len(done)] = done
        search.mark_reported(np.arange(int(search.arrays["counters"]["batch_size"][0])) < len(done))


def _stopped_by_callback(search: Optimizer, callback: Callback) -> bool:
    """Call back with the intermediate result; return whether the search is to stop."""
    try:
        callback(search.result())
    except StopIteration:
        search.stop_message = "the callback stopped the search"
        return True
    return False


def _with_result(error: BaseException, objective: Objective, search: Optimizer) -> BaseException:
    """Return the exception that ended the search, the objective's own if there was one, with the result so far."""
    if isinstance(error, ObjectiveError) and objective.error is not None:
        error = objective.error
    if getattr(error, "result", None) is None:
        result = search.result_without_copy()
        error.result = result  # type: ignore[attr-defined]
        error.add_note(f"robustforge: {result.nfev} evaluations were completed; see the exception's `result`.")
    return error
