"""Models that fail in a part of the box, where they return +inf: unstable loops, cold ends, meshes that tear.

The regions are half-spaces, curved, corners, islands and a shell, and most keep designs from where the objective is
lowest. They hold 15 to 40% of the box.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from robustforge.core.compiler import compiled
from robustforge.core.portable_math import cosine, exp, power
from robustforge.robust_problem.engineering.engineering_problem import CHECKING, TRAINING, EngineeringProblem
from robustforge.robust_problem.uncertainty_sets import Ball, Box

Floats = npt.NDArray[np.float64]


@compiled
def _control_loop(x: Floats, _: Floats) -> float:
    """The time-weighted error of a step response; the loop is unstable at high gains."""
    step, y, speed, actuator, integral, last, cost = 0.05, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0
    for k in range(240):
        error = 1.0 - y
        integral += step * error
        drive = x[0] * error + x[1] * integral - x[2] * speed
        actuator += step * (drive - actuator) / 0.4
        speed += step * (actuator - 0.6 * speed - y)
        y += step * speed
        if abs(y) > 2.5:
            return np.inf
        cost += step * (step * k * abs(error) + 0.002 * (drive - last) * (drive - last))
        last = drive
    return cost


@compiled
def _nozzle(x: Floats, _: Floats) -> float:
    """The flow chokes beyond a paraboloid."""
    throat, angle, pressure = x[0], (x[1] - 5.0) / 20.0, x[2] / 8.0
    if pressure + 1.1 * angle * angle > 0.55 + throat:
        return np.inf
    loss = (throat - 0.35) * (throat - 0.35) + 0.6 * (angle - 0.55) * (angle - 0.55)
    return 4.0 * loss + (1.5 + throat) / (0.25 + pressure) - 0.3 * cosine(2.0 * angle)


@compiled
def _meshing(x: Floats, _: Floats) -> float:
    """Islands: the mesh tears where several sizes are unfavourable at once."""
    waves = 0.0
    for i in range(x.size):
        waves += cosine(1.4 * x[i] + 0.21 * i)
    if waves > 1.1:
        return np.inf
    a, b, c, d = x[0] - 0.62, x[1] - 0.45, x[2] - 0.3, x[3] - 0.55
    return 3.0 * a * a + 2.0 * b * b + 4.0 * c * c + 2.5 * d * d + 1.5 * (a + b) * (c - d) - 0.2 * waves


@compiled
def _parallel_cooler(x: Floats, _: Floats) -> float:
    """Heat cannot flow if the cold stream leaves hotter than the hot stream: a half-space."""
    hot, cold, velocity, diameter, flow = x[0], x[1], x[2], x[3], x[4]
    end = hot - cold
    if end <= 2.0:
        return np.inf
    duty = flow * (150.0 - hot)
    start = 130.0
    mean = power(start * end * (start + end) / 2.0, 1.0 / 3.0)
    transfer = 0.9 * power(velocity, 0.8) * power(diameter / 20.0, -0.2)
    area = duty / (transfer * mean)
    coolant = duty / (cold - 20.0)
    pumping = 0.6 * velocity * velocity * velocity * power(20.0 / diameter, 1.2)
    missed = flow * (hot - 60.0)
    return 3.0 * power(area, 0.6) + 0.6 * coolant + pumping + 0.12 * missed - 0.11 * duty


@compiled
def _stalled_wing(x: Floats, _: Floats) -> float:
    """The flow separates in a corner: a large angle with a large camber, or a thin wing with a large angle."""
    angle, camber, thickness, taper, sweep, chord = x[0], 100.0 * x[1], 100.0 * x[2], x[3], x[4], x[5]
    if (angle > 6.5 and camber > 2.2) or (angle > 7.0 and thickness < 11.0):
        return np.inf
    lift = (0.1 * angle + 0.11 * camber) * (1.0 - 0.004 * sweep) * chord
    drag = 0.006 + 0.0004 * thickness + 0.0003 * (camber - 2.0) * (camber - 2.0) + 0.0002 * angle * angle
    drag += lift * lift / 24.0 * (1.0 + (taper - 0.45) * (taper - 0.45)) + 0.00002 * (sweep - 18.0) * (sweep - 18.0)
    weight = 0.02 * chord * (1.0 + 0.5 * taper) / (0.3 + 0.07 * thickness)
    return 100.0 * (drag * chord + weight) + 60.0 * (0.9 - lift) * (0.9 - lift)


@compiled
def _stiffened_panel(x: Floats, _: Floats) -> float:
    """Light panels collapse: a half-space in ten variables."""
    strength, mass, uneven = 0.0, 0.0, 0.0
    for i in range(x.size):
        strength += (1.0 + 0.15 * i) * x[i]
        mass += (1.0 + 0.05 * (i * i % 7)) * x[i]
        gap = x[i] - x[(i + 3) % x.size] - 0.1 * cosine(0.3 * i)
        uneven += gap * gap
    if strength < 15.9:
        return np.inf
    return mass + 1.5 * uneven


@compiled
def _pendulum(x: Floats, _: Floats) -> float:
    """A pendulum on a cart under state feedback; it falls if the gains are too low or out of proportion."""
    step, place, speed, angle, turn, cost = 0.02, 0.5, 0.0, 0.1, 0.0, 0.0
    for _k in range(400):
        force = x[0] * place + x[1] * speed + x[2] * angle + x[3] * turn
        push = force - 1.0 * angle
        place, speed = place + step * speed, speed + step * push
        turn += step * (10.0 * angle - force - 0.1 * turn)
        angle += step * turn
        if abs(angle) > 0.7 or abs(place) > 3.0:
            return np.inf
        cost += step * (place * place + 4.0 * angle * angle + 0.002 * force * force)
    return cost


@compiled
def _reactor(x: Floats, _: Floats) -> float:
    """A stirred tank in which A gives B and B gives C; the temperature runs away where heat is not carried off."""
    feed, jacket, residence = x[0], x[1], x[2]
    a, b, temperature, step = 1.0, 0.0, feed, 0.01
    for _k in range(800):
        made, lost = exp(13.0 - 4000.0 / temperature) * a, 0.5 * exp(20.5 - 7000.0 / temperature) * b
        a += step * ((1.0 - a) / residence - made)
        b += step * (-b / residence + made - lost)
        temperature += step * ((feed - temperature) / residence + 50.0 * made + 75.0 * lost)
        temperature += step * 2.0 * (jacket - temperature)
        if temperature > 400.0:
            return np.inf
    return 10.0 * (1.0 - b) + 0.3 * residence + 0.01 * abs(jacket - 300.0)


@compiled
def _hollow_shell(x: Floats, _: Floats) -> float:
    """No convergence within a shell; the best designs are in its hollow."""
    distance, value = 0.0, 0.0
    for i in range(x.size):
        gap = x[i] - 0.5
        distance += gap * gap
        value += (1.0 + i) * (x[i] - 0.42 - 0.05 * i) * (x[i] - 0.42 - 0.05 * i)
    distance = math.sqrt(distance)
    if 0.33 < distance < 0.5:
        return np.inf
    return value + 0.1 * cosine(1.5 * x[0] * x[1])


@compiled
def _duct(x: Floats, _: Floats) -> float:
    """Two corners of the box, in different variables."""
    if (x[0] + x[1] > 1.25 and x[2] < 0.6) or x[3] + x[4] + x[5] < 0.8:
        return np.inf
    loss, bend = 0.0, 0.0
    for i in range(x.size):
        loss += (0.5 + 0.2 * i) * (x[i] - 0.8 + 0.1 * i) * (x[i] - 0.8 + 0.1 * i)
        bend += abs(x[i] - x[(i + 1) % x.size])
    return loss + 0.2 * bend + 0.5 * x[3] * x[4] + 0.3 * x[5]


@compiled
def _die_casting(x: Floats, _: Floats) -> float:
    """The mould does not fill below a sloped plane."""
    melt, die, speed = (x[0] - 640.0) / 100.0, (x[1] - 150.0) / 150.0, x[2] / 60.0
    pressure, gate = x[3] / 100.0, x[4] / 6.0
    if 0.8 * melt + 0.6 * die + speed + 0.5 * pressure + 0.9 * gate < 1.72:
        return np.inf
    shrinkage = 1.2 * melt + 0.8 * die - 0.9 * pressure + 0.4
    flash = 0.7 * speed + 1.1 * pressure - 0.5 * gate
    soldering = 1.1 * melt * die + 0.6 * speed
    return max(shrinkage, max(flash, soldering)) + 0.25 * (melt + die + speed + pressure + gate)


@compiled
def _frame(x: Floats, _: Floats) -> float:
    """Outside of an ellipsoid the frame is a mechanism; the cost falls towards its surface."""
    outside, cost = 0.0, 0.0
    for i in range(x.size):
        outside += (0.6 + 0.1 * i) * (x[i] - 0.5) * (x[i] - 0.5)
        cost += (1.0 + 0.3 * (i % 4)) * x[i] + 0.3 * x[i] * x[(i + 1) % x.size]
    if outside > 0.97:
        return np.inf
    return cost


PROBLEMS = (
    EngineeringProblem(
        "control-loop",
        TRAINING,
        _control_loop,
        ((0.0, 12.0), (0.0, 6.0), (0.0, 5.0)),
        Box((0.4, 0.2, 0.2)),
        "a controller of three terms; unstable beyond a curved surface",
        ("crashes",),
    ),
    EngineeringProblem(
        "nozzle",
        TRAINING,
        _nozzle,
        ((0.1, 1.0), (5.0, 25.0), (0.4, 8.0)),
        Box((0.04, 1.0, 0.3)),
        "a nozzle that chokes beyond a paraboloid",
        ("crashes",),
    ),
    EngineeringProblem(
        "meshing",
        TRAINING,
        _meshing,
        ((0.0, 1.0),) * 4,
        Ball(0.06),
        "islands in which no mesh is found",
        ("crashes", "multimodal"),
    ),
    EngineeringProblem(
        "parallel-cooler",
        TRAINING,
        _parallel_cooler,
        ((62.0, 120.0), (40.0, 100.0), (0.5, 3.0), (10.0, 40.0), (0.5, 2.0)),
        Box((2.0, 2.0, 0.1, 1.0, 0.05)),
        "cost of a cooler; temperatures may not cross",
        ("crashes",),
    ),
    EngineeringProblem(
        "stalled-wing",
        TRAINING,
        _stalled_wing,
        ((0.0, 12.0), (0.0, 0.06), (0.08, 0.18), (0.2, 1.0), (0.0, 35.0), (0.6, 1.6)),
        Box((0.4, 0.002, 0.004, 0.03, 1.0, 0.03)),
        "drag and weight of a wing; the flow separates in two corners",
        ("crashes",),
    ),
    EngineeringProblem(
        "stiffened-panel",
        TRAINING,
        _stiffened_panel,
        ((0.5, 1.5),) * 10,
        Ball(0.15),
        "mass of a panel of ten strips; light ones collapse",
        ("crashes",),
    ),
    EngineeringProblem(
        "pendulum",
        CHECKING,
        _pendulum,
        ((0.0, 5.0), (0.0, 10.0), (15.0, 80.0), (1.0, 25.0)),
        Box((0.15, 0.3, 2.0, 0.8)),
        "gains that keep a pendulum upright; some let it fall",
        ("crashes",),
    ),
    EngineeringProblem(
        "reactor",
        CHECKING,
        _reactor,
        ((290.0, 350.0), (280.0, 360.0), (0.3, 4.0)),
        Box((2.0, 2.0, 0.1)),
        "yield of a stirred tank; its temperature may run away",
        ("crashes",),
    ),
    EngineeringProblem(
        "hollow-shell",
        CHECKING,
        _hollow_shell,
        ((0.0, 1.0),) * 4,
        Ball(0.08),
        "a bowl behind a shell in which nothing converges",
        ("crashes", "multimodal"),
    ),
    EngineeringProblem(
        "duct",
        CHECKING,
        _duct,
        ((0.0, 1.0),) * 7,
        Ball(0.1),
        "losses of a duct; two corners fail",
        ("crashes", "kinks"),
    ),
    EngineeringProblem(
        "die-casting",
        CHECKING,
        _die_casting,
        ((640.0, 740.0), (150.0, 300.0), (5.0, 60.0), (10.0, 100.0), (1.0, 6.0)),
        Box((3.0, 4.0, 2.0, 3.0, 0.15)),
        "the largest of three defects; slow or cold castings do not fill",
        ("crashes", "kinks"),
    ),
    EngineeringProblem(
        "frame",
        CHECKING,
        _frame,
        ((0.0, 1.0),) * 10,
        Box(0.04),
        "cost of a frame that stands only within an ellipsoid",
        ("crashes",),
    ),
)
