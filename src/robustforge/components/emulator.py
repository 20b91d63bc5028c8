"""The emulator: Gaussian processes of the evaluations so far, and how bad they say a point is.

One process models the values, on a scale that the data choose: as they are, or with those above the median compressed,
which keeps their order and tames cliffs. If evaluations have failed, another models where they do; both are combined to
a *badness*, the larger of the predicted value and a penalty that exceeds every good value where failures are expected.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from robustforge.components.outer import OuterState
from robustforge.core import gaussian_process
from robustforge.core.compiler import Routine, call, compiled, inlined
from robustforge.core.gaussian_process import EXTRA, FAILURES, OBJECTIVE, ProcessState, process_sizes
from robustforge.core.portable_math import exp, log, log1p
from robustforge.core.random import normal
from robustforge.core.state import ONE, Floats, Integers, Plan, Record, Shape

PLAIN, COMPRESSED, FAILING = range(3)
"""What the parameters of a process were fitted to: values as they are, compressed values, failures."""

FITS = 3
MIN_POINTS = 3
"""Known values without which there is no emulator."""

_GROWTH = 1.1
"""Growth of the number of points after which parameters are fitted again."""

_FIRST_STEPS, _STEPS = 20, 10
_FIRST_LENGTHS = (-1.0, 0.0, 1.0)
_RESTART_LENGTH, _RESTART_DEVIATION = -0.2, 0.6
_FIRST_NUGGET, _FIRST_NUGGET_OF_FAILURES = 1e-4, 1e-2
_PENALTY = 3.0
"""Badness per unit of the model of failures, whose values are -1 and 1; values have deviation 1."""

_HUGE = 1e100


class Emulator:
    """The numbers of the emulator."""

    fitted: int  # known values when parameters were fitted last
    fitted_failures: int  # points when those of the model of failures were
    has_failures: int  # some points have failed
    compressed: int  # values above the median are compressed
    split: float  # the median
    width: float  # its distance from the lowest value
    shift: float  # mean of the values, compressed if they are
    scale: float  # their deviation
    lowest: float  # the lowest value, with mean 0 and deviation 1


class EmulatorState(ProcessState, OuterState):
    """The emulator, in fractions of the bounds."""

    update_emulator_kernel: Annotated[Integers, ONE, "address of `emulator.update`"]
    emulator: Annotated[Record[Emulator], ONE, "the numbers of the emulator"]
    emulator_values: Annotated[Floats, Shape("process_points"), "known values of its points"]
    emulator_sorted: Annotated[Floats, Shape("process_points"), "the same, the lowest first"]
    fit_parameters: Annotated[Floats, Shape(FITS, "process_parameters"), "parameters of each fit"]
    trial_parameters: Annotated[Floats, Shape("process_parameters"), "parameters that are tried"]


def emulator_sizes(plan: Plan, points: int, batch: int) -> dict[str, int]:
    """Return the sizes of the memory of an emulator of so many points, and a batch."""
    return process_sizes(plan.dimension, min(points, plan.history) + batch)


@compiled
def to_fraction(s: EmulatorState, y: Floats, u: Floats) -> None:
    """Write a scaled point as fractions of the bounds."""
    for i in range(u.size):
        width = s.upper[i] - s.lower[i]
        u[i] = (y[i] - s.lower[i]) / width if width > 0.0 else 0.5


@compiled
def from_fraction(s: EmulatorState, u: Floats, y: Floats) -> None:
    """Write fractions of the bounds as a scaled point."""
    for i in range(y.size):
        y[i] = s.lower[i] + u[i] * (s.upper[i] - s.lower[i])


@inlined
def _append(s: EmulatorState, k: int, u: Floats, value: float) -> None:
    count = s.process[k].count
    for i in range(u.size):
        s.process_x[k, i, count] = u[i]
    s.process_y[k, count] = value
    s.process[k].count = count + 1


@compiled
def load(s: EmulatorState, limit: int) -> None:
    """Take points of the history, at most `limit`: all, or the newest and as many others, evenly spread in time."""
    t, e = s.counters[0], s.emulator[0]
    s.process[OBJECTIVE].count = 0
    s.process[FAILURES].count = 0
    e.has_failures = 0
    newest = min(t.spent, limit - limit // 2 if t.spent > limit else limit)
    others = min(t.spent, limit) - newest
    u = np.empty(t.dimension)
    for k in range(others + newest):
        h = k * (t.spent - newest) // others if k < others else t.spent - newest + k - others
        to_fraction(s, s.history_y[h], u)
        value = s.history_f[h]
        works = math.isfinite(value)
        _append(s, FAILURES, u, -1.0 if works else 1.0)
        if works:
            s.emulator_values[s.process[OBJECTIVE].count] = min(max(value, -_HUGE), _HUGE)
            _append(s, OBJECTIVE, u, value)
        else:
            e.has_failures = 1
    _sort_values(s)


@inlined
def _sort_values(s: EmulatorState) -> None:
    values, ordered = s.emulator_values, s.emulator_sorted
    for a in range(s.process[OBJECTIVE].count):
        b = a
        while b > 0 and ordered[b - 1] > values[a]:
            ordered[b] = ordered[b - 1]
            b -= 1
        ordered[b] = values[a]


@compiled
def compress(s: EmulatorState, value: float) -> float:
    """Return a value on the chosen scale, before it is standardised."""
    e = s.emulator[0]
    if e.compressed == 0 or value <= e.split:
        return value
    return e.split + e.width * log1p((value - e.split) / e.width)


@compiled
def value_of(s: EmulatorState, standardised: float) -> float:
    """Return the value of the objective that a standardised one stands for."""
    e = s.emulator[0]
    value = e.shift + e.scale * standardised
    if e.compressed == 0 or value <= e.split:
        return value
    return e.split + e.width * (exp(min((value - e.split) / e.width, 200.0)) - 1.0)


@compiled
def standardised(s: EmulatorState, value: float) -> float:
    """Return a value as the processes see it; an infinite one stays infinite."""
    if not math.isfinite(value):
        return value
    return (compress(s, value) - s.emulator[0].shift) / s.emulator[0].scale


@compiled
def _set_scale(s: EmulatorState, compressed: int) -> float:
    """Put the values on a scale; return the negative logarithm of the change of volume, to compare likelihoods."""
    e, count, values, y = s.emulator[0], s.process[OBJECTIVE].count, s.emulator_values, s.process_y[OBJECTIVE]
    e.split = s.emulator_sorted[count // 2]
    e.width = e.split - s.emulator_sorted[0]
    e.compressed = 1 if compressed == 1 and e.width > 0.0 else 0
    total, square, volume = 0.0, 0.0, 0.0
    for a in range(count):
        y[a] = compress(s, values[a])
        total += y[a]
        if e.compressed == 1 and values[a] > e.split:
            volume += log1p((values[a] - e.split) / e.width)
    e.shift = total / count
    for a in range(count):
        square += (y[a] - e.shift) * (y[a] - e.shift)
    deviation = math.sqrt(square / count)
    e.scale = deviation if deviation > 0.0 else 1.0
    for a in range(count):
        y[a] = (y[a] - e.shift) / e.scale
    e.lowest = (s.emulator_sorted[0] - e.shift) / e.scale
    return volume + count * log(e.scale)


@compiled
def _fit(s: EmulatorState, k: int, which: int, is_first: bool) -> float:
    """Fit the parameters of a process: at first from several starts, later from those before and a random one."""
    parameters, trial = s.fit_parameters[which], s.trial_parameters
    nugget = _FIRST_NUGGET_OF_FAILURES if k == FAILURES else _FIRST_NUGGET
    best = np.inf
    if not is_first:
        call(s.fit_kernel[0], s, k, parameters, _STEPS)
        best = s.process[k].objective
    for start in range(len(_FIRST_LENGTHS) if is_first else 1):
        length = _FIRST_LENGTHS[start] if is_first else _RESTART_LENGTH + _RESTART_DEVIATION * normal(s.rng)
        gaussian_process.set_default(trial, length, nugget)
        call(s.fit_kernel[0], s, k, trial, _FIRST_STEPS if is_first else _STEPS)
        if s.process[k].objective < best:
            best = s.process[k].objective
            for i in range(trial.size):
                parameters[i] = trial[i]
    return best


@compiled
def update(s: EmulatorState) -> None:
    """Condition the emulator on the points that `load` took; fit its parameters again if there are many new ones."""
    e, count = s.emulator[0], s.process[OBJECTIVE].count
    if e.fitted == 0 or count >= _GROWTH * e.fitted:
        volume = _set_scale(s, 0)
        plain = volume + _fit(s, OBJECTIVE, PLAIN, e.fitted == 0)
        volume = _set_scale(s, 1)
        e.compressed = 1 if volume + _fit(s, OBJECTIVE, COMPRESSED, e.fitted == 0) < plain else 0
        e.fitted = count
    _set_scale(s, e.compressed)
    call(s.condition_kernel[0], s, OBJECTIVE, s.fit_parameters[COMPRESSED if e.compressed == 1 else PLAIN])
    if e.has_failures == 1:
        points = s.process[FAILURES].count
        if e.fitted_failures == 0 or points >= _GROWTH * e.fitted_failures:
            _fit(s, FAILURES, FAILING, e.fitted_failures == 0)
            e.fitted_failures = points
        call(s.condition_kernel[0], s, FAILURES, s.fit_parameters[FAILING])


UPDATE_EMULATOR = Routine("update_emulator_kernel", update, ())


@inlined
def models(s: EmulatorState) -> int:
    """Return the number of models that decide badness."""
    return 2 if s.emulator[0].has_failures == 1 else 1


@compiled
def badness(s: EmulatorState, k: int, u: Floats, margin: float) -> float:
    """Return how bad a point is by one model.

    Args:
        s: The state.
        k: The model.
        u: The point, in fractions of the bounds.
        margin: Distance that is kept from where failures are as likely as not, from 0 to 1.
    """
    value = gaussian_process.predict(s, k, u)
    return value if k == OBJECTIVE else s.emulator[0].lowest + _PENALTY * (value + margin)


@compiled
def badness_slope(s: EmulatorState, k: int, u: Floats, margin: float, gradient: Floats) -> float:
    """Return the badness of a point by one model, and write its gradient."""
    value = gaussian_process.predict_slope(s, k, u, gradient)
    if k == OBJECTIVE:
        return value
    for i in range(gradient.size):
        gradient[i] *= _PENALTY
    return s.emulator[0].lowest + _PENALTY * (value + margin)


@compiled
def doubt(s: EmulatorState, k: int, u: Floats) -> float:
    """Return the standard deviation of the badness of a point by one model."""
    return gaussian_process.deviation(s, k, u) * (1.0 if k == OBJECTIVE else _PENALTY)


assert EXTRA == 2  # `set_default` sets all parameters beside the length scales
