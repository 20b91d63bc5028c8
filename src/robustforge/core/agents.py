"""Kernels on points and agents that several components use: random positions, bounds, copies, personal bests."""

from __future__ import annotations

import numpy as np

from robustforge.core.compiler import compiled
from robustforge.core.random import uniform
from robustforge.core.state import Array, Floats, State


@compiled
def random_point(s: State, out: Floats) -> None:
    """Write a random point of the box to `out`."""
    lower, upper, rng = s.lower, s.upper, s.rng
    for i in range(out.size):
        out[i] = lower[i] + uniform(rng) * (upper[i] - lower[i])


@compiled
def random_position(s: State, j: int) -> None:
    """Put agent `j` at a random point of the box."""
    random_point(s, s.x[j])


@compiled
def draw_velocity(s: State, j: int) -> None:
    """Draw a velocity for agent `j`: U(0, 0.1) in units of Gamma, in each coordinate."""
    v, speed, rng = s.velocity[j], s.initial_speed, s.rng
    for i in range(v.size):
        v[i] = speed[i] * uniform(rng)


@compiled
def in_box(s: State, y: Floats) -> bool:
    """Whether a point is in the box."""
    lower, upper = s.lower, s.upper
    inside = True
    for i in range(y.size):
        inside = inside and lower[i] <= y[i] <= upper[i]
    return inside


@compiled
def is_inside(s: State, j: int) -> bool:
    """Whether agent `j` is where it may be evaluated: in the box, or in its margin."""
    x, lower, upper, margin = s.x[j], s.lower, s.upper, s.margin
    inside = True
    for i in range(x.size):
        inside = inside and lower[i] - margin[i] <= x[i] <= upper[i] + margin[i]
    return inside


@compiled
def is_finite(y: Floats) -> bool:
    """Whether all coordinates are numbers."""
    total = 0.0
    for i in range(y.size):
        total += y[i] - y[i]  # 0, but NaN where the coordinate is infinite or NaN
    return total == 0.0


@compiled
def copy(source: Floats, target: Floats) -> None:
    """Copy a row. (A slice assignment would also compile the error message for rows of unequal length.)"""
    for i in range(target.size):
        target[i] = source[i]


@compiled
def fill(row: Array, value: float) -> None:
    """Set all of a row to a value. (A slice assignment would also compile the error message for unequal shapes.)"""
    for i in range(row.size):
        row[i] = value


@compiled
def update_bests(s: State, j: int, value: float) -> None:
    """Make the position of agent `j`, with its robust value, its personal best and the incumbent if it is better."""
    t = s.counters[0]
    if not s.has_best[j] or value < s.best_f[j]:
        s.has_best[j] = True
        s.best_f[j] = value
        s.stop_above[j] = value
        copy(s.x[j], s.best_x[j])
    if t.has_incumbent == 0 or value < s.incumbent_f[0]:
        t.has_incumbent = 1
        s.incumbent_f[0] = value
        copy(s.x[j], s.incumbent_x)


@compiled
def forget_best(s: State, j: int) -> None:
    """Remove the personal best of agent `j`."""
    s.has_best[j] = False
    s.best_f[j] = np.inf
    s.stop_above[j] = np.inf
