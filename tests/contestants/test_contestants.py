"""Contestants: controls and CMA-ES stay within their budget, follow from their seed, and are found by name."""

from __future__ import annotations

import contextlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import robustforge as rf
from robustforge.contestants import Contestant, as_contestant, contestant_names
from robustforge.contestants.cma_es import CmaEs
from robustforge.errors import AssessmentError, MissingExtraError, ProblemError, RobustforgeError, UnknownNameError

OTHERS = ["centre", "random", "cma-es", "cma-es-worst-of-4"]
CHECKPOINTS = [10, 50, 100]


class Counting:
    """A bowl that keeps all points at which it was evaluated."""

    def __init__(self):
        self.points = []

    def __call__(self, x):
        self.points.append(x.copy())
        return float(((x - 1.0) ** 2).sum())


def bowl(**options):
    fun = Counting()
    return rf.Problem(fun, [(-5, 5), (0, 5), (-9, 3)], options.pop("uncertainty", rf.Ball(0.5)), name="b", **options)


def test_the_centre_needs_no_evaluation():
    problem = bowl()
    found = as_contestant("centre").run(problem, 100, 1, CHECKPOINTS)
    assert found.x.tolist() == [0.0, 2.5, -3.0]
    assert found.nfev == len(problem.fun.points) == 0
    assert all(design.tolist() == found.x.tolist() for design in found.checkpoint_designs)


@pytest.mark.parametrize("budget", [3, 100, 250])
def test_random_search_returns_the_best_of_points_all_over_the_box(budget):
    problem = bowl()
    found = as_contestant("random").run(problem, budget, 1, [100, budget])
    points = np.array(problem.fun.points)
    assert found.nfev == len(points) == budget
    values = ((points - 1.0) ** 2).sum(axis=1)
    assert (found.x == points[np.argmin(values)]).all()
    assert (found.checkpoint_designs[0] == points[np.argmin(values[:100])]).all()
    if budget == 250:
        assert (points.min(axis=0) - problem.lower < 0.5).all()
        assert (problem.upper - points.max(axis=0) < 0.5).all()


@pytest.mark.parametrize("name", OTHERS)
def test_the_seed_decides_the_result(name):
    one, same, other = (as_contestant(name).run(bowl(), 120, seed, CHECKPOINTS) for seed in (1, 1, 2))
    assert (one.x == same.x).all()
    assert one.nfev == same.nfev
    assert len(one.checkpoint_designs) == len(same.checkpoint_designs) == len(CHECKPOINTS)
    for a, b in zip(one.checkpoint_designs, same.checkpoint_designs, strict=True):
        assert (a is None and b is None) or (a == b).all()
    assert (one.x == other.x).all() == (name == "centre")


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("budget", [3, 27, 28, 29, 200])
def test_the_budget_is_never_exceeded_and_the_count_is_exact(name, budget):
    problem = bowl()
    found = as_contestant(name).run(problem, budget, 1, CHECKPOINTS)
    generation = {"centre": 1, "random": 1, "cma-es": 7, "cma-es-worst-of-4": 28}[name]
    used = 0 if name == "centre" else budget // generation * generation  # what does not fit is left
    assert found.nfev == len(problem.fun.points) == used
    assert (found.x >= problem.lower).all()
    assert (found.x <= problem.upper).all()


@pytest.mark.parametrize("name", ["cma-es", "cma-es-worst-of-4"])
def test_cma_es_searches(name):
    problem = bowl()
    found = as_contestant(name).run(problem, 1500, 1, CHECKPOINTS)
    assert found.x == pytest.approx([1.0, 1.0, 1.0], abs=0.4)  # with 20 other seeds, 0.22 at most


def test_searches_in_two_threads_are_independent():
    problem, contestant = rf.problem("rastrigin", 3), as_contestant("cma-es-worst-of-4")
    alone = [contestant.run(problem, 300, seed, CHECKPOINTS) for seed in range(4)]
    np.random.seed(7)
    before = np.random.get_state()[1].copy(), np.random.get_state()[2]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda seed: contestant.run(problem, 300, seed, CHECKPOINTS), range(4)))
    after = np.random.get_state()[1], np.random.get_state()[2]
    assert (before[0] == after[0]).all()
    assert before[1] == after[1]
    for one, other in zip(alone, together, strict=True):
        assert (one.x == other.x).all()
        assert all(
            (a == b).all() for a, b in zip(one.checkpoint_designs[1:], other.checkpoint_designs[1:], strict=True)
        )


@pytest.mark.parametrize(
    ("uncertainty", "out_of_bounds"),
    [(rf.Ball([0.5, 0.0, 1.0]), "evaluate"), (rf.Ball(1.0), "clip"), (rf.Box(lower=0.1, upper=0.4), "evaluate")],
)
def test_the_worst_of_four_is_of_points_around_each_candidate(uncertainty, out_of_bounds):
    problem = bowl(uncertainty=uncertainty, out_of_bounds=out_of_bounds)
    search = CmaEs(problem, 400, 1, worst_of=4)
    plain = CmaEs(problem, 400, 1)
    candidates, points = plain.ask(), search.ask()
    assert points.shape == (4 * len(candidates), 3)
    around = points.reshape(-1, 4, 3) - candidates[:, None] - problem.geometry.offset
    if out_of_bounds == "clip":
        assert (points >= problem.lower).all()
        assert (points <= problem.upper).all()
    else:
        assert problem.geometry.holds(around.reshape(-1, 3) / problem.space.scale).all()
        assert (np.ptp(around, axis=1)[:, problem.geometry.active] > 0).all()
    assert (np.abs(around).max(axis=(0, 1))[problem.geometry.radii == 0] == 0).all()


def test_the_value_of_a_candidate_is_its_worst_point(monkeypatch):
    search = CmaEs(bowl(), 400, 1, worst_of=3)
    count = len(search.ask()) // 3
    received = []
    monkeypatch.setattr(search._strategy, "tell", lambda candidates, scores: received.append((len(candidates), scores)))
    search.tell(np.arange(3.0 * count))
    assert received == [(count, [3.0 * k + 2.0 for k in range(count)])]


def test_a_missing_pycma_is_reported_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "cma", None)
    for name in ("cma-es", "cma-es-worst-of-4", "cma-es@500"):
        with pytest.raises(MissingExtraError, match=r"pip install 'robustforge\[peers\]'"):
            as_contestant(name)
    assert as_contestant("random").name == "random"


def test_another_pycma_is_another_contestant(monkeypatch):
    import cma

    mine = as_contestant("cma-es").id
    monkeypatch.setattr(cma, "__version__", "0.0")
    assert as_contestant("cma-es").id != mine


def test_every_name_gives_a_contestant():
    names = contestant_names()
    assert set(rf.heuristics()) | set(OTHERS) == set(names)
    assert [as_contestant(name).name for name in names] == list(names)


@pytest.mark.parametrize("name", ["rpso", "cma-es-worst-of-12", "random"])
def test_a_budget_of_its_own_changes_the_name_and_not_the_identity(name):
    plain, own = as_contestant(name), as_contestant(f"{name}@5000")
    assert (plain.budget, own.budget) == (None, 5000)
    assert own.name == f"{name}@5000"
    assert own.id == plain.id


def test_heuristics_by_name_file_and_object_are_the_same(tmp_path):
    mine = rf.heuristic("rpso+dd")
    mine.save(tmp_path / "best.json")
    given = ["rpso+dd", str(tmp_path / "best.json"), tmp_path / "best.json", mine]
    found = [as_contestant(each) for each in given]
    assert [each.name for each in found] == ["rpso+dd", "best", "best", mine.id]
    assert {each.id for each in found} == {mine.id}
    assert as_contestant(f"{tmp_path / 'best.json'}@99").name == "best@99"
    assert isinstance(found[0], Contestant)
    assert as_contestant(found[0]) is found[0]


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ("rpsodd", UnknownNameError, "'rpso"),
        ("cma-es-worst-of-0", UnknownNameError, "'cma-es-worst-of-4'"),
        ("rpso@1", ProblemError, "at least 3"),
        ("@500", UnknownNameError, "'@500'"),
        (Path("no/such.json"), RobustforgeError, "such.json"),
        (None, AssessmentError, "got None"),
        (7, AssessmentError, "Pass a name"),
        ("random@" + "9" * 5001, UnknownNameError, "unknown contestant 'random@999"),
    ],
)
def test_invalid_contestants_are_refused_with_the_reason(given, kind, words):
    with pytest.raises(kind) as caught:
        as_contestant(given)
    assert words in str(caught.value)


def test_cma_es_in_one_variable_works_or_is_refused():
    contestant, problem = as_contestant("cma-es"), rf.problem("sphere", 1)
    with contextlib.suppress(RobustforgeError):
        assert all(abs(contestant.run(problem, 100, seed, CHECKPOINTS).x[0] - 20.0) < 1.0 for seed in range(4))
