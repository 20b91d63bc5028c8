"""The tables of the study, from a folder with a few made-up results that can be worked out by hand."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest

import robustforge as rf
from robustforge.analysis import Bred, Outcome, archive
from robustforge.analysis.components import best_components, proportions
from robustforge.analysis.effects import decomposition
from robustforge.store import Assessed
from robustforge.study import tables
from robustforge.study.cases import Case
from robustforge.study.published import published

TWO = ("sphere", "rastrigin")
SIDE = {
    "champion/30d/general": {"sphere": 1.0, "rastrigin": 60.0},
    "comparator/30d/rpso": {"sphere": 3.0, "rastrigin": 90.0},
    "comparator/30d/leh": {"sphere": 2.0, "rastrigin": 100.0},
    "comparator/30d/rpso+dd": {"sphere": 2.5, "rastrigin": 80.0},
    "centre": {"sphere": 9.0, "rastrigin": 900.0},
}
"""Means side by side. Of the comparators, leh is best on Sphere, and rpso+dd on Rastrigin and by its ranks."""


def assessed(problem, name, mean, runs=4):
    """Runs around a mean; an attack finds 1 more."""
    plain = {"contestant": name, "name": name, "problem": json.dumps(problem.to_dict()), "budget": 2000}
    values = mean + 0.01 * (np.arange(runs) - (runs - 1) / 2)
    return [
        Assessed(**plain, samples=1000, attack=True, seed=k, repeat=k, value=value, attacked=value + 1.0)
        for k, value in enumerate(values.tolist())
    ]


def outcome(case, drawn):
    rng, grammar = np.random.default_rng(drawn), rf.grammar("paper")
    bred = tuple(Bred(grammar.random(rng), 0, 20, (float(k),) * len(case.problems)) for k in range(9))
    settings = {"budget": 2000, "problems": [problem.to_dict() for problem in case.problems]}
    names = tuple(problem.name for problem in case.problems)
    return Outcome(case.name, names, settings, {}, bred, (), bred[0].heuristic, True, 0, 0, 0.0, "", None)


BRED = [outcome(Case(30, "sphere"), 1), outcome(Case(30, "general"), 2)]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    problems = {name: rf.problem(name, 30) for name in TWO}
    archive.write_assessed(assessed(problems["sphere"], "champion/30d/sphere", 1.7), folder / "30d/sphere")
    general = [run for name in TWO for run in assessed(problems[name], "champion/30d/general", 150.0)]
    archive.write_assessed(general, folder / "30d/general")
    side = [run for name, row in SIDE.items() for on, mean in row.items() for run in assessed(problems[on], name, mean)]
    archive.write_assessed(side, folder / "30d/comparison")
    moved = [
        run
        for seed, mean in ((1, 2.0), (2, 4.0))
        for name, factor in (("champion/30d/general", 1.0), ("random", 10.0))
        for run in assessed(rf.problem("sphere", 30, "rotated", seed), name, factor * mean)
    ]
    archive.write_assessed(moved, folder / "30d/variants")
    for each in [*BRED, outcome(Case(30, "rpso"), 3)]:  # a comparator, which no table on components counts
        archive.write_outcome(each, folder / each.name)
    return folder


def picked(table, **wanted):
    (row,) = (row for row in table if all(row[key] == value for key, value in wanted.items()))
    return row


def test_means_stand_beside_the_papers(results):
    table = tables.means(results)
    assert len(table) == 40
    row = picked(table, problem="sphere", dimension=30, case="individual")
    paper = picked(published("paper_means"), problem="sphere", dimension="30", case="individual")
    assert row["ours"] == pytest.approx(1.7)
    assert row["attacked"] == pytest.approx(2.7)
    assert row["se"] == pytest.approx(np.std(0.01 * np.arange(4), ddof=1) / 2)
    assert row["runs"] == 4
    assert row["paper"] == float(paper["gggp_2000"])
    assert row["bar"] == pytest.approx(1.02 * row["paper"] + 0.005)
    assert row["centre"] == pytest.approx(9.0)
    assert row["robust_optimum"] <= row["paper"]


def test_a_champion_is_held_against_the_paper(results):
    ours = [row for row in tables.means(results) if row["ours"] is not None]
    held = {(row["problem"], row["case"]): (row["paper"], row["met"], row["below"]) for row in ours}
    assert held == {
        ("sphere", "individual"): (1.68, True, False),  # 1.7 is within 2%
        ("sphere", "general"): (2.62, False, False),
        ("rastrigin", "general"): (216.8, True, True),
    }


def test_the_best_comparator_is_that_of_the_problem_or_of_all(results):
    table = tables.means(results)
    found = {(row["problem"], row["case"]): row for row in table if row["dimension"] == 30 and row["problem"] in TWO}
    best = {key: (row["comparator"], round(row["comparator_mean"], 9)) for key, row in found.items()}
    assert best == {
        ("sphere", "individual"): ("leh", 2.0),
        ("rastrigin", "individual"): ("rpso+dd", 80.0),
        ("sphere", "general"): ("rpso+dd", 2.5),
        ("rastrigin", "general"): ("rpso+dd", 80.0),
    }


def test_what_is_not_there_yet_is_none(results, tmp_path):
    for row in (
        picked(tables.means(results), problem="sphere", dimension=100, case="general"),
        tables.means(tmp_path)[0],
    ):
        assert [row[key] for key in ("ours", "se", "attacked", "comparator_mean", "centre")] == [None] * 5
        assert [row["runs"], row["met"], row["below"], row["comparator"]] == [0, False, False, ""]
    assert tables.tests(tmp_path) == tables.variants(tmp_path) == []
    assert set(map(len, tables.components(tmp_path).values())) == {0}


def test_everybody_is_tested_side_by_side(results):
    table = tables.tests(results)
    assert len(table) == len(SIDE) * len(TWO)
    assert {row["dimension"] for row in table} == {30}
    assert {row["contestant"] for row in table if row["is_best"]} == {"champion/30d/general"}
    assert picked(table, problem="sphere-30d", contestant="centre")["mean"] == pytest.approx(9.0)


def test_variants_are_means_over_the_seeds(results):
    table = tables.variants(results)
    assert [(row["contestant"], row["runs"]) for row in table] == [("champion/30d/general", 8), ("random", 8)]
    assert {(row["dimension"], row["variant"], row["problem"]) for row in table} == {(30, "rotated", "sphere")}
    assert [row["mean"] for row in table] == pytest.approx([3.0, 30.0])
    assert [row["attacked"] for row in table] == pytest.approx([4.0, 31.0])


def test_components_stand_beside_the_papers(results, monkeypatch):
    monkeypatch.setattr(tables, "decomposition", functools.partial(decomposition, resamples=2))
    found = tables.components(results)
    assert list(found) == ["proportions", "cross", "effects", "pairs", "best"]
    assert {row["dimension"] for name in ("proportions", "cross", "effects", "pairs") for row in found[name]} == {30}
    ours = {key: row[key] for row in found["proportions"][:1] for key in proportions(BRED)[0]}
    assert ours == proportions(BRED)[0]
    row = picked(found["proportions"], component="inner", alternative="Random")
    assert (row["paper_all"], row["paper_top_third"]) == pytest.approx((0.466, 0.675))
    assert picked(found["proportions"], component="network", alternative="Global")["paper_all"] > 0
    assert found["best"] == best_components(BRED)
