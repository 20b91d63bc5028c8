"""What an attack shoots at: the unit set around a design, and the faces of it on which an ascent can move.

All coordinates here are those of the unit set, a ball or a box. The target counts what it is asked for, and keeps the
worst.
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

BATCH_NUMBERS = 2**22
"""Coordinates that are put into memory at a time."""


class UnboundedError(Exception):
    """A value of +inf was found: nothing is worse, the attack is over. Never leaves `worst`."""


class Target:
    """The unit set with the values of its points.

    Args:
        neighbourhood: The set around the design.

    Attributes:
        size: The number m of coordinates of a point.
        is_box: Whether the set is [-1, 1]^m instead of the unit ball.
        worst: The worst value so far.
        where: The point that has it (m,).
        nfev: Evaluations so far.
    """

    def __init__(self, neighbourhood: Neighbourhood) -> None:
        self._neighbourhood = neighbourhood
        self.size, self.is_box = neighbourhood.size, neighbourhood.is_box
        self.worst, self.where = -np.inf, np.zeros(self.size)
        self.nfev = 0

    def values(self, units: Floats) -> Floats:
        """Return the values of points of the unit set (k, m).

        Raises:
            UnboundedError: One of them is +inf.
        """
        values = self._neighbourhood.evaluate(self._neighbourhood.place(units))
        self.nfev += len(units)
        k = int(np.argmax(values))
        if values[k] > self.worst:
            self.worst, self.where = float(values[k]), units[k].copy()
        if self.worst == np.inf:
            raise UnboundedError
        return values

    def on_lines(self, bases: Floats, directions: Floats, steps: Floats) -> Floats:
        """Return the values of the points base + step * direction, one of each per point; bases may be one for all."""
        values = np.empty(steps.size)
        bases = np.broadcast_to(bases, directions.shape)
        batch = max(BATCH_NUMBERS // self.size, 1)
        for first in range(0, steps.size, batch):
            part = slice(first, first + batch)
            values[part] = self.values(bases[part] + steps[part, None] * directions[part])
        return values

    def best_of(self, units: Floats) -> tuple[float, Floats]:
        """Return the worst value among points (k, m), and its point."""
        values = self.values(units)
        k = int(np.argmax(values))
        return float(values[k]), units[k]


class Face(ABC):
    """The part of the unit set in which some directions are pinned; its points have coordinates `w`, one per free one.

    Attributes:
        stays: The pinned part of the points (m,).
        size: The number q of free directions, which are orthonormal.
        room: How long `w` may be, in the norm of the set.
    """

    stays: Floats
    size: int
    room: float

    @abstractmethod
    def points(self, inner: Floats) -> Floats:
        """Return the points of the unit set with the coordinates `w` (k, q)."""

    @abstractmethod
    def coordinates(self, unit: Floats) -> Floats:
        """Return the `w` of a point of the unit set."""

    @abstractmethod
    def beside(self, inner: Floats, step: float) -> Floats:
        """Return a step from one `w` along every free direction, then one against each (2q, m)."""


class _Coordinates(Face):
    """A face on which some coordinates are pinned."""

    def __init__(self, stays: Floats, free: Bools, room: float) -> None:
        self.stays, self._free, self.room = stays, np.flatnonzero(free), room
        self.size = int(self._free.size)

    def points(self, inner: Floats) -> Floats:
        points = np.tile(self.stays, (len(inner), 1))
        points[:, self._free] = inner
        return points

    def coordinates(self, unit: Floats) -> Floats:
        return np.array(unit[self._free])

    def beside(self, inner: Floats, step: float) -> Floats:
        points = np.tile(self.points(inner[None]), (2 * self.size, 1))
        rows = np.arange(self.size)
        points[rows, self._free] += step
        points[self.size + rows, self._free] -= step
        return points


class _Beyond(Face):
    """A face on which the free directions are the rows of a matrix (q, m)."""

    def __init__(self, stays: Floats, basis: Floats, room: float) -> None:
        self.stays, self._basis, self.room = stays, basis, room
        self.size = len(basis)

    def points(self, inner: Floats) -> Floats:
        points: Floats = self.stays + product(inner, self._basis)
        return points

    def coordinates(self, unit: Floats) -> Floats:
        return times(self._basis, unit)

    def beside(self, inner: Floats, step: float) -> Floats:
        point, shifts = self.points(inner[None]), step * self._basis
        return np.concatenate([point + shifts, point - shifts])


def face(target: Target, unit: Floats, pinned: Bools) -> Face:
    """Return the face on which the pinned coordinates of a point stay as they are."""
    stays = np.where(pinned, unit, 0.0)
    return _Coordinates(stays, ~pinned, 1.0 if target.is_box else _room(stays))


def face_beyond(normals: Floats, stays: Floats) -> Face:
    """Return the face of the ball through a point, orthogonal to the normals (k, m), in whose span the point lies."""
    return _Beyond(stays, complement(normals), _room(stays))


def _room(stays: Floats) -> float:
    return math.sqrt(max(1.0 - dot(stays, stays), 0.0))
