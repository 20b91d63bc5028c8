"""The same bits on every CPU: what seeds decide is computed again as other machines would do it.

Libraries choose their code by what the CPU can do, and can be told that it can do less: OpenBLAS and NumPy by their own
variables, the C library by its tunables (which decide whether `exp` is computed with fused multiplications), and Numba
by the name of a CPU. Numba compiles for another CPU in a cache of its own; all others share one.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("portable.py")
SECTIONS = (
    "elementary_functions",
    "random_numbers",
    "functions",
    "engineering",
    "grammars",
    "races",
    "searches",
    "verify",
    "attack",
    "percentages",
    "evolution",
    "assessment",
)


def numpy_features(*parts):
    """The features that NumPy has code for and this CPU has, with one of these parts; no others may be named."""
    try:
        from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
    except ImportError:  # before NumPy 2
        from numpy.core._multiarray_umath import __cpu_dispatch__, __cpu_features__
    there = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
    return " ".join(name for name in there if any(part in name for part in parts))


LIBRARIES = {
    "OpenBLAS for Prescott, NumPy without AVX2": {
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": numpy_features(""),
    },
    "OpenBLAS for Haswell, NumPy without AVX-512": {
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": numpy_features("AVX512", "X86_V4"),
    },
    "OpenBLAS for SkylakeX, the C library without FMA": {
        "OPENBLAS_CORETYPE": "SkylakeX",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX512F,-AVX",
    },
}
"""Two libraries at a time, which know nothing of each other."""

COMPILERS = {
    "Numba for any CPU": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "Numba for Haswell": {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma"},
}

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the variables are for x86-64")


def printed(sections, **environment):
    """What the script prints with these variables set."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *sections],
        env={**os.environ, "ROBUSTFORGE_QUIET": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def here():
    return printed(SECTIONS)


@pytest.mark.parametrize("name", LIBRARIES)
def test_whatever_the_libraries_choose(name, here):
    there = printed(SECTIONS, **LIBRARIES[name])
    for section in SECTIONS:
        assert there[section] == here[section]


@pytest.mark.parametrize("name", ["Numba for any CPU", pytest.param("Numba for Haswell", marks=pytest.mark.long)])
def test_whatever_the_compiler_compiles_for(name, here, tmp_path):
    there = printed(SECTIONS, ROBUSTFORGE_CACHE=str(tmp_path), **COMPILERS[name])
    for section in SECTIONS:
        assert there[section] == here[section]
