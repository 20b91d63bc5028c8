"""The evolutions on the page: what was run and how to run it again, fitness by generation, and the champions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robustforge.analysis import Evidence, Outcome
from robustforge.heuristic import Heuristic
from robustforge.heuristic.listing import listing
from robustforge.heuristic.rules import anatomy, value_words
from robustforge.report import figures
from robustforge.report.commands import command
from robustforge.report.words import count, duration, elapsed, moment, number
from robustforge.tables import Record

_MANY = 3
"""Up to so many champions are shown open."""


def state(outcome: Outcome, running: bool) -> str:
    """Return how far an evolution is, in a word."""
    return "finished" if outcome.finished else "running" if running else "interrupted"


def run_rows(evidence: Evidence) -> list[Record]:
    """Return what was run, a row per evolution."""
    return [_run_row(outcome, evidence.running) for outcome in evidence.outcomes]


def commands(evidence: Evidence) -> list[Record]:
    """Return the command that runs each evolution again."""
    return [command(outcome, evidence.where) for outcome in evidence.outcomes]


def fitness_figures(outcomes: Sequence[Outcome]) -> list[Record]:
    """Return best and median by generation, a figure per evolution that has a complete one."""
    return [_fitness(place, outcome) for place, outcome in enumerate(outcomes) if _has_fitness(outcome)]


def champions(evidence: Evidence) -> list[Record]:
    """Return the champion of each evolution: what it is made of, in words, as a tree and as pseudo-code."""
    chosen = [(outcome, outcome.champion) for outcome in evidence.outcomes if outcome.champion is not None]
    return [
        _champion(outcome, champion, evidence, is_open=len(chosen) <= _MANY and place == 0)
        for place, (outcome, champion) in enumerate(chosen)
    ]


def _run_row(outcome: Outcome, running: bool) -> Record:
    names, sizes = outcome.problems, outcome.dimensions
    variables = f", {count(sizes[0], 'variable')}" if len(sizes) == 1 else ""
    took = elapsed(outcome.begun, outcome.ended)
    return {
        "name": outcome.name,
        "problems": names[0] if len(names) == 1 else f"{count(len(names), 'problem')}{variables}",
        "problem_list": ", ".join(names),
        "state": state(outcome, running),
        "generations": f"{len(outcome.fitness)} of {outcome.settings.get('generations', '?')}",
        "heuristics": f"{len(outcome.bred):,}",
        "runs": f"{outcome.runs:,}",
        "failures": f"{outcome.failures:,}" if outcome.failures else "none",
        "begun": moment(outcome.begun),
        "took": duration(took) if took is not None else "not ended",
        "core_time": duration(outcome.seconds),
    }


def _has_fitness(outcome: Outcome) -> bool:
    return bool(outcome.fitness) and bool(np.isfinite(np.array(outcome.fitness)).any())


def _fitness(place: int, outcome: Outcome) -> Record:
    first, last = outcome.fitness[0][0], outcome.fitness[-1][0]
    several = len(outcome.problems) > 1
    what = "on average over the problems" if several else "mean worst case of the best"
    caption = f"{_initial(what)}: {number(first)} in the first generation, {number(last)} in the last of "
    caption += f"{len(outcome.fitness)}." if len(outcome.fitness) > 1 else "one."
    measure = "0: best, 1: median of the first" if several else "mean worst case"
    label = f"Fitness of {outcome.name} by generation. {caption}"
    return {
        "title": outcome.name,
        "svg": figures.fitness(f"fitness-{place}", label, outcome.fitness, measure),
        "caption": caption,
    }


def _champion(outcome: Outcome, champion: Heuristic, evidence: Evidence, is_open: bool) -> Record:
    budget = int(outcome.settings.get("budget", 2000))
    own = next((bred for bred in outcome.bred if bred.heuristic.id == champion.id), None)
    means = zip(outcome.problems, own.means, strict=True) if own else ()
    return {
        "name": outcome.name,
        "id": champion.id,
        "standing": "champion" if outcome.finished else f"best of generation {len(outcome.fitness)}, not final",
        "gist": _gist(champion, budget),
        "means": [{"problem": name, "mean": number(mean)} for name, mean in means],
        "runs": count(own.runs, "run") if own else "",
        "words": [line.removeprefix("- ") for line in champion.describe(budget).splitlines()],
        "tree": tree(anatomy(champion)),
        "listing": listing(champion, budget),
        "budget": f"{budget:,}",
        "is_open": is_open,
    }


def tree(node: Record) -> Record:
    """Return a derivation tree, as `anatomy` has it, with its values as texts."""
    values = [(name, value_words(value)) for name, value in node["values"].items()]
    return {**node, "values": values, "nodes": [tree(below) for below in node["nodes"]]}


def _gist(champion: Heuristic, budget: int) -> str:
    """Return a heuristic in a line: who moves, how, and how the worst case is estimated."""
    parts, agents, form = champion.components(), champion.outer.agents, champion.inner.form
    points = count(champion.inner.points(budget, agents), "point")
    worth = "no inner search" if champion.outer.is_nominal else f"{parts['inner']}, {points}"
    if form.is_single and not champion.outer.is_nominal:
        worth = form.words()
    moves = "" if parts["movement"] in ("na", "{}") else f", {parts['movement']}"
    network = "" if parts["network"] == "na" else f", {parts['network']} network"
    return f"{parts['outer']} of {agents}{network}{moves}; {worth}"


def _initial(text: str) -> str:
    return text[:1].upper() + text[1:]
