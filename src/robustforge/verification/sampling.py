"""Uniform samples of an uncertainty set, by compiled kernels; a seed determines them.

A box is sampled coordinate by coordinate. In a ball, where a point takes as many normal numbers as it has coordinates,
most points of a large sample are computed from others instead: see `fill_by_rounds`.
"""

from __future__ import annotations

import math
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import boolean, float64, int64, uint64

from robustforge.core.agents import copy
from robustforge.core.compiler import compiled
from robustforge.core.linear_algebra import norms
from robustforge.core.random import Stream, in_unit_ball, in_unit_box, normal, shuffle
from robustforge.robust_problem import Problem

Floats = npt.NDArray[np.float64]

_PREPARING = Lock()

ROUNDS = 32
"""Rounds of a block: the directions of the first are mixed again in each further round."""

MIN_ROUND_SIZE = 64
"""Minimum number of points of a round; smaller samples are independent."""


def sample_offsets(problem: Problem, count: int, stream: Stream) -> Floats:
    """Return offsets sampled uniformly from the unit set of a problem (count, n), for `Neighbourhood.worst_at`."""
    prepare()
    offsets, nothing, unit = (
        np.empty((count, problem.dimension)),
        np.zeros(problem.dimension),
        np.ones(problem.dimension),
    )
    geometry = problem.geometry
    fill_uniform(stream, geometry.is_box, geometry.active, nothing, unit, False, nothing, nothing, offsets)
    return offsets


def sample_sphere(count: int, size: int, stream: Stream) -> Floats:
    """Return points sampled uniformly from the unit sphere (count, size)."""
    prepare()
    points, nothing, unit = np.empty((count, size)), np.zeros(size), np.ones(size)
    fill_uniform(stream, False, np.arange(size), nothing, unit, False, nothing, nothing, points)
    return points / norms(points)[:, None]


@compiled
def fill_uniform(
    r: Stream,
    is_box: bool,
    active: npt.NDArray[np.int64],
    centre: Floats,
    radii: Floats,
    clip: bool,
    lower: Floats,
    upper: Floats,
    points: Floats,
) -> None:
    """Fill the rows of `points` with uniform points of the set, clipped to the bounds if that is the policy."""
    for k in range(points.shape[0]):
        row = points[k]
        if is_box:
            in_unit_box(r, active, row)
        else:
            in_unit_ball(r, active, row)
        for i in range(row.size):
            row[i] = centre[i] + radii[i] * row[i]
        if clip:
            for i in range(row.size):
                row[i] = min(max(row[i], lower[i]), upper[i])


@compiled
def fill_by_rounds(
    r: Stream,
    rounds: int,
    active: npt.NDArray[np.int64],
    centre: Floats,
    radii: Floats,
    clip: bool,
    lower: Floats,
    upper: Floats,
    normals: Floats,
    points: Floats,
) -> None:
    """Fill the rows of `points` with uniform points of the ball, like `fill_uniform`, mostly without new normals.

    The rows of the first round are normal. Those of each further round are the rows of the previous round in random
    order, transformed four by four by an orthogonal matrix of +-1/2 (Wallace's method): so they are normal and
    independent of each other, too, at 60 degrees to the rows that they are computed from. Each row has two numbers more
    than coordinates, since the first m of m + 2 coordinates of a point on a sphere are uniform in the ball. `normals`
    is a buffer for these rows.
    """
    rows, width = points.shape[0], active.size + 2
    size = rows // rounds // 4 * 4
    order = np.arange(size)
    for k in range(rows):
        if k < size or k >= rounds * size:
            for i in range(width):
                normals[k, i] = normal(r)
    for number in range(1, rounds):
        shuffle(r, order)
        before = normals[(number - 1) * size : number * size]
        for first in range(0, size, 4):
            a, b, c, d = (
                before[order[first]],
                before[order[first + 1]],
                before[order[first + 2]],
                before[order[first + 3]],
            )
            e = number * size + first
            _mix(a, b, c, d, normals[e], normals[e + 1], normals[e + 2], normals[e + 3])
    whole = active.size == points.shape[1]
    for k in range(rows):
        point, row = points[k], normals[k]
        factor = 1.0 / _norm(row)
        if whole:
            for i in range(point.size):
                point[i] = centre[i] + radii[i] * factor * row[i]
        else:
            copy(centre, point)
            for i in range(active.size):
                point[active[i]] += radii[active[i]] * factor * row[i]
        if clip:
            for i in range(point.size):
                point[i] = min(max(point[i], lower[i]), upper[i])


@compiled
def _mix(a: Floats, b: Floats, c: Floats, d: Floats, e: Floats, f: Floats, g: Floats, h: Floats) -> None:
    """Write four rows, transformed by an orthogonal matrix with entries +-1/2, to four others."""
    for i in range(a.size):
        plus, minus, more, less = a[i] + b[i], a[i] - b[i], c[i] + d[i], c[i] - d[i]
        e[i] = 0.5 * (plus + more)
        f[i] = 0.5 * (plus - more)
        g[i] = 0.5 * (minus + less)
        h[i] = 0.5 * (minus - less)


@compiled
def _norm(row: Floats) -> float:
    """Return the norm of a vector; with four independent sums, which pipeline better."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = row.size // 4 * 4
    for i in range(0, whole, 4):
        a += row[i] * row[i]
        b += row[i + 1] * row[i + 1]
        c += row[i + 2] * row[i + 2]
        d += row[i + 3] * row[i + 3]
    for i in range(whole, row.size):
        a += row[i] * row[i]
    return math.sqrt((a + b) + (c + d))


def prepare() -> None:
    """Compile the kernels, or load them from the cache, once per process."""
    with _PREPARING:  # `cache` alone is not thread-safe
        _prepare()


@cache
def _prepare() -> None:
    vector, matrix = float64[::1], float64[:, ::1]
    uniform: Any = fill_uniform
    uniform.compile((uint64[::1], boolean, int64[::1], vector, vector, boolean, vector, vector, matrix))
    by_rounds: Any = fill_by_rounds
    by_rounds.compile((uint64[::1], int64, int64[::1], vector, vector, boolean, vector, vector, matrix, matrix))
    uniform.disable_compile()
    by_rounds.disable_compile()
