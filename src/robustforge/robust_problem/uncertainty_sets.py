"""Uncertainty sets: balls, ellipsoids and boxes, symmetric or not.

Every set is a unit ball or a unit box after scaling and shifting; `geometry` gives that scaling, and the engine works
in it. A tolerance of 0 on some variables is legal: the set extends only in the others.
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
        """Return whether each scaled difference from the centre of the set is in the set, up to rounding.

        Args:
            gaps: Points less the centre of the set, scaled as in the engine (k, n).
            edge: How far above 1 the squared norm may be, and how far from 0 an exact variable.
        """
        uncertain = self.radii > 0
        squares = gaps[:, uncertain] * gaps[:, uncertain]
        norms = squares.max(axis=1) if self.is_box else squares.sum(axis=1)
        same = (np.abs(gaps[:, ~uncertain]) <= edge).all(axis=1)
        return np.asarray((norms <= 1.0 + edge) & same)


class UncertaintySet(ABC):
    """The set of differences between a design and its realised point."""

    @abstractmethod
    def geometry(self, dimension: int) -> Geometry:
        """Return the set for this many variables, or raise if it does not fit them."""


class _Sided(UncertaintySet):
    """A set given by how far each variable can go downwards and upwards.

    Attributes:
        lower: The tolerance downwards: one number, or one per variable.
        upper: The tolerance upwards.
    """

    _is_box: bool
    _equal: str
    """Name of the symmetric tolerance."""

    lower: Floats
    upper: Floats

    def __init__(self, equal: Any, lower: Any, upper: Any) -> None:
        kind = type(self).__name__
        if (equal is None) == (lower is None and upper is None):
            raise ProblemError(
                f"a {kind} takes either `{self._equal}` or `lower` and `upper`",
                "got both or neither",
                f"Write {kind}(0.1), or {kind}(lower=0.1, upper=0.3)",
            )
        if equal is not None:
            self.lower = self.upper = _tolerance(self._equal, equal)
        else:
            self.lower = _tolerance("lower", 0.0 if lower is None else lower)
            self.upper = _tolerance("upper", 0.0 if upper is None else upper)
        _some_positive(kind, np.concatenate([np.atleast_1d(self.lower), np.atleast_1d(self.upper)]))

    def geometry(self, dimension: int) -> Geometry:
        same = self.lower is self.upper
        down = _per_variable(self._equal if same else "lower", self.lower, dimension)
        up = _per_variable(self._equal if same else "upper", self.upper, dimension)
        return Geometry(self._is_box, (down + up) / 2, (up - down) / 2)

    def __repr__(self) -> str:
        if np.array_equal(self.lower, self.upper):
            return f"{type(self).__name__}({self.lower.tolist()})"
        return f"{type(self).__name__}(lower={self.lower.tolist()}, upper={self.upper.tolist()})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


class Ball(_Sided):
    """All differences of Euclidean length up to the radius; with one radius per variable, an ellipsoid.

    Args:
        radius: Gamma, in the units of x: one number, or one per variable (0 for an exact one).
        lower: How far each variable can go downwards, if it differs from the upper one.
        upper: How far it can go upwards.

    Example:
        >>> Ball(0.5), Ball([1.0, 0.0, 2.5])
        (Ball(0.5), Ball([1.0, 0.0, 2.5]))
    """

    _is_box, _equal = False, "radius"

    def __init__(self, radius: Any = None, *, lower: Any = None, upper: Any = None) -> None:
        super().__init__(radius, lower, upper)

    def geometry(self, dimension: int) -> Geometry:
        made = super().geometry(dimension)
        away = made.offset[made.active] / made.radii[made.active]
        if (away * away).sum() > 1.0:
            raise ProblemError(
                "a ball with unequal sides must contain the design",
                "too many variables are one-sided",
                "Use a box, or sides that differ less",
            )
        return made


class Box(_Sided):
    """All differences within a tolerance per variable, each on its own.

    Args:
        half_widths: The tolerance to both sides: one number, or one per variable.
        lower: The tolerance downwards, where it is not the same as upwards.
        upper: The tolerance upwards.

    Example:
        >>> Box([0.1, 0.2]), Box(lower=0.1, upper=0.3)
        (Box([0.1, 0.2]), Box(lower=0.1, upper=0.3))
    """

    _is_box, _equal = True, "half_widths"

    def __init__(self, half_widths: Any = None, *, lower: Any = None, upper: Any = None) -> None:
        super().__init__(half_widths, lower, upper)


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
            "Use a nominal optimiser if there is no uncertainty",
        )


def _per_variable(name: str, values: Floats, dimension: int) -> Floats:
    if values.ndim == 1 and values.size != dimension:
        raise ProblemError(
            f"`{name}` must be one number or one per variable",
            f"got {values.size} for {dimension} variables",
            "Give as many tolerances as bounds",
        )
    return np.array(np.broadcast_to(values, (dimension,)), dtype=np.float64)
