"""Effects: what was planted is found, what is not there is not, and there are no figures out of nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import robustforge as rf
from robustforge.analysis import Bred, Outcome
from robustforge.analysis.components import BEYOND_PAPER, COMPONENTS, features
from robustforge.analysis.effects import LEAST, _basis, decomposition, effects, pairs

BUDGET = 2000


def outcome(count, value, noise=0.0, seed=0):
    """An evolution of random heuristics whose means are a function of their components, and noise."""
    rng, grammar = np.random.default_rng(seed), rf.grammar("paper")
    heuristics = [grammar.random(rng) for _ in range(count)]
    means = [value(features(each, BUDGET)) + noise * rng.normal() for each in heuristics]
    bred = tuple(Bred(heuristics[k], 0, 20, (float(means[k]),)) for k in np.argsort(means, kind="stable"))
    settings = {"budget": BUDGET, "problems": [{"name": "p", "dimension": 30}]}
    champion = bred[0].heuristic if bred else None
    return Outcome("one", ("p",), settings, {}, bred, (), champion, True, 0, 0, 0.0, "", None)


def by_component(table):
    return {row["component"]: row for row in table}


def is_global(row):
    return float(row["network"] != "Global")


def is_odd(row):
    return float((row["stopping"] == "Yes") != (row["n_pbest"] == "Yes"))


@pytest.fixture(scope="module")
def planted():
    return decomposition([outcome(400, is_global, 1e-3, 1), outcome(400, is_global, 1e-3, 2)], resamples=40)


@pytest.fixture(scope="module")
def crossed():
    return decomposition([outcome(1200, is_odd, 1e-3, 3)], resamples=40)


def test_a_planted_effect_is_found_with_its_size(planted):
    # places are even in [0, 1], of which a share p is in front: the means of both parts are 1/2 apart, so that
    # p (1 - p) / 4 of the variance of 1 / 12 is explained
    share = 12 * (1 / 7) * (6 / 7) / 4
    strongest = planted[0][0]
    assert strongest["component"] == "network"
    assert strongest["effect"] == pytest.approx(share, rel=0.2)
    assert strongest["low"] < strongest["effect"] < strongest["high"]
    assert strongest["best"] == "Global"
    assert strongest["worst"] != "Global"


def test_what_has_no_effect_gets_none(planted):
    for row in planted[0][1:]:
        assert row["effect"] < 0.01
        assert row["low"] == 0.0
        assert row["high"] < 0.03
    assert all(row["effect"] < 0.01 for row in planted[1])


def test_a_planted_interaction_is_found_and_is_no_effect_of_either(crossed):
    single, joint = crossed
    assert (joint[0]["first"], joint[0]["second"]) == ("stopping", "n_pbest")
    assert 0.3 < joint[0]["effect"] < 0.75  # of 3/4; shrunk
    assert joint[0]["low"] > 0.3
    assert all(row["effect"] < 0.01 for row in joint[1:])
    assert all(row["effect"] < 0.02 for row in single)


def test_a_choice_within_a_movement_is_not_taken_for_the_movement():
    def value(row):
        return {"LEH": 0.0, "Random": 2.0, "Not applicable": 1.0}[row["relocation"]]

    table = by_component(effects([outcome(600, value, 0.05)], resamples=20))
    # half of them have none: a quarter is in front by 3/8 and a quarter behind, 9/128 of the variance of 1/12
    assert table["relocation"]["effect"] == pytest.approx(12 * 9 / 128, rel=0.1)
    assert table["relocation"]["best"] == "LEH"
    assert table["relocation"]["worst"] == "Random"
    assert table["movement"]["effect"] < 0.02


def test_a_bystander_is_told_from_what_it_goes_with():
    heuristics = outcome(1500, is_global, 0.3, 5)
    rng = np.random.default_rng(0)
    kept = tuple(  # those with a stopping condition and without a global network are mostly dropped
        bred
        for bred in heuristics.bred
        if bred.heuristic.inner.stopping == (bred.heuristic.outer.network.title == "Global") or rng.random() < 0.2
    )
    selected = Outcome(**{**vars(heuristics), "bred": kept})
    places = np.linspace(0, 1, len(kept))
    stopping = np.array([bred.heuristic.inner.stopping for bred in kept])
    apart = places[~stopping].mean() - places[stopping].mean()
    assert apart > 0.1  # by itself it looks as if it mattered
    table = by_component(effects([selected], resamples=20))
    assert table["stopping"]["effect"] < 0.01
    assert table["network"]["effect"] > 0.15


def test_the_same_seed_gives_the_same_tables():
    pool = [outcome(60, is_global, 0.5)]
    assert effects(pool, 7, 5) == effects(pool, 7, 5) == decomposition(pool, 7, 5)[0]
    assert pairs(pool, 7, 5) == decomposition(pool, 7, 5)[1]
    assert effects(pool, 7, 5) != effects(pool, 8, 5)


def test_every_component_and_every_pair_has_a_row(planted):
    single, joint = planted
    assert single.columns == ["component", "effect", "low", "high", "best", "worst"]
    assert joint.columns == ["first", "second", "effect", "low", "high"]
    assert {row["component"] for row in single} == set(COMPONENTS) - set(BEYOND_PAPER)
    assert len(joint) == 12 * 11 / 2
    for table in planted:
        assert [row["effect"] for row in table] == sorted((row["effect"] for row in table), reverse=True)


@pytest.mark.parametrize("count", [1, 2, 5, LEAST - 1])
def test_a_few_heuristics_say_nothing(count):
    single, joint = decomposition([outcome(count, is_global, 0.1)], resamples=3)
    assert len(single) == 12
    assert all(math.isnan(row[key]) for row in [*single, *joint] for key in ("effect", "low", "high"))
    assert all(row["best"] is row["worst"] is None for row in single)


def test_of_nothing_there_are_empty_tables():
    assert decomposition([], resamples=3) == decomposition([outcome(0, is_global)], resamples=3) == ([], [])


def test_where_all_are_equal_there_is_nothing_to_explain():
    single, joint = decomposition([outcome(40, lambda row: math.inf), outcome(30, lambda row: 1.0)], resamples=3)
    assert {row["effect"] for row in [*single, *joint]} == {0.0}
    assert all(row["best"] is None for row in single)


def test_single_heuristics_of_many_evolutions_can_be_pooled():
    table = effects([outcome(1, is_global, seed=seed) for seed in range(LEAST + 5)], resamples=3)
    assert {row["effect"] for row in table} == {0.0}


def test_a_component_with_one_alternative_has_no_effect():
    full = outcome(200, is_global, 0.5)
    kept = tuple(bred for bred in full.bred if bred.heuristic.outer.movement.rescue is None)
    table = by_component(effects([Outcome(**{**vars(full), "bred": kept})], resamples=5))
    for key in ("relocation", "n_dorm"):
        assert table[key] == {"component": key, "effect": 0.0, "low": 0.0, "high": 0.0, "best": None, "worst": None}


def test_failures_share_the_last_place():
    table = by_component(effects([outcome(300, lambda row: math.inf if row["network"] == "Focal" else 0.0)], 1, 10))
    assert table["network"]["effect"] > 0.9
    assert table["network"]["worst"] == "Focal"


def test_the_functions_of_a_component_are_orthonormal_by_its_shares():
    codes = np.array([0, 0, 0, 1, 2, 2, -1, -1])
    functions = _basis(codes)
    assert functions.shape == (3, 2)
    weights = np.array([3, 1, 2]) / 6
    assert np.allclose(weights @ functions, 0.0)
    assert np.allclose(functions.T @ (weights[:, None] * functions), np.eye(2))
    assert _basis(np.array([-1, -1])).shape == (0, 0)


def test_relatives_that_selection_has_spread_do_not_count():
    """A family of near-clones that happens to be good would make all its components look important."""
    rng, grammar = np.random.default_rng(5), rf.grammar("paper")
    random = outcome(100, lambda row: 0.0, noise=1.0, seed=6)
    founder = random.bred[0].heuristic
    family = tuple(Bred(grammar.varied(founder, rng), 3, 20, (-10.0 - k,)) for k in range(100))
    assert effects([replace(random, bred=(*family[::-1], *random.bred))]) == effects([random])


def test_what_an_evolution_was_started_with_was_not_drawn():
    """Known heuristics that are good for reasons of their own would look like the effect of what they share."""
    whole = outcome(200, is_global, 1e-3, 1)
    started = replace(whole, settings={**whole.settings, "start": [bred.heuristic.id for bred in whole.bred[:20]]})
    drawn = replace(whole, bred=whole.bred[20:])
    every, first, second = (decomposition([each], resamples=5) for each in (whole, started, drawn))
    assert first == second != every
