"""Heuristics as JSON: what is read back, what is refused, and that nothing is executed or forgotten."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys

import pytest

import robustforge as rf
from robustforge.components import NoClamp, RangeClamp
from robustforge.errors import HeuristicError, RobustforgeError, UnknownNameError

GOOD = json.loads(rf.heuristic("paper/100d/general").to_json())


def broken(path: str, value: object) -> str:
    data = copy.deepcopy(GOOD)
    place = data
    *heads, last = path.split(".")
    for key in heads:
        place = place[key]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("outer.swarm_size", 51, "from 2 to 50"),
        ("outer.swarm_size", 2.5, "an integer"),
        ("outer.swarm_size", "8", "an integer"),
        ("outer.swarm_size", True, "an integer"),
        ("outer.swarm_size", float("nan"), "an integer"),
        ("outer.capability.baseline.omega", -0.1, "from 0 to 1"),
        ("outer.capability.movement.descent.r3", "sometimes", "one of"),
        ("outer.capability.movement.descent.c3", KeyError, "must have a field 'c3'"),
        ("outer.network.type", "Rng", "Ring"),
        ("outer.network.type", KeyError, 'must have a "type"'),
        ("outer.network.type", 7, "unknown type for outer.network"),
        ("outer.network", [], "must be a JSON object"),
        ("outer.speed", 3, "'speed'"),
        ("inner.stopping", 1, "one of True, False"),
        ("inner.stopping", "Yes", "one of True, False"),
        ("format", "robustforge-heuristic/9", "format"),
        ("format", KeyError, "format"),
    ],
)
def test_what_is_refused(path, value, words):
    with pytest.raises(RobustforgeError, match=words):
        rf.Heuristic.from_json(broken(path, value))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", '"rpso"', "[" * 100_000])
def test_what_is_no_heuristic_at_all(text):
    with pytest.raises(HeuristicError):
        rf.Heuristic.from_json(text)


def test_constriction_needs_more_than_four():
    data = json.loads(rf.heuristic("paper/30d/rosenbrock").to_json())
    data["outer"]["capability"]["baseline"].update(c1=1.5, c2=2.0)
    with pytest.raises(HeuristicError, match="above 4"):
        rf.Heuristic.from_json(json.dumps(data))


def test_files(tmp_path):
    chosen = rf.heuristic("rpso+dd+leh")
    path = tmp_path / "mine.json"
    chosen.save(path)
    assert rf.heuristic(path) == rf.heuristic(str(path)) == chosen
    with pytest.raises(HeuristicError, match="readable file"):
        rf.heuristic(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(HeuristicError):
        rf.heuristic(tmp_path / "binary.json")
    (tmp_path / "huge.json").write_text(" " * 2_000_000)
    with pytest.raises(HeuristicError, match="small"):
        rf.heuristic(tmp_path / "huge.json")


def test_unknown_names_have_suggestions():
    with pytest.raises(UnknownNameError, match="'rpso\\+dd'"):
        rf.heuristic("rpso-dd")


@pytest.mark.parametrize("name", rf.heuristics())
def test_every_preset_loads_prints_and_compares(name):
    chosen = rf.heuristic(name)
    assert chosen == rf.Heuristic.from_json(chosen.to_json())
    assert re.search("worst case of a candidate|value of a candidate by one evaluation", str(chosen))
    assert set(chosen.components()) >= {"group", "network", "movement", "relocation"}


def test_there_are_the_promised_presets():
    names = set(rf.heuristics())
    assert {"rpso", "rpso+dd", "rpso+leh", "rpso+dd+leh", "descent-directions", "leh"} <= names
    assert sum(name.startswith("paper/") for name in names) == 22


PAPER = {  # the structures of the paper's best heuristics, from its tables of component breakdowns
    "30d/rastrigin": "2 Random sampling DD+LEH Global 48 Yes Yes Yes None Inertia LEH unity",
    "30d/multipeak-f1": "21 Random sampling DD+LEH Global 4 Yes No Yes Uniform Inertia LEH unity",
    "30d/branke": "9 Random sampling DD Hierarchical 4 Yes na Yes Uniform Inertia na random",
    "30d/sawtooth": "10 Random sampling LEH Global 6 Yes No Yes Gaussian Inertia LEH na",
    "30d/rosenbrock": "9 Random sampling DD+LEH Global 6 Yes Yes No None Constriction LEH unity",
    "30d/general": "4 Random sampling DD Ring 4 Yes na Yes Gaussian Inertia na unity",
    "100d/branke": "15 In PSO LEH Hierarchical 4 Yes No No Uniform Inertia LEH na",
    "100d/sawtooth": "21 Random sampling DD+LEH 2D von Neumann 4 Yes Yes Yes Gaussian Inertia LEH unity",
    "100d/ackley": "11 In PSO DD+LEH Global 4 Yes Yes Yes None Inertia LEH random",
    "100d/general": "8 Random sampling DD+LEH Global 4 Yes Yes Yes None Inertia LEH unity",
}


@pytest.mark.parametrize("name", PAPER)
def test_presets_have_the_structures_of_the_paper(name):
    chosen = rf.heuristic(f"paper/{name}")
    parts = chosen.components()
    extent = str(chosen.inner_budget(2000))
    order = ("group", "inner", "movement", "network")
    rest = ("stopping", "n_dorm", "n_pbest", "mutation", "baseline", "relocation", "r3")
    row = [*(parts[k] for k in order), extent, *(parts[k] for k in rest)]
    assert " ".join(row).replace("LEH relocation", "LEH") == PAPER[name]


def test_an_extension_at_rest_leaves_no_trace():
    """The velocity clamp came after the paper's grammar: without it a heuristic is what it was."""
    chosen = rf.heuristic("paper/30d/general")
    assert chosen.outer.capability.clamp == NoClamp()
    assert "clamp" not in chosen.to_json()
    clamped = chosen.replace(
        outer=chosen.outer.replace(capability=chosen.outer.capability.replace(clamp=RangeClamp(0.05)))
    )
    assert clamped.id != chosen.id
    assert rf.Heuristic.from_json(clamped.to_json()) == clamped


def test_identity_is_stable():
    """The hash of a heuristic names it in stores and files; it must never change for the same heuristic."""
    text = rf.heuristic("rpso").to_json()
    assert rf.Heuristic.from_json(text).id == rf.heuristic("rpso").id
    shuffled = json.dumps(dict(reversed(json.loads(text).items())))
    assert rf.Heuristic.from_json(shuffled).id == rf.heuristic("rpso").id


def test_the_hash_is_the_same_in_every_process():
    program = "import robustforge as rf; print(hash(rf.heuristic('rpso+dd')))"
    hashes = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert hashes == {str(hash(rf.heuristic("rpso+dd")))}
