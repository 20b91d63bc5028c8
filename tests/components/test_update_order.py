"""The order of moves: all particles together, or one after the other as in Algorithm 1 of the paper."""

from __future__ import annotations

import numpy as np
import pytest

import robustforge as rf
from robustforge.components import Global, Inner, RandomRelocation, RandomSampling, RelocatingMovement
from robustforge.engine import ask_tell

GROUP, POINTS = 5, 3


def in_turn(**inner: bool) -> rf.Heuristic:
    """Return a swarm of five in a global network whose particles take turns."""
    base = rf.heuristic("rpso+dd")
    share = POINTS * 4 * GROUP / 400
    chosen = {"n_dorm": False, "n_pbest": True, "stopping": True, **inner}
    outer = base.outer.replace(swarm_size=GROUP, network=Global(), update_order="asynchronous")
    return base.replace(outer=outer, inner=Inner(share, RandomSampling(), **chosen))


def bowl(x: np.ndarray) -> float:
    return float(((x - 1.0) ** 2).sum())


def iterations(heuristic: rf.Heuristic):
    """Yield the arrays of a search after each iteration, and how many points each of its batches had."""
    search = rf.Optimizer([(-3, 5)] * 6, rf.Ball(0.5), 400, heuristic, 1)
    arrays, sizes = search.arrays, []
    arrays["counters"]["pause"] = 1
    while (size := search.advance()) != ask_tell.OVER:
        if size == ask_tell.PAUSED:
            yield arrays, sizes
            sizes = []
            continue
        sizes.append(size)
        for b in range(size):
            arrays["batch_f"][b] = bowl(arrays["batch_x"][b])


def test_after_the_first_iteration_one_particle_moves_and_searches_at_a_time():
    x, moved, points = None, [], []
    for number, (arrays, sizes) in enumerate(iterations(in_turn(stopping=False))):
        points.append(sizes)
        if number > 0:
            moved.append(np.flatnonzero((arrays["x"] != x).any(axis=1)).tolist())
        x = arrays["x"].copy()
    assert points[0] == [GROUP] * POINTS
    assert all(sizes in ([], [1] * POINTS) for sizes in points[1:-1])  # none where it is outside the box
    assert moved == [[k % GROUP] for k in range(len(moved))]
    assert len(moved) > 2 * GROUP


def test_who_moves_knows_what_the_one_before_has_found():
    """Together, all of an iteration follow who was best before it; in turn, who is best now."""
    fresh, best, before_round = 0, np.array([]), 0.0
    for arrays, _ in iterations(in_turn()):
        first, last = arrays["counters"]["first_agent"][0], arrays["counters"]["end_agent"][0]
        if best.size:
            follows = arrays["informant"][first]
            assert follows == np.argmin(best)
            fresh += first > 0 and best[follows] < before_round
        best = arrays["best_f"].copy()
        if last == GROUP:
            before_round = best.min()
    assert fresh > 2  # with 20 other seeds, 8 at least


def test_turns_change_the_answer_and_the_default_is_no_turns():
    turns = in_turn()
    together = turns.replace(outer=turns.outer.replace(update_order="synchronous"))
    assert "order" not in together.to_dict()["outer"]
    assert together.id != turns.id
    one, other = (
        rf.minimize(rf.problem("sphere", 6), heuristic=each, budget=400, rng=1).fun for each in (turns, together)
    )
    assert one != other


@pytest.mark.parametrize("n_dorm", [True, False])
def test_turns_without_anything_to_evaluate_end_in_a_scattering(n_dorm):
    """A box smaller than the ball: everything is near everything, so the history always says enough."""
    base = in_turn(n_dorm=n_dorm)
    capability = base.outer.capability.replace(movement=RelocatingMovement(RandomRelocation(2)))
    lazy = base.replace(outer=base.outer.replace(capability=capability))
    assert rf.minimize(bowl, [(0.9, 1.1)], rf.Ball(5.0), 300, lazy, rng=1).nfev == 300


def test_the_paper_has_turns_if_asked_for():
    grammar = rf.grammar("paper", fix={"order": "in turn"})
    drawn = [grammar.random(np.random.default_rng(seed)) for seed in range(5)]
    assert {each.outer.update_order for each in drawn} == {"asynchronous"}
    plain = [rf.grammar("paper").random(np.random.default_rng(seed)) for seed in range(5)]
    assert [each.replace(outer=each.outer.replace(update_order="synchronous")) for each in drawn] == plain
    assert grammar.crossover_points == rf.grammar("paper").crossover_points
    assert grammar.holds(drawn[0])
    assert not rf.grammar("paper").holds(drawn[0])


def test_turns_are_told():
    turns = in_turn()
    assert "5 particles, updated asynchronously" in str(turns)
    text = rf.heuristic("rpso+dd").describe()
    assert "asynchronously" not in text
