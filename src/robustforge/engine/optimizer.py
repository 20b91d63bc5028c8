"""The optimiser as an object: ask for points, tell their values, look at the result at any time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult

from robustforge.components.descent import HIGH_COST_POINTS
from robustforge.core.component import Component, filled_record
from robustforge.core.random import Seed, stream
from robustforge.core.state import (
    BUDGET_SPENT,
    FAILED,
    RUNNING,
    SPACE_EMPTY,
    Array,
    Plan,
    Readings,
    allocate,
    set_box,
)
from robustforge.engine import machine
from robustforge.engine.result import History
from robustforge.errors import ObjectiveError, ProblemError, TellError, UnknownNameError
from robustforge.heuristic import Heuristic, heuristic
from robustforge.problem import Problem, UncertaintySet

Floats = npt.NDArray[np.float64]
OnFailure = Literal["raise", "infeasible", "unknown"]

DIMENSION_OF_LARGE = 55
"""Up to here the default heuristic is the one for 30 variables, above it the one for 100."""


class Optimizer:
    """A robust search that waits for values: `ask` for points, evaluate them anywhere, `tell` the values.

    Args:
        bounds: (low, high) pairs, or `scipy.optimize.Bounds`; or a `Problem`, which brings its uncertainty along.
        uncertainty: A `Ball` or a `Box`.
        budget: Evaluations in all, one of which is kept for f at the returned design.
        heuristic: A name, a path to a JSON file, or a `Heuristic`; by default one that suits the dimension.
        rng: An int, a `SeedSequence` or a `Generator`: decides everything.
        outside: What happens to points outside the bounds: "evaluate", "clip" or "shrink".
        on_failure: What NaN and -inf mean: "raise", "infeasible" (as +inf) or "unknown".
        retries: Further attempts at a failed point; each costs budget.

    Example:
        >>> import robustforge as rf
        >>> search = rf.Optimizer([(-5, 5)] * 3, rf.Ball(0.5), budget=200, heuristic="rpso", rng=1)
        >>> while (batch := search.ask()):
        ...     search.tell(batch.ids, [float(x @ x) for x in batch.x])
        >>> search.result().nfev
        200
    """

    def __init__(
        self,
        bounds: Any,
        uncertainty: UncertaintySet | None = None,
        budget: int = 2000,
        heuristic: str | Path | Heuristic | None = None,
        rng: Seed = None,
        *,
        outside: Literal["evaluate", "clip", "shrink"] = "evaluate",
        on_failure: OnFailure = "raise",
        retries: int = 0,
        readings: Readings | None = None,
    ) -> None:
        if isinstance(bounds, Problem):
            self.problem = bounds
        else:
            if uncertainty is None:
                raise ProblemError("a robust problem must have an uncertainty set", "got none", "Pass for instance rf.Ball(0.5)")
            self.problem = Problem(_unset, bounds, uncertainty, outside=outside)
        self.heuristic = resolve_heuristic(heuristic, self.problem.dimension)
        self.budget = _checked_budget(budget)
        if on_failure not in get_args(OnFailure):
            raise UnknownNameError("policy for `on_failure`", str(on_failure), get_args(OnFailure), "robustforge solve --help")
        if not isinstance(retries, (int, np.integer)) or retries < 0:
            raise ProblemError("`retries` must be a non-negative integer", f"got {retries!r}", "Pass for instance retries=1")
        self.on_failure = on_failure
        self.arrays = _arrays(self.problem, self.heuristic, self.budget, stream(rng), readings or Readings())
        self._tally = self.arrays["tally"]
        self._tally["on_failure"] = get_args(OnFailure).index(on_failure)
        self._tally["retries"] = retries
        self.state = machine.make_state(self.arrays)
        self._told = np.zeros(0, np.bool_)
        self._first_id = 0
        self.stopped = ""

    def ask(self) -> Batch:
        """Return the points that wait for a value, with their ids; an empty batch when the search is over.

        With points outstanding it returns those not yet told, under the same ids.
        """
        if self._told.all() and not self.stopped:
            self._told = np.zeros(self.advance(), np.bool_)
        waiting = np.flatnonzero(~self._told)
        return Batch(self._first_id + waiting, self.arrays["batch_x"][waiting].copy())

    def tell(self, ids: Any, values: Any) -> None:
        """Take values for asked points, in any order and in parts.

        Args:
            ids: The ids that came with the points, one or several.
            values: Their values; +inf means infeasible, NaN that the evaluation failed.
        """
        numbers = np.atleast_1d(np.asarray(ids))
        given = np.atleast_1d(np.asarray(values, dtype=np.float64))
        if numbers.shape != given.shape or numbers.ndim != 1:
            raise TellError("there must be one value per id", f"got {numbers.size} ids and {given.size} values")
        places = []
        for number in numbers.tolist():
            place = number - self._first_id if isinstance(number, int) else -1
            if not 0 <= place < self._told.size:
                raise TellError("a value must be for a point that is asked for", f"id {number} is not", _TELL_FIX)
            if self._told[place] or place in places:
                raise TellError("a value is told once", f"id {number} was told before", _TELL_FIX)
            places.append(place)
        self.arrays["batch_value"][places] = given
        self._told[places] = True
        if self._told.all() and not self.stopped:
            self._told = np.zeros(self.advance(), np.bool_)

    def advance(self) -> int:
        """Let the machine take in the batch and go on; return how many points wait now. PAUSED if asked to pause."""
        machine.prepare()
        size = int(machine.advance(self.state))
        self._first_id = self.nfev
        self.raise_failure()
        return size

    def note_evaluated(self) -> None:
        """Take note of how many points of the batch a compiled objective has evaluated, for `result`."""
        self._told = np.arange(int(self._tally["batch"][0])) < self._tally["evaluated"][0]

    def raise_failure(self) -> None:
        """Raise the failure that ended the run, if one did."""
        if self._tally["ending"][0] == FAILED:
            place = int(self._tally["first_failure"][0])
            raise self.failure_error(self._to_x(self.arrays["points"][place]))

    def failure_error(self, x: Floats, got: str = "NaN or -inf") -> ObjectiveError:
        """Return the error that says at which x the objective returned no value."""
        error = ObjectiveError(
            "the objective must return a number above -inf at every point",
            f"at x = {np.array2string(x, precision=6, threshold=12)} it returned {got}",
            "Return +inf where a design is infeasible, or choose on_failure='infeasible' or 'unknown'",
        )
        error.x = x
        error.result = self.result()
        return error

    @property
    def nfev(self) -> int:
        """Evaluations taken in so far."""
        return int(self._tally["spent"][0])

    @property
    def nit(self) -> int:
        """Iterations begun so far."""
        return int(self._tally["iteration"][0])

    @property
    def over(self) -> bool:
        """Whether the search has ended, its last evaluation included."""
        t = self._tally
        return bool(self.stopped) or bool(t["ending"][0] == FAILED or (t["closing"][0] == 1 and t["batch"][0] == 0))

    def result(self) -> OptimizeResult:
        """Return the best design so far, what is known of its neighbourhood, and the history."""
        t, arrays = self._tally, self.arrays
        told = np.flatnonzero(self._told)
        spent = self.nfev
        points = np.concatenate([arrays["points"][:spent], arrays["batch_y"][told]])
        values = np.concatenate([arrays["values"][:spent], arrays["batch_value"][told]])
        found = t["found"][0] == 1
        centre = arrays["incumbent_x"] if found else arrays["x"][0]
        design = centre - arrays["offset"]
        x = np.clip(self._to_x(design), self.problem.lower, self.problem.upper)
        near = arrays["near"][: machine.find_near(self.state, centre.copy())]
        late = spent + np.flatnonzero(self._holds(points[spent:], centre))
        near = np.concatenate([near, late[~np.isnan(values[late])]])
        known = near.size > 0
        worst = int(near[np.argmax(values[near])]) if known else -1
        closed = bool(t["closing"][0] == 1 and t["batch"][0] == 0)
        success, message = self._ending(found)
        return OptimizeResult(
            x=x,
            fun=float(values[worst]) if known else np.nan,
            worst_x=self._to_x(points[worst]) if known else np.full_like(x, np.nan),
            nominal_fun=float(values[spent - 1]) if closed else np.nan,
            estimate=float(arrays["incumbent"][0]) if found else np.nan,
            nfev=spent + told.size,
            nit=self.nit,
            success=success,
            message=message,
            failures=int(t["failures"][0]),
            work=int(t["work"][0]),
            relocations=int(t["relocations"][0]),
            heuristic=self.heuristic,
            history=History(self._to_x(points), values),
        )

    def _ending(self, found: bool) -> tuple[bool, str]:
        ending = int(self._tally["ending"][0])
        failures = int(self._tally["failures"][0])
        words = {
            RUNNING: "the search is not finished",
            BUDGET_SPENT: "the budget is spent",
            SPACE_EMPTY: "no point of the box is a Gamma away from all high-cost points: the search ended early",
            FAILED: "an evaluation failed",
        }[ending]
        if self.stopped:
            words = self.stopped
        if failures:
            where = self._to_x(self.arrays["points"][int(self._tally["first_failure"][0])])
            text = np.array2string(where, precision=6, threshold=12)
            words += f"; {failures} evaluations failed, the first at x = {text}"
        if not found:
            return False, f"{words}; no inner search was completed, so no design has a robust value"
        finished = ending in (BUDGET_SPENT, SPACE_EMPTY) and self.over and not self.stopped
        return finished, words

    def _holds(self, points: Floats, centre: Floats) -> npt.NDArray[np.bool_]:
        geometry = self.problem.geometry
        differences = (points - centre) * self.problem.space.scale + geometry.offset
        return geometry.holds(differences)

    def _to_x(self, points: Floats) -> Floats:
        x: Floats = points * self.problem.space.scale + self.problem.space.centre
        return np.clip(x, self.problem.lower, self.problem.upper) if self.problem.outside == "clip" else x


class Batch:
    """Points that wait for values: `ids`, and `x` with one row per point. An empty batch is false."""

    def __init__(self, ids: npt.NDArray[np.int64], x: Floats) -> None:
        self.ids, self.x = ids, x

    def __len__(self) -> int:
        return int(self.ids.size)

    def __iter__(self) -> Iterable[tuple[int, Floats]]:  # type: ignore[override]
        return iter(zip(self.ids.tolist(), self.x, strict=True))

    def __repr__(self) -> str:
        return f"<Batch of {len(self)} points, ids {self.ids.tolist()}>"


def resolve_heuristic(given: str | Path | Heuristic | None, dimension: int) -> Heuristic:
    """Return the heuristic meant: itself, by name, from a file, or the default for the dimension."""
    if isinstance(given, Heuristic):
        return given
    if given is None:
        given = "paper/30d/general" if dimension <= DIMENSION_OF_LARGE else "paper/100d/general"
    return heuristic(given)


def _checked_budget(budget: Any) -> int:
    if isinstance(budget, (int, np.integer)) and not isinstance(budget, bool) and budget >= 3:
        return int(budget)
    raise ProblemError(
        "`budget` must be an integer of at least 3: an inner search, and f at the returned point",
        f"got {budget!r}",
        "Pass the number of evaluations you can afford, for instance budget=2000",
    )


def _arrays(
    problem: Problem, chosen: Heuristic, budget: int, seed: npt.NDArray[np.uint64], readings: Readings
) -> dict[str, Array]:
    """Return the arrays of a run before its first step."""
    outer, inner, space = chosen.outer, chosen.inner, problem.space
    extent = inner.points(budget, outer.agents)
    if budget < extent + 1:
        raise ProblemError(
            "the budget must be enough for one inner search and f at the returned point",
            f"this heuristic needs {extent} + 1 evaluations, the budget is {budget}",
            "Raise the budget",
        )
    active = problem.geometry.active
    sizes = Plan(problem.dimension, active.size, budget, outer.agents, extent)
    plan = Plan(
        problem.dimension,
        active.size,
        budget,
        outer.agents,
        extent,
        members=inner.form.members(sizes),
        high_cost=min(HIGH_COST_POINTS, budget) if outer.uses_directions else 0,
    )
    arrays = allocate(machine.FIELDS, plan)
    capability = getattr(outer, "capability", None)
    parts: dict[str, Component | None] = {
        "outer": outer,
        "network": getattr(outer, "network", None),
        "baseline": getattr(capability, "baseline", None),
        "mutation": getattr(outer, "mutation", None) if capability else None,
        "clamp": getattr(capability, "clamp", None),
        "descent": outer.movement.directions,
        "relocation": outer.movement.rescue,
        "inner": inner.form,
    }
    for name, part in parts.items():
        arrays[name] = filled_record(machine.SLOTS[name], part, plan)
    tally = arrays["tally"]
    numbers = {
        "dimension": problem.dimension,
        "is_box": problem.geometry.is_box,
        "clip": problem.outside == "clip",
        "agents": outer.agents,
        "extent": extent,
        "budget": budget,
        "free": budget - 1,
        "first_failure": -1,
        "learnt": 1,
        "work_limit": outer.work_per_evaluation * budget,
        "n_dorm": inner.n_dorm,
        "n_pbest": inner.n_pbest,
        "stopping": inner.stopping,
    }
    for name, number in numbers.items():
        tally[name] = number
    for name in READING_NAMES:
        arrays["readings"][name] = getattr(readings, name)
    for name in ("lower", "upper", "scale", "centre", "offset"):
        arrays[name][:] = getattr(space, name)
    arrays["raw_lower"][:], arrays["raw_upper"][:] = problem.lower, problem.upper
    arrays["active"][:] = active
    arrays["exact"][:] = np.flatnonzero(~(problem.geometry.radii > 0))
    arrays["first_speed"][:] = 0.1 / space.scale if readings.first_speed_in_x else 0.1
    arrays["best"][:] = np.inf
    arrays["rng"][:] = seed
    set_box(arrays)
    return arrays


READING_NAMES = tuple(Readings.__dataclass_fields__)

_TELL_FIX = "Tell each id of the last `ask` once"


def _unset(x: Floats) -> float:
    raise ProblemError("an Optimizer has no objective", "it was called", "Evaluate what `ask` gives, and `tell` the values")
