"""The study: the same whether interrupted or not, nothing run twice, and results of another scale refused.

The whole of the smallest scale takes a minute; here are two problems in three variables, in the same order of work.
"""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

import robustforge as rf
from robustforge.analysis import read_dataset, results_folder
from robustforge.assessment import runner
from robustforge.errors import StoreError, UnknownNameError
from robustforge.evolution.api import make_settings
from robustforge.evolution.fitness import goal_loss
from robustforge.representation.derivation_tree import nodes
from robustforge.representation.letter import interpretation_name
from robustforge.robust_problem.problem import problems
from robustforge.store import Store
from robustforge.study import api as study
from robustforge.study import cases, reproduce, scales, study_tables
from robustforge.study.cases import COMPARATORS, Case

TWO = ("sphere", "rastrigin")
TINY = replace(
    scales.SCALES["smoke"],
    evolution={"population": 3, "generations": 2, "repeats": 2, "budget": 60, "samples": 20, "final_repeats": 2},
    overrides={"3d/general": {"goals": (4.0, 30.0)}},
    second_stages={
        "3d/general": {
            "goal_margin": 0.04,
            "initial_heuristics": 1,
            "population": 3,
            "generations": 1,
            "repeats": 1,
            "budget": 60,
            "samples": 20,
            "finalists": 1,
            "final_repeats": 1,
        }
    },
    letter_field_cases=("3d/general",),
    tuning={"population": 3, "generations": 1, "repeats": 1, "budget": 60, "samples": 20, "final_repeats": 1},
    samples=200,
    comparison_samples=100,
    budget=60,
    comparator_budgets=(90,),
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
        return evolutions, sorted(map(bare, store.assessed_runs()))


def published(folder):
    """What a folder of results says, but for the timings."""
    found = read_dataset(folder)
    records = {each.name: replace(each, seconds=0.0, started="", ended="") for each in found.evolutions}
    where = {
        path.parent.relative_to(folder).as_posix(): sorted(map(bare, results_folder.read_assessed(path)))
        for path in folder.rglob(results_folder.ASSESSED)
    }
    return records, where


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    said = []
    reproduce("smoke", folder / "s.db", folder / "results", log=said.append)
    return folder, said


@pytest.fixture
def copy(reference, tmp_path):
    shutil.copytree(reference[0], tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def nothing_runs(monkeypatch):
    """Whoever runs anything falls over it."""
    monkeypatch.setattr(runner, "run_tasks", None)
    monkeypatch.setattr("robustforge.evolution.runner.run_trials", None)


def test_the_result(reference):
    folder, said = reference
    records, where = published(folder / "results")
    evolved = {"3d/sphere", "3d/rastrigin", "3d/general"}
    assert set(records) == evolved | {"3d/general/sequel", "3d/comparator/rpso+dd"}
    assert all(record.finished for record in records.values())
    assert records["3d/general"].problems == ("sphere-3d", "rastrigin-3d")
    champions = {"3d/sphere": 3, "3d/rastrigin": 3, "3d/general": 6}  # runs x problems
    side = 2 * (2 + 2) + 2 * 2 + 2 * 2 * 2  # general and comparator, the single ones, and controls
    counts = {**champions, "3d/comparison": side, "3d/variants": 2 + 2 * 1}
    assert {name: len(found) for name, found in where.items()} == counts
    with Store.read(folder / "s.db") as store:
        assert len(store.assessed_runs()) == sum(counts.values())
    assert said[0] == "3d/sphere: evolving"
    assert any("3d/variants: 1 runs of centre, random" in line for line in said)


def test_a_second_stage_starts_from_the_best_of_the_first_and_its_champion_counts(reference):
    results, case = reference[0] / "results", Case(3, "general")
    first, second = (results_folder.read_evolution(results / name) for name in (case.name, case.second_stage))
    means = np.array([evolved.means for evolved in first.heuristics if evolved.runs >= 4])  # of two generations
    best = [evolved for evolved in first.heuristics if evolved.runs >= 4][
        int(np.argmin(goal_loss(means, (4.0, 30.0), 0.04)))
    ]
    assert second.settings["start"] == [best.heuristic.id]
    assert second.settings["goals"] == first.settings["goals"] == [4.0, 30.0]
    assert {run.contestant for run in results_folder.read_assessed(results / case.name / results_folder.ASSESSED)} == {
        second.champion.id
    }
    assert study_tables.champion_of(results, case) == second.champion
    assert (
        study_tables.champion_of(results, Case(3, "sphere"))
        == results_folder.read_evolution(results / "3d/sphere").champion
    )


def letters(heuristic: rf.Heuristic) -> tuple[bool, bool]:
    """Whether particles move in turn, and whether neighbours are others."""
    return heuristic.outer.is_asynchronous, not getattr(heuristic.outer.network, "include_self", False)


def test_cases_follow_the_paper_literally_where_the_scale_says_so(reference):
    records, _ = published(reference[0] / "results")
    evolved = {name: [letters(each.heuristic) for each in record.heuristics] for name, record in records.items()}
    literal = {name for name, found in evolved.items() if all(found == (True, True) for found in found)}
    assert literal == {"3d/general", "3d/general/sequel"}
    assert not any(in_turn for name, found in evolved.items() if name not in literal for in_turn, _ in found)


def test_initial_heuristics_of_a_literal_case_are_literal_too():
    case, tuned = Case(30, "general"), scales.SCALES["tuned"]
    start = tuned.settings(case)["initial_heuristics"]
    assert all(letters(each) == (True, True) for each in start)
    assert all(tuned.grammar(case).holds(each) for each in start)
    as_before = start[-1].outer.replace(
        update_order="synchronous", network=start[-1].outer.network.replace(include_self=True)
    )
    assert start[-1].replace(outer=as_before) == rf.heuristic("paper/30d/general")


def test_contestants_are_assessed_with_their_names_and_budgets(reference):
    runs = read_dataset(reference[0] / "results" / "3d").assessed_runs
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
    reproduce("smoke", copy / "s.db", copy / "results", log=lambda line: None)
    assert {path: path.read_bytes() for path in (copy / "results").rglob("*") if path.is_file()} == before
    assert (copy / "s.db").read_bytes() == store


def test_results_alone_are_enough(copy, nothing_runs):
    before = published(copy / "results")
    reproduce("smoke", copy / "empty.db", copy / "results", log=lambda line: None)
    assert published(copy / "results") == before
    assert rows(copy / "empty.db")[1] == rows(copy / "s.db")[1]
    assert rows(copy / "empty.db")[0] == {}


def test_a_store_alone_is_enough(copy, nothing_runs):
    reproduce("smoke", copy / "s.db", copy / "again", log=lambda line: None)
    assert published(copy / "again") == published(copy / "results")


class Interrupted(Exception):  # noqa: N818
    pass


@pytest.mark.parametrize("stop", [5, 40, 66, 95, 100, 119])
def test_an_interrupted_study_resumes_and_repeats_nothing(reference, tmp_path, monkeypatch, stop):
    kept, whole, whole_assessed = [], Store.add_runs, Store.add_assessed_runs

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

    monkeypatch.setattr(Store, "add_runs", add)
    monkeypatch.setattr(Store, "add_assessed_runs", add_assessed)
    with pytest.raises(Interrupted):
        reproduce("smoke", tmp_path / "s.db", tmp_path / "results", log=lambda line: None)
    assert len(kept) < 128
    reproduce("smoke", tmp_path / "s.db", tmp_path / "results", log=lambda line: None)
    assert len(set(kept)) == len(kept) == 128
    assert rows(tmp_path / "s.db") == rows(reference[0] / "s.db")
    assert published(tmp_path / "results") == published(reference[0] / "results")


def test_results_of_another_scale_are_refused(copy, monkeypatch, nothing_runs):
    monkeypatch.setitem(scales.SCALES, "paper", replace(TINY, evolution={**TINY.evolution, "population": 4}))
    with pytest.raises(StoreError, match=r"sphere has different settings: population\. Name another folder"):
        reproduce("paper", copy / "other.db", copy / "results", log=lambda line: None)


def test_results_without_a_champion_are_refused(copy, nothing_runs):
    folder = copy / "results" / "3d" / "sphere"
    results_folder.write_evolution(
        replace(results_folder.read_evolution(folder), champion=None, finished=False), folder
    )
    with pytest.raises(StoreError, match="sphere is not finished"):
        reproduce("smoke", copy / "s.db", copy / "results", log=lambda line: None)


def test_results_cannot_be_a_file(tmp_path):
    (tmp_path / "results").write_text("mine")
    with pytest.raises(StoreError, match="results is a file"):
        reproduce("smoke", tmp_path / "s.db", tmp_path / "results")
    assert (tmp_path / "results").read_text() == "mine"


def test_an_unknown_scale_is_refused(tmp_path):
    with pytest.raises(UnknownNameError, match="'tuned'"):
        reproduce("tunde", tmp_path / "s.db", tmp_path / "results")
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
    preset, grammar = rf.heuristic(name), Case(30, name).comparator_grammar("paper")
    rng = np.random.default_rng(1)
    drawn = [grammar.random(rng) for _ in range(20)]
    assert all(structure(each) == structure(preset) for each in drawn)
    same = {key: value for key, value in preset.components().items() if key != "group"}
    assert all({**each.components(), **same} == each.components() for each in drawn)
    assert len({each.id for each in drawn}) > 15  # and its numbers are open
    assert Case(30, name).is_comparator


@pytest.mark.parametrize("case", cases.champions(), ids=lambda case: case.name)
def test_the_letter_is_plain(case):
    scale = scales.scale_of("letter")
    settings = make_settings(scale.settings(case))
    plain = {"population": 50, "generations": 40, "repeats": 20, "budget": 2000, "elites": 2, "tournament_size": 3}
    plain |= {"race_level": 0, "parameter_mutation": 0, "goals": (), "initial_heuristics": (), "initial_population": 0}
    plain |= {"criterion": "ranks", "method": "gp", "tie_threshold": 0, "finalists": 1}
    assert {name: getattr(settings, name) for name in plain} == plain
    assert case.name not in {*scale.overrides, *scale.second_stages, *scale.letter_field_cases}
    assert interpretation_name(scale.grammar(case).random(np.random.default_rng(1))) == "letter"


@pytest.mark.parametrize("case", cases.comparators(), ids=lambda case: case.name)
def test_comparators_of_the_letter_have_its_interpretation_where_they_are_swarms(case):
    letter, tuned = (scales.scale_of(name) for name in ("letter", "tuned"))
    assert letter.settings(case) == tuned.settings(case)
    is_single = case.target in ("descent-directions", "leh")
    drawn = letter.grammar(case).random(np.random.default_rng(1))
    assert interpretation_name(drawn) == ("default" if is_single else "letter")
    assert (letter.grammar(case).fingerprint == tuned.grammar(case).fingerprint) == is_single


def test_a_former_name_of_a_scale_is_accepted():
    assert scales.scale_of("small") is scales.SCALES["tuned"]


def test_the_paper_has_22_cases_with_distinct_names():
    every = (*cases.champions(), *cases.comparators())
    assert len(cases.champions()) == 22
    assert len(cases.comparators()) == 12
    assert len({case.name for case in every}) == len({case.contestant() for case in every}) == 34
    assert Case(30, "rastrigin").name == "30d/rastrigin"
    assert Case(100, "rpso+dd").name == "100d/comparator/rpso+dd"
    assert Case(100, "rpso+dd").contestant("letter") == "comparator/100d/rpso+dd"
    assert Case(100, "sphere").contestant("letter") == "letter/100d/sphere"
    assert {case.target for case in cases.champions()} == {*problems(), "general"}
    assert {problem.dimension for case in every for problem in case.problems} == {30, 100}


@pytest.mark.parametrize("name", scales.SCALES)
def test_every_scale_is_consistent(name):
    scale = scales.scale_of(name)
    for case in (*cases.champions(), *cases.comparators()):
        rf.evolution.Settings(**scale.settings(case))
    assert list(scale.stages) == sorted(scale.stages)
    assert scale.stages[-1] >= max(
        scale.runs, scale.comparison_runs, scale.variant_runs
    )  # every contestant gets all its runs
