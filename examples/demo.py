"""Evolve a heuristic for a test problem, compare it with others, and write a report, in a minute or two.

make demo
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from rich.console import Console

FOLDER = Path("build/demo")
STORE, CHAMPION, PAGE = FOLDER / "runs.db", FOLDER / "champion.json", FOLDER / "report.html"
PROBLEM = "--dimension 30 --variant shifted-rotated --variant-seed 1"
SETTINGS = "--population 30 --repeats 8 --samples 2000 --parameter-mutation 0.5 --race"
EVOLVE = f"evolve rastrigin {PROBLEM} --name demo {SETTINGS}"
COMPARE = (
    f"compare champion/30d/extended champion/30d/general random centre --problems rastrigin {PROBLEM} "
    "--samples 10000 --seed 2"
)


def command(*arguments: str) -> None:
    """Show a command as a user would type it, and run it."""
    console.print(f"\n[bold]$ robustforge {' '.join(arguments)}[/]\n", highlight=False)
    child = subprocess.Popen([sys.executable, "-m", "robustforge.cli", *arguments])
    try:
        ended = child.wait()
    except KeyboardInterrupt:  # the child receives it as well, and closes its store
        child.wait()
        console.print("`make demo` resumes from here.")
        sys.exit(130)
    if ended:
        sys.exit(ended)


def main(generations: int, runs: int) -> None:
    """Evolve, compare and report, with explanations."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    console.print(
        "\n[bold]The problem.[/] A model has 30 variables, and 2,000 runs are all there is. What is built differs from "
        "the design by up to Gamma = 0.5 (a ball). Wanted: the design whose [bold]worst case[/] is lowest. The model "
        "here is a test problem, Rastrigin shifted and rotated, so that the demo is quick.\n\n"
        f"[bold]First, evolve a heuristic for it[/]: {generations} generations, of which the first is drawn at random "
        "from the grammar. Every run is stored, so after Ctrl-C the same command resumes."
    )
    command(*EVOLVE.split(), "--generations", str(generations), "--store", str(STORE), "-o", str(CHAMPION))
    console.print(
        f"\n[bold]Then, compare it[/]: {runs} searches of 2,000 model runs each with the champion, with the default "
        "heuristic of robustforge, with the best of the paper's grammar, and with two controls, on seeds that the "
        "evolution has not used."
    )
    name, *rest = COMPARE.split()
    command(name, str(CHAMPION), *rest, "--runs", str(runs), "--store", str(STORE))
    console.print("\n[bold]Last, write a report[/], with every figure and table in one file.")
    command("report", str(STORE), "-o", str(PAGE))
    console.print(
        f"\nNext: open {PAGE} in a browser; [bold]robustforge show {CHAMPION}[/] shows the champion as a tree, a "
        "description and pseudocode; the README shows how to evolve a heuristic for your own model."
    )


console = Console(width=min(100, Console().width))

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generations", type=int, default=20)
    parser.add_argument("--runs", type=int, default=30)
    main(**vars(parser.parse_args()))
