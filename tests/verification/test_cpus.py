"""Verification gives the same bits whatever kernels OpenBLAS and NumPy choose for the CPU.

Both take the kernels of an older CPU if the environment says so; each environment is a process of its own.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import robustforge as rf

SCRIPT = """
import numpy as np
import robustforge as rf

for name, dimension in (("rosenbrock", 10), ("ackley", 10), ("branke", 10), ("branke", 30)):
    ball = rf.problem(name, dimension)
    bounds, half = list(zip(ball.lower, ball.upper)), float(ball.geometry.radii[0]) / 3
    box = rf.Problem(lambda x: float(ball(x)), bounds, rf.Box(half))
    shares = np.random.default_rng(dimension).random(dimension)
    x = ball.lower + (0.2 + 0.6 * shares) * (ball.upper - ball.lower)
    for problem in (ball, box):
        found = rf.verify(problem, x, samples=500, rng=1)
        for case in (found.sampled, found.attacked, rf.attack(problem, x, budget=300)):
            print(name, dimension, case.nfev, case.fun.hex(), *(value.hex() for value in case.x.tolist()))
"""


BY_CPU = {"linalg", "dot", "vdot", "inner", "matmul", "tensordot", "einsum", "standard_normal", "normal"} | {
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "power", "pow", "sin", "cos", "tan", "hypot", "cbrt"),
    *("arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "float_power"),
}
"""What rounds as the CPU, or the mathematical library chosen for it, does."""


@pytest.mark.parametrize("path", ["verification/*.py", "search/attack.py", "core/linear_algebra.py"])
def test_nothing_that_rounds_by_the_cpu_is_called(path):
    package = Path(rf.__file__).parent
    assert list(package.glob(path))
    for file in package.glob(path):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            assert not isinstance(node, ast.MatMult), file
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert not (node.value.id in ("np", "math", "rng") and node.attr in BY_CPU), (file, node.attr)


def dispatched():
    """The features beyond its baseline that NumPy has kernels for, and that this CPU has."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]


def printed(**environment):
    plain = {key: value for key, value in os.environ.items() if not key.startswith(("OPENBLAS_CORETYPE", "NPY_"))}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env={**plain, **environment}, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def here():
    return printed()


def test_the_script_says_something(here):
    assert len(here.splitlines()) == 24
    assert "rosenbrock 10 300 0x1." in here


@pytest.mark.parametrize("core", ["Prescott", "Haswell", "SkylakeX"])
def test_verification_does_not_depend_on_the_kernels_of_openblas(here, core):
    assert printed(OPENBLAS_CORETYPE=core) == here


@pytest.mark.parametrize("without", ["512", ""])
def test_verification_does_not_depend_on_the_kernels_of_numpy(here, without):
    names = [name for name in dispatched() if without in name or name == "X86_V4"]
    if not names:
        pytest.skip("NumPy has no such kernels for this CPU")
    assert printed(NPY_DISABLE_CPU_FEATURES=",".join(names)) == here
