"""A model that is a Python function: solve it with two workers, and attack the design.

python examples/python_objective.py
"""

from __future__ import annotations

import numpy as np

import robustforge as rf


def truss(areas: np.ndarray) -> float:
    """Return the weight of a three-bar truss, with a penalty for its stress."""
    outer, middle = areas[0] + areas[2], areas[1]
    stress = 20.0 / (middle + 0.7071 * outer)
    lean = abs(areas[0] - areas[2])
    return float(1.414 * outer + middle + (stress / 5.0) ** 2 + lean)


if __name__ == "__main__":
    problem = rf.Problem(truss, bounds=[(0.1, 5.0)] * 3, uncertainty=rf.Box(0.1), out_of_bounds="clip", name="truss")
    result = rf.minimize(problem, budget=600, heuristic="rpso+dd", rng=1, workers=2)
    worst = rf.attack(problem, result.x, budget=60)
    print("design      ", np.round(result.x, 3))
    print("nominal     ", round(result.nominal_fun, 3))
    print("worst found ", round(result.fun, 3), "by the search, attacked", round(worst.fun, 3))
