"""The general preset on shifted and rotated problems, beside two controls.

    python benchmarks/variants.py 30 --runs 12        or 100; the table in docs/explanation/benchmarks.md

Each cell is a mean over runs, a new shift and rotation for each, of the worst of 10^4 samples around the design. The
controls are the box's centre, which costs no evaluation at all, and plain `rpso` without any robust component.
"""

from __future__ import annotations

import argparse

import numpy as np

import robustforge as rf
from robustforge.robust_problem import Variant
from robustforge.verification import verify

VARIANTS: tuple[Variant, ...] = ("original", "shifted", "rotated", "shifted-rotated")


def value(who: str, name: str, dimension: int, variant: Variant, run: int) -> float:
    """Return the sampled worst case of what a contestant returns."""
    problem = rf.problem(name, dimension, variant, seed=None if variant == "original" else run)
    x = (problem.lower + problem.upper) / 2
    if who != "centre":
        x = rf.minimize(problem, heuristic=who, rng=run).x
    return verify(problem, x, 10_000, rng=run, attack=False).sampled.fun


def main() -> None:
    """Print the table, a row per problem and contestant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dimension", type=int, choices=(30, 100))
    parser.add_argument("--runs", type=int, default=12)
    args = parser.parse_args()
    print(f"| {args.dimension}D | | " + " | ".join(VARIANTS) + " |\n|---|---|" + "---|" * len(VARIANTS))
    for name in rf.problems():
        for who in (f"paper/{args.dimension}d/general", "rpso", "centre"):
            means = [np.mean([value(who, name, args.dimension, v, run) for run in range(args.runs)]) for v in VARIANTS]
            print(f"| {name} | {who} | " + " | ".join(f"{mean:.3g}" for mean in means) + " |", flush=True)


if __name__ == "__main__":
    main()
