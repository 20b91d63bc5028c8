"""Inner searches by stratified and quasi-random samples: Latin hypercubes and Sobol points in the uncertainty set.

Points are made in the unit cube. For a box they are scaled; for a ball, the normal quantiles of the coordinates give a
direction and one more coordinate the radius, so that a point uniform in the cube is uniform in the ball.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.components.inner_search import InnerForm, InnerState, put, report_nothing
from robustforge.core.compiler import compiled
from robustforge.core.normal_distribution import normal_quantile
from robustforge.core.portable_math import power
from robustforge.core.random import next_bits, shuffle, uniform
from robustforge.core.state import Array, Floats, Integers, Plan, Shape, Words

_DIRECTIONS = Path(__file__).with_name("sobol_directions.npy")
_BITS = 16
"""Directions of each coordinate: beyond 2^16 points, they are repeated with other shifts."""


class InnerSamplingState(InnerState):
    """Stratified and quasi-random inner samples of all agents."""

    cube: Annotated[Floats, Shape("cube"), "a point of the unit cube: the coordinates of the set, then the radius"]
    strata: Annotated[Integers, Shape("stratified_agents", "cube", "strata"), "strata of the points, in random order"]
    sobol_directions: Annotated[Integers, Shape("sobol_coordinates", "sobol_bits"), "direction numbers of 16 bits"]
    sobol_shift: Annotated[Words, Shape("sobol_agents", "cube"), "random shifts of 32 bits"]


@compiled
def _put_cube_point(s: InnerSamplingState, j: int) -> None:
    """Put the point of agent `j` that belongs to `s.cube` into the batch."""
    offset, cube, uncertain = s.inner_offset, s.cube, s.uncertain
    for i in range(offset.size):
        offset[i] = 0.0
    if s.counters[0].is_box == 1:
        for k in range(uncertain.size):
            offset[uncertain[k]] = 2.0 * cube[k] - 1.0
        put(s, j, 0, offset)
        return
    square = 0.0
    for k in range(uncertain.size):
        z = normal_quantile(cube[k])
        offset[uncertain[k]] = z
        square += z * z
    length = power(cube[uncertain.size], 1.0 / uncertain.size) / math.sqrt(max(square, 1e-300))
    for i in uncertain:
        offset[i] *= length
    put(s, j, 0, offset)


@compiled
def _propose_latin(s: InnerSamplingState, j: int, limit: int) -> None:
    count, k = s.allocated[j], s.taken[j]
    if k == 0:
        for c in range(s.cube.size):
            order = s.strata[j, c, :count]
            for m in range(count):
                order[m] = m
            shuffle(s.rng, order)
    for c in range(s.cube.size):
        s.cube[c] = (s.strata[j, c, k] + uniform(s.rng)) / max(count, k + 1)
    _put_cube_point(s, j)


@compiled
def _propose_sobol(s: InnerSamplingState, j: int, limit: int) -> None:
    k = s.taken[j]
    if k % (1 << _BITS) == 0:
        for c in range(s.cube.size):
            s.sobol_shift[j, c] = next_bits(s.rng) >> np.uint64(32)
    for c in range(s.cube.size):
        if c >= s.sobol_directions.shape[0]:
            s.cube[c] = uniform(s.rng)
            continue
        digits = 0
        for b in range(_BITS):
            if (k >> b) & 1:
                digits ^= s.sobol_directions[c, b]
        s.cube[c] = (((digits << 16) ^ np.int64(s.sobol_shift[j, c])) + 0.5) * 2.0**-32
    _put_cube_point(s, j)


@cache
def sobol_directions() -> Array:
    """Return the direction numbers of the Sobol sequence (coordinates, 16), as integers of 16 bits.

    They are those of S. Joe and F. Y. Kuo (SIAM J. Sci. Comput. 30, 2008), for 1,024 coordinates.
    """
    return np.load(_DIRECTIONS, allow_pickle=False).astype(np.int64)


@dataclass(frozen=True)
class LatinHypercubeSampling(InnerForm):
    """A Latin hypercube in the uncertainty set: each coordinate of the points is stratified."""

    title: ClassVar[str] = "Latin hypercube"
    source: ClassVar[str] = "McKay, Beckman and Conover 1979; Fei, Branke and Gulpinar 2019"
    extension: ClassVar[bool] = True
    rank: ClassVar[int] = 110
    propose: ClassVar[Any] = staticmethod(_propose_latin)
    report: ClassVar[Any] = staticmethod(report_nothing)

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        return {"cube": plan.uncertain + 1, "strata": plan.inner_budget + 1, "stratified_agents": plan.agents}

    def describe(self) -> str:
        return "a Latin hypercube in the uncertainty set"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return ["y := the next point of a Latin hypercube in the set around x_j; evaluate f(y)"]


@dataclass(frozen=True)
class SobolSampling(InnerForm):
    """Quasi-random points in the uncertainty set: a Sobol sequence with a random digital shift for each candidate."""

    title: ClassVar[str] = "Sobol"
    source: ClassVar[str] = "Sobol 1967; Joe and Kuo 2008"
    extension: ClassVar[bool] = True
    rank: ClassVar[int] = 111
    propose: ClassVar[Any] = staticmethod(_propose_sobol)
    report: ClassVar[Any] = staticmethod(report_nothing)

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        coordinates = min(plan.uncertain + 1, sobol_directions().shape[0])
        return {
            "cube": plan.uncertain + 1,
            "sobol_agents": plan.agents,
            "sobol_coordinates": coordinates,
            "sobol_bits": _BITS,
        }

    def initial_arrays(self, plan: Plan) -> Mapping[str, Array]:
        return {"sobol_directions": sobol_directions()[: plan.uncertain + 1]}

    def describe(self) -> str:
        return "points of a Sobol sequence in the uncertainty set, shifted at random for each candidate"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return ["y := the next point of a randomly shifted Sobol sequence in the set around x_j; evaluate f(y)"]
