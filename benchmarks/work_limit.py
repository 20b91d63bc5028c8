"""Does the limit on counted work change which heuristics win? Random relocating heuristics with it and without it.

    python benchmarks/work_limit.py [--heuristics 60] [--repeats 8]

The limit is on the distances that relocations may compute per evaluation of the budget; beyond it, particles are
relocated at random. For each dimension and problem: how many runs reach it, what they cost with and without, how the
mean values of the heuristics correlate in rank, and how many of the best third are the same. Two halves of the repeats
without a limit, compared with each other in the same way, show what noise alone does.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import spearmanr

import robustforge as rf
from robustforge.components import Swarm
from robustforge.evolution.settings import Settings
from robustforge.evolution.trial import make_trial, run_trials

UNLIMITED = 10**12
RELOCATING = {"movement": ["LEH", "DD+LEH"], "relocation": ["LEH relocation"]}


def measured(problem: rf.Problem, drawn: list[rf.Heuristic], repeats: range, limit: int) -> tuple[np.ndarray, ...]:
    """Return values, seconds and work of each heuristic and repeat, with a limit."""
    settings = Settings(seed=1, samples=5000)
    usual = Swarm.distances_per_evaluation
    try:
        Swarm.distances_per_evaluation = limit
        runs = [run_trials(problem, settings, [make_trial(settings, h, "", 0, 0, r) for r in repeats]) for h in drawn]
    finally:
        Swarm.distances_per_evaluation = usual
    return tuple(np.array([[getattr(run, key) for run in row] for row in runs]) for key in ("value", "seconds", "work"))


def agreement(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Return the rank correlation of two sets of means, and the share of the best third that is in both."""
    third = len(one) // 3
    best = [set(np.argsort(means, kind="stable")[:third].tolist()) for means in (one, other)]
    return float(spearmanr(one, other).statistic), len(best[0] & best[1]) / third


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heuristics", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=8)
    args = parser.parse_args()
    grammar = rf.grammar("paper", only=RELOCATING)
    drawn = [grammar.random(np.random.default_rng(seed)) for seed in range(args.heuristics)]
    first, second = range(args.repeats), range(args.repeats, 2 * args.repeats)
    for dimension in (30, 100):
        for name in ("rastrigin", "ackley"):
            problem = rf.problem(name, dimension)
            limited, seconds, work = measured(problem, drawn, first, Swarm.distances_per_evaluation)
            free, free_seconds, _ = measured(problem, drawn, first, UNLIMITED)
            again, _, _ = measured(problem, drawn, second, UNLIMITED)
            reached = (work >= Swarm.distances_per_evaluation * 2000).mean()
            rank, third = agreement(limited.mean(axis=1), free.mean(axis=1))
            noise, noise_third = agreement(free.mean(axis=1), again.mean(axis=1))
            print(
                f"{name}-{dimension}d: {reached:.0%} of the runs reach the limit; {seconds.mean() * 1e3:.0f} ms a run "
                f"with it, {free_seconds.mean() * 1e3:.0f} without (longest {seconds.max():.2f} and "
                f"{free_seconds.max():.2f} s); rank correlation {rank:.3f} (noise {noise:.3f}); best third in common "
                f"{third:.0%} (noise {noise_third:.0%})",
                flush=True,
            )


if __name__ == "__main__":
    main()
