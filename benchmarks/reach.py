"""What can one swarm reach on all problems at once? Random numbers in a fixed structure, and a regression of the means.

    python benchmarks/reach.py run --count 120 --store reach.db
    python benchmarks/reach.py fit

The structure is one that evolutions of the general case come to: an inertia swarm on a von Neumann grid, with descent
directions of a constant length and random inner searches. `run` draws numbers for it (group, extent, pulls, length,
sigma) and writes the mean worst of 10^4 samples of each swarm on eight problems to docs/results/30d/general/reach.csv.
`fit` explains each problem's means by a quadratic polynomial of the numbers, says how well it foretells swarms that
were left out, and looks for the numbers whose largest miss of the bars (the paper's means + 2% + 0.005) is least.
Pickelhaube and Sphere are left out: there such swarms miss by half, whatever their numbers.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import differential_evolution

import robustforge as rf
from robustforge.analysis import archive
from robustforge.components import (
    Capability,
    DescentDirections,
    DescentMovement,
    Inertia,
    Inner,
    NoMutation,
    RandomSampling,
    Swarm,
    VonNeumann,
)
from robustforge.tables import Record, Table
from tune import paper_means

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results" / "30d" / "general"
PROBLEMS = [name for name in rf.problems() if name not in ("pickelhaube", "sphere")]
BUDGET, SAMPLES, SEED = 2000, 10_000, 7
EXTENTS = (2, 3, 4)
RANGES: dict[str, tuple[float, float]] = {
    "group": (7, 14),
    "extent": (EXTENTS[0], EXTENTS[-1]),
    "omega": (0.0, 0.35),
    "c1": (0.2, 1.0),
    "c2": (0.38, 0.7),
    "length": (0.8, 1.2),
    "sigma": (0.01, 0.6),
}
WHOLE = ("group", "extent")


def swarm(group: int, extent: int, omega: float, c1: float, c2: float, length: float, sigma: float) -> rf.Heuristic:
    """Return the swarm with these numbers."""
    descent = DescentDirections(c3=length, sigma=sigma, sigma_limit=0.001, min_step=0.0, r3="unity")
    capability = Capability(Inertia(c1=c1, c2=c2, omega=omega), DescentMovement(descent))
    share = extent * 4 * group / BUDGET
    inner = Inner(extent=share, form=RandomSampling(), n_dorm=False, n_pbest=True, stopping=True)
    return rf.Heuristic(Swarm(group, NoMutation(), VonNeumann(), capability), inner)


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Return random numbers."""
    numbers = {name: rng.uniform(low, high) for name, (low, high) in RANGES.items()}
    return {**numbers, **{name: int(rng.integers(RANGES[name][0], RANGES[name][1] + 1)) for name in WHOLE}}


def run(count: int, runs: int, store: str | None, workers: int | None) -> None:
    """Measure random swarms and write the means."""
    rng = np.random.default_rng(SEED)
    every = [drawn(rng) for _ in range(count)]
    problems = [rf.problem(name, 30) for name in PROBLEMS]
    options = {"runs": runs, "samples": SAMPLES, "attack": False, "store": store, "workers": workers}
    rows: list[Record] = []
    for numbers in every:
        found = rf.assess(swarm(**numbers), problems, budget=BUDGET, **options)
        means = {name: np.mean([r.value for r in found.runs if r.problem_name.startswith(name)]) for name in PROBLEMS}
        rows.append({**numbers, **{name: float(mean) for name, mean in means.items()}})
        print(f"{len(rows)} of {count}", flush=True)
    (RESULTS / "reach.csv").write_text(Table(rows).to_csv())


def bars() -> np.ndarray:
    """Return the paper's means + 2% + 0.005, as 10^4 samples read them.

    The champion's means by 10^4 samples (in its evolution) beside those by 10^6 (assessed) say how much lower that is.
    """
    paper = paper_means(30, "general")
    bred = archive.read_outcome(RESULTS / "sequel")
    champion = next(each for each in bred.bred if each.heuristic.id == bred.champion.id)
    assessed = archive.read_assessed(RESULTS / archive.ASSESSED)
    limits = []
    for name in PROBLEMS:
        thorough = np.mean([run.value for run in assessed if run.problem_name.startswith(name)])
        quick = champion.means[list(rf.problems()).index(name)]
        limits.append((paper[name] + 0.02 * abs(paper[name]) + 0.005) * quick / thorough)
    return np.array(limits)


def features(numbers: np.ndarray) -> np.ndarray:
    """Return all products of at most two of the numbers, each scaled to -1 to 1."""
    low, high = np.array(list(RANGES.values()), float).T
    scaled = np.column_stack([np.ones(len(numbers)), (2 * numbers - low - high) / (high - low)])
    return np.column_stack([scaled[:, i] * scaled[:, j] for i in range(scaled.shape[1]) for j in range(i + 1)])


def fit() -> None:
    """Print how well the polynomials foretell, and the numbers whose largest miss is least, for each extent."""
    with (RESULTS / "reach.csv").open() as file:
        rows = list(csv.DictReader(file))
    numbers = np.array([[float(row[name]) for name in RANGES] for row in rows])
    limits = bars()
    misses = (np.array([[float(row[name]) for name in PROBLEMS] for row in rows]) - limits) / np.abs(limits)
    terms = features(numbers)
    inverse = np.linalg.inv(terms.T @ terms + 0.5 * np.eye(terms.shape[1]))
    weights = inverse @ terms.T @ misses
    left_out = (misses - terms @ weights) / (1 - np.einsum("ij,jk,ik->i", terms, inverse, terms))[:, None]
    explained = 1 - (left_out**2).sum(axis=0) / ((misses - misses.mean(axis=0)) ** 2).sum(axis=0)
    for name, share, error in zip(PROBLEMS, explained, np.sqrt((left_out**2).mean(axis=0)), strict=True):
        print(f"{name:14s} {share:5.0%} of the variance of swarms left out, error {error:.1%} of the bar")

    def missed(numbers: np.ndarray) -> np.ndarray:
        rounded = [round(x) if name in WHOLE else x for name, x in zip(RANGES, numbers, strict=True)]
        return (features(np.array([rounded])) @ weights)[0]

    for extent in EXTENTS:
        ranges = [(extent, extent + 1e-9) if name == "extent" else pair for name, pair in RANGES.items()]
        found = differential_evolution(lambda x: missed(x).max(), ranges, rng=SEED, integrality=[True] + [False] * 6)
        print(", ".join(f"{name} {x:.3g}" for name, x in zip(RANGES, found.x, strict=True)))
        print("   " + ", ".join(f"{name} {x:+.1%}" for name, x in zip(PROBLEMS, missed(found.x), strict=True)))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "fit"))
    parser.add_argument("--count", type=int, default=120, help="swarms")
    parser.add_argument("--runs", type=int, default=50, help="of each on each problem")
    parser.add_argument("--store", help="keeps every run, so that the same command goes on")
    parser.add_argument("--workers", type=int)
    args = parser.parse_args()
    if args.what == "run":
        run(args.count, args.runs, args.store, args.workers)
    else:
        fit()


if __name__ == "__main__":
    main()
