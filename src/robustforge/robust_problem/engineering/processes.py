"""Processes and costs: flow, heat, chemistry and pollution, most with variables of very different scales.

Harper and Gupta 1983 (borehole); Kenett and Zacks 1998 (piston); Bliznyuk et al. 2008 (spill).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from robustforge.core.compiler import compiled
from robustforge.core.portable_math import cosine, exp, log
from robustforge.robust_problem.engineering.engineering_problem import CHECKING, TRAINING, EngineeringProblem
from robustforge.robust_problem.uncertainty_sets import Ball, Box

Floats = npt.NDArray[np.float64]


@compiled
def _borehole(x: Floats, _: Floats) -> float:
    far = log(x[1] / x[0])
    leak = 2.0 * x[6] * x[2] / (far * x[0] * x[0] * x[7])
    flow = 2.0 * math.pi * x[2] * (x[3] - x[5]) / (far * (1.0 + leak + x[2] / x[4]))
    return (flow - 70.0) * (flow - 70.0) / 100.0 + 40.0 * x[0] + 0.004 * (1680.0 - x[6])


_OPTIMA = np.array([330.0, 4.5, 0.012, 25.0, 1800.0, 0.6, 60.0, 7.0])
_PRICES = np.array([3.0, 8.0, 2.0, 12.0, 5.0, 1.0, 20.0, 4.0])


@compiled
def _dosing_cost(x: Floats, _: Floats) -> float:
    total = 0.0
    for i in range(x.size):
        ratio = x[i] / _OPTIMA[i]
        total += _PRICES[i] * (ratio + 1.0 / ratio - 2.0 + 0.05 * (1.0 - cosine(4.0 * (ratio - 1.0))))
        total += 30.0 * max(0.0, 0.92 + 0.01 * i - ratio)
    return total


@compiled
def _piston(x: Floats, _: Floats) -> float:
    mass, surface, volume, spring, pressure = x[0], x[1], x[2], x[3], x[4]
    gas = pressure * volume / x[6] * x[5]
    force = pressure * surface + 19.62 * mass - spring * volume / surface
    filled = surface / (2.0 * spring) * (math.sqrt(force * force + 4.0 * spring * gas) - force)
    cycle = 2.0 * math.pi * math.sqrt(mass / (spring + surface * surface * gas / (filled * filled)))
    return 100.0 * (cycle - 0.45) * (cycle - 0.45) + 0.002 * mass


@compiled
def _concentration(mass: float, rate: float, place: float, start: float, s: float, t: float) -> float:
    found = mass / math.sqrt(4.0 * math.pi * rate * t) * exp(-s * s / (4.0 * rate * t))
    if t > start:
        later = 4.0 * rate * (t - start)
        found += mass / math.sqrt(math.pi * later) * exp(-(s - place) * (s - place) / later)
    return found


@compiled
def _spill(x: Floats, _: Floats) -> float:
    total = 0.0
    for i in range(5):
        s = 0.625 * i
        for k in range(4):
            t = 15.0 * (k + 1.0)
            error = _concentration(x[0], x[1], x[2], x[3], s, t)
            error -= _concentration(10.0, 0.07, 1.505, 30.1525, s, t)
            total += error * error
    return total


@compiled
def _enzyme_fit(x: Floats, _: Floats) -> float:
    total, dose = 0.0, 0.25
    for _k in range(8):
        rate = x[0] * dose / (x[1] + dose + dose * dose / x[2])
        measured = 9.0 * dose / (2.0 + dose + dose * dose / 12.0)
        total += (rate - measured) * (rate - measured)
        dose *= 2.0
    return total


@compiled
def _assembly_cost(x: Floats, _: Floats) -> float:
    total = 0.0
    for i in range(x.size):
        t = x[i] - 0.2 - 0.1 * i
        total += abs(t) + 0.15 * (1.0 - cosine(3.0 * t))
        if t > 0.3:
            total += 1.0
        elif t < -0.1 * i:
            total += 0.5
    return total


@compiled
def _cooling_board(x: Floats, _: Floats) -> float:
    hottest, effort = 0.0, 0.0
    for k in range(x.size):
        heat = 0.0
        for j in range(x.size):
            heat += (1.0 + 0.5 * (j % 3)) / ((1.0 + abs(k - j)) * (0.3 + x[j]))
        hottest = max(hottest, heat)
        effort += (1.0 + 0.1 * k) * x[k]
    return hottest + 0.5 * effort


PROBLEMS = (
    EngineeringProblem(
        "borehole",
        TRAINING,
        _borehole,
        (
            *((0.05, 0.15), (100.0, 50_000.0), (63_070.0, 115_600.0), (990.0, 1110.0)),
            *((63.1, 116.0), (700.0, 820.0), (1120.0, 1680.0), (9855.0, 12_045.0)),
        ),
        Box((0.003, 50.0, 2000.0, 5.0, 2.0, 5.0, 20.0, 100.0)),
        "error of the flow through a borehole, and its cost",
    ),
    EngineeringProblem(
        "dosing-cost",
        TRAINING,
        _dosing_cost,
        (
            *((200.0, 600.0), (2.0, 10.0), (0.006, 0.03), (12.0, 60.0)),
            *((900.0, 4000.0), (0.3, 1.5), (30.0, 150.0), (3.0, 18.0)),
        ),
        Box((12.0, 0.2, 0.0006, 1.0, 80.0, 0.03, 3.0, 0.35)),
        "a sum of eight costs, with penalties for doses that are too small",
        ("additive", "multimodal", "cliffs"),
    ),
    EngineeringProblem(
        "piston",
        CHECKING,
        _piston,
        (
            *((30.0, 60.0), (0.005, 0.02), (0.002, 0.01), (1000.0, 5000.0)),
            *((90_000.0, 110_000.0), (290.0, 296.0), (340.0, 360.0)),
        ),
        Box((1.0, 0.0006, 0.0003, 150.0, 1000.0, 0.5, 1.0)),
        "error of the cycle time of a piston",
    ),
    EngineeringProblem(
        "spill",
        CHECKING,
        _spill,
        ((7.0, 13.0), (0.02, 0.12), (0.01, 3.0), (30.01, 30.295)),
        Box((0.3, 0.004, 0.15, 0.01)),
        "errors of a model of two spills in a channel",
        ("multimodal",),
    ),
    EngineeringProblem(
        "enzyme-fit",
        CHECKING,
        _enzyme_fit,
        ((2.0, 20.0), (0.3, 8.0), (2.0, 40.0)),
        Box((0.4, 0.2, 1.0)),
        "errors of a model of an inhibited enzyme",
    ),
    EngineeringProblem(
        "assembly-cost",
        CHECKING,
        _assembly_cost,
        ((-1.0, 2.0),) * 6,
        Ball(0.15),
        "a sum of six costs with steps",
        ("additive", "multimodal", "kinks", "cliffs"),
    ),
    EngineeringProblem(
        "cooling-board",
        CHECKING,
        _cooling_board,
        ((0.0, 2.0),) * 12,
        Box(0.06),
        "the hottest of twelve parts, and the effort of cooling them",
        ("kinks",),
    ),
)
