"""What decides a result consists of operations with one right answer: this reads the sources for all others.

LAPACK and BLAS, NumPy's vectorised functions and the C library's have variants for different CPUs, with other last
bits; a search makes a different search of that. `robustforge.core.portable_math` has functions to use instead.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "robustforge"
PARTS = (
    "arguments.py",
    "assessment",
    "components",
    "contestants",
    "core",
    "engine",
    "evolution",
    "execution",
    "representation",
    "robust_problem",
    "scheduling",
    "simulator",
    "solver",
    "store",
    "study",
    "verification",
)
"""What is between a seed and a stored value."""
EXCEPT = {
    "assessment/statistics.py": "p-values and standard errors, which are printed and decide nothing",
    "contestants/cma_es.py": "an optimiser of another package, which uses LAPACK itself",
}

OF_NUMPY = {
    # arrays, their shapes and types
    *("array", "asarray", "asanyarray", "ascontiguousarray", "atleast_1d", "arange", "linspace", "zeros", "zeros_like"),
    *("ones", "full", "full_like", "empty", "eye", "diag", "frombuffer", "load", "ndim", "ndarray", "dtype", "generic"),
    *("bool_", "float32", "float64", "floating", "int32", "int64", "integer", "intp", "uint8", "uint64", "ma", "ix_"),
    *("append", "block", "concatenate", "hstack", "stack", "tile", "repeat", "broadcast_to", "broadcast_arrays"),
    *("array2string", "array_equal", "errstate", "vectorize", "inf", "nan"),
    # exact, or rounded in one way
    *("abs", "sign", "sqrt", "square", "floor", "round", "clip", "maximum", "minimum", "ptp", "ldexp", "where"),
    *("isnan", "isfinite", "count_nonzero", "nonzero", "flatnonzero", "argwhere", "argmax", "argmin", "searchsorted"),
    *("take_along_axis", "lexsort", "argsort", "partition"),
    # sums, whose order of additions does not depend on the CPU
    *("sum", "cumsum", "diff", "median", "percentile", "trace"),
    "random",
}
"""All of NumPy that may be used; `argsort` with kind="stable" only, `partition` for its value only."""
OF_MATH = {
    "ceil",
    "copysign",
    "e",
    "factorial",
    "inf",
    "isfinite",
    "isinf",
    "isnan",
    "isqrt",
    "ldexp",
    "nan",
    "pi",
    "prod",
    "sqrt",
}
OF_RANDOM = {"Generator", "PCG64", "SeedSequence", "default_rng"}
OF_GENERATORS = {"random", "integers", "generate_state", "copy", "dtype", "shape"}
"""What may be used of a generator, or of an array that is called like one."""
DRAWN = {
    *("standard_normal", "lognormal", "multivariate_normal", "exponential", "standard_exponential", "uniform", "beta"),
    *("standard_gamma", "chisquare", "dirichlet", "standard_t", "standard_cauchy", "poisson", "binomial", "triangular"),
    *("geometric", "gumbel", "laplace", "logistic", "pareto", "rayleigh", "vonmises", "wald", "weibull", "multinomial"),
}
HARMLESS_OF_SCIPY = {"OptimizeResult", "Bounds", "rankdata"}
FORBIDDEN_MODULES = {"cmath", "operator", "random", "scipy", "statistics"}


def sources():
    for part in PARTS:
        path = PACKAGE / part
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def faults(text):
    """Return what is wrong in a module, by line."""
    tree = ast.parse(text)
    bases = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return [f"line {node.lineno}: {fault}" for node in ast.walk(tree) if (fault := fault_of(node, bases))]


def fault_of(node, bases):
    match node:
        case ast.Name(id="np" | "math" as name) if id(node) not in bases:
            return f"{name} under another name"
        case ast.Attribute(value=ast.Name(id="math"), attr=name) if name not in OF_MATH:
            return f"math.{name}"
        case ast.Attribute(value=ast.Name(id="np"), attr=name) if name not in OF_NUMPY:
            return f"np.{name}"
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="np"), attr="random"), attr=name) if (
            name not in OF_RANDOM
        ):
            return f"np.random.{name}"
        case ast.Attribute(value=ast.Name(id="rng" | "generator"), attr=name) if name not in OF_GENERATORS:
            return f"rng.{name}"
        case ast.Attribute(attr=name) if name in DRAWN | {"dot", "argpartition"}:
            return f".{name}"
        case ast.Call(func=ast.Attribute(attr="normal" | "gamma" as name)):
            return f".{name}()"
        case ast.Attribute(value=value, attr="argsort") if not is_numpy(value):
            return ".argsort"
        case ast.Call(func=ast.Attribute(value=value, attr="argsort"), keywords=words) if not any(
            word.arg == "kind" and getattr(word.value, "value", "") == "stable" for word in words
        ):
            return "np.argsort without kind='stable': which of two equal ones comes first depends on the CPU"
        case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
            return "@"
        case ast.BinOp(op=ast.Pow()) | ast.AugAssign(op=ast.Pow()) if not is_exact_power(node):
            return "**"
        case ast.Call(func=ast.Name(id="pow")):
            return "pow()"
        case ast.ImportFrom(module=module, names=names):
            return fault_of_import(module or "", {(name.name, name.asname) for name in names})
        case ast.Import(names=names):
            return next((f"import {name.name}" for name in names if is_bad_import(name)), None)
    return None


def is_numpy(node):
    return isinstance(node, ast.Name) and node.id == "np"


def is_exact_power(node):
    """Whether a power is one of integers, of a fraction, or an integer power of 2.0: the base says so."""
    match node:
        case ast.BinOp(left=ast.Constant(value=bool() | int())):
            return True
        case ast.BinOp(left=ast.Constant(value=2.0), right=right):
            right = right.operand if isinstance(right, ast.UnaryOp) else right
            return isinstance(right, ast.Constant) and isinstance(right.value, int)
        case ast.BinOp(left=ast.UnaryOp(operand=ast.Constant(value=int())) | ast.Call(func=ast.Name(id="Fraction"))):
            return True
    return False


def is_bad_import(name):
    """Whether an import hides NumPy or `math` under another name, or is of a module that is not exact."""
    top = name.name.split(".")[0]
    allowed = {"numpy": [("numpy", "np"), ("numpy.typing", "npt")], "math": [("math", None)]}
    return top in FORBIDDEN_MODULES or (top in allowed and (name.name, name.asname) not in allowed[top])


def fault_of_import(module, names):
    top = module.split(".")[0]
    allowed = {"math": OF_MATH, "scipy": HARMLESS_OF_SCIPY, "numpy": set()}.get(top)
    if allowed is None:
        return f"from {module} import ..." if top in FORBIDDEN_MODULES else None
    bad = {name for name, alias in names if name not in allowed or alias is not None}
    return f"from {module} import {sorted(bad)}" if bad else None


@pytest.mark.parametrize("path", list(sources()), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_nothing_depends_on_the_cpu_or_the_c_library(path):
    if path.relative_to(PACKAGE).as_posix() not in EXCEPT:
        assert not faults(path.read_text())


def test_the_exceptions_are_there_and_need_to_be():
    for name in EXCEPT:
        assert faults((PACKAGE / name).read_text())


@pytest.mark.parametrize(
    "line",
    [
        *("math.exp(x)", "y = math.pow(x, 2)", "np.linalg.qr(a)", "a @ b", "a @= b", "np.dot(a, b)", "a.dot(b)"),
        *("np.exp(a)", "np.arctan2(a, b)", "np.power(a, b)", "x ** 0.5", "x ** 2", "x **= 2", "2.0 ** k", "pow(x, 2)"),
        *(
            "0.5 ** 3",
            "rng.standard_normal()",
            "rng.normal(size=3)",
            "np.argsort(a)",
            "np.argsort(a, kind='quicksort')",
        ),
        *("from math import exp", "from numpy.linalg import norm", "from numpy import exp", "import scipy.linalg"),
        *("from scipy.stats import chi2", "from scipy import special", "from scipy.optimize import brentq"),
        *("values.argsort()", "a.argpartition(3)", "f = np.sort", "from numpy import argsort", "import numpy.linalg"),
        *("import numpy.linalg as la", "import numpy as N", "import math as m", "from cmath import exp", "f = np"),
        *("np.vecdot(a, b)", "np.geomspace(1, 2)", "np.roots(a)", "np.correlate(a, b)", "np.kron(a, b)", "np.angle(a)"),
        *("import random", "import statistics", "np.random.randn(3)", "rng.multinomial(3, p)", "rng.f(1, 2)"),
        *(
            "draw = rng.normal",
            "rng.uniform(a, b)",
            "import operator",
            'getattr(np, "exp")',
            "from math import sqrt as f",
        ),
        "from scipy.optimize import OptimizeResult as minimize",
    ],
)
def test_what_is_found(line):
    assert faults(line)


@pytest.mark.parametrize(
    "line",
    [
        *("math.sqrt(x)", "math.ldexp(x, 3)", "np.sqrt(a)", "2**k", "2.0**-53", "10**9", "f(**options)", "a * b"),
        *("rng.random()", "rng.integers(3)", "np.argsort(a, kind='stable')", "items.sort()", "a.sum()"),
        *('"a b".partition(" ")', "np.random.default_rng(1)", "cliff.normal", "from math import isfinite"),
        *("from scipy.optimize import OptimizeResult", "from robustforge.core.portable_math import exp", "exp(x)"),
    ],
)
def test_what_is_fine(line):
    assert not faults(line)
