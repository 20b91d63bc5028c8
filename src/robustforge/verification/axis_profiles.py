"""Profiles: the objective along each coordinate of the unit set, through its centre, with its cliffs located exactly.

The profiles determine an additive function, whose worst case is found by dividing the radius among the coordinates (see
`knapsack`). For other functions they give start points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robustforge.verification import knapsack
from robustforge.verification.counted_objective import CountedObjective
from robustforge.verification.discontinuities import bisect_jumps, steep_intervals

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

TOTAL_POINTS, MIN_POINTS, MAX_POINTS = 12_000, 32, 200
"""Points to each side: of all profiles together, and the limits for one profile."""

MAX_INTERVALS = 4
"""Maximum number of intervals per coordinate that are searched for a cliff."""


@dataclass(frozen=True)
class Profiles:
    """The profiles of all coordinates.

    Attributes:
        steps: Displacements, one row per coordinate, padded with 0 (m, options).
        gains: The increase of the objective for each displacement.
        edge: Whether a displacement ends at the edge of a cliff.
    """

    steps: Floats
    gains: Floats
    edge: Bools


@dataclass(frozen=True)
class Combination:
    """The displacements with the largest sum of gains.

    Attributes:
        unit: The point (m,).
        edge: Which coordinates are at the edge of a cliff (m,).
        gain: The sum of the gains, which is the increase of an additive function.
    """

    unit: Floats
    edge: Bools
    gain: float


def measure(objective: CountedObjective) -> Profiles:
    """Evaluate the profiles and locate their cliffs.

    The points are denser at small displacements, since each coordinate gets a small part of the radius of a ball.
    """
    m = objective.size
    side = int(np.clip(TOTAL_POINTS // m, MIN_POINTS, MAX_POINTS))
    distances = np.arange(1, side + 1) / side
    if not objective.is_box and m > 1:
        distances = distances * np.sqrt(distances)
    steps = np.concatenate([-distances[::-1], [0.0], distances])
    centre = float(objective.values(np.zeros((1, m)))[0])
    values = _axis_values(objective, np.repeat(np.arange(m), steps.size), np.tile(steps, m)).reshape(m, -1)
    coordinate, left = steep_intervals(steps, values, MAX_INTERVALS)
    low, high, _, _ = bisect_jumps(
        objective,
        np.zeros(m),
        np.eye(m)[coordinate],
        (steps[left], steps[left + 1]),
        (values[coordinate, left], values[coordinate, left + 1]),
    )
    profiles = Profiles(np.tile(steps, (m, 1)), values - centre, np.zeros(values.shape, np.bool_))
    return _with_cliffs(objective, profiles, coordinate, low, high, centre)


def combine(objective: CountedObjective, profiles: Profiles) -> Combination:
    """Choose one displacement per coordinate, with the largest sum of gains."""
    rows = np.arange(len(profiles.steps))
    if objective.is_box:
        chosen = np.argmax(profiles.gains, axis=1)
    else:
        chosen = knapsack.choose(list(np.square(profiles.steps)), list(profiles.gains))
    gain = float(profiles.gains[rows, chosen].sum())
    return Combination(profiles.steps[rows, chosen], profiles.edge[rows, chosen], gain)


def axis_cliffs(profiles: Profiles, most: int) -> Floats:
    """Return the end points of the axes with the highest cliffs for their squared distance (k, m)."""
    found = np.argwhere(profiles.edge & (profiles.gains > 0))
    steps, gains = profiles.steps[tuple(found.T)], profiles.gains[tuple(found.T)]
    order = np.argsort(steps * steps / gains, kind="stable")[:most]
    return np.sign(steps[order])[:, None] * np.eye(len(profiles.steps))[found[order, 0]]


def _axis_values(objective: CountedObjective, coordinate: Integers, steps: Floats) -> Floats:
    """Return the values of displacements of single coordinates."""
    values = np.empty(steps.size)
    batch = max(2**20 // objective.size, 1)
    for first in range(0, steps.size, batch):
        part = slice(first, first + batch)
        units = np.zeros((steps[part].size, objective.size))
        units[np.arange(len(units)), coordinate[part]] = steps[part]
        values[part] = objective.values(units)
    return values


def _with_cliffs(
    objective: CountedObjective, profiles: Profiles, coordinate: Integers, low: Floats, high: Floats, centre: float
) -> Profiles:
    """Add both edges of every cliff to the options of its coordinate."""
    valid = np.isfinite(low)
    which = np.concatenate([coordinate[valid], coordinate[valid]])
    ends = np.concatenate([low[valid], high[valid]])
    if not which.size:
        return profiles
    order = np.argsort(which, kind="stable")
    which, ends = which[order], ends[order]
    column = np.arange(which.size) - np.searchsorted(which, which)
    shape = (objective.size, int(column.max()) + 1)
    steps, gains, edge = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.bool_)
    steps[which, column], edge[which, column] = ends, True
    gains[which, column] = _axis_values(objective, which, ends) - centre
    return Profiles(
        np.hstack([profiles.steps, steps]), np.hstack([profiles.gains, gains]), np.hstack([profiles.edge, edge])
    )
