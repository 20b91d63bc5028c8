"""A family of problems: evolve a heuristic for it, then use it on a new member.

    python examples/family.py                 about a minute; --generations 2 for a first look

The family: chains of springs between two walls, with different numbers of springs; their stiffnesses are chosen such
that a load moves them little whatever the tolerances do. The heuristic is evolved on small members, then used on a
larger one.
"""

from __future__ import annotations

import argparse

import numpy as np

import robustforge as rf


def springs(count: int, seed: int) -> rf.Problem:
    """Return a member of the family: choose stiffnesses for little cost and little movement."""
    loads = np.random.default_rng(seed).uniform(0.5, 1.5, count - 1)

    def cost(stiffness: np.ndarray) -> float:
        soft = 1.0 / np.maximum(stiffness, 0.05)
        forces = np.concatenate([[0.0], np.cumsum(loads)])
        forces = forces - (forces * soft).sum() / soft.sum()  # both ends are held
        moves = np.cumsum(forces * soft)[:-1]
        return float(0.1 * stiffness.sum() + np.abs(moves).max())

    return rf.Problem(cost, [(0.1, 10.0)] * count, rf.Ball(0.4), name=f"springs-{count}-{seed}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generations", type=int, default=8)
    generations = parser.parse_args().generations
    sizes = {"population": 16, "repeats": 4, "budget": 500, "samples": 500, "final_repeats": 10}
    evolution = rf.evolve([springs(6, 1), springs(8, 2)], seed=1, generations=generations, race_level=0.05, **sizes)
    unseen = springs(12, 3)
    for name, heuristic in (("evolved", evolution.champion), ("default", None)):
        worst = []
        for seed in range(10):
            design = rf.minimize(unseen, budget=500, heuristic=heuristic, rng=seed).x
            worst.append(rf.attack(unseen, design, budget=200).fun)
        print(f"{name:22} worst case {np.mean(worst):.3f}, a mean of {len(worst)} runs on a larger member")
