"""The sections of evolutions: what was run and how to repeat it, fitness by generation, and the champions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robustforge.analysis import Dataset, EvolutionRecord
from robustforge.formatting import count, date_and_time, duration, elapsed_seconds, number
from robustforge.reporting import experiment_figures
from robustforge.reporting.command_lines import command
from robustforge.representation import Heuristic
from robustforge.representation.bnf import derivation_tree, value_words
from robustforge.representation.pseudocode import pseudocode
from robustforge.tables import Record

_MAX_UNFOLDED = 3
"""The first champion is shown unfolded if there are no more than this."""


def state(evolution: EvolutionRecord, running: bool) -> str:
    """Return whether an evolution is finished, running or interrupted."""
    return "finished" if evolution.finished else "running" if running else "interrupted"


def run_rows(dataset: Dataset) -> list[Record]:
    """Return a row per evolution."""
    return [_run_row(evolution, dataset.running) for evolution in dataset.evolutions]


def commands(dataset: Dataset) -> list[Record]:
    """Return the command that repeats each evolution."""
    return [command(evolution, dataset.path) for evolution in dataset.evolutions]


def fitness_figures(evolutions: Sequence[EvolutionRecord]) -> list[Record]:
    """Return the best and median fitness by generation, a figure per evolution with a complete generation."""
    return [_fitness(index, evolution) for index, evolution in enumerate(evolutions) if _has_fitness(evolution)]


def champions(dataset: Dataset) -> list[Record]:
    """Return the champion of each evolution: described in words, as a derivation tree and as pseudocode."""
    chosen = [(evolution, evolution.champion) for evolution in dataset.evolutions if evolution.champion is not None]
    return [
        _champion(evolution, champion, is_open=len(chosen) <= _MAX_UNFOLDED and index == 0)
        for index, (evolution, champion) in enumerate(chosen)
    ]


def _run_row(evolution: EvolutionRecord, running: bool) -> Record:
    names, dimensions = evolution.problems, evolution.dimensions
    variables = f", {count(dimensions[0], 'variable')}" if len(dimensions) == 1 else ""
    elapsed = elapsed_seconds(evolution.started, evolution.ended)
    return {
        "name": evolution.name,
        "problems": names[0] if len(names) == 1 else f"{count(len(names), 'problem')}{variables}",
        "problem_list": ", ".join(names),
        "state": state(evolution, running),
        "generations": f"{len(evolution.fitness)} of {evolution.settings.get('generations', '?')}",
        "heuristics": f"{len(evolution.heuristics):,}",
        "runs": f"{evolution.runs:,}",
        "failures": f"{evolution.failures:,}" if evolution.failures else "none",
        "started": date_and_time(evolution.started),
        "elapsed": duration(elapsed) if elapsed is not None else "not finished",
        "core_time": duration(evolution.seconds),
    }


def _has_fitness(evolution: EvolutionRecord) -> bool:
    return bool(evolution.fitness) and bool(np.isfinite(np.array(evolution.fitness)).any())


def _fitness(index: int, evolution: EvolutionRecord) -> Record:
    first, last = evolution.fitness[0][0], evolution.fitness[-1][0]
    several = len(evolution.problems) > 1
    measured = "Average over the problems" if several else "Mean worst case of the best"
    caption = f"{measured}: {number(first)} in the first generation, {number(last)} in the last of "
    caption += f"{len(evolution.fitness)}." if len(evolution.fitness) > 1 else "one."
    measure = "scaled fitness" if several else "mean worst case"
    label = f"Fitness of {evolution.name} by generation. {caption}"
    return {
        "title": evolution.name,
        "svg": experiment_figures.fitness(f"fitness-{index}", label, evolution.fitness, measure),
        "caption": caption,
    }


def _champion(evolution: EvolutionRecord, champion: Heuristic, is_open: bool) -> Record:
    budget = int(evolution.settings.get("budget", 2000))
    own = next((each for each in evolution.heuristics if each.heuristic.id == champion.id), None)
    means = zip(evolution.problems, own.means, strict=True) if own else ()
    return {
        "name": evolution.name,
        "id": champion.id,
        "status": "champion" if evolution.finished else f"best of generation {len(evolution.fitness)}, not final",
        "summary": _summary(champion, budget),
        "means": [{"problem": name, "mean": number(mean)} for name, mean in means],
        "runs": count(own.runs, "run") if own else "",
        "description": [line.removeprefix("- ") for line in champion.describe(budget).splitlines()],
        "tree": tree(derivation_tree(champion)),
        "pseudocode": pseudocode(champion, budget),
        "budget": f"{budget:,}",
        "is_open": is_open,
    }


def tree(node: Record) -> Record:
    """Return a derivation tree, as of `bnf.derivation_tree`, with its values as text."""
    values = [(name, value_words(value)) for name, value in node["values"].items()]
    return {**node, "values": values, "nodes": [tree(below) for below in node["nodes"]]}


def _summary(champion: Heuristic, budget: int) -> str:
    """Return a heuristic in one line: the outer search, its movement, and the inner search."""
    parts, agents, form = champion.components(), champion.outer.agents, champion.inner.form
    points = count(champion.inner_budget(budget), "point")
    inner = "no inner search" if champion.outer.is_nominal else f"{parts['inner']}, {points}"
    if form.is_single and not champion.outer.is_nominal:
        inner = form.describe()
    moves = "" if parts["movement"] in ("na", "{}") else f", {parts['movement']}"
    network = "" if parts["network"] == "na" else f", {parts['network']} network"
    return f"{parts['outer']} of {agents}{network}{moves}; {inner}"
