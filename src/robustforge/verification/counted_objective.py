"""The objective of an attack, which counts its evaluations and keeps the worst point; and the faces of the unit set.

All coordinates here are those of the unit set, a ball or a box. Ascents move on its faces.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from robustforge.core.linear_algebra import complement, dot, product, times
from robustforge.verification.neighbourhood import Neighbourhood

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

BATCH_COORDINATES = 2**22
"""Maximum number of coordinates in memory at a time."""


class UnboundedError(Exception):
    """A value of +inf was found, and nothing is worse: ends the attack. Never leaves `full_attack`."""


class CountedObjective:
    """The objective on the unit set around a design.

    Args:
        neighbourhood: The set around the design.

    Attributes:
        size: The number m of coordinates of a point.
        is_box: Whether the set is [-1, 1]^m instead of the unit ball.
        worst_value: The worst value so far.
        worst_point: The point of that value (m,).
        nfev: Evaluations so far.
    """

    def __init__(self, neighbourhood: Neighbourhood) -> None:
        self._neighbourhood = neighbourhood
        self.size, self.is_box = neighbourhood.size, neighbourhood.is_box
        self.worst_value, self.worst_point = -np.inf, np.zeros(self.size)
        self.nfev = 0

    def values(self, units: Floats) -> Floats:
        """Return the values of points of the unit set (k, m).

        Raises:
            UnboundedError: One of them is +inf.
        """
        values = self._neighbourhood.evaluate(self._neighbourhood.to_points(units))
        self.nfev += len(units)
        k = int(np.argmax(values))
        if values[k] > self.worst_value:
            self.worst_value, self.worst_point = float(values[k]), units[k].copy()
        if self.worst_value == np.inf:
            raise UnboundedError
        return values

    def on_lines(self, bases: Floats, directions: Floats, steps: Floats) -> Floats:
        """Return the values at base + step * direction, row by row; `bases` may be one for all."""
        values = np.empty(steps.size)
        bases = np.broadcast_to(bases, directions.shape)
        batch = max(BATCH_COORDINATES // self.size, 1)
        for first in range(0, steps.size, batch):
            part = slice(first, first + batch)
            values[part] = self.values(bases[part] + steps[part, None] * directions[part])
        return values

    def worst_of(self, units: Floats) -> tuple[float, Floats]:
        """Return the worst value among points (k, m), and its point."""
        values = self.values(units)
        k = int(np.argmax(values))
        return float(values[k]), units[k]


class Face(ABC):
    """The part of the unit set in which some directions are pinned; points have coordinates `w` in the free directions.

    Attributes:
        pinned: The pinned part of the points (m,).
        size: The number q of free directions, which are orthonormal.
        radius: Maximum length of `w`, in the norm of the set.
    """

    pinned: Floats
    size: int
    radius: float

    @abstractmethod
    def points(self, w: Floats) -> Floats:
        """Return the points of the unit set with the coordinates `w` (k, q)."""

    @abstractmethod
    def coordinates(self, unit: Floats) -> Floats:
        """Return the `w` of a point of the unit set."""

    @abstractmethod
    def neighbours(self, w: Floats, step: float) -> Floats:
        """Return the points one step from `w` along every free direction, then against each (2q, m)."""


class _CoordinateFace(Face):
    """A face on which some coordinates are pinned."""

    def __init__(self, pinned: Floats, free: Bools, radius: float) -> None:
        self.pinned, self._free, self.radius = pinned, np.flatnonzero(free), radius
        self.size = int(self._free.size)

    def points(self, w: Floats) -> Floats:
        points = np.tile(self.pinned, (len(w), 1))
        points[:, self._free] = w
        return points

    def coordinates(self, unit: Floats) -> Floats:
        return np.array(unit[self._free])

    def neighbours(self, w: Floats, step: float) -> Floats:
        points = np.tile(self.points(w[None]), (2 * self.size, 1))
        rows = np.arange(self.size)
        points[rows, self._free] += step
        points[self.size + rows, self._free] -= step
        return points


class _SubspaceFace(Face):
    """A face on which the free directions are the rows of a matrix (q, m)."""

    def __init__(self, pinned: Floats, basis: Floats, radius: float) -> None:
        self.pinned, self._basis, self.radius = pinned, basis, radius
        self.size = len(basis)

    def points(self, w: Floats) -> Floats:
        points: Floats = self.pinned + product(w, self._basis)
        return points

    def coordinates(self, unit: Floats) -> Floats:
        return times(self._basis, unit)

    def neighbours(self, w: Floats, step: float) -> Floats:
        point, shifts = self.points(w[None]), step * self._basis
        return np.concatenate([point + shifts, point - shifts])


def face(objective: CountedObjective, unit: Floats, pinned: Bools) -> Face:
    """Return the face on which the pinned coordinates of a point are constant."""
    fixed = np.where(pinned, unit, 0.0)
    return _CoordinateFace(fixed, ~pinned, 1.0 if objective.is_box else _remaining_radius(fixed))


def orthogonal_face(normals: Floats, point: Floats) -> Face:
    """Return the face of the ball through a point, orthogonal to normals (k, m) whose span contains the point."""
    return _SubspaceFace(point, complement(normals), _remaining_radius(point))


def _remaining_radius(point: Floats) -> float:
    return math.sqrt(max(1.0 - dot(point, point), 0.0))
