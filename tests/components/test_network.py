"""Networks, against cases drawn by hand: whose best each particle follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pytest

import robustforge as rf
from robustforge.components import (
    Capability,
    Clan,
    Cluster,
    Focal,
    Global,
    Hierarchical,
    Inertia,
    Inner,
    Network,
    NoMutation,
    PlainMovement,
    RandomSampling,
    Ring,
    Swarm,
    VonNeumann,
)
from robustforge.core.component import Range
from robustforge.errors import HeuristicError


def guides(
    network: type[Network], best: list[float], order: list[int] | None = None, rounds: int = 1, **fields: bool
) -> list[int]:
    """Return who follows whom, for particles with these bests that stand in this order."""
    size = len(best)
    swarm = Swarm(size, NoMutation(), network(**fields), Capability(Inertia(1.0, 1.0, 0.5), PlainMovement()))
    search = rf.Optimizer(
        [(0, 1)], rf.Ball(0.1), 100, rf.Heuristic(swarm, Inner(0.1, RandomSampling(), False, False, False)), 1
    )
    arrays = search.arrays
    arrays["network_order"][:] = range(size) if order is None else order
    arrays["best_f"][:] = best
    arrays["has_best"][:] = np.isfinite(best)
    for _ in range(rounds):
        network.choose_informants(search.state)
    return arrays["informant"].tolist()


def test_global():
    assert guides(Global, [3, 1, 2, 5]) == [1, 1, 1, 1]


def test_focal_follows_one_particle_whatever_its_value():
    assert guides(Focal, [3, 1, 2], order=[2, 0, 1]) == [2, 2, 2]


def test_ring():
    #  places: 0 1 2 3 4, bests 5 4 3 2 1; neighbours wrap
    assert guides(Ring, [5, 4, 3, 2, 1]) == [4, 2, 3, 4, 4]
    # in another order, particle 2 stands between 0 and 1
    assert guides(Ring, [1, 2, 3, 4, 5], order=[0, 2, 1, 3, 4]) == [0, 1, 0, 1, 0]


def test_von_neumann_on_a_full_grid():
    # 0 1 2
    # 3 4 5
    # 6 7 8   each sees itself and four neighbours, wrapped
    assert guides(VonNeumann, [9, 8, 7, 6, 5, 4, 3, 2, 1]) == [6, 7, 8, 6, 7, 8, 8, 8, 8]


def test_von_neumann_with_a_part_row():
    # 0 1 2
    # 3 4        the last row wraps within itself, columns within what they have
    assert guides(VonNeumann, [5, 4, 3, 2, 1]) == [3, 4, 2, 4, 4]


def test_neighbours_can_be_others_only():
    assert guides(Ring, [5, 4, 3, 2, 1], include_self=False) == [4, 2, 3, 4, 3]
    # 5 4 9      particles 4 and 8, with 1 and 0, are the best of their own neighbourhoods, and follow the second best
    # 3 1 8
    # 6 7 0
    found = guides(VonNeumann, [5, 4, 9, 3, 1, 8, 6, 7, 0], include_self=False)
    assert found == [3, 4, 8, 4, 3, 8, 8, 8, 6]
    assert guides(VonNeumann, [5, 4, 9, 3, 1, 8, 6, 7, 0]) == [3, 4, 8, 4, 4, 8, 8, 8, 8]


@pytest.mark.parametrize("network", [Ring, VonNeumann])
@pytest.mark.parametrize("size", range(2, 14))
def test_nobody_follows_itself_where_neighbours_are_others(network, size):
    """Also where a row or a column of the torus is so short that a neighbour would be oneself."""
    values = np.random.default_rng(size).permutation(size).astype(float)
    follows = guides(network, values.tolist(), include_self=False)
    assert all(other != j for j, other in enumerate(follows))
    kept = guides(network, values.tolist())
    assert all(one in (other, j) for j, (one, other) in enumerate(zip(kept, follows, strict=True)))


def test_clans_follow_their_leader_and_leaders_the_best_leader():
    # N = 6: k = 3 clans by place: {0, 3}, {1, 4}, {2, 5}
    assert guides(Clan, [6, 5, 4, 3, 2, 1]) == [3, 4, 5, 5, 5, 5]


def test_clusters_share_and_have_informants():
    # N = 6: k = 3 clusters {0, 3}, {1, 4}, {2, 5}. Informants: 0 of the first tells cluster 1, 3 tells 2;
    # of the second 1 tells cluster 0, 4 tells 2; of the third 2 tells 0, 5 tells 1.
    best = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    # cluster 0 sees 0, 3, 1, 2 -> 3; cluster 1 sees 1, 4, 0, 5 -> 5; cluster 2 sees 2, 5, 3, 4 -> 5
    assert guides(Cluster, best) == [3, 5, 5, 3, 5, 5]


def test_hierarchy_lets_the_better_rise_and_follows_parents():
    # N = 7, branching 2: node 0 -> 1, 2; node 1 -> 3, 4; node 2 -> 5, 6
    best = [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    # top down: 0 swaps with 2 (best child 5 < 6); node 1: child 4; node 2 (holding 0): child 6
    # tree: 2 / 4, 6 / 3, 1, 5, 0
    assert guides(Hierarchical, best) == [6, 4, 2, 4, 2, 6, 2]


def test_the_best_particle_reaches_the_root_in_the_end():
    result = guides(Hierarchical, [7, 6, 5, 4, 3, 2, 1], rounds=10)
    assert result[6] == 6


@pytest.mark.parametrize("network", Network.alternatives(), ids=lambda c: c.title)
@pytest.mark.parametrize("size", [2, 3, 5, 17, 50])
def test_every_particle_follows_someone_and_nobody_without_a_best_is_preferred(network, size):
    best = np.random.default_rng(size).permutation(size).astype(float)
    best[: size // 3] = np.inf
    chosen = guides(network, best.tolist())
    assert all(0 <= guide < size for guide in chosen)
    if network not in (Focal, Hierarchical):
        assert all(best[guide] <= best[j] for j, guide in enumerate(chosen))


def test_a_component_from_outside_with_a_field_of_its_own_is_refused(monkeypatch):
    monkeypatch.setattr(Network, "_alternatives", [*Network.alternatives()])

    @dataclass(frozen=True)
    class Strange(Global):
        title: ClassVar[str] = "Strange"
        reach: Annotated[float, Range(0.0, 1.0)]

    swarm = rf.heuristic("rpso").outer.replace(network=Strange(0.5))
    with pytest.raises(HeuristicError, match="reach"):
        rf.Optimizer([(0, 1)], rf.Ball(0.1), 100, rf.heuristic("rpso").replace(outer=swarm), 1)
