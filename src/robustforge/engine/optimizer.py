"""The optimiser as an object: ask for points, tell their values, look at the result at any time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult

from robustforge.core.random import Seed, stream
from robustforge.core.state import FAILED, RAISE, Readings
from robustforge.engine import compilation, machine, saving
from robustforge.engine.arguments import explained
from robustforge.engine.known import Known, as_known
from robustforge.engine.result import design_of, in_units_of, make_result
from robustforge.engine.setup import LARGEST, checked_budget, link_outer, make_state
from robustforge.errors import ObjectiveError, ProblemError, TellError, UnknownNameError
from robustforge.heuristic import Heuristic, heuristic
from robustforge.heuristic.presets import default_name
from robustforge.problem import Outside, Problem, UncertaintySet
from robustforge.problem.number import NoNumberError, as_numbers

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
        bounds: (low, high) pairs, or `scipy.optimize.Bounds`; or a `Problem`, which brings its uncertainty along.
        uncertainty: A `Ball` or a `Box`.
        budget: Evaluations in all, one of which is kept for f at the returned design.
        heuristic: A name, a path to a JSON file, or a `Heuristic`; by default one of the
            extended champions, by budget and dimension.
        rng: An int, a `SeedSequence` or a `Generator`: decides everything.
        outside: What happens to points outside the bounds: "evaluate" (the default), "clip" or "shrink".
        on_failure: What NaN and -inf mean: "raise", "infeasible" (as +inf) or "unknown".
        retries: Further attempts at a failed point; each costs budget. The last evaluation, f(x), has only one.
        known: What was evaluated before: points (k, n) and their values (k,). They cost no budget.
        readings: Other readings of the paper than the ones taken, for studies.

    Example:
        >>> import robustforge as rf
        >>> search = rf.Optimizer([(-5, 5)] * 3, rf.Ball(0.5), budget=200, heuristic="rpso", rng=1)
        >>> while (batch := search.ask()):
        ...     search.tell(batch.ids, [float(x @ x) for x in batch.x])
        >>> search.result().nfev
        200
    """

    @explained
    def __init__(
        self,
        bounds: Any,
        uncertainty: UncertaintySet | None = None,
        budget: int = 2000,
        heuristic: str | Path | Heuristic | None = None,
        rng: Seed = None,
        *,
        outside: Outside | None = None,
        on_failure: OnFailure = "raise",
        retries: int = 0,
        known: tuple[Any, Any] | Known | None = None,
        readings: Readings | None = None,
    ) -> None:
        self.surface = as_problem(_unset, bounds, uncertainty, outside)
        self.problem = self.surface.scaled
        self.budget = checked_budget(budget)
        self.heuristic = resolve_heuristic(heuristic, self.problem, self.budget)
        if on_failure not in get_args(OnFailure):
            raise UnknownNameError(
                "policy for `on_failure`", str(on_failure), get_args(OnFailure), "robustforge solve --help"
            )
        if isinstance(retries, (int, np.integer)) and retries >= LARGEST:
            raise ProblemError("`retries` must be below 2**62", "got more", "Pass e.g. retries=1")
        if not isinstance(retries, (int, np.integer)) or retries < 0:
            raise ProblemError("`retries` must be a non-negative integer", f"got {retries!r}", "Pass e.g. retries=1")
        self.on_failure, self.retries, self.readings = on_failure, int(retries), readings or Readings()
        self.seed, self.known_before = stream(rng), as_known(known, self.surface)
        self.known = Known(self.surface.to_scaled(self.known_before.x), self.known_before.values)
        compilation.prepare()
        self.state = make_state(self.problem, self.heuristic, self.budget, self.seed, self.readings, self.known)
        self.arrays = self.state.arrays
        self._tally = self.arrays["tally"]
        self._tally["on_failure"] = get_args(OnFailure).index(on_failure)
        self._tally["retries"] = retries
        self._told = np.zeros(0, np.bool_)
        self._digest = hashlib.sha256()
        self.values: dict[int, float] = {}
        self.stopped = ""

    def ask(self) -> Batch:
        """Return the points that wait for a value, with their ids; an empty batch when the search is over.

        With points outstanding it returns those not yet told, under the same ids.
        """
        self.raise_failure()
        if self._told.all() and not self.over:
            self._advance()
        waiting = np.flatnonzero(~self._told)
        return Batch(self.nfev + waiting, self.surface.from_scaled(self.arrays["batch_x"][waiting].copy()))

    def tell(self, ids: Any, values: Any) -> None:
        """Take values for asked points, in any order and in parts.

        Args:
            ids: The ids that came with the points, one or several.
            values: Their values; +inf means infeasible, NaN or a masked value that the evaluation failed.
        """
        self.raise_failure()
        numbers = np.atleast_1d(np.asarray(ids))
        given = _told(values)
        if numbers.shape != given.shape or numbers.ndim != 1:
            raise TellError("there must be one value per id", f"got {numbers.size} ids and {given.size} values")
        places: list[int] = []
        for number in numbers.tolist():
            place = number - self.nfev if isinstance(number, int) else -1
            if not 0 <= place < self._told.size:
                raise TellError("a value must be for a point that is asked for", f"id {number} is not", _TELL_FIX)
            if self._told[place] or place in places:
                raise TellError("a value is told once", f"id {number} was told before", _TELL_FIX)
            places.append(place)
        self.arrays["batch_value"][places] = given
        self._told[places] = True
        self.values.update(zip(numbers.tolist(), given.tolist(), strict=True))
        if self._told.all():
            self._advance()

    def replay(self, values: Mapping[int, float]) -> None:
        """Go again through what was told before: the same search, told the same values, asks for the same points.

        Args:
            values: What was told, by id.

        Raises:
            TellError: There is a value for a point that is never asked for.
        """
        left = dict(values)
        while left:
            ids = [number for number in self.ask().ids.tolist() if number in left]
            if not ids:
                raise TellError("a value must be for a point that is asked for", f"id {min(left)} is not", _TELL_FIX)
            self.tell(ids, [left.pop(number) for number in ids])

    def to_json(self) -> str:
        """Return the search as it stands as JSON text: what decides it, and what was told."""
        return saving.encode(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the search in a JSON text, to go on with; nothing in it is executed."""
        return saving.decode(cls, text)

    def save(self, path: str | Path) -> None:
        """Write the search to a JSON file, to go on with after a week."""
        saving.write(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the search that `save` wrote to a file."""
        return cls.from_json(saving.read(path))

    @property
    def fingerprint(self) -> str:
        """What the points of all complete batches have in common with no other search: a hash of them."""
        return self._digest.hexdigest()

    def result(self) -> OptimizeResult:
        """Return the best design so far, what is known of its neighbourhood, and the history."""
        return in_units_of(self.surface, make_result(self, np.flatnonzero(self._told)))

    @property
    def design(self) -> Floats | None:
        """The design that would be returned now; `None` if no inner search has been completed yet."""
        return self.surface.from_scaled(design_of(self)) if self._tally["found"][0] == 1 else None

    @property
    def nfev(self) -> int:
        """Evaluations taken in so far."""
        return int(self._tally["spent"][0]) - len(self.known)

    @property
    def width(self) -> int:
        """Points that can wait for a value at once, at most."""
        return int(self.arrays["batch_value"].size)

    @property
    def nit(self) -> int:
        """Iterations begun so far."""
        return int(self._tally["iteration"][0])

    @property
    def over(self) -> bool:
        """Whether the search has ended, its last evaluation included."""
        t = self._tally
        return bool(self.stopped) or bool(t["ending"][0] == FAILED or (t["closing"][0] == 1 and t["batch"][0] == 0))

    def note_told(self, told: npt.NDArray[np.bool_]) -> None:
        """Take note of which points of the batch have a value, for `result`; they are taken in with the next step."""
        self._told = told

    def raise_failure(self) -> None:
        """Raise the failure that ended the run, if one did, with what was found as its `result`."""
        if self._tally["ending"][0] == FAILED:
            where = self.arrays["evaluated_x"][int(self._tally["fatal"][0])].copy()
            error = failure_error(self.surface.from_scaled(where), "NaN or -inf")
            error.result = self.result()
            raise error

    def _advance(self) -> None:
        self._digest.update(self.arrays["batch_x"][: self._told.size].tobytes())
        self._told = np.zeros(0, np.bool_)
        self._told = np.zeros(self.advance(), np.bool_)
        self.raise_failure()

    def advance(self) -> int:
        """Let the machine go on until it needs values, linking what it needs; return what `machine.advance` does."""
        while (size := int(machine.advance(self.state))) == machine.UNLINKED:
            self.link()
        return size

    def link(self) -> None:
        """Compile the outer search that is about to begin."""
        link_outer(self.arrays, self.heuristic)


def _told(values: Any) -> Floats:
    """Return one or several values as floats, NaN where one is masked."""
    several = values if isinstance(values, (list, tuple)) or np.ndim(values) else [values]
    try:
        return as_numbers(several, len(several))
    except NoNumberError as error:
        fix = "Tell NaN for an evaluation that failed"
        raise TellError("values must be real numbers", f"got {error.reason}", fix) from error.__cause__


def as_problem(
    fun: Any, bounds: Any, uncertainty: UncertaintySet | None, outside: Outside | None, vectorized: bool = False
) -> Problem:
    """Return the problem that is given as such, or in parts; not both."""
    if isinstance(bounds, Problem):
        if uncertainty is not None or outside is not None:
            raise ProblemError(
                "a Problem brings its bounds, uncertainty and policy along",
                "they were given twice",
                "Pass the Problem alone",
            )
        return bounds
    if bounds is None or uncertainty is None:
        raise ProblemError(
            "a robust problem must have bounds and an uncertainty set",
            f"got bounds={bounds!r}, uncertainty={uncertainty!r}",
            "Pass both, for instance [(0, 1)] * 5 and rf.Ball(0.1)",
        )
    return Problem(fun, bounds, uncertainty, outside=outside or "evaluate", vectorized=vectorized)


def failure_error(x: Floats, got: str) -> ObjectiveError:
    """Return the error that says at which x the objective returned no value."""
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


_TELL_FIX = "Tell each id of the last `ask` once"

assert get_args(OnFailure)[RAISE] == "raise"  # the order of the policies is the order of their codes


def _unset(x: Floats) -> float:
    raise ProblemError(
        "an Optimizer has no objective", "it was called", "Evaluate what `ask` gives, and `tell` the values"
    )
