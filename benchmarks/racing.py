"""What does a race save, and is its champion as good? The same evolutions with and without.

    python benchmarks/racing.py [--seeds 10] [--runs 100]

Each seed gives one champion with a race and one without. Champions are compared, not runs: a champion's figure is its
mean over runs on new seeds, and the test (rank-sum, two-sided) is on these figures.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import mannwhitneyu

import robustforge as rf
from judging import fresh_values

DIMENSION = 10
SETTINGS = {"population": 30, "generations": 15, "repeats": 20, "budget": 1000, "samples": 2000}
JUDGED = {"budget": SETTINGS["budget"], "samples": SETTINGS["samples"]}
LEVEL = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--runs", type=int, default=100)
    args = parser.parse_args()
    for name in ("rastrigin", "ackley", "sphere"):
        problem = rf.problem(name, DIMENSION)
        means: dict[float, list[float]] = {0.0: [], LEVEL: []}
        made = dict.fromkeys(means, 0)
        for seed in range(1, args.seeds + 1):
            for level, found in means.items():
                evolution = rf.evolve(problem, seed=seed, race_level=level, grammar="paper", **SETTINGS)
                made[level] += evolution.progress.new_runs
                found.append(float(fresh_values(problem, evolution.champion, args.runs, seed, **JUDGED).mean()))
        whole, raced = (np.array(found) for found in means.values())
        error = np.sqrt((whole.var(ddof=1) + raced.var(ddof=1)) / args.seeds)
        p = mannwhitneyu(whole, raced).pvalue
        print(
            f"{name:10s} champions of {args.seeds} seeds: without {whole.mean():.4g}, with a race {raced.mean():.4g}, "
            f"difference {raced.mean() - whole.mean():+.3g} ± {error:.2g} (p = {p:.2g}); "
            f"runs {made[0.0]:,} and {made[LEVEL]:,}, {1 - made[LEVEL] / made[0.0]:.0%} saved",
            flush=True,
        )


if __name__ == "__main__":
    main()
