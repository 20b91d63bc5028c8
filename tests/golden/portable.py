"""Prints the bits of what seeds decide, as JSON by section: the same text on every CPU (see test_portable.py)."""

from __future__ import annotations

import hashlib
import json
import math
import sys

import numpy as np

import robustforge as rf
from robustforge.core import portable_math
from robustforge.core.compiler import compiled
from robustforge.core.random import in_unit_ball, normal, stream
from robustforge.evolution.distributions import chi2_sf, t_quantile
from robustforge.robust_problem.engineering import ENGINEERING
from robustforge.robust_problem.held_out import ALL
from robustforge.simulator.variables import Tolerance, Variable

VARIANTS = ("original", "shifted", "rotated", "shifted-rotated")
FEW = {
    "network": "ring",
    "baseline": "inertia",
    "inner form": "random sampling",
    "movement": "dd",
    "mutation": "gaussian",
}


def bits(*values):
    """Return a hash of all bits."""
    arrays = [np.ascontiguousarray(value, dtype=np.float64).tobytes() for value in values]
    return hashlib.sha256(b"".join(arrays)).hexdigest()[:16]


@compiled
def values_of_all(x, y):
    out = np.empty((9, x.size))
    for i in range(x.size):
        out[0, i] = portable_math.exp(x[i])
        out[1, i] = portable_math.exp2(x[i])
        out[2, i] = portable_math.log(abs(x[i]))
        out[3, i] = portable_math.log1p(abs(x[i]))
        out[4, i] = portable_math.power(abs(x[i]), y[i])
        out[5, i] = portable_math.sin(x[i])
        out[6, i] = portable_math.cos(x[i])
        out[7, i] = portable_math.cosine(x[i])
        out[8, i] = y[i] * x[i] + x[i]  # not in one operation, where there is one
    return out


def elementary_functions():
    x, y = 600.0 * (2.0 * np.random.default_rng(1).random((2, 20_000)) - 1.0)
    return [bits(row) for row in values_of_all(x, y / 100.0)]


@compiled
def draws(r, count):
    out, active = np.empty((count, 6)), np.arange(5)
    for k in range(count):
        in_unit_ball(r, active, out[k, :5])
        out[k, 5] = normal(r)
    return out


def random_numbers():
    return bits(draws(stream(1), 50_000))


def functions():
    found = {}
    for name, function in ALL.items():
        for variant in VARIANTS:
            problem = rf.problem(name, 7, variant, None if variant == "original" else 3)
            u = np.random.default_rng(2).random((50, 7))
            points = function.lower + (function.upper - function.lower) * u
            found[f"{name} {variant}"] = bits([problem(x) for x in points])
    return found


def engineering():
    found = {}
    for name in ENGINEERING:
        problem = rf.problem(name)
        u = np.random.default_rng(2).random((50, problem.dimension))
        points = problem.lower + (problem.upper - problem.lower) * u
        found[name] = bits([problem(x) for x in points])
    return found


def grammars():
    rng = np.random.default_rng(3)
    extended = rf.grammar("extended")
    drawn = [extended.random(rng) for _ in range(100)]
    return [each.id for each in drawn] + [extended.mutate_parameters(each, rng).id for each in drawn]


def races():
    return [bits([chi2_sf(x / 3, k), t_quantile(0.95 + x / 1000, k)]) for k in (1, 7, 49, 400) for x in range(1, 40, 3)]


def searches():
    found = {}
    for variant in VARIANTS:
        for name, dimension in (("ackley", 10), ("multipeak-f1", 8)):
            problem = rf.problem(name, dimension, variant, None if variant == "original" else 5)
            for heuristic in ("paper/30d/general", None):
                r = rf.minimize(problem, budget=600, heuristic=heuristic, rng=7)
                found[f"{name} {variant} {heuristic}"] = [r.fun.hex(), r.nfev, bits(r.x, r.history.x, r.history.fun)]
    return found


def percentages():
    """Variables whose logarithm is searched."""
    variable = Variable("width", 0.5, 2000.0, Tolerance(3.0, 7.0, True))
    seen = [variable.encode(x) for x in (0.5, 7.5, 1000.0, 2000.0)]
    return bits(seen, variable.deviation, [variable.decode(x) for x in seen])


def evolution():
    problems = [rf.problem("rastrigin", 4, "rotated", 1), rf.problem("branke", 4)]
    small = {"population": 8, "generations": 3, "repeats": 4, "budget": 150, "samples": 200, "final_repeats": 4}
    found = rf.evolve(
        problems,
        grammar=rf.grammar("paper", only=FEW),
        workers=1,
        parameter_mutation=0.5,
        race_level=0.3,
        seed=4,
        **small,
    )
    return [found.champion.to_json(), [each.id for each in found.population]]


def assessment():
    found = rf.assess(
        ["rpso+dd", "random"],
        rf.problem("ackley", 5, "rotated", 2),
        runs=4,
        samples=2000,
        budget=300,
        attack=False,
        workers=1,
    )
    return [[run.value.hex(), run.nominal.hex(), bits(run.x)] for run in found.runs]


ATTACKED = (
    ("multipeak-f1", 30, "rotated"),
    ("heaviside", 30, "rotated"),
    ("rosenbrock", 30, "shifted-rotated"),
    ("rosenbrock", 10, "original"),
    ("ackley", 10, "original"),
    ("branke", 10, "original"),
    ("branke", 10, "box"),
    ("ackley", 10, "box"),
)


def design(name, dimension, variant):
    if variant == "box":
        plain = rf.problem(name, dimension)
        bounds, half = list(zip(plain.lower, plain.upper, strict=True)), float(plain.geometry.radii[0]) / 3
        problem = rf.Problem(lambda x: float(plain(x)), bounds, rf.Box(half))
    else:
        problem = rf.problem(name, dimension, variant, None if variant == "original" else 5)
    return problem, problem.lower + (problem.upper - problem.lower) * np.linspace(0.4, 0.6, dimension)


def verify():
    found = {}
    for case in ATTACKED:
        checked = rf.verify(*design(*case), samples=500 if "box" in case else 5000, rng=1)
        found[" ".join(map(str, case))] = [bits(each.fun, each.x) for each in (checked.sampled, checked.attacked)]
    return found


def attack():
    found = {}
    for case in ATTACKED:
        worst = rf.attack(*design(*case), budget=300)
        found[" ".join(map(str, case))] = bits(worst.fun, worst.x)
    return found


def control():
    """What the C library and NumPy say: to see that an environment does make a difference."""
    x = 600.0 * (2.0 * np.random.default_rng(1).random(20_000) - 1.0)
    matrix = x.reshape(100, 200)
    library = [f(value) for value in x for f in (math.exp, math.sin, math.cos)]
    return {"libm": bits(library), "numpy": bits(np.exp(x), np.sin(x)), "blas": bits(matrix @ matrix.T)}


SECTIONS = (
    elementary_functions,
    random_numbers,
    functions,
    engineering,
    grammars,
    races,
    searches,
    percentages,
    evolution,
    assessment,
    verify,
    attack,
    control,
)

if __name__ == "__main__":
    asked_for = sys.argv[1:] or [section.__name__ for section in SECTIONS]
    json.dump({section.__name__: section() for section in SECTIONS if section.__name__ in asked_for}, sys.stdout)
