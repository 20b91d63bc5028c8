"""What does a race save, and is its champion as good? The same evolutions with and without.

    python benchmarks/racing.py [--seeds 5] [--runs 100]

Both champions are run on seeds that nobody has seen. The values of all seeds are pooled; the test is two-sided.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.stats import mannwhitneyu

import robustforge as rf
from judging import fresh_values

SETTINGS = {"population": 30, "generations": 15, "repeats": 20}
LEVEL = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=100)
    args = parser.parse_args()
    for names in (("rastrigin",), ("ackley",), ("sphere", "rastrigin", "ackley")):
        problems = [rf.problem(name, 30) for name in names]
        found: dict[float, list[list[np.ndarray]]] = {0.0: [], LEVEL: []}
        made, seconds = dict.fromkeys(found, 0), dict.fromkeys(found, 0.0)
        for seed in range(1, args.seeds + 1):
            for level in found:
                start = time.perf_counter()
                evolution = rf.evolve(problems, seed=seed, race=level, **SETTINGS)
                seconds[level] += time.perf_counter() - start
                made[level] += evolution.progress.made
                champion = evolution.champion
                found[level].append([fresh_values(each, champion, args.runs, seed) for each in problems])
        for k, name in enumerate(names):
            whole, raced = (np.concatenate([each[k] for each in found[level]]) for level in found)
            p = mannwhitneyu(whole, raced).pvalue
            print(
                f"{'+'.join(names)}: {name:10s} without {whole.mean():8.4g}, with {raced.mean():8.4g}, p = {p:.2g}; "
                f"runs {made[0.0]:,} and {made[LEVEL]:,} ({1 - made[LEVEL] / made[0.0]:.0%} saved), "
                f"seconds {seconds[0.0]:.0f} and {seconds[LEVEL]:.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
