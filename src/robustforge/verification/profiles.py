"""Profiles: the objective along each coordinate of the unit set, from its centre, with its cliffs located exactly.

Of an additive function they tell everything, and the worst case is a matter of dividing the set's radius among the
coordinates, which `knapsack` does. Of other functions they tell where to start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robustforge.verification import knapsack
from robustforge.verification.cliffs import locate, steep
from robustforge.verification.target import Target

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

POINTS, LEAST, MOST = 12_000, 32, 200
"""Points to each side: on all profiles together, and the limits for one profile."""

PER_COORDINATE = 4
"""Intervals per coordinate that are searched for a cliff, at most."""


@dataclass(frozen=True)
class Profiles:
    """The profiles of all coordinates.

    Attributes:
        steps: Displacements, one row per coordinate, padded with 0 (m, options).
        gains: What each raises the objective by.
        edge: Whether the displacement ends at the edge of a cliff.
    """

    steps: Floats
    gains: Floats
    edge: Bools


@dataclass(frozen=True)
class Division:
    """The displacements for which the gains add up to most.

    Attributes:
        unit: The point (m,).
        edge: Which coordinates are at the edge of a cliff (m,).
        gain: The sum of the gains, which an additive function has at the point.
    """

    unit: Floats
    edge: Bools
    gain: float


def measure(target: Target) -> Profiles:
    """Evaluate the profiles and locate their cliffs.

    The points are denser at small displacements: of a ball in many variables, each gets only a small share.
    """
    m = target.size
    side = int(np.clip(POINTS // m, LEAST, MOST))
    reach = np.arange(1, side + 1) / side
    if not target.is_box and m > 1:
        reach = reach * np.sqrt(reach)
    steps = np.concatenate([-reach[::-1], [0.0], reach])
    centre = float(target.values(np.zeros((1, m)))[0])
    values = _along(target, np.repeat(np.arange(m), steps.size), np.tile(steps, m)).reshape(m, -1)
    coordinate, left = steep(steps, values, PER_COORDINATE)
    low, high, _, _ = locate(
        target,
        np.zeros(m),
        np.eye(m)[coordinate],
        (steps[left], steps[left + 1]),
        (values[coordinate, left], values[coordinate, left + 1]),
    )
    profiles = Profiles(np.tile(steps, (m, 1)), values - centre, np.zeros(values.shape, np.bool_))
    return _with_cliffs(target, profiles, coordinate, low, high, centre)


def divide(target: Target, profiles: Profiles) -> Division:
    """Choose a displacement for every coordinate such that the sum of their gains is greatest."""
    rows = np.arange(len(profiles.steps))
    if target.is_box:
        chosen = np.argmax(profiles.gains, axis=1)
    else:
        chosen = knapsack.choose(list(np.square(profiles.steps)), list(profiles.gains))
    gain = float(profiles.gains[rows, chosen].sum())
    return Division(profiles.steps[rows, chosen], profiles.edge[rows, chosen], gain)


def towards_cliffs(profiles: Profiles, most: int) -> Floats:
    """Return the points of the unit set's surface on the axes with the highest cliffs for their cost (k, m)."""
    found = np.argwhere(profiles.edge & (profiles.gains > 0))
    steps, gains = profiles.steps[tuple(found.T)], profiles.gains[tuple(found.T)]
    order = np.argsort(steps * steps / gains, kind="stable")[:most]
    return np.sign(steps[order])[:, None] * np.eye(len(profiles.steps))[found[order, 0]]


def _along(target: Target, coordinate: Integers, steps: Floats) -> Floats:
    """Return the values of displacements of single coordinates."""
    values = np.empty(steps.size)
    batch = max(2**20 // target.size, 1)
    for first in range(0, steps.size, batch):
        part = slice(first, first + batch)
        units = np.zeros((steps[part].size, target.size))
        units[np.arange(len(units)), coordinate[part]] = steps[part]
        values[part] = target.values(units)
    return values


def _with_cliffs(
    target: Target, profiles: Profiles, coordinate: Integers, low: Floats, high: Floats, centre: float
) -> Profiles:
    """Add both edges of every cliff to the options of its coordinate."""
    real = np.isfinite(low)
    which = np.concatenate([coordinate[real], coordinate[real]])
    ends = np.concatenate([low[real], high[real]])
    if not which.size:
        return profiles
    order = np.argsort(which, kind="stable")
    which, ends = which[order], ends[order]
    column = np.arange(which.size) - np.searchsorted(which, which)
    shape = (target.size, int(column.max()) + 1)
    steps, gains, edge = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.bool_)
    steps[which, column], edge[which, column] = ends, True
    gains[which, column] = _along(target, which, ends) - centre
    return Profiles(
        np.hstack([profiles.steps, steps]), np.hstack([profiles.gains, gains]), np.hstack([profiles.edge, edge])
    )
