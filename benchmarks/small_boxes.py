"""Boxes of few variables: whose designs have the better worst case, by an attack with 150 evaluations?

    python benchmarks/small_boxes.py --runs 20

The ten test functions, shifted, and shifted and rotated, a new one for each run, with a box of 0.6 of their radius to
each side instead of their ball; average ranks over them.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import rankdata

import robustforge as rf
from robustforge.robust_problem import Variant

NAMES = ("champion/30d/extended", "champion/100d/extended", "corners", "champion/30d/general", "mirrored-es")
VARIANTS: tuple[Variant, ...] = ("shifted", "shifted-rotated")
FIRST_SEED = 30_001


def boxed(name: str, dimension: int, variant: Variant, seed: int) -> rf.Problem:
    given = rf.problem(name, dimension, variant, seed)
    bounds = list(zip(given.lower, given.upper, strict=True))
    made = rf.Problem(given.fun, bounds, rf.Box(0.6 * float(given.geometry.radii[0])), name=name)
    made.data, made.takes_data = given.data, True
    return made


def mean_worst(problems: list[rf.Problem], heuristic: str, budget: int) -> float:
    found = []
    for seed, problem in enumerate(problems):
        design = rf.minimize(problem, budget=budget, heuristic=heuristic, rng=seed).x
        found.append(rf.attack(problem, design, budget=150).fun)
    return float(np.mean(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    table = Table("variables", "budget", *NAMES, title="average rank, 1 is best")
    for dimension in (3, 6, 10, 15, 20):
        cells = [
            [boxed(name, dimension, variant, FIRST_SEED + k) for k in range(runs)]
            for variant in VARIANTS
            for name in rf.problems()
        ]
        for budget in (200, 500, 2000):
            means = [[mean_worst(problems, name, budget) for name in NAMES] for problems in cells]
            ranks = np.mean([rankdata(row) for row in means], axis=0)
            table.add_row(str(dimension), str(budget), *(f"{rank:.1f}" for rank in ranks))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
