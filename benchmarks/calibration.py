"""How honest the reported number is: `fun` against the true worst case, and what the closing attack costs.

    python benchmarks/calibration.py --suite held-out        or paper; the table in docs/explanation/numbers.md

Each case is a problem, shifted and rotated or as it is, with a ball or a box, in 5, 10 and 30 variables, with a seed of
its own. The true worst case is the attacked one of `rf.verify`, which starts from all evaluations of the search. Values
are measured from the lowest one that the search has evaluated, so that neither their sign nor a constant matters:

    ratio = (fun - lowest) / (true worst case - lowest)

The cost is the true worst case of the returned design, relative to that with `verify=0`, both from the lowest of all
values of both searches; its mean over cases is the exponential of the mean logarithm.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

import robustforge as rf
from robustforge.representation.presets import default_name
from robustforge.robust_problem import Problem

DIMENSIONS, BUDGETS, SETS = (5, 10, 30), (60, 100, 500, 2000), ("ball", "box")
BOX = 1 / 3
"""Half the width of a box, in radii of the problem's ball."""


@dataclass(frozen=True)
class Outcome:
    """A case: the reported and the true worst case, the lowest value, and the true worst case without the attack."""

    dimension: int
    budget: int
    shape: str
    ratio: float
    cost: float


def cases(suite: str, dimension: int, shape: str, runs: int, first: int) -> Iterator[tuple[Problem, int]]:
    """Yield problems with their seeds."""
    for number, name in enumerate(rf.problems(suite)):
        for run in range(runs):
            seed = first + 100 * number + run
            variant = "original" if run % 4 == 3 else "shifted-rotated"
            given = rf.problem(name, dimension, variant, seed=None if variant == "original" else seed)
            yield (given if shape == "ball" else in_box(given)), seed


def in_box(given: Problem) -> Problem:
    """Return a test problem with a box as its uncertainty set."""
    half = BOX * float(given.geometry.radii[0])
    bounds = list(zip(given.lower, given.upper, strict=True))
    made = Problem(given.fun, bounds, rf.Box(half), name=given.name)
    made.data, made.takes_data = given.data, given.takes_data
    return made


def outcome(problem: Problem, budget: int, seed: int, shape: str, compare: bool) -> Outcome:
    """Return what the default reports on a problem, against the truth."""
    found = rf.minimize(problem, budget=budget, rng=seed)
    true = worst(problem, found)
    lowest, cost = min(optimum(problem), float(found.history.fun.min())), math.nan
    if compare:
        champion = default_name(problem.dimension, budget).replace("default", "champion")
        plain = rf.minimize(problem, budget=budget, heuristic=champion, rng=seed)
        cost = ratio_of(true, worst(problem, plain), lowest)
    return Outcome(problem.dimension, budget, shape, ratio_of(found.fun, true, lowest), cost)


@cache
def optimum(problem: Problem) -> float:
    """Return the lowest value of a test problem, or one close to it: the lowest on the diagonal."""
    name = problem.name.split(f"-{problem.dimension}d")[0]
    given = rf.problem(name, problem.dimension)
    diagonal = np.linspace(given.lower[0], given.upper[0], 2001)
    return min(float(given(np.full(problem.dimension, t))) for t in diagonal)


def worst(problem: Problem, found: rf.RobustResult) -> float:
    """Return the true worst case of a design, as far as a large attack finds it."""
    checked = rf.verify(problem, found.x, samples=20_000, rng=1, prior_evaluations=found.history)
    assert checked.attacked is not None
    return checked.attacked.fun


def ratio_of(value: float, other: float, lowest: float) -> float:
    """Return the ratio of two values measured from the lowest; 1 if both are the lowest."""
    if not other - lowest > 1e-12 * max(1.0, abs(lowest)):
        return 1.0
    return (value - lowest) / (other - lowest)


def row(label: str, outcomes: list[Outcome]) -> str:
    """Return a line of the table."""
    ratios = np.array([each.ratio for each in outcomes])
    costs = np.array([each.cost for each in outcomes])
    costs = np.log(np.clip(costs[np.isfinite(costs)], 0.05, 20.0))
    cost = f"{100 * (math.exp(costs.mean()) - 1):+.1f}%" if costs.size else ""
    return f"| {label} | {len(ratios)} | {np.median(ratios):.2f} | {np.quantile(ratios, 0.1):.2f} | {cost} |"


def main() -> None:
    """Print the table, by budget, dimension and set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="paper", choices=("paper", "held-out"))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS)
    parser.add_argument("--no-cost", action="store_true", help="without the searches of the champions")
    args = parser.parse_args()
    print("| budget, variables, set | cases | median | 10% quantile | cost |\n|---|---|---|---|---|")
    for budget in args.budgets:
        found: list[Outcome] = []
        for dimension in DIMENSIONS:
            for shape in SETS:
                mine = [
                    outcome(problem, budget, seed, shape, not args.no_cost)
                    for problem, seed in cases(args.suite, dimension, shape, args.runs, args.seed)
                ]
                found += mine
                print(row(f"{budget:,}, {dimension}, {shape}", mine), flush=True)
        print(row(f"**{budget:,}**", found), flush=True)


if __name__ == "__main__":
    main()
