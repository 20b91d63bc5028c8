"""Networks: which particle's personal best each particle follows (Section 4.2.4 of the paper).

All seven arrange the particles in one random order, drawn once; a network is a rule on the positions in it. A
neighbourhood includes the particle itself, except in the focal network; in a ring and on a torus it may be left out
(`include_self`), so that a particle is drawn to two positions, its own best and the best of others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from robustforge.core.compiler import both_ways, compiled
from robustforge.core.component import Component, Former
from robustforge.core.interpretation import Interpretation, InterpretationState
from robustforge.core.random import shuffle
from robustforge.core.state import ONE, Integers, Shape, SlotRecord

IncludeSelf = Annotated[
    bool, Former("itself"), "whether a particle's own best counts as well as those of its neighbours"
]


class Network(Component, slot=True):
    """The social network of a swarm.

    Kernels: `choose_informants(s)` writes, for each particle, the one whose best it follows to `s.informant`.
    """

    label: ClassVar[str] = "Form of network"
    kernels: ClassVar[Mapping[str, tuple[Any, ...]]] = {"choose_informants": ()}
    choose_informants: ClassVar[Any]


class NetworkState(InterpretationState):
    """The network: its record, and who informs whom."""

    network: Annotated[SlotRecord[Network], ONE, "the network"]
    network_order: Annotated[
        Integers, Shape("particles"), "the particle at each position of the network: at first in random order"
    ]
    informant: Annotated[Integers, Shape("particles"), "the particle whose personal best each one follows"]


@compiled
def arrange(s: NetworkState) -> None:
    """Draw the random order of the particles."""
    for j in range(s.network_order.size):
        s.network_order[j] = j
    shuffle(s.rng, s.network_order)


@compiled
def best_agent(s: NetworkState) -> int:
    """Return the particle with the lowest robust value; -1 while there is none."""
    best = -1
    for j in range(s.counters[0].agents):
        if s.has_best[j] and (best < 0 or s.best_f[j] < s.best_f[best]):
            best = j
    return best


@compiled
def _own(s: NetworkState, j: int) -> int:
    """Return particle `j` where it is in its own neighbourhood, otherwise -1."""
    p: Ring = s.network[0]
    return j if p.include_self > 0 else -1


@compiled
def _better(s: NetworkState, a: int, b: int) -> int:
    """Return the particle with the lower robust value; the first one in a tie, unless it is -1."""
    if a < 0:
        return b
    if s.has_best[b] and (not s.has_best[a] or s.best_f[b] < s.best_f[a]):
        return b
    return a


@both_ways
def _groups(particles: int) -> int:
    """Return the largest k with k (k - 1) <= particles: every group has an informant for each other group."""
    return int((1.0 + math.sqrt(1.0 + 4.0 * particles)) / 2.0)


@compiled
def _inform_global(s: NetworkState) -> None:
    best = best_agent(s)
    for j in range(s.counters[0].agents):
        s.informant[j] = j if best < 0 else best


@compiled
def _inform_focal(s: NetworkState) -> None:
    for j in range(s.counters[0].agents):
        s.informant[j] = s.network_order[0]


@compiled
def _inform_ring(s: NetworkState) -> None:
    size = s.counters[0].agents
    for position in range(size):
        best = _own(s, s.network_order[position])
        best = _better(s, best, s.network_order[(position - 1) % size])
        s.informant[s.network_order[position]] = _better(s, best, s.network_order[(position + 1) % size])


@compiled
def _inform_von_neumann(s: NetworkState) -> None:
    size = s.counters[0].agents
    columns = math.ceil(math.sqrt(size))
    for position in range(size):
        row, column = position // columns, position % columns
        in_row = min(columns, size - row * columns)
        in_column = (size - column + columns - 1) // columns
        best = _own(s, s.network_order[position])
        if in_row > 1:
            best = _better(s, best, s.network_order[row * columns + (column - 1) % in_row])
            best = _better(s, best, s.network_order[row * columns + (column + 1) % in_row])
        if in_column > 1:
            best = _better(s, best, s.network_order[(row - 1) % in_column * columns + column])
            best = _better(s, best, s.network_order[(row + 1) % in_column * columns + column])
        s.informant[s.network_order[position]] = best


@compiled
def _inform_clan(s: NetworkState) -> None:
    rules: Interpretation = s.interpretation[0]
    size, k = s.counters[0].agents, _groups(s.counters[0].agents)
    leader_of_all = -1
    for clan in range(k):
        leader = s.network_order[clan]
        for position in range(clan, size, k):
            leader = _better(s, leader, s.network_order[position])
        for position in range(clan, size, k):
            s.informant[s.network_order[position]] = leader
        leader_of_all = leader if leader_of_all < 0 else _better(s, leader_of_all, leader)
    for clan in range(k):
        s.informant[s.informant[s.network_order[clan]]] = leader_of_all
    if rules.followers_know_leaders > 0:
        for j in range(size):
            s.informant[j] = leader_of_all


@compiled
def _inform_cluster(s: NetworkState) -> None:
    size, k = s.counters[0].agents, _groups(s.counters[0].agents)
    for cluster in range(k):
        best = s.network_order[cluster]
        for position in range(cluster, size, k):
            best = _better(s, best, s.network_order[position])
        for other in range(k):
            if other != cluster:
                # the informants of a cluster are its first k - 1 members, one for each other cluster in turn
                number = cluster if cluster < other else cluster - 1
                best = _better(s, best, s.network_order[other + number * k])
        for position in range(cluster, size, k):
            s.informant[s.network_order[position]] = best


@compiled
def _inform_hierarchical(s: NetworkState) -> None:
    size = s.counters[0].agents
    branching = max(2, int(math.sqrt(size)))
    for node in range(size):
        child = node
        for position in range(branching * node + 1, min(branching * node + branching + 1, size)):
            if _better(s, s.network_order[child], s.network_order[position]) == s.network_order[position]:
                child = position
        s.network_order[node], s.network_order[child] = s.network_order[child], s.network_order[node]
    s.informant[s.network_order[0]] = s.network_order[0]
    for node in range(1, size):
        s.informant[s.network_order[node]] = s.network_order[(node - 1) // branching]


@dataclass(frozen=True)
class Global(Network):
    """Every particle follows the best of the whole swarm."""

    title: ClassVar[str] = "Global"
    source: ClassVar[str] = "Kennedy and Eberhart 1995"
    choose_informants: ClassVar[Any] = staticmethod(_inform_global)

    def describe(self) -> str:
        return "all particles share the best position of the swarm"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return ["g_j := best p of the swarm, for every j"]


@dataclass(frozen=True)
class Focal(Network):
    """Every particle follows one particle, drawn once."""

    title: ClassVar[str] = "Focal"
    source: ClassVar[str] = "Kennedy and Mendes 2002"
    choose_informants: ClassVar[Any] = staticmethod(_inform_focal)

    def describe(self) -> str:
        return "all particles follow the best position of one particle, drawn once"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return ["g_j := p_k for every j, where k is one particle, drawn at the start"]


@dataclass(frozen=True)
class Ring(Network):
    """A particle follows the best of itself and its two neighbours in a ring."""

    title: ClassVar[str] = "Ring"
    source: ClassVar[str] = "Kennedy and Mendes 2002"
    include_self: IncludeSelf = True
    choose_informants: ClassVar[Any] = staticmethod(_inform_ring)

    def describe(self) -> str:
        return f"particles form a ring and {_verb(self.include_self)} their two neighbours"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return [f"g_j := best p of {_whose(self.include_self)} two neighbours in a ring drawn at the start"]


@dataclass(frozen=True)
class VonNeumann(Network):
    """A particle follows the best of itself and its four neighbours on a torus."""

    title: ClassVar[str] = "2D von Neumann"
    source: ClassVar[str] = "Kennedy and Mendes 2002"
    include_self: IncludeSelf = True
    choose_informants: ClassVar[Any] = staticmethod(_inform_von_neumann)

    def describe(self) -> str:
        return f"particles form a torus and {_verb(self.include_self)} their four neighbours"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return [
            f"g_j := best p of {_whose(self.include_self)} four neighbours on a torus drawn at the start, "
            f"{math.ceil(math.sqrt(facts['particles']))} to a row"
        ]


def _whose(include_self: bool) -> str:
    return "j and its" if include_self else "j's"


def _verb(include_self: bool) -> str:
    return "share with" if include_self else "follow the best of"


@dataclass(frozen=True)
class Clan(Network):
    """Particles follow the best of their clan; these leaders follow the best leader."""

    title: ClassVar[str] = "Clan"
    source: ClassVar[str] = "de Carvalho and Bastos-Filho 2009"
    choose_informants: ClassVar[Any] = staticmethod(_inform_clan)

    def describe(self) -> str:
        return "particles form clans and follow their leaders, who share their best positions"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        rules: Interpretation = facts["interpretation"]
        own = "g_j := p of the leader of j's clan; for leaders: of the best leader"
        return [
            f"leader of each of {_groups(facts['particles'])} clans drawn at the start := its particle with the best p",
            "g_j := p of the best leader, for every j" if rules.followers_know_leaders else own,
        ]


@dataclass(frozen=True)
class Cluster(Network):
    """Particles follow the best of their cluster and of the informants that other clusters keep for it."""

    title: ClassVar[str] = "Cluster"
    source: ClassVar[str] = "Mendes, Kennedy and Neves 2003"
    choose_informants: ClassVar[Any] = staticmethod(_inform_cluster)

    def describe(self) -> str:
        return "particles form clusters that share their best, with one fixed informant for each pair of clusters"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return [
            f"g_j := best p of j's cluster, one of {_groups(facts['particles'])} drawn at the start, and of its "
            "informants, one in each other cluster"
        ]


@dataclass(frozen=True)
class Hierarchical(Network):
    """Particles form a tree in which better ones rise; each follows its parent."""

    title: ClassVar[str] = "Hierarchical"
    source: ClassVar[str] = "Janson and Middendorf 2005"
    choose_informants: ClassVar[Any] = staticmethod(_inform_hierarchical)

    def describe(self) -> str:
        return "particles form a tree in which better particles move up, and follow their parent"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return [
            f"in a tree drawn at the start, with up to {max(2, math.isqrt(facts['particles']))} children each: from "
            "the root down, each particle changes places with its best child if that has a better p",
            "g_j := p of the parent of j; for the root: its own",
        ]
