"""`Problem`: an objective, bounds, an uncertainty set and a policy for points outside the bounds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from numba import float64, njit
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from robustforge import notebook_html
from robustforge.arguments import named_arguments
from robustforge.errors import ProblemError, UnknownNameError
from robustforge.robust_problem.engineering import ENGINEERING, EngineeringProblem
from robustforge.robust_problem.held_out import ALL, HELD_OUT
from robustforge.robust_problem.test_functions import DEFAULT_DIMENSION, FUNCTIONS, placement
from robustforge.robust_problem.uncertainty_sets import Ball, Geometry, UncertaintySet

Floats = npt.NDArray[np.float64]
OutOfBounds = Literal["evaluate", "clip", "shrink"]
Suite = Literal["paper", "held-out", "engineering", "engineering-held-out"]
Variant = Literal["original", "shifted", "rotated", "shifted-rotated"]

_WIDEST = 1e9  # beyond that, rounding errors exceed the tolerances

CompiledObjective = tuple[Any, Floats]
"""A compiled function of (x, data), and the data it is called with."""


@dataclass(frozen=True)
class Space:
    """The scaled space of the engine: the uncertainty set is the unit set, the box of the designs is centred.

    Attributes:
        lower: Scaled box of the agents, which are at the centre of their set (n,).
        upper: The same, upper side.
        scale: Size of a unit in each variable (n,).
        centre: What scaled 0 is in the user's units (n,).
        offset: From a design to the centre of its set, scaled (n,).
    """

    lower: Floats
    upper: Floats
    scale: Floats
    centre: Floats
    offset: Floats


class Problem:
    """A robust problem: minimise over the box the worst value of `fun` in the uncertainty set around a design.

    Args:
        fun: The objective, a function of a 1-D array; Python, or compiled by Numba as float64(float64[::1]).
        bounds: (low, high) pairs, one per variable, or `scipy.optimize.Bounds`.
        uncertainty: A `Ball` or a `Box`.
        out_of_bounds: What happens to points outside the bounds: "evaluate" them, "clip" them, or "shrink" the bounds
            of the designs so that there are none.
        name: Its name in tables.
        vectorized: Whether `fun` takes an array (n, k) of k points and returns their k values. It is then called from
            Python, once for each batch.

    Example:
        >>> import robustforge as rf
        >>> bowl = rf.Problem(lambda x: float(x @ x), bounds=[(-5, 5)] * 3, uncertainty=rf.Ball(0.5))
        >>> bowl.dimension, bowl([1.0, 2.0, 2.0])
        (3, 9.0)
    """

    @named_arguments(outside="out_of_bounds")
    def __init__(
        self,
        fun: Callable[..., Any],
        bounds: Any,
        uncertainty: UncertaintySet,
        *,
        out_of_bounds: OutOfBounds = "evaluate",
        name: str = "",
        vectorized: bool = False,
    ) -> None:
        if not callable(fun):
            raise ProblemError("the objective must be callable", f"got {fun!r}", "Pass a function of a 1-D array")
        if not isinstance(uncertainty, UncertaintySet):
            raise ProblemError(
                "`uncertainty` must be a Ball or a Box", f"got {uncertainty!r}", "Write for instance rf.Ball(0.5)"
            )
        if out_of_bounds not in get_args(OutOfBounds):
            raise UnknownNameError(
                "policy for `out_of_bounds`", str(out_of_bounds), get_args(OutOfBounds), "robustforge solve --help"
            )
        self.fun = fun
        self.lower, self.upper = read_bounds(bounds)
        self.uncertainty: UncertaintySet = uncertainty
        self.out_of_bounds: OutOfBounds = out_of_bounds
        self.name = name or getattr(fun, "__name__", "objective")
        self.vectorized = bool(vectorized)
        self.data: Floats = np.empty(0)
        self.takes_data = False
        self._recipe: tuple[Any, ...] | None = None
        self.geometry: Geometry = uncertainty.geometry(self.dimension)
        self.space: Space = _space(self.lower, self.upper, self.geometry, out_of_bounds)

    @property
    def dimension(self) -> int:
        """The number of variables."""
        return int(self.lower.size)

    @property
    def design_box(self) -> tuple[Floats, Floats]:
        """Where designs may be: the bounds, or under "shrink" what is left of them (n,), (n,)."""
        space = self.space
        low, high = ((side - space.offset) * space.scale + space.centre for side in (space.lower, space.upper))
        return np.clip(low, self.lower, self.upper), np.clip(high, self.lower, self.upper)

    @property
    def scaled(self) -> Problem:
        """The problem as the search sees it: itself, unless tolerances are in percent."""
        return self

    def to_scaled(self, x: Any) -> Floats:
        """Return points (n,) or (k, n) as the search sees them."""
        return np.asarray(x, dtype=np.float64)

    def from_scaled(self, x: Any) -> Floats:
        """Return points (n,) or (k, n) that the search sees in the units of the problem."""
        return np.asarray(x, dtype=np.float64)

    @property
    def is_test_problem(self) -> bool:
        """Whether it is one of the package's test problems, which never change."""
        return self._recipe is not None

    def instance(self, seed: int) -> Problem:
        """Return the same variant of a test problem by another seed; any other problem as it is."""
        if self._recipe is None or self._recipe[2] == "original":
            return self
        name, dimension, variant, _, out_of_bounds = self._recipe
        return _instance(name, dimension, variant, seed, out_of_bounds)

    def __call__(self, x: Any) -> Any:
        point = np.array(x, dtype=np.float64)
        if self.vectorized and point.ndim == 1:
            return np.asanyarray(self.fun(point[:, None]))[0]
        return self.fun(point, self.data) if self.takes_data else self.fun(point)

    @cached_property
    def compiled(self) -> CompiledObjective | None:
        """The objective as machine code with its data, or `None` if it is Python or takes many points at once."""
        if self.vectorized or not isinstance(self.fun, Dispatcher):
            return None
        if self.takes_data:
            self.fun.compile((float64[::1], float64[::1]))
            return self.fun, self.data
        return with_data(self.fun), self.data

    def __reduce__(self) -> Any:
        if self._recipe is not None:  # a test problem is rebuilt, which is faster than sending its machine code
            return problem, self._recipe
        arguments = (self.fun, list(zip(self.lower.tolist(), self.upper.tolist(), strict=True)), self.uncertainty)
        return _unpickled, (*arguments, self.out_of_bounds, self.name, self.vectorized)

    def to_dict(self) -> dict[str, Any]:
        """Return all of the problem but its objective as plain data; `vectorized` only if it is."""
        return {
            "name": self.name,
            "dimension": self.dimension,
            "lower": _shortened(self.lower),
            "upper": _shortened(self.upper),
            "uncertainty": repr(self.uncertainty),
            "outside": self.out_of_bounds,
            **({"vectorized": True} if self.vectorized else {}),
        }

    def _repr_html_(self) -> str:
        """Return the problem as a notebook shows it."""
        low, high = (
            f"{side[0]:g}" if np.ptp(side) == 0 else np.array2string(side, precision=6, threshold=12)
            for side in (self.lower, self.upper)
        )
        facts = {
            "variables": self.dimension,
            "lower bounds": low,
            "upper bounds": high,
            "uncertainty set": repr(self.uncertainty),
            "points outside the bounds": self.out_of_bounds,
        }
        return notebook_html.fragment(f"Problem {self.name}", notebook_html.facts(facts))

    def __repr__(self) -> str:
        policy = f"out_of_bounds={self.out_of_bounds!r}"
        return f"<Problem {self.name}: {self.dimension} variables, {self.uncertainty!r}, {policy}>"

    @property
    def outside(self) -> OutOfBounds:
        """Deprecated name of `out_of_bounds`."""
        text = "`outside` was renamed to `out_of_bounds`; the former name will be removed in the next minor release"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return self.out_of_bounds


@named_arguments(outside="out_of_bounds")
def problem(
    name: str,
    dimension: int | None = None,
    variant: Variant = "original",
    seed: int | None = None,
    out_of_bounds: OutOfBounds = "evaluate",
) -> Problem:
    """Return one of the test problems, compiled, with its bounds and its uncertainty set.

    Args:
        name: For instance "rastrigin"; `problems()` lists them.
        dimension: Variables, from 2 (1 where the formula allows it); 30 by default. Engineering problems have a number
            of variables of their own.
        variant: "original" as in the paper; "shifted" by up to 15% of the range; "rotated" about the box's centre;
            "shifted-rotated". Engineering problems are "original".
        seed: Decides the shift and the rotation; required by the variants.
        out_of_bounds: As for `Problem`.

    Example:
        >>> import robustforge as rf
        >>> rf.problem("sphere", dimension=2)([20.0, 21.0])
        1.0
        >>> rf.problem("welded-beam").dimension
        4
    """
    if name not in ALL and name not in ENGINEERING:
        raise UnknownNameError("problem", name, [*ALL, *ENGINEERING], "robustforge problems")
    if variant not in get_args(Variant):
        raise UnknownNameError("variant", str(variant), get_args(Variant), "robustforge solve --help")
    if name in ENGINEERING:
        return _engineering_problem(ENGINEERING[name], dimension, variant, seed, out_of_bounds)
    function, dimension = ALL[name], DEFAULT_DIMENSION if dimension is None else dimension
    if not isinstance(dimension, (int, np.integer)) or dimension < function.least:
        raise ProblemError(
            f"{name} needs an integer dimension of at least {function.least}",
            f"got {dimension!r}",
            "Pass e.g. dimension=30",
        )
    shifted, rotated = variant.startswith("shifted"), variant.endswith("rotated")
    label = f"{name}-{dimension}d" + ("" if variant == "original" else f"-{variant}-{seed}")
    made = Problem(
        function.formula,
        [(function.lower, function.upper)] * int(dimension),
        Ball(function.radius),
        out_of_bounds=out_of_bounds,
        name=label,
    )
    made.takes_data = True
    made._recipe = (name, dimension, variant, seed, out_of_bounds)
    if variant != "original":
        if not isinstance(seed, (int, np.integer)) or seed < 0:
            raise ProblemError(
                f"the {variant} variant must be drawn from a seed", f"got seed={seed!r}", "Pass for instance seed=1"
            )
        made.data = placement(function, int(dimension), shifted, rotated, int(seed))
    return made


def _engineering_problem(
    given: EngineeringProblem, dimension: int | None, variant: Variant, seed: int | None, out_of_bounds: OutOfBounds
) -> Problem:
    if dimension is not None and dimension != given.dimension:
        fact = f"{given.name} has {given.dimension}, got dimension={dimension!r}"
        raise ProblemError("an engineering problem has a number of variables of its own", fact, "Leave `dimension` out")
    if variant != "original":
        fact = f"{given.name} was requested as {variant!r}"
        raise ProblemError('an engineering problem exists as "original" only', fact, "Leave `variant` out")
    made = Problem(given.formula, given.bounds, given.uncertainty, out_of_bounds=out_of_bounds, name=given.name)
    made.takes_data = True
    made._recipe = (given.name, None, variant, seed, out_of_bounds)
    return made


@lru_cache(maxsize=64)
def _instance(name: str, dimension: int, variant: Variant, seed: int, out_of_bounds: OutOfBounds) -> Problem:
    return problem(name, dimension, variant, seed, out_of_bounds=out_of_bounds)


def problems(suite: Suite = "paper") -> tuple[str, ...]:
    """Return the names of the test problems.

    Args:
        suite: "paper" for the paper's ten; "held-out" for those that nothing was evolved or tuned on, for final tables
            only; "engineering" for those on which the default heuristics are chosen, with 2 to 12 variables, limits,
            kinks and failures; "engineering-held-out" for others of that kind, which only check the choice.

    Example:
        >>> import robustforge as rf
        >>> len(rf.problems()), rf.problems()[0]
        (10, 'rastrigin')
        >>> rf.problems("held-out")[:2]
        ('griewank', 'levy')
    """
    if suite not in get_args(Suite):
        raise UnknownNameError("suite", str(suite), get_args(Suite), "robustforge problems")
    suites = {"paper": FUNCTIONS, "held-out": HELD_OUT}
    if suite in suites:
        return tuple(suites[suite])
    return tuple(name for name, each in ENGINEERING.items() if each.suite == suite)


def _unpickled(
    fun: Any, bounds: Any, uncertainty: UncertaintySet, out_of_bounds: OutOfBounds, name: str, vectorized: bool = False
) -> Problem:
    return Problem(fun, bounds, uncertainty, out_of_bounds=out_of_bounds, name=name, vectorized=vectorized)


def _shortened(bounds: Floats) -> float | list[float]:
    """Return bounds as plain data: one number if all are equal."""
    return float(bounds[0]) if (bounds == bounds[0]).all() else [float(bound) for bound in bounds]


def read_bounds(bounds: Any) -> tuple[Floats, Floats]:
    """Return lower and upper bounds as arrays, from pairs or from `scipy.optimize.Bounds`."""
    fix = "Give one (low, high) pair per variable, low below high"
    try:
        if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
            lower, upper = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
            pairs = np.stack([lower, upper], axis=1).astype(np.float64)
        else:
            pairs = np.array([tuple(pair) for pair in bounds], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ProblemError("`bounds` must be pairs of numbers", f"got {bounds!r}", fix) from error
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.shape[0] == 0:
        raise ProblemError("`bounds` must be pairs of numbers", f"got an array of shape {pairs.shape}", fix)
    for number, (low, high) in enumerate(pairs):
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ProblemError("bounds must be finite", f"those of variable {number} are ({low:g}, {high:g})", fix)
        if low >= high:
            word = "equal" if low == high else "reversed"
            raise ProblemError(
                "each lower bound must be below its upper bound",
                f"those of variable {number} are {word}: ({low:g}, {high:g})",
                "Swap them" if low > high else "Leave a variable that cannot change out of the problem",
            )
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


def with_data(fun: Any) -> Any:
    """Return a user's compiled function of x as one of (x, data), for the engine. Once per function."""
    if fun not in _WITH_DATA:
        _WITH_DATA[fun] = _compile_with_data(fun)
    return _WITH_DATA[fun]


_WITH_DATA: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def _compile_with_data(fun: Any) -> Any:
    @njit(nogil=True)
    def call(x: Floats, data: Floats) -> float:
        return float(fun(x))

    try:
        call.compile((float64[::1], float64[::1]))
    except NumbaError as error:
        raise ProblemError(
            "a compiled objective must take a contiguous float64 array and return a real number",
            f"{getattr(fun, '__name__', fun)!r} does not",
            "Numba's own message is the cause of this error; or pass a Python function",
        ) from error
    return call


def _space(lower: Floats, upper: Floats, geometry: Geometry, out_of_bounds: OutOfBounds) -> Space:
    with np.errstate(over="ignore"):
        widths = upper - lower
    scale = np.where(geometry.radii > 0, geometry.radii, widths)
    low, high = lower + geometry.offset, upper + geometry.offset
    if out_of_bounds == "shrink":
        low, high = lower + geometry.radii, upper - geometry.radii
        narrow = np.flatnonzero(low - high > 1e-12 * (np.abs(lower) + np.abs(upper)))
        if narrow.size:
            k = int(narrow[0])
            raise ProblemError(
                "under `shrink` the box must be wider than the uncertainty set",
                f"variable {k} has a width of {upper[k] - lower[k]:g} and an uncertainty set of width "
                f"{2 * geometry.radii[k]:g}",
                "Widen the bounds, reduce the tolerance, or use out_of_bounds='clip'",
            )
        low, high = np.minimum(low, high), np.maximum(low, high)
    wide = np.flatnonzero(~(widths / scale <= _WIDEST))
    if wide.size:
        k = int(wide[0])
        raise ProblemError(
            f"a box must be at most {_WIDEST:g} times as wide as the tolerance",
            f"variable {k} has a width of {widths[k]:g} and a tolerance of {scale[k]:g}",
            "Narrow the bounds, or set the tolerance to 0 if the variable is exact",
        )
    centre = low + (high - low) / 2
    return Space((low - centre) / scale, (high - centre) / scale, scale, centre, geometry.offset / scale)
