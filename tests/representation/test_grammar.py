"""The grammar: derived from the classes, the paper's as it stands, restricted as asked."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robustforge as rf
from robustforge.components import Clamp, Network, Outer
from robustforge.representation.derivation_tree import branch, nodes, replaced
from robustforge.representation.grammar import GRAMMARS, kinds
from robustforge.representation.restriction import present_name

PAPER_FINGERPRINT = "6c99f2227a6ecbd6"
LETTER_FINGERPRINT = "ced61943a4c08ed9"
FORMER_FINGERPRINT = "ea70d70594e69a7a"
EXTENDED_FINGERPRINT = "d5ed16e64e729dfc"


def test_the_papers_grammar_stays_as_it_is():
    """A component that is added later must say `extension`; this is what notices if it does not."""
    assert rf.grammar("paper").fingerprint == PAPER_FINGERPRINT
    assert rf.grammar("letter").fingerprint == LETTER_FINGERPRINT


def test_the_grammar_called_paper_up_to_release_0_2_stays_readable():
    """Evolutions of that grammar are published, and can be resumed under its present name."""
    assert rf.grammar("paper-0.2").fingerprint == FORMER_FINGERPRINT
    assert present_name({"name": "paper", "fingerprint": FORMER_FINGERPRINT}) == "paper-0.2"
    assert present_name(rf.grammar("paper").to_dict()) == "paper"
    narrow = {"fix": {"order": "in turn", "itself": False}}
    stored = {"name": "paper", "restrictions": narrow, "fingerprint": rf.grammar("paper-0.2", **narrow).fingerprint}
    assert present_name(stored) == "paper-0.2"
    assert present_name({"name": "paper", "restrictions": {"fix": {"gone": 1}}, "fingerprint": "0"}) == "paper"


def test_the_extended_grammar_keeps_its_order():
    """Seeds derive by position. A change here needs an entry in the changelog: stored evolutions cannot be resumed."""
    assert rf.grammar("extended").fingerprint == EXTENDED_FINGERPRINT


@pytest.mark.parametrize("slot", [kind for kind in kinds() if kind.is_slot], ids=lambda slot: slot.__name__)
def test_the_order_of_alternatives_does_not_depend_on_imports(slot):
    places = [(part.rank, part.__module__) for part in slot.alternatives()]
    assert len({rank for rank, _ in places}) >= len({module for _, module in places})
    assert len(set(places)) == len({rank for rank, _ in places})


@pytest.mark.parametrize("name", ["paper", "letter", "paper-0.2"])
def test_the_papers_crossover_points(name):
    names = [".".join(path) for path in rf.grammar(name).crossover_points]
    assert names == [
        "outer",
        "outer.swarm_size",
        "outer.mutation",
        "outer.network",
        "outer.capability",
        "outer.capability.baseline",
        "outer.capability.movement",
        "inner",
        "inner.extent",
        "inner.form",
        "inner.n_dorm",
        "inner.n_pbest",
        "inner.stopping",
    ]


def test_the_papers_rules():
    rules = {rule.symbol: str(rule) for rule in rf.grammar("paper").rules}
    assert rules["Start"] == "<Outer> <Inner>"
    assert rules["Outer"] == "Swarm <swarm_size> <Mutation> <Network> <Capability>"
    assert rules["Capability"] == "<Baseline> <Movement>"  # no clamp, which came later
    assert rules["Network"] == "Global | Focal | Ring | 2D von Neumann | Clan | Cluster | Hierarchical"
    assert rules["swarm_size"] == "integer 2 to 50"
    assert rules["stopping"] == "yes | no"
    assert rules["Mutation"] == "None | Uniform <probability> | Gaussian <probability>"  # no amplitude in the paper
    assert rules["Relocation"].endswith("| Random relocation")  # "does not use any additional parameters"


def test_a_grammar_prints_as_its_rules():
    lines = str(rf.grammar("paper")).splitlines()
    assert lines[0].split(" ::= ")[1] == "<Outer> <Inner>"
    assert len(lines) == len(rf.grammar("paper").rules)
    assert len({line.index("::=") for line in lines}) == 1


def test_the_extended_grammar_has_what_was_added():
    grammar = rf.grammar("extended")
    assert {part.title for part in grammar.alternatives(Outer)} >= {"Swarm", "Descent search", "LEH search"}
    assert len(grammar.alternatives(Clamp)) > 1
    assert [".".join(path) for path in grammar.crossover_points][:3] == ["outer", "inner", "inner.extent"]
    assert grammar.fingerprint != PAPER_FINGERPRINT


def test_the_order_of_searches_does_not_change_unseen():
    """Searches stand in files of their own, and the order of imports decides what a seed derives."""
    names = [part.__name__ for part in rf.grammar("extended").alternatives(Outer)]
    assert names[:3] == ["Swarm", "DescentSearch", "LehSearch"]
    assert names[3:] == ["CoordinateSearch", "GradientSearch", "RegressionSearch", "EvolutionStrategy"]
    expensive = [part.__name__ for part in rf.grammar("expensive").alternatives(Outer)]
    assert expensive == [*names, "EmulatorSearch"]


@pytest.mark.parametrize("name", GRAMMARS)
def test_every_symbol_has_a_rule(name):
    grammar = rf.grammar(name)
    symbols = [rule.symbol for rule in grammar.rules]
    assert len(set(symbols)) == len(symbols)
    for rule in grammar.rules:
        for production in rule.productions:
            assert set(production.symbols) <= set(symbols)
    assert json.loads(json.dumps(grammar.to_dict()))["start"] == symbols[0] == "Start"


@given(st.integers(0, 10**6), st.sampled_from(list(GRAMMARS)))
@settings(max_examples=100, deadline=None)
def test_what_a_grammar_derives_it_holds(seed, name):
    made = rf.grammar(name).random(np.random.default_rng(seed))
    assert rf.grammar(name).holds(made)
    assert rf.grammar("expensive").holds(made.replace(interpretation=rf.Interpretation()))


def test_a_restricted_grammar_derives_nothing_else():
    grammar = rf.grammar(
        "paper", only={"network": ["global", "RING"]}, without=["leh"], fix={"group": (10, 12), "stopping": True}
    )
    rng = np.random.default_rng(1)
    groups = set()
    for _ in range(200):
        made = grammar.random(rng)
        assert made.outer.network.title in ("Global", "Ring")
        assert made.outer.movement.title in ("{}", "DD")
        assert made.inner.stopping
        assert grammar.holds(made)
        groups.add(made.outer.agents)
    assert groups == {10, 11, 12}
    assert ("inner", "stopping") not in grammar.crossover_points  # nothing to choose there
    assert not all(grammar.holds(rf.grammar("paper").random(rng)) for _ in range(50))


def test_one_slot_alone_can_lose_an_alternative():
    grammar = rf.grammar("extended", without=["mutation=none"])
    titles = {part.title for part in grammar.alternatives(Clamp)}
    assert "None" in titles
    rng = np.random.default_rng(1)
    swarms = [made.outer for made in (grammar.random(rng) for _ in range(100)) if made.outer.title == "Swarm"]
    assert all(swarm.mutation.title != "None" for swarm in swarms)


def test_what_needs_something_that_is_left_out_is_left_out_too():
    grammar = rf.grammar("paper", without=["leh relocation", "random relocation"])
    rules = {rule.symbol: str(rule) for rule in grammar.rules}
    assert rules["Movement"] == "{} | DD <Descent Directions>"
    assert "Relocation" not in rules


def test_names_to_leave_out_can_be_listed():
    for without in (["dd,leh"], ["dd", "leh"], "dd, leh"):
        rules = {rule.symbol: str(rule) for rule in rf.grammar("paper", without=without).rules}
        assert rules["Movement"] == "{}"


def test_a_field_of_what_is_left_needs_no_owner():
    only = {"baseline": ["Constriction"], "form": ["Random sampling"]}
    assert (
        rf.grammar("paper", only=only, fix={"c1": 3.5}).random(np.random.default_rng(1)).outer.capability.baseline.c1
        == 3.5
    )


def test_equal_restrictions_have_equal_fingerprints():
    one = rf.grammar("paper", only={"network": ["Ring"]}, fix={"c3": "1.5"})
    other = rf.grammar("paper", only={"NETWORK": "ring"}, fix={"C3": 1.5})
    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != rf.grammar("paper", only={"network": ["Ring"]}).fingerprint


@pytest.mark.parametrize(
    ("restriction", "words"),
    [
        ({"without": ["swarm"]}, "nothing is left for: outer"),
        ({"only": {"network": []}}, "nothing is left for: "),
        ({"only": {"netwrk": ["Ring"]}}, "did you mean 'network'"),
        ({"only": {"network": ["Rong"]}}, "choice for network"),
        ({"without": ["swarn"]}, " 'swarn'; "),
        ({"without": ["leh"], "only": {"relocation": ["Random relocation"]}}, "contradict"),
        ({"without": ["dd"], "fix": {"c3": 1}}, "'fix c3' refers to something excluded by another restriction"),
        ({"fix": {"group": 1}}, "from 2 to 50"),
        ({"fix": {"group": 2.5}}, "an integer from 2 to 50"),
        ({"fix": {"group": (20, 10)}}, "an integer from 2 to 50"),
        ({"fix": {"group": "many"}}, "got 'many'"),
        ({"fix": {"stopping": 1}}, "yes or no"),
        ({"fix": {"grup": 5}}, " 'grup'"),
        ({"fix": {"group": None}}, "from 2 to 50"),
        ({"fix": {"network": "ring"}}, "--only network"),
        ({"only": ["network"]}, "must be a dict"),
        ({"only": {"outer": ["LEH search"]}}, "--grammar extended"),
        ({"fix": {"population": 5}}, "Specify which: LEH relocation.population_size, In GA.population_fraction"),
        ({"fix": {"constriction.c1": 1, "constriction.c2": 2}}, "compatible field values"),
    ],
)
def test_a_wrong_restriction_says_what_is_wrong(restriction, words):
    with pytest.raises(rf.RobustforgeError, match=words):
        rf.grammar("paper", **restriction)


def test_an_unknown_grammar_is_named():
    with pytest.raises(rf.RobustforgeError, match="'papper'"):
        rf.grammar("papper")


def test_trees_are_changed_in_one_place_only():
    before = rf.heuristic("rpso+dd")
    after = replaced(before, ("outer", "capability", "baseline", "c1"), 0.25)
    assert branch(after, ("outer", "capability", "baseline", "c1")) == 0.25
    differing = [
        path for (path, _, one), (_, _, other) in zip(nodes(before), nodes(after), strict=True) if one != other
    ]
    assert differing == [("outer", "capability", "baseline", "c1")[:k] for k in (1, 2, 3, 4)]
    assert after.inner is before.inner
    with pytest.raises(rf.RobustforgeError):
        replaced(before, ("outer", "swarm_size"), 1)


def test_a_component_from_elsewhere_enters_the_extended_grammar_only():
    assert all(not part.extension for part in rf.grammar("paper").alternatives(Network))
