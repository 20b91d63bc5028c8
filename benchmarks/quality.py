"""Quality of the general preset beside other optimisers, on the ten problems in 30 dimensions.

    python benchmarks/quality.py --runs 30 --samples 100000

Everybody gets 2,000 evaluations and the same objectives; the peers score a candidate by the worst of four samples, and
return the best candidate they saw. The value of a returned design is the worst of so many fresh samples around it:
lower is better.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

import robustforge as rf
from peers import PEERS, run_peer
from robustforge.verification import verify

OURS = "paper/30d/general"


def values(name: str, problem: rf.Problem, runs: int, samples: int) -> np.ndarray:
    """Return the verified value of each run's design."""
    found = []
    for seed in range(runs):
        if name == OURS:
            x = rf.minimize(problem, heuristic=OURS, rng=seed).x
        else:
            x = np.clip(run_peer(name, problem, problem, seed)[0].best_x, problem.lower, problem.upper)
        found.append(verify(problem, x, samples, rng=seed, attack=False).sampled.fun)
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=30)
    args = parser.parse_args()
    names = [OURS, *PEERS]
    table = Table(
        "problem", *names, title=f"mean of {args.runs} runs, worst of {args.samples:,} samples, {args.dimension}D"
    )
    wins = dict.fromkeys(PEERS, 0)
    for problem_name in rf.problems():
        problem = rf.problem(problem_name, args.dimension)
        means = {name: float(values(name, problem, args.runs, args.samples).mean()) for name in names}
        for peer in PEERS:
            wins[peer] += means[OURS] < means[peer]
        table.add_row(problem_name, *(f"{means[name]:.3f}" for name in names))
        print(problem_name, {name: round(mean, 3) for name, mean in means.items()}, flush=True)
    table.add_row("ours is better on", "", *(f"{wins[peer]} of 10" for peer in PEERS))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
