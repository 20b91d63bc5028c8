"""A few runs whose answers are written down: an edit that changes them changes what users get, and must say so.

They are the same on every CPU; test_portable.py has those of more components, computed in several ways.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robustforge as rf

FILE = Path(__file__).parent / "golden.json"
CASES = {
    "rpso sphere 30": ("rpso", "sphere", 30),
    "rpso+dd+leh sphere 5": ("rpso+dd+leh", "sphere", 5),
    "descent-directions sawtooth 10": ("descent-directions", "sawtooth", 10),
    "leh sphere 3": ("leh", "sphere", 3),
    "rpso+leh heaviside 30": ("rpso+leh", "heaviside", 30),
    "rpso+dd rosenbrock 20": ("rpso+dd", "rosenbrock", 20),
    "rpso+dd sphere 30, in turn": ("rpso+dd", "sphere", 30),
}


def answer(case: str) -> dict[str, object]:
    name, problem, dimension = CASES[case]
    chosen = rf.heuristic(name)
    if "in turn" in case:
        chosen = chosen.replace(outer=chosen.outer.replace(update_order="asynchronous"))
    result = rf.minimize(rf.problem(problem, dimension), budget=500, heuristic=chosen, rng=42)
    return {
        "heuristic": chosen.id,
        "fun": result.fun.hex(),
        "nominal_fun": result.nominal_fun.hex(),
        "x0": float(result.x[0]).hex(),
        "nfev": result.nfev,
        "nit": result.nit,
        "sum": float(np.sum(result.history.fun)).hex(),
    }


@pytest.mark.parametrize("case", CASES)
def test_golden(case):
    assert answer(case) == json.loads(FILE.read_text())[case]


if __name__ == "__main__":  # python tests/golden/test_golden.py writes the answers down anew
    FILE.write_text(json.dumps({case: answer(case) for case in CASES}, indent=2) + "\n")
