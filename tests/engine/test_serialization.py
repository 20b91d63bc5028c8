"""Searches that stop for a week: saved as JSON, read again, the same to the bit; and what was known before."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robustforge as rf
from robustforge.errors import ProblemError, SearchFileError
from shared import bowl, same

DATA = Path(__file__).parents[1] / "data" / "0.1.0"
BOUNDS = [(-3, 5)] * 4
SETS = [
    rf.Ball(0.5),
    rf.Ball(lower=[0.2, 0.4, 0.2, 0.3], upper=0.4),
    rf.Box([0.1, 0.2, 0, 0.3]),
    rf.Box(lower=0.1, upper=0.3),
]


def told(search, count=10**6):
    """Tell a search so many values, one at a time, the last of a batch first."""
    while count and (batch := search.ask()):
        search.tell(batch.ids[-1], bowl(batch.x[-1]))
        count -= 1
    return search


@pytest.mark.parametrize("uncertainty", SETS, ids=repr)
@pytest.mark.parametrize("name", ["rpso+dd+leh", "champion/30d/general"])
def test_a_saved_search_goes_on_as_if_nothing_had_happened(tmp_path, uncertainty, name):
    def fresh():
        return rf.Optimizer(BOUNDS, uncertainty, 150, name, 3)

    whole, parts = told(fresh()), told(fresh(), 47)
    for more in (1, 30, 10**6):
        parts.save(tmp_path / "search.json")
        parts = told(rf.Optimizer.load(tmp_path / "search.json"), more)
    assert same(parts.result(), whole.result())
    assert [path.name for path in tmp_path.iterdir()] == ["search.json"]


def test_failures_and_infeasible_points_are_saved_as_such():
    def value(number):
        return [np.nan, -np.inf, np.inf, float(number)][number % 4]

    def fresh():
        return rf.Optimizer(BOUNDS, rf.Ball(0.5), 100, "rpso+dd", 3, on_failure="unknown", retries=1)

    whole, part = fresh(), fresh()
    while batch := whole.ask():
        whole.tell(batch.ids, [value(k) for k in batch.ids.tolist()])
    for _ in range(3):
        batch = part.ask()
        part.tell(batch.ids, [value(k) for k in batch.ids.tolist()])
    part = rf.Optimizer.from_json(part.to_json())
    while batch := part.ask():
        part.tell(batch.ids, [value(k) for k in batch.ids.tolist()])
    assert same(part.result(), whole.result())
    assert part.result().failures == whole.result().failures > 0


def test_a_generator_as_seed_is_saved_as_what_it_gave():
    search = told(rf.Optimizer(BOUNDS, rf.Ball(0.5), 60, "rpso", np.random.default_rng(5)), 30)
    again = rf.Optimizer.from_json(search.to_json())
    assert same(told(again).result(), told(search).result())


def test_an_interpretation_is_saved_with_its_heuristic_and_was_saved_beside_it():
    """Up to 0.2.0 the switches of the time were under "readings"."""
    chosen = rf.heuristic("rpso+dd").replace(interpretation=rf.Interpretation(step_by_rho=True, first_speed_in_x=True))
    search = told(rf.Optimizer(BOUNDS, rf.Ball(0.5), 80, chosen, 1), 40)
    record = json.loads(search.to_json())
    assert rf.Optimizer.from_json(search.to_json()).heuristic == chosen
    former = json.loads((DATA / "search.json").read_text())["readings"]
    record["readings"] = former | record["heuristic"].pop("interpretation")
    again = rf.Optimizer.from_json(json.dumps(record))
    assert again.heuristic == chosen
    assert same(told(again).result(), told(search).result())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda record: record.update(format="other/1"),
        lambda record: record.pop("budget"),
        lambda record: record["values"].append([7777, 1.0]),
        lambda record: record["values"].append("x"),
        lambda record: record.update(seed=[1, 2]),
        lambda record: record.update(fingerprint="0"),
        lambda record: record["problem"].update(lower=[0, 0]),
        lambda record: record["problem"]["uncertainty"].update(kind="os.system"),
        lambda record: record["heuristic"].update(outer=3),
        lambda record: record.update(readings={"what": 1}),
        lambda record: record.update(values=[[0, "x"]]),
    ],
)
def test_spoiled_files_are_refused_in_a_sentence(spoil):
    record = json.loads(told(rf.Optimizer(BOUNDS, rf.Ball(0.5), 60, "rpso", 1), 25).to_json())
    spoil(record)
    with pytest.raises(SearchFileError):
        rf.Optimizer.from_json(json.dumps(record))


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", "1", '"x"', "[" * 100_000])
def test_texts_that_are_no_search(text):
    with pytest.raises(SearchFileError):
        rf.Optimizer.from_json(text)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(SearchFileError, match="readable"):
        rf.Optimizer.load(tmp_path / "none.json")
    with pytest.raises(SearchFileError, match="must be writable"):
        rf.Optimizer(BOUNDS, rf.Ball(0.5), 60, "rpso", 1).save(tmp_path / "none" / "search.json")


def known_points(count=200):
    points = np.random.default_rng(1).uniform(-3, 5, (count, 4))
    return points, np.array([bowl(x) for x in points])


def test_known_points_cost_nothing_and_are_in_the_history():
    points, values = known_points()
    search = rf.Optimizer(BOUNDS, rf.Ball(1.5), 150, "rpso+dd+leh", 3, prior_evaluations=(points, values))
    assert (search.nfev, len(search.result().history)) == (0, 200)
    assert search.ask().ids[0] == 0
    result = told(search).result()
    assert result.nfev == search.nfev == 150
    assert np.array_equal(result.history.x[:200], points)
    assert np.array_equal(result.history.fun[:200], values)
    without = told(rf.Optimizer(BOUNDS, rf.Ball(1.5), 150, "rpso+dd+leh", 3)).result()
    assert not np.array_equal(result.history.x[200:], without.history.x)  # they were made use of


def test_a_known_point_in_the_neighbourhood_counts_for_the_worst():
    search = told(rf.Optimizer(BOUNDS, rf.Ball(0.5), 150, "rpso", 3))
    x = search.result().x
    again = told(rf.Optimizer(BOUNDS, rf.Ball(0.5), 150, "rpso", 3, prior_evaluations=([x + 0.1], [1e6])))
    result = again.result()
    assert np.array_equal(result.x, x)  # rpso itself looks at its own points only
    assert (result.fun, result.worst_x.tolist()) == (1e6, (x + 0.1).tolist())


def test_known_points_are_saved_with_the_search():
    search = told(rf.Optimizer(BOUNDS, rf.Ball(0.5), 80, "rpso+dd", 3, prior_evaluations=known_points(30)), 40)
    again = rf.Optimizer.from_json(search.to_json())
    assert same(told(again).result(), told(search).result())


@pytest.mark.parametrize(
    "known",
    [3, ([1.0], [2.0]), ([[1.0] * 4], [np.nan]), ([[np.inf] * 4], [1.0]), ([[1.0] * 4], [1.0, 2.0]), ("a", "b")],
)
def test_invalid_prior_evaluations(known):
    with pytest.raises(ProblemError, match=r"prior.evaluations"):
        rf.Optimizer(BOUNDS, rf.Ball(0.5), 80, prior_evaluations=known)
