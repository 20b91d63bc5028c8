"""`show` and `grammar` as a user meets them: trees, words, pseudo-code, production rules, restrictions."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from test_cli import as_json, run

import robustforge as rf
from robustforge import cli
from robustforge.heuristic.listing import listing
from robustforge.heuristic.tree import nodes


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


# --- show


def test_show_has_a_tree_words_and_pseudo_code():
    chosen = rf.heuristic("rpso+dd+leh")
    shown = run("show", "rpso+dd+leh", "--budget", "3000").stdout
    words = [line.removeprefix("- ") for line in chosen.describe(3000).splitlines()]
    assert all(line in re.sub(r"\s+", " ", shown) for line in words)
    assert all(f"  {line}".rstrip() in shown.splitlines() for line in listing(chosen, 3000).splitlines())
    assert shown.startswith(
        """\
rpso+dd+leh  id 58df3d03544db453

  Start
  ├── Outer: Swarm  group 10
  │   ├── Mutation: None
  │   ├── Network: Global
  │   └── Capability
  │       ├── Baseline: Inertia  c1 1  c2 1  omega 0.6
  │       └── Movement: DD+LEH
  │           ├── Descent Directions  c3 1  sigma 0.25  sigma_limit 0.001
  │           │     min_step 0.1  r3 random
  │           └── Relocation: LEH relocation  population 10  mutation 0.1
  │                 amplitude 0.2  elites 1  tour 2  dorm 3
  └── Inner  extent 0.1  n_dorm yes  n_pbest yes  stopping yes
      └── Inner Form: Random sampling

In words
"""
    )


def test_json_has_every_form():
    chosen, record = rf.heuristic("paper/30d/general"), as_json("show", "paper/30d/general", "--budget", "500")
    assert (record["name"], record["id"], record["budget"]) == ("paper/30d/general", chosen.id, 500)
    assert record["words"] == chosen.describe(500)
    assert record["listing"] == listing(chosen, 500)
    assert record["components"] == chosen.components()
    assert rf.Heuristic.from_json(json.dumps(record["heuristic"])) == chosen


def test_a_file_is_shown_as_its_preset_and_saved_as_it_is(tmp_path):
    path, again = tmp_path / "mine.json", tmp_path / "again.json"
    assert str(path) in run("show", "rpso+dd", "-o", str(path)).stdout.replace("\n", "")
    assert path.read_text() == rf.heuristic("rpso+dd").to_json()
    record = as_json("show", str(path), "-o", str(again))
    assert again.read_text() == path.read_text()
    assert {**record, "name": "rpso+dd"} == as_json("show", "rpso+dd")


def flat(node):
    """Return all values in a tree as `show --json` has it, and all its symbols with their choices."""
    values, symbols = list(node["values"].items()), [(node["symbol"], node["choice"])]
    for below in node["nodes"]:
        more, names = flat(below)
        values, symbols = values + more, symbols + names
    return values, symbols


@pytest.mark.parametrize("seed", range(20))
def test_every_leaf_is_in_the_tree_but_what_is_at_rest(seed, tmp_path):
    grammar = rf.grammar("extended")
    chosen = grammar.random(np.random.default_rng(seed))
    chosen.save(tmp_path / "drawn.json")
    shown = run("show", str(tmp_path / "drawn.json")).stdout
    values, symbols = flat(as_json("show", str(tmp_path / "drawn.json"))["tree"])
    leaves = [(path[-1], field, value) for path, field, value in nodes(chosen) if not field.is_component]
    found = [(name, value) for name, field, value in leaves if not (field.optional and value == field.default)]
    assert sorted(map(str, values)) == sorted(map(str, found))
    assert {name for name, _ in symbols} <= {rule.symbol for rule in grammar.rules}
    assert ("Clamp", "None") not in symbols
    assert all(symbol in shown and (choice or "") in shown for symbol, choice in symbols)
    assert max(map(len, shown.splitlines())) <= 80


# --- grammar


@pytest.mark.parametrize("name", ["paper", "extended"])
def test_grammar_prints_every_rule(name):
    made, record, shown = rf.grammar(name), as_json("grammar", name), run("grammar", name).stdout
    assert record == {**json.loads(json.dumps(made.to_dict())), "cut_points": [".".join(p) for p in made.cut_points]}
    together = re.sub(r"\s+", " ", shown)
    for rule in made.rules:
        assert f"<{rule.symbol}>" in shown
        if rule.productions:
            assert f"<{rule.symbol}> ::= {rule}" in together
    assert made.fingerprint in shown
    assert f"cut points {len(made.cut_points)}: outer," in together


def test_the_paper_comes_first():
    assert as_json("grammar") == as_json("grammar", "paper")
    assert len(as_json("grammar")["cut_points"]) == 13


def test_alternatives_stand_below_each_other():
    shown = run("grammar").stdout
    assert """\
  <Mutation>           ::= None
                         | Uniform <probability> <Uniform amplitude>
                         | Gaussian <probability> <Gaussian amplitude>
""" in shown  # fmt: skip


def test_values_have_their_ranges():
    shown = run("grammar", "--fix", "dorm=4").stdout
    for line in (
        "<group>  integer 2 to 50  particles",
        "<sigma_limit>  0.0001 to 0.1 log  where halving sigma ends",
        "<r3>  random | unity  whether each",
        "<dorm>  integer 4  idle",
    ):
        assert re.search(re.escape(line).replace(r"\ \ ", r" {2,}"), shown), line


def test_restrictions_reach_the_grammar():
    options = ["--only", "network=Ring", "--only", "network=global", "--without", "leh", "--fix", "Swarm.group=20"]
    record = as_json("grammar", "extended", *options, "--fix", "c3=0.5:2")
    wanted = rf.grammar(
        "extended", only={"network": ["Ring", "Global"]}, without=["leh"], fix={"Swarm.group": 20, "c3": (0.5, 2)}
    )
    assert record["fingerprint"] == wanted.fingerprint
    assert record["fingerprint"] != rf.grammar("extended").fingerprint
    shown = run("grammar", "extended", *options).stdout
    assert "<Network>            ::= Ring <itself> | Global\n" in shown
    assert re.search(r"only +network=Ring,global\n +without +leh\n +fix +Swarm.group=20\n", shown)


def test_an_alternative_named_twice_is_there_once():
    once = as_json("grammar", "--only", "network=ring")
    assert as_json("grammar", "--only", "network=ring,Ring", "--only", "network=ring")["rules"] == once["rules"]


def test_grammar_options_can_be_put_on_any_command():
    names = {"only", "without", "fix"}
    assert names <= {parameter.name for parameter in cli.main.commands["grammar"].params}
    assert names <= {parameter.name for parameter in cli.main.commands["evolve"].params}
