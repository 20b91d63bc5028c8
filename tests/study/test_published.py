"""The published champions are the shipped ones, and the figures in the documents are those of the results."""

from __future__ import annotations

from pathlib import Path

import pytest

import robustforge as rf
from robustforge.analysis import read_dataset, results_folder
from robustforge.evolution import Evolution
from robustforge.evolution.api import make_settings
from robustforge.study import api, study_tables
from robustforge.study.cases import champions, comparators
from robustforge.study.scales import scale_of

RESULTS = Path(__file__).parents[2] / "docs" / "results"
STUDIES = ("letter", "tuned")
EVOLVED = [
    pytest.param(study, case, id=f"{study}-{case.name}")
    for study in STUDIES
    for case in (*champions(), *comparators())
    if (RESULTS / study / case.name / results_folder.EVOLUTION).exists()
]


@pytest.mark.parametrize(("study", "case"), EVOLVED)
def test_the_shipped_heuristic_is_the_evolved_one(study, case):
    assert results_folder.read_evolution(RESULTS / study / case.name).finished
    if study == "tuned" or not case.is_comparator:  # comparators of the tuned study are shipped
        name = case.contestant(scale_of(study).champion_family)
        assert rf.heuristic(name) == study_tables.champion_of(RESULTS / study, case)


@pytest.mark.parametrize(("study", "case"), EVOLVED)
def test_published_evolutions_have_the_settings_of_their_scale(study, case):
    scale, record = scale_of(study), results_folder.read_evolution(RESULTS / study / case.name)
    evolution = Evolution(case.name, case.problems, make_settings(scale.settings(case)), scale.grammar(case))
    assert api.different_settings(evolution, record.settings) == []


@pytest.mark.parametrize("study", STUDIES)
def test_every_published_run_belongs_to_a_published_heuristic(study):
    dataset = read_dataset(RESULTS / study)
    evolved = {evolution.champion.id for evolution in dataset.evolutions}
    heuristics = {
        run.contestant for run in dataset.assessed_runs if len(run.contestant) == 16 and "-" not in run.contestant
    }
    assert heuristics <= evolved
    assert not [run.failure for run in dataset.assessed_runs if run.failure]


def test_there_is_a_general_champion_for_every_dimension():
    for dimension in (1, 2, 30, 54, 55, 100, 1000):
        assert rf.Optimizer([(0, 1)] * dimension, rf.Ball(0.1), budget=50).heuristic.id
