"""A dataset from a store: every number computed by hand from the runs, without disturbing a writing process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import robustforge as rf
from robustforge.analysis import read_dataset
from robustforge.errors import StoreError, UnknownNameError
from robustforge.evolution.fitness import ranking
from robustforge.store import FINAL, AssessedRun, Store

SMALL = {"population": 6, "generations": 3, "repeats": 3, "budget": 100, "samples": 50, "final_repeats": 4}
RACE = {**SMALL, "population": 10, "repeats": 8, "finalists": 2, "race_level": 0.05}


def picky(x):
    if x[0] > 4.5:
        raise ValueError("the mesh is broken")
    return float(x @ x)


def stop_after(count):
    def callback(evolution):
        if len(evolution.generations) == count:
            raise StopIteration

    return callback


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A store with an evolution on one problem, a race on two, one with failures, and one that was stopped."""
    path = tmp_path_factory.mktemp("store") / "s.db"
    sphere, ackley = rf.problem("sphere", 3), rf.problem("ackley", 3)
    bowl = rf.Problem(picky, [(-5.0, 5.0)] * 3, rf.Ball(0.5), name="bowl")
    with ThreadPoolExecutor(1) as pool:
        evolutions = [
            rf.evolve(sphere, name="one", store=path, **SMALL),
            rf.evolve([sphere, ackley], name="race", store=path, **RACE),
            rf.evolve(bowl, name="picky", store=path, executor=pool, **SMALL),
            rf.evolve(sphere, name="stopped", store=path, callback=stop_after(2), **SMALL),
        ]
    rf.assess("rpso", sphere, runs=2, samples=10, budget=50, store=path)
    return path, {evolution.name: evolution for evolution in evolutions}


@pytest.fixture(scope="module")
def dataset(kept):
    return read_dataset(kept[0])


def runs_of(path, name):
    with Store.read(path) as store:
        experiment = store.experiment(name)
        return store.runs(experiment), store.members(experiment)


def test_a_dataset_has_all_contents_of_the_store(kept, dataset):
    path, evolutions = kept
    assert [record.name for record in dataset.evolutions] == list(evolutions)
    assert dataset.path == str(path)
    assert not dataset.running
    assert [(run.name, run.samples) for run in dataset.assessed_runs] == [("rpso", 10)] * 2
    for record in dataset.evolutions:
        runs, _ = runs_of(path, record.name)
        evolution = evolutions[record.name]
        assert record.runs == len(runs)
        assert record.failures == evolution.failures == sum(bool(run.failure) for run in runs)
        assert record.seconds == pytest.approx(sum(run.seconds for run in runs))
        assert record.problems == tuple(problem.name for problem in evolution.problems)
        assert record.settings["population"] == evolution.settings.population
        assert record.grammar["fingerprint"] == rf.grammar("extended").fingerprint
        assert record.champion == evolution.champion
    assert dataset.evolutions[2].failures > 0


def test_each_heuristic_occurs_once_best_first(kept, dataset):
    for record in dataset.evolutions:
        _, members = runs_of(kept[0], record.name)
        ids = [evolved.heuristic.id for evolved in record.heuristics]
        assert len(set(ids)) == len(ids)
        assert set(ids) == {id for number in members for id in members[number]}
        assert ranking(np.array([evolved.means for evolved in record.heuristics])).tolist() == list(range(len(ids)))
        for evolved in record.heuristics:
            found = [number for number, ids in members.items() if number != FINAL and evolved.heuristic.id in ids]
            assert evolved.generation == min(found)
    singles = [evolved.means[0] for evolved in dataset.evolutions[0].heuristics]
    assert singles == sorted(singles)


def test_means_are_of_all_runs_of_a_heuristic(kept, dataset):
    for record in dataset.evolutions:
        runs, _ = runs_of(kept[0], record.name)
        for evolved in record.heuristics:
            id = evolved.heuristic.id
            for number, mean in enumerate(evolved.means):
                own = [run for run in runs if (run.heuristic, run.problem) == (id, number)]
                assert len(own) == evolved.runs
                values = [np.inf if run.failure else run.value for run in own]
                assert mean == pytest.approx(sum(values) / len(values), rel=1e-12)
    elite = max(dataset.evolutions[0].heuristics, key=lambda evolved: evolved.runs)
    assert elite.runs == 3 * 3 + 4  # in all generations and in the final


def test_the_fitness_is_that_of_the_evolution(kept, dataset):
    for record in dataset.evolutions:
        evolution = kept[1][record.name]
        expected = [evolution.best_and_median(generation) for generation in evolution.generations]
        assert len(record.fitness) == len(expected) > 0
        assert np.array(record.fitness) == pytest.approx(np.array(expected), rel=1e-12)
    assert any((generation.repeats < 8).any() for generation in kept[1]["race"].generations)  # some dropped out


def test_a_stopped_evolution_has_the_best_so_far(dataset):
    assert [record.finished for record in dataset.evolutions] == [True, True, True, False]
    stopped = dataset.evolutions[-1]
    assert stopped.ended is None
    assert len(stopped.fitness) == 2
    assert stopped.started >= dataset.evolutions[0].started
    assert dataset.evolutions[0].ended is not None


@pytest.mark.parametrize("fraction", [0.1, 1.5])
def test_an_evolution_in_the_middle_of_a_generation(tmp_path, monkeypatch, fraction):
    whole, limit = Store.add_runs, fraction * 6 * 3
    made = []

    def limited(self, experiment, runs):
        whole(self, experiment, runs)
        made.extend(runs)
        if len(made) >= limit:
            raise KeyboardInterrupt

    monkeypatch.setattr(Store, "add_runs", limited)
    with pytest.raises(KeyboardInterrupt):
        rf.evolve(rf.problem("sphere", 3), store=tmp_path / "s.db", workers=1, **SMALL)
    (record,) = read_dataset(tmp_path / "s.db").evolutions
    assert record.runs == len(made) > 0
    assert not record.finished
    assert len(record.fitness) == int(fraction)
    assert len(record.heuristics) == (6 if fraction > 1 else 0)  # those of the incomplete generation are left out
    assert (record.champion is None) == (fraction < 1)


def test_a_writing_process_is_detected_and_not_disturbed(kept):
    path, _ = kept
    before = path.read_bytes()
    with Store.open(path):
        assert read_dataset(path).running
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["s.db"]


def test_evolutions_by_name(kept):
    found = read_dataset(kept[0], ["stopped", "one"])
    assert [record.name for record in found.evolutions] == ["stopped", "one"]
    with pytest.raises(UnknownNameError, match="did you mean 'race'"):
        read_dataset(kept[0], ["rice"])


def test_a_store_of_assessed_runs_alone(tmp_path):
    values = {"value": 1.0, "attacked": 1.0, "nominal": 1.0, "curve": (1.0,) * 11}
    run = AssessedRun("a", "a", '{"name": "p", "dimension": 3}', 10, 10, False, 1, 0, **values)
    with Store.open(tmp_path / "s.db") as store:
        store.add_assessed_runs([run])
    found = read_dataset(tmp_path / "s.db")
    assert found.evolutions == ()
    assert found.assessed_runs == (run,)


def test_invalid_paths_are_refused(tmp_path):
    with pytest.raises(StoreError, match="there is no"):
        read_dataset(tmp_path / "none.db")
    with pytest.raises(StoreError, match="must contain results"):
        read_dataset(tmp_path)
    (tmp_path / "text.db").write_text("hello " * 200)
    with pytest.raises(StoreError, match="SQLite"):
        read_dataset(tmp_path / "text.db")
