"""Evolutions pooled by the number of variables: each once, in order, and none that has bred nothing."""

from __future__ import annotations

import pytest

import robustforge as rf
from robustforge.analysis import Bred, Outcome, pooled

BRED = (Bred(rf.heuristic("rpso"), 0, 20, (1.0,)),)


def outcome(name, *dimensions, bred=BRED):
    settings = {"budget": 2000, "problems": [{"name": "p", "dimension": dimension} for dimension in dimensions]}
    return Outcome(name, ("p",) * len(dimensions), settings, {}, bred, (), None, False, 0, 0, 0.0, "", None)


@pytest.mark.parametrize(("given", "found"), [((30,), (30,)), ((30, 30), (30,)), ((100, 2, 30, 2), (2, 30, 100))])
def test_the_dimensions_of_an_evolution(given, found):
    assert outcome("one", *given).dimensions == found


def test_evolutions_with_as_many_variables_are_pooled():
    names = {"b": (30,), "large": (100,), "mixed": (100, 5), "a": (30, 30), "small": (5,), "mixed too": (5, 100)}
    pools = pooled(outcome(name, *dimensions) for name, dimensions in names.items())
    found = [(dimensions, [each.name for each in pool]) for dimensions, pool in pools.items()]
    mixed = ((5, 100), ["mixed", "mixed too"])
    assert found == [((5,), ["small"]), mixed, ((30,), ["b", "a"]), ((100,), ["large"])]


def test_what_has_bred_nothing_is_left_out():
    kept = outcome("kept", 5)
    assert pooled([outcome("new", 5, bred=()), kept, outcome("newer", 30, bred=())]) == {(5,): [kept]}
    assert pooled([]) == {}
