"""The study: the same whether interrupted or not, nothing run twice, and results of another scale refused.

The whole of the smallest scale takes a minute; here are two problems in three variables, in the same order of work.
"""

from __future__ import annotations

import importlib
import shutil
from dataclasses import replace

import numpy as np
import pytest

import robustforge as rf
from robustforge.analysis import archive, read_evidence
from robustforge.assessment import process
from robustforge.errors import StoreError, UnknownNameError
from robustforge.evolution.fitness import losses
from robustforge.heuristic.tree import nodes
from robustforge.problem import problems
from robustforge.store import Store
from robustforge.study import cases, reproduce, scales, tables
from robustforge.study.cases import COMPARATORS, Case

study = importlib.import_module("robustforge.study.reproduce")  # `robustforge.study.reproduce` is the function

TWO = ("sphere", "rastrigin")
TINY = replace(
    scales.SCALES["smoke"],
    breeding={"population": 3, "generations": 2, "repeats": 2, "budget": 60, "samples": 20, "final_repeats": 2},
    again={"3d/general": {"goals": (4.0, 30.0)}},
    sequels={
        "3d/general": {
            "margin": 0.04,
            "start": 1,
            "population": 3,
            "generations": 1,
            "repeats": 1,
            "budget": 60,
            "samples": 20,
            "finalists": 1,
            "final_repeats": 1,
        }
    },
    literal=("3d/general",),
    tuning={"population": 3, "generations": 1, "repeats": 1, "budget": 60, "samples": 20, "final_repeats": 1},
    samples=200,
    side_samples=100,
    budget=60,
    rival_budget=90,
)


@pytest.fixture(autouse=True, scope="module")
def tiny():
    """Two problems in three variables, one comparator, and controls that need no process."""
    originals = cases.originals
    with pytest.MonkeyPatch.context() as patch:
        for module in (study, cases):
            patch.setattr(module, "originals", lambda dimension, names=TWO: originals(dimension, names))
        patch.setattr(study, "DIMENSIONS", (3,))
        patch.setattr(study, "champions", lambda: (Case(3, "sphere"), Case(3, "rastrigin"), Case(3, "general")))
        patch.setattr(study, "comparators", lambda: (Case(3, "rpso+dd"),))
        patch.setattr(
            study, "variants", lambda dimension, seeds: [rf.problem("sphere", dimension, "shifted", seeds[0])]
        )
        patch.setattr(study, "CONTROLS", ("centre", "random"))
        patch.setattr(cases, "TUNED_ON", TWO)
        patch.setitem(scales.SCALES, "smoke", TINY)
        yield


def bare(run):
    return repr(replace(run, seconds=0.0, x=()))  # results leave designs out


def rows(path):
    """All rows of a store but the timings, and the designs of assessed runs."""
    with Store.read(path) as store:
        evolutions = {
            each.name: (each.champion, [repr(replace(run, seconds=0.0)) for run in store.runs(each)])
            for each in store.experiments()
        }
        return evolutions, sorted(map(bare, store.assessed()))


def published(folder):
    """What a folder of results says, but for the timings."""
    found = read_evidence(folder)
    outcomes = {each.name: replace(each, seconds=0.0, begun="", ended="") for each in found.outcomes}
    where = {
        path.parent.relative_to(folder).as_posix(): sorted(map(bare, archive.read_assessed(path)))
        for path in folder.rglob(archive.ASSESSED)
    }
    return outcomes, where


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    said = []
    reproduce("smoke", folder / "s.db", folder / "results", announce=said.append)
    return folder, said


@pytest.fixture
def copy(reference, tmp_path):
    shutil.copytree(reference[0], tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def nothing_runs(monkeypatch):
    """Whoever runs anything falls over it."""
    monkeypatch.setattr(process, "run_tasks", None)
    monkeypatch.setattr("robustforge.evolution.process.run_trials", None)


def test_what_comes_out(reference):
    folder, said = reference
    outcomes, where = published(folder / "results")
    bred = {"3d/sphere", "3d/rastrigin", "3d/general"}
    assert set(outcomes) == bred | {"3d/general/sequel", "3d/comparator/rpso+dd"}
    assert all(outcome.finished for outcome in outcomes.values())
    assert outcomes["3d/general"].problems == ("sphere-3d", "rastrigin-3d")
    champions = {"3d/sphere": 3, "3d/rastrigin": 3, "3d/general": 6}  # runs x problems
    side = 2 * (2 + 2) + 2 * 2 + 2 * 2 * 2  # general and comparator, the single ones, and controls
    counts = {**champions, "3d/comparison": side, "3d/variants": 2 + 2 * 1}
    assert {name: len(found) for name, found in where.items()} == counts
    with Store.read(folder / "s.db") as store:
        assert len(store.assessed()) == sum(counts.values())
    assert said[0] == "3d/sphere: breeding"
    assert any("3d/variants: 1 runs of centre, random" in line for line in said)


def test_a_sequel_starts_with_the_best_of_the_first_evolution_and_its_champion_counts(reference):
    results, case = reference[0] / "results", Case(3, "general")
    first, sequel = (archive.read_outcome(results / name) for name in (case.name, case.sequel))
    means = np.array([bred.means for bred in first.bred if bred.runs >= 4])  # of two generations
    best = [bred for bred in first.bred if bred.runs >= 4][int(np.argmin(losses(means, (4.0, 30.0), 0.04)))]
    assert sequel.settings["start"] == [best.heuristic.id]
    assert sequel.settings["goals"] == first.settings["goals"] == [4.0, 30.0]
    assert {run.contestant for run in archive.read_assessed(results / case.name / archive.ASSESSED)} == {
        sequel.champion.id
    }
    assert tables.bred(results, case) == sequel.champion
    assert tables.bred(results, Case(3, "sphere")) == archive.read_outcome(results / "3d/sphere").champion


def letters(heuristic: rf.Heuristic) -> tuple[bool, bool]:
    """Whether particles move in turn, and whether neighbours are others."""
    return heuristic.outer.order == "in turn", not getattr(heuristic.outer.network, "itself", False)


def test_cases_are_bred_to_the_letter_where_the_scale_says_so(reference):
    outcomes, _ = published(reference[0] / "results")
    bred = {name: [letters(each.heuristic) for each in outcome.bred] for name, outcome in outcomes.items()}
    literal = {name for name, found in bred.items() if all(found == (True, True) for found in found)}
    assert literal == {"3d/general", "3d/general/sequel"}
    assert not any(in_turn for name, found in bred.items() if name not in literal for in_turn, _ in found)


def test_heuristics_that_a_case_starts_with_are_to_the_letter_too():
    case, small = Case(30, "general"), scales.SCALES["small"]
    start = small.settings(case)["start"]
    assert all(letters(each) == (True, True) for each in start)
    assert all(small.grammar(case).holds(each) for each in start)
    as_before = start[-1].outer.replace(order="together", network=start[-1].outer.network.replace(itself=True))
    assert start[-1].replace(outer=as_before) == rf.heuristic("paper/30d/general")


def test_everybody_is_assessed_by_name_and_budget(reference):
    runs = read_evidence(reference[0] / "results" / "3d").assessed
    assert {(run.name, run.budget) for run in runs} == {
        ("champion/3d/sphere", 60),
        ("champion/3d/rastrigin", 60),
        ("champion/3d/general", 60),
        ("comparator/3d/rpso+dd@90", 90),
        ("centre", 60),
        ("random", 60),
    }
    assert {run.samples for run in runs} == {200, 100}
    assert not any(run.failure for run in runs)


def test_a_second_call_runs_nothing_and_changes_nothing(copy, nothing_runs):
    before = {path: path.read_bytes() for path in (copy / "results").rglob("*") if path.is_file()}
    store = (copy / "s.db").read_bytes()
    reproduce("smoke", copy / "s.db", copy / "results", announce=lambda line: None)
    assert {path: path.read_bytes() for path in (copy / "results").rglob("*") if path.is_file()} == before
    assert (copy / "s.db").read_bytes() == store


def test_results_alone_are_enough(copy, nothing_runs):
    before = published(copy / "results")
    reproduce("smoke", copy / "empty.db", copy / "results", announce=lambda line: None)
    assert published(copy / "results") == before
    assert rows(copy / "empty.db")[1] == rows(copy / "s.db")[1]
    assert rows(copy / "empty.db")[0] == {}


def test_a_store_alone_is_enough(copy, nothing_runs):
    reproduce("smoke", copy / "s.db", copy / "again", announce=lambda line: None)
    assert published(copy / "again") == published(copy / "results")


class Interrupted(Exception):  # noqa: N818
    pass


@pytest.mark.parametrize("stop", [5, 40, 66, 95, 100, 119])
def test_after_an_interruption_it_goes_on_and_runs_nothing_twice(reference, tmp_path, monkeypatch, stop):
    kept, whole, whole_assessed = [], Store.add, Store.add_assessed

    def add(store, experiment, runs):
        whole(store, experiment, runs)
        note([(experiment.name, run.key) for run in runs])

    def add_assessed(store, runs):
        whole_assessed(store, runs)
        note([run.key for run in runs])

    def note(keys):
        first = len(kept)
        kept.extend(keys)
        if first < stop <= len(kept):
            raise Interrupted

    monkeypatch.setattr(Store, "add", add)
    monkeypatch.setattr(Store, "add_assessed", add_assessed)
    with pytest.raises(Interrupted):
        reproduce("smoke", tmp_path / "s.db", tmp_path / "results", announce=lambda line: None)
    assert len(kept) < 128
    reproduce("smoke", tmp_path / "s.db", tmp_path / "results", announce=lambda line: None)
    assert len(set(kept)) == len(kept) == 128
    assert rows(tmp_path / "s.db") == rows(reference[0] / "s.db")
    assert published(tmp_path / "results") == published(reference[0] / "results")


def test_results_of_another_scale_are_refused(copy, monkeypatch, nothing_runs):
    monkeypatch.setitem(scales.SCALES, "paper", replace(TINY, breeding={**TINY.breeding, "population": 4}))
    with pytest.raises(StoreError, match=r"sphere was made with another population\. Name another folder"):
        reproduce("paper", copy / "other.db", copy / "results", announce=lambda line: None)


def test_results_without_a_champion_are_refused(copy, nothing_runs):
    folder = copy / "results" / "3d" / "sphere"
    archive.write_outcome(replace(archive.read_outcome(folder), champion=None, finished=False), folder)
    with pytest.raises(StoreError, match="it is not finished"):
        reproduce("smoke", copy / "s.db", copy / "results", announce=lambda line: None)


def test_results_do_not_go_to_a_file(tmp_path):
    (tmp_path / "results").write_text("mine")
    with pytest.raises(StoreError, match="results is a file"):
        reproduce("smoke", tmp_path / "s.db", tmp_path / "results")
    assert (tmp_path / "results").read_text() == "mine"


def test_a_scale_that_is_none_is_refused(tmp_path):
    with pytest.raises(UnknownNameError, match="'small'"):
        reproduce("smal", tmp_path / "s.db", tmp_path / "results")
    assert list(tmp_path.iterdir()) == []


def structure(heuristic):
    """A heuristic but for its numbers."""
    return [
        (path, type(value) if not field.choices else value)
        for path, field, value in nodes(heuristic)
        if field.choices or not isinstance(value, (int, float))
    ]


@pytest.mark.parametrize("name", COMPARATORS)
def test_a_comparator_keeps_the_structure_of_its_preset(name):
    preset, grammar = rf.heuristic(name), Case(30, name).grammar
    rng = np.random.default_rng(1)
    drawn = [grammar.random(rng) for _ in range(20)]
    assert all(structure(each) == structure(preset) for each in drawn)
    same = {key: value for key, value in preset.components().items() if key != "group"}
    assert all({**each.components(), **same} == each.components() for each in drawn)
    assert len({each.id for each in drawn}) > 15  # and its numbers are open
    assert Case(30, name).is_comparator


def test_the_paper_has_22_cases_and_their_names_tell_them_apart():
    every = (*cases.champions(), *cases.comparators())
    assert len(cases.champions()) == 22
    assert len(cases.comparators()) == 12
    assert len({case.name for case in every}) == len({case.contestant for case in every}) == 34
    assert Case(30, "rastrigin").name == "30d/rastrigin"
    assert Case(100, "rpso+dd").name == "100d/comparator/rpso+dd"
    assert Case(100, "rpso+dd").contestant == "comparator/100d/rpso+dd"
    assert {case.target for case in cases.champions()} == {*problems(), "general"}
    assert {problem.dimension for case in every for problem in case.problems} == {30, 100}


@pytest.mark.parametrize("name", ["smoke", "small", "paper"])
def test_every_scale_makes_sense(name):
    scale = scales.scale_of(name)
    for case in (*cases.champions(), *cases.comparators()):
        rf.evolution.Settings(**scale.settings(case))
    assert list(scale.stages) == sorted(scale.stages)
    assert scale.stages[-1] >= max(scale.runs, scale.side_runs, scale.variant_runs)  # nobody is left short
