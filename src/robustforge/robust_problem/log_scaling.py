"""Problems with tolerances in percent: real units for the user, logarithms for the search.

A tolerance in percent is an interval of constant width on a log scale, so the engine sees the logarithm of such a
variable, in the `scaled` problem. All that comes in and goes out is in real units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.core.portable_math import exp, log
from robustforge.errors import ProblemError
from robustforge.robust_problem.problem import Problem
from robustforge.robust_problem.uncertainty_sets import Geometry, UncertaintySet

Floats = npt.NDArray[np.float64]


def from_log(seen: float) -> float:
    """Return a value from its logarithm, to 15 digits, so that 1000 is not 999.9999999999998."""
    return float(f"{exp(seen):.15g}")


@dataclass(frozen=True)
class Tolerances(UncertaintySet):
    """The realisable deviations when some tolerances are in percent: they depend on the design.

    Attributes:
        kind: "box" if each variable can be anywhere within its tolerance whatever the others do; "ball" if not all can
            be at their worst at once.
        lower: How far each variable can go downwards: in its own unit, or as a fraction of its value.
        upper: How far upwards.
        relative: Which of them are fractions.
    """

    kind: str
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    relative: tuple[bool, ...]

    def around(self, x: Any) -> tuple[Floats, Floats]:
        """Return the lower and the upper value of each variable that a design can be built with (n,), (n,)."""
        design = np.asarray(x, dtype=np.float64)
        unit = np.where(self.relative, design, 1.0)
        return design - unit * np.array(self.lower), design + unit * np.array(self.upper)

    def geometry(self, dimension: int) -> Geometry:
        """Raise: in real units such a set has no size of its own."""
        raise ProblemError(
            "a Problem needs a Ball or a Box",
            "tolerances in percent are neither",
            "Use the `problem` of the problem file, or its `scaled_problem`, which is on a log scale",
        )

    def __repr__(self) -> str:
        return f"{self.kind} of {', '.join(map(_words, self.lower, self.upper, self.relative))}"


def _words(down: float, up: float, relative: bool) -> str:
    factor, sign = (100.0, "%") if relative else (1.0, "")
    return f"+{factor * up:.12g}{sign}/-{factor * down:.12g}{sign}"


class RealProblem(Problem):
    """A problem in real units, some of whose variables are searched as their logarithms.

    `minimize`, `Optimizer`, `verify` and `attack` take and return real units; `evolve` and `assess`, which compare
    searches, work on the `scaled` problem. `geometry` and `space` are those of the scaled problem.

    Args:
        scaled: The problem as the search sees it.
        logarithmic: Which variables it sees as logarithms.
        fun: The objective of a point in real units; by default that of the scaled problem.

    Attributes:
        logarithmic: Which variables the search sees as logarithms (n,).
    """

    def __init__(
        self, scaled: Problem, logarithmic: Sequence[bool], fun: Callable[[Floats], Any] | None = None
    ) -> None:
        self._scaled, self.logarithmic = scaled, np.array(logarithmic, dtype=np.bool_)
        self._given = fun
        self.fun = fun or self._by_scaled
        self.lower, self.upper = self.from_scaled(scaled.lower), self.from_scaled(scaled.upper)
        self.uncertainty = _tolerances(scaled, self.logarithmic)
        self.out_of_bounds, self.name, self.vectorized = scaled.out_of_bounds, scaled.name, False
        self.data, self.takes_data, self._recipe = np.empty(0), False, None
        self.geometry, self.space = scaled.geometry, scaled.space

    @property
    def scaled(self) -> Problem:
        return self._scaled

    def to_scaled(self, x: Any) -> Floats:
        points = np.array(x, dtype=np.float64)
        logs = points[..., self.logarithmic]
        if (logs <= 0).any():
            raise ProblemError(
                "a variable with a tolerance in percent must be positive", f"one is {logs[logs <= 0][0]:g}"
            )
        points[..., self.logarithmic] = np.vectorize(log, otypes=[np.float64])(logs)
        return points

    def from_scaled(self, x: Any) -> Floats:
        points = np.array(x, dtype=np.float64)
        logs = points[..., self.logarithmic]
        points[..., self.logarithmic] = np.vectorize(from_log, otypes=[np.float64])(logs)
        return points

    @property
    def design_box(self) -> tuple[Floats, Floats]:
        low, high = map(self.from_scaled, self.scaled.design_box)
        return np.clip(low, self.lower, self.upper), np.clip(high, self.lower, self.upper)

    def _by_scaled(self, x: Floats) -> Any:
        return self.scaled(self.to_scaled(x))

    def __reduce__(self) -> Any:
        return RealProblem, (self.scaled, self.logarithmic.tolist(), self._given)


def _tolerances(scaled: Problem, logarithmic: npt.NDArray[np.bool_]) -> Tolerances:
    geometry = scaled.geometry
    down, up = geometry.radii - geometry.offset, geometry.radii + geometry.offset
    lower, upper = np.where(logarithmic, -_growth(-down), down), np.where(logarithmic, _growth(up), up)
    kind = "box" if geometry.is_box else "ball"
    return Tolerances(kind, *(tuple(each.tolist()) for each in (lower, upper, logarithmic)))


def _growth(logs: Floats) -> Floats:
    """Return the relative change of a value for a change of its logarithm, to 12 digits."""
    return np.array([float(f"{exp(each) - 1.0:.12g}") for each in logs.tolist()])
