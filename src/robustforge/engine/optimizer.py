"""The optimiser as an object: ask for points, report their values, get the result at any time."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from robustforge.arguments import former_attribute, named_arguments
from robustforge.core.interpretation import Interpretation
from robustforge.core.random import Seed, stream
from robustforge.core.state import FAILED, RAISE
from robustforge.engine import ask_tell, kernels, serialization
from robustforge.engine.initial_state import (
    MAX_COUNT,
    checked_budget,
    checked_verify,
    link_next,
    make_state,
    needed_later,
    with_attack,
)
from robustforge.engine.prior_evaluations import PriorEvaluations, as_prior
from robustforge.engine.result import RobustResult, design_of, in_units_of, make_result
from robustforge.errors import ObjectiveError, ProblemError, TellError, UnknownNameError
from robustforge.representation import Heuristic
from robustforge.representation.presets import default_name, heuristic
from robustforge.robust_problem import OutOfBounds, Problem, UncertaintySet
from robustforge.robust_problem.objective_value import NoNumberError, as_numbers

Floats = npt.NDArray[np.float64]
OnFailure = Literal["raise", "infeasible", "unknown"]


class Batch:
    """Points that wait for values: `ids`, and `x` with one row per point. An empty batch is false."""

    def __init__(self, ids: npt.NDArray[np.int64], x: Floats) -> None:
        self.ids, self.x = ids, x

    def __len__(self) -> int:
        return int(self.ids.size)

    def __iter__(self) -> Iterator[tuple[int, Floats]]:
        return iter(zip(self.ids.tolist(), self.x, strict=True))

    def __repr__(self) -> str:
        return f"<Batch of {len(self)} points, ids {self.ids.tolist()}>"


class Optimizer:
    """A robust search that waits for values: `ask` for points, evaluate them anywhere, `tell` the values.

    Args:
        bounds: (low, high) pairs, or `scipy.optimize.Bounds`; or a `Problem`, which includes its uncertainty set.
        uncertainty: A `Ball` or a `Box`.
        budget: Evaluations in all, one of which is kept for f at the returned design.
        heuristic: A name, a path to a JSON file, or a `Heuristic`; by default one of the
            extended champions, by budget and dimension.
        rng: An int, a `SeedSequence` or a `Generator`: decides everything.
        out_of_bounds: What happens to points outside the bounds: "evaluate" (the default), "clip" or "shrink".
        on_failure: What NaN and -inf mean: "raise", "infeasible" (as +inf) or "unknown".
        retries: Further attempts at a failed point; each costs budget. The last evaluation, f(x), has only one.
        prior_evaluations: Points (k, n) that were evaluated before, and their values (k,). They cost no budget.
        verify: Evaluations, out of the budget, that attack the design before it is returned; 0 for none. By default,
            the heuristic decides.
        interpretation: Deprecated: it is part of a heuristic, `heuristic.replace(interpretation=...)`.

    Example:
        >>> import robustforge as rf
        >>> search = rf.Optimizer([(-5, 5)] * 3, rf.Ball(0.5), budget=200, heuristic="rpso", rng=1)
        >>> while (batch := search.ask()):
        ...     search.tell(batch.ids, [float(x @ x) for x in batch.x])
        >>> search.result().nfev
        200
    """

    @named_arguments(known="prior_evaluations", outside="out_of_bounds", readings="interpretation")
    def __init__(
        self,
        bounds: Any,
        uncertainty: UncertaintySet | None = None,
        budget: int = 2000,
        heuristic: str | Path | Heuristic | None = None,
        rng: Seed = None,
        *,
        out_of_bounds: OutOfBounds | None = None,
        on_failure: OnFailure = "raise",
        retries: int = 0,
        prior_evaluations: tuple[Any, Any] | PriorEvaluations | None = None,
        verify: int | None = None,
        interpretation: Interpretation | None = None,
    ) -> None:
        self.user_problem = as_problem(_no_objective, bounds, uncertainty, out_of_bounds)
        self.problem = self.user_problem.scaled
        self.budget = checked_budget(budget)
        self.verify = checked_verify(verify, self.budget)
        self.heuristic = with_attack(resolve_heuristic(heuristic, self.problem, self.budget), self.verify)
        if interpretation is not None:
            warnings.warn(_PART_OF_HEURISTIC, DeprecationWarning, stacklevel=3)
            self.heuristic = self.heuristic.replace(interpretation=interpretation)
        if on_failure not in get_args(OnFailure):
            raise UnknownNameError(
                "policy for `on_failure`", str(on_failure), get_args(OnFailure), "robustforge solve --help"
            )
        if isinstance(retries, (int, np.integer)) and retries >= MAX_COUNT:
            raise ProblemError("`retries` must be below 2**62", "got more", "Pass e.g. retries=1")
        if not isinstance(retries, (int, np.integer)) or retries < 0:
            raise ProblemError("`retries` must be a non-negative integer", f"got {retries!r}", "Pass e.g. retries=1")
        self.on_failure, self.retries = on_failure, int(retries)
        self.seed, self.user_prior = stream(rng), as_prior(prior_evaluations, self.user_problem)
        self.prior = PriorEvaluations(self.user_problem.to_scaled(self.user_prior.x), self.user_prior.values)
        kernels.compile_ahead(needed_later(self.heuristic, self.problem.dimension))
        kernels.prepare()
        self.state: Any = make_state(self.problem, self.heuristic, self.budget, self.seed, self.prior, self.verify)
        self.arrays = self.state.arrays
        self._counters = self.arrays["counters"]
        self._counters["on_failure"] = get_args(OnFailure).index(on_failure)
        self._counters["retries"] = retries
        self._reported = np.zeros(0, np.bool_)
        self._digest = hashlib.sha256()
        self.values: dict[int, float] = {}
        self.stop_message = ""

    def ask(self) -> Batch:
        """Return the points that wait for a value, with their ids; an empty batch when it has finished.

        With points pending it returns those without a value, under the same ids.
        """
        self.raise_failure()
        if self._reported.all() and not self.finished:
            self._next_batch()
        waiting = np.flatnonzero(~self._reported)
        return Batch(self.nfev + waiting, self.user_problem.from_scaled(self.arrays["batch_x"][waiting].copy()))

    def tell(self, ids: Any, values: Any) -> None:
        """Take values for pending points, in any order and in parts.

        Args:
            ids: The ids that came with the points, one or several.
            values: Their values; +inf means infeasible, NaN or a masked value that the evaluation failed.
        """
        self.raise_failure()
        numbers = np.atleast_1d(np.asarray(ids))
        given = _as_floats(values)
        if numbers.shape != given.shape or numbers.ndim != 1:
            raise TellError("there must be one value per id", f"got {numbers.size} ids and {given.size} values")
        indices: list[int] = []
        for number in numbers.tolist():
            index = number - self.nfev if isinstance(number, int) else -1
            if not 0 <= index < self._reported.size:
                raise TellError("a value must belong to a pending point", f"id {number} is not pending", _TELL_FIX)
            if self._reported[index] or index in indices:
                raise TellError("a value must be reported once", f"id {number} has a value already", _TELL_FIX)
            indices.append(index)
        self.arrays["batch_f"][indices] = given
        self._reported[indices] = True
        self.values.update(zip(numbers.tolist(), given.tolist(), strict=True))
        if self._reported.all():
            self._next_batch()

    def replay(self, values: Mapping[int, float]) -> None:
        """Replay reported values: the same search with the same values asks for the same points.

        Args:
            values: The reported values, by id.

        Raises:
            TellError: There is a value for a point that is never pending.
        """
        left = dict(values)
        while left:
            ids = [number for number in self.ask().ids.tolist() if number in left]
            if not ids:
                raise TellError("a value must belong to a pending point", f"id {min(left)} is not pending", _TELL_FIX)
            self.tell(ids, [left.pop(number) for number in ids])

    def to_json(self) -> str:
        """Return the search as JSON text: its settings, and the values reported so far."""
        return serialization.encode(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the search in a JSON text, to continue it; nothing in it is executed."""
        return serialization.decode(cls, text)

    def save(self, path: str | Path) -> None:
        """Write the search to a JSON file, to continue it later."""
        serialization.write(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the search that `save` wrote to a file."""
        return cls.from_json(serialization.read(path))

    @property
    def fingerprint(self) -> str:
        """A hash of the points of all completed batches."""
        return self._digest.hexdigest()

    @property
    def restart(self) -> Callable[[], Optimizer]:
        """A function that returns this search before its first evaluation, without an objective; it can be pickled."""
        problem = self.problem
        return partial(
            _restarted,
            (problem.lower, problem.upper, problem.uncertainty, problem.out_of_bounds),
            budget=self.budget,
            heuristic=self.heuristic,
            rng=self.seed,
            on_failure=self.on_failure,
            retries=self.retries,
            prior_evaluations=self.prior,
            verify=self.verify,
        )

    def result(self) -> RobustResult:
        """Return the best design so far, what is known of its neighbourhood, and the history."""
        return in_units_of(self.user_problem, make_result(self, np.flatnonzero(self._reported)))

    def result_without_copy(self) -> RobustResult:
        """Return the result of a search that is not continued: the history is not copied, however long it is."""
        return in_units_of(self.user_problem, make_result(self, np.flatnonzero(self._reported), in_place=True))

    @property
    def design(self) -> Floats | None:
        """The design that would be returned now; `None` if no inner search has been completed yet."""
        return self.user_problem.from_scaled(design_of(self)) if self._counters["has_incumbent"][0] == 1 else None

    @property
    def nfev(self) -> int:
        """Evaluations whose values have been processed."""
        return int(self._counters["spent"][0]) - len(self.prior)

    @property
    def max_batch(self) -> int:
        """The largest number of points that can be pending at once."""
        return int(self.arrays["batch_f"].size)

    @property
    def nit(self) -> int:
        """Iterations started so far."""
        return int(self._counters["iteration"][0])

    @property
    def finished(self) -> bool:
        """Whether the search has ended, its last evaluation included."""
        t = self._counters
        return bool(self.stop_message) or bool(
            t["ending"][0] == FAILED or (t["final_requested"][0] == 1 and t["batch_size"][0] == 0)
        )

    over = former_attribute("over", "finished")
    width = former_attribute("width", "max_batch")

    def mark_reported(self, reported: npt.NDArray[np.bool_]) -> None:
        """Mark the points of the batch that have a value, for `result`; the next `advance` takes the values in."""
        self._reported = reported

    def raise_failure(self) -> None:
        """Raise the failure that ended the run, if one did, with what was found as its `result`."""
        if self._counters["ending"][0] == FAILED:
            where = self.arrays["history_x"][int(self._counters["fatal_failure"][0])].copy()
            error = failure_error(self.user_problem.from_scaled(where), "NaN or -inf")
            error.result = self.result()
            raise error

    def _next_batch(self) -> None:
        """Take in the reported values, and request the next batch."""
        self._digest.update(self.arrays["batch_x"][: self._reported.size].tobytes())
        self._reported = np.zeros(0, np.bool_)
        self._reported = np.zeros(self.advance(), np.bool_)
        self.raise_failure()

    def advance(self) -> int:
        """Advance the engine until it needs values, linking what it needs; return what `ask_tell.advance` does."""
        while (size := int(ask_tell.advance(self.state))) == ask_tell.UNLINKED:
            self.link()
        return size

    def link(self) -> None:
        """Compile the search or the final selection that is about to start."""
        link_next(self.arrays, self.heuristic)


def _as_floats(values: Any) -> Floats:
    """Return one or several values as floats, NaN where one is masked."""
    several = values if isinstance(values, (list, tuple)) or np.ndim(values) else [values]
    try:
        return as_numbers(several, len(several))
    except NoNumberError as error:
        fix = "Report NaN for an evaluation that failed"
        raise TellError("values must be real numbers", f"got {error.reason}", fix) from error.__cause__


def _restarted(box: tuple[Floats, Floats, UncertaintySet, OutOfBounds], **settings: Any) -> Optimizer:
    lower, upper, uncertainty, out_of_bounds = box
    bounds = list(zip(lower, upper, strict=True))
    return Optimizer(Problem(_no_objective, bounds, uncertainty, out_of_bounds=out_of_bounds), **settings)


def as_problem(
    fun: Any,
    bounds: Any,
    uncertainty: UncertaintySet | None,
    out_of_bounds: OutOfBounds | None,
    vectorized: bool = False,
) -> Problem:
    """Return the problem that is given as such, or in parts; not both."""
    if isinstance(bounds, Problem):
        if uncertainty is not None or out_of_bounds is not None:
            raise ProblemError(
                "a Problem already defines its bounds, uncertainty set and policy",
                "at least one of them was also passed",
                "Pass the Problem alone",
            )
        return bounds
    if bounds is None or uncertainty is None:
        raise ProblemError(
            "a robust problem must have bounds and an uncertainty set",
            f"got bounds={bounds!r}, uncertainty={uncertainty!r}",
            "Pass both, for instance [(0, 1)] * 5 and rf.Ball(0.1)",
        )
    return Problem(fun, bounds, uncertainty, out_of_bounds=out_of_bounds or "evaluate", vectorized=vectorized)


def failure_error(x: Floats, got: str) -> ObjectiveError:
    """Return the error for a point at which the objective returned no value."""
    error = ObjectiveError(
        "the objective must return a number above -inf at every point",
        f"at x = {np.array2string(x, precision=6, threshold=12)} it returned {got}",
        "Return +inf where a design is infeasible, or choose on_failure='infeasible' or 'unknown'",
    )
    error.x = x
    return error


def resolve_heuristic(given: str | Path | Heuristic | None, problem: Problem, budget: int) -> Heuristic:
    """Return the heuristic meant: itself, by name, from a file, or the default for the problem and the budget."""
    if isinstance(given, Heuristic):
        return given
    return heuristic(default_name(problem.dimension, budget) if given is None else given)


_PART_OF_HEURISTIC = (
    "`interpretation=` is part of a heuristic, `heuristic.replace(interpretation=...)`; the argument will be removed "
    "in the next minor release"
)
_TELL_FIX = "Report each id returned by `ask` once"

assert get_args(OnFailure)[RAISE] == "raise"  # the order of the policies is the order of their codes


def _no_objective(x: Floats) -> float:
    raise ProblemError(
        "an Optimizer has no objective", "it cannot be evaluated", "Evaluate the points of `ask`, and `tell` the values"
    )
