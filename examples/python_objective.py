"""A model that is a Python function: solve it with two workers, and attack the answer.

python examples/python_objective.py
"""

from __future__ import annotations

import numpy as np

import robustforge as rf


def truss(areas: np.ndarray) -> float:
    """Return the weight of a three-bar truss, and what its stress costs."""
    outer, middle = areas[0] + areas[2], areas[1]
    stress = 20.0 / (middle + 0.7071 * outer)
    lean = abs(areas[0] - areas[2])
    return float(1.414 * outer + middle + (stress / 5.0) ** 2 + lean)


if __name__ == "__main__":
    problem = rf.Problem(truss, bounds=[(0.1, 5.0)] * 3, uncertainty=rf.Box(0.1), outside="clip", name="truss")
    result = rf.minimize(problem, budget=600, heuristic="rpso+dd", rng=1, workers=2)
    worst = rf.attack(problem, result.x, budget=60)
    print("design      ", np.round(result.x, 3))
    print("as designed ", round(result.nominal_fun, 3))
    print("worst known ", round(result.fun, 3), "to the search, after an attack", round(worst.fun, 3))
