"""Smooth, multimodal and kinked functions of few variables, as they are used for testing global optimisers.

Bertsimas, Nohadani and Teo 2010 (polynomial); Branin 1972; Goldstein and Price 1971; Ackley 1987; Rosenbrock 1960;
Hartman 1973; Charalambous and Bandler 1976 (two functions of a maximum); Dixon and Szego 1978 (camel); Himmelblau 1972;
Rosen and Suzuki 1965, as a maximum.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from robustforge.core.compiler import compiled
from robustforge.core.portable_math import cos, cosine, exp, log, sin
from robustforge.robust_problem.engineering.engineering_problem import CHECKING, TRAINING, EngineeringProblem
from robustforge.robust_problem.uncertainty_sets import Ball, Box

Floats = npt.NDArray[np.float64]


@compiled
def _bertsimas(p: Floats, _: Floats) -> float:
    x, y = p[0], p[1]
    of_x = x * (6.2 + x * (-4.7 + x * (-6.4 + x * (21.2 + x * (-12.2 + 2.0 * x)))))
    of_y = y * (-10.0 + y * (56.9 + y * (-74.8 + y * (43.3 + y * (-11.0 + y)))))
    return of_x + of_y - 4.1 * x * y - 0.1 * x * x * y * y + 0.4 * x * y * y + 0.4 * x * x * y


@compiled
def _branin(x: Floats, _: Floats) -> float:
    curve = x[1] - 5.1 / (4.0 * math.pi * math.pi) * x[0] * x[0] + 5.0 / math.pi * x[0] - 6.0
    return curve * curve + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * cos(x[0]) + 10.0


@compiled
def _goldstein_price(p: Floats, _: Floats) -> float:
    x, y = p[0], p[1]
    a, b = x + y + 1.0, 2.0 * x - 3.0 * y
    first = 1.0 + a * a * (19.0 - 14.0 * x + 3.0 * x * x - 14.0 * y + 6.0 * x * y + 3.0 * y * y)
    second = 30.0 + b * b * (18.0 - 32.0 * x + 12.0 * x * x + 48.0 * y - 36.0 * x * y + 27.0 * y * y)
    return log(first * second)


@compiled
def _rippled_funnel(x: Floats, _: Floats) -> float:
    squares = (x[0] * x[0] + x[1] * x[1]) / 2.0
    waves = (cosine(x[0]) + cosine(x[1])) / 2.0
    return -20.0 * exp(-0.2 * math.sqrt(squares)) - exp(waves) + 20.0 + math.e


@compiled
def _curved_valley(x: Floats, _: Floats) -> float:
    total = 0.0
    for i in range(x.size - 1):
        valley = x[i + 1] - x[i] * x[i]
        total += 100.0 * valley * valley + (1.0 - x[i]) * (1.0 - x[i])
    return total


_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_STEEP_3 = np.array([[3.0, 10.0, 30.0], [0.1, 10.0, 35.0], [3.0, 10.0, 30.0], [0.1, 10.0, 35.0]])
_PEAKS_3 = np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]) / 10_000.0
_STEEP_6 = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
_PEAKS_6 = (
    np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    )
    / 10_000.0
)


@compiled
def _hartmann(x: Floats, steep: Floats, peaks: Floats) -> float:
    total = 0.0
    for k in range(4):
        distance = 0.0
        for i in range(x.size):
            gap = x[i] - peaks[k, i]
            distance += steep[k, i] * gap * gap
        total -= _WEIGHTS[k] * exp(-distance)
    return total


@compiled
def _hartmann_3(x: Floats, _: Floats) -> float:
    return _hartmann(x, _STEEP_3, _PEAKS_3)


@compiled
def _hartmann_6(x: Floats, _: Floats) -> float:
    return _hartmann(x, _STEEP_6, _PEAKS_6)


@compiled
def _three_bowls(p: Floats, _: Floats) -> float:
    x, y = p[0], p[1]
    quartic = x * x + y * y * y * y
    bowl = (2.0 - x) * (2.0 - x) + (2.0 - y) * (2.0 - y)
    return max(quartic, max(bowl, 2.0 * exp(y - x)))


@compiled
def _spike_sum(x: Floats, _: Floats) -> float:
    total = 0.0
    for i in range(x.size):
        wide = (x[i] - 0.25 - 0.04 * i) / 0.16
        narrow = (x[i] - 0.72 + 0.03 * i) / 0.035
        total -= exp(-wide * wide) + 1.6 * exp(-narrow * narrow)
    return total


@compiled
def _response_surface(x: Floats, _: Floats) -> float:
    total = 0.0
    for i in range(x.size):
        own = x[i] - 0.6 * cos(2.0 * i)
        beside = x[(i + 1) % x.size] - 0.5 * sin(1.0 + i)
        far = x[(i + 5) % x.size]
        total += (1.0 + 0.5 * i) * own * own + 2.0 * own * beside + 0.7 * own * far + 0.5 * own * own * own * own
    return total


@compiled
def _six_hump_camel(p: Floats, _: Floats) -> float:
    x, y = p[0] * p[0], p[1] * p[1]
    return (4.0 - 2.1 * x + x * x / 3.0) * x + p[0] * p[1] + (4.0 * y - 4.0) * y


@compiled
def _himmelblau(x: Floats, _: Floats) -> float:
    a = x[0] * x[0] + x[1] - 11.0
    b = x[0] + x[1] * x[1] - 7.0
    return a * a + b * b


@compiled
def _egg_crate(x: Floats, _: Floats) -> float:
    a, b = sin(x[0]), sin(x[1])
    return x[0] * x[0] + x[1] * x[1] + 25.0 * (a * a + b * b)


@compiled
def _rosen_suzuki(x: Floats, _: Floats) -> float:
    a, b, c, d = x[0], x[1], x[2], x[3]
    cost = a * a + b * b + 2.0 * c * c + d * d - 5.0 * a - 5.0 * b - 21.0 * c + 7.0 * d
    worst = a * a + b * b + c * c + d * d + a - b + c - d - 8.0
    worst = max(worst, a * a + 2.0 * b * b + c * c + 2.0 * d * d - a - d - 10.0)
    worst = max(worst, 2.0 * a * a + b * b + c * c + 2.0 * a - b - d - 5.0)
    return cost + 10.0 * max(worst, 0.0)


PROBLEMS = (
    EngineeringProblem(
        "bertsimas-nohadani-teo",
        TRAINING,
        _bertsimas,
        ((-1.0, 4.0), (-1.0, 5.0)),
        Ball(0.5),
        "the polynomial that Bertsimas, Nohadani and Teo made robust",
        ("multimodal",),
    ),
    EngineeringProblem(
        "branin", TRAINING, _branin, ((-5.0, 10.0), (0.0, 15.0)), Ball(0.9), "three valleys", ("multimodal",)
    ),
    EngineeringProblem(
        "goldstein-price",
        TRAINING,
        _goldstein_price,
        ((-2.0, 2.0), (-2.0, 2.0)),
        Ball(0.12),
        "the logarithm of Goldstein and Price's function",
        ("multimodal",),
    ),
    EngineeringProblem(
        "rippled-funnel",
        TRAINING,
        _rippled_funnel,
        ((-6.0, 4.0), (-3.0, 7.0)),
        Ball(0.6),
        "Ackley's function in two variables",
        ("multimodal",),
    ),
    EngineeringProblem(
        "three-bowls",
        TRAINING,
        _three_bowls,
        ((-2.0, 4.0), (-2.0, 3.0)),
        Ball(0.25),
        "the largest of three functions, by Charalambous and Bandler",
        ("kinks",),
    ),
    EngineeringProblem(
        "hartmann-3", TRAINING, _hartmann_3, ((0.0, 1.0),) * 3, Ball(0.08), "four peaks", ("multimodal",)
    ),
    EngineeringProblem(
        "curved-valley", TRAINING, _curved_valley, ((-2.0, 2.0),) * 4, Ball(0.1), "Rosenbrock's function"
    ),
    EngineeringProblem(
        "spike-sum",
        TRAINING,
        _spike_sum,
        ((0.0, 1.0),) * 5,
        Ball(0.12),
        "in each variable a wide valley and a deeper, narrow one",
        ("additive", "multimodal"),
    ),
    EngineeringProblem(
        "response-surface",
        TRAINING,
        _response_surface,
        ((-1.0, 1.0),) * 12,
        Box(0.08),
        "a polynomial of degree four with interactions",
    ),
    EngineeringProblem(
        "six-hump-camel",
        CHECKING,
        _six_hump_camel,
        ((-2.0, 2.0), (-1.0, 1.0)),
        Box((0.15, 0.1)),
        "six valleys",
        ("multimodal",),
    ),
    EngineeringProblem(
        "himmelblau", CHECKING, _himmelblau, ((-5.0, 5.0),) * 2, Ball(0.4), "four equal valleys", ("multimodal",)
    ),
    EngineeringProblem(
        "egg-crate",
        CHECKING,
        _egg_crate,
        ((-4.0, 6.0), (-6.0, 4.0)),
        Ball(0.5),
        "a bowl with 25 hollows",
        ("additive", "multimodal"),
    ),
    EngineeringProblem(
        "rosen-suzuki",
        CHECKING,
        _rosen_suzuki,
        ((-3.0, 3.0),) * 4,
        Ball(0.15),
        "a quadratic with three limits, by Rosen and Suzuki",
        ("kinks",),
    ),
    EngineeringProblem(
        "hartmann-6", CHECKING, _hartmann_6, ((0.0, 1.0),) * 6, Ball(0.1), "four peaks", ("multimodal",)
    ),
)
