"""The paper to the letter: an interpretation that is a part of heuristics, a grammar, and how both are told."""

from __future__ import annotations

import hashlib
import json
import re

import numpy as np
import pytest

import robustforge as rf
from robustforge.components import Clan, GaussianMutation, RandomRelocation, Ring, UniformMutation, VonNeumann
from robustforge.core.component import Component, parts
from robustforge.errors import HeuristicError
from robustforge.evolution.operators import initial_population, next_generation
from robustforge.evolution.settings import Settings
from robustforge.representation.letter import departures, interpretation_name, letter_variant
from robustforge.representation.pseudocode import pseudocode

LETTER = rf.grammar("letter")
PARAMETERS = {
    "swarm_size": "Group",
    "probability": "Prob Mutate",
    "Inertia c1": "C1",
    "Inertia c2": "C2",
    "Constriction c1": "C1",
    "Constriction c2": "C2",
    "omega": "omega, In omega",
    "c3": "C3",
    "sigma": "sigma",
    "sigma_limit": "sigma limit",
    "min_step": "Min step",
    "r3": "r3",
    "population_size": "lpop",
    "mutation_probability": "lmutP, In mutP",
    "amplitude": "lmutA, In mutA",
    "elites": "lelites",
    "tournament_size": "ltour",
    "dorm": "Dorm",
    "extent": "In Ext",
    "swarm_fraction": "In Swarm",
    "In PSO c1": "In C1",
    "In PSO c2": "In C2",
    "population_fraction": "In pop",
    "elite_fraction": "In elites",
    "tournament_fraction": "In tour",
    "n_dorm": "nDorm",
    "n_pbest": "nPBest",
    "stopping": "Stopping",
}
"""The parameters of the paper's grammar, by their names here: all that Sections 4.2.1 to 4.2.9 mention."""


def drawn(count: int = 200) -> list[rf.Heuristic]:
    rng = np.random.default_rng(1)
    return [LETTER.random(rng) for _ in range(count)]


@pytest.mark.parametrize("name", ["paper", "letter"])
def test_a_grammar_of_the_paper_has_the_papers_parameters_only(name):
    assert {rule.symbol for rule in rf.grammar(name).rules if not rule.productions} == set(PARAMETERS)
    assert str(rf.grammar(name)) == str(LETTER)


def has_the_letters_values(part: Component) -> bool:
    match part:
        case UniformMutation() | GaussianMutation():
            return part.amplitude == 0.1
        case RandomRelocation():
            return part.dorm == 1
        case Ring() | VonNeumann():
            return not part.include_self
    return not type(part).extension


def test_the_letters_grammar_derives_heuristics_of_the_letter_only():
    for chosen in drawn():
        assert chosen.interpretation == rf.LETTER
        assert chosen.outer.is_asynchronous
        assert all(has_the_letters_values(part) for _, part in parts(chosen))
        assert letter_variant(chosen) == chosen
        assert interpretation_name(chosen) == "letter"
        assert LETTER.holds(chosen)


def test_evolution_stays_in_the_letters_grammar():
    settings, rng = Settings(population=60, parameter_mutation=0.5), np.random.default_rng(2)
    population = initial_population(settings, LETTER, rng)
    for _ in range(3):
        population = next_generation(population, settings, LETTER, rng)
    assert all(map(LETTER.holds, population))


def test_constants_are_told():
    assert rf.grammar("extended").constants == rf.grammar("paper-0.2").constants == {}
    assert rf.grammar("paper").constants == {
        "Uniform.amplitude": 0.1,
        "Gaussian.amplitude": 0.1,
        "Random relocation.dorm": 1,
    }
    found = LETTER.constants
    assert found["Swarm.update_order"] == "asynchronous"
    assert found["Interpretation.min_inner_points"] == 4
    assert json.loads(json.dumps(LETTER.to_dict()))["constants"] == found
    assert "min_inner_points" in LETTER._repr_html_()


def test_a_constant_becomes_a_parameter_again_if_asked_for():
    grammar = rf.grammar("letter", fix={"Uniform.amplitude": (0.01, 0.3), "min_inner_points": 3, "order": "together"})
    rules = {rule.symbol: str(rule) for rule in grammar.rules}
    assert rules["Uniform amplitude"] == "number 0.01 to 0.3, logarithmic"
    assert rules["min_inner_points"] == "integer 3"
    assert "Interpretation.min_searches" in grammar.constants
    chosen = grammar.random(np.random.default_rng(1))
    assert (chosen.interpretation.min_inner_points, chosen.outer.is_asynchronous) == (3, False)
    assert interpretation_name(chosen) == "mixed"


def test_json_round_trip():
    for chosen in drawn(50):
        again = rf.Heuristic.from_json(chosen.to_json())
        assert again == chosen
        assert again.id == chosen.id != chosen.replace(interpretation=rf.Interpretation()).id
    assert json.loads(chosen.to_json())["interpretation"]["min_inner_points"] == 4
    broken = chosen.to_dict() | {"interpretation": {"min_inner_points": 0}}
    with pytest.raises(HeuristicError, match="from 1 to 1000"):
        rf.Heuristic.from_dict(broken)


def test_ready_made_heuristics_keep_their_identities():
    """Those of 0.1.0; the defaults are newer."""
    newer = ("letter/", "default/")
    ids = {name: rf.heuristic(name).id for name in rf.heuristics() if not name.startswith(newer)}
    digest = hashlib.sha256(json.dumps(ids, sort_keys=True).encode()).hexdigest()[:16]
    assert (digest, len(ids)) == ("a2ec1a8d81d91ec4", 68)
    assert all("interpretation" not in rf.heuristic(name).to_json() for name in ids)


def test_which_interpretation_a_ready_made_heuristic_has():
    names = {name: interpretation_name(rf.heuristic(name)) for name in rf.heuristics()}
    assert {found for name, found in names.items() if name.startswith("paper/")} == {"default"}
    assert [name for name, found in names.items() if found == "mixed"] == [
        "champion/30d/general",
        "champion/30d/multipeak-f1",
        "champion/30d/multipeak-f2",
        "champion/30d/rosenbrock",
        "champion/100d/multipeak-f1",
        "champion/100d/rastrigin",
    ]
    assert departures(rf.heuristic("champion/30d/general"))[1] == "particles move one after the other"


def test_a_letter_variant_differs_in_the_interpretation_only():
    chosen = rf.heuristic("paper/30d/general")
    letter = letter_variant(chosen)
    assert LETTER.holds(letter)
    assert letter.components() == chosen.components() | {"order": "asynchronous"}
    assert letter.outer.capability == chosen.outer.capability
    assert letter.inner == chosen.inner


def test_descriptions_have_the_interpretation_if_it_is_not_the_default():
    plain, letter = rf.heuristic("paper/30d/general"), letter_variant(rf.heuristic("paper/30d/general"))
    assert "interpretation" not in plain.describe() + pseudocode(plain)
    head = "in the letter's interpretation of the paper: initial velocities are in units of x"
    assert head in letter.describe()
    text = re.sub(r"\s+", " ", pseudocode(letter))
    assert head[1:] in text
    assert "v_j := U(0, 0.1) in each coordinate" in text
    another = plain.replace(interpretation=rf.Interpretation(step_scale=2.0))
    assert "in another interpretation of the paper: descent steps are multiplied by 2" in another.describe()


@pytest.mark.parametrize(
    ("switches", "line"),
    [
        ({"followers_know_leaders": True}, "g_j := p of the best leader, for every j"),
        ({"direction_without_search": True}, "for each particle j: D := points of H"),
        ({"direction_without_search": True, "direction_after_stop": False}, "j whose search was not stopped early: "),
        ({"mutation_after_relocation": True}, "keep p_j and F_j else:"),
        ({"relocation_resets_best": True}, "p_j := undefined; F_j := infinity; next particle"),
        ({"outside_is_idle": False}, "if x_j is outside X: no search else if"),
        ({"mutated_dimensions": 1.0}, "c := U(0, 2/n)"),
        ({"step_by_rho": True}, "max(1 rho_j, 0.1 / |r3 d_j|)"),
        ({"step_scale": 2.0}, "max(2, 0.1 / |r3 d_j|)"),
        ({"min_inner_points": 9}, "inner search with 9 points"),
    ],
)
def test_pseudocode_follows_the_interpretation(switches, line):
    base = rf.heuristic("rpso+dd+leh")
    swarm = base.outer.replace(network=Clan(), mutation=UniformMutation(0.2, 0.1))
    default = base.replace(outer=swarm, inner=base.inner.replace(extent=0.0))
    assert line in unnumbered(default.replace(interpretation=rf.Interpretation(**switches)))
    assert line not in unnumbered(default)


def unnumbered(chosen: rf.Heuristic) -> str:
    """Return the pseudocode of a heuristic in one line, without the numbers of its lines."""
    return re.sub(r"\s+", " ", re.sub(r"^ ?\d+ ", "", pseudocode(chosen), flags=re.MULTILINE))
