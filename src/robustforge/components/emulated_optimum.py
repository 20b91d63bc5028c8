"""Robust optima of the emulator: designs whose worst case by the emulator is lowest.

The worst case of a design is a maximum over offsets, whose slopes jump where the worst offset changes. A descent
follows the shortest vector in the convex hull of the slopes at all offsets that are nearly worst, as the paper's
descent directions do with samples; distances are measured in length scales. Random designs and known ones are compared
first, and the best of them are starts.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numba import int64

from robustforge.components.emulated_worst_case import (
    OffsetState,
    ascend_from_design,
    disturb,
    keep_offset,
    worst_case,
)
from robustforge.components.emulator import badness, badness_slope, models
from robustforge.core.agents import copy, fill
from robustforge.core.compiler import Routine, compiled, inlined
from robustforge.core.min_norm_point import minimum_norm
from robustforge.core.random import uniform
from robustforge.core.state import ONE, Floats, Integers, Record, Shape

LOCAL_OPTIMA = 3
"""Descents of a search for the robust optimum."""

_SCREENED_OFFSETS = 6
_MAX_RATE = 1.0
"""Length scales are at most the width of the bounds when steps are measured."""

_FIRST_STEP, _SHORTEST_STEP, _STEP_GROWTH, _TRIES = 0.3, 1e-3, 1.6, 5
_FIRST_BAND, _BAND_SHRINKS, _BAND_NARROWS = 0.3, 0.8, 0.3
"""The band, times the step, below the worst value in which offsets count as nearly worst; how it shrinks."""

_FLAT, _MIN_FALL, _SUFFICIENT = 1e-5, 1e-7, 1e-4
_SAME_BASIN = 0.04


class Descent:
    """The numbers of a descent."""

    step: float  # length of the next step, in length scales
    band: float  # width of the band in which offsets are nearly worst, per step
    active: int  # offsets that are nearly worst
    model: int  # the model by which the design is worst
    best: int  # the row of the best local optimum of the last search


class OptimumState(OffsetState):
    """The search for robust optima of the emulator."""

    find_optima_kernel: Annotated[Integers, ONE, "address of `find_optima`"]
    emulated_descent: Annotated[Record[Descent], ONE, "the numbers of the present descent"]
    metric: Annotated[Floats, Shape("process_inputs"), "1 / length scale of each input, at least 1"]
    active_slope: Annotated[Floats, Shape("offset_rows", "process_inputs"), "slopes at nearly worst offsets"]
    active_row: Annotated[Integers, Shape("offset_rows"), "which offsets these are"]
    active_gram: Annotated[Floats, Shape("offset_rows", "offset_rows"), "inner products of the slopes"]
    active_factor: Annotated[Floats, Shape("offset_rows", "offset_rows"), "their factor"]
    active_share: Annotated[Floats, Shape("offset_rows"), "weights of the slopes in the shortest vector"]
    active_set: Annotated[Integers, Shape("offset_rows"), "slopes that span it"]
    active_work: Annotated[Floats, Shape(2, "offset_rows"), "work space"]
    screened_x: Annotated[Floats, Shape("screened", "process_inputs"), "designs that are compared"]
    screened_f: Annotated[Floats, Shape("screened"), "their worst cases, roughly"]
    optimum_x: Annotated[Floats, Shape(LOCAL_OPTIMA, "process_inputs"), "the local optima of the last search"]
    optimum_offset: Annotated[Floats, Shape(LOCAL_OPTIMA, "process_inputs"), "their worst offsets"]
    optimum_f: Annotated[Floats, Shape(LOCAL_OPTIMA), "their worst cases; +inf if there are fewer"]
    optimum_model: Annotated[Integers, Shape(LOCAL_OPTIMA), "the models by which they are worst"]


def optimum_sizes(dimension: int, screened: int) -> dict[str, int]:
    """Return the sizes of the memory of the search for robust optima."""
    return {"offset_rows": 2 * dimension + 10, "screened": screened}


@compiled
def set_metric(s: OptimumState) -> None:
    """Measure steps in the length scales of the model of values."""
    for i in range(s.metric.size):
        s.metric[i] = math.sqrt(max(s.process_rate[0, i], _MAX_RATE))


@compiled
def _rough_worst_case(s: OptimumState, u: Floats) -> float:
    """Return the worst case of a design by short ascents and a few kept offsets."""
    value, offset, point = -np.inf, np.empty(u.size), np.empty(u.size)
    for k in range(models(s)):
        value = max(value, ascend_from_design(s, k, u, offset, 2))
    for row in range(min(s.offsets[0].count, _SCREENED_OFFSETS)):
        disturb(s, u, s.worst_offset[row], point)
        value = max(value, badness(s, s.worst_model[row], point, s.offsets[0].margin))
    return value


@inlined
def _collect_slopes(s: OptimumState, u: Floats, value: float) -> None:
    """Collect the slopes at all kept offsets that are nearly worst; components that leave the bounds are left out."""
    d, n, count = s.emulated_descent[0], u.size, 0
    point, slope = np.empty(n), np.empty(n)
    for row in range(s.offsets[0].count):
        offset = s.worst_offset[row]
        disturb(s, u, offset, point)
        if badness(s, s.worst_model[row], point, s.offsets[0].margin) < value - d.band * d.step:
            continue
        badness_slope(s, s.worst_model[row], point, s.offsets[0].margin, slope)
        for i in range(n):
            reached = u[i] + s.set_radius[i] * offset[i]
            is_clipped = reached < s.lowest_input[i] or reached > s.highest_input[i]
            leaves = (u[i] <= 0.0 and slope[i] > 0.0) or (u[i] >= 1.0 and slope[i] < 0.0)
            s.active_slope[count, i] = 0.0 if is_clipped or leaves else slope[i] / s.metric[i]
        s.active_row[count] = row
        count += 1
    d.active = count


@inlined
def _worst_active(s: OptimumState, u: Floats, limit: float) -> float:
    """Return the worst value of a design at the nearly worst offsets; it may stop at the limit."""
    value, point = -np.inf, np.empty(u.size)
    for k in range(s.emulated_descent[0].active):
        row = s.active_row[k]
        disturb(s, u, s.worst_offset[row], point)
        value = max(value, badness(s, s.worst_model[row], point, s.offsets[0].margin))
        if value >= limit:
            break
    return value


@compiled
def _take_step(s: OptimumState, u: Floats, value: float, direction: Floats, length: float, offset: Floats) -> float:
    """Move a design along a direction if that lowers its worst case, which is returned; write its worst offset.

    If only an offset that was not known is in the way, it is kept, and the design stays where it is.
    """
    d, trial, worst = s.emulated_descent[0], np.empty(u.size), np.empty(u.size)
    for _ in range(_TRIES):
        for i in range(u.size):
            trial[i] = min(max(u[i] - d.step * direction[i] / length / s.metric[i], 0.0), 1.0)
        if _worst_active(s, trial, value) < value - _SUFFICIENT * d.step * length:
            there = worst_case(s, trial, 1, 5, worst)
            copy(worst, offset)
            d.model = s.offsets[0].model
            if there < value - _MIN_FALL:
                copy(trial, u)
                d.step *= _STEP_GROWTH
                return there
            d.band *= _BAND_SHRINKS
            return value
        d.step *= 0.5
    d.band *= _BAND_SHRINKS
    return value


@compiled
def descend(s: OptimumState, u: Floats, steps: int, offset: Floats) -> float:
    """Move a design to a local robust optimum of the emulator.

    Args:
        s: The state; the model by which the optimum is worst is written to it.
        u: The design, moved in place.
        steps: Steps at most.
        offset: Its worst offset.

    Returns:
        Its worst case.
    """
    d, direction, candidate = s.emulated_descent[0], np.empty(u.size), np.empty(u.size)
    d.step, d.band = _FIRST_STEP, _FIRST_BAND
    value = worst_case(s, u, 2, 6, candidate)
    d.model = s.offsets[0].model
    copy(candidate, offset)
    model = d.model
    for _ in range(steps):
        keep_offset(s, u, candidate, d.model)
        _collect_slopes(s, u, value)
        length = minimum_norm(
            s.active_slope,
            d.active,
            s.active_gram,
            s.active_factor,
            s.active_share,
            s.active_set,
            s.active_work,
            direction,
        )
        if length > _FLAT:
            moved = _take_step(s, u, value, direction, length, candidate)
            if moved < value:
                value, model = moved, d.model
                copy(candidate, offset)
        else:
            d.band *= _BAND_NARROWS
            d.step *= 0.5
        if d.step < _SHORTEST_STEP:
            break
    s.offsets[0].model = model
    return value


@inlined
def _drop_basin(s: OptimumState, u: Floats, count: int) -> None:
    """Leave out all compared designs near a start."""
    for row in range(count):
        square = 0.0
        for i in range(u.size):
            gap = (s.screened_x[row, i] - u[i]) * s.metric[i]
            square += gap * gap
        if square < _SAME_BASIN:
            s.screened_f[row] = np.inf


@compiled
def find_optima(s: OptimumState, known: int, steps: int) -> None:
    """Search for local robust optima of the emulator, and write the row of the best one.

    Args:
        s: The state. The first rows of `screened_x` are known designs; the others are drawn at random.
        known: How many these are.
        steps: Steps of a descent at most.
    """
    count, best, u = s.screened_f.size, 0, np.empty(s.metric.size)
    set_metric(s)
    for row in range(count):
        if row >= known:
            for i in range(u.size):
                s.screened_x[row, i] = uniform(s.rng)
        s.screened_f[row] = _rough_worst_case(s, s.screened_x[row])
    fill(s.optimum_f, np.inf)
    for k in range(LOCAL_OPTIMA):
        start = 0
        for row in range(count):
            if s.screened_f[row] < s.screened_f[start]:
                start = row
        if s.screened_f[start] == np.inf:
            break
        copy(s.screened_x[start], u)
        _drop_basin(s, u, count)
        s.optimum_f[k] = descend(s, u, steps, s.optimum_offset[k])
        s.optimum_model[k] = s.offsets[0].model
        copy(u, s.optimum_x[k])
        if s.optimum_f[k] < s.optimum_f[best]:
            best = k
    s.emulated_descent[0].best = best


FIND_OPTIMA = Routine("find_optima_kernel", find_optima, (int64, int64))
