"""The neighbourhood of a design: all that the design can turn into, as the unit set of its uncertain variables.

A `Neighbourhood` draws points of the set and evaluates points, with compiled objectives on all cores. Its answers do
not depend on the number of threads: each block of points has its own stream of random numbers and its own result.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock, local
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from numba import boolean, float64, int64, types, uint64

from robustforge.core.compiler import compiled
from robustforge.core.random import Stream, in_unit_ball, in_unit_box, normal, shuffle
from robustforge.core.state import copy
from robustforge.engine.optimizer import OnFailure, failure_error
from robustforge.problem import Problem

Floats = npt.NDArray[np.float64]
T = TypeVar("T")

_PREPARING = Lock()

BLOCK_NUMBERS = 2**17
"""Coordinates of a block of points, which one thread draws and evaluates at a time."""

ROUNDS = 32
"""How often the directions of a block are used, each time mixed anew."""

_LEAST_ROUND = 64
"""Points of a round, at least; fewer are drawn one by one."""


class Neighbourhood:
    """The uncertainty set around a design, with the objective.

    Args:
        problem: What is evaluated.
        x: The design (n,).
        cores: How many threads evaluate a compiled objective; as many as there are cores, if nobody says.

    Attributes:
        size: The number m of uncertain variables; points of the unit set have so many coordinates.
        is_box: Whether the unit set is the box [-1, 1]^m instead of the unit ball.
        block: Points per block.
    """

    def __init__(self, problem: Problem, x: Floats, cores: int | None = None) -> None:
        geometry = problem.geometry
        self._cores, self._own = cores or os.cpu_count() or 1, local()
        self.problem, self.design = problem, x
        self.centre, self.radii, self.active = x + geometry.offset, geometry.radii, geometry.active
        self.size, self.is_box = int(self.active.size), geometry.is_box
        reach = 1.000001 * self.radii
        leaves = (self.centre - reach < problem.lower) | (self.centre + reach > problem.upper)
        self.clip = problem.outside == "clip" and bool(leaves.any())
        self.block = max(BLOCK_NUMBERS // problem.dimension, 1)
        prepare()

    def place(self, units: Floats) -> Floats:
        """Return points of the unit set (k, m) as points that can be evaluated (k, n)."""
        points = np.tile(self.centre, (len(units), 1))
        points[:, self.active] += self.radii[self.active] * units
        return np.clip(points, self.problem.lower, self.problem.upper) if self.clip else points

    def units(self, points: Floats) -> Floats:
        """Return where points (k, n) lie in the unit set (k, m)."""
        differences: Floats = (points - self.centre)[:, self.active]
        return differences / self.radii[self.active]

    def draw(self, count: int, stream: Stream, rounds: int = ROUNDS) -> Floats:
        """Return points drawn uniformly from the set (count, n).

        Each point is uniform. In a ball, the points of one round are independent of each other; those of the next
        round are made from them, which costs less than to draw them.

        Args:
            count: How many.
            stream: Decides them.
            rounds: How often directions are used; 1 draws each afresh.
        """
        points, normals = np.empty((count, self.problem.dimension)), np.empty((count, self.size + 2))
        self._fill(points, normals, stream, rounds)
        return points

    def _fill(self, points: Floats, normals: Floats, stream: Stream, rounds: int) -> None:
        p, rounds = self.problem, 1 if self.is_box else max(min(rounds, len(points) // _LEAST_ROUND), 1)
        place = self.active, self.centre, self.radii, self.clip, p.lower, p.upper
        if rounds == 1:
            _draw(stream, self.is_box, *place, points)
        else:
            _draw_in_rounds(stream, rounds, *place, normals, points)

    def _room(self, count: int) -> tuple[Floats, Floats]:
        """Return arrays for so many points and their normals, this thread's own: new ones would cost page faults."""
        known = getattr(self._own, "room", None)
        if known is None or len(known[0]) < count:
            known = np.empty((count, self.problem.dimension)), np.empty((count, self.size + 2))
            self._own.room = known
        return known[0][:count], known[1][:count]

    def evaluate(self, points: Floats) -> Floats:
        """Return the values of points (k, n), large batches on all cores.

        Raises:
            ObjectiveError: The objective returned NaN or -inf, or no number at all.
        """
        blocks = [points[first : first + self.block] for first in range(0, len(points), self.block)]
        return np.concatenate(list(self.on_all_cores(self._values, blocks)))

    def worst_drawn(self, count: int, stream: Stream, keep: int, rounds: int = ROUNDS) -> tuple[Floats, Floats]:
        """Draw so many points and return the worst few, the worst first: their values (k,), and they (k, n)."""
        points, normals = self._room(count)
        self._fill(points, normals, stream, rounds)
        values = self._values(points)
        worst = _highest(values, keep)
        return values[worst], points[worst]

    def worst_at(self, offsets: Floats, on_failure: OnFailure) -> float:
        """Return the worst value at offsets of the unit set (k, n), as `draw_offsets` makes them, in this thread.

        Args:
            offsets: Where to look, in units of the set; the same for every design that is compared.
            on_failure: What a failed evaluation means, as in `minimize`.

        Raises:
            ObjectiveError: An evaluation failed and the policy is "raise", or all of them failed.
        """
        values = self._values_at(offsets, on_failure)
        failed = np.isnan(values) | (values == -np.inf)
        if failed.any():
            if on_failure == "infeasible":
                return np.inf
            if on_failure == "raise" or failed.all():
                raise failure_error(self._placed(offsets[int(np.argmax(failed))]), "NaN or -inf")
        return float(values[~failed].max())

    def _values_at(self, offsets: Floats, on_failure: OnFailure) -> Floats:
        p = self.problem
        if p.compiled is not None:
            fun, data = p.compiled
            values = np.empty(len(offsets))
            try:
                _evaluate(offsets, self.centre, self.radii, self.clip, p.lower, p.upper, fun, data, values)
                return values
            except Exception:  # raised by the objective at some point: then point by point
                if on_failure == "raise":
                    raise
        return np.array([_value(p, self._placed(offset), on_failure) for offset in offsets])

    def _placed(self, offset: Floats) -> Floats:
        point: Floats = self.centre + self.radii * offset
        return np.clip(point, self.problem.lower, self.problem.upper) if self.clip else point

    def on_all_cores(self, work: Callable[[Any], T], pieces: Iterable[Any]) -> Iterator[T]:
        """Do the work for every piece, and return the results in the order of the pieces.

        A Python objective is called from this thread only: it need not be safe to be called from several.
        """
        listed = list(pieces)
        if self.problem.compiled is None or len(listed) == 1 or self._cores == 1:
            yield from map(work, listed)
            return
        pool = ThreadPoolExecutor(self._cores)
        try:
            yield from pool.map(work, listed)
        finally:
            pool.shutdown(cancel_futures=True)

    def _values(self, points: Floats) -> Floats:
        values = np.empty(len(points))
        if self.problem.compiled is not None:
            fun, data = self.problem.compiled
            nothing, unit = np.zeros(points.shape[1]), np.ones(points.shape[1])
            _evaluate(np.ascontiguousarray(points), nothing, unit, False, nothing, nothing, fun, data, values)
        else:
            for k, point in enumerate(points):
                values[k] = _number(self.problem(point), point)
        failed = np.flatnonzero(np.isnan(values) | (values == -np.inf))
        if failed.size:
            raise failure_error(points[failed[0]].copy(), "NaN or -inf")
        return values


def _highest(values: Floats, count: int) -> npt.NDArray[np.intp]:
    """Return where the highest values are, the highest first; of equal ones the first."""
    if count >= values.size:
        return np.argsort(-values, kind="stable")
    least = np.partition(values, values.size - count)[values.size - count]
    places = np.flatnonzero(values >= least)  # a few more, if some are equal to the last
    return places[np.argsort(-values[places], kind="stable")[:count]]


def draw_offsets(problem: Problem, count: int, stream: Stream) -> Floats:
    """Return offsets drawn uniformly from the unit set of a problem (count, n), for `Neighbourhood.worst_at`."""
    prepare()
    offsets, nothing, unit = (
        np.empty((count, problem.dimension)),
        np.zeros(problem.dimension),
        np.ones(problem.dimension),
    )
    geometry = problem.geometry
    _draw(stream, geometry.is_box, geometry.active, nothing, unit, False, nothing, nothing, offsets)
    return offsets


def _value(problem: Problem, point: Floats, on_failure: OnFailure) -> float:
    """Return the value of a Python objective; NaN for what is none, unless that is to be raised."""
    try:
        return _number(problem(point), point)
    except Exception as error:
        if on_failure == "raise" or isinstance(error, MemoryError):
            raise
        return np.nan


def _number(value: Any, point: Floats) -> float:
    """Return what is a real number, or an array of one, as a float."""
    array = np.asarray(value) if not isinstance(value, (str, bytes)) else np.asarray(None)
    if array.size == 1 and array.dtype.kind in "fiub":
        return float(array.reshape(()))
    raise failure_error(point.copy(), f"{value!r}, which is no real number")


@compiled
def _draw(
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
    """Fill the rows of `points` with points uniform in the set, clipped to the bounds if that is the policy."""
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
def _draw_in_rounds(
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
    """Fill the rows of `points` with points uniform in the ball, like `_draw`, most of them without new normals.

    The rows of the first round are normal. Those of each further round are the rows of the round before in random
    order, four by four under an orthogonal matrix of +-1/2: so they are normal and independent of each other, too, and
    lie at 60 degrees to the rows that they come from. (Wallace makes normal numbers in this way.) Each row has two
    numbers more than there are coordinates, since the first m of m + 2 coordinates of a point on a sphere are uniform
    in the ball. `normals` is room for these rows.
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
    """Write four rows turned by an orthogonal matrix, all of whose entries are +-1/2, to four others."""
    for i in range(a.size):
        plus, minus, more, less = a[i] + b[i], a[i] - b[i], c[i] + d[i], c[i] - d[i]
        e[i] = 0.5 * (plus + more)
        f[i] = 0.5 * (plus - more)
        g[i] = 0.5 * (minus + less)
        h[i] = 0.5 * (minus - less)


@compiled
def _norm(row: Floats) -> float:
    """Return the length of a vector; four sums, so that one addition need not wait for the other."""
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


@compiled
def _evaluate(
    offsets: Floats,
    centre: Floats,
    radii: Floats,
    clip: bool,
    lower: Floats,
    upper: Floats,
    objective: Any,
    data: Floats,
    values: Floats,
) -> None:
    """Write the value at the centre plus each row times the radii; the objective gets a copy, which it may change."""
    x = np.empty(centre.size)
    for k in range(offsets.shape[0]):
        offset = offsets[k]
        for i in range(x.size):
            x[i] = centre[i] + radii[i] * offset[i]
        if clip:
            for i in range(x.size):
                x[i] = min(max(x[i], lower[i]), upper[i])
        values[k] = objective(x, data)


def prepare() -> None:
    """Compile the loops, or read them from the cache, once per process; a new objective compiles nothing."""
    with _PREPARING:  # `cache` alone lets two threads in
        _prepare()


@cache
def _prepare() -> None:
    vector, matrix = float64[::1], float64[:, ::1]
    draw: Any = _draw
    draw.compile((uint64[::1], boolean, int64[::1], vector, vector, boolean, vector, vector, matrix))
    in_rounds: Any = _draw_in_rounds
    in_rounds.compile((uint64[::1], int64, int64[::1], vector, vector, boolean, vector, vector, matrix, matrix))
    evaluate: Any = _evaluate
    objective = types.FunctionType(float64(vector, vector))
    evaluate.compile((matrix, vector, vector, boolean, vector, vector, objective, vector, vector))
    draw.disable_compile()
    in_rounds.disable_compile()
    evaluate.disable_compile()
