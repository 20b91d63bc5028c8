"""Evolutions are pooled by the number of variables, each once and in order."""

from __future__ import annotations

import pytest

import robustforge as rf
from robustforge.analysis import EvolutionRecord, EvolvedHeuristic, pooled

EVOLVED = (EvolvedHeuristic(rf.heuristic("rpso"), 0, 20, (1.0,)),)


def evolution(name, *dimensions, heuristics=EVOLVED):
    settings = {"budget": 2000, "problems": [{"name": "p", "dimension": dimension} for dimension in dimensions]}
    return EvolutionRecord(
        name, ("p",) * len(dimensions), settings, {}, heuristics, (), None, False, 0, 0, 0.0, "", None
    )


@pytest.mark.parametrize(("given", "found"), [((30,), (30,)), ((30, 30), (30,)), ((100, 2, 30, 2), (2, 30, 100))])
def test_the_dimensions_of_an_evolution(given, found):
    assert evolution("one", *given).dimensions == found


def test_evolutions_with_the_same_number_of_variables_are_pooled():
    names = {"b": (30,), "large": (100,), "mixed": (100, 5), "a": (30, 30), "small": (5,), "mixed too": (5, 100)}
    pools = pooled(evolution(name, *dimensions) for name, dimensions in names.items())
    found = [(dimensions, [each.name for each in pool]) for dimensions, pool in pools.items()]
    mixed = ((5, 100), ["mixed", "mixed too"])
    assert found == [((5,), ["small"]), mixed, ((30,), ["b", "a"]), ((100,), ["large"])]


def test_evolutions_without_a_complete_generation_are_left_out():
    kept = evolution("kept", 5)
    assert pooled([evolution("new", 5, heuristics=()), kept, evolution("newer", 30, heuristics=())]) == {(5,): [kept]}
    assert pooled([]) == {}
