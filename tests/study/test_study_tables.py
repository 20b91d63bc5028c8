"""The tables of the study, from a folder with a few made-up results that can be worked out by hand."""

from __future__ import annotations

import functools
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ranksums

import robustforge as rf
from robustforge.analysis import EvolutionRecord, EvolvedHeuristic, results_folder
from robustforge.analysis.component_tables import best_components, proportions
from robustforge.analysis.effects import decomposition
from robustforge.store import AssessedRun
from robustforge.study import study_tables
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
        AssessedRun(**plain, samples=1000, attack=True, seed=k, repeat=k, value=value, attacked=value + 1.0)
        for k, value in enumerate(values.tolist())
    ]


def evolution(case, drawn):
    rng, grammar = np.random.default_rng(drawn), rf.grammar("paper")
    evolved = tuple(EvolvedHeuristic(grammar.random(rng), 0, 20, (float(k),) * len(case.problems)) for k in range(9))
    settings = {"budget": 2000, "problems": [problem.to_dict() for problem in case.problems]}
    names = tuple(problem.name for problem in case.problems)
    return EvolutionRecord(case.name, names, settings, {}, evolved, (), evolved[0].heuristic, True, 0, 0, 0.0, "", None)


BRED = [evolution(Case(30, "sphere"), 1), evolution(Case(30, "general"), 2)]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    problems = {name: rf.problem(name, 30) for name in TWO}
    results_folder.write_assessed(assessed(problems["sphere"], "champion/30d/sphere", 1.7), folder / "30d/sphere")
    general = [run for name in TWO for run in assessed(problems[name], "champion/30d/general", 150.0)]
    results_folder.write_assessed(general, folder / "30d/general")
    side = [run for name, row in SIDE.items() for on, mean in row.items() for run in assessed(problems[on], name, mean)]
    results_folder.write_assessed(side, folder / "30d/comparison")
    moved = [
        run
        for seed, mean in ((1, 2.0), (2, 4.0))
        for name, factor in (("champion/30d/general", 1.0), ("random", 10.0))
        for run in assessed(rf.problem("sphere", 30, "rotated", seed), name, factor * mean)
    ]
    results_folder.write_assessed(moved, folder / "30d/variants")
    for each in [*BRED, evolution(Case(30, "rpso"), 3)]:  # a comparator, which no table on components counts
        results_folder.write_evolution(each, folder / each.name)
    return folder


def picked(table, **wanted):
    (row,) = (row for row in table if all(row[key] == value for key, value in wanted.items()))
    return row


def test_means_beside_the_papers(results):
    table = study_tables.means(results)
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


def test_a_champion_is_compared_with_the_paper(results):
    ours = [row for row in study_tables.means(results) if row["ours"] is not None]
    held = {(row["problem"], row["case"]): (row["paper"], row["met"], row["below"]) for row in ours}
    assert held == {
        ("sphere", "individual"): (1.68, True, False),  # 1.7 is within 2%
        ("sphere", "general"): (2.62, False, False),
        ("rastrigin", "general"): (216.8, True, True),
    }


def test_the_best_comparator_is_that_of_the_problem_or_of_all(results):
    table = study_tables.means(results)
    found = {(row["problem"], row["case"]): row for row in table if row["dimension"] == 30 and row["problem"] in TWO}
    best = {key: (row["comparator"], round(row["comparator_mean"], 9)) for key, row in found.items()}
    assert best == {
        ("sphere", "individual"): ("leh", 2.0),
        ("rastrigin", "individual"): ("rpso+dd", 80.0),
        ("sphere", "general"): ("rpso+dd", 2.5),
        ("rastrigin", "general"): ("rpso+dd", 80.0),
    }


def test_verdicts_are_rank_sum_tests_against_the_best_comparator_of_each_budget(tmp_path):
    rng, sphere = np.random.default_rng(3), rf.problem("sphere", 30)
    means = {
        ("letter/30d/sphere", 2000): 1.0,
        ("letter/30d/general", 2000): 3.0,
        ("comparator/30d/rpso@2000", 2000): 9.0,
        ("comparator/30d/leh@2000", 2000): 2.9,
        ("comparator/30d/rpso@5000", 5000): 2.5,
        ("comparator/30d/leh@5000", 5000): 8.0,
        ("centre", 2000): 0.1,
    }
    runs = [
        replace(run, value=run.value + float(noise), budget=budget, contestant=name)
        for (name, budget), mean in means.items()
        for run, noise in zip(assessed(sphere, name, mean, 30), 0.3 * rng.normal(size=30), strict=True)
    ]
    results_folder.write_assessed(runs, tmp_path / "30d/comparison")
    table = study_tables.verdicts(tmp_path)
    found = {
        (row["case"], row["comparator_budget"]): (row["comparator"], row["verdict"], row["paper_verdict"])
        for row in table
    }
    assert found == {
        ("individual", 2000): ("comparator/30d/leh@2000", "better", "better"),
        ("general", 2000): ("comparator/30d/leh@2000", "equal", "better"),
        ("individual", 5000): ("comparator/30d/rpso@5000", "better", "better"),
        ("general", 5000): ("comparator/30d/rpso@5000", "worse", "better"),
    }
    row = picked(table, case="general", comparator_budget=5000)
    values = [
        np.array([run.value for run in runs if run.name == name]) for name in ("letter/30d/general", row["comparator"])
    ]
    assert row["p"] == pytest.approx(ranksums(*values).pvalue, rel=0.1)
    assert row["runs"] == 30


def test_verdicts_of_the_paper_are_counted_as_in_its_text():
    counts = Counter((row["dimension"], row["case"], row["verdict"]) for row in published("paper_means"))
    assert [counts["30", "individual", verdict] for verdict in ("better", "equal", "worse")] == [8, 1, 1]
    assert [counts["30", "general", verdict] for verdict in ("better", "equal", "worse")] == [8, 0, 2]
    assert [counts["100", "individual", verdict] for verdict in ("better", "equal", "worse")] == [10, 0, 0]
    assert [counts["100", "general", verdict] for verdict in ("better", "equal", "worse")] == [9, 0, 1]


def test_deciles_of_each_case(results):
    table = study_tables.case_deciles(results)
    assert {row["case"] for row in table} == {"30d/sphere", "30d/general"}
    shares = [
        row["share"] for row in table if (row["case"], row["component"], row["decile"]) == ("30d/sphere", "network", 1)
    ]
    assert sum(shares) == pytest.approx(1.0)


def test_missing_results_are_none(results, tmp_path):
    for row in (
        picked(study_tables.means(results), problem="sphere", dimension=100, case="general"),
        study_tables.means(tmp_path)[0],
    ):
        assert [row[key] for key in ("ours", "se", "attacked", "comparator_mean", "centre")] == [None] * 5
        assert [row["runs"], row["met"], row["below"], row["comparator"]] == [0, False, False, ""]
    assert study_tables.tests(tmp_path) == study_tables.variants(tmp_path) == []
    assert set(map(len, study_tables.components(tmp_path).values())) == {0}


def test_all_contestants_are_tested(results):
    table = study_tables.tests(results)
    assert len(table) == len(SIDE) * len(TWO)
    assert {row["dimension"] for row in table} == {30}
    assert {row["contestant"] for row in table if row["is_best"]} == {"champion/30d/general"}
    assert picked(table, problem="sphere-30d", contestant="centre")["mean"] == pytest.approx(9.0)


def test_variants_are_means_over_the_seeds(results):
    table = study_tables.variants(results)
    assert [(row["contestant"], row["runs"]) for row in table] == [("champion/30d/general", 8), ("random", 8)]
    assert {(row["dimension"], row["variant"], row["problem"]) for row in table} == {(30, "rotated", "sphere")}
    assert [row["mean"] for row in table] == pytest.approx([3.0, 30.0])
    assert [row["attacked"] for row in table] == pytest.approx([4.0, 31.0])


def test_components_beside_the_papers(results, monkeypatch):
    monkeypatch.setattr(study_tables, "decomposition", functools.partial(decomposition, resamples=2))
    found = study_tables.components(results)
    assert list(found) == ["proportions", "cross", "effects", "pairs", "best"]
    assert {row["dimension"] for name in ("proportions", "cross", "effects", "pairs") for row in found[name]} == {30}
    ours = {key: row[key] for row in found["proportions"][:1] for key in proportions(BRED)[0]}
    assert ours == proportions(BRED)[0]
    row = picked(found["proportions"], component="inner", alternative="Random")
    assert (row["paper_all"], row["paper_top_third"]) == pytest.approx((0.466, 0.675))
    assert picked(found["proportions"], component="network", alternative="Global")["paper_all"] > 0
    assert found["best"] == best_components(BRED)
