"""Uncertainty sets: what a design can turn into. A ball, an ellipsoid, a box, or a box with unequal sides.

Every set is a unit ball or a unit box after scaling and shifting; `geometry` gives that scaling, and the engine works
in it. A tolerance of 0 on some variables is legal: the set lives in the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.errors import ProblemError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Geometry:
    """An uncertainty set of a given dimension as a scaled, shifted unit set.

    Attributes:
        is_box: Maximum norm instead of Euclidean.
        radii: Half-width in each variable, 0 where the variable is exact (n,).
        offset: Centre of the set relative to the design (n,); 0 but for unequal sides.
    """

    is_box: bool
    radii: Floats
    offset: Floats

    @property
    def active(self) -> npt.NDArray[np.int64]:
        """The variables that are uncertain."""
        return np.flatnonzero(self.radii > 0)

    def holds(self, gaps: Floats, edge: float = 1e-9) -> npt.NDArray[np.bool_]:
        """Say of each scaled difference from the centre of the set whether it is in the set; rounding counts as inside.

        Args:
            gaps: Points less the centre of the set, scaled as in the engine (k, n).
            edge: How far above 1 the squared norm may be, and how far from 0 an exact variable.
        """
        uncertain = self.radii > 0
        squares = gaps[:, uncertain] ** 2
        norms = squares.max(axis=1) if self.is_box else squares.sum(axis=1)
        same = (np.abs(gaps[:, ~uncertain]) <= edge).all(axis=1)
        return np.asarray((norms <= 1.0 + edge) & same)


class UncertaintySet(ABC):
    """The set of differences between a design and what is built."""

    @abstractmethod
    def geometry(self, dimension: int) -> Geometry:
        """Return the set for this many variables, or raise if it does not fit them."""


@dataclass(frozen=True, init=False, eq=False)
class Ball(UncertaintySet):
    """All differences of Euclidean length up to the radius; with one radius per variable, an ellipsoid.

    Args:
        radius: Gamma, in the units of x: one number, or one per variable (0 for an exact one).

    Example:
        >>> Ball(0.5), Ball([1.0, 0.0, 2.5])
        (Ball(0.5), Ball([1.0, 0.0, 2.5]))
    """

    radius: Floats

    def __init__(self, radius: Any) -> None:
        object.__setattr__(self, "radius", _tolerance("radius", radius))
        _some_positive("radius", self.radius)

    def geometry(self, dimension: int) -> Geometry:
        return Geometry(False, _per_variable("radius", self.radius, dimension), np.zeros(dimension))

    def __repr__(self) -> str:
        return f"Ball({self.radius.tolist()})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ball) and np.array_equal(self.radius, other.radius)

    def __hash__(self) -> int:
        return hash(("Ball", self.radius.tobytes()))


@dataclass(frozen=True, init=False, eq=False)
class Box(UncertaintySet):
    """All differences within a tolerance per variable, each on its own.

    Args:
        half_widths: The tolerance to both sides: one number, or one per variable.
        lower: The tolerance downwards, where it is not the same as upwards.
        upper: The tolerance upwards.

    Example:
        >>> Box([0.1, 0.2]), Box(lower=0.1, upper=0.3)
        (Box([0.1, 0.2]), Box(lower=0.1, upper=0.3))
    """

    lower: Floats
    upper: Floats

    def __init__(self, half_widths: Any = None, *, lower: Any = None, upper: Any = None) -> None:
        if (half_widths is None) == (lower is None and upper is None):
            raise ProblemError(
                "a Box takes either half-widths or `lower` and `upper`",
                "got both or neither",
                "Write Box(0.1), or Box(lower=0.1, upper=0.3)",
            )
        if half_widths is not None:
            sides = (("half_widths", half_widths), ("half_widths", half_widths))
        else:
            sides = (("lower", 0.0 if lower is None else lower), ("upper", 0.0 if upper is None else upper))
        object.__setattr__(self, "lower", _tolerance(*sides[0]))
        object.__setattr__(self, "upper", _tolerance(*sides[1]))
        _some_positive("Box", np.concatenate([np.atleast_1d(self.lower), np.atleast_1d(self.upper)]))

    def geometry(self, dimension: int) -> Geometry:
        down = _per_variable("lower", self.lower, dimension)
        up = _per_variable("upper", self.upper, dimension)
        return Geometry(True, (down + up) / 2, (up - down) / 2)

    def __repr__(self) -> str:
        if np.array_equal(self.lower, self.upper):
            return f"Box({self.lower.tolist()})"
        return f"Box(lower={self.lower.tolist()}, upper={self.upper.tolist()})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def _tolerance(name: str, given: Any) -> Floats:
    """Return a tolerance as an array of finite numbers, none negative."""
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.ndim > 1 or values.size == 0 or not np.isfinite(values).all() or (values < 0).any():
        raise ProblemError(
            f"`{name}` must be a non-negative number, or one per variable",
            f"got {given!r}",
            "Pass the tolerance in the units of x; 0 marks an exact variable",
        )
    values.flags.writeable = False
    return values


def _some_positive(name: str, values: Floats) -> None:
    if not (values > 0).any():
        raise ProblemError(
            f"`{name}` must be positive in at least one variable",
            "all tolerances are 0",
            "Without uncertainty there is nothing to be robust against: use a nominal optimiser",
        )


def _per_variable(name: str, values: Floats, dimension: int) -> Floats:
    if values.ndim == 1 and values.size != dimension:
        raise ProblemError(
            f"`{name}` must be one number or one per variable",
            f"got {values.size} for {dimension} variables",
            "Give as many tolerances as bounds",
        )
    return np.array(np.broadcast_to(values, (dimension,)), dtype=np.float64)
