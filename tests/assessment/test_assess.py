"""`assess`: the same rows on every backend, no run repeated, isolated failures, invalid input refused."""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

import robustforge as rf
from robustforge.contestants import as_contestant
from robustforge.core.random import stream
from robustforge.errors import (
    AssessmentError,
    ExecutionError,
    ProblemError,
    RobustforgeError,
    StoreError,
    UnknownNameError,
)
from robustforge.store import CHECKPOINTS, Store
from robustforge.verification.neighbourhood import Neighbourhood
from robustforge.verification.sampling import sample_offsets

SMALL = {"runs": 4, "samples": 300, "budget": 150, "seed": 3}
PLAIN = {**SMALL, "attack": False}
WHO = ["rpso+dd", "random"]


def both():
    return [rf.problem("sphere", 3), rf.problem("rastrigin", 3)]


def bare(runs):
    """Runs but for their timings, as text: NaN is not equal to itself."""
    return [repr(replace(run, seconds=0.0)) for run in runs]


def stored(path):
    with Store.read(path) as store:
        return store.assessed_runs()


def python_bowl(x):
    return float(((x - 1.0) ** 2).sum())


def bowl(fun=python_bowl):
    return rf.Problem(fun, [(-5.0, 5.0)] * 3, rf.Ball(0.5), name="bowl")


class Steps:
    """Draws a few points at a time, and has a design after the second batch."""

    started: ClassVar[list] = []

    def __init__(self, problem, budget, seed):
        type(self).started.append(seed)
        self.rng, self.problem, self.batches = np.random.default_rng(seed), problem, 0

    def ask(self):
        return self.rng.uniform(self.problem.lower, self.problem.upper, (20, self.problem.dimension))

    def tell(self, values):
        self.batches += 1

    @property
    def design(self):
        return np.full(self.problem.dimension, 1.0 / self.batches) if self.batches >= 2 else None


@pytest.fixture
def alone():
    """One worker in this process, so that what runs can be counted."""
    Steps.started = []
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "reference.db"
    return path, rf.assess(WHO, both(), store=path, workers=1, **SMALL)


def test_the_result(reference):
    path, found = reference
    assert found.new_runs == len(found.runs) == 2 * 2 * 4
    assert repr(found) == "<Assessment: 16 runs, 16 new, 0 failed>"
    assert [run.name for run in found.runs[:8]] == ["rpso+dd"] * 4 + ["random"] * 4
    assert {run.problem_name for run in found.runs[:8]} == {"sphere-3d"}
    for run in found.runs:
        assert run.failure == ""
        assert (run.budget, run.samples, run.attack) == (150, 300, True)
        assert run.nfev <= 150
        assert len(run.x) == 3
        assert len(run.curve) == len(CHECKPOINTS)
        assert run.attacked >= max(run.value, run.nominal)
    assert sorted(bare(stored(path))) == sorted(bare(found.runs))
    assert [row["contestant"] for row in found.comparison().ranks] == WHO


def test_the_nominal_value_is_below_the_worst_case(reference):
    spheres = [run for run in reference[1].runs if run.problem_name == "sphere-3d"]
    assert all(run.nominal < run.value for run in spheres)  # where it is convex


def test_repeats_have_different_seeds_and_contestants_the_same(reference):
    seeds = {}
    for run in reference[1].runs:
        seeds.setdefault(run.repeat, set()).add(run.seed)
    assert [len(found) for found in seeds.values()] == [1] * 4
    assert len(set.union(*seeds.values())) == 4
    other = rf.assess("centre", both()[0], **{**PLAIN, "seed": 4})
    assert {run.seed for run in other.runs}.isdisjoint(set.union(*seeds.values()))


def test_a_run_is_reproducible_from_its_seed(reference):
    for run in reference[1].runs:
        if run.name == "rpso+dd":
            problem = next(each for each in both() if each.name == run.problem_name)
            again = rf.minimize(problem, heuristic="rpso+dd", budget=150, rng=run.seed)
            assert tuple(again.x) == run.x
            assert (again.nfev, again.nominal_fun) == (run.nfev, run.nominal)


def test_the_value_is_the_worst_of_the_samples(reference):
    run = reference[1].runs[0]
    more = rf.verify(both()[0], run.x, 20_000, rng=1)
    assert run.value <= more.attacked.fun * (1 + 1e-9)
    # an estimate of the same thing, mostly from below: with 20 other seeds, 0.89 of it at least
    assert run.value == pytest.approx(more.sampled.fun, rel=0.25)
    assert run.attacked == pytest.approx(more.attacked.fun, rel=1e-6)


def test_the_anytime_curve_ends_at_the_design(reference):
    for run in reference[1].runs:
        problem = next(each for each in both() if each.name == run.problem_name)
        offsets = sample_offsets(problem, 3, stream(np.random.SeedSequence(run.seed, spawn_key=(1,))))
        worst = Neighbourhood(problem, np.array(run.x)).worst_at(offsets, "raise")
        assert run.curve[-1] == pytest.approx(worst, rel=1e-12)


def test_the_anytime_curve_starts_with_the_first_design(alone):
    found = rf.assess(rf.AskTell("steps", Steps), bowl(), executor=alone, **{**PLAIN, "budget": 200})
    for run in found.runs:
        assert np.isnan(run.curve).tolist() == [True] * 2 + [False] * 9  # 10 and 20 evaluations of 40
        assert (np.diff(run.curve[2:]) >= 0).all()  # from 1/2 towards 0, away from the optimum
        assert run.curve[2] < run.curve[-1]
        assert run.nfev == 200


def test_the_rows_do_not_depend_on_the_backend(reference, tmp_path):
    threads = rf.assess(WHO, both(), store=tmp_path / "threads.db", workers=2, **SMALL)
    assert bare(threads.runs) == bare(reference[1].runs)
    assert bare(stored(tmp_path / "threads.db")) == bare(stored(reference[0]))


def test_the_rows_are_the_same_in_processes(alone):
    contestants = ["rpso", "cma-es", rf.AskTell("steps", Steps)]
    few = {**PLAIN, "runs": 2}
    processes = rf.assess(contestants, both()[0], workers=1, time_limit=60.0, **few)
    assert Steps.started == []
    assert bare(processes.runs) == bare(rf.assess(contestants, both()[0], executor=alone, **few).runs)


def test_stored_runs_are_not_repeated(alone, tmp_path):
    given = {"store": tmp_path / "s.db", "executor": alone, **PLAIN}
    contestants = rf.AskTell("steps", Steps)
    first = rf.assess(contestants, both()[0], **{**given, "runs": 2})
    assert len(Steps.started) == 2
    more = rf.assess(contestants, both(), **given)
    assert more.new_runs == 6
    assert len(Steps.started) == 2 + 1 + 6  # one of the stored is checked, as it is the user's
    assert bare(more.runs[:2]) == bare(first.runs)
    assert rf.assess(contestants, both(), **{**given, "runs": 3}).new_runs == 0
    assert rf.assess(contestants, both(), **{**given, "samples": 301, "runs": 1}).new_runs == 2
    assert rf.assess(contestants, both(), **{**given, "attack": True, "runs": 1}).new_runs == 2


def test_a_run_with_an_attack_replaces_one_without(reference, tmp_path, monkeypatch):
    monkeypatch.setattr("robustforge.assessment.runner.run_tasks", None)
    path = tmp_path / "s.db"
    path.write_bytes(reference[0].read_bytes())
    again = rf.assess(WHO, both(), store=path, **{**SMALL, "attack": False})
    assert again.new_runs == 0
    assert [run.value for run in again.runs] == [run.value for run in reference[1].runs]


def test_compare_reuses_the_runs_of_assess(reference, tmp_path, monkeypatch):
    monkeypatch.setattr("robustforge.assessment.runner.run_tasks", None)  # whoever runs anything falls over it
    path = tmp_path / "s.db"
    path.write_bytes(reference[0].read_bytes())
    compared = rf.compare(WHO, both(), store=path, **SMALL)
    assert compared == reference[1].comparison()
    again = rf.assess(WHO[::-1], both()[::-1], store=path, **SMALL)  # in any order
    assert again.new_runs == 0
    assert path.read_bytes() == reference[0].read_bytes()


def test_an_interrupted_assessment_resumes(reference, tmp_path):
    def stop(progress):
        if progress.new_runs >= 5:
            raise RuntimeError("enough")

    path = tmp_path / "s.db"
    with pytest.raises(RuntimeError, match="enough"):
        rf.assess(WHO, both(), store=path, on_progress=stop, workers=1, **SMALL)
    kept = stored(path)
    assert 5 <= len(kept) < 16
    seen = []
    found = rf.assess(
        WHO, both(), store=path, on_progress=lambda at: seen.append((at.stored_runs, at.new_runs, at.total)), **SMALL
    )
    assert found.new_runs == 16 - len(kept)
    assert seen[-1] == (len(kept), 16 - len(kept), 16)
    assert bare(stored(path)) == bare(stored(reference[0]))
    timed = {run.key: run.seconds for run in stored(path)}
    assert all(timed[run.key] == run.seconds for run in kept)  # the very same, not made again


def test_a_renamed_file_keeps_its_runs(tmp_path):
    path = tmp_path / "s.db"
    rf.heuristic("rpso").save(tmp_path / "mine.json")
    rf.assess(tmp_path / "mine.json", both()[0], store=path, **PLAIN)
    os.rename(tmp_path / "mine.json", tmp_path / "best.json")
    found = rf.assess(tmp_path / "best.json", both()[0], store=path, **PLAIN)
    assert found.new_runs == 0
    assert [row["contestant"] for row in found.summaries()] == ["best"]
    assert {run.name for run in stored(path)} == {"best"}


def test_a_changed_objective_is_refused(alone, tmp_path):
    given = {"store": tmp_path / "s.db", "executor": alone, **PLAIN}
    rf.assess("rpso", bowl(), **given)
    assert rf.assess("rpso", bowl(lambda x: python_bowl(x)), **given).new_runs == 0
    before = bare(stored(tmp_path / "s.db"))
    with pytest.raises(StoreError, match=r"a run of 'rpso' on 'bowl' gave .* use another store"):
        rf.assess(["random", "rpso"], bowl(lambda x: python_bowl(x) + 1e-6), **given)
    assert bare(stored(tmp_path / "s.db")) == before


def test_a_changed_optimiser_is_refused(alone, tmp_path):
    class Other(Steps):
        @property
        def design(self):
            return np.zeros(3)

    given = {"store": tmp_path / "s.db", "executor": alone, **PLAIN}
    rf.assess(rf.AskTell("steps", Steps), bowl(), **given)
    with pytest.raises(StoreError, match="changed the objective or the optimiser"):
        rf.assess(rf.AskTell("steps", Other), bowl(), **given)


def test_an_objective_that_now_raises_is_refused(alone, tmp_path):
    def broken(x):
        raise NameError("mesh")

    given = {"store": tmp_path / "s.db", "executor": alone, **PLAIN}
    rf.assess("rpso", bowl(), **given)
    with pytest.raises(StoreError):
        rf.assess("rpso", bowl(broken), **given)


def test_failed_runs_are_repeated_after_the_objective_was_fixed(alone, tmp_path):
    def broken(x):
        raise NameError("mesh")

    given = {"store": tmp_path / "s.db", "executor": alone, **PLAIN}
    with contextlib.suppress(RobustforgeError):  # as `evolve` raises, which then stores nothing
        rf.assess("rpso", bowl(broken), **given)
    assert all(run.failure == "" for run in rf.assess("rpso", bowl(), **given).runs)


def test_a_budget_of_its_own():
    found = rf.assess(["rpso@200", "random"], both()[0], **PLAIN)
    assert [row["contestant"] for row in found.summaries()] == ["rpso@200", "random"]
    assert [row["budget"] for row in found.summaries()] == [200, 150]
    assert all(run.nfev <= run.budget for run in found.runs)
    assert {run.nfev for run in found.runs if run.name == "random"} == {150}


def test_one_heuristic_with_and_without_a_budget_of_its_own():
    table = rf.assess(["rpso", "rpso@80"], both()[0], **PLAIN).summaries()
    assert [(row["contestant"], row["budget"], row["runs"]) for row in table] == [("rpso", 150, 4), ("rpso@80", 80, 4)]


def test_the_same_contestant_under_two_names_is_refused(alone):
    try:
        found = rf.assess(["rpso", rf.heuristic("rpso")], both()[0], **PLAIN)
    except AssessmentError:
        return  # to refuse it would do, too
    assert all(row["runs"] == 4 for row in found.summaries())


class Broken(Steps):
    def tell(self, values):
        raise ValueError("the licence has expired")


class Undecided(Steps):
    design = None


class Greedy(Steps):
    """Asks for more than there is, and never looks at what it got."""

    design = np.ones(3)

    def ask(self):
        return np.zeros((1000, 3))

    def tell(self, values):
        raise AssertionError("this exceeds the budget")


class Astray(Steps):
    design = np.array([math.nan, 0.0, 0.0])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Broken, "ValueError: the licence has expired"),
        (Undecided, "has no design after 140 of 150 evaluations"),
        (Astray, "a design must be 3 finite numbers"),
    ],
)
def test_an_optimiser_that_does_not_work_is_a_failure_with_its_reason(alone, kind, words):
    found = rf.assess([rf.AskTell("theirs", kind), "centre"], both()[0], executor=alone, **PLAIN)
    failed = [run for run in found.runs if run.failure]
    assert {run.name for run in failed} == {"theirs"}
    assert len(failed) == 4
    assert all(words in run.failure and math.isnan(run.value) for run in failed)
    assert [row["failures"] for row in found.summaries()] == [4, 0]


def test_an_unpicklable_optimiser_is_refused():
    held = threading.Lock()
    contestants = rf.AskTell("locked", lambda problem, budget, seed: (held, Steps(problem, budget, seed))[1])
    with pytest.raises(ExecutionError, match="picklable"):
        rf.assess(contestants, both()[0], workers=1, **PLAIN)


def test_an_optimiser_with_the_name_of_a_control_is_distinct(alone, tmp_path):
    given = {"store": tmp_path / "s.db", "executor": alone, **PLAIN}
    with contextlib.suppress(RobustforgeError):  # to refuse the name would do, too
        rf.assess(rf.AskTell("random", Greedy), both()[0], **given)
    found = rf.assess("random", both()[0], **given)
    assert bare(found.runs) == bare(rf.assess("random", both()[0], **PLAIN).runs)


def test_a_batch_beyond_the_budget_is_not_evaluated(alone):
    found = rf.assess(rf.AskTell("greedy", Greedy), bowl(), executor=alone, **PLAIN)
    assert all(run.failure == "" and run.nfev == 0 for run in found.runs)


def test_a_design_outside_the_box_is_clipped(alone):
    class Far(Greedy):
        design = np.array([100.0, -100.0, 0.0])

    found = rf.assess(rf.AskTell("far", Far), bowl(), executor=alone, **PLAIN)
    assert {run.x for run in found.runs} == {(5.0, -5.0, 0.0)}


def test_nan_from_an_objective_is_a_failure(alone):
    found = rf.assess(["random", "rpso"], bowl(lambda x: math.nan), executor=alone, **PLAIN)
    assert all("NaN" in run.failure for run in found.runs)


@pytest.mark.parametrize("name", ["random", "cma-es"])
def test_controls_stay_in_the_shrunken_box(alone, name):
    slope = rf.Problem(lambda x: float(x.sum()), [(-1, 1)] * 3, rf.Ball(0.3), out_of_bounds="shrink", name="slope")
    assert all(run.failure == "" for run in rf.assess(name, slope, executor=alone, **PLAIN).runs)


def fatal(x):
    """Ends its process at designs that one of the four random searches meets."""
    if x[0] > 4.98:
        os._exit(3)
    return python_bowl(x)


def test_a_run_that_kills_its_process_fails_alone(alone, tmp_path):
    calm = rf.assess("random", bowl(), executor=alone, **PLAIN)
    points = [np.random.default_rng(run.seed).uniform(-5, 5, (150, 3)) for run in calm.runs]
    met = [bool((each[:, 0] > 4.98).any()) for each in points]
    assert sum(met) == 1
    found = rf.assess("random", bowl(fatal), store=tmp_path / "s.db", workers=1, **PLAIN)
    assert [bool(run.failure) for run in found.runs] == met
    assert all("exit code 3" in run.failure for run in found.runs if run.failure)
    fine = [k for k, dead in enumerate(met) if not dead]
    assert bare(found.runs[k] for k in fine) == bare(calm.runs[k] for k in fine)
    assert bare(stored(tmp_path / "s.db")) == bare(found.runs)


@pytest.mark.parametrize(
    ("contestants", "options", "words"),
    [
        ("rpsoo", {}, "did you mean 'rpso'"),
        ("rpso@", {}, "unknown contestant 'rpso@'"),
        ("rpso@2", {}, "at least 3"),
        ("none.json", {}, "none.json"),
        ([], {}, "got none"),
        (["rpso", "rpso"], {}, "'rpso' occurs twice"),
        (["rpso", 3], {}, "got 3"),
        ("rpso", {"runs": 0}, "runs must be an integer from 1"),
        ("rpso", {"runs": 2.5}, "got 2.5"),
        ("rpso", {"runs": True}, "got True"),
        ("rpso", {"samples": 0}, "samples must be"),
        ("rpso", {"samples": 10**10}, "1,000,000,000"),
        ("rpso", {"seed": -1}, "seed must be"),
        ("rpso", {"budget": 2}, "at least 3"),
        ("rpso", {"workers": 0}, "at least 1"),
        ("rpso", {"time_limit": -1}, "positive number of seconds"),
        ("rpso", {"executor": 3}, "concurrent.futures"),
        ("rpso", {"store": "no/such/folder.db"}, "folder"),
    ],
)
def test_invalid_calls_are_refused_with_the_reason_and_create_no_files(
    tmp_path, monkeypatch, contestants, options, words
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RobustforgeError) as caught:
        rf.assess(contestants, both()[0], **{"store": "s.db", **PLAIN, **options})
    assert words in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_invalid_problems_are_refused_with_the_reason():
    with pytest.raises(ProblemError, match="got 'sphere'"):
        rf.assess("rpso", "sphere")
    with pytest.raises(ProblemError, match="twice"):
        rf.assess("rpso", [both()[0], both()[0]])
    with pytest.raises(UnknownNameError, match="robustforge heuristics"):
        as_contestant("unknown")


def test_an_invalid_contestant_is_refused():
    with pytest.raises(AssessmentError, match="got 3"):
        rf.assess(3, both()[0])


def test_an_own_problem_with_the_name_of_a_test_problem_is_distinct(tmp_path):
    ours = rf.problem("sphere", 3)
    bounds = list(zip(ours.lower.tolist(), ours.upper.tolist(), strict=True))
    yours = rf.Problem(lambda x: 1000.0, bounds, rf.Ball(1.0), name=ours.name)
    assert yours.to_dict() == ours.to_dict()
    few = {"runs": 2, "samples": 50, "budget": 50, "attack": False, "store": tmp_path / "s.db"}
    with ThreadPoolExecutor(1) as alone:
        rf.assess("centre", yours, executor=alone, **few)
        found = rf.assess("centre", ours, executor=alone, **few)
    assert found.new_runs == 2
    assert all(run.value < 900 for run in found.runs)


def test_a_vectorized_objective_is_called_for_many_points_at_once(alone):
    calls = []

    def columns(xs):
        calls.append(xs.shape[1])
        return ((xs - 1.0) ** 2).sum(axis=0)

    problem = rf.Problem(columns, [(-5.0, 5.0)] * 3, rf.Ball(0.5), name="bowl", vectorized=True)
    options = {**SMALL, "executor": alone}
    found = rf.assess(["rpso+dd", "random", rf.AskTell("steps", Steps)], problem, **options)
    plain = rf.assess(["rpso+dd", "random", rf.AskTell("steps", Steps)], bowl(), **options)
    assert [run.value for run in found.runs] == [run.value for run in plain.runs]
    assert not any(run.failure for run in found.runs)
    assert len(calls) < sum(calls) / 10


@pytest.mark.parametrize(("name", "is_refused"), [("cma-es", False), ("rpso", True)])
def test_stored_runs_that_differ_in_the_last_bit(tmp_path, name, is_refused):
    """As on another CPU: pycma's runs differ there, and are not repeated as a check; ours must be the same."""
    mine = rf.Problem(lambda x: float(np.sum(x * x)), [(-2.0, 3.0)] * 2, rf.Ball(0.3), name="mine")
    options = {"samples": 50, "budget": 40, "attack": False, "store": tmp_path / "s.db", "workers": 1}
    rf.assess(name, mine, runs=1, **options)
    with contextlib.closing(sqlite3.connect(tmp_path / "s.db")) as connection, connection:
        connection.execute("UPDATE assessed SET value = value * (1 + 3e-16)")
    with pytest.raises(StoreError, match="must be reproducible") if is_refused else contextlib.nullcontext():
        assert len(rf.assess(name, mine, runs=2, **options).runs) == 2
