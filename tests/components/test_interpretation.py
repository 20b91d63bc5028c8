"""The interpretation of the paper: what each switch changes in the kernels or in a search."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import robustforge as rf
from robustforge.components import (
    Capability,
    Clan,
    DescentDirections,
    FullMovement,
    Global,
    Inertia,
    Inner,
    NoMutation,
    RandomRelocation,
    RandomSampling,
    Swarm,
    UniformMutation,
)
from robustforge.core.state import OUTSIDE, SKIPPED, STOPPED
from robustforge.engine import ask_tell

SIZE, DIMENSION, RADIUS = 6, 8, 0.5


def heuristic(network=None, mutation=None, baseline=None, n_dorm=True, extent=0.1, **switches) -> rf.Heuristic:
    """Return a swarm with descent directions and random relocation, in an interpretation."""
    movement = FullMovement(DescentDirections(1.0, 0.3, 0.001, 0.0, "unity"), RandomRelocation(1))
    capability = Capability(baseline or Inertia(1.5, 1.5, 0.7), movement)
    swarm = Swarm(SIZE, mutation or NoMutation(), network or Global(), capability)
    inner = Inner(extent, RandomSampling(), n_dorm, True, True)
    return rf.Heuristic(swarm, inner, interpretation=rf.Interpretation(**switches))


def iterations(chosen: rf.Heuristic, budget: int = 400):
    """Yield a search after each of its iterations, with the sizes of its batches."""
    search = rf.Optimizer([(-3, 5)] * DIMENSION, rf.Ball(RADIUS), budget, chosen, 1)
    arrays, sizes = search.arrays, []
    arrays["counters"]["pause"] = 1
    while (size := search.advance()) != ask_tell.OVER:
        if size == ask_tell.PAUSED:
            yield search, sizes
            sizes = []
            continue
        sizes.append(size)
        arrays["batch_f"][:size] = ((arrays["batch_x"][:size] - 1.0) ** 2).sum(axis=1)


def first(chosen: rf.Heuristic) -> rf.Optimizer:
    """Return a search after its first iteration."""
    return next(iterations(chosen))[0]


def relocated(chosen: rf.Heuristic) -> rf.Optimizer:
    """Return a search all of whose particles have just been relocated."""
    search = first(chosen)
    search.arrays["idle"][:] = 1
    Swarm.move(search.state)
    assert search.arrays["counters"]["relocations"][0] == SIZE
    return search


def directed(status: int, **switches) -> bool:
    """Return whether particles with this status get descent directions from the history."""
    search = first(heuristic(**switches))
    search.arrays["status"][:] = status
    Swarm.update(search.state)
    return bool(search.arrays["has_direction"].all())


def test_every_switch_is_read():
    """So that none of these tests is forgotten for a switch that is added."""
    tested = {name for name, thing in globals().items() if name.startswith("test_")}
    assert {field.name for field in fields(rf.Interpretation)} <= {name.removeprefix("test_") for name in tested}


def test_min_inner_points():
    assert heuristic(extent=0.0).inner_budget(400) == 2
    letter = heuristic(extent=0.0, min_inner_points=4)
    assert letter.inner_budget(400) == 4
    _, sizes = next(iterations(letter))
    assert sizes == [SIZE] * 4


def test_min_searches():
    assert heuristic(extent=1.0).inner_budget(480) == 480 // (4 * SIZE)
    letter = heuristic(extent=1.0, min_searches=2)
    assert letter.inner_budget(480) == 480 // (2 * SIZE)
    _, sizes = next(iterations(letter, 480))
    assert sizes == [SIZE] * 40


@pytest.mark.parametrize("status", [SKIPPED, OUTSIDE])
def test_direction_without_search(status):
    assert not directed(status)
    assert directed(status, direction_without_search=True)


def test_direction_after_stop():
    assert directed(STOPPED)
    assert not directed(STOPPED, direction_after_stop=False)
    assert not directed(STOPPED, direction_after_stop=False, direction_without_search=True)


def test_followers_know_leaders():
    def informants(**switches):
        search = first(heuristic(Clan(), **switches))
        search.arrays["network_order"][:] = range(SIZE)
        search.arrays["best_f"][:] = range(SIZE, 0, -1)
        search.arrays["has_best"][:] = True
        Clan.choose_informants(search.state)
        return search.arrays["informant"].tolist()

    assert informants() == [3, 4, 5, 5, 5, 5]  # three clans: {0, 3}, {1, 4}, {2, 5}
    assert informants(followers_know_leaders=True) == [5] * SIZE  # "shares their information with all other clans"


def test_mutation_after_relocation():
    def outside(**switches):
        """Whether mutations have moved relocated particles out of the box, in which all of them were put."""
        search = relocated(heuristic(mutation=UniformMutation(0.5, 0.5), mutated_dimensions=1000.0, **switches))
        return bool((search.arrays["x"] < search.arrays["lower"]).any())

    assert not outside()
    assert outside(mutation_after_relocation=True)


def test_mutated_dimensions():
    def changed(**switches):
        """Return the mean number of coordinates that a mutation changes."""
        search = first(heuristic(mutation=UniformMutation(0.5, 0.5), **switches))
        before, count = search.arrays["x"].copy(), 0
        for _ in range(4000):
            search.arrays["x"][:] = before
            UniformMutation.mutate(search.state, 0)
            count += (search.arrays["x"] != before).sum()
        return count / (0.5 * 4000)

    # 0.465 to 0.528, and 0.944 to 1.046, with 20 other sets of seeds
    assert changed() == pytest.approx(0.5, abs=0.06)
    assert changed(mutated_dimensions=1.0) == pytest.approx(1.0, abs=0.1)


def test_relocation_resets_best():
    assert relocated(heuristic()).arrays["has_best"].all()
    assert not relocated(heuristic(relocation_resets_best=True)).arrays["has_best"].any()


def test_outside_is_idle():
    def relocations(**switches):
        wild = heuristic(baseline=Inertia(2.0, 2.0, 1.0), n_dorm=False, **switches)
        return [search.arrays["counters"]["relocations"][0] for search, _ in iterations(wild)][-1]

    assert relocations() > 0
    assert relocations(outside_is_idle=False) == 0


def test_first_speed_in_x():
    velocity = first(heuristic()).arrays["velocity"]
    assert 0.08 < velocity.max() <= 0.1  # at least 0.0953 with 20 other seeds
    velocity = first(heuristic(first_speed_in_x=True)).arrays["velocity"]  # the state has lengths in units of Gamma
    assert 0.08 / RADIUS < velocity.max() <= 0.1 / RADIUS


def steps(**switches) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of descent steps, without any other velocity, and those of (Rho)."""
    search = first(heuristic(baseline=Inertia(0.0, 0.0, 0.0), **switches))
    search.arrays["rho"][:] = np.arange(SIZE) / 10
    search.arrays["has_direction"][:] = True
    search.arrays["direction"][:] = np.eye(SIZE, DIMENSION)
    Swarm.move(search.state)
    return np.linalg.norm(search.arrays["velocity"], axis=1), search.arrays["rho"]


def test_step_by_rho():
    assert steps()[0] == pytest.approx(np.ones(SIZE))
    lengths, rho = steps(step_by_rho=True)
    assert lengths == pytest.approx(rho)


def test_step_scale():
    assert steps(step_scale=3.0)[0] == pytest.approx(np.full(SIZE, 3.0))
