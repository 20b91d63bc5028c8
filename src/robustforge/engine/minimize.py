"""`minimize`: solve a robust problem with a function at hand, in the manner of `scipy.optimize`."""

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
from scipy.optimize import OptimizeResult

from robustforge.core.random import Seed
from robustforge.engine import compilation, machine
from robustforge.engine.arguments import explained
from robustforge.engine.objective import Objective, executor_of
from robustforge.engine.optimizer import OnFailure, Optimizer, as_problem
from robustforge.errors import ObjectiveError, ProblemError
from robustforge.heuristic import Heuristic
from robustforge.problem import Outside, Problem, UncertaintySet

Floats = npt.NDArray[np.float64]
Callback = Callable[[OptimizeResult], Any]

FIRST_SLICE, SECONDS, FASTEST = 250, 0.05, 16.0
"""Evaluations of a compiled search until Ctrl-C is heard first, about how long a slice is to take from then on, and how
many times as large it may become at once."""


@explained
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
    outside: Outside | None = None,
    on_failure: OnFailure = "raise",
    retries: int = 0,
    workers: int | Executor = 1,
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
        vectorized: Whether `fun` takes an array (n, k) of k points and returns their k values; by default as the
            `Problem` says, if there is one.
        callback: Called after each iteration with the intermediate result; it may raise `StopIteration` to end.
        outside: What happens to points outside the bounds: "evaluate" (the default), "clip" or "shrink".
        on_failure: What NaN, -inf and exceptions of `fun` mean: "raise", "infeasible" (as +inf) or "unknown".
        retries: Further attempts at a failed point; each costs budget. The last evaluation, f(x), has only one.
        workers: How many processes evaluate a Python function, or an executor that does; the answer does not depend on
            it. The points of a batch are evaluated at the same time: at most so many as the heuristic has agents. A
            compiled function needs no help.

    Returns:
        An `OptimizeResult`: `x`, the design; `fun`, the worst value known in its neighbourhood, and `worst_x`, where;
        `nominal_fun`, f(x) itself; `estimate`, what the search itself took for the worst case; `nfev`, `nit`,
        `success`, `message` and `history`.

    Raises:
        RobustforgeError: The call makes no sense; the message says why and what to do.
        BaseException: What `fun` raised, `SystemExit` and `KeyboardInterrupt` included, with `result`, what was found
            until then, as an attribute.

    Example:
        >>> import robustforge as rf
        >>> r = rf.minimize(lambda x: float(x @ x), [(-5, 5)] * 4, rf.Ball(0.5), budget=500, rng=1)
        >>> r.success, r.nfev, r.nominal_fun <= r.fun
        (True, 500, True)
    """
    if isinstance(fun, Problem):
        if bounds is not None:
            raise ProblemError("a Problem brings its bounds along", "they were given twice", "Pass the Problem alone")
        problem = _vectorized_as_given(as_problem(None, fun, uncertainty, outside), vectorized)
    else:
        problem = as_problem(fun, bounds, uncertainty, outside, bool(vectorized))
    search = Optimizer(problem, None, budget, heuristic, rng, on_failure=on_failure, retries=retries)
    search.arrays["tally"]["pause"] = callback is not None
    problem = search.problem
    with executor_of(workers, problem.vectorized, problem.compiled is not None and not args) as executor:
        objective = Objective(problem, args, problem.vectorized, on_failure == "raise" and retries == 0, executor)
        return _carried_out(search, objective, callback, Looks())


def _vectorized_as_given(problem: Problem, vectorized: bool | None) -> Problem:
    """Return a problem whose objective is called as the caller says, if that does not contradict the problem."""
    if vectorized is None or bool(vectorized) == problem.vectorized:
        return problem
    if problem.vectorized:
        fact = "the Problem says that it is, `vectorized` that it is not"
        raise ProblemError("an objective is vectorized or not", fact, "Leave `vectorized` out")
    if problem.takes_data or problem.scaled is not problem:
        fact = f"{problem.name} takes one"
        raise ProblemError("a vectorized objective takes many points at once", fact, "Leave `vectorized` out")
    bounds = list(zip(problem.lower, problem.upper, strict=True))
    made = (problem.fun, bounds, problem.uncertainty)
    return Problem(*made, outside=problem.outside, name=problem.name, vectorized=True)


def minimize_in_sight(
    problem: Problem,
    budget: int,
    heuristic: Heuristic,
    rng: Seed,
    places: Sequence[int],
    look: Callable[[Floats | None], Any],
) -> OptimizeResult:
    """Do the same as `minimize`, and let somebody look at the design at hand after so many evaluations.

    Args:
        problem: The problem.
        budget: Evaluations in all.
        heuristic: Who searches.
        rng: Decides everything; to be looked at changes nothing.
        places: After how many evaluations, in ascending order; as soon as at least so many are done.
        look: Called with the design that would be returned now; `None` if there is none yet.
    """
    search = Optimizer(problem, None, budget, heuristic, rng)
    objective = Objective(search.problem, (), problem.vectorized, True)
    return _carried_out(search, objective, None, Looks(places, lambda: look(search.design)))


class Looks:
    """The moments of a search at which somebody looks at it.

    Args:
        places: After how many evaluations.
        look: What is done then.
    """

    def __init__(self, places: Sequence[int] = (), look: Callable[[], Any] = lambda: None) -> None:
        self._places, self._look = deque(places), look

    def room(self, nfev: int, usual: int) -> int:
        """Return how many evaluations there may be until it is time to look, at most `usual`."""
        return min(usual, self._places[0] - nfev) if self._places else usual

    def reached(self, nfev: int) -> None:
        """Look once for each place that has been reached."""
        while self._places and self._places[0] <= nfev:
            self._places.popleft()
            self._look()


def _carried_out(search: Optimizer, objective: Objective, callback: Callback | None, looks: Looks) -> OptimizeResult:
    try:
        if objective.args or search.problem.compiled is None:
            _loop_python(search, objective, callback, looks)
        else:
            _loop_compiled(search, objective, callback, looks)
        search.raise_failure()
        return search.result()
    except BaseException as error:  # also SystemExit and Ctrl-C: what was found is not lost
        final = _with_result(error, objective, search)
        if final is error:
            raise
        raise final from None


def _loop_compiled(search: Optimizer, objective: Objective, callback: Callback | None, looks: Looks) -> None:
    assert search.problem.compiled is not None
    compilation.prepare_run()
    fun, data = search.problem.compiled
    points, values, tally = search.arrays["batch_x"], search.arrays["batch_value"], search.arrays["tally"]
    hears = threading.current_thread() is threading.main_thread()  # only there is Ctrl-C heard
    size_of_slice = FIRST_SLICE if hears else search.budget
    with _interrupts_deferred() as interrupted:
        while True:
            why, error = machine.UNFINISHED, None
            try:
                begun = time.perf_counter()
                why = machine.run(search.state, machine.advance, fun, data, looks.room(search.nfev, size_of_slice))
                size_of_slice = _next_slice(size_of_slice, time.perf_counter() - begun, search.budget)
            except Exception as raised:
                error = raised
            size, reached = int(tally["batch"][0]), int(tally["evaluated"][0])
            search.note_told(np.arange(size) < reached)
            if why == machine.UNLINKED:
                search.link()
            looks.reached(search.nfev)
            if interrupted:
                raise KeyboardInterrupt
            if error is not None:  # in the objective: a failure like any other, unless it is to be raised
                if objective.strict:
                    raise error
                rest: list[float] = []
                objective.values(points[reached:size], rest)
                values[reached:size] = rest
            if why == machine.OVER or (why == machine.PAUSED and callback and _called_back(search, callback)):
                return


def _next_slice(size: int, seconds: float, most: int) -> int:
    """Return how many evaluations to make until Ctrl-C is heard again, after a slice that took so long."""
    return max(1, min(int(size * min(FASTEST, SECONDS / max(seconds, 1e-9))), most))


@contextmanager
def _interrupts_deferred() -> Iterator[list[int]]:
    """Let Ctrl-C be heard between two slices only: inside, it would break into Numba's handling of arguments.

    Yields a list that is empty until there was one. Where somebody else handles Ctrl-C, or this is not the main thread,
    nothing is changed.
    """
    heard: list[int] = []
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield heard
        return
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _loop_python(search: Optimizer, objective: Objective, callback: Callback | None, looks: Looks) -> None:
    points, values = search.arrays["batch_x"], search.arrays["batch_value"]
    done: list[float] = []
    try:
        while True:
            size = search.advance()
            looks.reached(search.nfev)
            done = []
            if size == machine.OVER or (size == machine.PAUSED and callback and _called_back(search, callback)):
                return
            if size > 0:
                objective.values(points[:size], done)
                values[:size] = done
    finally:  # the objective may have raised in the middle of a batch
        values[: len(done)] = done
        search.note_told(np.arange(int(search.arrays["tally"]["batch"][0])) < len(done))


def _called_back(search: Optimizer, callback: Callback) -> bool:
    """Call back with the intermediate result; return whether the search is to stop."""
    try:
        callback(search.result())
    except StopIteration:
        search.stopped = "the callback stopped the search"
        return True
    return False


def _with_result(error: BaseException, objective: Objective, search: Optimizer) -> BaseException:
    """Return the exception that ended the search, the objective's own if there was one, with the result so far."""
    if isinstance(error, ObjectiveError) and objective.error is not None:
        error = objective.error
    if getattr(error, "result", None) is None:
        result = search.result()
        error.result = result  # type: ignore[attr-defined]
        error.add_note(f"robustforge: {result.nfev} evaluations were done; see the exception's `result`.")
    return error
