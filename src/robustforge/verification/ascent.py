"""Local ascent in the unit set: along the gradient, and by exchanging radius between coordinates.

All points stay in the set, those of the differences too. On a face, directions that have just stepped over a cliff stay
where they are, and the others share the radius that is left.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from robustforge.core.linear_algebra import norm, norms
from robustforge.verification.target import Face, Target

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

DIFFERENCE = 1e-4
"""Step of the central differences, relative to the room on the face."""

_SHARES = np.ldexp(1.0, -np.arange(9))
_LENGTHS = np.ldexp(1.0, np.arange(2, -13, -1))


def ascend(target: Target, face: Face, unit: Floats, rounds: int = 12, gain: float = 1e-9) -> tuple[float, Floats]:
    """Climb from a point along gradients, until a round gains less than `gain` of the value.

    Args:
        target: What is evaluated.
        face: Where the steps stay.
        unit: Where to start, on the face (m,).
        rounds: Gradients at most.
        gain: Relative to the size of the value.

    Returns:
        The worst value met by the steps, and its point.
    """
    value = float(target.values(unit[None])[0])
    if not face.size or face.room < 1e-6:
        return value, unit
    inner = face.coordinates(unit)
    for _ in range(rounds):
        slopes = gradient(target, face, inner)
        if not slopes.any() or not np.isfinite(slopes).all():
            break
        slopes = slopes / np.abs(slopes).max()
        steps = _box_steps(inner, slopes) if target.is_box else _ball_steps(inner, slopes, face.room)
        values = target.values(face.points(steps))
        k = int(np.argmax(values))
        if values[k] <= value:
            break
        enough = values[k] - value > gain * abs(value)
        value, inner = float(values[k]), steps[k]
        if not enough:
            break
    return value, face.points(inner[None])[0]


def gradient(target: Target, face: Face, inner: Floats) -> Floats:
    """Return the slopes along the free directions, by central differences just inside the set."""
    q, step = inner.size, DIFFERENCE * face.room
    values = target.values(face.beside((1.0 - 2.0 * DIFFERENCE) * inner, step))
    slopes: Floats = (values[:q] - values[q:]) / (2.0 * step)
    return slopes


def _ball_steps(inner: Floats, slopes: Floats, room: float) -> Floats:
    """Return points to try: towards the farthest point along the gradient, and along the gradient, on and in the ball.

    The first of them is that farthest point itself, to which a convex function leads in a few rounds.
    """
    direction = slopes / norm(slopes)
    towards = inner + _SHARES[:, None] * (room * direction - inner)
    along = inner + room * _LENGTHS[:, None] * direction
    moves = np.concatenate([towards, along])
    lengths = norms(moves)
    within = moves[lengths < room * (1.0 - 1e-9)]
    return np.concatenate([moves * (room / np.maximum(lengths, 1e-300))[:, None], within])


def _box_steps(inner: Floats, slopes: Floats) -> Floats:
    """Return points to try in the box: towards the corner that the gradient points to, and along the gradient.

    The steepest slope is 1.
    """
    corner = np.where(slopes == 0, inner, np.sign(slopes))
    towards = inner + _SHARES[:, None] * (corner - inner)
    along = np.clip(inner + _LENGTHS[:, None] * slopes, -1.0, 1.0)
    return np.concatenate([towards, along])


def exchange(target: Target, unit: Floats, positions: Floats, rounds: int) -> tuple[float, Floats]:
    """Put single coordinates elsewhere, the others giving or taking the radius; keep what helps, also several at once.

    Args:
        target: What is evaluated.
        unit: Where to start (m,).
        positions: What to try in every coordinate (k,).
        rounds: Rounds over all coordinates at most.
    """
    value = float(target.values(unit[None])[0])
    for _ in range(rounds):
        tried = [target.values(_displaced(target, unit, i, positions)) for i in range(target.size)]
        best = np.array([int(np.argmax(values)) for values in tried])
        tops = np.array([values[k] for values, k in zip(tried, best, strict=True)])
        order = np.argsort(-tops, kind="stable")
        helpful = order[tops[order] > value]
        if not helpful.size:
            break
        sizes = sorted({min(2**k, helpful.size) for k in range(8)})
        together = [_several(target, unit, helpful[:size], positions[best[helpful[:size]]]) for size in sizes]
        value, unit = target.best_of(np.array(together))
    return value, unit


def _displaced(target: Target, unit: Floats, coordinate: int, positions: Floats) -> Floats:
    """Return copies of a point with one coordinate put elsewhere and the others scaled to stay in the set."""
    rest = unit.copy()
    rest[coordinate] = 0.0
    points = np.tile(rest, (positions.size, 1))
    if not target.is_box:
        room = np.sqrt(np.maximum(1.0 - positions * positions, 0.0))
        points *= (room / max(norm(rest), 1e-300))[:, None]
    points[:, coordinate] = positions
    return points


def _several(target: Target, unit: Floats, coordinates: Integers, positions: Floats) -> Floats:
    """Return a point with several coordinates put elsewhere, as far as they fit, and the others scaled to stay."""
    point = unit.copy()
    if target.is_box:
        point[coordinates] = positions
        return point
    fits = np.cumsum(positions * positions) <= 1.0
    fixed = np.zeros(target.size, np.bool_)
    fixed[coordinates[fits]] = True
    point[coordinates[fits]] = positions[fits]
    rest, room = norm(point[~fixed]), max(1.0 - np.sum(positions[fits] * positions[fits]), 0.0)
    if rest > 0:
        point[~fixed] *= np.sqrt(room) / rest
    return point
