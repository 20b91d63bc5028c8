"""The ten test functions of the paper (its appendix and Table 1), compiled, in any dimension.

Each takes the point and a vector of *placement* data: empty for the original function, else how the point is shifted
and rotated before the formula is applied (see `placement`). So a variant is compiled code too, without being compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robustforge.core.compiler import compiled, inlined
from robustforge.core.portable_math import LOG_2, cosine, exp, exp2, log
from robustforge.core.random import Stream, normal, stream

Floats = npt.NDArray[np.float64]

DEFAULT_DIMENSION = 30
"""Variables of a test problem that exists in any number of them."""


@dataclass(frozen=True)
class Function:
    """A test function with its box and its radius.

    Attributes:
        name: The name in `rf.problem`.
        formula: The compiled function of a point and its placement.
        lower: Lower bound of every variable.
        upper: Upper bound of every variable.
        radius: Gamma, the radius of the uncertainty ball.
        best: A coordinate t such that t(1, ..., 1) is, or is near, the robust optimum in 30 dimensions: used to place
            shifts.
        least: The smallest dimension for which the formula makes sense.
        additive: Whether it is a sum of functions of one variable each.
        about: One line on what makes it hard.
    """

    name: str
    formula: Callable[[Floats, Floats], float]
    lower: float
    upper: float
    radius: float
    best: float
    least: int
    additive: bool
    about: str


@compiled
def placed(x: Floats, placement: Floats) -> Floats:
    """Return the point at which the formula is applied: c + Q (x - s - c), kept to the function's domain.

    The placement is empty, or: lower and upper limit of the domain, centre c of the box, shift s (n), then the columns
    of Q (n * n) if there is a rotation: by columns, the product is a sum of vectors, which the machine adds at once.
    """
    n = x.size
    if placement.size == 0:
        return x
    low, high, centre = placement[0], placement[1], placement[2]
    shift = placement[3 : 3 + n]
    z = np.empty(n)
    if placement.size == 3 + n:
        for i in range(n):
            z[i] = min(max(x[i] - shift[i], low), high)
        return z
    for i in range(n):
        z[i] = 0.0
    for k in range(n):
        column = placement[3 + n + k * n : 3 + 2 * n + k * n]
        moved = x[k] - shift[k] - centre
        for i in range(n):
            z[i] += column[i] * moved
    for i in range(n):
        z[i] = min(max(centre + z[i], low), high)
    return z


@compiled
def _rastrigin(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    total = 10.0 * z.size
    for i in range(z.size):
        t = z[i] - 20.0
        total += t * t - 10.0 * cosine(t)
    return total


@compiled
def _multipeak_f1(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    total = 0.0
    for i in range(z.size):
        t = z[i] + 5.0
        slope = (t - 0.1) / 0.8
        envelope = exp(-2.0 * LOG_2 * slope * slope)
        wave = cosine(2.5 * t - 0.25)  # sin(5 pi t)
        if 0.4 < t <= 0.6:
            total += envelope * math.sqrt(abs(wave))
        else:
            cube = wave * wave * wave
            total += envelope * cube * cube
    return -total / z.size


@compiled
def _multipeak_f2(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    total = 0.0
    for i in range(z.size):
        t = z[i] - 10.0
        decay = exp(-0.05 * t)
        square = decay * decay
        fourth = square * square  # exp(-0.2 t)
        total += 2.0 * cosine(5.0 / math.pi * fourth * t - 0.25) * fourth * decay  # sin(10 exp(-0.2 t) t) exp(-0.25 t)
    return total / z.size


@compiled
def _branke(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    total = 0.0
    for i in range(z.size):
        t = z[i] + 5.0
        if -2.0 <= t < 0.0:
            total += 1.0 - (t + 1.0) * (t + 1.0)
        elif 0.0 <= t <= 2.0:
            total += 1.3 * exp2(-abs(8.0 - 8.0 * t))  # 16 to the power of -|2 - 2 t|
    return 1.3 - total / z.size


@compiled
def _pickelhaube(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    centre, left, right = 0.0, 0.0, 0.0
    for i in range(z.size):
        t = z[i] + 30.0
        centre += t * t
        left += (t + 5.0) * (t + 5.0)
        right += (t - 5.0) * (t - 5.0)
    radius = 5.0 * math.sqrt(z.size)
    near_left = math.sqrt(left) / radius
    near_right = math.sqrt(right) / radius
    height = 5.0 / (5.0 - math.sqrt(5.0))
    peak = 0.1 * exp(-0.5 * math.sqrt(centre))
    peak = max(peak, height * (1.0 - math.sqrt(near_left)))
    peak = max(peak, 625.0 / 624.0 * (1.0 - near_left * near_left * near_left * near_left))
    peak = max(peak, 1.5975 * (1.0 - exp(1.1513 * log(near_right))))
    return height - peak


@compiled
def _heaviside(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    step, total = 0.0, 0.0
    for i in range(z.size):
        t = z[i] + 20.0
        if t > 0.0:
            step = 1.0
        total += (t / 10.0) * (t / 10.0)
    return step + total


@compiled
def _sawtooth(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    total = 0.0
    for i in range(z.size):
        t = z[i] + 5.0
        if -0.8 <= t < 0.2:
            total += t + 0.8
    return 1.0 - total / z.size


@compiled
def _ackley(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    squares, waves = 0.0, 0.0
    for i in range(z.size):
        t = z[i] - 50.0
        squares += t * t
        waves += cosine(t)
    return -20.0 * exp(-0.2 * math.sqrt(squares / z.size)) - exp(waves / z.size) + 20.0 + math.e


@compiled
def _sphere(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    total = 0.0
    for i in range(z.size):
        total += (z[i] - 20.0) * (z[i] - 20.0)
    return total


@compiled
def _rosenbrock(x: Floats, placement: Floats) -> float:
    z = placed(x, placement)
    total = 0.0
    for i in range(z.size - 1):
        t = z[i] - 10.0
        valley = (z[i + 1] - 10.0) - t * t
        total += 100.0 * valley * valley + (t - 1.0) * (t - 1.0)
    return total


FUNCTIONS = {
    function.name: function
    for function in (
        Function("rastrigin", _rastrigin, 14.88, 25.12, 0.5, 20.0, 1, True, "a bowl with many local minima"),
        Function("multipeak-f1", _multipeak_f1, -5.0, -4.0, 0.0625, -4.9, 1, True, "sharp peaks next to a blunt one"),
        Function("multipeak-f2", _multipeak_f2, 10.0, 20.0, 0.5, 10.52, 1, True, "waves that widen and flatten"),
        Function("branke", _branke, -7.0, -3.0, 0.5, -6.0, 1, True, "a broad peak next to a higher, needle-like one"),
        Function("pickelhaube", _pickelhaube, -40.0, -20.0, 1.0, -25.0, 1, False, "a spike next to a cone"),
        Function("heaviside", _heaviside, -30.0, -10.0, 1.0, -21.0, 1, False, "a bowl with a cliff at its bottom"),
        Function("sawtooth", _sawtooth, -6.0, -4.0, 0.2, -4.9, 1, True, "slopes that end in a cliff"),
        Function("ackley", _ackley, 17.232, 82.768, 3.0, 50.0, 1, False, "a rippled plain around a funnel"),
        Function("sphere", _sphere, 15.0, 25.0, 1.0, 20.0, 1, True, "a bowl"),
        Function("rosenbrock", _rosenbrock, 7.952, 12.048, 0.25, 10.01, 2, False, "a curved, narrow valley"),
    )
}


@compiled
def random_rotation(r: Stream, dimension: int) -> Floats:
    """Return an orthogonal matrix, uniform among all (Haar measure on O(n)): half of them are reflections.

    A product of random reflections (Stewart 1980; Mezzadri 2007): if Q is uniform in k - 1 dimensions, u is uniform on
    the sphere in k, and H is orthogonal and takes the first unit vector to u, then H diag(1, Q) is uniform in k. Up to
    its sign, H is the reflection along u + sign(u_1) e_1.
    """
    q, v, sums = np.zeros((dimension, dimension)), np.zeros((2, dimension)), np.zeros((2, dimension))
    now, sign = 0, 1.0
    for first in range(dimension, -1, -1):
        factor, turned = _draw_reflection(r, v[1 - now], first - 1) if first > 0 else (0.0, 1.0)
        sums[1 - now] = 0.0
        for i in range(first, dimension):  # the reflection drawn before, and the next one's product with what it gives
            _reflect_row(q[i, first:], v[now, i], sums[now, first:], factor * v[1 - now, i], sums[1 - now, first:])
        if first > 0:
            q[first - 1, first - 1] = sign
            sums[1 - now, first - 1] = factor * v[1 - now, first - 1] * sign
            sign *= turned
        now = 1 - now
    return sign * q


@inlined
def _draw_reflection(r: Stream, v: Floats, first: int) -> tuple[float, float]:
    """Draw the vector v along which to reflect, from a coordinate on; return 2 / |v|^2 and the sign to apply."""
    square = 0.0
    for i in range(first, v.size):
        v[i] = normal(r)
        square += v[i] * v[i]
    length = math.sqrt(square)
    sign = 1.0 if v[first] >= 0.0 else -1.0
    v[first] += sign * length
    return 1.0 / (length * abs(v[first])), -sign


@inlined
def _reflect_row(row: Floats, weight: float, sums: Floats, next_weight: float, next_sums: Floats) -> None:
    for k in range(row.size):
        row[k] -= weight * sums[k]
        next_sums[k] += next_weight * row[k]


def placement(function: Function, dimension: int, shifted: bool, rotated: bool, seed: int) -> Floats:
    """Draw the placement of a variant: its shift and its rotation.

    The shift is drawn up to 15% of the range in each coordinate, such that the moved robust optimum and its ball stay
    in the box. The rotation, about the box's centre, is uniform among the orthogonal matrices (Haar measure).

    Args:
        function: The test function.
        dimension: Variables.
        shifted: Whether there is a shift.
        rotated: Whether there is a rotation.
        seed: What decides both.

    Returns:
        The data that `formula` takes in addition to the point.
    """
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, dimension])))
    max_shift = 0.15 * (function.upper - function.lower)
    shift = 2.0 * rng.random(dimension) - 1.0
    centre = (function.lower + function.upper) / 2
    columns, sums = np.empty((0, dimension)), np.ones(dimension)
    if rotated:
        columns = random_rotation(stream(np.random.SeedSequence([seed, dimension], spawn_key=(1,))), dimension)
        sums = columns.sum(axis=1)
    # f applied to c + Q (x - s - c): the optimum, at c + Q'(best - c) without the shift, moves by s
    at = centre + sums * (function.best - centre)
    lowest = np.minimum(np.maximum(-max_shift, function.lower + function.radius - at), 0.0)
    highest = np.maximum(np.minimum(max_shift, function.upper - function.radius - at), 0.0)
    moved = np.where(shift < 0, -shift * lowest, shift * highest) if shifted else np.zeros(dimension)
    domain = [function.lower - function.radius, function.upper + function.radius, centre]
    return np.concatenate([np.array(domain), moved, columns.ravel()])
