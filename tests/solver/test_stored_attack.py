"""Stored attacks: with a small budget, resumable, and not negated to maximise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from robustforge.errors import ProblemError
from robustforge.simulator.problem_file import read_problem_file
from robustforge.simulator.worker_pool import model_workers
from robustforge.solver import AttackResult, StoredSearch, judge_attack
from robustforge.solver.stored_attack import StoredAttack
from robustforge.store import SEARCH, VERIFY, Evaluation, Store

PROBLEM = """
budget = 40
heuristic = "rpso"
goal = "{goal}"
on_failure = "{policy}"
[variables]
a = {{ bounds = [-2, 3], tolerance = 0.2 }}
b = {{ bounds = [1, 100], tolerance = "5%" }}
c = {{ bounds = [0, 1], tolerance = 0 }}
[model]
function = "models:{name}"
"""
MODELS = """
import math
def slope(a, b, c):
    return 3 * a - 20 * math.log(b) + c
def hill(a, b, c):
    return -slope(a, b, c)
def cliff(a, b, c):
    if a > {edge}:
        raise RuntimeError("broken")
    return a
"""


@pytest.fixture
def problem(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # a module is changed within a second

    def write(name, goal="minimise", policy="infeasible", edge=9.0):
        (tmp_path / "models.py").write_text(MODELS.replace("{edge}", repr(edge)))
        (tmp_path / "p.toml").write_text(PROBLEM.format(goal=goal, name=name, policy=policy))
        return read_problem_file(tmp_path / "p.toml")

    return write


def verified(file, path, budget, solve=True, callback=lambda attack: None):
    with Store.open(path, durable=True) as store, model_workers(file.model, 2) as submit:
        search = StoredSearch.open(file, store)
        if solve:
            search.solve(submit)
        return search, StoredAttack(search).run(budget, submit, callback)


@pytest.mark.parametrize(("name", "goal", "sign"), [("slope", "minimise", 1), ("hill", "maximise", -1)])
def test_the_worst_corner_and_its_drivers(problem, tmp_path, name, goal, sign):
    file = problem(name, goal)
    search, found = verified(file, tmp_path / "s.db", 12)
    x = file.variables.decode(search.result().x)
    a, b = x["a"] + 0.2, x["b"] * 0.95
    assert found.worst == pytest.approx(sign * (3 * a - 20 * math.log(b) + x["c"]))
    assert found.worst_point == {"a": pytest.approx(a), "b": pytest.approx(b), "c": x["c"]}
    assert sign * found.worst >= sign * found.found_by_search >= sign * found.nominal - 1e-9
    assert found.slopes["a"] == pytest.approx(sign * 3 * 0.4, rel=1e-2)
    assert found.slopes["b"] == pytest.approx(-sign * 20 * math.log(1.05 / 0.95), rel=1e-2)
    assert found.slopes["c"] == 0
    assert (found.runs, found.failures) == (12, 0)


def test_an_attack_resumes_and_can_be_extended(problem, tmp_path):
    file = problem("slope")
    whole = verified(file, tmp_path / "one.db", 25)[1]
    seen = []

    def stop(attack):
        seen.append(attack.runs)
        if attack.runs % 5 == 0:
            raise KeyboardInterrupt

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            verified(file, tmp_path / "two.db", 25, callback=stop)
    assert verified(file, tmp_path / "two.db", 18)[1].runs == 18
    assert verified(file, tmp_path / "two.db", 25)[1] == whole
    with Store.read(tmp_path / "two.db") as store:
        rows = [e for e in store.evaluations(store.experiment("p", SEARCH)) if e.part == VERIFY]
    assert [row.number for row in rows] == list(range(25))
    assert len(seen) == len(set(seen))  # nothing was run twice


def test_attacks_of_earlier_versions_are_continued(problem, tmp_path):
    """Runs that this version would not ask for are known evaluations."""
    file = problem("slope")
    for _ in range(2):
        with Store.open(tmp_path / "s.db", durable=True) as store, model_workers(file.model, 1) as submit:
            search = StoredSearch.open(file, store)
            search.solve(submit)
            attack = StoredAttack(search)
            if not attack.stored:
                x = np.array(search.result().x)
                points = [x + np.array([0.1 * k, 0.01 * k, 0.0]) for k in (-1, 1, 0.5)]
                rows = [Evaluation(VERIFY, k, tuple(point.tolist()), float(k)) for k, point in enumerate(points)]
                store.add_evaluations(search.experiment, rows)
                attack = StoredAttack(search)
            found = attack.run(12, submit)
            assert found.runs == 12
            assert [row.number for row in store.evaluations(search.experiment) if row.part == VERIFY] == list(range(12))


def test_failures_within_the_tolerances_follow_the_policy(problem, tmp_path, monkeypatch):
    monkeypatch.setattr("robustforge.solver.stored_search.MAX_FAILED_RUNS", 1000)  # most of the box is beyond the cliff
    file = problem("cliff")
    with Store.open(None) as store, model_workers(file.model, 1) as submit:
        search = StoredSearch.open(file, store)
        search.solve(submit)
        x = file.variables.decode(search.result().x)
    file = problem("cliff", edge=x["a"] + 0.15)
    assert verified(file, tmp_path / "a.db", 20)[1].worst == math.inf
    file = problem("cliff", policy="unknown", edge=x["a"] + 0.15)
    found = verified(file, tmp_path / "b.db", 20)[1]
    assert found.worst < math.inf
    assert found.failures > 0


def test_an_unfinished_search_cannot_be_verified(problem, tmp_path):
    with pytest.raises(ProblemError, match="only a finished search can be verified; 'p' has no design yet"):
        verified(problem("slope"), tmp_path / "s.db", 10, solve=False)


@pytest.mark.parametrize(
    ("known", "worst", "failures", "kind", "text"),
    [
        (100.0, 100.0, 0, "confirmed", "40 further runs found no worse value."),
        (100.0, 104.0, 0, "confirmed", "4% worse than the search: 104 instead of 100"),
        (100.0, 100.1, 0, "confirmed", "<1% worse"),
        (100.0, 131.0, 0, "warning", "The attack found a value 31% worse than the search: 131 instead of 100"),
        (-100.0, -131.0, 3, "warning", "31% worse than the search: -131 instead of -100"),  # maximised
        (-0.86, 4.57, 0, "warning", "The attack found 4.57 in 40 further runs; the search had found -0.86"),
        (0.0, 1e-3, 0, "warning", "the search had found 0."),
        (0.02, 49.7, 0, "warning", "The attack found 49.7 in 40 further runs; the search had found 0.02"),
        (100.0, math.inf, 1, "warning", "found an infeasible point within the tolerances, in 40 further runs"),
        (-100.0, -math.inf, 1, "warning", "found an infeasible point"),
        (math.inf, math.inf, 1, "warning", "as the search has found"),
        (100.0, 100.0, 40, "neutral", "Not attacked: all 40 further runs failed."),
    ],
)
def test_the_verdict_of_an_attack(known, worst, failures, kind, text):
    found = judge_attack(AttackResult(known, known, worst, {}, 40, failures, {}))
    assert found.kind == kind
    assert text in found.text


def test_the_verdict_without_an_attack():
    for found in (None, AttackResult(1.0, 2.0, 2.0, {}, 0, 0, {})):
        assert judge_attack(found).kind == "neutral"
        assert judge_attack(found).text.startswith("Not attacked")
        assert math.isnan(judge_attack(found).rise)
