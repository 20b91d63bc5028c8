"""Does evolution learn? Its champions against the best of equally many random heuristics.

    python benchmarks/learning.py [--seeds 5] [--runs 100] [--first-seed 1]

For Sphere and Rastrigin in 10D, and for each seed, one evolution, and one "evolution" of a single generation that is as
large as all generations of the other together: as many runs, the same choice of a champion among the best five on fresh
seeds. Then both champions are run on further fresh seeds; the values of all seeds are pooled and compared by a
one-sided rank-sum test.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.stats import mannwhitneyu

import robustforge as rf
from judging import fresh_values

DIMENSION = 10
SMALL = {"population": 20, "generations": 20, "repeats": 5, "budget": 1000, "samples": 1000, "final_repeats": 40}
JUDGED = {"budget": SMALL["budget"], "samples": SMALL["samples"]}


@dataclass
class PooledValues:
    """The values of the champions of all seeds on one problem, pooled."""

    problem: str
    evolved: np.ndarray
    drawn: np.ndarray

    @property
    def p_value(self) -> float:
        return float(mannwhitneyu(self.evolved, self.drawn, alternative="less").pvalue)


def compare(name: str, seeds: int, runs: int, first_seed: int = 1) -> PooledValues:
    """Return the pooled values of evolved champions and of the best random heuristics on one problem."""
    problem = rf.problem(name, DIMENSION)
    everyone = {**SMALL, "population": SMALL["population"] * SMALL["generations"], "generations": 1}
    evolved, drawn = [], []
    for seed in range(first_seed, first_seed + seeds):
        for champions, settings in ((evolved, SMALL), (drawn, everyone)):
            champion = rf.evolve(problem, seed=seed, grammar="paper", **settings).champion
            champions.append(fresh_values(problem, champion, runs, seed, **JUDGED))
    return PooledValues(name, np.concatenate(evolved), np.concatenate(drawn))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=1)
    args = parser.parse_args()
    for name in ("sphere", "rastrigin"):
        found = compare(name, args.seeds, args.runs, args.first_seed)
        print(
            f"{name:10s} evolved: mean {found.evolved.mean():.4g}, median {np.median(found.evolved):.4g};  "
            f"best of random: mean {found.drawn.mean():.4g}, median {np.median(found.drawn):.4g};  "
            f"p = {found.p_value:.2g}",
            flush=True,
        )


if __name__ == "__main__":
    main()
