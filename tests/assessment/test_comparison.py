"""Tables of assessed runs, on synthetic runs: the best, the tied, and the labels of contestants."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from robustforge.assessment.comparison import compare_runs
from robustforge.assessment.statistics import a12, holm, rank_sum
from robustforge.assessment.summaries import anytime, summaries
from robustforge.store import CHECKPOINTS, AssessedRun


def runs(name, values, problem="p", contestant=None, budget=100, samples=50, **other):
    """A run for each value; `None` is one that failed."""
    text = json.dumps({"name": problem})
    rest = {"attacked": math.nan, "nominal": 0.5, **other}
    return [
        AssessedRun(contestant or name, name, text, budget, samples, True, seed, seed, failure="no")
        if value is None
        else AssessedRun(contestant or name, name, text, budget, samples, True, seed, seed, value=value, **rest)
        for seed, value in enumerate(values)
    ]


def labels(*found):
    return [row["contestant"] for row in summaries([run for group in found for run in group])]


def cell(table, contestant, problem="p"):
    (row,) = (row for row in table if (row["contestant"], row["problem"]) == (contestant, problem))
    return row


GOOD = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
CLOSE = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]
BAD = [11.0, 12.0, 13.0, 14.0, 15.0, 16.0]


def test_a_summary_by_hand():
    (row,) = summaries(runs("one", [4.0, 1.0, 2.0, 3.0], attacked=8.0))
    assert (row["problem"], row["contestant"], row["budget"], row["samples"]) == ("p", "one", 100, 50)
    assert (row["runs"], row["failures"]) == (4, 0)
    assert (row["mean"], row["median"], row["q1"], row["q3"]) == (2.5, 2.5, 1.75, 3.25)
    assert (row["min"], row["max"], row["attacked"], row["nominal"]) == (1.0, 4.0, 8.0, 0.5)
    assert row["se"] == pytest.approx(math.sqrt(5 / 3) / 2)
    assert row["attacked_se"] == 0.0


def test_a_failure_is_infinitely_bad_in_every_table():
    failing = runs("one", [1.0, None, 2.0, 3.0])
    (row,) = summaries(failing)
    assert (row["runs"], row["failures"], row["mean"], row["max"]) == (4, 1, math.inf, math.inf)
    assert (row["min"], row["median"]) == (1.0, 3.0)
    assert math.isnan(row["se"])
    assert compare_runs([*failing, *runs("two", BAD)]).cells[0]["mean"] == math.inf


def test_the_best_has_the_lowest_mean_and_those_not_significantly_different_are_tied():
    found = compare_runs([*runs("bad", BAD), *runs("close", CLOSE), *runs("good", GOOD)])
    assert found.contestants == ("bad", "close", "good")
    assert [row["is_best"] for row in found.cells] == [False, False, True]
    assert [row["is_tied"] for row in found.cells] == [False, True, True]
    best = cell(found.cells, "good")
    assert (best["p"], best["p_holm"], best["a12"], best["mean"], best["median"]) == (1.0, 1.0, 0.5, 3.5, 3.5)
    assert cell(found.cells, "bad")["a12"] == 1.0
    assert cell(found.cells, "bad")["p"] == pytest.approx(2 / math.comb(12, 6))
    assert cell(found.cells, "close")["p"] == rank_sum(np.array(GOOD), np.array(CLOSE))
    assert cell(found.cells, "close")["a12"] == a12(np.array(GOOD), np.array(CLOSE)) > 0.5


def test_holms_correction_is_for_all_tests_of_the_table():
    found = compare_runs(
        [
            *(run for problem in "pqr" for run in runs("good", GOOD, problem)),
            *(run for problem in "pqr" for run in runs("later", [value + 3 for value in GOOD], problem)),
        ]
    )
    tested = [row for row in found.cells if not row["is_best"]]
    p = rank_sum(np.array(GOOD), np.array(GOOD) + 3)
    assert 0.05 / 3 < p < 0.05  # only without the correction
    assert [row["p"] for row in tested] == [p] * 3
    assert [row["p_holm"] for row in tested] == holm([p] * 3) == pytest.approx([3 * p] * 3)
    assert not any(row["is_tied"] for row in tested)


def test_a_failure_counts_as_infinite():
    found = compare_runs([*runs("often", [None, 0.0, 0.0, 0.0]), *runs("bad", [9.0] * 4), *runs("never", [None] * 4)])
    assert [row["mean"] for row in found.cells] == [math.inf, 9.0, math.inf]
    assert cell(found.cells, "bad")["is_best"]
    assert cell(found.cells, "often")["median"] == 0.0
    assert cell(found.cells, "often")["a12"] == 0.25
    assert cell(found.cells, "never")["a12"] == 1.0
    assert cell(found.cells, "often")["runs"] == 4


def test_where_all_fail_all_are_tied():
    found = compare_runs([*runs("one", [None] * 9), *runs("two", [None] * 9)])
    assert [row["is_tied"] for row in found.cells] == [True, True]
    assert sum(row["is_best"] for row in found.cells) == 1


def test_among_contestants_with_failures_the_best_fails_least():
    often, once = [5.0, *[None] * 7], [*[1.0 + k / 10 for k in range(7)], None]
    found = compare_runs([*runs("often", often), *runs("once", once), *runs("never ready", [None] * 8)])
    assert cell(found.cells, "once")["is_best"]
    assert not cell(found.cells, "often")["is_tied"]
    assert cell(found.cells, "often")["mean"] == cell(found.cells, "once")["mean"] == math.inf
    assert cell(found.cells, "once")["median"] == summaries(runs("once", once))[0]["median"] < math.inf


def test_ranks_are_over_the_problems_of_all_contestants():
    found = compare_runs(
        [
            *runs("a", GOOD, "p"),
            *runs("b", BAD, "p"),
            *runs("a", BAD, "q"),
            *runs("b", BAD, "q"),
            *runs("b", GOOD, "r"),  # a was not there
        ]
    )
    assert found.problems == ("p", "q", "r")
    one, two = found.ranks
    assert (one["average_rank"], two["average_rank"]) == (1.25, 1.75)
    assert one["problems"] == two["problems"] == 2
    assert (one["best_on"], one["tied_on"]) == (2, 2)
    assert (two["best_on"], two["tied_on"]) == (0, 1)  # to be alone is no success


def test_without_a_shared_problem_there_is_no_rank():
    found = compare_runs([*runs("a", GOOD, "p"), *runs("b", GOOD, "q")])
    assert all(math.isnan(row["average_rank"]) and row["problems"] == 0 for row in found.ranks)


def test_another_measure_may_have_another_winner():
    both = [*runs("a", [1.0] * 6, attacked=9.0), *runs("b", [2.0] * 6, attacked=3.0)]
    assert cell(compare_runs(both).cells, "a")["is_best"]
    found = compare_runs(both, "attacked")
    assert cell(found.cells, "b")["is_best"]
    assert found.measure == "attacked"
    assert cell(found.cells, "a")["mean"] == 9.0


def test_comparing_attacked_values_needs_attacks():
    with pytest.raises(ValueError, match="attack"):
        compare_runs([*runs("a", GOOD), *runs("b", GOOD)], "attacked")


def test_a_contestant_has_its_last_name():
    renamed = [*runs("old", [1.0, 2.0], contestant="id"), *runs("new", [3.0], "q", contestant="id")]
    assert [(row["contestant"], row["runs"]) for row in summaries(renamed)] == [("new", 2), ("new", 1)]


def test_budget_and_samples_become_part_of_a_label_where_they_differ():
    usual = runs("a", GOOD)
    assert labels(usual, runs("b", GOOD)) == ["a", "b"]
    assert labels(usual, runs("a", [1.0], budget=500)) == ["a@100", "a@500"]
    assert labels(usual, runs("b@500", [1.0], contestant="b", budget=500)) == ["a", "b@500"]
    assert labels(usual, runs("a", [1.0], samples=5000)) == ["a (50 samples)", "a (5,000 samples)"]
    assert labels(usual, runs("a", [1.0], "q", samples=5000)) == ["a (50 samples)", "a (5,000 samples)"]


def test_two_contestants_of_one_name_have_distinct_labels():
    twice = labels(runs("a", GOOD, contestant="0123456789"), runs("a", BAD, contestant="abcdefghij"))
    assert twice == ["a 012345", "a abcdef"]


def test_one_heuristic_with_two_budgets_is_two_contestants():
    plain, longer = runs("a", GOOD, contestant="id"), runs("a@500", BAD, contestant="id", budget=500)
    assert labels(plain, longer) == ["a", "a@500"]


def test_a_label_has_a_budget_only_where_one_name_had_several():
    assert labels(runs("a@50", GOOD, budget=50), runs("b", GOOD)) == ["a@50", "b"]


def test_two_problems_of_one_name_have_distinct_labels():
    clipped = [AssessedRun("a", "a", '{"name": "p", "outside": "clip"}', 100, 50, True, 0, 0, value=1.0)]
    assert len(summaries([*runs("a", GOOD), *clipped])) == 2


def curved(name, *curves, **other):
    every = [run for curve in curves for run in runs(name, [1.0], curve=tuple(curve), **other)]
    return [replace(run, seed=seed) for seed, run in enumerate(every)]


def test_an_anytime_curve_by_hand():
    early = [math.nan, *range(10, 0, -1)]
    late = [math.nan, math.nan, *range(29, 20, -1)]
    table = anytime(curved("a", early, late, budget=200))
    assert [row["evaluations"] for row in table] == [20, 40, 60, 80, 100, 120, 140, 160, 180, 200]
    assert [row["runs"] for row in table] == [1] + [2] * 9
    assert (table[0]["mean"], table[0]["q1"], table[0]["q3"]) == (10.0, 10.0, 10.0)
    assert (table[-1]["mean"], table[-1]["q1"], table[-1]["q3"]) == (11.0, 6.0, 16.0)


def test_a_run_without_a_curve_is_left_out():
    assert anytime(runs("a", [None, None])) == []
    table = anytime([*curved("a", [2.0] * len(CHECKPOINTS)), *runs("a", [1.0, None])[1:]])
    assert {row["runs"] for row in table} == {1}
    assert len(table) == len(CHECKPOINTS)


def test_an_infinite_worst_case_counts_in_the_curve():
    last = [2.0] * len(CHECKPOINTS)
    table = anytime(curved("a", last, [*last[:-1], math.inf]))
    assert [row["mean"] for row in table] == [*last[:-1], math.inf]


def test_a_run_with_and_without_attack_is_one_run():
    plain = [replace(run, attack=False) for run in runs("a", GOOD)]
    (row,) = summaries([*runs("a", GOOD, attacked=9.0), *plain])
    assert (row["runs"], row["attacked"]) == (len(GOOD), 9.0)


def test_a_contestant_that_is_better_but_for_one_run_is_tied():
    steady, wild = [1.0 + k / 100 for k in range(20)], [0.9 - k / 100 for k in range(19)] + [10.0]
    row = cell(compare_runs([*runs("steady", steady), *runs("wild", wild)]).cells, "wild")
    assert row["p"] < 0.001
    assert row["a12"] < 0.5
    assert row["is_tied"]
