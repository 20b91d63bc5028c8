"""Quadratic surrogate: a weighted linear regression with one curvature, or one per variable.

How many candidates a model should be fitted to depends on the objective and on the progress of the search: rippled
objectives need many, curved ones few. Therefore models of several archive lengths may compete; the one with the least
prediction error on the newest candidates is used.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from robustforge.components import mean_based
from robustforge.components.mean_based import MeanState
from robustforge.core.agents import copy, fill
from robustforge.core.compiler import Routine, call, compiled, inlined
from robustforge.core.component import codes
from robustforge.core.state import ONE, Array, Floats, Integers, Plan, Shape

if TYPE_CHECKING:
    from robustforge.components.regression_search import RegressionSearch

Curvature = Literal["isotropic", "diagonal"]
ISOTROPIC, DIAGONAL = codes(Curvature)

MAX_ARCHIVE_LENGTH = 7
"""Candidates that the model is fitted to at most, per variable."""

MAX_LENGTHS = 3
"""Archive lengths that compete at most, each twice the one before."""

_DECAY = 0.7
"""Weight of the prediction error so far, when it is updated by further candidates."""

AT_ONCE = 4
"""Candidates that `_add`, which is unrolled for this number, adds to the normal equations in one pass."""

LARGE = 256
"""Variables from which on the normal equations are solved by conjugate gradients, without being formed: there are
mostly fewer candidates than variables, and a factorisation would take longer than all the rest."""


class SurrogateState(MeanState):
    """The archive of a regression search, and the models fitted to it."""

    archive_x: Annotated[Floats, Shape("archive", "dimension"), "the newest candidates, in a ring buffer"]
    archive_f: Annotated[Floats, Shape("archive"), "their values"]
    archive_count: Annotated[Integers, ONE, "candidates that were ever added"]
    models: Annotated[Floats, Shape("archive_lengths", "model"), "coefficients of the model of each archive length"]
    coefficients: Annotated[Floats, Shape("model"), "coefficients of the model in use"]
    prediction_error: Annotated[
        Floats, Shape("archive_lengths"), "error of each model on newer candidates; 1 is useless"
    ]
    model_mean: Annotated[Floats, Shape("model_dimension"), "the mean that the models were fitted around"]
    model_radius: Annotated[Floats, Shape("model_dimension"), "the radius that they were fitted with"]
    normal_matrix: Annotated[Floats, Shape("model", "model"), "matrix of the normal equations; upper triangle"]
    normal_rhs: Annotated[Floats, Shape("model"), "right-hand side of the normal equations"]
    normal_factor: Annotated[Floats, Shape("model", "model"), "the matrix with a ridge, and its Cholesky factor"]
    features: Annotated[Floats, Shape("observations", "model"), "features of observations: 1, linear, curvature"]
    observation_weight: Annotated[Floats, Shape("observations"), "their weights, which decrease with the distance"]
    observation_value: Annotated[Floats, Shape("observations"), "their values, as a fraction of the range of values"]
    curvature_feature: Annotated[Floats, Shape("observations"), "the feature of the one shared curvature"]
    update_errors_kernel: Annotated[Integers, ONE, "address of `update_errors`"]
    fit_iteratively_kernel: Annotated[Integers, ONE, "address of `fit_iteratively`"]


def surrogate_sizes(plan: Plan, lengths: int, archive: int, model: int) -> dict[str, int]:
    """Return the sizes of the memory of some models, with an archive and a number of coefficients."""
    large = plan.dimension >= LARGE
    return {
        "archive": archive,
        "archive_lengths": lengths,
        "model": model,
        "model_dimension": plan.dimension,
        "observations": archive + AT_ONCE if large else AT_ONCE,
        "cg_model": model if large else 0,
    }


@inlined
def remember(s: SurrogateState, x: Floats, value: float) -> None:
    """Add a candidate and its value to the archive."""
    row = s.archive_count[0] % s.archive_f.size
    copy(x, s.archive_x[row])
    s.archive_f[row] = value
    s.archive_count[0] += 1


@inlined
def clear_archive(s: SurrogateState) -> None:
    """Remove all candidates, models and prediction errors."""
    s.archive_count[0] = 0
    fill(s.prediction_error, 0.0)
    for length in range(s.models.shape[0]):
        fill(s.models[length], 0.0)


@inlined
def fit(s: SurrogateState) -> bool:
    """Fit the models by weighted least squares, and write the best to `s.coefficients`; return whether there is one.

    Positions are in units of the radius and values in units of their range, so that the ridge means the same
    everywhere. Infeasible candidates count as the worst of the others. A longer archive continues the sums of the
    shorter ones.
    """
    p: RegressionSearch = s.outer[0]
    n = s.counters[0].dimension
    total, lengths = s.archive_count[0], s.models.shape[0]
    low, high = np.inf, -np.inf
    for k in range(total - archive_size(s, lengths - 1), total):
        value = s.archive_f[k % s.archive_f.size]
        low = min(low, value)
        if value < np.inf:
            high = max(high, value)
    if not low < high or not high - low < np.inf:
        return False
    size = 2 * n + 1 if p.model == DIAGONAL else n + 2
    if n >= LARGE:
        call(s.fit_iteratively_kernel[0], s, size, low, high)
        _use_best(s, high - low)
        return True
    for i in range(size):
        fill(s.normal_matrix[i], 0.0)
    fill(s.normal_rhs, 0.0)
    weights, newer = 0.0, total
    for length in range(lengths):
        older = total - archive_size(s, length)
        for k in range(older, newer, AT_ONCE):
            for m in range(AT_ONCE):
                s.observation_weight[m] = 0.0
                if k + m < newer:
                    observe(s, m, (k + m) % s.archive_f.size, low, high)
                weights += s.observation_weight[m]
            _add(s, size)
        newer = older
        if not _solve_directly(s, length, weights, size):
            return False
    _use_best(s, high - low)
    return True


@compiled
def _use_best(s: SurrogateState, scale: float) -> None:
    """Use the model with the least prediction error; where several compete, remember what they were fitted to."""
    lengths = s.models.shape[0]
    copy(s.models[_best_model(s)], s.coefficients)
    if lengths > 1:
        for length in range(lengths):
            for i in range(s.coefficients.size):
                s.models[length, i] *= scale
        copy(s.mean, s.model_mean)
        copy(s.radius, s.model_radius)


@inlined
def _solve_directly(s: SurrogateState, length: int, weights: float, size: int) -> bool:
    """Write the coefficients of a model, by the sums so far, to `s.models`; return whether there are any."""
    p: RegressionSearch = s.outer[0]
    n = s.counters[0].dimension
    for i in range(size):
        copy(s.normal_matrix[i], s.normal_factor[i])
    for i in range(1, n + 1):
        s.normal_factor[i, i] += p.ridge * weights
    s.normal_factor[0, 0] += 1e-9 * weights
    for i in range(n + 1, size):
        s.normal_factor[i, i] += (p.ridge if p.model == DIAGONAL else 1e-6) * weights
    copy(s.normal_rhs, s.models[length])
    return solve(s.normal_factor, s.models[length], size)


@compiled
def archive_size(s: SurrogateState, length: int) -> int:
    """Return how many of the newest candidates a model is fitted to."""
    p: RegressionSearch = s.outer[0]
    longest = p.archive_length * (1 << length) * s.counters[0].dimension
    return min(s.archive_count[0], int(min(float(s.archive_f.size), longest)))


@inlined
def _best_model(s: SurrogateState) -> int:
    best = 0
    for length in range(1, s.prediction_error.size):
        if s.prediction_error[length] < s.prediction_error[best]:
            best = length
    return best


@compiled
def update_errors(s: SurrogateState) -> None:
    """Update the prediction error of each model by the newest candidates, which it was not fitted to.

    Errors are relative to the variance of the candidates' values: 1 is as good as no model.
    """
    t = s.counters[0]
    total, square, count = 0.0, 0.0, 0
    for j in range(1, t.agents):
        if mean_based.has_value(s, j) and s.worst[j] < np.inf:
            total += s.worst[j]
            square += s.worst[j] * s.worst[j]
            count += 1
    variation = square - total * total / max(count, 1)
    if count < 2 or s.archive_count[0] < 2 or not variation > 1e-12 * square:
        return
    for length in range(s.prediction_error.size):
        total, square = 0.0, 0.0
        for j in range(1, t.agents):
            if mean_based.has_value(s, j) and s.worst[j] < np.inf:
                error = s.worst[j] - _predicted(s, length, s.x[j])
                total += error
                square += error * error
        s.prediction_error[length] = (
            _DECAY * s.prediction_error[length] + (1.0 - _DECAY) * (square - total * total / count) / variation
        )


@inlined
def _predicted(s: SurrogateState, length: int, x: Floats) -> float:
    """Return the prediction of a model at a point, up to a constant."""
    p: RegressionSearch = s.outer[0]
    n = x.size
    model, centre, radius = s.models[length], s.model_mean, s.model_radius
    value, square = 0.0, 0.0
    for i in range(n):
        u = 0.0
        if radius[i] > 0.0:
            u = (x[i] - centre[i]) / radius[i]
        value += model[1 + i] * u
        if p.model == DIAGONAL:
            value += model[1 + n + i] * 0.5 * u * u
        square += u * u
    if p.model == ISOTROPIC:
        value += model[n + 1] * 0.5 * square / math.sqrt(float(n))
    return value


@compiled
def observe(s: SurrogateState, m: int, row: int, low: float, high: float) -> None:
    """Write a candidate of the archive as observation `m`: features, weight, and scaled value."""
    p: RegressionSearch = s.outer[0]
    n = s.counters[0].dimension
    feature, x, square = s.features[m], s.archive_x[row], 0.0
    feature[0] = 1.0
    for i in range(n):
        u = 0.0
        if s.radius[i] > 0.0:
            u = (x[i] - s.mean[i]) / s.radius[i]
        feature[1 + i] = u
        square += u * u
        if p.model == DIAGONAL:
            feature[1 + n + i] = 0.5 * u * u
    if p.model == ISOTROPIC:
        feature[n + 1] = 0.5 * square / math.sqrt(float(n))
        s.curvature_feature[m] = feature[n + 1]
    distance = square / (n * p.weight_distance * p.weight_distance)
    s.observation_weight[m] = 1.0 / (1.0 + distance * distance)
    s.observation_value[m] = (min(s.archive_f[row], high) - low) / (high - low)


@compiled
def _add(s: SurrogateState, size: int) -> None:
    """Add the weighted observations to the normal equations, of which the upper triangle is kept.

    Loops over slices that start where the row does are compiled to code that is twice as fast.
    """
    one, two, three, four, weight = s.features[0], s.features[1], s.features[2], s.features[3], s.observation_weight
    for i in range(size):
        a, b, c, d = weight[0] * one[i], weight[1] * two[i], weight[2] * three[i], weight[3] * four[i]
        e, f, g, h = s.observation_value[0], s.observation_value[1], s.observation_value[2], s.observation_value[3]
        s.normal_rhs[i] = s.normal_rhs[i] + a * e + b * f + c * g + d * h
        row, p, q, r, u = s.normal_matrix[i, i:size], one[i:size], two[i:size], three[i:size], four[i:size]
        for k in range(row.size):
            row[k] = row[k] + a * p[k] + b * q[k] + c * r[k] + d * u[k]


@compiled
def solve(matrix: Array, solution: Floats, size: int) -> bool:
    """Solve a symmetric positive definite system in place, by its upper triangle; False if it is not definite."""
    for k in range(size):
        pivot = matrix[k, k:size]
        if not pivot[0] > 0.0:
            return False
        root = math.sqrt(pivot[0])
        for i in range(pivot.size):
            pivot[i] /= root
        solution[k] /= root
        for i in range(1, pivot.size):
            row, rest, factor = matrix[k + i, k + i : size], pivot[i:], pivot[i]
            solution[k + i] -= factor * solution[k]
            for m in range(row.size):
                row[m] -= factor * rest[m]
    for k in range(size - 1, -1, -1):
        row, total = matrix[k], solution[k]
        for i in range(k + 1, size):
            total -= row[i] * solution[i]
        solution[k] = total / row[k]
    return True


UPDATE_ERRORS = Routine("update_errors_kernel", update_errors, ())
