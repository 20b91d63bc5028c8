"""`show`: trees, descriptions and pseudocode."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from cli_runner import as_json, run

import robustforge as rf
from robustforge.representation.derivation_tree import nodes
from robustforge.representation.letter import letter_variant
from robustforge.representation.pseudocode import pseudocode


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def test_show_has_tree_description_and_pseudocode():
    chosen = rf.heuristic("rpso+dd+leh")
    shown = run("show", "rpso+dd+leh", "--budget", "3000").stdout
    words = [line.removeprefix("- ") for line in chosen.describe(3000).splitlines()]
    assert all(line in re.sub(r"\s+", " ", shown) for line in words)
    assert all(f"  {line}".rstrip() in shown.splitlines() for line in pseudocode(chosen, 3000).splitlines())
    assert shown.startswith(
        """\
rpso+dd+leh  id 58df3d03544db453
Interpretation of the paper: default

  Start
  ├── Outer: Swarm  swarm_size 10
  │   ├── Mutation: None
  │   ├── Network: Global
  │   └── Capability
  │       ├── Baseline: Inertia  c1 1  c2 1  omega 0.6
  │       └── Movement: DD+LEH
  │           ├── Descent Directions  c3 1  sigma 0.25  sigma_limit 0.001
  │           │     min_step 0.1  r3 random
  │           └── Relocation: LEH relocation  population_size 10
  │                 mutation_probability 0.1  amplitude 0.2  elites 1
  │                 tournament_size 2  dorm 3
  └── Inner  extent 0.1  n_dorm yes  n_pbest yes  stopping yes
      └── Inner Form: Random sampling
"""
    )


def test_json_has_every_form():
    chosen, record = rf.heuristic("paper/30d/general"), as_json("show", "paper/30d/general", "--budget", "500")
    assert (record["name"], record["id"], record["budget"]) == ("paper/30d/general", chosen.id, 500)
    assert record["description"] == chosen.describe(500)
    assert record["pseudocode"] == pseudocode(chosen, 500)
    assert record["components"] == chosen.components()
    assert rf.Heuristic.from_json(json.dumps(record["heuristic"])) == chosen


def test_show_has_the_interpretation_of_the_paper(tmp_path):
    shown = re.sub(r"\s+", " ", run("show", "champion/30d/general").stdout)
    assert "Interpretation of the paper: mixed (a particle is not its own neighbour" in shown
    letter_variant(rf.heuristic("paper/30d/general")).save(tmp_path / "letter.json")
    record = as_json("show", str(tmp_path / "letter.json"))
    assert record["interpretation"] == "letter"
    assert "an inner search has at least 4 points" in record["departures"]
    shown = re.sub(r"\s+", " ", run("show", str(tmp_path / "letter.json")).stdout)
    assert "Interpretation of the paper: letter (a particle is not" in shown
    assert "- in the letter's interpretation of the paper: initial velocities" in shown


def test_a_saved_heuristic_is_shown_like_its_preset(tmp_path):
    path, again = tmp_path / "mine.json", tmp_path / "again.json"
    assert str(path) in run("show", "rpso+dd", "-o", str(path)).stdout.replace("\n", "")
    assert path.read_text() == rf.heuristic("rpso+dd").to_json()
    record = as_json("show", str(path), "-o", str(again))
    assert again.read_text() == path.read_text()
    assert {**record, "name": "rpso+dd"} == as_json("show", "rpso+dd")


def values_and_symbols(node):
    """Return all values in a tree as `show --json` has it, and all its symbols with their choices."""
    values, symbols = list(node["values"].items()), [(node["symbol"], node["choice"])]
    for below in node["nodes"]:
        more, names = values_and_symbols(below)
        values, symbols = values + more, symbols + names
    return values, symbols


@pytest.mark.parametrize("seed", range(20))
def test_the_tree_has_every_parameter_that_is_not_default(seed, tmp_path):
    grammar = rf.grammar("extended")
    chosen = grammar.random(np.random.default_rng(seed))
    chosen.save(tmp_path / "drawn.json")
    shown = run("show", str(tmp_path / "drawn.json")).stdout
    values, symbols = values_and_symbols(as_json("show", str(tmp_path / "drawn.json"))["tree"])
    leaves = [(path[-1], field, value) for path, field, value in nodes(chosen) if not field.is_component]
    found = [(name, value) for name, field, value in leaves if not (field.optional and value == field.default)]
    assert sorted(map(str, values)) == sorted(map(str, found))
    assert {name for name, _ in symbols} <= {rule.symbol for rule in grammar.rules}
    assert ("Clamp", "None") not in symbols
    assert all(symbol in shown and (choice or "") in shown for symbol, choice in symbols)
    assert max(map(len, shown.splitlines())) <= 80
