"""Local ascent in the unit set: along the gradient, and by exchanging radius between coordinates.

All points are in the set, also those of finite differences. On a face, the directions that step over a cliff are
pinned, and the others share the remaining radius.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from robustforge.core.linear_algebra import norm, norms
from robustforge.verification.counted_objective import CountedObjective, Face

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

DIFFERENCE = 1e-4
"""Step of the central differences, relative to the radius of the face."""

_FRACTIONS = np.ldexp(1.0, -np.arange(9))
_STEP_LENGTHS = np.ldexp(1.0, np.arange(2, -13, -1))


def ascend(
    objective: CountedObjective, face: Face, unit: Floats, rounds: int = 12, gain: float = 1e-9
) -> tuple[float, Floats]:
    """Ascend from a point along gradients, until a round gains less than `gain` of the value.

    Args:
        objective: The objective.
        face: The face on which to move.
        unit: The start point, on the face (m,).
        rounds: Maximum number of gradients.
        gain: Minimum gain of a round, relative to the absolute value.

    Returns:
        The worst value of all steps, and its point.
    """
    value = float(objective.values(unit[None])[0])
    if not face.size or face.radius < 1e-6:
        return value, unit
    w = face.coordinates(unit)
    for _ in range(rounds):
        slopes = gradient(objective, face, w)
        if not slopes.any() or not np.isfinite(slopes).all():
            break
        slopes = slopes / np.abs(slopes).max()
        steps = _box_steps(w, slopes) if objective.is_box else _ball_steps(w, slopes, face.radius)
        values = objective.values(face.points(steps))
        k = int(np.argmax(values))
        if values[k] <= value:
            break
        enough = values[k] - value > gain * abs(value)
        value, w = float(values[k]), steps[k]
        if not enough:
            break
    return value, face.points(w[None])[0]


def gradient(objective: CountedObjective, face: Face, w: Floats) -> Floats:
    """Return the gradient along the free directions, by central differences inside the set."""
    q, step = w.size, DIFFERENCE * face.radius
    values = objective.values(face.neighbours((1.0 - 2.0 * DIFFERENCE) * w, step))
    slopes: Floats = (values[:q] - values[q:]) / (2.0 * step)
    return slopes


def _ball_steps(w: Floats, slopes: Floats, radius: float) -> Floats:
    """Return candidates: towards the farthest point along the gradient, and along the gradient, on and in the ball.

    The first is that farthest point itself, to which a convex function leads in a few rounds.
    """
    direction = slopes / norm(slopes)
    towards = w + _FRACTIONS[:, None] * (radius * direction - w)
    along = w + radius * _STEP_LENGTHS[:, None] * direction
    moves = np.concatenate([towards, along])
    lengths = norms(moves)
    within = moves[lengths < radius * (1.0 - 1e-9)]
    return np.concatenate([moves * (radius / np.maximum(lengths, 1e-300))[:, None], within])


def _box_steps(w: Floats, slopes: Floats) -> Floats:
    """Return candidates in the box: towards the corner in the direction of the gradient, and along the gradient.

    The largest absolute slope is 1.
    """
    corner = np.where(slopes == 0, w, np.sign(slopes))
    towards = w + _FRACTIONS[:, None] * (corner - w)
    along = np.clip(w + _STEP_LENGTHS[:, None] * slopes, -1.0, 1.0)
    return np.concatenate([towards, along])


def exchange(objective: CountedObjective, unit: Floats, positions: Floats, rounds: int) -> tuple[float, Floats]:
    """Replace single coordinates, rescaling the others to the remaining radius; combine the improvements.

    Args:
        objective: The objective.
        unit: The start point (m,).
        positions: Values to try in every coordinate (k,).
        rounds: Maximum number of rounds over all coordinates.
    """
    value = float(objective.values(unit[None])[0])
    for _ in range(rounds):
        tried = [objective.values(_replace_one(objective, unit, i, positions)) for i in range(objective.size)]
        best = np.array([int(np.argmax(values)) for values in tried])
        tops = np.array([values[k] for values, k in zip(tried, best, strict=True)])
        order = np.argsort(-tops, kind="stable")
        improving = order[tops[order] > value]
        if not improving.size:
            break
        sizes = sorted({min(2**k, improving.size) for k in range(8)})
        together = [
            _replace_several(objective, unit, improving[:size], positions[best[improving[:size]]]) for size in sizes
        ]
        value, unit = objective.worst_of(np.array(together))
    return value, unit


def _replace_one(objective: CountedObjective, unit: Floats, coordinate: int, positions: Floats) -> Floats:
    """Return copies of a point with one coordinate replaced and the others rescaled to stay in the set."""
    rest = unit.copy()
    rest[coordinate] = 0.0
    points = np.tile(rest, (positions.size, 1))
    if not objective.is_box:
        radius = np.sqrt(np.maximum(1.0 - positions * positions, 0.0))
        points *= (radius / max(norm(rest), 1e-300))[:, None]
    points[:, coordinate] = positions
    return points


def _replace_several(objective: CountedObjective, unit: Floats, coordinates: Integers, positions: Floats) -> Floats:
    """Return a point with as many coordinates replaced as the radius admits, and the others rescaled."""
    point = unit.copy()
    if objective.is_box:
        point[coordinates] = positions
        return point
    fits = np.cumsum(positions * positions) <= 1.0
    fixed = np.zeros(objective.size, np.bool_)
    fixed[coordinates[fits]] = True
    point[coordinates[fits]] = positions[fits]
    rest, radius = norm(point[~fixed]), max(1.0 - np.sum(positions[fits] * positions[fits]), 0.0)
    if rest > 0:
        point[~fixed] *= np.sqrt(radius) / rest
    return point
