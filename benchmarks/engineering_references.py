"""Compute the reference values of the engineering problems: the best robust design, and a median random one.

    python benchmarks/engineering_references.py                 all problems that are not in the file yet
    python benchmarks/engineering_references.py spring branin   these, starting from what is in the file

The best design is found by exchange: differential evolution minimises the worst of a finite set of differences, a
strong attack on what it finds gives the worst difference, which joins the set, and so on. The minimum over a part of
the uncertainty set is never above the robust optimum: the difference of both is the gap that is reported. Designs of
`minimize` with large budgets take part, and the best is polished by Nelder and Mead's method on the attacked worst
case.

The search is for an uncertainty set that is larger by a thousandth: its design does not touch a failure or a cliff.
Where runs fail, differences that join the set are longer by another three thousandths, or no design would ever be free
of failures; there the gap does not include what that costs.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from scipy.optimize import minimize

import robustforge as rf
from robustforge.robust_problem.engineering import ENGINEERING
from robustforge.robust_problem.engineering import references as stored
from strong_attack import strong_attack

FILE = Path(stored.__file__).with_name("references.csv")
COLUMNS = ("name", "best", "median", "working", "gap", "x")
RANDOM_DESIGNS, ROUNDS, SAMPLES = 1001, 120, 20_000
MARGIN, BEYOND = 1.001, 1.003
BUDGETS = ((500, 6), (2000, 6), (20_000, 2))
"""Budgets of `minimize`, and how many seeds have each."""


@njit(error_model="numpy", nogil=True)
def worst_over(fun, data, x, differences, limit):
    """Return the worst value at some differences; any value above the limit once it is exceeded."""
    point, worst = np.empty(x.size), -np.inf
    for k in range(len(differences)):
        for i in range(x.size):
            point[i] = x[i] + differences[k, i]
        value = fun(point, data)
        if value > worst:
            worst = value
            if worst > limit:
                if k > 0:  # what excludes one design is likely to exclude another: try it first
                    for i in range(x.size):
                        kept = differences[k, i]
                        differences[k, i] = differences[k // 2, i]
                        differences[k // 2, i] = kept
                return worst
    return worst


@njit(error_model="numpy", nogil=True)
def differential_evolution(fun, data, differences, lower, upper, starts, size, generations, greed, seed):
    """Minimise the worst over the differences; return the best design and its value."""
    np.random.seed(seed)
    n = lower.size
    points, values = np.empty((size, n)), np.empty(size)
    for j in range(size):
        for i in range(n):
            points[j, i] = starts[j, i] if j < len(starts) else lower[i] + (upper[i] - lower[i]) * np.random.random()
        values[j] = worst_over(fun, data, points[j], differences, np.inf)
    trial = np.empty(n)
    for _ in range(generations):
        best = int(np.argmin(values))
        for j in range(size):
            a, b, c = np.random.randint(size), np.random.randint(size), np.random.randint(size)
            weight, rate = 0.3 + 0.6 * np.random.random(), 0.5 + 0.5 * np.random.random()
            greedy, forced = np.random.random() < greed, np.random.randint(n)
            for i in range(n):
                if i == forced or np.random.random() < rate:
                    base = points[j, i] + weight * (points[best, i] - points[j, i]) if greedy else points[c, i]
                    trial[i] = base + weight * (points[a, i] - points[b, i])
                    if trial[i] < lower[i]:
                        trial[i] = lower[i] + np.random.random() * (points[j, i] - lower[i])
                    elif trial[i] > upper[i]:
                        trial[i] = upper[i] - np.random.random() * (upper[i] - points[j, i])
                else:
                    trial[i] = points[j, i]
            value = worst_over(fun, data, trial, differences, values[j])
            if value <= values[j]:
                points[j], values[j] = trial, value
        if values.max() - values.min() <= 1e-9 * (1.0 + abs(values.min())):
            break
    best = int(np.argmin(values))
    return points[best].copy(), values[best]


def enlarged(problem: rf.Problem) -> rf.Problem:
    kind = rf.Box if problem.geometry.is_box else rf.Ball
    bounds = list(zip(problem.lower, problem.upper, strict=True))
    made = rf.Problem(problem.fun, bounds, kind(MARGIN * problem.geometry.radii), name=problem.name)
    made.takes_data = True
    return made


class Reference:
    """The search for the reference values of a problem."""

    def __init__(self, name: str, seed: int = 1, known: Sequence[float] = ()) -> None:
        self.given = rf.problem(name)
        self.problem = enlarged(self.given)
        self.rng = np.random.default_rng(seed)
        self.fun, self.data = self.problem.compiled
        self.radii, self.is_box = self.problem.geometry.radii, self.problem.geometry.is_box
        self.n = self.problem.dimension
        self.spread = self.radii * self.unit(np.concatenate([self.corners(), self.rng.standard_normal((1500, self.n))]))
        self.best, self.best_x = np.inf, np.array([])
        if known:
            self.attacked(np.array(known))

    def corners(self) -> np.ndarray:
        axes = np.concatenate([np.eye(self.n), -np.eye(self.n)])
        return np.concatenate([axes, self.rng.choice([-1.0, 1.0], (min(2**self.n * 4, 2048), self.n))])

    def unit(self, directions: np.ndarray) -> np.ndarray:
        """Return directions scaled to the surface of the unit set: in a box, some coordinates are at their limits."""
        if not self.is_box:
            return directions / np.linalg.norm(directions, axis=1)[:, None]
        return np.clip(directions / np.maximum(np.median(np.abs(directions), axis=1), 0.1)[:, None], -1.0, 1.0)

    def inside(self, x: np.ndarray) -> np.ndarray:
        return np.clip(x, self.problem.lower, self.problem.upper)

    def attacked(self, x: np.ndarray, samples: int = SAMPLES) -> tuple[float, np.ndarray]:
        """Return the worst case of a design and where it is; keep the design if it is the best."""
        value, where = strong_attack(self.problem, x, samples)
        if value < self.best and samples < SAMPLES:
            return self.attacked(x)
        if value < self.best:
            self.best, self.best_x = value, x.copy()
        return value, where

    def random_designs(self) -> tuple[float, float]:
        """Return the median of the finite worst cases of random designs, and the share of finite ones."""
        widths = self.problem.upper - self.problem.lower
        designs = self.problem.lower + widths * np.random.default_rng(1).random((RANDOM_DESIGNS, self.n))
        values = np.array([strong_attack(self.given, x, 500)[0] for x in designs])
        finite = np.isfinite(values)
        for k in np.argsort(values)[:5]:
            self.attacked(designs[k])
        return float(np.median(values[finite])), float(finite.mean())

    def exchange(self, scale: float) -> float:
        """Search for the best design by exchange; return a lower bound, as far as the evolution is right."""
        kept = np.concatenate([np.zeros((1, self.n)), self.spread[: 2 * self.n + 30]])
        starts, x, bound = [self.best_x], self.best_x, -np.inf
        size, generations = 30 + 10 * self.n, 90 + 30 * self.n
        for number in range(ROUNDS):
            bound = np.inf
            for greed in (0.0, 0.2, 0.5):  # the first one explores; the last one starts from what is known
                given = np.array(starts[::-1][:size] if greed > 0.4 else starts[:0]).reshape(-1, self.n)
                arguments = (self.problem.lower, self.problem.upper, given, size, generations, greed, number)
                found, least = differential_evolution(self.fun, self.data, kept.copy(), *arguments)
                x, bound = (found, least) if least < bound else (x, bound)
            value, where = self.attacked(x)
            if value - bound < 2e-4 * scale:
                break
            starts.append(x)
            values = np.array([self.fun(x + each, self.data) for each in self.spread])
            worse = np.flatnonzero(values > bound)
            failed = np.flatnonzero(values == np.inf)
            failed = failed[self.rng.permutation(failed.size)[:16]]
            dense = self.spread[[*worse[np.argsort(-values[worse])[:4]], *failed]]
            added = np.concatenate([(where - x)[None], dense])
            kept = np.concatenate([added * BEYOND if failed.size or value == np.inf else added, kept])
        return bound

    def polish(self, scale: float) -> None:
        for step in (0.3, 0.03):
            simplex = self.best_x + step * self.radii * np.concatenate([np.zeros((1, self.n)), np.eye(self.n)])
            options: dict[str, Any] = {"maxfev": 60 * self.n, "fatol": 1e-5 * scale, "xatol": np.inf}
            options["initial_simplex"] = np.array([self.inside(x) for x in simplex])
            minimize(
                lambda x: min(self.attacked(self.inside(x), 500)[0], 1e30),
                self.best_x,
                method="Nelder-Mead",
                options=options,
            )

    def search(self) -> dict[str, Any]:
        median, working = self.random_designs()
        for budget, seeds in BUDGETS:
            for seed in range(seeds):
                found = rf.minimize(self.problem, budget=budget, rng=seed, on_failure="infeasible")
                self.attacked(found.x)
        scale = median - self.best
        bound = self.exchange(scale)
        self.polish(scale)
        gap = max(100.0 * (self.best - bound) / (median - self.best), 0.0)
        x = " ".join(repr(float(each)) for each in self.best_x)
        best = strong_attack(self.given, self.best_x)[0]
        return {"best": best, "median": median, "working": round(working, 4), "gap": round(gap, 3), "x": x}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    names = args.names
    rows: dict[str, dict[str, Any]] = {}
    if FILE.exists():
        with FILE.open(newline="") as file:
            rows = {row["name"]: row for row in csv.DictReader(file)}
    for name in names or [name for name in ENGINEERING if name not in rows]:
        started = time.perf_counter()
        known = [float(each) for each in rows[name]["x"].split()] if name in rows else []
        rows[name] = {"name": name, **Reference(name, args.seed, known).search()}
        with FILE.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[each] for each in ENGINEERING if each in rows)
        shown = {key: rows[name][key] for key in ("best", "median", "working", "gap")}
        print(name, shown, f"{time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
