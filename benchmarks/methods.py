"""Genetic programming or successive halving: which finds the better heuristic with the same number of runs?

    python benchmarks/methods.py [--seeds 5] [--instances 10]

In the whole extended grammar, on all ten problems, shifted, and shifted and rotated, with resampled instances. Each
seed gives one champion of each method; the initial population of halving is as large as the runs of genetic programming
allow. Champions are compared on new instances: on each problem by their position from the best to the median of all
champions, at most 3. The test (rank-sum, two-sided) is on the means of these.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

import robustforge as rf
from robustforge.evolution.api import make_settings
from robustforge.robust_problem import Variant

DIMENSION, BUDGET, SAMPLES, FIRST_SEED = 10, 500, 2000, 70_001
VARIANTS: tuple[Variant, ...] = ("shifted", "shifted-rotated")
COMMON: dict[str, Any] = {
    "budget": BUDGET,
    "samples": SAMPLES,
    "resample_instances": True,
    "criterion": "regret",
    "final_repeats": 30,
}
GP: dict[str, Any] = {
    "population": 30,
    "initial_population": 90,
    "generations": 12,
    "repeats": 4,
    "parameter_mutation": 0.5,
}
ROUNDS, LAST_REPEATS = 6, 32


def halving_settings(runs: int, cells: int) -> dict[str, Any]:
    """Return the settings of successive halving with this number of runs, finals included."""
    settings = {"method": "halving", "generations": ROUNDS, "repeats": LAST_REPEATS, **COMMON}
    size = next(
        n for n in range(2, runs) if make_settings(settings | {"initial_population": n + 1}).max_runs(cells) > runs
    )
    return settings | {"initial_population": size}


def scores(champions: list[rf.Heuristic], instances: int) -> np.ndarray:
    """Return a score for each champion: 0 is the best of all on every problem, 1 the median."""
    cells = []
    for variant in VARIANTS:
        for name in rf.problems():
            made = [rf.problem(name, DIMENSION, variant, FIRST_SEED + k) for k in range(instances)]
            found = [rf.assess(each, made, runs=1, budget=BUDGET, samples=SAMPLES, attack=False) for each in champions]
            cells.append([np.mean([run.value for run in one.runs]) for one in found])
    means = np.array(cells)
    best, median = means.min(axis=1, keepdims=True), np.median(means, axis=1, keepdims=True)
    return np.minimum((means - best) / np.maximum(median - best, 1e-3 * np.abs(best)), 3.0).mean(axis=0)


def main() -> None:
    """Evolve, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--instances", type=int, default=10)
    args = parser.parse_args()
    problems = [rf.problem(name, DIMENSION, variant, seed=1) for variant in VARIANTS for name in rf.problems()]
    champions: dict[str, list[rf.Heuristic]] = {"gp": [], "halving": []}
    for seed in range(1, args.seeds + 1):
        evolved = rf.evolve(problems, seed=seed, **COMMON, **GP)
        halved = rf.evolve(problems, seed=seed, **halving_settings(evolved.progress.new_runs, len(problems)))
        for method, evolution in (("gp", evolved), ("halving", halved)):
            champions[method].append(evolution.champion)
            kind = evolution.champion.outer.title
            print(f"seed {seed}, {method}: {evolution.progress.new_runs:,} runs, {kind.lower()}", flush=True)
    figures = scores([*champions["gp"], *champions["halving"]], args.instances)
    one, two = figures[: args.seeds], figures[args.seeds :]
    for method, found in (("gp", one), ("halving", two)):
        print(f"{method}: {found.mean():.3f} +- {found.std(ddof=1) / np.sqrt(found.size):.3f}", np.sort(found).round(3))
    print(f"p = {mannwhitneyu(one, two).pvalue:.2g}")


if __name__ == "__main__":
    main()
