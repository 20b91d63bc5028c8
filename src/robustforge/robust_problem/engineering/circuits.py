"""Circuits, antennas and filters: deviations from a target, and the largest deviation over a band (minimax).

Ben-Ari and Steinberg 2007 (output transformerless circuit); the others follow from textbook formulas of networks.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from robustforge.core.compiler import compiled
from robustforge.core.portable_math import cos, cosine, log
from robustforge.robust_problem.engineering.engineering_problem import CHECKING, TRAINING, EngineeringProblem
from robustforge.robust_problem.uncertainty_sets import Ball, Box

Floats = npt.NDArray[np.float64]

_DECIBEL = 10.0 / 2.302585092994046
"""Times the natural logarithm of a ratio of powers."""


@compiled
def _otl_circuit(x: Floats, _: Floats) -> float:
    base = 12.0 * x[1] / (x[0] + x[1])
    gain = x[5] * (x[4] + 9.0)
    below = gain + x[2]
    middle = (base + 0.74) * gain / below + 11.35 * x[2] / below + 0.74 * x[2] * gain / (below * x[3])
    return 100.0 * (middle - 5.0) * (middle - 5.0)


@compiled
def _attenuation(x: Floats, omega: float) -> float:
    """Return the insertion loss in dB of a ladder of shunt capacitors and series coils between resistors of 1.

    Of its chain matrix, the diagonal is real and the rest is imaginary.
    """
    a, b, c, d = 1.0, 0.0, 0.0, 1.0
    for i in range(x.size):
        if i % 2 == 0:
            a -= b * omega * x[i]
            c += d * omega * x[i]
        else:
            b += a * omega * x[i]
            d -= c * omega * x[i]
    return _DECIBEL * log(((a + d) * (a + d) + (b + c) * (b + c)) / 4.0)


@compiled
def _ladder_filter(x: Floats, _: Floats) -> float:
    worst = -1e9
    for k in range(14):
        worst = max(worst, _attenuation(x, 0.08 + 0.07 * k) - 0.6)
    for k in range(8):
        worst = max(worst, (26.0 - _attenuation(x, 1.6 + 0.15 * k)) / 4.0)
    return worst


@compiled
def _antenna_array(x: Floats, _: Floats) -> float:
    highest = 0.0
    for k in range(61):
        u = 0.15 + 0.85 * k / 60.0
        field, at = 0.0, -0.5 * x[0]
        for i in range(x.size):
            at += x[i]
            field += cosine(at * u)
        highest = max(highest, field * field)
    return _DECIBEL * log((highest + 1e-9) / (x.size * x.size))


@compiled
def _impedance_match(x: Floats, _: Floats) -> float:
    worst = 0.0
    for k in range(9):
        omega = 2.0 * math.pi * (0.85 + 0.0375 * k)  # in rad/ns
        reactance = omega * (x[0] + 1.2) - 1.0 / (omega * 0.012)
        squared = 18.0 * 18.0 + reactance * reactance
        conductance = 50.0 * 18.0 / squared
        susceptance = 50.0 * (omega * x[1] * 0.001 - reactance / squared)
        square = susceptance * susceptance
        below = (1.0 + conductance) * (1.0 + conductance) + square
        worst = max(worst, ((1.0 - conductance) * (1.0 - conductance) + square) / below)
    return math.sqrt(worst)


@compiled
def _active_filter(x: Floats, _: Floats) -> float:
    first, second, near, far, gain = x[0], x[1], x[2], x[3], x[4]
    square = first * second * near * far
    damping = first * near + second * near + first * far * (1.0 - gain)
    worst = 0.0
    for k in range(15):
        omega = 0.2 + 0.2 * k
        real, imaginary = 1.0 - omega * omega * square, omega * damping
        level = _DECIBEL * log(gain * gain / (real * real + imaginary * imaginary + 1e-9))
        wanted = 4.0 - _DECIBEL * log(1.0 + omega * omega * omega * omega)
        worst = max(worst, abs(level - wanted))
    return worst


@compiled
def _digital_filter(x: Floats, _: Floats) -> float:
    worst = 0.0
    for k in range(33):
        angle = math.pi * k / 32.0
        response = x[0]
        for i in range(1, x.size):
            response += 2.0 * x[i] * cos(i * angle)
        if k <= 10:
            worst = max(worst, abs(response - 1.0))
        elif k >= 16:
            worst = max(worst, abs(response))
    return worst


PROBLEMS = (
    EngineeringProblem(
        "push-pull-circuit",
        TRAINING,
        _otl_circuit,
        ((50.0, 150.0), (25.0, 70.0), (0.5, 3.0), (1.2, 2.5), (0.25, 1.2), (50.0, 300.0)),
        Box((4.0, 2.0, 0.1, 0.06, 0.05, 15.0)),
        "squared error of the midpoint voltage of an amplifier",
    ),
    EngineeringProblem(
        "ladder-filter",
        TRAINING,
        _ladder_filter,
        ((0.3, 3.0),) * 5,
        Box(0.05),
        "by how much a low-pass filter misses its mask",
        ("kinks",),
    ),
    EngineeringProblem(
        "antenna-array",
        TRAINING,
        _antenna_array,
        ((0.3, 1.0),) * 6,
        Ball(0.05),
        "the highest sidelobe of twelve antennas by their distances",
        ("kinks", "multimodal"),
    ),
    EngineeringProblem(
        "impedance-match",
        CHECKING,
        _impedance_match,
        ((0.0, 20.0), (0.0, 12.0)),
        Box((0.5, 0.3)),
        "the largest reflection over a band",
        ("kinks",),
    ),
    EngineeringProblem(
        "active-filter",
        CHECKING,
        _active_filter,
        ((0.4, 2.5), (0.4, 2.5), (0.4, 2.5), (0.4, 2.5), (1.0, 2.2)),
        Box((0.04, 0.04, 0.04, 0.04, 0.03)),
        "the largest error in dB of a filter of second order",
        ("kinks",),
    ),
    EngineeringProblem(
        "digital-filter",
        CHECKING,
        _digital_filter,
        ((-0.4, 0.8),) * 6,
        Ball(0.02),
        "the largest error of a filter with six coefficients",
        ("kinks",),
    ),
)
