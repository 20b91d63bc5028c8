"""Evidence from a store: every number can be worked out by hand from its single runs, and nobody is disturbed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import robustforge as rf
from robustforge.analysis import read_evidence
from robustforge.errors import StoreError, UnknownNameError
from robustforge.evolution.fitness import order
from robustforge.store import FINAL, Assessed, Store

SMALL = {"population": 6, "generations": 3, "repeats": 3, "budget": 100, "samples": 50, "final_repeats": 4}
RACE = {**SMALL, "population": 10, "repeats": 8, "finalists": 2, "race": 0.05}


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
def evidence(kept):
    return read_evidence(kept[0])


def runs_of(path, name):
    with Store.read(path) as store:
        experiment = store.experiment(name)
        return store.runs(experiment), store.members(experiment)


def test_everything_in_the_store_is_there(kept, evidence):
    path, evolutions = kept
    assert [outcome.name for outcome in evidence.outcomes] == list(evolutions)
    assert evidence.where == str(path)
    assert not evidence.running
    assert [(run.name, run.samples) for run in evidence.assessed] == [("rpso", 10)] * 2
    for outcome in evidence.outcomes:
        runs, _ = runs_of(path, outcome.name)
        evolution = evolutions[outcome.name]
        assert outcome.runs == len(runs)
        assert outcome.failures == evolution.failures == sum(bool(run.failure) for run in runs)
        assert outcome.seconds == pytest.approx(sum(run.seconds for run in runs))
        assert outcome.problems == tuple(problem.name for problem in evolution.problems)
        assert outcome.settings["population"] == evolution.settings.population
        assert outcome.grammar["fingerprint"] == rf.grammar("extended").fingerprint
        assert outcome.champion == evolution.champion
    assert evidence.outcomes[2].failures > 0


def test_each_heuristic_comes_once_best_first(kept, evidence):
    for outcome in evidence.outcomes:
        _, members = runs_of(kept[0], outcome.name)
        ids = [bred.heuristic.id for bred in outcome.bred]
        assert len(set(ids)) == len(ids)
        assert set(ids) == {id for number in members for id in members[number]}
        assert order(np.array([bred.means for bred in outcome.bred])).tolist() == list(range(len(ids)))
        for bred in outcome.bred:
            found = [number for number, who in members.items() if number != FINAL and bred.heuristic.id in who]
            assert bred.generation == min(found)
    singles = [bred.means[0] for bred in evidence.outcomes[0].bred]
    assert singles == sorted(singles)


def test_means_are_of_all_runs_of_a_heuristic(kept, evidence):
    for outcome in evidence.outcomes:
        runs, _ = runs_of(kept[0], outcome.name)
        for bred in outcome.bred:
            id = bred.heuristic.id
            for number, mean in enumerate(bred.means):
                own = [run for run in runs if (run.heuristic, run.problem) == (id, number)]
                assert len(own) == bred.runs
                values = [np.inf if run.failure else run.value for run in own]
                assert mean == pytest.approx(sum(values) / len(values), rel=1e-12)
    elite = max(evidence.outcomes[0].bred, key=lambda bred: bred.runs)
    assert elite.runs == 3 * 3 + 4  # in all generations and in the final


def test_the_fitness_is_that_of_the_evolution(kept, evidence):
    for outcome in evidence.outcomes:
        evolution = kept[1][outcome.name]
        expected = [evolution.best_and_median(generation) for generation in evolution.generations]
        assert len(outcome.fitness) == len(expected) > 0
        assert np.array(outcome.fitness) == pytest.approx(np.array(expected), rel=1e-12)
    assert any((generation.repeats < 8).any() for generation in kept[1]["race"].generations)  # some dropped out


def test_what_was_stopped_has_the_best_so_far(evidence):
    assert [outcome.finished for outcome in evidence.outcomes] == [True, True, True, False]
    stopped = evidence.outcomes[-1]
    assert stopped.ended is None
    assert len(stopped.fitness) == 2
    assert stopped.begun >= evidence.outcomes[0].begun
    assert evidence.outcomes[0].ended is not None


@pytest.mark.parametrize("fraction", [0.1, 1.5])
def test_an_evolution_in_the_middle_of_a_generation(tmp_path, monkeypatch, fraction):
    whole, limit = Store.add, fraction * 6 * 3
    made = []

    def limited(self, experiment, runs):
        whole(self, experiment, runs)
        made.extend(runs)
        if len(made) >= limit:
            raise KeyboardInterrupt

    monkeypatch.setattr(Store, "add", limited)
    with pytest.raises(KeyboardInterrupt):
        rf.evolve(rf.problem("sphere", 3), store=tmp_path / "s.db", workers=1, **SMALL)
    (outcome,) = read_evidence(tmp_path / "s.db").outcomes
    assert outcome.runs == len(made) > 0
    assert not outcome.finished
    assert len(outcome.fitness) == int(fraction)
    assert len(outcome.bred) == (6 if fraction > 1 else 0)  # those of the incomplete generation are not told yet
    assert (outcome.champion is None) == (fraction < 1)


def test_a_writer_is_seen_and_not_disturbed(kept):
    path, _ = kept
    before = path.read_bytes()
    with Store.open(path):
        assert read_evidence(path).running
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["s.db"]


def test_some_by_name(kept):
    found = read_evidence(kept[0], ["stopped", "one"])
    assert [outcome.name for outcome in found.outcomes] == ["stopped", "one"]
    with pytest.raises(UnknownNameError, match="Did you mean 'race'"):
        read_evidence(kept[0], ["rice"])


def test_a_store_of_assessed_runs_alone(tmp_path):
    values = {"value": 1.0, "attacked": 1.0, "nominal": 1.0, "curve": (1.0,) * 11}
    run = Assessed("a", "a", '{"name": "p", "dimension": 3}', 10, 10, False, 1, 0, **values)
    with Store.open(tmp_path / "s.db") as store:
        store.add_assessed([run])
    found = read_evidence(tmp_path / "s.db")
    assert found.outcomes == ()
    assert found.assessed == (run,)


def test_what_is_no_evidence_is_said(tmp_path):
    with pytest.raises(StoreError, match="there is no"):
        read_evidence(tmp_path / "none.db")
    with pytest.raises(StoreError, match="must hold some"):
        read_evidence(tmp_path)
    (tmp_path / "text.db").write_text("hello " * 200)
    with pytest.raises(StoreError, match="SQLite"):
        read_evidence(tmp_path / "text.db")
