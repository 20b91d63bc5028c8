"""`evolve`: the same rows on every backend, every run stored, isolated failures, invalid input refused."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numba import njit

import robustforge as rf
from robustforge.errors import (
    EvolutionError,
    ExecutionError,
    ObjectiveError,
    ProblemError,
    RobustforgeError,
    StoreError,
    StoreFullError,
)
from robustforge.evolution.api import make_settings
from robustforge.evolution.operators import crossover, mutate
from robustforge.evolution.settings import Settings, from_stored
from robustforge.evolution.trial import make_trial, run_trials
from robustforge.execution import SupervisedPool
from robustforge.store import FINAL, Store

SMALL = {
    "population": 6,
    "generations": 3,
    "repeats": 3,
    "budget": 200,
    "samples": 200,
    "final_repeats": 5,
    "seed": 3,
    "grammar": "paper",
}
RUNS = 6 * 3 * 3 + 5 * 5


def sphere():
    return rf.problem("sphere", 5)


def python_bowl(x):
    return float(((x - 1.0) ** 2).sum())


def bowl(fun=python_bowl):
    return rf.Problem(fun, [(-5.0, 5.0)] * 3, rf.Ball(0.5), name="bowl")


def rows(path):
    """All rows of a store but the timings."""
    with Store.read(path) as store:
        found = []
        for experiment in store.experiments():
            kept = replace(experiment, started="", ended="")
            runs = [repr(replace(run, seconds=0.0)) for run in store.runs(experiment)]
            members = store.members(experiment)
            found.append((kept, runs, members, [store.heuristic(id) for ids in members.values() for id in ids]))
        return found


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "reference.db"
    evolution = rf.evolve(sphere(), store=path, workers=1, **SMALL)
    return path, evolution


def test_the_result(reference):
    path, evolution = reference
    assert evolution.finished
    assert len(evolution.generations) == 3
    assert len(evolution.population) == 6
    assert evolution.final.population[0] == evolution.champion
    assert set(evolution.final.population) == set(evolution.population[:5])
    assert evolution.progress.new_runs == RUNS
    assert list(evolution.champion_means) == ["sphere-5d"]
    for generation in evolution.generations:
        assert (np.diff(generation.means[:, 0]) >= 0).all()  # best first
        assert (generation.repeats == 3).all()
    with Store.read(path) as store:
        experiment = store.experiment("sphere-5d")
        assert experiment.champion == evolution.champion.id
        assert experiment.grammar["fingerprint"] == rf.grammar("paper").fingerprint
        assert len(store.runs(experiment)) == RUNS


def test_every_stored_run_is_reproducible(reference):
    path, _ = reference
    with Store.read(path) as store:
        run = store.runs(store.experiment("sphere-5d"))[40]
        heuristic = store.heuristic(run.heuristic)
    found = rf.minimize(sphere(), heuristic=heuristic, budget=200, rng=run.seed)
    assert (found.estimate, found.nfev, found.work) == (run.estimate, run.nfev, run.work)
    settings = rf.evolution.Settings(**{key: value for key, value in SMALL.items() if key != "grammar"})
    again = run_trials(
        sphere(), settings, [make_trial(settings, heuristic, run.heuristic, run.generation, run.problem, run.repeat)]
    )
    assert again[0].value == run.value
    check = rf.verify(sphere(), found.x, samples=5000, rng=1, attack=False)
    assert run.value == pytest.approx(check.sampled.fun, rel=0.2)  # an estimate of the same thing


def test_all_heuristics_of_a_generation_have_the_same_seeds(reference):
    path, _ = reference
    with Store.read(path) as store:
        runs = store.runs(store.experiment("sphere-5d"))
    seeds = {}
    for run in runs:
        seeds.setdefault((run.generation, run.problem, run.repeat), set()).add(run.seed)
    assert all(len(found) == 1 for found in seeds.values())
    assert len({next(iter(found)) for found in seeds.values()}) == len(seeds) == 3 * 3 + 5


def test_elites_are_run_again_in_each_generation(reference):
    path, evolution = reference
    elite = evolution.generations[0].population[0]
    assert elite in evolution.generations[1].population
    with Store.read(path) as store:
        runs = [run for run in store.runs(store.experiment("sphere-5d")) if run.heuristic == elite.id]
    assert {run.generation for run in runs} >= {0, 1}


@pytest.mark.parametrize("kind", ["threads", "processes", "an executor"])
def test_the_rows_do_not_depend_on_the_backend(reference, tmp_path, kind):
    path = tmp_path / "other.db"
    if kind == "threads":
        rf.evolve(sphere(), store=path, workers=2, **SMALL)
    elif kind == "processes":
        with SupervisedPool(2) as pool:
            rf.evolve(sphere(), store=path, executor=pool, **SMALL)
    else:
        with ThreadPoolExecutor(3) as pool:
            rf.evolve(sphere(), store=path, executor=pool, **SMALL)
    assert rows(path) == rows(reference[0])


def test_the_result_does_not_depend_on_the_name_or_the_store(reference):
    evolution = rf.evolve(sphere(), name="another", **SMALL)
    assert evolution.champion == reference[1].champion
    assert evolution.population == reference[1].population


def test_the_seed_decides_the_result():
    other = rf.evolve(sphere(), **{**SMALL, "seed": 4, "generations": 1})
    assert other.population != rf.evolve(sphere(), **{**SMALL, "generations": 1}).population


def test_a_finished_evolution_makes_no_runs(reference):
    path, evolution = reference
    before = rows(path)
    again = rf.evolve(sphere(), store=path, **SMALL)
    assert again.progress.new_runs == 0
    assert again.champion == evolution.champion
    assert rows(path) == before


def test_a_stopped_evolution_resumes(reference, tmp_path):
    path = tmp_path / "stopped.db"

    def stop(evolution):
        raise StopIteration

    stopped = rf.evolve(sphere(), store=path, callback=stop, **SMALL)
    assert not stopped.finished
    assert stopped.champion == stopped.population[0]
    calls = []
    rf.evolve(sphere(), store=path, callback=lambda evolution: calls.append(evolution.generations[-1].number), **SMALL)
    assert calls == [0, 1, 2]
    assert rows(path) == rows(reference[0])


def test_two_evolutions_in_one_store(reference, tmp_path):
    path = tmp_path / "two.db"
    rf.evolve(sphere(), store=path, name="first", **SMALL)
    rf.evolve(sphere(), store=path, name="second", **{**SMALL, "seed": 9})
    rf.evolve(sphere(), store=path, name="first", **SMALL)
    with Store.read(path) as store:
        assert [experiment.name for experiment in store.experiments()] == ["first", "second"]
        first = store.runs(store.experiment("first"))
    with Store.read(reference[0]) as store:
        expected = store.runs(store.experiment("sphere-5d"))
    assert [run.value for run in first] == [run.value for run in expected]


def test_several_problems_are_ranked_together():
    problems = [rf.problem(name, 4) for name in ("sphere", "rastrigin", "ackley")]
    evolution = rf.evolve(problems, **SMALL)
    assert evolution.name == "sphere-4d-and-2-more"
    assert evolution.generations[0].means.shape == (6, 3)
    first = evolution.fitness(evolution.generations[0])
    assert np.median(first) >= first.min()
    assert list(evolution.champion_means) == ["sphere-4d", "rastrigin-4d", "ackley-4d"]


def test_a_race_saves_runs_and_ranks_eliminated_heuristics_last():
    settings = {**SMALL, "population": 20, "repeats": 12, "finalists": 2, "race_level": 0.05}
    evolution = rf.evolve(sphere(), **settings)
    whole = evolution.settings.max_runs(1)
    assert evolution.progress.new_runs < 0.9 * whole
    assert evolution.progress.new_runs == evolution.progress.max_runs
    for generation in evolution.generations:
        assert (np.diff(generation.repeats) <= 0).all()
        assert generation.repeats[:2].tolist() == [12, 12]
    assert rf.evolve(sphere(), workers=1, **settings).champion == evolution.champion


def test_a_python_objective_runs_in_processes(tmp_path):
    evolution = rf.evolve(bowl(), store=tmp_path / "p.db", **{**SMALL, "generations": 1})
    assert evolution.failures == 0
    with ThreadPoolExecutor(1) as pool:
        same = rf.evolve(bowl(), executor=pool, **{**SMALL, "generations": 1})
    assert evolution.champion == same.champion
    assert (evolution.final.means == same.final.means).all()


def test_an_objective_that_raises_is_a_failure_with_its_reason(tmp_path):
    def picky(x):
        if x[0] > 4.5:
            raise ValueError("the mesh is broken")
        return float(x @ x)

    with ThreadPoolExecutor(1) as pool:
        evolution = rf.evolve(bowl(picky), store=tmp_path / "f.db", executor=pool, **SMALL)
    assert evolution.failures > 0
    with Store.read(tmp_path / "f.db") as store:
        runs = store.runs(store.experiment("bowl"))
    failed = [run for run in runs if run.failure]
    assert len(failed) == evolution.failures
    assert all("the mesh is broken" in run.failure for run in failed)
    with ThreadPoolExecutor(1) as pool:
        lenient = rf.evolve(bowl(picky), executor=pool, **SMALL, on_failure="infeasible")
    assert lenient.failures == 0


def test_a_heuristic_that_fails_is_ranked_last():
    calls = []

    def once(x):
        calls.append(1)
        return float("nan") if len(calls) < 100 else float(x @ x)

    with ThreadPoolExecutor(1) as pool:
        evolution = rf.evolve(bowl(once), executor=pool, **{**SMALL, "generations": 1})
    means = evolution.generations[0].means[:, 0]
    assert np.isinf(means[-1])
    assert np.isfinite(means[0])


def crashing(x):
    """Ends its process at some designs, hangs at others: what a model does on a bad day."""
    if 4.8 < x[0] < 4.84:
        os._exit(3)
    return float(((x - 1.0) ** 2).sum())


def hanging(x):
    while 4.8 < x[0] < 4.84:
        time.sleep(0.1)
    return float(((x - 1.0) ** 2).sum())


def leaking(x):
    if 4.8 < x[0] < 4.84:
        held = [bytearray(10**8)]
        while True:
            held.append(bytearray(10**8))
    return float(((x - 1.0) ** 2).sum())


TINY = {**SMALL, "population": 4, "generations": 1, "repeats": 2, "final_repeats": 2, "samples": 50, "elites": 1}


@pytest.mark.parametrize(
    ("objective", "options", "reason"),
    [
        (crashing, {}, "exit code 3"),
        (hanging, {"time_limit": 2.0}, "longer than 2 s"),
    ],
)
def test_a_run_that_kills_its_process_fails_alone(tmp_path, objective, options, reason):
    path = tmp_path / "c.db"
    evolution = rf.evolve(bowl(objective), store=path, **{**TINY, **options})
    assert evolution.finished
    with Store.read(path) as store:
        runs = store.runs(store.experiment("bowl"))
    failed = [run for run in runs if run.failure]
    assert 0 < len(failed) < len(runs)
    assert all(reason in run.failure for run in failed)
    assert len(runs) == 4 * 2 + 4 * 2
    calm = {run.key: run.value for run in runs if not run.failure}
    with SupervisedPool(1) as pool:  # the others are as if nothing had happened
        rf.evolve(bowl(), store=tmp_path / "d.db", executor=pool, **TINY)
    with Store.read(tmp_path / "d.db") as store:
        undisturbed = {run.key: run.value for run in store.runs(store.experiment("bowl")) if run.generation != FINAL}
    assert all(undisturbed[key] == value for key, value in calm.items() if key in undisturbed)
    again = rf.evolve(bowl(objective), store=path, **{**TINY, **options})  # a failure is kept
    assert again.progress.new_runs == 0


@pytest.mark.long
def test_a_run_that_leaks_memory_fails_alone(tmp_path):
    with SupervisedPool(2, memory_limit=1500 * 2**20) as pool:
        evolution = rf.evolve(bowl(leaking), store=tmp_path / "l.db", executor=pool, **TINY)
    assert evolution.finished
    with Store.read(tmp_path / "l.db") as store:
        runs = store.runs(store.experiment("bowl"))
    failed = [run.failure for run in runs if run.failure]
    assert 0 < len(failed) < len(runs)
    assert all("1500 MB" in failure or "memory" in failure for failure in failed)


def test_other_settings_under_the_same_name_are_refused(reference):
    path, _ = reference
    before = path.read_bytes()
    with pytest.raises(StoreError, match="population is 6 in the store, 7 now"):
        rf.evolve(sphere(), store=path, **{**SMALL, "population": 7})
    with pytest.raises(StoreError, match="grammar is"):
        rf.evolve(sphere(), store=path, **{**SMALL, "grammar": "extended"})
    with pytest.raises(StoreError, match="problems is"):
        rf.evolve(rf.problem("sphere", 6), store=path, name="sphere-5d", **SMALL)
    assert path.read_bytes() == before


def written_by_another_version(reference, path):
    """A copy of the finished store as another version left it after two generations."""
    path.write_bytes(reference[0].read_bytes())
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE experiment SET settings = json_set(settings, '$.version', '0.0.9'), ended = NULL")
        connection.execute("DELETE FROM run WHERE generation NOT IN (0, 1)")
        connection.execute("DELETE FROM member WHERE generation NOT IN (0, 1)")
    return path


def test_an_evolution_resumes_with_another_version_of_the_package(reference, tmp_path):
    path = written_by_another_version(reference, tmp_path / "old.db")
    evolution = rf.evolve(sphere(), store=path, **SMALL)
    assert evolution.progress.stored_runs > 0
    assert evolution.champion == reference[1].champion
    assert rows(path)[0][1:] == rows(reference[0])[0][1:]


def test_a_version_with_other_values_cannot_resume(reference, tmp_path):
    path = written_by_another_version(reference, tmp_path / "old.db")
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE run SET value = value * 1.5")
    before = rows(path)
    with pytest.raises(StoreError, match="or the package was changed, start again"):
        rf.evolve(sphere(), store=path, **SMALL)
    assert rows(path) == before


def test_an_evolution_resumes_after_the_disk_was_full(reference, tmp_path, monkeypatch):
    path = tmp_path / "full.db"
    whole = Store.add_runs

    def limited(self, experiment, runs):
        if self._connection.execute("PRAGMA page_count").fetchone()[0] >= 14:  # 12 are there from the start
            self._connection.execute("PRAGMA max_page_count = 1")  # SQLite takes it for: no more than there are
        return whole(self, experiment, runs)

    monkeypatch.setattr(Store, "add_runs", limited)
    with pytest.raises(StoreFullError, match="free disk space"):
        rf.evolve(sphere(), store=path, **SMALL)
    monkeypatch.setattr(Store, "add_runs", whole)
    with Store.read(path) as store:
        kept = store.count_runs(store.experiment("sphere-5d"))[0]
    assert 0 < kept < RUNS
    assert rf.evolve(sphere(), store=path, **SMALL).progress.new_runs == RUNS - kept
    assert rows(path) == rows(reference[0])


def broken(x):
    raise NameError("name 'mesh' is not defined")


def test_an_objective_that_always_fails_is_reported_and_nothing_is_stored(tmp_path):
    with ThreadPoolExecutor(2) as pool, pytest.raises(ObjectiveError, match="'mesh' is not defined"):
        rf.evolve(bowl(broken), store=tmp_path / "s.db", executor=pool, **{**SMALL, "repeats": 10})
    assert os.listdir(tmp_path) == []
    with ThreadPoolExecutor(2) as pool, pytest.raises(ObjectiveError, match="first 18 runs"):
        rf.evolve(bowl(broken), store=tmp_path / "s.db", executor=pool, **SMALL)  # fewer runs than it takes to be sure


def test_workers_that_cannot_start_are_not_a_failure_of_a_heuristic(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ExecutionError, match="worker processes must be able to start"):
        rf.evolve(bowl(), store=tmp_path / "s.db", **SMALL)
    assert os.listdir(tmp_path) == []


def test_a_time_limit_is_for_the_run_not_for_the_start_of_its_worker():
    evolution = rf.evolve(bowl(), time_limit=0.5, **TINY)  # to load the engine takes longer
    assert evolution.failures == 0


def test_a_refused_call_creates_no_files(tmp_path):
    fix = {"group": 10, "inertia.c1": 1, "inertia.c2": 1, "inertia.omega": 0.5, "extent": 0.1}
    only = {"network": "ring", "mutation": "none", "baseline": "inertia", "movement": "{}", "form": "random sampling"}
    tiny = rf.grammar("paper", only=only, fix=fix)
    with pytest.raises(EvolutionError, match="found only 8"):
        rf.evolve(sphere(), store=tmp_path / "s.db", **{**SMALL, "grammar": tiny, "population": 9})
    held = threading.Lock()
    with pytest.raises(ExecutionError, match="'bowl' is not"):
        rf.evolve(bowl(lambda x: float(held.locked())), store=tmp_path / "s.db", **SMALL)
    with ThreadPoolExecutor(1) as pool, pytest.raises(ExecutionError, match="Leave one of them out"):
        rf.evolve(sphere(), store=tmp_path / "s.db", executor=pool, workers=2, **SMALL)
    assert os.listdir(tmp_path) == []


def test_a_broken_pool_is_reported():
    with ProcessPoolExecutor(1) as pool, pytest.raises(ExecutionError, match="BrokenProcessPool"):
        rf.evolve(bowl(suicidal), executor=pool, **TINY)


def suicidal(x):
    os._exit(1)


@njit
def picky_and_compiled(x):
    if 4.5 < x[0] < 4.6:
        raise ValueError("off")
    return (x * x).sum()


@pytest.mark.parametrize("policy", ["infeasible", "unknown"])
def test_a_compiled_objective_that_raises_is_handled_by_the_policy(policy):
    evolution = rf.evolve(bowl(picky_and_compiled), on_failure=policy, **SMALL)
    assert evolution.failures == 0


def test_a_changed_objective_is_detected(tmp_path):
    with ThreadPoolExecutor(1) as pool:
        first = rf.evolve(bowl(), store=tmp_path / "s.db", executor=pool, **TINY)
        again = rf.evolve(bowl(lambda x: python_bowl(x)), store=tmp_path / "s.db", executor=pool, **TINY)
        assert again.champion == first.champion
        assert again.progress.new_runs == 0
        with pytest.raises(StoreError, match="a stored run on 'bowl' gave"):
            rf.evolve(bowl(lambda x: python_bowl(x) + 1e-6), store=tmp_path / "s.db", executor=pool, **TINY)


def leaving(x):
    sys.exit("license expired")


def test_system_exit_in_an_objective_is_a_failure_with_its_message(tmp_path):
    with pytest.raises(ObjectiveError, match="SystemExit: license expired"):
        rf.evolve(bowl(leaving), store=tmp_path / "s.db", **TINY)


def test_output_of_an_objective_is_discarded(capfd):
    rf.evolve(bowl(chatty), **{**TINY, "generations": 1})
    printed = capfd.readouterr()
    assert "here I am" not in printed.out + printed.err


def chatty(x):
    print("here I am")
    return python_bowl(x)


def test_the_repr_of_an_evolution(reference):
    assert repr(reference[1]).startswith(
        "<Evolution 'sphere-5d': finished, 3 of 3 generations, 0 failed runs, champion "
    )


def test_true_is_the_default_race_level():
    assert rf.evolution.Settings(race_level=True).race_level == 0.05


def test_former_names_and_values_of_settings_give_the_same_evolution(tmp_path):
    former = {"first": 80, "start": "rpso", "tournament": 2, "mutation": 0.5, "refinement": 0.5, "race": 0.05}
    former |= {"fresh": True, "margin": 0.2, "tie": 0.1, "criterion": "sizes", "method": "breed"}
    present = {"initial_population": 80, "initial_heuristics": "rpso", "tournament_size": 2, "race_level": 0.05}
    present |= {"mutation_probability": 0.5, "parameter_mutation": 0.5, "resample_instances": True}
    present |= {"goal_margin": 0.2, "tie_threshold": 0.1, "criterion": "regret", "method": "gp"}
    with pytest.warns(DeprecationWarning, match="renamed") as warned:
        one = make_settings(former)
    assert {str(warning.message).split("`")[1] for warning in warned} == {
        *(f"{name}=" for name in list(former)[:9]),
        'criterion="sizes"',
        'method="breed"',
    }
    assert one == make_settings(present)
    with pytest.warns(DeprecationWarning, match="`refinement=` was renamed to `parameter_mutation=`") as warned:
        rf.evolve(sphere(), store=tmp_path / "s.db", refinement=0.5, **SMALL)
    assert warned[0].filename == __file__
    assert rf.evolve(sphere(), store=tmp_path / "s.db", parameter_mutation=0.5, **SMALL).progress.new_runs == 0


def test_stored_settings_keep_the_keys_and_values_of_earlier_versions():
    settings = Settings(initial_population=60, race_level=True, criterion="regret", method="halving")
    stored = settings.to_dict()
    assert (stored["first"], stored["race"], stored["criterion"], stored["method"]) == (60, 0.05, "sizes", "race")
    assert Settings(**from_stored(stored)) == settings
    unchanged = "population generations repeats budget tournament elites mutation samples finalists final_repeats race"
    assert list(Settings().to_dict()) == [*unchanged.split(), "on_failure", "seed"]  # as in the stores of 0.1.0


def test_numpy_integers_are_accepted():
    assert rf.evolution.Settings(population=np.int64(5), seed=np.int32(2)).to_dict()["population"] == 5


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"population": 2, "elites": 2}, "larger than the number of elites"),
        ({"population": 1}, "at least 2"),
        ({"generations": 0}, "at least 1"),
        ({"mutation_probability": 1.5}, "from 0 to 1"),
        ({"race_level": 0.9}, "from 0 to 0.5"),
        ({"populaton": 5}, "Did you mean `population=`"),
        ({"on_failure": "ignore"}, "on_failure"),
        ({"seed": -1}, "at least 0"),
        ({"time_limit": 0}, "positive number of seconds"),
        ({"workers": 0}, "at least 1"),
        ({"grammar": "none"}, "grammar"),
    ],
)
def test_invalid_settings_are_refused_with_the_reason(settings, words, tmp_path):
    with pytest.raises(RobustforgeError, match=words):
        rf.evolve(sphere(), store=tmp_path / "s.db", **settings)


def test_invalid_problems_are_refused_with_the_reason():
    with pytest.raises(ProblemError, match="at least one"):
        rf.evolve([])
    with pytest.raises(ProblemError, match="got 3"):
        rf.evolve(3)
    with pytest.raises(ProblemError, match="got 'sphere'"):
        rf.evolve("sphere")
    with pytest.raises(ExecutionError, match=r"concurrent\.futures"):
        rf.evolve(sphere(), executor=3)
    with pytest.raises(EvolutionError, match="callback"):
        rf.evolve(sphere(), callback=3)
    with pytest.raises(ProblemError, match="twice"):
        rf.evolve([sphere(), sphere()])


def test_the_best_of_a_large_initial_population_become_parents():
    wide = rf.evolve(sphere(), initial_population=20, **SMALL)
    assert [len(generation.population) for generation in wide.generations] == [20, 6, 6]
    assert set(wide.generations[0].population[:2]) <= set(wide.generations[1].population)  # the elites
    assert wide.progress.new_runs == 20 * 3 + 2 * 6 * 3 + 5 * 5
    with pytest.raises(EvolutionError, match="must not be smaller"):
        rf.evolve(sphere(), initial_population=3, **SMALL)


# --- variants, instances, and the other method


def test_resampled_instances_follow_from_the_seed():
    variant = rf.problem("sphere", 4, "shifted", 1)
    one, other = (variant.instance(seed) for seed in (5, 6))
    assert (one.data != other.data).any()
    assert (one.data == variant.instance(5).data).all()
    assert rf.problem("sphere", 4).instance(3).data.size == 0
    own = bowl()
    assert own.instance(3) is own


def test_resampled_instances_are_reproducible(tmp_path):
    problems = [rf.problem("rastrigin", 3, kind, 1) for kind in ("shifted", "shifted-rotated")]
    found = {}
    for resampled in (False, True):
        for workers in (1, 2):
            path = tmp_path / f"{resampled}-{workers}.db"
            rf.evolve(problems, store=path, workers=workers, resample_instances=resampled, criterion="regret", **SMALL)
            found[resampled, workers] = rows(path)
    assert found[True, 1] == found[True, 2]
    assert found[True, 1][0][1] != found[False, 1][0][1]


def test_goals_decide_the_ranking(tmp_path):
    problems = [rf.problem(name, 3) for name in ("sphere", "rastrigin")]
    plain = rf.evolve(problems, **SMALL).generations[0]
    low, high = plain.means.min(axis=0), plain.means.max(axis=0)
    for first in (0, 1):  # all that counts is the problem whose goal is not out of reach, or reached by all
        goals = np.where(np.arange(2) == first, 0.96 * low, 2 * high)
        aimed = rf.evolve(problems, goals=goals, store=tmp_path / f"{first}.db", **SMALL).generations[0]
        assert aimed.population[0] == plain.population[int(plain.means[:, first].argmin())]
    with pytest.raises(RobustforgeError, match="got 3 for sphere-3d, rastrigin-3d"):
        rf.evolve(problems, goals=(1.0, 2.0, 3.0), **SMALL)


def test_halving_halves_the_population_and_doubles_the_repeats(tmp_path):
    settings = {**SMALL, "initial_population": 16, "generations": 3, "repeats": 4, "finalists": 2}
    evolution = rf.evolve(sphere(), store=tmp_path / "race.db", method="halving", **settings)
    assert [len(each.population) for each in evolution.generations] == [16, 8, 4]
    assert [int(each.repeats.max()) for each in evolution.generations] == [1, 2, 4]
    first = {heuristic.id for heuristic in evolution.generations[0].population[:8]}
    assert {heuristic.id for heuristic in evolution.generations[1].population} == first
    assert evolution.progress.new_runs == evolution.settings.max_runs(1) == 16 + 16 + 16 + 2 * 5


def test_halving_of_a_small_population():
    settings = {**SMALL, "initial_population": 3, "population": 50, "generations": 2, "repeats": 2, "finalists": 5}
    evolution = rf.evolve(sphere(), method="halving", **settings)
    assert [len(each.population) for each in evolution.generations] == [3, 3]
    assert evolution.progress.new_runs == evolution.settings.max_runs(1) == 3 + 6 + 3 * 5


def test_children_of_any_parents_belong_to_the_grammar():
    grammar, rng = rf.grammar("extended"), np.random.default_rng(1)
    trees = [grammar.random(rng) for _ in range(60)]
    shared = set()
    for one, other in pairwise(trees):
        cuts = grammar.crossover_points_of(one, other)
        same = type(one.outer) is type(other.outer)
        assert any(len(cut) > 1 and cut[0] == "outer" for cut in cuts) == (same and len(vars(one.outer)) > 0)
        shared.add(same)
        for cut in cuts:
            child = crossover(one, other, cut)
            assert grammar.holds(child)
            assert grammar.holds(mutate(child, cut, grammar, rng))
    assert shared == {True, False}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"criterion": "best"}, "choice for `criterion`"),
        ({"method": "guess"}, "choice for `method`"),
        ({"tie_threshold": 2}, "tie_threshold must be a number from 0 to 1"),
        ({"resample_instances": "yes"}, "resample_instances must be True or False"),
        ({"goals": (1.0,)}, "got 1 for sphere-.*a single problem"),
        ({"goals": 3.0}, "goals must be numbers, one for each problem; got 3.0"),
        ({"goals": ["a", "b"]}, "goals must be numbers"),
        ({"goals": (1.0, 0.0)}, "finite and nonzero"),
        ({"goals": (1.0, 2.0), "goal_margin": 0.0}, "goal_margin must be positive; got 0"),
        ({"goals": (1.0, 2.0), "criterion": "regret"}, "criterion 'regret' and tie_threshold 0 together with goals"),
    ],
)
def test_settings_added_later_are_checked(wrong, said):
    with pytest.raises(RobustforgeError, match=said):
        rf.evolve(sphere(), **{**SMALL, **wrong})


def test_initial_heuristics_join_the_first_generation(tmp_path):
    known = rf.heuristic("champion/30d/sphere")
    small = {**SMALL, "grammar": "paper", "generations": 1, "population": 5}
    path = tmp_path / "s.db"
    evolution = rf.evolve(sphere(), store=path, initial_heuristics=["champion/30d/sphere", known], **small)
    alone = rf.evolve(sphere(), **small)
    assert known in evolution.population
    assert len(set(evolution.population) & set(alone.population)) == 4  # the others are random, and the same
    assert rf.evolve(sphere(), store=path, initial_heuristics=known, **small).progress.new_runs == 0
    with pytest.raises(StoreError, match="initial_heuristics is"):
        rf.evolve(sphere(), store=path, **small)
    with pytest.raises(EvolutionError, match="must belong to the grammar"):
        rf.evolve(sphere(), initial_heuristics="champion/30d/extended", **small)
    with pytest.raises(EvolutionError, match="must fit into the first generation"):
        rf.evolve(sphere(), initial_heuristics=rf.heuristics()[:6], **small)


def test_a_vectorized_objective_is_called_for_many_points_at_once():
    calls = []

    def columns(xs):
        calls.append(xs.shape[1])
        return ((xs - 1.0) ** 2).sum(axis=0)

    small = {"population": 3, "generations": 2, "repeats": 2, "budget": 100, "samples": 200, "final_repeats": 2}
    problem = rf.Problem(columns, [(-5.0, 5.0)] * 3, rf.Ball(0.5), name="bowl", vectorized=True)
    with ThreadPoolExecutor(1) as alone:
        found = rf.evolve(problem, executor=alone, **small)
        plain = rf.evolve(bowl(), executor=alone, **small)
    assert found.champion == plain.champion
    assert len(calls) < sum(calls) / 5
