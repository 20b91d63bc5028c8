"""Tune the parameters of a preset with a fixed structure, by a race of random and perturbed candidates.

    python benchmarks/tune.py paper/30d/general            tunes on all ten problems and writes the preset
    python benchmarks/tune.py paper/30d/general --check    scores the preset on unused seeds, with 10^5 samples

A candidate is scored by its mean excess over the paper's means, (ours - paper) / |paper|, where gains
count a fifth, so that a gain on one problem does not offset a loss on another.
`docs/explanation/paper.md` has the outcome.
"""

from __future__ import annotations

import argparse
import csv
import math
import pathlib

import numpy as np

import robustforge as rf
from robustforge.core.component import Field
from robustforge.representation.derivation_tree import Path, nodes, replaced
from robustforge.representation.presets import FOLDER
from robustforge.verification import verify

DATA = pathlib.Path(rf.__file__).parent / "study" / "data"
FIXED = {"swarm_size", "extent"}
TUNING_SEED, CHECK_SEED = 1, 2


def paper_means(dimension: int, case: str) -> dict[str, float]:
    """Return the paper's mean for each problem."""
    with (DATA / "paper_means.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if int(row["dimension"]) == dimension and row["case"] == case]
    return {row["problem"]: float(row["gggp_2000"]) for row in rows}


def numbers(tree: rf.Heuristic) -> list[tuple[Path, Field, float]]:
    """Return every number of a heuristic that may be tuned: its place, its field, its value."""
    found = (node for node in nodes(tree) if node[0][0] != "interpretation")
    return [node for node in found if node[1].range is not None and node[1].name not in FIXED]


def drawn(base: rf.Heuristic, rng: np.random.Generator, spread: float | None) -> rf.Heuristic:
    """Return a candidate: all numbers anew (no spread), or about half of them moved by a share of their range."""
    while True:
        candidate = base
        try:
            for path, field, value in numbers(base):
                assert field.range is not None
                low, high = field.range.low, field.range.high
                if field.range.log:
                    low, high, value = math.log(low), math.log(high), math.log(value)
                if spread is None:
                    value = rng.uniform(low, high)
                elif rng.random() < 0.5:
                    value = min(max(value + spread * (high - low) * rng.standard_normal(), low), high)
                value = math.exp(value) if field.range.log else value
                value = min(max(value, field.range.low), field.range.high)
                candidate = replaced(candidate, path, round(value) if field.kind is int else float(f"{value:.4g}"))
            return candidate
        except rf.RobustforgeError:  # numbers that do not go together
            continue


class Race:
    """Scores candidates on the same seeds, with more repeats for those that look good."""

    def __init__(self, dimension: int, means: dict[str, float], seed: int, samples: int) -> None:
        self.means, self.seed, self.samples = means, seed, samples
        self.problems = {name: rf.problem(name, dimension) for name in means}
        self.values: dict[str, dict[str, list[float]]] = {}

    def run(self, candidate: rf.Heuristic, repeats: int) -> float:
        """Return the score of a candidate after so many repeats on each problem."""
        values = self.values.setdefault(candidate.id, {name: [] for name in self.problems})
        for number, (name, problem) in enumerate(self.problems.items()):
            for repeat in range(len(values[name]), repeats):
                key = np.random.SeedSequence([self.seed, number, repeat])
                result = rf.minimize(problem, heuristic=candidate, rng=key)
                check = verify(problem, result.x, self.samples, rng=key.spawn(1)[0], attack=False)
                values[name].append(check.sampled.fun)
        return self.score(candidate)

    def excess(self, candidate: rf.Heuristic) -> dict[str, float]:
        """Return (ours - paper) / |paper| for each problem."""
        values = self.values[candidate.id]
        return {name: (np.mean(values[name]) - mean) / abs(mean) for name, mean in self.means.items()}

    def score(self, candidate: rf.Heuristic) -> float:
        """Return the mean excess, gains counting a fifth."""
        return float(np.mean([e if e > 0 else 0.2 * e for e in self.excess(candidate).values()]))

    def best(self, candidates: list[rf.Heuristic], stages: list[tuple[int, int]]) -> list[rf.Heuristic]:
        """Return the candidates that survive: at each stage, run so many repeats and keep so many."""
        for repeats, kept in stages:
            candidates = sorted(candidates, key=lambda candidate: self.run(candidate, repeats))[:kept]
        return candidates


def tune(name: str, scale: float) -> None:
    """Race candidates for a preset and write the winner."""
    _, size, case = name.split("/")
    dimension = int(size.rstrip("d"))
    general = case == "general"
    means = paper_means(dimension, "general" if general else "individual")
    means = means if general else {case: means[case]}
    more = 1 if general else 3
    race = Race(dimension, means, TUNING_SEED, 10_000)
    rng = np.random.default_rng([TUNING_SEED, dimension, len(case)])
    base = rf.heuristic(name)
    elites = [base]
    for number, spread in enumerate((None, 0.2, 0.1, 0.05)):
        count = int((240 if spread is None else 80) * scale)
        fresh = [drawn(elites[k % len(elites)], rng, spread) for k in range(count)]
        if spread is None:  # and as many around the hand-set numbers
            fresh += [drawn(base, rng, 0.2) for _ in range(count // 2)]
        stages = [(2 * more, 40), (6 * more, 12), (15 * more, 5)]
        elites = race.best([*elites, *fresh], stages)
        print(f"{name}: round {number}, score {race.score(elites[0]):+.4f}", flush=True)
    winner = race.best(elites, [(40 * more, 1)])[0]
    print(f"{name}: tuned score {race.score(winner):+.4f}", flush=True)
    winner.save(FOLDER / f"{name}.json")


def check(name: str, runs: int, samples: int) -> None:
    """Score a preset on fresh seeds, as the bar is stated: mean of the positive excesses."""
    _, size, case = name.split("/")
    dimension = int(size.rstrip("d"))
    means = paper_means(dimension, "general" if case == "general" else "individual")
    means = means if case == "general" else {case: means[case]}
    race = Race(dimension, means, CHECK_SEED, samples)
    chosen = rf.heuristic(name)
    race.run(chosen, runs)
    excess = race.excess(chosen)
    for problem, mean in means.items():
        ours = np.mean(race.values[chosen.id][problem])
        print(f"{name:24s} {problem:14s} ours {ours:9.3f}  paper {mean:9.3f}  excess {excess[problem]:+.3f}")
    print(f"{name:24s} mean positive excess {np.mean([max(0.0, e) for e in excess.values()]):.3f}", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="presets, e.g. paper/30d/general")
    parser.add_argument("--check", action="store_true", help="score on fresh seeds instead of tuning")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--scale", type=float, default=1.0, help="how many candidates, relative to the usual number")
    args = parser.parse_args()
    for name in args.names:
        if args.check:
            check(name, args.runs, args.samples)
        else:
            tune(name, args.scale)


if __name__ == "__main__":
    main()
