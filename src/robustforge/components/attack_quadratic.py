"""The quadratic model of a closing attack, and its maxima on a ball and in a box."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from robustforge.components.attack_model import ClosingState, inner_product, solve_with_ridge
from robustforge.core.agents import fill
from robustforge.core.compiler import compiled
from robustforge.core.state import Floats

if TYPE_CHECKING:
    from robustforge.core.state import Array


@compiled
def fit_quadratic(s: ClosingState, count: int, scale: float) -> bool:
    """Fit a quadratic model to the loaded points, after `fill_model`; return whether there is one.

    It is a kernel ridge regression, 1 + u.v + (u.v)^2 / 2, where lengths are divided by `scale`. Its value at an
    offset u from the centre is, up to a constant, slope.u + u.H u / 2, with `local_slope` and `local_hessian`.
    """
    n, x, f, weight = s.local_unit.size, s.local_x, s.local_f, s.local_weight
    gram, alpha, total, level = s.local_gram[:count, :count], s.local_alpha[:count], 0.0, 0.0
    for a in range(count):
        total += weight[a]
        level += weight[a] * f[a]
    for a in range(count):
        root = math.sqrt(weight[a])
        alpha[a] = root * (f[a] - level / total)
        for b in range(a + 1):
            inner = inner_product(x[a], x[b]) / (scale * scale)
            gram[a, b] = root * math.sqrt(weight[b]) * (1.0 + inner + 0.5 * inner * inner)
    solve_with_ridge(gram, alpha)
    slope, hessian = s.local_slope, s.local_hessian
    fill(slope, 0.0)
    for i in range(n):
        fill(hessian[i], 0.0)
    for a in range(count):
        linear, row = alpha[a] * math.sqrt(weight[a]) / (scale * scale), x[a]
        square = linear / (scale * scale)
        for i in range(n):
            slope[i] += linear * row[i]
            part, out = square * row[i], hessian[i]
            for j in range(n):
                out[j] += part * row[j]
    check = 0.0
    for i in range(n):
        check += slope[i]
    return math.isfinite(check)


@compiled
def climb_ball(slope: Floats, hessian: Floats, active: Array, u: Floats, image: Floats) -> None:
    """Move a point of the unit sphere to a maximum of slope.u + u.H u / 2 there, by steps that never descend."""
    shift = 0.0
    for i in active:
        for j in active:
            shift += hessian[i, j] * hessian[i, j]
    shift = 0.5 * math.sqrt(shift)
    for _ in range(24):
        square = 0.0
        for i in active:
            total, row = slope[i] + shift * u[i], hessian[i]
            for j in active:
                total += row[j] * u[j]
            image[i] = total
            square += total * total
        if not 0.0 < square < np.inf:
            return
        length, moved = math.sqrt(square), 0.0
        for i in active:
            moved = max(moved, abs(u[i] - image[i] / length))
            u[i] = image[i] / length
        if moved < 1e-3:
            return


@compiled
def climb_box(slope: Floats, hessian: Floats, active: Array, u: Floats) -> None:
    """Move a point of the unit box to a maximum of slope.u + u.H u / 2 along each variable."""
    for _ in range(8):
        moved = False
        for i in active:
            row, bend = hessian[i], hessian[i, i]
            rise = slope[i] - bend * u[i]
            for j in active:
                rise += row[j] * u[j]
            best = 1.0 if rise >= 0.0 else -1.0
            if bend < 0.0 and abs(rise) < -bend:
                best = -rise / bend
            if abs(best - u[i]) > 1e-3:
                u[i] = best
                moved = True
        if not moved:
            return
