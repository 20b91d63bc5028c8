"""The settings of the study: `letter` repeats the paper's experiment, `tuned` aims at its figures, `smoke` tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np

from robustforge.analysis import EvolutionRecord
from robustforge.errors import UnknownNameError
from robustforge.evolution.fitness import goal_loss
from robustforge.representation import Grammar, Heuristic
from robustforge.representation.derivation_tree import nodes, replaced
from robustforge.representation.grammar import FORMER_PAPER, LETTER_GRAMMAR, PAPER
from robustforge.representation.letter import LETTER_FIELDS
from robustforge.representation.presets import heuristic
from robustforge.representation.restriction import grammar
from robustforge.robust_problem.problem import problems
from robustforge.study.cases import DIMENSIONS, GENERAL, Case
from robustforge.study.published import published


@dataclass(frozen=True)
class Scale:
    """The size of the study.

    Attributes:
        evolution: Settings of an evolution.
        evolution_large: Settings that differ in 100 variables.
        overrides: Settings that differ, by case, for cases that were evolved again because the first champion was not
            good enough.
        second_stages: Settings, by case, of a second evolution that starts from the best heuristics of the first.
        champion_grammar: Name of the grammar of the champions.
        letter_field_cases: Cases with two rules of the letter: particles move asynchronously, and are not their own
            neighbours in a ring or on a torus.
        tuning: Settings of a comparator's evolution.
        tuning_large: Settings that differ in 100 variables.
        runs: Runs of each champion, for the table beside the paper's.
        samples: Points sampled around each of their designs.
        comparison_runs: Runs of each contestant in the comparison with tests; of controls on variants a quarter, for
            each seed.
        comparison_seed: Seed of the comparison. Where cases were evolved again because of the runs with seed 1, these
            are biased, and the comparison needs runs of its own.
        variant_runs: Runs of the general champions on variants, for each seed.
        comparison_samples: Points sampled around each of those designs.
        attack: Whether designs are attacked.
        stages: Numbers of runs after which the assessments alternate, so that an interrupted study is balanced.
        variant_seeds: Seeds of the variants.
        budget: Evaluations per run.
        comparator_budgets: Evaluations per run of the comparators in the comparison.
        champion_family: First part of the names of champions, e.g. "champion" in "champion/30d/sphere".
    """

    evolution: Mapping[str, Any]
    evolution_large: Mapping[str, Any]
    overrides: Mapping[str, Mapping[str, Any]]
    second_stages: Mapping[str, Mapping[str, Any]]
    champion_grammar: str
    letter_field_cases: tuple[str, ...]
    tuning: Mapping[str, Any]
    tuning_large: Mapping[str, Any]
    runs: int
    samples: int
    comparison_runs: int
    comparison_seed: int
    variant_runs: int
    comparison_samples: int
    attack: bool
    stages: tuple[int, ...]
    variant_seeds: tuple[int, ...]
    budget: int
    comparator_budgets: tuple[int, ...]
    champion_family: str = "champion"

    def settings(self, case: Case) -> dict[str, Any]:
        """Return the settings of a case's evolution; each case has its own seed and thus its own first generation."""
        common, large = (
            (self.tuning, self.tuning_large) if case.is_comparator else (self.evolution, self.evolution_large)
        )
        own = {"seed": crc32(case.name.encode()), **self.overrides.get(case.name, {})}
        settings = {**common, **(large if case.dimension == DIMENSIONS[1] else {}), **own}
        if case.name in self.letter_field_cases:
            settings["initial_heuristics"] = tuple(
                with_letter_fields(heuristic(name)) for name in settings.get("initial_heuristics", ())
            )
        return settings

    def grammar(self, case: Case) -> Grammar:
        """Return the grammar of a case."""
        if case.is_comparator:
            return case.comparator_grammar(self.champion_grammar)
        return grammar(
            self.champion_grammar, fix=_STORED_LETTER_FIELDS if case.name in self.letter_field_cases else None
        )

    def second_stage(self, case: Case, first: EvolutionRecord) -> dict[str, Any]:
        """Return the settings of the second stage of a case, by default with the goals of the first.

        It starts from the best heuristics of the first stage that were in at least two generations; here,
        `initial_heuristics` is their number.
        """
        settings = {"goals": tuple(first.settings["goals"]), **self.second_stages[case.name]}
        repeated = [each for each in first.heuristics if each.runs >= 2 * first.settings["repeats"]]
        loss = goal_loss(np.array([each.means for each in repeated]), settings["goals"], settings["goal_margin"])
        best_first = np.argsort(loss, kind="stable")[: settings["initial_heuristics"]]
        return {**settings, "initial_heuristics": tuple(repeated[k].heuristic for k in best_first)}


_STORED_LETTER_FIELDS: dict[str, Any] = {"order": "in turn", "itself": False}
"""`LETTER_FIELDS` under former names, which published evolutions have in the restrictions of their grammar."""


def with_letter_fields(chosen: Heuristic) -> Heuristic:
    """Return the same swarm with the letter's rules of order and neighbourhood; all others stay."""
    for path, field, _ in nodes(chosen):
        if field.name in LETTER_FIELDS:
            chosen = replaced(chosen, path, LETTER_FIELDS[field.name])
    return chosen


_RACE = {"race_level": 0.05, "samples": 2000, "parameter_mutation": 0.5}
_TUNING = {
    "population": 12,
    "generations": 5,
    "repeats": 4,
    "budget": 5000,
    "finalists": 3,
    "final_repeats": 20,
    **_RACE,
}

_LARGER = {"population": 120, "initial_population": 480, "generations": 30, "samples": 5000, "seed": 41}
_LARGER_100 = {"population": 100, "initial_population": 400, "generations": 20, "seed": 41}
"""Settings of cases that were evolved again, most of them also from the structure that the paper found."""


def _paper_means(dimension: int) -> dict[str, float]:
    """Return the paper's means of the general case."""
    return {
        row["problem"]: float(row["gggp_2000"])
        for row in published("paper_means")
        if (row["dimension"], row["case"]) == (str(dimension), GENERAL)
    }


def _structures(dimension: int) -> tuple[str, ...]:
    """Return the names of all structures of the paper."""
    return tuple(f"paper/{dimension}d/{name}" for name in (*problems(), GENERAL))


def _general(dimension: int) -> dict[str, Any]:
    """Return the settings of the general cases: the paper's structures as initial heuristics, its means as goals."""
    paper = _paper_means(dimension)
    return {
        "goals": tuple(paper[name] for name in problems()),
        "initial_heuristics": _structures(dimension),
        "repeats": 10,
        "samples": 10_000,
        "parameter_mutation": 0.7,
        "finalists": 10,
        "final_repeats": 60,
        "seed": 41,
    }


_SECOND_STAGE = {"goal_margin": 0.04, "samples": 10_000, "parameter_mutation": 1.0, "seed": 42}

_TUNED = Scale(
    evolution={"population": 100, "initial_population": 400, "generations": 25, **_RACE},
    evolution_large={"population": 60, "initial_population": 240, "generations": 20},
    overrides={
        "30d/multipeak-f1": {**_LARGER, "initial_heuristics": ("paper/30d/multipeak-f1",)},
        "30d/multipeak-f2": {**_LARGER, "initial_heuristics": ("paper/30d/multipeak-f2",)},
        "30d/ackley": {**_LARGER, "initial_heuristics": ("paper/30d/ackley",)},
        "30d/rosenbrock": {**_LARGER, "initial_heuristics": _structures(30)},
        "100d/rastrigin": {
            **_LARGER_100,
            "population": 150,
            "initial_population": 600,
            "generations": 30,
            "initial_heuristics": ("paper/100d/rastrigin",),
        },
        "100d/multipeak-f1": {**_LARGER_100, "samples": 10_000, "initial_heuristics": ("paper/100d/multipeak-f1",)},
        "100d/multipeak-f2": {**_LARGER_100, "samples": 10_000, "initial_heuristics": ("paper/100d/multipeak-f2",)},
        "100d/sawtooth": {**_LARGER_100, "initial_heuristics": ("paper/100d/sawtooth",)},
        "100d/rosenbrock": {**_LARGER_100, "initial_heuristics": ("paper/100d/rosenbrock",)},
        "30d/general": {**_general(30), "population": 80, "initial_population": 300, "generations": 30},
        "100d/general": {**_general(100), "population": 60, "initial_population": 240, "generations": 20},
    },
    second_stages={
        "100d/general": {
            **_SECOND_STAGE,
            "population": 24,
            "initial_heuristics": 16,
            "generations": 9,
            "repeats": 14,
            "finalists": 8,
            "final_repeats": 60,
        },
    },
    champion_grammar=FORMER_PAPER,
    letter_field_cases=(
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
    comparison_runs=20,
    comparison_seed=2,
    variant_runs=50,
    comparison_samples=100_000,
    attack=True,
    stages=(20, 50, 200),
    variant_seeds=(1, 2, 3),
    budget=2000,
    comparator_budgets=(5000,),
)

SCALES = {
    "smoke": Scale(
        evolution={"population": 4, "generations": 2, "repeats": 2, "budget": 100, "samples": 50, "final_repeats": 2},
        evolution_large={"race_level": 0.05},
        overrides={},
        second_stages={},
        champion_grammar=PAPER,
        letter_field_cases=(),
        tuning={"population": 4, "generations": 1, "repeats": 1, "budget": 100, "samples": 50, "final_repeats": 1},
        tuning_large={},
        runs=3,
        samples=500,
        comparison_runs=2,
        comparison_seed=2,
        variant_runs=2,
        comparison_samples=200,
        attack=False,
        stages=(2, 3),
        variant_seeds=(1,),
        budget=100,
        comparator_budgets=(200,),
    ),
    "tuned": _TUNED,
    "paper": replace(
        _TUNED,
        evolution={"population": 50, "generations": 40},
        evolution_large={},
        overrides={},
        second_stages={},
        champion_grammar=PAPER,
        letter_field_cases=(),
        tuning={**_TUNING, "population": 50, "generations": 20, "repeats": 20},
        tuning_large={},
        comparison_runs=200,
        variant_runs=200,
    ),
}


SCALES["letter"] = replace(
    SCALES["paper"],
    evolution={"population": 50, "generations": 40, "repeats": 20, "finalists": 1},
    champion_grammar=LETTER_GRAMMAR,
    tuning=_TUNING,
    tuning_large=_TUNED.tuning_large,
    comparison_samples=1_000_000,
    comparison_seed=1,
    variant_runs=50,
    comparator_budgets=(2000, 5000),
    champion_family="letter",
)
"""The paper's experiment: its grammar in the letter's interpretation, its operators, 20 repeats for all heuristics, and
the best heuristic of the last generation as the champion. Comparators are tuned as those of `tuned`."""

FORMER_SCALES = {"small": "tuned"}
"""Scales by their names up to version 0.2.0, which are still accepted."""


def scale_of(name: str) -> Scale:
    """Return a scale by its name."""
    name = FORMER_SCALES.get(name, name)
    if name not in SCALES:
        raise UnknownNameError("scale", name, SCALES, "robustforge reproduce --help")
    return SCALES[name]
