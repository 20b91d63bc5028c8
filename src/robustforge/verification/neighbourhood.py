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
from numba import boolean, float64, types

from robustforge.core.compiler import compiled
from robustforge.core.random import Stream
from robustforge.engine.objective import Objective
from robustforge.engine.optimizer import OnFailure, failure_error
from robustforge.problem import Problem
from robustforge.verification import drawing
from robustforge.verification.drawing import LEAST_ROUND, ROUNDS, draw, draw_in_rounds

Floats = npt.NDArray[np.float64]
T = TypeVar("T")

_PREPARING = Lock()

BLOCK_NUMBERS = 2**17
"""Coordinates of a block of points, which one thread draws and evaluates at a time."""


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

    def holds(self, points: Floats) -> npt.NDArray[np.bool_]:
        """Say of each point (k, n) whether it is in the set, as a search says of its own: rounding counts as inside."""
        problem, space = self.problem, self.problem.space
        largest = np.maximum(np.abs(problem.lower), np.abs(problem.upper)) / space.scale
        rounding = float(largest.max() + 2.0) * 2.0**-50 * math.sqrt(self.size)  # of a squared distance
        return problem.geometry.holds((points - self.centre) / space.scale, 2.0 * (1e-9 + rounding))

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
        p, rounds = self.problem, 1 if self.is_box else max(min(rounds, len(points) // LEAST_ROUND), 1)
        place = self.active, self.centre, self.radii, self.clip, p.lower, p.upper
        if rounds == 1:
            draw(stream, self.is_box, *place, points)
        else:
            draw_in_rounds(stream, rounds, *place, normals, points)

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
        return self._called(self._placed(offsets), strict=on_failure == "raise")

    def _placed(self, offsets: Floats) -> Floats:
        points: Floats = self.centre + self.radii * offsets
        return np.clip(points, self.problem.lower, self.problem.upper) if self.clip else points

    def _called(self, points: Floats, strict: bool = True) -> Floats:
        """Return the values of points (k, n) by calls from Python: one for all if the objective is vectorised."""
        values: list[float] = []
        Objective(self.problem, (), self.problem.vectorized, strict).values(points, values)
        return np.array(values)

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
            values = self._called(points)
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
    drawing.prepare()
    with _PREPARING:  # `cache` alone lets two threads in
        _prepare()


@cache
def _prepare() -> None:
    vector, matrix = float64[::1], float64[:, ::1]
    evaluate: Any = _evaluate
    objective = types.FunctionType(float64(vector, vector))
    evaluate.compile((matrix, vector, vector, boolean, vector, vector, objective, vector, vector))
    evaluate.disable_compile()
