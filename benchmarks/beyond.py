"""The general champion of the extended grammar: all variants, fresh instances, controls, held-out problems.

    python benchmarks/beyond.py 30 --runs 30 --write 30d       the bars; or 100; writes docs/results/beyond/30d.csv
    python benchmarks/beyond.py 30 --runs 30 --suite held-out  the problems that nothing was bred on
    python benchmarks/beyond.py 10 --budget 500                any other dimension and budget, without bars

Each cell is a mean over runs, a new shift and rotation for each, of the worst of 2 * 10^4 samples around the design;
the attacked worst case is beside it. `--store` keeps every run, and the same command goes on.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

import robustforge as rf
from robustforge.heuristic.presets import default_name
from robustforge.problem import Suite, Variant

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results" / "beyond"
VARIANTS: tuple[Variant, ...] = ("original", "shifted", "rotated", "shifted-rotated")
SAMPLES, FIRST_SEED = 20_000, 10_001

BARS = {
    (30, False): (50, -0.89, -1.22, 0.310, 0.32, 1.011, 0.17, 4.28, 1.005, 35.8),
    (30, True): (75, -0.70, -0.66, 0.36, 0.39, 1.011, 0.21, 4.28, 1.005, 35.8),
    (100, False): (200, -0.84, -1.1, 0.320, 0.38, 1.011, 0.10, 3.18, 1.005, 110),
    (100, True): (190, -0.70, -0.51, 0.36, 0.40, 1.011, 0.22, 3.18, 1.005, 110),
}
"""What a study of other outer searches reached, with a margin: by dimension, and whether the axes are turned."""


def cells(args: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yield a row for each contestant, variant and problem."""
    suite: Suite = args.suite
    seeds = range(FIRST_SEED, FIRST_SEED + args.runs)
    for variant in args.variants:
        for name in rf.problems(suite):
            if variant == "original":
                made, runs = [rf.problem(name, args.dimension)], args.runs
            else:
                made, runs = [rf.problem(name, args.dimension, variant, seed) for seed in seeds], 1
            options = {"budget": args.budget, "attack": args.attack, "store": args.store, "workers": args.workers}
            found = rf.assess(args.contestants, made, runs=runs, samples=SAMPLES, seed=7, **options)
            for who in dict.fromkeys(run.name for run in found.runs):
                runs_of = [run for run in found.runs if run.name == who]
                values = np.array([run.value for run in runs_of])
                attacked = np.array([run.attacked for run in runs_of])
                yield {
                    "dimension": args.dimension,
                    "budget": args.budget,
                    "suite": suite,
                    "variant": variant,
                    "problem": name,
                    "contestant": who,
                    "runs": values.size,
                    "mean": float(values.mean()),
                    "error": float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan,
                    "attacked": float(attacked.mean()),
                }


def show(rows: list[dict[str, object]], args: argparse.Namespace) -> None:
    """Print a table per variant; a star marks what misses its bar."""
    names = rf.problems(args.suite)
    for variant in args.variants:
        bars = BARS.get((args.dimension, "rotated" in variant)) if args.suite == "paper" else None
        print(f"\n| {args.dimension}D {variant} | " + " | ".join(names) + " | met |\n|---|" + "---|" * (len(names) + 1))
        for who in dict.fromkeys(str(row["contestant"]) for row in rows):
            found = {row["problem"]: row for row in rows if row["variant"] == variant and row["contestant"] == who}
            means = [float(str(found[name]["mean"])) for name in names]
            met = [mean <= bar for mean, bar in zip(means, bars, strict=True)] if bars else [True] * len(names)
            texts = [f"{mean:.3g}{'' if good else ' *'}" for mean, good in zip(means, met, strict=True)]
            print(f"| {who} | " + " | ".join(texts) + f" | {sum(met) if bars else '-'} |", flush=True)


def ranks(rows: list[dict[str, object]], args: argparse.Namespace) -> None:
    """Print the average rank of each contestant over problems and variants, by sampled and by attacked worst case."""
    for key in ("mean", "attacked"):
        cases: dict[tuple[object, object], dict[str, float]] = {}
        for row in rows:
            cases.setdefault((row["variant"], row["problem"]), {})[str(row["contestant"])] = float(str(row[key]))
        places = [dict(zip(case, rankdata(list(case.values())), strict=True)) for case in cases.values()]
        means = {who: np.mean([place[who] for place in places]) for who in places[0]}
        print(f"average rank by {key}: " + ", ".join(f"{who} {mean:.2f}" for who, mean in means.items()))


def main() -> None:
    """Assess, print, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dimension", type=int)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--budget", type=int, default=2000)
    parser.add_argument("--suite", choices=("paper", "held-out"), default="paper")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--contestants", nargs="+")
    parser.add_argument("--no-attack", dest="attack", action="store_false")
    parser.add_argument("--store")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--write", metavar="NAME", help="write docs/results/beyond/NAME.csv")
    args = parser.parse_args()
    controls = ["mirrored-es", "cma-es", "centre", "random"]
    args.contestants = args.contestants or [default_name(args.dimension), *controls]
    rows = list(cells(args))
    show(rows, args)
    ranks(rows, args)
    if args.write:
        RESULTS.mkdir(parents=True, exist_ok=True)
        with (RESULTS / f"{args.write}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
