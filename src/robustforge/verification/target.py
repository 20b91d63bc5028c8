"""What an attack shoots at: the unit set around a design, and the faces of it on which an ascent can move.

All coordinates here are those of the unit set, a ball or a box. The target counts what it is asked for, and keeps the
worst.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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


@dataclass(frozen=True)
class Face:
    """The part of the unit set in which some directions are pinned: the points stays + basis @ w.

    Attributes:
        stays: The pinned part of the point (m,).
        basis: Orthonormal directions that are free, in columns (m, q).
        room: How long `w` may be, in the norm of the set.
    """

    stays: Floats
    basis: Floats
    room: float

    def points(self, inner: Floats) -> Floats:
        """Return the points of the unit set with the coordinates `w` (k, q)."""
        points: Floats = self.stays + inner @ self.basis.T
        return points

    def coordinates(self, unit: Floats) -> Floats:
        """Return the `w` of a point of the unit set."""
        inner: Floats = self.basis.T @ unit
        return inner


def face(target: Target, unit: Floats, pinned: Bools) -> Face:
    """Return the face on which the pinned coordinates of a point stay as they are."""
    stays = np.where(pinned, unit, 0.0)
    return Face(stays, np.eye(target.size)[:, ~pinned], 1.0 if target.is_box else _room(stays))


def face_beyond(normals: Floats, stays: Floats) -> Face:
    """Return the face of the ball through a point, orthogonal to the normals (k, m), in whose span the point lies."""
    whole, _ = np.linalg.qr(normals.T, mode="complete")
    return Face(stays, np.ascontiguousarray(whole[:, len(normals) :]), _room(stays))


def _room(stays: Floats) -> float:
    return float(np.sqrt(max(1.0 - float(stays @ stays), 0.0)))
