"""The worst case of a design by the emulator: ascents over the uncertainty set, and offsets that were worst before."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numba import float64, int64

from robustforge.components.emulator import EmulatorState, badness, badness_slope, doubt, models
from robustforge.components.inner_search import sample, to_surface
from robustforge.core.agents import copy, fill
from robustforge.core.compiler import Routine, compiled, inlined
from robustforge.core.gaussian_process import OBJECTIVE
from robustforge.core.state import ONE, Floats, Integers, Record, Shape

_SHORTEST_STEP = 0.1
_SAME_OFFSET = 0.01
_MIN_GAIN, _SMALL_GAIN = 1e-9, 1e-6


class Offsets:
    """The numbers of the offsets."""

    count: int  # offsets that are kept
    model: int  # the model by which the last worst case is worst
    doubtful: float  # the last doubtful worst case
    margin: float  # distance kept from where failures are as likely as not


class OffsetState(EmulatorState):
    """Offsets at which designs were worst, in units of the uncertainty set."""

    doubtful_worst_case_kernel: Annotated[Integers, ONE, "address of `doubtful_worst_case`"]
    offsets: Annotated[Record[Offsets], ONE, "the numbers of the offsets"]
    set_radius: Annotated[Floats, Shape("process_inputs"), "radius of the set along each input; 0 if it is exact"]
    lowest_input: Annotated[Floats, Shape("process_inputs"), "what inputs are clipped to, from below"]
    highest_input: Annotated[Floats, Shape("process_inputs"), "what inputs are clipped to, from above"]
    worst_offset: Annotated[Floats, Shape("offset_rows", "process_inputs"), "offsets at which designs were worst"]
    worst_model: Annotated[Integers, Shape("offset_rows"), "the model by which they were"]
    offset_badness: Annotated[Floats, Shape("offset_rows"), "badness of a design at each offset"]


@compiled
def set_geometry(s: OffsetState, margin: float) -> None:
    """Set the radii of the set and the bounds of inputs, in fractions of the bounds; keep random offsets at first."""
    s.offsets[0].margin = margin
    fill(s.set_radius, 0.0)
    for i in range(s.lower.size):
        width = s.upper[i] - s.lower[i]
        s.lowest_input[i], s.highest_input[i] = -np.inf, np.inf
        if s.counters[0].clip == 1 and width > 0.0:
            low, high = (s.user_lower[i] - s.centre[i]) / s.scale[i], (s.user_upper[i] - s.centre[i]) / s.scale[i]
            s.lowest_input[i], s.highest_input[i] = (low - s.lower[i]) / width, (high - s.lower[i]) / width
    for i in s.uncertain:
        width = s.upper[i] - s.lower[i]
        s.set_radius[i] = 1.0 / width if width > 0.0 else 0.0
    s.offsets[0].count = min(2 * s.uncertain.size, s.worst_offset.shape[0])
    for row in range(s.offsets[0].count):
        fill(s.worst_offset[row], 0.0)
        sample(s.rng, s.uncertain, s.counters[0].is_box == 1, s.worst_offset[row])
        to_surface(s.worst_offset[row], s.uncertain, s.counters[0].is_box == 1)
        s.worst_model[row] = OBJECTIVE


@compiled
def disturb(s: OffsetState, u: Floats, offset: Floats, out: Floats) -> None:
    """Write a design with a disturbance, clipped if the problem clips."""
    for i in range(u.size):
        out[i] = min(max(u[i] + s.set_radius[i] * offset[i], s.lowest_input[i]), s.highest_input[i])


@inlined
def _furthest(s: OffsetState, gradient: Floats, offset: Floats) -> bool:
    """Write the offset of the set that is furthest along a gradient; return whether there is one."""
    is_box, square = s.counters[0].is_box == 1, 0.0
    for i in range(offset.size):
        part = gradient[i] * s.set_radius[i]
        square += part * part
        if not is_box:
            offset[i] = part
        elif part != 0.0:
            offset[i] = 1.0 if part > 0.0 else -1.0
    if not square > 0.0:
        return False
    if not is_box:
        length = math.sqrt(square)
        for i in range(offset.size):
            offset[i] /= length
    return True


@compiled
def ascend(s: OffsetState, k: int, u: Floats, offset: Floats, steps: int) -> float:
    """Move an offset to where a design is worse by model `k`; return the badness there."""
    n = u.size
    point, gradient, target, trial = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    disturb(s, u, offset, point)
    value = badness_slope(s, k, point, s.offsets[0].margin, gradient)
    for _ in range(steps):
        copy(offset, target)
        if not _furthest(s, gradient, target):
            return value
        step, moved = 1.0, value
        while step > _SHORTEST_STEP:
            for i in range(n):
                trial[i] = offset[i] + step * (target[i] - offset[i])
            disturb(s, u, trial, point)
            moved = badness(s, k, point, s.offsets[0].margin)
            if moved > value + _MIN_GAIN:
                break
            step *= 0.5
        if not moved > value + _MIN_GAIN:
            return value
        gain = moved - value
        copy(trial, offset)
        value = badness_slope(s, k, point, s.offsets[0].margin, gradient)
        if gain < _SMALL_GAIN:
            return value
    return value


@compiled
def ascend_from_design(s: OffsetState, k: int, u: Floats, offset: Floats, steps: int) -> float:
    """Ascend from the design itself, in one step to the surface of the set; return the badness at the offset."""
    fill(offset, 0.0)
    return ascend(s, k, u, offset, steps)


@compiled
def worst_case(s: OffsetState, u: Floats, starts: int, steps: int, offset: Floats) -> float:
    """Return the worst case of a design by the emulator, and write the offset where it is.

    Args:
        s: The state; the model by which it is worst is written to it.
        u: The design, in fractions of the bounds.
        starts: The kept offsets from which ascents start, the worst ones first.
        steps: Steps of an ascent.
        offset: The answer.
    """
    own, value, found, point = np.empty(u.size), -np.inf, s.offset_badness, np.empty(u.size)
    for k in range(models(s)):
        there = ascend_from_design(s, k, u, own, steps)
        if there > value:
            value = there
            s.offsets[0].model = k
            copy(own, offset)
    for row in range(s.offsets[0].count):
        disturb(s, u, s.worst_offset[row], point)
        found[row] = badness(s, s.worst_model[row], point, s.offsets[0].margin)
    for _ in range(min(starts, s.offsets[0].count)):
        top = 0
        for row in range(s.offsets[0].count):
            if found[row] > found[top]:
                top = row
        found[top] = -np.inf
        copy(s.worst_offset[top], own)
        there = ascend(s, s.worst_model[top], u, own, steps)
        if there > value:
            value = there
            s.offsets[0].model = s.worst_model[top]
            copy(own, offset)
    return value


@compiled
def keep_offset(s: OffsetState, u: Floats, offset: Floats, model: int) -> None:
    """Keep an offset, in the place of one near it or, without room, of the one that is least bad for a design."""
    row = _row_near(s, offset, model)
    if row < 0 and s.offsets[0].count < s.worst_offset.shape[0]:
        row = s.offsets[0].count
        s.offsets[0].count = row + 1
    elif row < 0:
        row, lowest, point = 0, np.inf, np.empty(u.size)
        for other in range(s.worst_offset.shape[0]):
            disturb(s, u, s.worst_offset[other], point)
            value = badness(s, s.worst_model[other], point, s.offsets[0].margin)
            if value < lowest:
                row, lowest = other, value
    copy(offset, s.worst_offset[row])
    s.worst_model[row] = model


@inlined
def _row_near(s: OffsetState, offset: Floats, model: int) -> int:
    """Return the row of a kept offset that is almost the same; -1 if there is none."""
    for row in range(s.offsets[0].count):
        square, known = 0.0, s.worst_offset[row]
        for i in range(offset.size):
            square += (known[i] - offset[i]) * (known[i] - offset[i])
        if square < _SAME_OFFSET and s.worst_model[row] == model:
            return row
    return -1


@compiled
def doubtful_worst_case(s: OffsetState, k: int, u: Floats, deviations: float, offset: Floats) -> None:
    """Write the largest badness of a design plus deviations by model `k`, and the offset where it is.

    It is sought at the kept offsets, and at the ends of ascents from the design and from the worst of them.
    """
    own, value, top, highest = np.empty(u.size), -np.inf, -1, -np.inf
    for row in range(s.offsets[0].count):
        there = _doubtful(s, k, u, s.worst_offset[row], deviations)
        if there > value:
            value = there
            copy(s.worst_offset[row], offset)
        if s.worst_model[row] == k and there > highest:
            top, highest = row, there
    for start in range(2 if top >= 0 else 1):
        fill(own, 0.0)
        if start == 1:
            copy(s.worst_offset[top], own)
        ascend(s, k, u, own, 6)
        there = _doubtful(s, k, u, own, deviations)
        if there > value:
            value = there
            copy(own, offset)
    s.offsets[0].doubtful = value


DOUBTFUL_WORST_CASE = Routine(
    "doubtful_worst_case_kernel", doubtful_worst_case, (int64, float64[::1], float64, float64[::1])
)


@compiled
def _doubtful(s: OffsetState, k: int, u: Floats, offset: Floats, deviations: float) -> float:
    point = np.empty(u.size)
    disturb(s, u, offset, point)
    return badness(s, k, point, s.offsets[0].margin) + deviations * doubt(s, k, point)
