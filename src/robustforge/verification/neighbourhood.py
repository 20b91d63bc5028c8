"""The neighbourhood of a design: the uncertainty set around it, as the unit set of its uncertain variables.

A `Neighbourhood` samples points of the set and evaluates points, with compiled objectives on all cores. Its results do
not depend on the number of threads: each block of points has its own random stream and its own result.
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
from robustforge.engine.batch_evaluation import Objective
from robustforge.engine.optimizer import OnFailure, failure_error
from robustforge.robust_problem import Problem
from robustforge.verification import sampling
from robustforge.verification.sampling import MIN_ROUND_SIZE, ROUNDS, fill_by_rounds, fill_uniform

Floats = npt.NDArray[np.float64]
T = TypeVar("T")

_PREPARING = Lock()

BLOCK_COORDINATES = 2**17
"""Coordinates of a block of points, which one thread samples and evaluates at a time."""


class Neighbourhood:
    """The uncertainty set around a design, with the objective.

    Args:
        problem: The problem.
        x: The design (n,).
        cores: Threads for a compiled objective; by default one per core.

    Attributes:
        size: The number m of uncertain variables, the dimension of the unit set.
        uncertain: Indices of the uncertain variables (m,).
        is_box: Whether the unit set is the box [-1, 1]^m instead of the unit ball.
        block: Points per block.
    """

    def __init__(self, problem: Problem, x: Floats, cores: int | None = None) -> None:
        geometry = problem.geometry
        self._cores, self._thread = cores or os.cpu_count() or 1, local()
        self.problem, self.design = problem, x
        self.centre, self.radii, self.uncertain = x + geometry.offset, geometry.radii, geometry.active
        self.size, self.is_box = int(self.uncertain.size), geometry.is_box
        margin = 1.000001 * self.radii
        leaves = (self.centre - margin < problem.lower) | (self.centre + margin > problem.upper)
        self.clip = problem.out_of_bounds == "clip" and bool(leaves.any())
        self.block = max(BLOCK_COORDINATES // problem.dimension, 1)
        prepare()

    def to_points(self, units: Floats) -> Floats:
        """Return points of the unit set (k, m) as points of the problem (k, n)."""
        points = np.tile(self.centre, (len(units), 1))
        points[:, self.uncertain] += self.radii[self.uncertain] * units
        return np.clip(points, self.problem.lower, self.problem.upper) if self.clip else points

    def to_unit(self, points: Floats) -> Floats:
        """Return points of the problem (k, n) as points of the unit set (k, m)."""
        differences: Floats = (points - self.centre)[:, self.uncertain]
        return differences / self.radii[self.uncertain]

    def contains(self, points: Floats) -> npt.NDArray[np.bool_]:
        """Whether each point (k, n) is in the set, up to rounding, as in a search."""
        problem, space = self.problem, self.problem.space
        largest = np.maximum(np.abs(problem.lower), np.abs(problem.upper)) / space.scale
        rounding = float(largest.max() + 2.0) * 2.0**-50 * math.sqrt(self.size)  # of a squared distance
        return problem.geometry.holds((points - self.centre) / space.scale, 2.0 * (1e-9 + rounding))

    def sample(self, count: int, stream: Stream, rounds: int = ROUNDS) -> Floats:
        """Return points sampled uniformly from the set (count, n).

        Each point is uniform. In a ball, the points of one round are independent; those of the next round are computed
        from them, which is faster than new normal numbers.

        Args:
            count: Number of points.
            stream: The random stream.
            rounds: Number of rounds; 1 uses new normal numbers for each point.
        """
        points, normals = np.empty((count, self.problem.dimension)), np.empty((count, self.size + 2))
        self._fill(points, normals, stream, rounds)
        return points

    def _fill(self, points: Floats, normals: Floats, stream: Stream, rounds: int) -> None:
        p, rounds = self.problem, 1 if self.is_box else max(min(rounds, len(points) // MIN_ROUND_SIZE), 1)
        geometry = self.uncertain, self.centre, self.radii, self.clip, p.lower, p.upper
        if rounds == 1:
            fill_uniform(stream, self.is_box, *geometry, points)
        else:
            fill_by_rounds(stream, rounds, *geometry, normals, points)

    def _buffers(self, count: int) -> tuple[Floats, Floats]:
        """Return this thread's buffers for points and their normals; new arrays would cause page faults."""
        buffers = getattr(self._thread, "buffers", None)
        if buffers is None or len(buffers[0]) < count:
            buffers = np.empty((count, self.problem.dimension)), np.empty((count, self.size + 2))
            self._thread.buffers = buffers
        return buffers[0][:count], buffers[1][:count]

    def evaluate(self, points: Floats) -> Floats:
        """Return the values of points (k, n), large batches on all cores.

        Raises:
            ObjectiveError: The objective returned NaN or -inf, or did not return a number.
        """
        blocks = [points[first : first + self.block] for first in range(0, len(points), self.block)]
        return np.concatenate(list(self.map_blocks(self._values, blocks)))

    def worst_of_sample(self, count: int, stream: Stream, keep: int, rounds: int = ROUNDS) -> tuple[Floats, Floats]:
        """Sample points, and return the values (k,) and points (k, n) of the worst few, worst first."""
        points, normals = self._buffers(count)
        self._fill(points, normals, stream, rounds)
        values = self._values(points)
        worst = _highest(values, keep)
        return values[worst], points[worst]

    def worst_at(self, offsets: Floats, on_failure: OnFailure) -> float:
        """Return the worst value at offsets in the unit set (k, n), from `sample_offsets`; in this thread.

        Args:
            offsets: Offsets in the unit set, the same for all designs that are compared.
            on_failure: Policy for failed evaluations, as in `minimize`.

        Raises:
            ObjectiveError: An evaluation failed and the policy is "raise", or all of them failed.
        """
        values = self._values_at(offsets, on_failure)
        failed = np.isnan(values) | (values == -np.inf)
        if failed.any():
            if on_failure == "infeasible":
                return np.inf
            if on_failure == "raise" or failed.all():
                raise failure_error(self._offset_points(offsets[int(np.argmax(failed))]), "NaN or -inf")
        return float(values[~failed].max())

    def _values_at(self, offsets: Floats, on_failure: OnFailure) -> Floats:
        p = self.problem
        if p.compiled is not None:
            fun, data = p.compiled
            values = np.empty(len(offsets))
            try:
                _evaluate(offsets, self.centre, self.radii, self.clip, p.lower, p.upper, fun, data, values)
                return values
            except Exception:  # raised by the objective: evaluate point by point instead
                if on_failure == "raise":
                    raise
        return self._call_objective(self._offset_points(offsets), strict=on_failure == "raise")

    def _offset_points(self, offsets: Floats) -> Floats:
        points: Floats = self.centre + self.radii * offsets
        return np.clip(points, self.problem.lower, self.problem.upper) if self.clip else points

    def _call_objective(self, points: Floats, strict: bool = True) -> Floats:
        """Return the values of points (k, n) by Python calls: a single one if the objective is vectorised."""
        values: list[float] = []
        Objective(self.problem, (), self.problem.vectorized, strict).values(points, values)
        return np.array(values)

    def map_blocks(self, work: Callable[[Any], T], blocks: Iterable[Any]) -> Iterator[T]:
        """Apply a function to every block, on all cores, and yield the results in the order of the blocks.

        A Python objective is called from this thread only, since it need not be thread-safe.
        """
        listed = list(blocks)
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
            values = self._call_objective(points)
        failed = np.flatnonzero(np.isnan(values) | (values == -np.inf))
        if failed.size:
            raise failure_error(points[failed[0]].copy(), "NaN or -inf")
        return values


def _highest(values: Floats, count: int) -> npt.NDArray[np.intp]:
    """Return the indices of the highest values, highest first; of equal ones the first."""
    if count >= values.size:
        return np.argsort(-values, kind="stable")
    threshold = np.partition(values, values.size - count)[values.size - count]
    indices = np.flatnonzero(values >= threshold)  # more than `count`, if some are equal to the last
    return indices[np.argsort(-values[indices], kind="stable")[:count]]


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
    """Evaluate centre + radii * offset for each row; the objective gets a copy, which it may modify."""
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
    """Compile the kernels, or load them from the cache, once per process; a new objective compiles nothing."""
    sampling.prepare()
    with _PREPARING:  # `cache` alone is not thread-safe
        _prepare()


@cache
def _prepare() -> None:
    vector, matrix = float64[::1], float64[:, ::1]
    evaluate: Any = _evaluate
    objective = types.FunctionType(float64(vector, vector))
    evaluate.compile((matrix, vector, vector, boolean, vector, vector, objective, vector, vector))
    evaluate.disable_compile()
