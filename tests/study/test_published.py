"""What is published is what is shipped: the champions by name, and the figures in the documents."""

from __future__ import annotations

from pathlib import Path

import pytest

import robustforge as rf
from robustforge.analysis import archive, read_evidence
from robustforge.study import tables
from robustforge.study.cases import champions, comparators

RESULTS = Path(__file__).parents[2] / "docs" / "results"
BRED = [case for case in (*champions(), *comparators()) if (RESULTS / case.name / archive.EVOLUTION).exists()]


@pytest.mark.parametrize("case", BRED, ids=lambda case: case.name)
def test_the_shipped_heuristic_is_the_one_that_was_bred(case):
    assert archive.read_outcome(RESULTS / case.name).finished
    assert rf.heuristic(case.contestant) == tables.bred(RESULTS, case)


def test_every_published_run_belongs_to_a_published_heuristic():
    evidence = read_evidence(RESULTS)
    bred = {outcome.champion.id for outcome in evidence.outcomes}
    heuristics = {
        run.contestant for run in evidence.assessed if len(run.contestant) == 16 and "-" not in run.contestant
    }
    assert heuristics <= bred
    assert not [run.failure for run in evidence.assessed if run.failure]


def test_there_is_a_general_champion_for_every_dimension():
    for dimension in (1, 2, 30, 54, 55, 100, 1000):
        assert rf.Optimizer([(0, 1)] * dimension, rf.Ball(0.1), budget=50).heuristic.id
