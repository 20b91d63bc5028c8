"""Iterative fit of the quadratic surrogate in many variables: conjugate gradients on the normal equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from numba import float64, int64

from robustforge.components.quadratic_surrogate import AT_ONCE, DIAGONAL, SurrogateState, archive_size, observe
from robustforge.core.agents import copy, fill
from robustforge.core.compiler import Routine, compiled, inlined
from robustforge.core.state import Floats, Shape

if TYPE_CHECKING:
    from robustforge.components.regression_search import RegressionSearch

_ITERATIONS, _ACCURACY = 24, 1e-3
"""Conjugate gradient iterations at most, and the relative residual to reach: an early end acts like a larger ridge."""


class IterativeFitState(SurrogateState):
    """The memory of the conjugate gradients."""

    projection: Annotated[
        Floats, Shape("observations"), "the residual, or the image of the direction, at each observation"
    ]
    cg_residual: Annotated[Floats, Shape("cg_model"), "the residual"]
    cg_direction: Annotated[Floats, Shape("cg_model"), "the search direction"]
    cg_image: Annotated[Floats, Shape("cg_model"), "the normal matrix times the direction"]


@compiled
def fit_iteratively(s: IterativeFitState, size: int, low: float, high: float) -> None:
    """Fit the model of each archive length by conjugate gradients; observations are ordered from the newest."""
    total, lengths = s.archive_count[0], s.models.shape[0]
    longest = archive_size(s, lengths - 1)
    for m in range(longest):
        observe(s, m, (total - 1 - m) % s.archive_f.size, low, high)
    for m in range(longest, longest + AT_ONCE):  # so that there are always four to process
        s.observation_weight[m] = 0.0
        s.observation_value[m] = 0.0
        fill(s.features[m], 0.0)
    for length in range(lengths):
        _solve_iteratively(s, length, archive_size(s, length), size)


@inlined
def _solve_iteratively(s: IterativeFitState, length: int, count: int, size: int) -> None:
    """Write the coefficients of a model to `s.models`: those of `_solve_directly`, up to a small residual.

    The constant and the shared curvature, which have hardly any ridge, are eliminated first: what is left has few
    different eigenvalues, and needs few iterations.
    """
    p: RegressionSearch = s.outer[0]
    found, residual, step, image, kept = s.models[length], s.cg_residual, s.cg_direction, s.cg_image, s.projection
    weights = 0.0
    for m in range(count):
        weights += s.observation_weight[m]
        kept[m] = s.observation_value[m]
    ridge = p.ridge * weights
    fill(found, 0.0)
    _eliminate(s, count, weights)
    _back_project(s, count, residual)
    copy(residual, step)
    energy = _square(residual)
    first = energy
    for _ in range(_ITERATIONS):
        if not energy > _ACCURACY * _ACCURACY * first:
            break
        _project(s, count, step)
        _eliminate(s, count, weights)
        _back_project(s, count, image)
        along = 0.0
        for i in range(size):
            image[i] += ridge * step[i]
            along += step[i] * image[i]
        factor, before = energy / along, energy
        for i in range(size):
            found[i] += factor * step[i]
            residual[i] -= factor * image[i]
        energy = _square(residual)
        for i in range(size):
            step[i] = residual[i] + energy / before * step[i]
    _project(s, count, found)
    for m in range(count):
        kept[m] = s.observation_value[m] - kept[m]
    found[0], curvature = _eliminate(s, count, weights)
    if p.model != DIAGONAL:
        found[size - 1] = curvature


@compiled
def _eliminate(s: IterativeFitState, count: int, weights: float) -> tuple[float, float]:
    """Take the best constant and curvature out of `s.projection`, a number for each observation; return both."""
    p: RegressionSearch = s.outer[0]
    kept = s.projection
    one, two, square, a, b = weights * (1.0 + 1e-9), 0.0, 0.0, 0.0, 0.0
    for m in range(count):
        weight, bend = s.observation_weight[m], s.curvature_feature[m]
        two += weight * bend
        square += weight * bend * bend
        a += weight * kept[m]
        b += weight * bend * kept[m]
    square += 1e-6 * weights
    constant, curvature = a / one, 0.0
    if p.model != DIAGONAL:
        curvature = (b - two * a / one) / (square - two * two / one)
        constant = (a - two * curvature) / one
    for m in range(count):
        kept[m] -= constant + curvature * s.curvature_feature[m]
    return constant, curvature


@compiled
def _project(s: IterativeFitState, count: int, step: Floats) -> None:
    """Write the inner product of each observation's features and `step` to `s.projection`; four at once."""
    kept = s.projection
    for m in range(0, count, AT_ONCE):
        one, two, three, four = s.features[m], s.features[m + 1], s.features[m + 2], s.features[m + 3]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for i in range(step.size):
            a, b, c, d = a + one[i] * step[i], b + two[i] * step[i], c + three[i] * step[i], d + four[i] * step[i]
        kept[m], kept[m + 1], kept[m + 2], kept[m + 3] = a, b, c, d


@compiled
def _back_project(s: IterativeFitState, count: int, image: Floats) -> None:
    """Write the weighted sum of all features, with factors in `s.projection`, to `image`; four at once."""
    p: RegressionSearch = s.outer[0]
    kept, weight = s.projection, s.observation_weight
    fill(image, 0.0)
    for m in range(0, count, AT_ONCE):
        one, two, three, four = s.features[m], s.features[m + 1], s.features[m + 2], s.features[m + 3]
        a, b = weight[m] * kept[m], weight[m + 1] * kept[m + 1] if m + 1 < count else 0.0
        c = weight[m + 2] * kept[m + 2] if m + 2 < count else 0.0
        d = weight[m + 3] * kept[m + 3] if m + 3 < count else 0.0
        for i in range(image.size):
            image[i] = image[i] + a * one[i] + b * two[i] + c * three[i] + d * four[i]
    image[0] = 0.0  # the constant, and the one curvature, are eliminated
    if p.model != DIAGONAL:
        image[image.size - 1] = 0.0


@compiled
def _square(row: Floats) -> float:
    total = 0.0
    for i in range(row.size):
        total += row[i] * row[i]
    return total


FIT_ITERATIVELY = Routine("fit_iteratively_kernel", fit_iteratively, (int64, float64, float64))
