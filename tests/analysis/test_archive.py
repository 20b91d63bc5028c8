"""Results as files: what is read is what was written, byte by byte the same each time, and damage is said."""

from __future__ import annotations

import csv
import gzip
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

import robustforge as rf
from robustforge.analysis import archive, read_evidence
from robustforge.analysis.evidence import Bred, Outcome
from robustforge.errors import StoreError, UnknownNameError
from robustforge.store import CHECKPOINTS, Assessed

SMALL = {"population": 5, "generations": 2, "repeats": 2, "budget": 100, "samples": 50, "final_repeats": 2}

PROBLEM = '{"name": "p", "dimension": 3}'
RUNS = [
    Assessed("id", 'a, "b"\nü', PROBLEM, 100, 50, True, 2**53 - 1, 0, value=1 / 3, attacked=math.inf,
             nominal=5e-324, nfev=99, curve=(math.nan, *(1 / share for share in CHECKPOINTS[1:])), seconds=0.1),
    Assessed("cma-es (pycma 4)", "cma-es", PROBLEM, 100, 50, False, 1, 1, failure="ValueError: no, really"),
]  # fmt: skip


def outcome(name="one", **changes):
    bred = [rf.heuristic(each) for each in ("rpso", "leh", "paper/30d/general")]
    made = Outcome(
        name=name,
        problems=("p", 'q, "r"'),
        settings={"budget": 100, "problems": [{"name": name, "dimension": 3} for name in ("p", 'q, "r"')]},
        grammar={"name": "paper", "restrictions": {}, "fingerprint": "0" * 16},
        bred=tuple(Bred(each, k, 7 + k, (k + 1 / 3, math.inf)) for k, each in enumerate(bred)),
        fitness=((1 / 3, 0.5), (0.1, 0.2)),
        champion=bred[0],
        finished=True,
        runs=12,
        failures=1,
        seconds=0.1,
        begun="2026-01-01",
        ended="2026-01-02",
    )
    return replace(made, **changes)


@pytest.fixture
def folder(tmp_path):
    archive.write_outcome(outcome(), tmp_path / "one")
    archive.write_assessed(RUNS, tmp_path / "one")
    return tmp_path


def test_what_is_read_is_what_was_written(folder):
    found = archive.read(folder)
    assert found.outcomes == (outcome(),)
    assert list(map(repr, found.assessed)) == list(map(repr, RUNS))  # NaN is not equal to itself
    assert found.where == str(folder)
    assert not found.running


def test_an_evolution_comes_back_as_it_was_in_its_store(tmp_path):
    problems = [rf.problem("sphere", 3), rf.problem("ackley", 3)]
    rf.evolve(problems, store=tmp_path / "s.db", name="30d/general", **SMALL)
    made = rf.assess("rpso", problems, runs=2, samples=200, budget=50, store=tmp_path / "s.db")
    kept = read_evidence(tmp_path / "s.db")
    archive.write_outcome(kept.outcomes[0], tmp_path / "results" / "30d" / "general")
    archive.write_assessed(kept.assessed, tmp_path / "results" / "elsewhere")
    found = read_evidence(tmp_path / "results")
    assert found.outcomes == kept.outcomes
    assert {repr(run) for run in found.assessed} == {repr(replace(run, x=())) for run in made.runs}  # seeds make x


@pytest.mark.parametrize("changes", [{"bred": (), "fitness": (), "champion": None}, {"finished": False, "ended": None}])
def test_what_is_not_finished_comes_back_too(tmp_path, changes):
    archive.write_outcome(outcome(**changes), tmp_path)
    assert archive.read_outcome(tmp_path) == outcome(**changes)


def test_written_twice_is_the_same_to_the_byte(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    found = archive.read(folder)
    archive.write_outcome(found.outcomes[0], other / "one")
    archive.write_assessed(found.assessed, other / "one")
    for path in (folder / "one").iterdir():
        assert path.read_bytes() == (other / "one" / path.name).read_bytes()
    assert len(list((folder / "one").iterdir())) == 3


def test_other_programs_can_read_it(folder):
    record = json.loads((folder / "one" / "evolution.json").read_text())
    assert record["format"] == "robustforge-outcome/1"
    assert rf.Heuristic.from_dict(record["champion"]) == rf.heuristic("rpso")
    with gzip.open(folder / "one" / "heuristics.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [bred.heuristic.id for bred in outcome().bred]
    assert rows[0]["network"] == rf.heuristic("rpso").components()["network"]
    assert float(rows[1]["mean p"]) == 1 + 1 / 3
    with gzip.open(folder / "one" / "assessed.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["value"]) == 1 / 3
    assert [row["name"] for row in rows] == [run.name for run in RUNS]


def test_also_where_heuristics_failed(tmp_path):
    archive.write_outcome(outcome(fitness=((1.0, math.inf),)), tmp_path)

    def refuse(word):
        raise ValueError(f"{word} is no JSON")

    json.loads((tmp_path / "evolution.json").read_text(), parse_constant=refuse)


def bred_for(name, dimension, *problems):
    settings = {"budget": 100, "problems": [{"name": each, "dimension": dimension} for each in problems]}
    bred = (Bred(rf.heuristic("rpso"), 0, 1, (0.5,) * len(problems)),)
    return outcome(name, problems=problems, settings=settings, bred=bred)


def test_evolutions_come_by_variables_and_problem_whatever_the_folders_are_called(tmp_path):
    every = [
        bred_for("z", 5, "rastrigin-5d"),
        bred_for("b", 5, "ackley-5d"),
        bred_for("y", 5, "own"),
        bred_for("x", 5, "rastrigin-5d", "own"),
        bred_for("a", 30, "sphere-30d"),
    ]
    for each in every:
        archive.write_outcome(each, tmp_path / each.name)
    assert [each.name for each in archive.read(tmp_path).outcomes] == ["z", "b", "y", "x", "a"]
    assert [each.name for each in read_evidence(tmp_path, ["a", "b"]).outcomes] == ["a", "b"]
    with pytest.raises(UnknownNameError, match="run in this folder"):
        read_evidence(tmp_path, ["d"])


def test_an_empty_folder_is_said(tmp_path):
    with pytest.raises(StoreError, match=r"neither evolution.json nor assessed.csv.gz .* `robustforge reproduce`"):
        archive.read(tmp_path)


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
def test_damage_is_said(folder, kind):
    DAMAGES[kind](folder / "one")
    with pytest.raises(StoreError, match="must be in order") as caught:
        read_evidence(folder)
    assert str(folder / "one") in str(caught.value)
    assert "Take the folder from its source again" in str(caught.value)


@pytest.mark.parametrize("name", ["heuristics.csv.gz", "assessed.csv.gz"])
def test_a_file_that_was_cut_off_is_said(folder, name):
    whole = (folder / "one" / name).read_bytes()
    for size in (1, 9, 20, len(whole) // 2, len(whole) - 1):
        (folder / "one" / name).write_bytes(whole[:size])
        with pytest.raises(StoreError, match="must be in order"):
            read_evidence(folder)


def test_a_file_with_a_wrong_byte_is_said(folder):
    path = folder / "one" / "assessed.csv.gz"
    whole = path.read_bytes()
    for place in range(12, len(whole) - 8, 5):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with pytest.raises(StoreError):
            read_evidence(folder)


def test_what_can_be_written_can_be_read_however_long(tmp_path):
    bounds = [(-1.0 / (k + 3), 1.0 / (k + 3)) for k in range(4000)]
    problem = json.dumps(rf.Problem(lambda x: 0.0, bounds, rf.Ball(1e-5)).to_dict())
    archive.write_assessed([replace(RUNS[1], problem=problem)], tmp_path)
    assert archive.read_assessed(tmp_path / "assessed.csv.gz")[0].problem == problem


def test_entries_of_another_kind_are_said(folder):
    archive.write_outcome(outcome("two"), folder / "two")
    edited(lambda record: record.update(begun=3))(folder / "one")
    with pytest.raises(StoreError):
        read_evidence(folder)
