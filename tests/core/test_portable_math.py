"""Elementary functions against `decimal`, which is exact to 50 digits: units in the last place, and special values."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numba import njit

from robustforge.core import portable_math

DIGITS = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
COUNT = 3000
INF, NAN = math.inf, math.nan


def uniform(low, high, count=COUNT, seed=1):
    return np.random.default_rng([seed, count, int(abs(high))]).uniform(low, high, count).tolist()


def of_all_sizes():
    return list(map(math.ldexp, uniform(0.5, 1.0), np.random.default_rng(1).integers(-1073, 1025, COUNT).tolist()))


def with_exponents(numbers):
    """Numbers with exponents such that their power is anything that a float can be."""
    pairs = zip(numbers, uniform(-744, 709), strict=False)
    return [(x, y / math.log(x)) for x, y in pairs if x != 1.0]


def wave(x, term, k):
    """Taylor's series of the sine or the cosine, after whole turns are taken off."""
    with localcontext() as context:
        context.prec = 90
        turn = 2 * Decimal(DIGITS)
        x = Decimal(x)
        x -= (x / turn).to_integral_value() * turn
        term = x if term is None else term
        total = term
        while abs(term) > Decimal("1e-60"):
            term *= -x * x / ((k + 1) * (k + 2))
            total, k = total + term, k + 2
        return total


EXACT = {
    "exp": lambda x: Decimal(x).exp(),
    "exp2": lambda x: (Decimal(x) * Decimal(2).ln()).exp(),
    "log": lambda x: Decimal(x).ln(),
    "log1p": lambda x: (1 + Decimal(x)).ln(),
    "power": lambda x, y: (Decimal(y) * Decimal(x).ln()).exp(),
    "sin": lambda x: wave(x, None, 1),
    "cos": lambda x: wave(x, Decimal(1), 0),
}

ANGLES = [*uniform(-1, 1), *uniform(-10, 10), *uniform(-4000, 4000), *uniform(-1e8, 1e8)]
NEAR_1 = [1 + k * 2.0**-52 for k in range(1, 100)] + [1 - k * 2.0**-53 for k in range(1, 100)]
ARGUMENTS = {
    "exp": [(x,) for x in [*uniform(-745, 709.7), *uniform(-1, 1), *uniform(-1e-3, 1e-3)]],
    "exp2": [(x,) for x in [*uniform(-1074, 1023.9), *uniform(-1, 1)]],
    "log": [(x,) for x in [*of_all_sizes(), *uniform(0.5, 2), *uniform(0.99, 1.01), *NEAR_1, 5e-324, 1e-310]],
    "log1p": [(x,) for x in [*uniform(-0.99, 3), *uniform(-0.01, 0.01), *uniform(-1e-14, 1e-14)]],
    "power": [
        *zip(uniform(0, 50), uniform(-20, 20), strict=True),
        *zip(uniform(0, 1), uniform(0, 1, seed=2), strict=True),
        *with_exponents(of_all_sizes()),
        *with_exponents(uniform(0.9, 1.1)),
        *with_exponents(NEAR_1),
    ],
    "sin": [(x,) for x in [*ANGLES, *(k * math.pi for k in range(1, 500)), 1e-9, -1e-300]],
    "cos": [(x,) for x in [*ANGLES, *(k * math.pi + math.pi / 2 for k in range(1, 500))]],
}
FURTHEST = {"log1p": 1.6}
"""In units of the last place; else 0.9."""


def as_compiled(name):
    function, count = getattr(portable_math, name), len(ARGUMENTS.get(name, [(0,)])[0])
    return njit((lambda x, y: function(x, y)) if count == 2 else (lambda x: function(x)))


def is_same(a, b):
    return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_error_is_below_a_unit_in_the_last_place(name):
    compiled, plain = as_compiled(name), getattr(portable_math, name)
    furthest = 0.0
    with localcontext() as context:
        context.prec = 50
        for arguments in ARGUMENTS[name]:
            exact = EXACT[name](*arguments)
            value = compiled(*arguments)
            assert is_same(value, plain(*arguments)), arguments  # the same bits, compiled or not
            furthest = max(furthest, float(abs(Decimal(value) - exact) / Decimal(math.ulp(float(exact)))))
    assert furthest < FURTHEST.get(name, 0.9)


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        ("exp", [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (709.8, INF), (-745.2, 0.0), (1e300, INF)]),
        (
            "exp2",
            [(0.0, 1.0), (INF, INF), (-INF, 0.0), (1024.0, INF), (-1074.0, 5e-324), (-1075.5, 0.0)],
        ),
        ("log", [(0.0, -INF), (-0.0, -INF), (-1.0, NAN), (-INF, NAN), (INF, INF), (1.0, 0.0)]),
        ("log1p", [(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (-2.0, NAN), (INF, INF), (5e-324, 5e-324)]),
        ("sin", [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (1e9, NAN)]),
        ("cos", [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (1e9, NAN)]),
    ],
)
@pytest.mark.filterwarnings("error")
def test_special_values(name, pairs):
    for function in (as_compiled(name), getattr(portable_math, name)):
        for x, expected in [*pairs, (NAN, NAN)]:
            assert is_same(function(x), expected), x


def test_integer_powers_of_2_are_exact():
    assert all(portable_math.exp2(float(k)) == math.ldexp(1.0, k) for k in range(-1074, 1024))


def ieee(x, y):
    """The power as C defines it: Python raises where that is infinite, or not a number."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -INF if x < 0 and abs(math.fmod(y, 2)) == 1 else INF
    except ValueError:
        if x != 0:
            return NAN
        return math.copysign(INF, x) if abs(math.fmod(y, 2)) == 1 else INF


@pytest.mark.filterwarnings("error")
def test_special_values_of_powers():
    sizes = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, INF, 1e308, 5e-324, 1e-310, 1e16, 2.0**53 - 1, 2.0**52 - 0.5, 1 - 2.0**-53]
    values = [*sizes, *(-x for x in sizes), NAN]
    compiled = as_compiled("power")
    for x, y in itertools.product(values, values):
        expected = ieee(x, y)
        for found in (compiled(x, y), portable_math.power(x, y)):
            near = math.isfinite(expected) and expected != 0 and abs(found - expected) <= 2 * math.ulp(expected)
            assert near or is_same(found, expected), (x, y)


def test_the_cosine_of_turns():
    turns = [*uniform(-2, 2), *uniform(-1e6, 1e6)]
    compiled = njit(lambda x: portable_math.cosine(x))
    for x in turns:
        rest = x - math.floor(x + 0.5)
        assert compiled(x) == portable_math.cosine(x) == pytest.approx(math.cos(2 * math.pi * rest), abs=2e-15)
    assert portable_math.cosine(1e300) == 1.0
