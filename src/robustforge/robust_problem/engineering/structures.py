"""Mechanical structures: the least cost within limits on stress, deflection and buckling, and the largest of ratios.

Limits are added as users add them: as penalties that are steep beside the cost, some with a step. Ragsdell and Phillips
1976 (welded beam); Arora 1989 (spring); Nowacki 1973 (truss); Wu, Shin, Sues and Cesare 2001 (cantilever);
Sandgren 1990 (pressure vessel); Golinski 1973 (speed reducer); Gold and Krishnamurty 1997 (I-beam); Fleury and Braibant
1986 (stepped cantilever); Rao 1996 (column); Fox 1971 (two bars); An and Owen 2001 (robot arm); Forrester, Sobester and
Keane 2008 (wing).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from robustforge.core.compiler import compiled
from robustforge.core.portable_math import cos, power, sin
from robustforge.robust_problem.engineering.engineering_problem import CHECKING, TRAINING, EngineeringProblem
from robustforge.robust_problem.uncertainty_sets import Ball, Box

Floats = npt.NDArray[np.float64]


@compiled
def _welded_beam(x: Floats, _: Floats) -> float:
    weld, length, height, width = x[0], x[1], x[2], x[3]
    load, arm = 6000.0, 14.0
    cost = 1.10471 * weld * weld * length + 0.04811 * height * width * (14.0 + length)
    throat, middle = math.sqrt(2.0) * weld * length, (weld + height) / 2.0
    reach = math.sqrt(length * length / 4.0 + middle * middle)
    direct = load / throat
    twist = load * (arm + length / 2.0) * reach / (2.0 * throat * (length * length / 12.0 + middle * middle))
    shear = math.sqrt(direct * direct + direct * twist * length / reach + twist * twist)
    bending = 6.0 * load * arm / (width * height * height)
    deflection = 4.0 * load * arm * arm * arm / (30e6 * height * height * height * width)
    slender = 1.0 - height / (2.0 * arm) * math.sqrt(30e6 / (4.0 * 12e6))
    buckling = 4.013 * 30e6 * height * width * width * width / 6.0 / (arm * arm) * slender
    excess = max(0.0, shear / 13600.0 - 1.0) + max(0.0, bending / 30000.0 - 1.0)
    excess += max(0.0, weld / width - 1.0) + max(0.0, deflection / 0.25 - 1.0) + max(0.0, 1.0 - buckling / load)
    return cost + 50.0 * excess


@compiled
def _spring(x: Floats, _: Floats) -> float:
    wire, coil, turns = x[0], x[1], x[2]
    square = wire * wire
    excess = max(0.0, 1.0 - coil * coil * coil * turns / (71785.0 * square * square))
    bent = (4.0 * coil * coil - wire * coil) / (12566.0 * (coil * wire - square) * square)
    excess += max(0.0, bent + 1.0 / (5108.0 * square) - 1.0)
    excess += max(0.0, 1.0 - 140.45 * wire / (coil * coil * turns)) + max(0.0, (coil + wire) / 1.5 - 1.0)
    return 1000.0 * ((turns + 2.0) * coil * square + excess)


@compiled
def _three_bar_truss(x: Floats, _: Floats) -> float:
    root = math.sqrt(2.0)
    outer, middle = x[0], x[1]
    below = root * outer * outer + 2.0 * outer * middle
    stress = max(0.0, 2.0 * (root * outer + middle) / below - 2.0) + max(0.0, 2.0 * middle / below - 2.0)
    stress += max(0.0, 2.0 / (root * middle + outer) - 2.0)
    return 100.0 * (2.0 * root * outer + middle) + 1000.0 * stress


@compiled
def _cantilever(x: Floats, _: Floats) -> float:
    width, height, length = x[0], x[1], x[2]
    stress = 6.0 * length * (1000.0 / (width * height * height) + 500.0 / (width * width * height))
    upward, sideward = 1000.0 / (height * height), 500.0 / (width * width)
    deflection = 4.0 * length * length * length / (29e6 * width * height)
    deflection *= math.sqrt(upward * upward + sideward * sideward)
    worst = max(width * height / 9.5, stress / 40000.0)
    return max(worst, max(deflection / 2.2535, 100.0 / length))


@compiled
def _bracket(x: Floats, _: Floats) -> float:
    plate, width, rib, hole = x[0], x[1], x[2], x[3]
    mass = 7.8e-3 * (plate * (width * 120.0 - 0.785 * hole * hole) + 0.5 * rib * rib * plate)
    stiffness = plate * (width - hole) * (plate * plate + 0.3 * rib * rib) / 12.0
    stress = 90000.0 * (0.5 * rib + plate) / stiffness
    edge = (width - hole) / hole
    jump = 0.0
    if stress > 160.0:
        jump += 40.0
    if edge < 2.2:
        jump += 25.0
    if rib / plate > 9.0:
        jump += 25.0
    return mass * (1.0 + 12.0 / hole) + jump + 0.5 * max(0.0, stress - 160.0) + 20.0 * max(0.0, 2.2 - edge)


@compiled
def _robot_arm(x: Floats, _: Floats) -> float:
    angle, across, along, torque = 0.0, 0.0, 0.0, 0.0
    for i in range(3):
        angle += x[i]
        across += x[3 + i] * cos(angle)
        along += x[3 + i] * sin(angle)
        torque += x[3 + i] * x[3 + i]
    missed = math.sqrt((across + 0.5) * (across + 0.5) + (along - 1.1) * (along - 1.1))
    return missed + 0.1 * torque


@compiled
def _pressure_vessel(x: Floats, _: Floats) -> float:
    shell, head, radius, length = x[0], x[1], x[2], x[3]
    cost = 0.6224 * shell * radius * length + 1.7781 * head * radius * radius
    cost += 3.1661 * shell * shell * length + 19.84 * shell * shell * radius
    volume = math.pi * radius * radius * length + 4.0 / 3.0 * math.pi * radius * radius * radius
    excess = max(0.0, 0.0193 * radius / shell - 1.0) + max(0.0, 0.00954 * radius / head - 1.0)
    excess += max(0.0, 1.0 - volume / 1_296_000.0)
    return cost + (3000.0 + 50_000.0 * excess if excess > 0.0 else 0.0)


@compiled
def _speed_reducer(x: Floats, _: Floats) -> float:
    face, module, teeth, a, b, p, q = x[0], x[1], x[2], x[3], x[4], x[5], x[6]
    cost = 0.7854 * face * module * module * (3.3333 * teeth * teeth + 14.9334 * teeth - 43.0934)
    cost += 7.4777 * (p * p * p + q * q * q) - 1.508 * face * (p * p + q * q) + 0.7854 * (a * p * p + b * q * q)
    square, pitch = module * module, module * teeth
    first, second = 745.0 * a / pitch, 745.0 * b / pitch
    excess = max(0.0, 27.0 / (face * square * teeth) - 1.0)
    excess += max(0.0, 397.5 / (face * square * teeth * teeth) - 1.0)
    excess += max(0.0, 1.93 * a * a * a / (pitch * p * p * p * p) - 1.0)
    excess += max(0.0, 1.93 * b * b * b / (pitch * q * q * q * q) - 1.0)
    excess += max(0.0, math.sqrt(first * first + 16.9e6) / (110.0 * p * p * p) - 1.0)
    excess += max(0.0, math.sqrt(second * second + 157.5e6) / (85.0 * q * q * q) - 1.0)
    excess += max(0.0, pitch / 40.0 - 1.0) + max(0.0, 5.0 * module / face - 1.0)
    excess += max(0.0, face / (12.0 * module) - 1.0)
    excess += max(0.0, (1.5 * p + 1.9) / a - 1.0) + max(0.0, (1.1 * q + 1.9) / b - 1.0)
    return cost + 20_000.0 * excess


@compiled
def _i_beam(x: Floats, _: Floats) -> float:
    height, width, web, flange = x[0], x[1], x[2], x[3]
    clear, middle = height - 2.0 * flange, (height - flange) / 2.0
    cube = web * clear * clear * clear
    inertia = cube / 12.0 + width * flange * flange * flange / 6.0 + 2.0 * width * flange * middle * middle
    area = 2.0 * width * flange + web * clear
    strong = cube + 2.0 * width * flange * (4.0 * flange * flange + 3.0 * height * clear)
    weak = clear * web * web * web + 2.0 * flange * width * width * width
    stress = 180_000.0 * height / strong + 15_000.0 * width / weak
    return 1000.0 * (5000.0 / inertia + max(0.0, area / 300.0 - 1.0) + max(0.0, stress / 6.0 - 1.0))


@compiled
def _stepped_cantilever(x: Floats, _: Floats) -> float:
    a, b, c, d, e = x[0], x[1], x[2], x[3], x[4]
    deflection = 61.0 / (a * a * a) + 37.0 / (b * b * b) + 19.0 / (c * c * c) + 7.0 / (d * d * d) + 1.0 / (e * e * e)
    return 0.0624 * (a + b + c + d + e) + 10.0 * max(0.0, deflection - 1.0)


@compiled
def _tubular_column(x: Floats, _: Floats) -> float:
    diameter, wall = x[0], x[1]
    stress = 2500.0 / (math.pi * diameter * wall * 500.0) - 1.0
    inertia = math.pi * math.pi * math.pi * 0.85e6 * diameter * wall * (diameter * diameter + wall * wall)
    buckling = 8.0 * 2500.0 * 250.0 * 250.0 / inertia - 1.0
    return 9.82 * diameter * wall + 2.0 * diameter + 300.0 * (max(0.0, stress) + max(0.0, buckling))


@compiled
def _two_bars(x: Floats, _: Floats) -> float:
    diameter, height, wall = x[0], x[1], x[2]
    squared = 900.0 + height * height
    length = math.sqrt(squared)
    weight = 0.6 * math.pi * diameter * wall * length
    stress = 33_000.0 * length / (math.pi * wall * diameter * height)
    buckling = math.pi * math.pi * 30e6 * (diameter * diameter + wall * wall) / (8.0 * squared)
    return max(weight / 20.0, max(stress / 100_000.0, stress / buckling))


@compiled
def _wing_weight(x: Floats, _: Floats) -> float:
    cosine = cos(x[3] * math.pi / 180.0)
    weight = 0.036 * power(x[0], 0.758) * power(x[1], 0.0035) * power(x[2] / (cosine * cosine), 0.6)
    weight *= power(x[4], 0.006) * power(x[5], 0.04) * power(100.0 * x[6] / cosine, -0.3)
    return weight * power(x[7] * x[8], 0.49) + x[0] * x[9]


PROBLEMS = (
    EngineeringProblem(
        "welded-beam",
        TRAINING,
        _welded_beam,
        ((0.125, 2.0), (0.5, 10.0), (1.0, 10.0), (0.1, 2.0)),
        Box((0.02, 0.1, 0.1, 0.02)),
        "cost of a welded beam within five limits",
        ("cliffs",),
    ),
    EngineeringProblem(
        "spring",
        TRAINING,
        _spring,
        ((0.05, 0.2), (0.25, 1.3), (2.0, 15.0)),
        Box((0.001, 0.01, 0.2)),
        "volume of a spring under tension within four limits",
        ("cliffs",),
    ),
    EngineeringProblem(
        "three-bar-truss",
        TRAINING,
        _three_bar_truss,
        ((0.1, 1.0), (0.1, 1.0)),
        Ball(0.03),
        "weight of three bars within three limits",
        ("cliffs",),
    ),
    EngineeringProblem(
        "cantilever",
        TRAINING,
        _cantilever,
        ((1.0, 4.0), (1.0, 5.0), (80.0, 130.0)),
        Box((0.1, 0.1, 3.0)),
        "the largest of four ratios of a loaded beam",
        ("kinks",),
    ),
    EngineeringProblem(
        "bracket",
        TRAINING,
        _bracket,
        ((2.0, 12.0), (30.0, 120.0), (5.0, 60.0), (6.0, 30.0)),
        Box((0.2, 1.5, 1.5, 0.5)),
        "mass of a bracket, with a step for each limit that is missed",
        ("cliffs",),
    ),
    EngineeringProblem(
        "robot-arm",
        TRAINING,
        _robot_arm,
        ((0.0, 6.3), (-3.0, 3.0), (-3.0, 3.0), (0.2, 1.0), (0.2, 1.0), (0.2, 1.0)),
        Box((0.06, 0.06, 0.06, 0.03, 0.03, 0.03)),
        "by how much an arm with three joints misses its goal",
        ("multimodal",),
    ),
    EngineeringProblem(
        "pressure-vessel",
        CHECKING,
        _pressure_vessel,
        ((0.2, 3.0), (0.2, 3.0), (15.0, 100.0), (10.0, 240.0)),
        Box((0.03, 0.03, 0.5, 2.0)),
        "cost of a vessel, with a step where a limit is missed",
        ("cliffs",),
    ),
    EngineeringProblem(
        "speed-reducer",
        CHECKING,
        _speed_reducer,
        ((2.6, 3.6), (0.7, 0.8), (17.0, 28.0), (7.3, 8.3), (7.3, 8.3), (2.9, 3.9), (5.0, 5.5)),
        Box((0.02, 0.002, 0.1, 0.05, 0.05, 0.02, 0.02)),
        "weight of a gearbox within eleven limits",
        ("cliffs",),
    ),
    EngineeringProblem(
        "i-beam",
        CHECKING,
        _i_beam,
        ((20.0, 80.0), (10.0, 50.0), (0.9, 5.0), (0.9, 5.0)),
        Box((1.0, 1.0, 0.1, 0.1)),
        "deflection of an I-beam within limits on area and stress",
        ("cliffs",),
    ),
    EngineeringProblem(
        "stepped-cantilever",
        CHECKING,
        _stepped_cantilever,
        ((1.5, 9.0),) * 5,
        Ball(0.2),
        "weight of five blocks within a limit on the deflection",
        ("cliffs",),
    ),
    EngineeringProblem(
        "tubular-column",
        CHECKING,
        _tubular_column,
        ((2.0, 14.0), (0.2, 0.8)),
        Box((0.25, 0.02)),
        "cost of a column within limits on stress and buckling",
        ("cliffs",),
    ),
    EngineeringProblem(
        "two-bars",
        CHECKING,
        _two_bars,
        ((1.0, 5.0), (10.0, 60.0), (0.04, 0.25)),
        Box((0.1, 1.5, 0.006)),
        "the largest of three ratios of a pair of loaded bars",
        ("kinks",),
    ),
    EngineeringProblem(
        "wing-weight",
        CHECKING,
        _wing_weight,
        (
            *((150.0, 200.0), (220.0, 300.0), (6.0, 10.0), (-10.0, 10.0), (16.0, 45.0)),
            *((0.5, 1.0), (0.08, 0.18), (2.5, 6.0), (1700.0, 2500.0), (0.025, 0.08)),
        ),
        Box((2.5, 4.0, 0.2, 1.0, 1.5, 0.025, 0.005, 0.15, 40.0, 0.003)),
        "weight of the wing of a light aircraft",
    ),
)
