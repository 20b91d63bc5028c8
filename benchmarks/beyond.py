"""Assess the default heuristic beside a swarm and controls, on all variants and on held-out problems.

    python benchmarks/beyond.py 30 --write 30d                           the ten problems, in 30 variables; or 100
    python benchmarks/beyond.py 30 --suite held-out --write 30d-held-out           problems that nothing was evolved on
    python benchmarks/beyond.py 10 --budget 500 --write at-10-500                  any other dimension and budget

Each run has its own shift and rotation; its design is assessed by the worst of 2 * 10^4 samples. The first runs, which
the controls make as well, are also attacked. `--store` stores every run, and the same command resumes. `--write` writes
all runs to docs/results/beyond/NAME.csv.gz; `python docs/results/beyond/build.py` makes tables and figures.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

import robustforge as rf
from robustforge.representation.presets import default_name
from robustforge.robust_problem import Variant
from robustforge.store import CHECKPOINTS
from robustforge.tables import Record, Table

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results" / "beyond"
VARIANTS: tuple[Variant, ...] = ("original", "shifted", "rotated", "shifted-rotated")
CONTROLS = ("mirrored-es", "cma-es", "random", "centre")
SAMPLES = 20_000


def rows(args: argparse.Namespace) -> Iterator[Record]:
    """Yield a row for each run: of everybody on the first few instances, then of the champion alone."""
    few = min(args.runs, args.control_runs)
    for variant in args.variants:
        for name in rf.problems(args.suite):
            yield from some(args, variant, name, args.contestants, range(few), args.attack)
            yield from some(args, variant, name, args.contestants[:1], range(few, args.runs), False)


def some(
    args: argparse.Namespace, variant: Variant, name: str, contestants: list[str], places: range, attack: bool
) -> Iterator[Record]:
    """Yield a row for each run of some contestants on some instances of a problem."""
    if not places:
        return
    if variant == "original":
        made, runs = [rf.problem(name, args.dimension)], len(places)
    else:
        made, runs = [rf.problem(name, args.dimension, variant, args.first_seed + place) for place in places], 1
    options = {"budget": args.budget, "attack": attack, "store": args.store, "workers": args.workers}
    found = rf.assess(contestants, made, runs=runs, samples=SAMPLES, seed=args.first_seed + places.start, **options)
    for run in found.runs:
        row = {
            "dimension": args.dimension,
            "budget": args.budget,
            "variant": variant,
            "problem": name,
            "contestant": run.name,
            "value": float(f"{run.value:.6g}"),
            "attacked": float(f"{run.attacked:.6g}"),
        }
        curve = dict(zip(CHECKPOINTS, run.curve, strict=True)) if run.curve else {}
        yield row | {f"at {share:g}": float(f"{value:.4g}") for share, value in curve.items()}


def show(table: Table, args: argparse.Namespace) -> None:
    """Print the means, a block for each variant, and average ranks by them."""
    problems, names = rf.problems(args.suite), list(dict.fromkeys(row["contestant"] for row in table))
    places = np.zeros(len(names))
    for variant in args.variants:
        print(f"\n{args.dimension} variables, {variant}: " + ", ".join(problems))
        own = [row for row in table if row["variant"] == variant]
        means = np.array(
            [
                [
                    np.mean([row["value"] for row in own if (row["contestant"], row["problem"]) == (who, problem)])
                    for problem in problems
                ]
                for who in names
            ]
        )
        places += rankdata(means, axis=0).mean(axis=1) / len(args.variants)
        for who, line in zip(names, means, strict=True):
            print(f"  {who:24s} " + " ".join(f"{value:9.4g}" for value in line))
    print("\naverage ranks: " + ", ".join(f"{who} {place:.2f}" for who, place in zip(names, places, strict=True)))


def main() -> None:
    """Assess, print, and write the runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dimension", type=int)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--control-runs", type=int, default=10, help="runs of every contestant that are attacked")
    parser.add_argument("--budget", type=int, default=2000)
    parser.add_argument("--suite", choices=("paper", "held-out"), default="paper")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument(
        "--contestants", nargs="+", help="by default: the default heuristic, the best swarm and the controls"
    )
    parser.add_argument(
        "--first-seed",
        type=int,
        default=10_001,
        help="first instance; use others for tuning than for the published tables",
    )
    parser.add_argument("--no-attack", dest="attack", action="store_false")
    parser.add_argument("--store")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--write", metavar="NAME")
    args = parser.parse_args()
    swarm = f"champion/{30 if args.dimension < 55 else 100}d/general"
    args.contestants = args.contestants or [default_name(args.dimension, args.budget), swarm, *CONTROLS]
    table = Table(rows(args))
    show(table, args)
    if args.write:
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / f"{args.write}.csv.gz").write_bytes(gzip.compress(table.to_csv().encode(), mtime=0))


if __name__ == "__main__":
    main()
