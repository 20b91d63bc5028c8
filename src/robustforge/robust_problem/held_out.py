"""Held-out test functions: nothing is evolved or tuned on them; for final tables only.

From the literature on black-box optimisation, with boxes that are not centred on the optimum. Like the others, each
takes the point and its placement, and so has all variants.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from robustforge.core.compiler import compiled
from robustforge.core.portable_math import cos, cosine, exp, sin
from robustforge.robust_problem.test_functions import FUNCTIONS, Function, placed

Floats = npt.NDArray[np.float64]

_LOG_1000 = 6.907755278982137


@compiled
def _griewank(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    squares, product = 0.0, 1.0
    for i in range(z.size):
        squares += z[i] * z[i]
        product *= cos(z[i] / math.sqrt(i + 1.0))
    return 1.0 + squares / 4000.0 - product


@compiled
def _levy(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    n = z.size
    first = sin(math.pi * (1.0 + (z[0] - 1.0) / 4.0))
    last = (z[n - 1] - 1.0) / 4.0
    wave = sin(2.0 * math.pi * (1.0 + last))
    total = first * first + last * last * (1.0 + wave * wave)
    for i in range(n - 1):
        w = (z[i] - 1.0) / 4.0
        wave = sin(math.pi * (1.0 + w) + 1.0)
        total += w * w * (1.0 + 10.0 * wave * wave)
    return total


@compiled
def _styblinski_tang(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    total = 0.0
    for i in range(z.size):
        square = z[i] * z[i]
        total += square * square - 16.0 * square + 5.0 * z[i]
    return 0.5 * total / z.size


@compiled
def _ellipsoid(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    total = 0.0
    for i in range(z.size):
        weight = exp(_LOG_1000 * i / max(1, z.size - 1))
        total += weight * z[i] * z[i]
    return total


@compiled
def _salomon(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    squares = 0.0
    for i in range(z.size):
        squares += z[i] * z[i]
    radius = math.sqrt(squares)
    return 1.0 - cosine(radius) + 0.1 * radius


@compiled
def _double_sum(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    total, partial = 0.0, 0.0
    for i in range(z.size):
        partial += z[i]
        total += partial * partial
    return total


@compiled
def _michalewicz(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    total = 0.0
    for i in range(z.size):
        wave = sin((i + 1.0) * z[i] * z[i] / math.pi)
        square = wave * wave
        fourth = square * square
        total += sin(z[i]) * fourth * fourth * square  # the tenth power: m = 5
    return -total / z.size


@compiled
def _double_rastrigin(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    n = z.size
    scale = 1.0 - 1.0 / (2.0 * math.sqrt(n + 20.0) - 8.2)
    other = -math.sqrt((2.5 * 2.5 - 1.0) / scale)
    near, far, waves = 0.0, 0.0, 0.0
    for i in range(n):
        near += (z[i] - 2.5) * (z[i] - 2.5)
        far += (z[i] - other) * (z[i] - other)
        waves += 1.0 - cosine(z[i] - 2.5)
    return min(near, n + scale * far) + 10.0 * waves


HELD_OUT = {
    function.name: function
    for function in (
        Function("griewank", _griewank, -60.0, 40.0, 3.0, 0.0, 1, False, "a wide bowl with fine ripples"),
        Function("levy", _levy, -10.0, 10.0, 0.5, 1.0, 1, True, "a rippled valley"),
        Function("styblinski-tang", _styblinski_tang, -5.0, 5.0, 0.5, -2.9, 1, True, "two basins along each axis"),
        Function("ellipsoid", _ellipsoid, -5.0, 3.0, 0.5, 0.0, 1, True, "a bowl with curvatures up to 1,000 : 1"),
        Function("salomon", _salomon, -12.0, 8.0, 0.5, 0.0, 1, False, "rings around a cone"),
        Function("double-sum", _double_sum, -5.0, 3.0, 0.5, 0.0, 1, False, "a long, slanted bowl"),
        Function("michalewicz", _michalewicz, 0.0, 3.14, 0.2, 1.57, 1, True, "steep valleys in a plain"),
        Function(
            "double-rastrigin", _double_rastrigin, -5.12, 5.12, 0.5, 2.5, 2, False, "two bowls with many local minima"
        ),
    )
}
"""Griewank 1981; Laguna and Marti 2005 (Levy); Styblinski and Tang 1990; Hansen, Finck, Ros and Auger 2009 (ellipsoid);
Salomon 1996; Schwefel 1981 (double sum); Michalewicz 1992; Lunacek, Whitley and Sutton 2008 (double Rastrigin)."""

ALL = {**FUNCTIONS, **HELD_OUT}
