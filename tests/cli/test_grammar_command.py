"""`grammar`: production rules and restrictions."""

from __future__ import annotations

import json
import re

import pytest
from cli_runner import as_json, run

import robustforge as rf
from robustforge import cli


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("name", ["paper", "letter", "extended"])
def test_grammar_prints_every_rule(name):
    made, record, shown = rf.grammar(name), as_json("grammar", name), run("grammar", name).stdout
    assert record == {
        **json.loads(json.dumps(made.to_dict())),
        "crossover_points": [".".join(p) for p in made.crossover_points],
    }
    together = re.sub(r"\s+", " ", shown)
    for rule in made.rules:
        assert f"<{rule.symbol}>" in shown
        if rule.productions:
            assert f"<{rule.symbol}> ::= {rule}" in together
    assert made.fingerprint in shown
    for key in made.constants:
        assert key in together
    assert f"crossover points {len(made.crossover_points)}: outer," in together


def test_the_default_is_the_grammar_of_the_paper():
    assert as_json("grammar") == as_json("grammar", "paper")
    assert len(as_json("grammar")["crossover_points"]) == 13


def test_long_alternatives_have_lines_of_their_own():
    shown = run("grammar").stdout
    assert """\
  <Mutation>           ::= None
                         | Uniform <probability>
                         | Gaussian <probability>
""" in shown  # fmt: skip


def test_parameters_have_ranges():
    shown = run("grammar", "--fix", "dorm=4").stdout
    for line in (
        "<swarm_size>  integer 2 to 50  particles",
        "<sigma_limit>  0.0001 to 0.1 log  smallest sigma",
        "<r3>  random | unity  whether each",
        "<dorm>  integer 4  idle",
    ):
        assert re.search(re.escape(line).replace(r"\ \ ", r" {2,}"), shown), line


def test_restrictions_reach_the_grammar():
    options = ["--only", "network=Ring", "--only", "network=global", "--without", "leh", "--fix", "Swarm.swarm_size=20"]
    record = as_json("grammar", "extended", *options, "--fix", "c3=0.5:2")
    wanted = rf.grammar(
        "extended", only={"network": ["Ring", "Global"]}, without=["leh"], fix={"Swarm.swarm_size": 20, "c3": (0.5, 2)}
    )
    assert record["fingerprint"] == wanted.fingerprint
    assert record["fingerprint"] != rf.grammar("extended").fingerprint
    shown = run("grammar", "extended", *options).stdout
    assert "<Network>            ::= Ring <include_self> | Global\n" in shown
    assert re.search(r"only +network=Ring,global\n +without +leh\n +fix +Swarm.swarm_size=20\n", shown)


def test_a_repeated_alternative_counts_once():
    once = as_json("grammar", "--only", "network=ring")
    assert as_json("grammar", "--only", "network=ring,Ring", "--only", "network=ring")["rules"] == once["rules"]


def test_evolve_has_the_same_restrictions():
    names = {"only", "without", "fix"}
    assert names <= {parameter.name for parameter in cli.main.load("grammar").params}
    assert names <= {parameter.name for parameter in cli.main.load("evolve").params}
