"""Checkpoints do not change a search, and report its current design."""

from __future__ import annotations

import numpy as np
import pytest

import robustforge as rf
from robustforge.engine.api import Checkpoints, minimize_with_checkpoints
from shared import random_heuristic, same

PLACES = [1, 7, 60, 61, 150, 299, 300]


def plain(x):
    return float(((x - 1.0) ** 2).sum())


def problem(kind, compiled_bowl):
    return rf.Problem(compiled_bowl if kind == "compiled" else plain, [(-5.0, 5.0)] * 4, rf.Ball(0.5))


@pytest.mark.parametrize("kind", ["compiled", "python"])
@pytest.mark.parametrize("drawn", range(4))
def test_to_be_looked_at_changes_nothing(kind, drawn, compiled_bowl):
    heuristic, bowl = random_heuristic(drawn), problem(kind, compiled_bowl)
    unseen = rf.minimize(bowl, budget=300, heuristic=heuristic, rng=drawn)
    for places in ([], PLACES, range(1, 301)):
        looks = []
        seen = minimize_with_checkpoints(bowl, 300, heuristic, drawn, places, looks.append)
        assert same(seen, unseen)
        assert len(looks) == sum(place <= seen.nfev for place in places)


@pytest.mark.parametrize("kind", ["compiled", "python"])
def test_what_is_seen_is_the_design_at_hand_as_soon_as_so_many_are_done(kind, compiled_bowl):
    bowl, heuristic = problem(kind, compiled_bowl), rf.heuristic("rpso+dd")
    looks = []
    found = minimize_with_checkpoints(bowl, 300, heuristic, 5, PLACES, looks.append)
    by_hand = rf.Optimizer(bowl, None, 300, heuristic, 5)
    expected, left = [], list(PLACES)
    while True:
        while left and left[0] <= by_hand.nfev:
            left.pop(0)
            expected.append(by_hand.design)
        if not (batch := by_hand.ask()):
            break
        by_hand.tell(batch.ids, [plain(x) for x in batch.x])
    assert len(looks) == len(expected) == len(PLACES)
    for one, other in zip(looks, expected, strict=True):
        assert (one is None and other is None) or np.array_equal(one, other)
    assert looks[0] is None
    assert looks[-1] == pytest.approx(found.x, rel=1e-12)
    assert len({design.tobytes() for design in looks if design is not None}) > 1


def test_a_design_that_was_seen_stays_as_it_was(compiled_bowl):
    looks, copies = [], []

    def look(design):
        looks.append(design)
        copies.append(None if design is None else design.copy())

    minimize_with_checkpoints(
        problem("compiled", compiled_bowl), 300, rf.heuristic("rpso"), 1, range(20, 300, 20), look
    )
    known = [(one, copy) for one, copy in zip(looks, copies, strict=True) if one is not None]
    assert len({copy.tobytes() for _, copy in known}) > 1
    assert all(np.array_equal(one, copy) for one, copy in known)


def test_there_is_a_design_once_an_inner_search_is_complete_and_it_is_the_result():
    search = rf.Optimizer([(-5, 5)] * 3, rf.Ball(0.5), budget=200, heuristic="rpso", rng=1)
    states = []
    while batch := search.ask():
        design = search.design
        states.append(design is not None)
        if design is not None:
            assert np.array_equal(design, search.result().x)
            assert (np.abs(design) <= 5).all()
        search.tell(batch.ids, [float(x @ x) for x in batch.x])
    assert states[0] is False
    assert states == sorted(states)  # never again without one
    assert search.design == pytest.approx(search.result().x, rel=1e-12)


def test_each_checkpoint_is_called_once():
    seen = []
    looks = Checkpoints([10, 20, 20, 35], lambda: seen.append("look"))
    assert (looks.evaluations_until_next(0, 250), looks.evaluations_until_next(0, 4)) == (10, 4)
    looks.call_reached(9)
    assert len(seen) == 0
    looks.call_reached(24)
    assert len(seen) == 3
    assert looks.evaluations_until_next(24, 250) == 11
    looks.call_reached(100)
    looks.call_reached(200)
    assert len(seen) == 4
    assert looks.evaluations_until_next(200, 250) == 250


def test_whoever_looks_may_stop_the_search(compiled_bowl):
    def stop(design):
        raise RuntimeError("seen enough")

    with pytest.raises(RuntimeError, match="seen enough") as caught:
        minimize_with_checkpoints(problem("compiled", compiled_bowl), 300, rf.heuristic("rpso"), 1, [100], stop)
    assert 100 <= caught.value.result.nfev < 300
