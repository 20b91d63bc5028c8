"""Components of evolved heuristics: the words of the paper, and tables computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

import robustforge as rf
from robustforge.analysis import EvolutionRecord, EvolvedHeuristic
from robustforge.analysis.component_tables import best_components, cross_table, deciles, proportions
from robustforge.analysis.features import COMPONENTS, alternatives, features
from robustforge.components import DescentSearch, InnerGa, InnerPso, RandomSampling, RangeClamp
from robustforge.errors import AssessmentError, UnknownNameError

GENERAL = rf.heuristic("paper/30d/general")
FORMS = {
    "Random": RandomSampling(),
    "PSO": InnerPso(swarm_fraction=0.5, c1=1.0, c2=1.0, omega=0.5),
    "GA": InnerGa(
        population_fraction=0.5, mutation_probability=0.1, amplitude=0.1, elite_fraction=0.1, tournament_fraction=0.1
    ),
}
PAPER = {
    "inner": "Random PSO GA",
    "extent": "[2-10] [11-20] [21-30] [31-40] >40",
    "baseline": "Constriction Inertia",
    "movement": "rPSO +DD +LEH +DD+LEH",
    "network": "Global Focal Ring_(size=2) von_Neumann Clan Cluster Hierarchy",
    "group": "[2-10] [11-20] [21-30] [31-40] >40",
    "stopping": "No Yes",
    "n_dorm": "No Yes Not_applicable",
    "n_pbest": "No Yes",
    "mutation": "None Random Gaussian",
    "relocation": "LEH Random Not_applicable",
    "r3": "Random Unity Not_applicable",
}
"""The components and alternatives of the paper's Table of proportions, in its order; _ is a blank."""


def evolved(form: str = "Random", group: int = 4, mean: float = 1.0, **inner: object) -> EvolvedHeuristic:
    outer = GENERAL.outer.replace(swarm_size=group)
    heuristic = GENERAL.replace(outer=outer, inner=GENERAL.inner.replace(form=FORMS[form], **inner))
    return EvolvedHeuristic(heuristic, 0, 20, (mean,))


def evolution(*found: EvolvedHeuristic, name: str = "one", budget: int = 2000) -> EvolutionRecord:
    settings = {"budget": budget, "problems": [{"name": "p", "dimension": 30}]}
    champion = found[0].heuristic if found else None
    return EvolutionRecord(name, ("p",), settings, {}, found, (), champion, True, 0, 0, 0.0, "", None)


def of_forms(letters: str, name: str = "one") -> EvolutionRecord:
    words = {"R": "Random", "P": "PSO", "G": "GA"}
    return evolution(*(evolved(words[letter], mean=float(k)) for k, letter in enumerate(letters)), name=name)


def picked(table, **wanted):
    (row,) = (row for row in table if all(row[key] == value for key, value in wanted.items()))
    return row


def test_components_and_alternatives_have_the_papers_words():
    assert list(COMPONENTS)[: len(PAPER)] == list(PAPER)
    assert COMPONENTS["n_dorm"] == "Use of existing info. for dormancy"
    assert COMPONENTS["group"] == "Group (swarm) size"
    for key, words in PAPER.items():
        assert alternatives(key) == tuple(word.replace("_", " ") for word in words.split())


def test_the_papers_grammar_has_no_other_alternatives_and_all_of_these():
    rng, grammar = np.random.default_rng(0), rf.grammar("paper")
    found = [features(grammar.random(rng), 4000) for _ in range(600)]
    for key in PAPER:
        assert {row[key] for row in found} == set(alternatives(key))
    assert {row["outer"] for row in found} == {"Swarm"}
    assert {row["clamp"] for row in found} == {"None"}


def test_a_heuristic_of_the_paper_in_its_words():
    assert features(GENERAL, 2000) == {
        "inner": "Random",
        "extent": "[2-10]",
        "baseline": "Inertia",
        "movement": "+DD",
        "network": "Ring (size=2)",
        "group": "[2-10]",
        "stopping": "Yes",
        "n_dorm": "Not applicable",
        "n_pbest": "Yes",
        "mutation": "Gaussian",
        "relocation": "Not applicable",
        "r3": "Unity",
        "outer": "Swarm",
        "clamp": "None",
        "order": "Synchronous",
        "structure": "None",
        "second_stage": "None",
        "restart": "Not applicable",
        "returned": "Not applicable",
        "final": "None",
    }


@pytest.mark.parametrize(
    ("points", "words"),
    [(2, "[2-10]"), (10, "[2-10]"), (11, "[11-20]"), (30, "[21-30]"), (40, "[31-40]"), (41, ">40"), (50, ">40")],
)
def test_the_extent_is_in_points_and_follows_from_the_budget(points, words):
    heuristic = evolved(group=10, extent=points / 50).heuristic
    assert features(heuristic, 2000)["extent"] == words
    assert features(heuristic, 100)["extent"] == "[2-10]"
    assert features(evolved(group=points).heuristic, 2000)["group"] == words


def test_components_beyond_the_paper_keep_their_titles_and_are_shown_if_they_vary():
    descent = DescentSearch(sigma=0.5, sigma_limit=0.01, min_step=0.1)
    single = EvolvedHeuristic(GENERAL.replace(outer=descent), 0, 20, (3.0,))
    row = features(single.heuristic, 2000)
    assert row["outer"] == "Descent search"
    assert row["group"] == row["network"] == row["movement"] == "Not applicable"
    plain, mixed = proportions([evolution(evolved())]), proportions([evolution(evolved(), single)])
    assert {"outer", "clamp"}.isdisjoint(row["component"] for row in plain)
    assert picked(mixed, component="outer", alternative="Descent search")["all"] == 0.5
    assert picked(mixed, component="network", alternative="Not applicable")["all"] == 0.5
    capability = GENERAL.outer.capability.replace(clamp=RangeClamp(fraction=0.1))
    clamped = GENERAL.replace(outer=GENERAL.outer.replace(capability=capability))
    table = proportions([evolution(evolved(), EvolvedHeuristic(clamped, 0, 20, (2.0,)))])
    assert [row["alternative"] for row in table if row["component"] == "clamp"] == ["None", "Range"]
    assert "clamp" not in best_components([evolution(evolved())]).columns


def test_the_table_of_champions_shows_components_that_vary_in_the_evolutions():
    descent = DescentSearch(sigma=0.5, sigma_limit=0.01, min_step=0.1)
    single = EvolvedHeuristic(GENERAL.replace(outer=descent), 0, 20, (3.0,))
    (row,) = best_components([evolution(single, evolved())])
    assert row["outer"] == "Descent search"
    assert row["group"] == row["network"] == "Not applicable"
    assert isinstance(row["extent"], int)


def test_proportions_worked_out_by_hand():
    long, short = of_forms("RRPRGGPP"), of_forms("GR")  # top thirds of 3 (8 / 3, rounded up) and 1
    table = proportions([long, short])
    assert table.columns == ["component", "alternative", "all", "top_third", "count", "count_top"]
    rows = [row for row in table if row["component"] == "inner"]
    assert [(row["alternative"], row["count"], row["count_top"]) for row in rows] == [
        ("Random", 4, 2),
        ("PSO", 3, 1),
        ("GA", 3, 1),
    ]
    assert [row["all"] for row in rows] == [(3 / 8 + 1 / 2) / 2, 3 / 8 / 2, (2 / 8 + 1 / 2) / 2]  # both weigh the same
    assert [row["top_third"] for row in rows] == pytest.approx([2 / 3 / 2, 1 / 3 / 2, 1 / 2])
    networks = [row for row in table if row["component"] == "network"]
    assert [row["count"] for row in networks] == [0, 0, 10, 0, 0, 0, 0]
    assert [row["alternative"] for row in networks] == list(alternatives("network"))
    for key in PAPER:
        for column in ("all", "top_third"):
            assert sum(row[column] for row in table if row["component"] == key) == pytest.approx(1.0)


def test_deciles_worked_out_by_hand():
    table = deciles([of_forms("R" * 4 + "P" * 16), of_forms("G" * 10)], "inner")
    assert [(row["decile"], row["alternative"]) for row in table][:4] == [
        (1, "Random"),
        (1, "PSO"),
        (1, "GA"),
        (2, "Random"),
    ]
    proportions_by_decile = {(row["decile"], row["alternative"]): row["share"] for row in table}
    for decile in range(1, 11):
        assert proportions_by_decile[decile, "GA"] == pytest.approx(1 / 2)
        assert proportions_by_decile[decile, "Random"] == pytest.approx(1 / 2 if decile <= 2 else 0)
        assert proportions_by_decile[decile, "PSO"] == pytest.approx(0 if decile <= 2 else 1 / 2)


def test_empty_deciles_have_no_rows():
    assert [row["decile"] for row in deciles([of_forms("RPG")], "inner")][::3] == [1, 4, 7]
    assert {row["decile"] for row in deciles([of_forms("R")], "inner")} == {1}


def test_the_best_worked_out_by_hand():
    first, second = (
        evolution(evolved("GA", group=5, extent=0.12), evolved(), name="a"),
        evolution(evolved(), name="b", budget=8000),
    )
    table = best_components([first, evolution(name="nothing yet"), second])
    assert [row["name"] for row in table] == ["a", "b"]
    head = ["name", "champion", "group", "inner", "movement", "network", "extent", "stopping", "n_dorm", "n_pbest"]
    assert table.columns == [*head, "mutation", "baseline", "relocation", "r3"]
    assert table[0]["champion"] == first.heuristics[0].heuristic.id
    assert (table[0]["group"], table[0]["extent"], table[0]["inner"]) == (5, 12, "GA")
    assert (table[1]["group"], table[1]["extent"]) == (4, 16)  # 0.032 of 8000 / (4 x 4)
    assert table[0]["n_dorm"] == "Not applicable"


def test_cross_tables_worked_out_by_hand():
    found = [
        evolved("Random", 4),
        evolved("Random", 20),
        evolved("PSO", 4),
        evolved("PSO", 20),
        evolved("PSO", 4),
        evolved("Random", 4),
    ]
    pool = [evolution(*found), evolution(evolved("GA", 50))]
    top, every = cross_table(pool, "inner", "group"), cross_table(pool, "inner", "group", top=False)
    assert top.columns == ["first", "second", "share", "count"]
    assert len(top) == len(every) == 3 * 5
    assert picked(top, first="Random", second="[2-10]")["share"] == pytest.approx(1 / 4)  # half of half the pool
    assert picked(top, first="Random", second="[11-20]")["share"] == pytest.approx(1 / 4)
    assert picked(top, first="GA", second=">40")["share"] == pytest.approx(1 / 2)
    assert picked(top, first="GA", second=">40")["count"] == 1
    assert picked(top, first="PSO", second="[2-10]")["share"] == 0
    assert picked(every, first="PSO", second="[2-10]")["share"] == pytest.approx(2 / 6 / 2)
    assert sum(row["share"] for row in top) == pytest.approx(1)


@pytest.mark.parametrize("pool", [[], [evolution()]])
def test_tables_of_no_evolutions_are_empty(pool):
    assert proportions(pool) == deciles(pool, "inner") == best_components(pool) == []
    assert cross_table(pool, "inner", "extent") == []


def test_one_heuristic_is_its_own_top_third():
    table = proportions([of_forms("P")])
    assert picked(table, component="inner", alternative="PSO")["top_third"] == 1.0


def test_unknown_and_equal_components_are_refused():
    pool = [of_forms("RP")]
    with pytest.raises(UnknownNameError, match="'network'"):
        deciles(pool, "netwrk")
    with pytest.raises(UnknownNameError, match="component"):
        cross_table(pool, "inner", "size")
    with pytest.raises(AssessmentError, match="inner twice"):
        cross_table(pool, "inner", "inner")
