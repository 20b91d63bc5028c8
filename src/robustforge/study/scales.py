"""How large the study is: `smoke` shows that it works, `small` takes hours, `paper` is as large as the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np

from robustforge.analysis import Outcome
from robustforge.errors import UnknownNameError
from robustforge.evolution.fitness import losses
from robustforge.heuristic import Grammar, Heuristic, grammar, heuristic
from robustforge.heuristic.tree import nodes, replaced
from robustforge.problem import problems
from robustforge.study.cases import DIMENSIONS, GENERAL, Case
from robustforge.study.published import published


@dataclass(frozen=True)
class Scale:
    """Numbers of the study.

    Attributes:
        breeding: Settings of an evolution.
        breeding_large: What is different in 100 variables.
        again: What is different, by name, in cases that were bred anew since the first champion fell short.
        sequels: Settings, by name, of a further evolution since the champion of the case's own fell short.
        literal: Names of the cases that are bred to the letter of the paper: particles move one after the other, and
            neighbours in a ring or on a torus are others.
        tuning: Settings of a comparator's evolution.
        tuning_large: What is different in 100 variables.
        runs: Of each champion, in the assessment that stands beside the paper's table.
        samples: Points around each of their designs.
        side_runs: Of everybody in the comparison by test; of controls on variants a quarter, for each seed.
        variant_runs: Of the general champions on variants, for each seed.
        side_samples: Points around each of those designs.
        attack: Whether designs are attacked.
        stages: Runs after which the assessments take turns, so that what is interrupted is balanced.
        seeds: Of the variants.
        budget: Evaluations of everybody else.
        rival_budget: Evaluations of the comparators.
    """

    breeding: Mapping[str, Any]
    breeding_large: Mapping[str, Any]
    again: Mapping[str, Mapping[str, Any]]
    sequels: Mapping[str, Mapping[str, Any]]
    literal: tuple[str, ...]
    tuning: Mapping[str, Any]
    tuning_large: Mapping[str, Any]
    runs: int
    samples: int
    side_runs: int
    variant_runs: int
    side_samples: int
    attack: bool
    stages: tuple[int, ...]
    seeds: tuple[int, ...]
    budget: int
    rival_budget: int

    def settings(self, case: Case) -> dict[str, Any]:
        """Return the settings of a case's evolution; each case has a seed, and so a first generation, of its own."""
        common, large = (self.tuning, self.tuning_large) if case.is_comparator else (self.breeding, self.breeding_large)
        own = {"seed": crc32(case.name.encode()), **self.again.get(case.name, {})}
        settings = {**common, **(large if case.dimension == DIMENSIONS[1] else {}), **own}
        if case.name in self.literal:
            settings["start"] = tuple(to_the_letter(heuristic(name)) for name in settings.get("start", ()))
        return settings

    def grammar(self, case: Case) -> Grammar:
        """Return what a case is bred from."""
        return grammar("paper", fix=_LETTER) if case.name in self.literal else case.grammar

    def sequel(self, case: Case, first: Outcome) -> dict[str, Any]:
        """Return the settings of a case's sequel, by default with the goals of the first evolution.

        It starts with the best of the first evolution, of those that were in two generations or more; `start` in its
        settings says how many.
        """
        settings = {"goals": tuple(first.settings["goals"]), **self.sequels[case.name]}
        often = [bred for bred in first.bred if bred.runs >= 2 * first.settings["repeats"]]
        lost = losses(np.array([bred.means for bred in often]), settings["goals"], settings["margin"])
        best_first = np.argsort(lost, kind="stable")[: settings["start"]]
        return {**settings, "start": tuple(often[k].heuristic for k in best_first)}


_LETTER: dict[str, Any] = {"order": "in turn", "itself": False}


def to_the_letter(chosen: Heuristic) -> Heuristic:
    """Return the same swarm as the paper has it to the letter."""
    for path, field, _ in nodes(chosen):
        if field.name in _LETTER:
            chosen = replaced(chosen, path, _LETTER[field.name])
    return chosen


_RACE = {"race": 0.05, "samples": 2000, "refinement": 0.5}
_TUNING = {
    "population": 12,
    "generations": 5,
    "repeats": 4,
    "budget": 5000,
    "finalists": 3,
    "final_repeats": 20,
    **_RACE,
}

_LARGER = {"population": 120, "first": 480, "generations": 30, "samples": 5000, "seed": 41}
_LARGER_100 = {"population": 100, "first": 400, "generations": 20, "seed": 41}
"""Of cases that were bred anew, most of them also from the structure that the paper found for the problem."""


def _paper_means(dimension: int) -> dict[str, float]:
    """Return the paper's means of the general case."""
    return {
        row["problem"]: float(row["gggp_2000"])
        for row in published("paper_means")
        if (row["dimension"], row["case"]) == (str(dimension), GENERAL)
    }


def _structures(dimension: int) -> tuple[str, ...]:
    """Return all structures of the paper's."""
    return tuple(f"paper/{dimension}d/{name}" for name in (*problems(), GENERAL))


def _general(dimension: int) -> dict[str, Any]:
    """Return what is different in the general cases: all structures of the paper's, and its means as goals."""
    known = _paper_means(dimension)
    return {
        "goals": tuple(known[name] for name in problems()),
        "start": _structures(dimension),
        "repeats": 10,
        "samples": 10_000,
        "refinement": 0.7,
        "finalists": 10,
        "final_repeats": 60,
        "seed": 41,
    }


_SEQUEL = {"margin": 0.04, "samples": 10_000, "refinement": 1.0, "seed": 42}

_SMALL = Scale(
    breeding={"population": 100, "first": 400, "generations": 25, **_RACE},
    breeding_large={"population": 60, "first": 240, "generations": 20},
    again={
        "30d/multipeak-f1": {**_LARGER, "start": ("paper/30d/multipeak-f1",)},
        "30d/multipeak-f2": {**_LARGER, "start": ("paper/30d/multipeak-f2",)},
        "30d/ackley": {**_LARGER, "start": ("paper/30d/ackley",)},
        "30d/rosenbrock": {**_LARGER, "start": _structures(30)},
        "100d/rastrigin": {
            **_LARGER_100,
            "population": 150,
            "first": 600,
            "generations": 30,
            "start": ("paper/100d/rastrigin",),
        },
        "100d/multipeak-f1": {**_LARGER_100, "samples": 10_000, "start": ("paper/100d/multipeak-f1",)},
        "100d/multipeak-f2": {**_LARGER_100, "samples": 10_000, "start": ("paper/100d/multipeak-f2",)},
        "100d/sawtooth": {**_LARGER_100, "start": ("paper/100d/sawtooth",)},
        "100d/rosenbrock": {**_LARGER_100, "start": ("paper/100d/rosenbrock",)},
        "30d/general": {**_general(30), "population": 80, "first": 300, "generations": 30},
        "100d/general": {**_general(100), "population": 60, "first": 240, "generations": 20},
    },
    sequels={
        "100d/general": {
            **_SEQUEL,
            "population": 24,
            "start": 16,
            "generations": 9,
            "repeats": 14,
            "finalists": 8,
            "final_repeats": 60,
        },
    },
    literal=(
        "30d/multipeak-f1",
        "30d/multipeak-f2",
        "30d/rosenbrock",
        "30d/general",
        "100d/rastrigin",
        "100d/multipeak-f1",
    ),
    tuning=_TUNING,
    tuning_large={"population": 10, "generations": 4},
    runs=200,
    samples=1_000_000,
    side_runs=20,
    variant_runs=50,
    side_samples=100_000,
    attack=True,
    stages=(20, 50, 200),
    seeds=(1, 2, 3),
    budget=2000,
    rival_budget=5000,
)

SCALES = {
    "smoke": Scale(
        breeding={"population": 4, "generations": 2, "repeats": 2, "budget": 100, "samples": 50, "final_repeats": 2},
        breeding_large={"race": 0.05},
        again={},
        sequels={},
        literal=(),
        tuning={"population": 4, "generations": 1, "repeats": 1, "budget": 100, "samples": 50, "final_repeats": 1},
        tuning_large={},
        runs=3,
        samples=500,
        side_runs=2,
        variant_runs=2,
        side_samples=200,
        attack=False,
        stages=(2, 3),
        seeds=(1,),
        budget=100,
        rival_budget=200,
    ),
    "small": _SMALL,
    "paper": replace(
        _SMALL,
        breeding={"population": 50, "generations": 40},
        breeding_large={},
        again={},
        sequels={},
        literal=(),
        tuning={**_TUNING, "population": 50, "generations": 20, "repeats": 20},
        tuning_large={},
        side_runs=200,
        variant_runs=200,
    ),
}


def scale_of(name: str) -> Scale:
    """Return a scale by its name."""
    if name not in SCALES:
        raise UnknownNameError("scale", name, SCALES, "robustforge reproduce --help")
    return SCALES[name]
