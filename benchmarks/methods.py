"""Breeding, or halving a random crowd: which finds the better heuristic with the same number of runs?

    python benchmarks/methods.py [--seeds 5] [--instances 10]

In the whole extended grammar, on all ten problems, shifted, and shifted and rotated, with fresh instances. Each seed
gives one champion of either method; the crowd is as large as the runs of the breeding allow. Champions are judged on
instances that nobody has seen: on each problem, how far from the best to the median of all champions, at most 3; and
the test (rank-sum, two-sided) is on the champions' means of that.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

import robustforge as rf
from robustforge.evolution.entry import make_settings
from robustforge.problem import Variant

DIMENSION, BUDGET, SAMPLES, FIRST_SEED = 10, 500, 2000, 70_001
VARIANTS: tuple[Variant, ...] = ("shifted", "shifted-rotated")
COMMON: dict[str, Any] = {
    "budget": BUDGET,
    "samples": SAMPLES,
    "fresh": True,
    "criterion": "sizes",
    "final_repeats": 30,
}
BREEDING: dict[str, Any] = {"population": 30, "first": 90, "generations": 12, "repeats": 4, "refinement": 0.5}
ROUNDS, LAST_REPEATS = 6, 32


def crowd(runs: int, cells: int) -> dict[str, Any]:
    """Return the settings of a race with so many runs in all, finals included."""
    racing = {"method": "race", "generations": ROUNDS, "repeats": LAST_REPEATS, **COMMON}
    size = next(n for n in range(2, runs) if make_settings(racing | {"first": n + 1}).most_runs(cells) > runs)
    return racing | {"first": size}


def judged(champions: list[rf.Heuristic], instances: int) -> np.ndarray:
    """Return a figure for each champion: 0 is the best of all on every problem, 1 the median."""
    cells = []
    for variant in VARIANTS:
        for name in rf.problems():
            made = [rf.problem(name, DIMENSION, variant, FIRST_SEED + k) for k in range(instances)]
            found = [rf.assess(each, made, runs=1, budget=BUDGET, samples=SAMPLES, attack=False) for each in champions]
            cells.append([np.mean([run.value for run in one.runs]) for one in found])
    means = np.array(cells)
    best, middle = means.min(axis=1, keepdims=True), np.median(means, axis=1, keepdims=True)
    return np.minimum((means - best) / np.maximum(middle - best, 1e-3 * np.abs(best)), 3.0).mean(axis=0)


def main() -> None:
    """Breed, race, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--instances", type=int, default=10)
    args = parser.parse_args()
    problems = [rf.problem(name, DIMENSION, variant, seed=1) for variant in VARIANTS for name in rf.problems()]
    champions: dict[str, list[rf.Heuristic]] = {"breed": [], "race": []}
    for seed in range(1, args.seeds + 1):
        bred = rf.evolve(problems, seed=seed, **COMMON, **BREEDING)
        raced = rf.evolve(problems, seed=seed, **crowd(bred.progress.made, len(problems)))
        for method, evolution in (("breed", bred), ("race", raced)):
            champions[method].append(evolution.champion)
            kind = evolution.champion.outer.title
            print(f"seed {seed}, {method}: {evolution.progress.made:,} runs, {kind.lower()}", flush=True)
    figures = judged([*champions["breed"], *champions["race"]], args.instances)
    one, two = figures[: args.seeds], figures[args.seeds :]
    for method, found in (("breed", one), ("race", two)):
        print(f"{method}: {found.mean():.3f} +- {found.std(ddof=1) / np.sqrt(found.size):.3f}", np.sort(found).round(3))
    print(f"p = {mannwhitneyu(one, two).pvalue:.2g}")


if __name__ == "__main__":
    main()
