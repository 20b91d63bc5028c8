"""The results folder: reading returns what was written, writing is deterministic, and damage is reported."""

from __future__ import annotations

import csv
import gzip
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

import robustforge as rf
from robustforge.analysis import read_dataset, results_folder
from robustforge.analysis.dataset import EvolutionRecord, EvolvedHeuristic
from robustforge.errors import StoreError, UnknownNameError
from robustforge.store import CHECKPOINTS, AssessedRun

SMALL = {"population": 5, "generations": 2, "repeats": 2, "budget": 100, "samples": 50, "final_repeats": 2}

PROBLEM = '{"name": "p", "dimension": 3}'
RUNS = [
    AssessedRun("id", 'a, "b"\nü', PROBLEM, 100, 50, True, 2**53 - 1, 0, value=1 / 3, attacked=math.inf,
             nominal=5e-324, nfev=99, curve=(math.nan, *(1 / fraction for fraction in CHECKPOINTS[1:])), seconds=0.1),
    AssessedRun("cma-es (pycma 4)", "cma-es", PROBLEM, 100, 50, False, 1, 1, failure="ValueError: no, really"),
]  # fmt: skip


def evolution(name="one", **changes):
    evolved = [rf.heuristic(each) for each in ("rpso", "leh", "paper/30d/general")]
    made = EvolutionRecord(
        name=name,
        problems=("p", 'q, "r"'),
        settings={"budget": 100, "problems": [{"name": name, "dimension": 3} for name in ("p", 'q, "r"')]},
        grammar={"name": "paper", "restrictions": {}, "fingerprint": "0" * 16},
        heuristics=tuple(EvolvedHeuristic(each, k, 7 + k, (k + 1 / 3, math.inf)) for k, each in enumerate(evolved)),
        fitness=((1 / 3, 0.5), (0.1, 0.2)),
        champion=evolved[0],
        finished=True,
        runs=12,
        failures=1,
        seconds=0.1,
        started="2026-01-01",
        ended="2026-01-02",
    )
    return replace(made, **changes)


@pytest.fixture
def folder(tmp_path):
    results_folder.write_evolution(evolution(), tmp_path / "one")
    results_folder.write_assessed(RUNS, tmp_path / "one")
    return tmp_path


def test_what_is_read_is_what_was_written(folder):
    found = results_folder.read(folder)
    assert found.evolutions == (evolution(),)
    assert list(map(repr, found.assessed_runs)) == list(map(repr, RUNS))  # NaN is not equal to itself
    assert found.path == str(folder)
    assert not found.running


def test_an_evolution_is_restored_as_in_its_store(tmp_path):
    problems = [rf.problem("sphere", 3), rf.problem("ackley", 3)]
    rf.evolve(problems, store=tmp_path / "s.db", name="30d/general", **SMALL)
    made = rf.assess("rpso", problems, runs=2, samples=200, budget=50, store=tmp_path / "s.db")
    kept = read_dataset(tmp_path / "s.db")
    results_folder.write_evolution(kept.evolutions[0], tmp_path / "results" / "30d" / "general")
    results_folder.write_assessed(kept.assessed_runs, tmp_path / "results" / "elsewhere")
    found = read_dataset(tmp_path / "results")
    assert found.evolutions == kept.evolutions
    assert {repr(run) for run in found.assessed_runs} == {repr(replace(run, x=())) for run in made.runs}  # seeds make x


@pytest.mark.parametrize(
    "changes", [{"heuristics": (), "fitness": (), "champion": None}, {"finished": False, "ended": None}]
)
def test_an_unfinished_evolution_is_restored(tmp_path, changes):
    results_folder.write_evolution(evolution(**changes), tmp_path)
    assert results_folder.read_evolution(tmp_path) == evolution(**changes)


def test_writing_is_deterministic(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    found = results_folder.read(folder)
    results_folder.write_evolution(found.evolutions[0], other / "one")
    results_folder.write_assessed(found.assessed_runs, other / "one")
    for path in (folder / "one").iterdir():
        assert path.read_bytes() == (other / "one" / path.name).read_bytes()
    assert len(list((folder / "one").iterdir())) == 3


def test_other_programs_can_read_it(folder):
    record = json.loads((folder / "one" / "evolution.json").read_text())
    assert record["format"] == "robustforge-outcome/1"
    assert rf.Heuristic.from_dict(record["champion"]) == rf.heuristic("rpso")
    with gzip.open(folder / "one" / "heuristics.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [evolved.heuristic.id for evolved in evolution().heuristics]
    assert rows[0]["network"] == rf.heuristic("rpso").components()["network"]
    assert float(rows[1]["mean p"]) == 1 + 1 / 3
    with gzip.open(folder / "one" / "assessed.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["value"]) == 1 / 3
    assert [row["name"] for row in rows] == [run.name for run in RUNS]


def test_infinite_fitness_is_valid_json(tmp_path):
    results_folder.write_evolution(evolution(fitness=((1.0, math.inf),)), tmp_path)

    def refuse(word):
        raise ValueError(f"{word} is no JSON")

    json.loads((tmp_path / "evolution.json").read_text(), parse_constant=refuse)


def evolved_for(name, dimension, *problems):
    settings = {"budget": 100, "problems": [{"name": each, "dimension": dimension} for each in problems]}
    evolved = (EvolvedHeuristic(rf.heuristic("rpso"), 0, 1, (0.5,) * len(problems)),)
    return evolution(name, problems=problems, settings=settings, heuristics=evolved)


def test_evolutions_are_sorted_by_variables_and_problem(tmp_path):
    every = [
        evolved_for("z", 5, "rastrigin-5d"),
        evolved_for("b", 5, "ackley-5d"),
        evolved_for("y", 5, "own"),
        evolved_for("x", 5, "rastrigin-5d", "own"),
        evolved_for("a", 30, "sphere-30d"),
    ]
    for each in every:
        results_folder.write_evolution(each, tmp_path / each.name)
    assert [each.name for each in results_folder.read(tmp_path).evolutions] == ["z", "b", "y", "x", "a"]
    assert [each.name for each in read_dataset(tmp_path, ["a", "b"]).evolutions] == ["a", "b"]
    with pytest.raises(UnknownNameError, match="unknown evolution"):
        read_dataset(tmp_path, ["d"])


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(StoreError, match=r"neither evolution.json nor assessed.csv.gz .* `robustforge reproduce`"):
        results_folder.read(tmp_path)


def edited(change):
    """Change the JSON file of an evolution."""

    def damage(folder: Path):
        path = folder / "evolution.json"
        record = json.loads(path.read_text())
        change(record)
        path.write_text(json.dumps(record))

    return damage


def csv_of(name, text):
    return lambda folder: (folder / name).write_bytes(gzip.compress(text.encode()))


DAMAGES = {
    "no JSON": lambda folder: (folder / "evolution.json").write_text("{"),
    "another JSON": lambda folder: (folder / "evolution.json").write_text("[1, 2]"),
    "no text": lambda folder: (folder / "evolution.json").write_bytes(b"\xff\xfe\x00"),
    "another format": edited(lambda record: record.update(format="robustforge-outcome/2")),
    "no settings": edited(lambda record: record.pop("settings")),
    "other problems": edited(lambda record: record["settings"].update(problems=[{"name": "x", "dimension": 3}])),
    "problems that are none": edited(lambda record: record["settings"].update(problems="abc")),
    "empty settings": edited(lambda record: record.update(settings={})),
    "a budget that is none": edited(lambda record: record["settings"].update(budget="many")),
    "a champion that is none": edited(lambda record: record.update(champion={"outer": 3})),
    "a fitness that is none": edited(lambda record: record.update(fitness=[["a", "b"]])),
    "no heuristics": lambda folder: (folder / "heuristics.csv.gz").unlink(),
    "heuristics of another kind": csv_of("heuristics.csv.gz", "id,heuristic\n1,{}\n"),
    "heuristics that are not packed": lambda folder: (folder / "heuristics.csv.gz").write_text("id\n1\n"),
    "runs of another kind": csv_of("assessed.csv.gz", "contestant,name\na,b\n"),
    "runs that are not packed": lambda folder: (folder / "assessed.csv.gz").write_text("a"),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_reported(folder, kind):
    DAMAGES[kind](folder / "one")
    with pytest.raises(StoreError, match="must be valid") as caught:
        read_dataset(folder)
    assert str(folder / "one") in str(caught.value)
    assert "Restore the folder from its source" in str(caught.value)


@pytest.mark.parametrize("name", ["heuristics.csv.gz", "assessed.csv.gz"])
def test_a_truncated_file_is_reported(folder, name):
    whole = (folder / "one" / name).read_bytes()
    for size in (1, 9, 20, len(whole) // 2, len(whole) - 1):
        (folder / "one" / name).write_bytes(whole[:size])
        with pytest.raises(StoreError, match="must be valid"):
            read_dataset(folder)


def test_a_corrupted_byte_is_reported(folder):
    path = folder / "one" / "assessed.csv.gz"
    whole = path.read_bytes()
    for position in range(12, len(whole) - 8, 5):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
        with pytest.raises(StoreError):
            read_dataset(folder)


def test_long_fields_can_be_read(tmp_path):
    bounds = [(-1.0 / (k + 3), 1.0 / (k + 3)) for k in range(4000)]
    problem = json.dumps(rf.Problem(lambda x: 0.0, bounds, rf.Ball(1e-5)).to_dict())
    results_folder.write_assessed([replace(RUNS[1], problem=problem)], tmp_path)
    assert results_folder.read_assessed(tmp_path / "assessed.csv.gz")[0].problem == problem


def test_entries_of_a_wrong_type_are_reported(folder):
    results_folder.write_evolution(evolution("two"), folder / "two")
    edited(lambda record: record.update(begun=3))(folder / "one")
    with pytest.raises(StoreError):
        read_dataset(folder)
