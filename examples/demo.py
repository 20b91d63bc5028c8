"""The main job in a minute or two: breed a heuristic for a problem, then solve it with the champion and with a preset.

make demo
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import mannwhitneyu

import robustforge as rf

FOLDER = Path("build/demo")
STORE, CHAMPION = FOLDER / "runs.db", FOLDER / "champion.json"
PRESET = "paper/30d/general"
BREED = "evolve rastrigin --dimension 30 --variant shifted --variant-seed 1 --population 30 --repeats 8 --seed 1"
RUNS, FIRST_SEED = 30, 1_000_000
"""Runs that compare, on seeds that the evolution has not used."""


def command(*arguments: str) -> None:
    """Show a command as a user would type it, and run it."""
    console.print(f"\n[bold]$ robustforge {' '.join(arguments)}[/]\n", highlight=False)
    child = subprocess.Popen([sys.executable, "-m", "robustforge.cli", *arguments])
    try:
        ended = child.wait()
    except KeyboardInterrupt:  # it hears Ctrl-C, too, and puts its things in order
        child.wait()
        console.print("`make demo` goes on from here.")
        sys.exit(130)
    if ended:
        sys.exit(ended)


def worst_cases(problem: rf.Problem, heuristic: str | Path) -> np.ndarray:
    """Return what the designs of a heuristic are worth: the worst of 10,000 deviations, and by attack (RUNS, 2)."""
    found = []
    for seed in range(FIRST_SEED, FIRST_SEED + RUNS):
        design = rf.minimize(problem, heuristic=heuristic, rng=seed).x
        check = rf.verify(problem, design, samples=10_000, rng=seed)
        found.append((check.sampled.fun, check.attacked.fun))
    return np.array(found)


def breed(generations: int) -> None:
    """Say what the problem is, and breed for it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    console.print(
        "\n[bold]The problem.[/] A model has 30 variables, and 2,000 runs are all there is. What is built differs from "
        "the design by up to Gamma = 0.5 (a ball). Wanted: the design whose [bold]worst case[/] is lowest. The model "
        "here is a test problem, Rastrigin with its optimum off the centre, so that the demo is quick.\n\n"
        f"[bold]First, breed a heuristic for it[/]: {generations} generations by the grammar, the first of them "
        "random. Every run is kept, so after Ctrl-C the same command goes on where it stopped."
    )
    command(*BREED.split(), "--generations", str(generations), "--store", str(STORE), "-o", str(CHAMPION))


def compare() -> None:
    """Solve with the champion and with a preset, and say what was gained."""
    problem = rf.problem("rastrigin", dimension=30, variant="shifted", seed=1)
    console.print(
        f"\n[bold]Then, use it[/]: {RUNS} searches of 2,000 model runs each with the champion, and as many with a "
        f"ready-made heuristic, {PRESET}, on seeds that the evolution has not seen."
    )
    values = {"the champion": worst_cases(problem, CHAMPION), PRESET: worst_cases(problem, PRESET)}
    table = Table("heuristic", "worst of 10,000: mean", "best", "worst", "attacked: mean")
    for name, found in values.items():
        sampled, attacked = found.T
        figures = (sampled.mean(), sampled.min(), sampled.max(), attacked.mean())
        table.add_row(name, *(f"{figure:.1f}" for figure in figures))
    console.print(table)
    bred, made = (found[:, 0] for found in values.values())
    gain = 1 - bred.mean() / made.mean()
    console.print(
        f"\nLower is better. The champion's designs are {'better' if gain > 0 else 'worse'} by {abs(gain):.0%} on "
        f"average (rank-sum test: p = {mannwhitneyu(bred, made).pvalue:.1g}). The worst of 10,000 random deviations is "
        "an estimate from below; the last column is what an attack on each design finds.\n\n"
        f"Next: [bold]robustforge show {CHAMPION}[/] shows the champion as a tree, in words and as pseudo-code; the "
        "README shows how to breed for a model of your own."
    )


console = Console(width=min(100, Console().width))

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generations", type=int, default=20)
    breed(parser.parse_args().generations)
    compare()
