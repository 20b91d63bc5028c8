"""The model of a regression search: linear with a curvature, fitted to the candidates so far, the near ones first.

How many candidates a model should remember depends on the objective, and on how far the search has come: ripples ask
for many, bends for few. So several windows may compete: who foretold the last candidates best says where the middle
goes.
"""

from __future__ import annotations

import math

import numpy as np

from robustforge.components import middle
from robustforge.core.compiler import call, compiled, inlined
from robustforge.core.state import Array, Floats, Plan, State, StateField, copy, fill

ISOTROPIC, DIAGONAL = range(2)

LARGEST_WINDOW = 7
"""Candidates that the model is fitted to at most, per variable."""

MOST_WINDOWS = 3
"""Windows that compete at most, each twice as long as the one before."""

_KEPT = 0.7
"""Weight of what was known of a model's errors before, when it has foretold further candidates."""

AT_ONCE = 4
"""Candidates that `_add`, which is written out for so many, adds to the normal equations in one pass over them."""

LARGE = 256
"""Variables from which on the normal equations are not written down but solved by conjugate gradients: there are mostly
fewer candidates than variables, and a factorisation would take longer than all the rest."""

_ITERATIONS, _ACCURACY = 24, 1e-3
"""Of the conjugate gradients, at most, and how far the residual is to fall: an early end acts like a larger ridge."""

STATE_FIELDS = (
    StateField("archive_x", np.float64, lambda p: (p.archive, p.dimension)),
    StateField("archive", np.float64, lambda p: (p.archive,)),
    StateField("archived", np.int64, lambda p: (1,)),
    StateField("matrix", np.float64, lambda p: (p.matrix, p.matrix)),
    StateField("solution", np.float64, lambda p: (p.matrix,)),
    StateField("normal", np.float64, lambda p: (p.matrix, p.matrix)),
    StateField("models", np.float64, lambda p: (p.windows, p.matrix)),
    StateField("error", np.float64, lambda p: (p.windows,)),
    StateField("modelled", np.float64, lambda p: (2, p.middles if p.windows else 0)),
    StateField("feature", np.float64, lambda p: (_rows(p), p.matrix)),
    StateField("weight", np.float64, lambda p: (_rows(p),)),
    StateField("target", np.float64, lambda p: (_rows(p),)),
    StateField("bend", np.float64, lambda p: (_rows(p),)),  # the feature of the one curvature
    StateField("along", np.float64, lambda p: (_rows(p),)),
    StateField("krylov", np.float64, lambda p: (3, p.matrix if p.dimension >= LARGE else 0)),
)


def _rows(plan: Plan) -> int:
    """Return the observations that are held at once: a few, or all where the equations are not written down."""
    if not plan.matrix:
        return 0
    return plan.archive + AT_ONCE if plan.dimension >= LARGE else AT_ONCE


@inlined
def remember(s: State, x: Floats, value: float) -> None:
    """Add a candidate, and what it is worth, to those that the models are fitted to."""
    row = s.archived[0] % s.archive.size
    copy(x, s.archive_x[row])
    s.archive[row] = value
    s.archived[0] += 1


@inlined
def forget(s: State) -> None:
    """Begin with no candidates, and with nothing known of the windows."""
    s.archived[0] = 0
    fill(s.error, 0.0)
    for window in range(s.models.shape[0]):
        fill(s.models[window], 0.0)


@inlined
def fit(s: State) -> bool:
    """Fit the models by weighted least squares; coefficients of the best are in `s.solution`. False if there is none.

    In units of the radius and of the range of the values, so that the ridge means the same everywhere. Infeasible
    candidates count as the worst of the others. A longer window goes on with the sums of the shorter ones.
    """
    p, n = s.outer[0], s.tally[0].dimension
    total, windows = s.archived[0], s.models.shape[0]
    low, high = np.inf, -np.inf
    for k in range(total - _remembered(s, windows - 1), total):
        value = s.archive[k % s.archive.size]
        low = min(low, value)
        if value < np.inf:
            high = max(high, value)
    if not low < high or not high - low < np.inf:
        return False
    size = 2 * n + 1 if p.model == DIAGONAL else n + 2
    if n >= LARGE:
        call(s.routines[0].fit_iteratively, s, size, low, high)
        _take_best(s, high - low)
        return True
    for i in range(size):
        fill(s.matrix[i], 0.0)
    fill(s.solution, 0.0)
    weights, newer = 0.0, total
    for window in range(windows):
        older = total - _remembered(s, window)
        for k in range(older, newer, AT_ONCE):
            for m in range(AT_ONCE):
                s.weight[m] = 0.0
                if k + m < newer:
                    _observe(s, m, (k + m) % s.archive.size, low, high)
                weights += s.weight[m]
            _add(s, size)
        newer = older
        if not _solve_for(s, window, weights, size):
            return False
    _take_best(s, high - low)
    return True


@compiled
def _take_best(s: State, spread: float) -> None:
    """Take the model of the best window; where several compete, remember what they were fitted to."""
    windows = s.models.shape[0]
    copy(s.models[_best_window(s)], s.solution)
    if windows > 1:
        for window in range(windows):
            for i in range(s.solution.size):
                s.models[window, i] *= spread
        copy(s.middle, s.modelled[0])
        copy(s.radius, s.modelled[1])


@compiled
def fit_iteratively(s: State, size: int, low: float, high: float) -> None:
    """Fit the model of each window by conjugate gradients; observations stand newest first."""
    total, windows = s.archived[0], s.models.shape[0]
    longest = _remembered(s, windows - 1)
    for m in range(longest):
        _observe(s, m, (total - 1 - m) % s.archive.size, low, high)
    for m in range(longest, longest + AT_ONCE):  # so that there are always four to go on with
        s.weight[m] = 0.0
        s.target[m] = 0.0
        fill(s.feature[m], 0.0)
    for window in range(windows):
        _solve_iteratively(s, window, _remembered(s, window), size)


@inlined
def _solve_iteratively(s: State, window: int, count: int, size: int) -> None:
    """Write the coefficients of a window's model to `s.models`: those of `_solve_for`, up to a small residual.

    The constant and the one curvature, which hardly any ridge holds, are eliminated beforehand: what is left has few
    different eigenvalues, and few iterations do.
    """
    found, residual, step, image, kept = s.models[window], s.krylov[0], s.krylov[1], s.krylov[2], s.along
    weights = 0.0
    for m in range(count):
        weights += s.weight[m]
        kept[m] = s.target[m]
    ridge = s.outer[0].ridge * weights
    fill(found, 0.0)
    _eliminate(s, count, weights)
    _combine(s, count, residual)
    copy(residual, step)
    energy = _square(residual)
    first = energy
    for _ in range(_ITERATIONS):
        if not energy > _ACCURACY * _ACCURACY * first:
            break
        _project(s, count, step)
        _eliminate(s, count, weights)
        _combine(s, count, image)
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
        kept[m] = s.target[m] - kept[m]
    found[0], curvature = _eliminate(s, count, weights)
    if s.outer[0].model != DIAGONAL:
        found[size - 1] = curvature


@compiled
def _eliminate(s: State, count: int, weights: float) -> tuple[float, float]:
    """Take the best constant and curvature out of `s.along`, a number for each observation; return both."""
    kept = s.along
    one, two, square, a, b = weights * (1.0 + 1e-9), 0.0, 0.0, 0.0, 0.0
    for m in range(count):
        weight, bend = s.weight[m], s.bend[m]
        two += weight * bend
        square += weight * bend * bend
        a += weight * kept[m]
        b += weight * bend * kept[m]
    square += 1e-6 * weights
    constant, curvature = a / one, 0.0
    if s.outer[0].model != DIAGONAL:
        curvature = (b - two * a / one) / (square - two * two / one)
        constant = (a - two * curvature) / one
    for m in range(count):
        kept[m] -= constant + curvature * s.bend[m]
    return constant, curvature


@compiled
def _project(s: State, count: int, step: Floats) -> None:
    """Write the inner product of each observation's features and `step` to `s.along`; four at once."""
    kept = s.along
    for m in range(0, count, AT_ONCE):
        one, two, three, four = s.feature[m], s.feature[m + 1], s.feature[m + 2], s.feature[m + 3]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for i in range(step.size):
            a, b, c, d = a + one[i] * step[i], b + two[i] * step[i], c + three[i] * step[i], d + four[i] * step[i]
        kept[m], kept[m + 1], kept[m + 2], kept[m + 3] = a, b, c, d


@compiled
def _combine(s: State, count: int, image: Floats) -> None:
    """Write the weighted sum of the observations' features, by the numbers in `s.along`, to `image`; four at once."""
    kept, weight = s.along, s.weight
    fill(image, 0.0)
    for m in range(0, count, AT_ONCE):
        one, two, three, four = s.feature[m], s.feature[m + 1], s.feature[m + 2], s.feature[m + 3]
        a, b = weight[m] * kept[m], weight[m + 1] * kept[m + 1] if m + 1 < count else 0.0
        c = weight[m + 2] * kept[m + 2] if m + 2 < count else 0.0
        d = weight[m + 3] * kept[m + 3] if m + 3 < count else 0.0
        for i in range(image.size):
            image[i] = image[i] + a * one[i] + b * two[i] + c * three[i] + d * four[i]
    image[0] = 0.0  # the constant, and the one curvature, are eliminated
    if s.outer[0].model != DIAGONAL:
        image[image.size - 1] = 0.0


@compiled
def _square(row: Floats) -> float:
    total = 0.0
    for i in range(row.size):
        total += row[i] * row[i]
    return total


@inlined
def _solve_for(s: State, window: int, weights: float, size: int) -> bool:
    """Write the coefficients of a window's model, by the sums so far, to `s.models`; False if there are none."""
    p, n = s.outer[0], s.tally[0].dimension
    for i in range(size):
        copy(s.matrix[i], s.normal[i])
    for i in range(1, n + 1):
        s.normal[i, i] += p.ridge * weights
    s.normal[0, 0] += 1e-9 * weights
    for i in range(n + 1, size):
        s.normal[i, i] += (p.ridge if p.model == DIAGONAL else 1e-6) * weights
    copy(s.solution, s.models[window])
    return solve(s.normal, s.models[window], size)


@compiled
def _remembered(s: State, window: int) -> int:
    """Return how many of the last candidates a window holds."""
    longest = s.outer[0].window * (1 << window) * s.tally[0].dimension
    return min(s.archived[0], int(min(float(s.archive.size), longest)))


@inlined
def _best_window(s: State) -> int:
    best = 0
    for window in range(1, s.error.size):
        if s.error[window] < s.error[best]:
            best = window
    return best


@compiled
def judge(s: State) -> None:
    """Note how well the model of each window, which does not know them, tells the new candidates on the shell apart.

    Errors are in units of the spread of the candidates' values: 1 is as good as no model.
    """
    t = s.tally[0]
    total, square, count = 0.0, 0.0, 0
    for j in range(1, t.agents):
        if middle.is_counted(s, j) and s.worst[j] < np.inf:
            total += s.worst[j]
            square += s.worst[j] * s.worst[j]
            count += 1
    spread = square - total * total / max(count, 1)
    if count < 2 or s.archived[0] < 2 or not spread > 1e-12 * square:
        return
    for window in range(s.error.size):
        total, square = 0.0, 0.0
        for j in range(1, t.agents):
            if middle.is_counted(s, j) and s.worst[j] < np.inf:
                gap = s.worst[j] - _foretold(s, window, s.x[j])
                total += gap
                square += gap * gap
        s.error[window] = _KEPT * s.error[window] + (1.0 - _KEPT) * (square - total * total / count) / spread


@inlined
def _foretold(s: State, window: int, x: Floats) -> float:
    """Return what the model of a window, as it was when it was fitted, says of a point, up to a constant."""
    p, n = s.outer[0], x.size
    model, centre, radius = s.models[window], s.modelled[0], s.modelled[1]
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
def _observe(s: State, m: int, row: int, low: float, high: float) -> None:
    """Write a candidate of the archive as observation `m`: features, weight, and its value as a share of the range."""
    p, n = s.outer[0], s.tally[0].dimension
    feature, x, square = s.feature[m], s.archive_x[row], 0.0
    feature[0] = 1.0
    for i in range(n):
        u = 0.0
        if s.radius[i] > 0.0:
            u = (x[i] - s.middle[i]) / s.radius[i]
        feature[1 + i] = u
        square += u * u
        if p.model == DIAGONAL:
            feature[1 + n + i] = 0.5 * u * u
    if p.model == ISOTROPIC:
        feature[n + 1] = 0.5 * square / math.sqrt(float(n))
        s.bend[m] = feature[n + 1]
    gap = square / (n * p.weight * p.weight)
    s.weight[m] = 1.0 / (1.0 + gap * gap)
    s.target[m] = (min(s.archive[row], high) - low) / (high - low)


@compiled
def _add(s: State, size: int) -> None:
    """Add the weighted observations to the normal equations, of which the upper triangle is kept.

    Along slices that begin where the row does, the loop over them is compiled to twice as fast a one.
    """
    one, two, three, four = s.feature[0], s.feature[1], s.feature[2], s.feature[3]
    for i in range(size):
        a, b, c, d = s.weight[0] * one[i], s.weight[1] * two[i], s.weight[2] * three[i], s.weight[3] * four[i]
        s.solution[i] = s.solution[i] + a * s.target[0] + b * s.target[1] + c * s.target[2] + d * s.target[3]
        row, p, q, r, u = s.matrix[i, i:size], one[i:size], two[i:size], three[i:size], four[i:size]
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
