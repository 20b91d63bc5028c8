"""Few runs: the regret of heuristics and of other methods on the engineering suites.

    python benchmarks/few_runs.py default champion/10d/few mine.json          heuristics by name or file
    python benchmarks/few_runs.py default --peers docs/results/few-runs/peers.csv.gz      beside the stored peers
    python benchmarks/few_runs.py default --report                             the tables of what is there
    python benchmarks/few_runs.py gp-ei stableopt lhs-gp cma cma-nominal       the peers: takes hours

Every run is appended to runs.csv in the folder; a run that is there is not repeated. A strong attack judges the design.
The regret is 0% for the best worst case known and 100% for that of a median random design, at most 200%; 200% if the
neighbourhood of the design has failures.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import rankdata, wilcoxon
from threadpoolctl import threadpool_limits

import robustforge as rf
from gp_peers import GP_PEERS
from robustforge.contestants.lookup import as_contestant
from robustforge.robust_problem import Suite
from robustforge.robust_problem.engineering import ENGINEERING
from robustforge.robust_problem.engineering.references import WORST_REGRET, references
from strong_attack import strong_attack

SUITES: tuple[Suite, ...] = ("engineering", "engineering-held-out")
BUDGETS, CRASH_BUDGETS = (50, 100, 200), (60, 150, 500)
FIRST_SEED = 40_001
COLUMNS = ("method", "problem", "budget", "seed", "worst", "nominal", "x")
POLYNOMIAL = "bertsimas-nohadani-teo"

Key = tuple[str, str, int, int]
Method = Callable[[rf.Problem, Sequence[int], int], dict[int, np.ndarray]]


def contestant_method(name: str) -> Method:
    def run(problem: rf.Problem, budgets: Sequence[int], seed: int) -> dict[int, np.ndarray]:
        contestant = as_contestant(name)
        return {budget: contestant.run(problem, budget, seed, ()).x for budget in budgets}

    return run


CMA = {"cma": contestant_method("cma-es-worst-of-2"), "cma-nominal": contestant_method("cma-es")}
"""pycma on the worst of two points around each candidate, which was better than of three or four, and without."""

PEERS: dict[str, Method] = {**GP_PEERS, **CMA}


def heuristic_method(name: str) -> Method:
    chosen = None if name == "default" else rf.heuristic(name)

    def run(problem: rf.Problem, budgets: Sequence[int], seed: int) -> dict[int, np.ndarray]:
        options = {"heuristic": chosen, "rng": seed, "on_failure": "infeasible"}
        return {budget: rf.minimize(problem, budget=budget, **options).x for budget in budgets}

    return run


def one_run(method: str, name: str, budgets: Sequence[int], seed: int) -> list[dict[str, object]]:
    """Run a method on a problem at all budgets, and judge its designs."""
    problem = rf.problem(name)
    with threadpool_limits(1):  # processes share the machine
        designs = (PEERS.get(method) or heuristic_method(method))(problem, budgets, seed)
    rows = []
    for budget, design in designs.items():
        x = np.clip(design, problem.lower, problem.upper)
        worst, nominal = strong_attack(problem, x)[0], float(problem(x))
        key = {"method": label(method), "problem": name, "budget": budget, "seed": seed}
        text = " ".join(repr(float(each)) for each in x)
        rows.append({**key, "worst": worst, "nominal": nominal, "x": text})
    return rows


def label(method: str) -> str:
    """Return what a method is called in the file: a heuristic in a file has its id, in case the file changes."""
    return f"{Path(method).stem}:{rf.heuristic(method).id[:8]}" if method.endswith(".json") else method


def read(path: Path) -> dict[Key, float]:
    """Return the worst case of each run in a file."""
    if not path.exists():
        return {}
    with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as file:
        return {
            (row["method"], row["problem"], int(row["budget"]), int(row["seed"])): float(row["worst"])
            for row in csv.DictReader(file)
        }


def budgets_of(method: str, name: str, chosen: Sequence[int] | None) -> tuple[int, ...]:
    """Return the budgets of a method on a problem: peers, which take long, have fewer where runs fail."""
    if chosen:
        return tuple(chosen)
    crashes = CRASH_BUDGETS[:2] if method in PEERS else CRASH_BUDGETS
    return tuple(sorted({*BUDGETS, *(crashes if "crashes" in ENGINEERING[name].traits else ())}))


def carry_out(methods: Sequence[str], problems: Sequence[str], args: argparse.Namespace) -> dict[Key, float]:
    """Carry out the runs that are not in the folder; return all that are."""
    path = Path(args.folder) / "runs.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    done = read(path)
    jobs = []
    for seed in range(args.first_seed, args.first_seed + args.seeds):
        for method in methods:
            for name in problems:
                budgets = budgets_of(method, name, args.budgets)
                missing = [each for each in budgets if (label(method), name, each, seed) not in done]
                if missing:  # one search of a process gives the designs at all budgets
                    jobs.append((method, name, budgets if method in GP_PEERS else tuple(missing), seed))
    new = not path.exists()
    with path.open("a", newline="") as file, ProcessPoolExecutor(args.processes) as pool:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        for count, future in enumerate(as_completed([pool.submit(one_run, *job) for job in jobs]), 1):
            for row in future.result():
                key = (str(row["method"]), str(row["problem"]), int(str(row["budget"])), int(str(row["seed"])))
                if key not in done:
                    writer.writerow(row)
                    done[key] = float(str(row["worst"]))
            file.flush()
            if count % 50 == 0:
                print(f"{count} of {len(jobs)} searches", file=sys.stderr, flush=True)
    return done


class Results:
    """Runs, as regrets."""

    def __init__(self, runs: dict[Key, float], names: Iterable[str]) -> None:
        known = references()
        self.names = set(names)
        self.regrets: dict[tuple[str, str, int], list[float]] = defaultdict(list)
        for (method, name, budget, _), worst in sorted(runs.items()):
            if name in self.names:
                self.regrets[method, name, budget].append(known[name].regret(worst))

    def names_of(self, suite: Suite) -> list[str]:
        return [name for name in rf.problems(suite) if name in self.names]

    def of(self, method: str, names: Iterable[str], budget: int) -> np.ndarray:
        """Return the mean regret on each problem; NaN where there are no runs."""
        found = [self.regrets.get((method, name, budget)) for name in names]
        return np.array([np.nan if each is None else np.mean(each) for each in found])

    def pooled(self, method: str, names: Iterable[str], budget: int) -> np.ndarray:
        """Return the regrets of all runs on some problems."""
        return np.concatenate([[], *(self.regrets.get((method, name, budget), []) for name in names)])


def show_regrets(results: Results, methods: Sequence[str], suite: Suite) -> Table:
    names = results.names_of(suite)
    small = [name for name in names if ENGINEERING[name].dimension <= 3]
    head = [f"{budget} runs" for budget in BUDGETS]
    working = [name for name in names if "crashes" not in ENGINEERING[name].traits]
    head += ["without failures, 100", "2-3 variables, 100", "polynomial, 100"]
    table = Table("method", *head, title=f"{suite}: mean / median regret in %")
    for method in methods:
        cells = []
        for chosen, budget in (*((names, each) for each in BUDGETS), (working, 100), (small, 100)):
            means, every = results.of(method, chosen, budget), results.pooled(method, chosen, budget)
            cells.append(
                "-" if np.isnan(means).any() or not means.size else f"{means.mean():.1f} / {np.median(every):.1f}"
            )
        of_polynomial = results.pooled(method, [POLYNOMIAL] if POLYNOMIAL in names else [], 100)
        table.add_row(method, *cells, f"{np.median(of_polynomial):.1f}" if of_polynomial.size else "-")
    return table


def show_crashes(results: Results, methods: Sequence[str], suite: Suite) -> Table:
    names = [name for name in results.names_of(suite) if "crashes" in ENGINEERING[name].traits]
    budgets = sorted({*BUDGETS, *CRASH_BUDGETS})
    title = f"{suite}: designs whose whole neighbourhood works, in %, where runs fail"
    table = Table("method", *(f"{budget} runs" for budget in budgets), title=title)
    for method in methods:
        every = [results.pooled(method, names, budget) for budget in budgets]
        table.add_row(method, *(f"{100.0 * (each < WORST_REGRET).mean():.0f}" if each.size else "-" for each in every))
    return table


def show_ranks(results: Results, methods: Sequence[str], suites: Sequence[Suite]) -> Table:
    """Compare the first method with the others: mean ranks, and Wilcoxon's test over the problems."""
    names = [name for suite in suites for name in results.names_of(suite)]
    table = Table("runs", *methods, title=f"mean rank; in brackets: p that {methods[0]} is not better")
    for budget in BUDGETS:
        means = np.array([results.of(method, names, budget) for method in methods])
        means = means[:, ~np.isnan(means).any(axis=0)]
        if not means.size:
            continue
        ranks = rankdata(means, axis=0).mean(axis=1)
        cells = [f"{ranks[0]:.2f}"]
        for rank, row in zip(ranks[1:], means[1:], strict=True):
            p = wilcoxon(means[0], row, alternative="less").pvalue if (means[0] != row).any() else 1.0
            cells.append(f"{rank:.2f} ({p:.2g})")
        table.add_row(str(budget), *cells)
    return table


def show_problems(results: Results, methods: Sequence[str], suite: Suite) -> Table:
    table = Table("problem", "variables", *methods, title=f"{suite}: mean regret in % at {BUDGETS}")
    for name in results.names_of(suite):
        cells = [[results.of(method, [name], budget)[0] for budget in BUDGETS] for method in methods]
        table.add_row(
            name,
            str(ENGINEERING[name].dimension),
            *("/".join("-" if np.isnan(v) else f"{v:.0f}" for v in row) for row in cells),
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", help=f"heuristics, JSON files, default, or {', '.join(PEERS)}")
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=SUITES)
    parser.add_argument("--problems", nargs="+", help="only these")
    parser.add_argument("--budgets", nargs="+", type=int, help="by default those of the tables")
    parser.add_argument("--seeds", type=int, default=10, help="how many")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--folder", default="build/few-runs")
    parser.add_argument("--processes", type=int, choices=(1, 2), default=2)
    parser.add_argument("--peers", type=Path, help="stored runs to show as well")
    parser.add_argument("--report", action="store_true", help="show what is there, run nothing")
    parser.add_argument("--each", action="store_true", help="show each problem, too")
    args = parser.parse_args()
    names = args.problems or [name for suite in args.suites for name in rf.problems(suite)]
    if args.report:
        runs = read(Path(args.folder) / "runs.csv")
    else:
        runs = carry_out(args.methods, names, args)
    stored = read(args.peers) if args.peers else {}
    methods = list(dict.fromkeys([*map(label, args.methods), *(key[0] for key in stored)]))
    results = Results({**stored, **runs}, names)
    console = Console(width=130)
    for suite in args.suites:
        console.print(show_regrets(results, methods, suite), show_crashes(results, methods, suite))
        if args.each:
            console.print(show_problems(results, methods, suite))
    console.print(show_ranks(results, methods, args.suites))


if __name__ == "__main__":
    main()
