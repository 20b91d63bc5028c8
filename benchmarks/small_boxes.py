"""Boxes of few variables: whose designs have the better worst case, by an attack with 150 evaluations?

    python benchmarks/small_boxes.py --runs 20

The ten test functions with a box of 0.6 of their radius to each side instead of their ball; average ranks over them.
"""

from __future__ import annotations

import argparse

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

import robustforge as rf

NAMES = ("corners", "champion/30d/general", "paper/30d/general", "rpso+dd", "rpso")


def boxed(name: str, dimension: int) -> rf.Problem:
    given = rf.problem(name, dimension)
    formula = given.fun
    bounds = list(zip(given.lower, given.upper, strict=True))
    plain = numba.njit(lambda x: formula(x, np.empty(0)))
    return rf.Problem(plain, bounds, rf.Box(0.6 * float(given.geometry.radii[0])), name=name)


def mean_worst(problem: rf.Problem, heuristic: str, budget: int, runs: int) -> float:
    designs = (rf.minimize(problem, budget=budget, heuristic=heuristic, rng=seed).x for seed in range(runs))
    return float(np.mean([rf.attack(problem, design, budget=150).fun for design in designs]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    table = Table("variables", "budget", *NAMES, title="average rank, 1 is best")
    for dimension in (3, 6, 10, 15, 20):
        problems = [boxed(name, dimension) for name in rf.problems()]
        for budget in (500, 2000):
            means = [[mean_worst(problem, name, budget, runs) for name in NAMES] for problem in problems]
            ranks = np.mean([np.argsort(np.argsort(row)) + 1 for row in means], axis=0)
            table.add_row(str(dimension), str(budget), *(f"{rank:.1f}" for rank in ranks))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
