"""Effects: planted effects are found, absent ones are not, and too little data gives no estimate."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import robustforge as rf
from robustforge.analysis import EvolutionRecord, EvolvedHeuristic
from robustforge.analysis.effects import MIN_HEURISTICS, _basis, decomposition, effects, pairs
from robustforge.analysis.features import BEYOND_PAPER, COMPONENTS, features

BUDGET = 2000


def evolution(count, value, noise=0.0, seed=0):
    """An evolution of random heuristics whose means are a function of their components, and noise."""
    rng, grammar = np.random.default_rng(seed), rf.grammar("paper")
    heuristics = [grammar.random(rng) for _ in range(count)]
    means = [value(features(each, BUDGET)) + noise * rng.normal() for each in heuristics]
    evolved = tuple(
        EvolvedHeuristic(heuristics[k], 0, 20, (float(means[k]),)) for k in np.argsort(means, kind="stable")
    )
    settings = {"budget": BUDGET, "problems": [{"name": "p", "dimension": 30}]}
    champion = evolved[0].heuristic if evolved else None
    return EvolutionRecord("one", ("p",), settings, {}, evolved, (), champion, True, 0, 0, 0.0, "", None)


def by_component(table):
    return {row["component"]: row for row in table}


def is_global(row):
    return float(row["network"] != "Global")


def is_odd(row):
    return float((row["stopping"] == "Yes") != (row["n_pbest"] == "Yes"))


@pytest.fixture(scope="module")
def planted():
    return decomposition([evolution(400, is_global, 1e-3, 1), evolution(400, is_global, 1e-3, 2)], resamples=40)


@pytest.fixture(scope="module")
def crossed():
    return decomposition([evolution(1200, is_odd, 1e-3, 3)], resamples=40)


def test_a_planted_effect_is_found_with_its_size(planted):
    # ranks are uniform in [0, 1], of which a fraction p is in front: the means of both parts are 1/2 apart, so that
    # p (1 - p) / 4 of the variance of 1 / 12 is explained
    fraction = 12 * (1 / 7) * (6 / 7) / 4
    strongest = planted[0][0]
    assert strongest["component"] == "network"
    assert strongest["effect"] == pytest.approx(fraction, rel=0.3)  # at most 0.19 with 20 other sets of seeds
    assert strongest["low"] < strongest["effect"] < strongest["high"]
    assert strongest["best"] == "Global"
    assert strongest["worst"] != "Global"


def test_components_without_effect_get_none(planted):
    for row in planted[0][1:]:  # with 20 other sets of seeds at most 0.011, 0 and 0.030; in the last line 0.004
        assert row["effect"] < 0.03
        assert row["low"] < 0.01
        assert row["high"] < 0.06
    assert all(row["effect"] < 0.03 for row in planted[1])


def test_a_planted_interaction_is_found_and_is_not_a_main_effect(crossed):
    single, joint = crossed
    assert (joint[0]["first"], joint[0]["second"]) == ("stopping", "n_pbest")
    # with 20 other seeds 0.35 to 0.377, low at least 0.322, then at most 0.0034 and 0.008
    assert 0.3 < joint[0]["effect"] < 0.75  # of 3/4; shrunk
    assert joint[0]["low"] > 0.3
    assert all(row["effect"] < 0.01 for row in joint[1:])
    assert all(row["effect"] < 0.02 for row in single)


def test_a_choice_within_a_movement_is_distinguished_from_the_movement():
    def value(row):
        return {"LEH": 0.0, "Random": 2.0, "Not applicable": 1.0}[row["relocation"]]

    table = by_component(effects([evolution(600, value, 0.05)], resamples=20))
    # half of them have none: a quarter is in front by 3/8 and a quarter behind, 9/128 of the variance of 1/12
    assert table["relocation"]["effect"] == pytest.approx(12 * 9 / 128, rel=0.1)
    assert table["relocation"]["best"] == "LEH"
    assert table["relocation"]["worst"] == "Random"
    assert table["movement"]["effect"] < 0.02


def test_a_correlated_component_without_effect_is_detected():
    heuristics = evolution(1500, is_global, 0.3, 5)
    rng = np.random.default_rng(0)
    kept = tuple(  # those with a stopping condition and without a global network are mostly dropped
        evolved
        for evolved in heuristics.heuristics
        if evolved.heuristic.inner.stopping == (evolved.heuristic.outer.network.title == "Global") or rng.random() < 0.2
    )
    selected = EvolutionRecord(**{**vars(heuristics), "heuristics": kept})
    ranks = np.linspace(0, 1, len(kept))
    stopping = np.array([evolved.heuristic.inner.stopping for evolved in kept])
    apart = ranks[~stopping].mean() - ranks[stopping].mean()
    assert apart > 0.1  # by itself it looks as if it mattered
    table = by_component(effects([selected], resamples=20))
    assert table["stopping"]["effect"] < 0.01
    assert table["network"]["effect"] > 0.15


def test_the_same_seed_gives_the_same_tables():
    pool = [evolution(60, is_global, 0.5)]
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


@pytest.mark.parametrize("count", [1, 2, 5, MIN_HEURISTICS - 1])
def test_too_few_heuristics_give_nan(count):
    single, joint = decomposition([evolution(count, is_global, 0.1)], resamples=3)
    assert len(single) == 12
    assert all(math.isnan(row[key]) for row in [*single, *joint] for key in ("effect", "low", "high"))
    assert all(row["best"] is row["worst"] is None for row in single)


def test_tables_of_no_evolutions_are_empty():
    assert decomposition([], resamples=3) == decomposition([evolution(0, is_global)], resamples=3) == ([], [])


def test_where_all_are_equal_there_is_nothing_to_explain():
    single, joint = decomposition([evolution(40, lambda row: math.inf), evolution(30, lambda row: 1.0)], resamples=3)
    assert {row["effect"] for row in [*single, *joint]} == {0.0}
    assert all(row["best"] is None for row in single)


def test_single_heuristics_of_many_evolutions_can_be_pooled():
    table = effects([evolution(1, is_global, seed=seed) for seed in range(MIN_HEURISTICS + 5)], resamples=3)
    assert {row["effect"] for row in table} == {0.0}


def test_a_component_with_one_alternative_has_no_effect():
    full = evolution(200, is_global, 0.5)
    kept = tuple(evolved for evolved in full.heuristics if evolved.heuristic.outer.movement.relocates is None)
    table = by_component(effects([EvolutionRecord(**{**vars(full), "heuristics": kept})], resamples=5))
    for key in ("relocation", "n_dorm"):
        assert table[key] == {"component": key, "effect": 0.0, "low": 0.0, "high": 0.0, "best": None, "worst": None}


def test_failures_share_the_last_rank():
    table = by_component(effects([evolution(300, lambda row: math.inf if row["network"] == "Focal" else 0.0)], 1, 10))
    assert table["network"]["effect"] > 0.9
    assert table["network"]["worst"] == "Focal"


def test_the_functions_of_a_component_are_orthonormal_by_its_frequencies():
    codes = np.array([0, 0, 0, 1, 2, 2, -1, -1])
    functions = _basis(codes)
    assert functions.shape == (3, 2)
    weights = np.array([3, 1, 2]) / 6
    assert np.allclose(weights @ functions, 0.0)
    assert np.allclose(functions.T @ (weights[:, None] * functions), np.eye(2))
    assert _basis(np.array([-1, -1])).shape == (0, 0)


def test_later_generations_are_left_out():
    """A family of near-clones that happens to be good would make all its components look important."""
    rng, grammar = np.random.default_rng(5), rf.grammar("paper")
    random = evolution(100, lambda row: 0.0, noise=1.0, seed=6)
    founder = random.heuristics[0].heuristic
    family = tuple(EvolvedHeuristic(grammar.mutate_parameters(founder, rng), 3, 20, (-10.0 - k,)) for k in range(100))
    whole = replace(random, heuristics=(*family[::-1], *random.heuristics))
    assert effects([whole], 1, 10) == effects([random], 1, 10)


def test_initial_heuristics_are_left_out():
    """Known heuristics that are good for reasons of their own would look like the effect of what they share."""
    whole = evolution(200, is_global, 1e-3, 1)
    started = replace(
        whole, settings={**whole.settings, "start": [evolved.heuristic.id for evolved in whole.heuristics[:20]]}
    )
    drawn = replace(whole, heuristics=whole.heuristics[20:])
    every, first, second = (decomposition([each], resamples=5) for each in (whole, started, drawn))
    assert first == second != every
