"""Gaussian processes: the models of an emulator, with their parameters by maximum a posteriori.

The covariance is a Matern function of order 5/2 with a length scale for each input, a linear function of the inputs,
and a nugget. The mean is constant; it and the scale of the values are those of largest likelihood. Inputs are fractions
of the bounds, values have mean 0 and deviation 1.

C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numba import float64, int64

from robustforge.core.cholesky import factor_row, factorise, invert, solve_lower, solve_upper
from robustforge.core.compiler import Routine, call, compiled, inlined
from robustforge.core.portable_math import exp, log
from robustforge.core.state import ONE, Floats, Integers, Record, Shape, State

OBJECTIVE, FAILURES = range(2)
"""The models: of the values, and of whether an evaluation fails (1) or works (-1)."""

MODELS = 2
EXTRA = 2
"""Parameters beside the length scales: the logarithms of the nugget and of the variance of the linear part."""

_ROOT_5 = 2.23606797749979
_MAX_LOG = 9.0
_MIN_LINEAR, _MAX_LINEAR = -12.0, 4.0
_MAX_NUGGET = -1.2
_LINEAR_PRIOR, _LINEAR_DEVIATION = -1.2, 1.5
_NUGGET_PRIOR, _NUGGET_DEVIATION = -11.5, 3.0
_LENGTH_PRIOR, _LENGTH_DEVIATION, _MIN_NUGGET = (0.5, 0.3), (1.2, 0.6), (-18.4, -6.9)
"""Of each model: mean (for one input) and deviation of the logarithm of a length scale, and the least log nugget."""

_GROW, _SHRINK, _FIRST_STEP, _MAX_STEP, _MIN_STEP = 1.3, 0.5, 0.5, 2.0, 1e-3
"""The steps of the ascent in the posterior (Rprop)."""


class Process:
    """The numbers of a Gaussian process."""

    count: int  # points
    mean: float  # constant mean
    variance: float  # variance of the process
    nugget: float  # variance of a value around the process, relative to the variance
    linear: float  # variance of a slope, relative to the variance
    objective: float  # negative logarithm of the posterior density of its parameters


class ProcessState(State):
    """The Gaussian processes."""

    fit_kernel: Annotated[Integers, ONE, "address of `gaussian_process.fit`"]
    condition_kernel: Annotated[Integers, ONE, "address of `gaussian_process.condition`"]
    process: Annotated[Record[Process], Shape(MODELS), "the numbers of each process"]
    process_x: Annotated[Floats, Shape(MODELS, "process_inputs", "process_points"), "the points, one row per input"]
    process_y: Annotated[Floats, Shape(MODELS, "process_points"), "their values"]
    process_rate: Annotated[Floats, Shape(MODELS, "process_inputs"), "1 / squared length scale of each input"]
    process_slope: Annotated[Floats, Shape(MODELS, "process_inputs"), "slope of the linear part of the prediction"]
    process_weight: Annotated[Floats, Shape(MODELS, "process_points"), "weights of the points in the prediction"]
    process_factor: Annotated[
        Floats, Shape(MODELS, "process_points", "process_points"), "Cholesky factor of the covariances"
    ]
    process_inverse: Annotated[Floats, Shape("process_points", "process_points"), "inverse of the covariances"]
    process_row: Annotated[Floats, Shape("process_points"), "covariances with one point"]
    process_ones: Annotated[Floats, Shape("process_points"), "for the mean: the solution for a right side of ones"]
    process_gradient: Annotated[Floats, Shape("process_parameters"), "gradient of the objective of a fit"]
    process_last: Annotated[Floats, Shape("process_parameters"), "the gradient before it"]
    process_step: Annotated[Floats, Shape("process_parameters"), "step of each parameter"]
    process_found: Annotated[Floats, Shape("process_parameters"), "the best parameters of a fit"]


def process_sizes(inputs: int, points: int) -> dict[str, int]:
    """Return the sizes of the memory of Gaussian processes."""
    return {"process_inputs": inputs, "process_points": points, "process_parameters": inputs + EXTRA}


@inlined
def _matern(square: float) -> float:
    r = _ROOT_5 * math.sqrt(square)
    return (1.0 + r + r * r / 3.0) * exp(-r)


@compiled
def squared_distances(x: Floats, count: int, rate: Floats, u: Floats, out: Floats) -> None:
    """Write the squared distances of a point to the first columns of `x`, in length scales."""
    for a in range(count):
        out[a] = 0.0
    for i in range(u.size):
        row, at, scale = x[i], u[i], rate[i]
        for a in range(count):
            gap = row[a] - at
            out[a] += scale * gap * gap


@compiled
def predict(s: ProcessState, k: int, u: Floats) -> float:
    """Return the mean of process `k` at a point."""
    count, weight, row, slope = s.process[k].count, s.process_weight[k], s.process_row, s.process_slope[k]
    squared_distances(s.process_x[k], count, s.process_rate[k], u, row)
    total = s.process[k].mean
    for i in range(u.size):
        total += slope[i] * (u[i] - 0.5)
    for a in range(count):
        total += weight[a] * _matern(row[a])
    return total


@compiled
def predict_slope(s: ProcessState, k: int, u: Floats, gradient: Floats) -> float:
    """Return the mean of process `k` at a point, and write its gradient."""
    x, rate = s.process_x[k], s.process_rate[k]
    count, weight, row, slope = s.process[k].count, s.process_weight[k], s.process_row, s.process_slope[k]
    squared_distances(x, count, rate, u, row)
    total = s.process[k].mean
    for a in range(count):
        r = _ROOT_5 * math.sqrt(row[a])
        part = weight[a] * exp(-r)
        total += part * (1.0 + r + r * r / 3.0)
        row[a] = part * (5.0 / 3.0) * (1.0 + r)
    for i in range(u.size):
        column, at, change = x[i], u[i], 0.0
        for a in range(count):
            change += row[a] * (column[a] - at)
        gradient[i] = change * rate[i] + slope[i]
        total += slope[i] * (at - 0.5)
    return total


@compiled
def _covariances(s: ProcessState, k: int, u: Floats, count: int, row: Floats) -> float:
    """Write the covariances of a point with the first points; return its own variance."""
    x, linear, own = s.process_x[k], s.process[k].linear, 1.0
    squared_distances(x, count, s.process_rate[k], u, row)
    for a in range(count):
        row[a] = _matern(row[a])
    for i in range(u.size):
        column, part = x[i], linear * (u[i] - 0.5)
        own += part * (u[i] - 0.5)
        for a in range(count):
            row[a] += part * (column[a] - 0.5)
    return own


@compiled
def deviation(s: ProcessState, k: int, u: Floats) -> float:
    """Return the standard deviation of process `k` at a point."""
    row, count = s.process_row, s.process[k].count
    rest = _covariances(s, k, u, count, row)
    solve_lower(s.process_factor[k], count, row)
    for a in range(count):
        rest -= row[a] * row[a]
    return math.sqrt(s.process[k].variance * max(rest, 1e-12))


@compiled
def add_point(s: ProcessState, k: int, u: Floats) -> None:
    """Add a point whose value is as predicted: the mean stays, the deviation falls around it."""
    count, factor = s.process[k].count, s.process_factor[k]
    for i in range(u.size):
        s.process_x[k, i, count] = u[i]
    factor[count, count] = _covariances(s, k, u, count, factor[count]) + s.process[k].nugget
    factor_row(factor, count)
    s.process_weight[k, count] = 0.0
    s.process[k].count = count + 1


@compiled
def _factorise_covariances(s: ProcessState, k: int) -> float:
    """Factorise the covariances of all points; return the logarithm of the determinant."""
    count, factor, n = s.process[k].count, s.process_factor[k], s.process_x.shape[1]
    u = np.empty(n)
    for a in range(count):
        for i in range(n):
            u[i] = s.process_x[k, i, a]
        factor[a, a] = _covariances(s, k, u, a, factor[a]) + s.process[k].nugget
    return factorise(factor, count)


@compiled
def _solve_weights(s: ProcessState, k: int) -> None:
    """Set the mean, the variance and the weights, given the factor."""
    p, weight, ones, factor, y = s.process[k], s.process_weight[k], s.process_ones, s.process_factor[k], s.process_y[k]
    count, product, square = p.count, 0.0, 0.0
    for a in range(count):
        weight[a] = y[a]
        ones[a] = 1.0
    solve_lower(factor, count, weight)
    solve_lower(factor, count, ones)
    for a in range(count):
        product += weight[a] * ones[a]
        square += ones[a] * ones[a]
    s.process[k].mean = product / square
    total = 0.0
    for a in range(count):
        weight[a] -= product / square * ones[a]
        total += weight[a] * weight[a]
    s.process[k].variance = max(total / count, 1e-12)
    solve_upper(factor, count, weight)


@compiled
def condition(s: ProcessState, k: int, parameters: Floats) -> None:
    """Condition process `k` on its points, with given parameters; write the negative log likelihood."""
    n, x, weight = s.process_x.shape[1], s.process_x[k], s.process_weight[k]
    for i in range(n):
        s.process_rate[k, i] = exp(float(parameters[i]))
    s.process[k].nugget = exp(float(parameters[n]))
    s.process[k].linear = exp(float(parameters[n + 1]))
    determinant = _factorise_covariances(s, k)
    _solve_weights(s, k)
    for i in range(n):
        total = 0.0
        for a in range(s.process[k].count):
            total += weight[a] * (x[i, a] - 0.5)
        s.process_slope[k, i] = s.process[k].linear * total
    s.process[k].objective = 0.5 * s.process[k].count * log(s.process[k].variance) + 0.5 * determinant


CONDITION = Routine("condition_kernel", condition, (int64, float64[::1]))


@compiled
def _add_likelihood_gradient(s: ProcessState, k: int) -> None:
    """Add the gradient of the negative log likelihood with respect to the parameters."""
    x, rate, row, gradient = s.process_x[k], s.process_rate[k], s.process_row, s.process_gradient
    n, inverse, weight, variance = x.shape[0], s.process_inverse, s.process_weight[k], s.process[k].variance
    u = np.empty(n)
    for a in range(s.process[k].count):
        known, own, part = inverse[a], inverse[a, a] - weight[a] * weight[a] / variance, weight[a] / variance
        gradient[n] += 0.5 * s.process[k].nugget * own
        for i in range(n):
            u[i] = x[i, a]
        for i in range(n):
            column, total = x[i], 0.5 * own * (u[i] - 0.5)
            for b in range(a):
                total += (known[b] - part * weight[b]) * (column[b] - 0.5)
            gradient[n + 1] += s.process[k].linear * (u[i] - 0.5) * total
        squared_distances(x, a, rate, u, row)
        for b in range(a):
            r = _ROOT_5 * math.sqrt(row[b])
            row[b] = (part * weight[b] - known[b]) * (5.0 / 6.0) * (1.0 + r) * exp(-r)
        for i in range(n):
            column, at, total = x[i], u[i], 0.0
            for b in range(a):
                gap = column[b] - at
                total += row[b] * gap * gap
            gradient[i] += rate[i] * total


@compiled
def posterior(s: ProcessState, k: int, parameters: Floats) -> float:
    """Return the negative log posterior density of parameters, and write its gradient."""
    n, gradient = s.process_x.shape[1], s.process_gradient
    for i in range(gradient.size):
        gradient[i] = 0.0
    call(s.condition_kernel[0], s, k, parameters)
    value = s.process[k].objective
    invert(s.process_factor[k], s.process[k].count, s.process_inverse)
    _add_likelihood_gradient(s, k)
    centre = _LENGTH_PRIOR[k] + 0.5 * log(float(n))
    for i in range(n):
        z = (-0.5 * float(parameters[i]) - centre) / _LENGTH_DEVIATION[k]
        value += 0.5 * z * z
        gradient[i] -= 0.5 * z / _LENGTH_DEVIATION[k]
    z = (float(parameters[n]) - _NUGGET_PRIOR) / _NUGGET_DEVIATION
    value += 0.5 * z * z
    gradient[n] += z / _NUGGET_DEVIATION
    z = (float(parameters[n + 1]) - _LINEAR_PRIOR) / _LINEAR_DEVIATION
    gradient[n + 1] += z / _LINEAR_DEVIATION
    return value + 0.5 * z * z


@compiled
def fit(s: ProcessState, k: int, parameters: Floats, steps: int) -> None:
    """Improve the parameters of process `k` in place by some steps; write their negative log posterior density."""
    best, last, step, found = np.inf, s.process_last, s.process_step, s.process_found
    for i in range(parameters.size):
        last[i] = 0.0
        step[i] = _FIRST_STEP
        found[i] = parameters[i]
    for _ in range(steps):
        value = posterior(s, k, parameters)
        if value < best:
            best = value
            for i in range(parameters.size):
                found[i] = parameters[i]
        _take_step(s, k, parameters)
    for i in range(parameters.size):
        parameters[i] = found[i]
    s.process[k].objective = best


FIT = Routine("fit_kernel", fit, (int64, float64[::1], int64))


@inlined
def _take_step(s: ProcessState, k: int, parameters: Floats) -> None:
    """Move each parameter against its gradient by its own step, which grows while the sign stays (Rprop)."""
    n, gradient, last, step = parameters.size - EXTRA, s.process_gradient, s.process_last, s.process_step
    for i in range(parameters.size):
        slope = gradient[i]
        if slope * last[i] < 0.0:
            step[i] = max(step[i] * _SHRINK, _MIN_STEP)
            last[i] = 0.0
            continue
        if slope * last[i] > 0.0:
            step[i] = min(step[i] * _GROW, _MAX_STEP)
        last[i] = slope
        moved = parameters[i] + (step[i] if slope < 0.0 else -step[i] if slope > 0.0 else 0.0)
        low = -_MAX_LOG if i < n else _MIN_NUGGET[k] if i == n else _MIN_LINEAR
        high = _MAX_LOG if i < n else _MAX_NUGGET if i == n else _MAX_LINEAR
        parameters[i] = min(max(moved, low), high)


@compiled
def set_default(parameters: Floats, log_length: float, nugget: float) -> None:
    """Set parameters to one length scale, a nugget and a moderate linear part."""
    n = parameters.size - EXTRA
    for i in range(n):
        parameters[i] = -2.0 * log_length
    parameters[n] = log(nugget)
    parameters[n + 1] = _LINEAR_PRIOR
