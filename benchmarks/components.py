"""What single components beyond the paper change: the same heuristic with others, on held-out and shifted problems.

    python benchmarks/components.py inner --runs 20     forms of the inner search
    python benchmarks/components.py mixed --runs 20     swarms whose particles follow different rules

The tables are in docs/explanation/beyond.md. A cell is the percentage of runs whose design has a lower sampled worst
case (10^4 points) than with the component of the first row, over all problems; ± one standard error over the problems.
Runs are paired: the same seed, shift and rotation. Nothing is tuned again.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

import robustforge as rf
from robustforge.components import InnerForm, RandomSampling, SurfaceSampling
from robustforge.components.inner_emulator import EmulatedSearch
from robustforge.components.inner_sampling import LatinHypercubeSampling, SobolSampling
from robustforge.components.velocity import Heterogeneous

FORMS = {
    "random": RandomSampling(),
    "Latin hypercube": LatinHypercubeSampling(),
    "Sobol": SobolSampling(),
    "surface, opposite pairs": SurfaceSampling(),
    "emulator, noise 0.3": EmulatedSearch(model_points=32, noise=0.3),
    "emulator, noise 1": EmulatedSearch(model_points=32, noise=1.0),
}
POINTS = (4, 8, 16)
SECOND_RULES = {
    "own best only": (1.0, 0.0, 0.5),
    "informant's best only": (0.0, 1.0, 0.5),
    "exploring": (1.0, 1.0, 0.9),
}
"""The second rule of a mixed swarm: c1, c2 and omega."""

Columns = Mapping[str, Mapping[str, rf.Heuristic]]
"""Heuristics by column and row; the first row of a column is the reference."""


def with_form(base: rf.Heuristic, form: InnerForm, points: int, budget: int) -> rf.Heuristic:
    """Return a heuristic with another inner search of so many points."""
    extent = points * 4 * base.outer.agents / budget
    changed = base.replace(inner=base.inner.replace(form=form, extent=extent))
    assert changed.inner_budget(budget) == points
    return changed


def inner_forms(budget: int) -> Columns:
    """Return a swarm with each form of the inner search, by the number of points."""
    base = rf.heuristic("champion/30d/general")
    return {
        f"{points} points": {title: with_form(base, form, points, budget) for title, form in FORMS.items()}
        for points in POINTS
    }


def mixed_swarms() -> Columns:
    """Return swarms of which a part follows a second rule."""
    columns = {}
    for name in ("champion/30d/general", "champion/100d/general", "rpso+dd"):
        base = rf.heuristic(name)
        capability = base.outer.capability
        own = (capability.baseline.c1, capability.baseline.c2, capability.baseline.omega)
        made = {"none": Heterogeneous(*own, 0.0, *own)}
        for title, second in SECOND_RULES.items():
            made |= {f"{title}, {fraction:.0%}": Heterogeneous(*own, fraction, *second) for fraction in (0.25, 0.5)}
        columns[name] = {
            title: base.replace(outer=base.outer.replace(capability=capability.replace(baseline=baseline)))
            for title, baseline in made.items()
        }
    return columns


def sampled(budget: int, heuristic: rf.Heuristic, instance: tuple[str, int, int]) -> float:
    """Return the sampled worst case of the design that a run on an instance (problem, dimension, seed) returns."""
    name, dimension, seed = instance
    problem = rf.problem(name, dimension, "shifted-rotated", seed)
    x = rf.minimize(problem, heuristic=heuristic, budget=budget, rng=seed).x
    return float(rf.verify(problem, x, samples=10_000, rng=seed, attack=False).sampled.fun)


def wins(values: np.ndarray, reference: np.ndarray) -> str:
    """Return the percentage of runs below the reference; both have a row per problem."""
    won = 100 * ((values < reference) + 0.5 * (values == reference)).mean(axis=1)
    return f"{won.mean():.1f} ± {won.std(ddof=1) / np.sqrt(won.size):.1f}"


def print_table(columns: Columns, names: Sequence[str], dimension: int, runs: int, budget: int) -> None:
    """Print the table, a row per component."""
    print(f"| {dimension} variables | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    instances = [(name, dimension, seed) for name in names for seed in range(runs)]
    references: dict[str, np.ndarray] = {}
    with ProcessPoolExecutor() as executor:
        for row in next(iter(columns.values())):
            cells = []
            for column, heuristics in columns.items():
                found = executor.map(partial(sampled, budget, heuristics[row]), instances, chunksize=8)
                values = np.array(list(found)).reshape(len(names), runs)
                cells.append(wins(values, references.setdefault(column, values)))
            print(f"| {row} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("component", choices=["inner", "mixed"])
    parser.add_argument("--dimension", type=int, default=30)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--budget", type=int, default=2000)
    args = parser.parse_args()
    columns = inner_forms(args.budget) if args.component == "inner" else mixed_swarms()
    print_table(columns, [*rf.problems(), *rf.problems("held-out")], args.dimension, args.runs, args.budget)


if __name__ == "__main__":
    main()
