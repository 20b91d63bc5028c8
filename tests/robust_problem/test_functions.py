"""The test functions against plain NumPy formulae written down anew from their sources, and their variants."""

from __future__ import annotations

import numpy as np
import pytest

import robustforge as rf
from robustforge.errors import ProblemError, UnknownNameError
from robustforge.robust_problem.held_out import ALL
from robustforge.robust_problem.test_functions import placement


def multipeak_f1(x):
    t = x + 5
    envelope = np.exp(-2 * np.log(2) * ((t - 0.1) / 0.8) ** 2)
    blunt = (t > 0.4) & (t <= 0.6)
    wave = np.sin(5 * np.pi * t)
    return -np.mean(envelope * np.where(blunt, np.sqrt(np.abs(wave)), wave**6))


def branke(x):
    t = x + 5
    left = 1.0 * (1 - 4 * (t + 2 / 2) ** 2 / 2**2)
    right = 1.3 * 16.0 ** (-2 * np.abs(2 - 2 * t) / 2)
    return max(1.0, 1.3) - np.mean(np.where((t >= -2) & (t < 0), left, np.where((t >= 0) & (t <= 2), right, 0.0)))


def pickelhaube(x):
    n, t = x.size, x + 30
    height = 5 / (5 - np.sqrt(5))
    g0 = 0.1 * np.exp(-0.5 * np.linalg.norm(t))
    g1a = height * (1 - np.sqrt(np.linalg.norm(t + 5) / (5 * np.sqrt(n))))
    g1b = 625 / 624 * (1 - (np.linalg.norm(t + 5) / (5 * np.sqrt(n))) ** 4)
    g2 = 1.5975 * (1 - (np.linalg.norm(t - 5) / (5 * np.sqrt(n))) ** 1.1513)
    return height - max(g0, g1a, g1b, g2)


def sawtooth(x):
    t = x + 5
    return 1 - np.mean(np.where((t >= -0.8) & (t < 0.2), t + 0.8, 0.0))


def ackley(x):
    t = x - 50
    return -20 * np.exp(-0.2 * np.sqrt(np.mean(t**2))) - np.exp(np.mean(np.cos(2 * np.pi * t))) + 20 + np.exp(1)


def rosenbrock(x):
    t = x - 10
    return np.sum(100 * (t[1:] - t[:-1] ** 2) ** 2 + (t[:-1] - 1) ** 2)


def levy(x):
    w = 1 + (x - 1) / 4
    inside = np.sum((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2))
    return np.sin(np.pi * w[0]) ** 2 + inside + (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)


def double_rastrigin(x):
    s = 1 - 1 / (2 * np.sqrt(x.size + 20) - 8.2)
    other = -np.sqrt((2.5**2 - 1) / s)
    bowls = min(np.sum((x - 2.5) ** 2), x.size + s * np.sum((x - other) ** 2))
    return bowls + 10 * np.sum(1 - np.cos(2 * np.pi * (x - 2.5)))


def michalewicz(x):
    return -np.mean(np.sin(x) * np.sin(np.arange(1, x.size + 1) * x**2 / np.pi) ** 10)


FORMULAE = {
    "rastrigin": lambda x: 10 * x.size + np.sum((x - 20) ** 2 - 10 * np.cos(2 * np.pi * (x - 20))),
    "multipeak-f1": multipeak_f1,
    "multipeak-f2": lambda x: np.mean(2 * np.sin(10 * np.exp(-0.2 * (x - 10)) * (x - 10)) * np.exp(-0.25 * (x - 10))),
    "branke": branke,
    "pickelhaube": pickelhaube,
    "heaviside": lambda x: (1 - np.prod(np.where(x + 20 > 0, 0.0, 1.0))) + np.sum(((x + 20) / 10) ** 2),
    "sawtooth": sawtooth,
    "ackley": ackley,
    "sphere": lambda x: np.sum((x - 20) ** 2),
    "rosenbrock": rosenbrock,
}

HELD_OUT_FORMULAE = {
    "griewank": lambda x: 1 + np.sum(x**2) / 4000 - np.prod(np.cos(x / np.sqrt(np.arange(1, x.size + 1)))),
    "levy": levy,
    "styblinski-tang": lambda x: np.mean(x**4 - 16 * x**2 + 5 * x) / 2,
    "ellipsoid": lambda x: np.sum(1000 ** (np.arange(x.size) / max(1, x.size - 1)) * x**2),
    "salomon": lambda x: 1 - np.cos(2 * np.pi * np.linalg.norm(x)) + 0.1 * np.linalg.norm(x),
    "double-sum": lambda x: np.sum(np.cumsum(x) ** 2),
    "michalewicz": michalewicz,
    "double-rastrigin": double_rastrigin,
}
EVERY = {**FORMULAE, **HELD_OUT_FORMULAE}

TABLE_1 = {
    "rastrigin": (14.88, 25.12, 0.5),
    "multipeak-f1": (-5, -4, 0.0625),
    "multipeak-f2": (10, 20, 0.5),
    "branke": (-7, -3, 0.5),
    "pickelhaube": (-40, -20, 1),
    "heaviside": (-30, -10, 1),
    "sawtooth": (-6, -4, 0.2),
    "ackley": (17.232, 82.768, 3),
    "sphere": (15, 25, 1),
    "rosenbrock": (7.952, 12.048, 0.25),
}

VARIANTS = ("shifted", "rotated", "shifted-rotated")


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("dimension", [1, 2, 7, 30])
def test_values(name, dimension):
    function = ALL[name]
    if dimension < function.least:
        pytest.skip("the formula needs two variables")
    problem = rf.problem(name, dimension)
    rng = np.random.default_rng(dimension)
    for _ in range(50):
        x = rng.uniform(function.lower - function.radius, function.upper + function.radius, dimension)
        assert problem(x) == pytest.approx(EVERY[name](x), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", TABLE_1)
def test_boxes_and_radii(name):
    problem = rf.problem(name, 3)
    low, high, gamma = TABLE_1[name]
    assert (problem.lower == low).all()
    assert (problem.upper == high).all()
    assert problem.uncertainty == rf.Ball(gamma)


def test_all_ten_are_listed():
    assert set(rf.problems()) == set(FORMULAE)


def test_what_is_held_out_is_kept_apart():
    assert set(rf.problems("held-out")) == set(HELD_OUT_FORMULAE)
    assert not set(rf.problems("held-out")) & set(rf.problems())
    with pytest.raises(UnknownNameError, match="suite"):
        rf.problems("all")


@pytest.mark.parametrize("name", EVERY)
def test_a_sum_is_said_to_be_one(name):
    function, n = ALL[name], 6
    problem, rng = rf.problem(name, n), np.random.default_rng(1)
    gaps = []
    for _ in range(30):
        a, b = rng.uniform(function.lower, function.upper, (2, n))
        if name == "heaviside":  # its step is felt in one corner only
            a, b = rng.uniform(-22, -19, (2, n))
        mine = np.arange(n) % 2 == 0
        gaps.append(abs(problem(a) + problem(b) - problem(np.where(mine, a, b)) - problem(np.where(mine, b, a))))
    size = abs(problem(a)) + abs(problem(b))
    assert (max(gaps) < 1e-9 * size) == function.additive


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_are_the_function_moved(name, variant):
    function, n = ALL[name], 6
    problem = rf.problem(name, n, variant, seed=5)
    data = placement(function, n, variant.startswith("shifted"), variant.endswith("rotated"), 5)
    shift = data[3 : 3 + n]
    rotation = data[3 + n :].reshape(n, n).T if variant.endswith("rotated") else np.eye(n)
    assert rotation @ rotation.T == pytest.approx(np.eye(n), abs=1e-12)
    assert variant.startswith("shifted") == bool(np.any(shift))
    assert (np.abs(shift) <= 0.15 * (function.upper - function.lower)).all()
    centre = (function.lower + function.upper) / 2
    rng = np.random.default_rng(1)
    for _ in range(20):
        x = rng.uniform(function.lower, function.upper, n)
        z = centre + rotation @ (x - shift - centre)
        z = np.clip(z, function.lower - function.radius, function.upper + function.radius)
        assert problem(x) == pytest.approx(EVERY[name](z), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_moved_optimum_and_its_ball_stay_in_the_box(name, seed):
    function, n = ALL[name], 30
    data = placement(function, n, True, False, seed)
    at = function.best + data[3 : 3 + n]
    assert (at - function.radius >= function.lower - 1e-12).all()
    assert (at + function.radius <= function.upper + 1e-12).all()


def test_a_variant_is_decided_by_its_seed():
    x = np.full(4, 18.0)
    one, again, other = (rf.problem("rastrigin", 4, "shifted-rotated", seed=s) for s in (1, 1, 2))
    assert one(x) == again(x) != other(x)


def test_mistakes():
    with pytest.raises(UnknownNameError, match="rastrigin"):
        rf.problem("rastrigrin")
    with pytest.raises(UnknownNameError, match="shifted"):
        rf.problem("sphere", 3, "shfted", seed=1)
    with pytest.raises(ProblemError, match="drawn from a seed"):
        rf.problem("sphere", 3, "shifted")
    for dimension in (0, -1, 2.5):
        with pytest.raises(ProblemError, match="dimension"):
            rf.problem("sphere", dimension)
    with pytest.raises(ProblemError, match="at least 2"):
        rf.problem("rosenbrock", 1)
