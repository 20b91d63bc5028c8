"""Networks: whose best position a particle is drawn to (Section 4.2.4 of the paper).

All seven arrange the particles in one random order, `s.order`, drawn once; a network is a rule on the places in it.
A neighbourhood includes the particle itself, except in the focal network; in a ring and on a torus it may be left out
(`itself`), so that a particle is drawn to two places, its own best and somebody else's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.core.compiler import compiled
from robustforge.core.component import Component
from robustforge.core.random import shuffle
from robustforge.core.state import State, StateField

STATE_FIELDS = (
    StateField("order", np.int64, lambda p: (p.agents,)),
    StateField("guide", np.int64, lambda p: (p.agents,)),
)

OwnCounts = Annotated[bool, "whether a particle's own best counts as well as its neighbours'"]


class Network(Component, slot=True):
    """Who tells whom where it is good.

    Kernels: `choose(s)` writes, for each agent, the agent whose best it follows to `s.guide`.
    """

    verbs: ClassVar[Mapping[str, tuple[Any, ...]]] = {"choose": ()}
    choose: ClassVar[Any]


@compiled
def arrange(s: State) -> None:
    """Draw the random order of the particles."""
    for j in range(s.order.size):
        s.order[j] = j
    shuffle(s.rng, s.order)


@compiled
def best_agent(s: State) -> int:
    """Return the agent with the lowest robust value; -1 while nobody has one."""
    best = -1
    for j in range(s.tally[0].agents):
        if s.placed[j] and (best < 0 or s.best[j] < s.best[best]):
            best = j
    return best


@compiled
def _own(s: State, j: int) -> int:
    """Return agent `j` where it is of its own neighbourhood, else nobody, -1."""
    return j if s.network[0].itself > 0 else -1


@compiled
def _better(s: State, a: int, b: int) -> int:
    """Return the agent with the lower robust value; the first if they are equal or neither has one, unless it is -1."""
    if a < 0:
        return b
    if s.placed[b] and (not s.placed[a] or s.best[b] < s.best[a]):
        return b
    return a


@compiled
def _groups(agents: int) -> int:
    """Return the largest k with k (k - 1) <= agents, so that every group has an informant for each other group."""
    return int((1.0 + math.sqrt(1.0 + 4.0 * agents)) / 2.0)


@compiled
def _choose_global(s: State) -> None:
    best = best_agent(s)
    for j in range(s.tally[0].agents):
        s.guide[j] = j if best < 0 else best


@compiled
def _choose_focal(s: State) -> None:
    for j in range(s.tally[0].agents):
        s.guide[j] = s.order[0]


@compiled
def _choose_ring(s: State) -> None:
    size = s.tally[0].agents
    for place in range(size):
        best = _own(s, s.order[place])
        best = _better(s, best, s.order[(place - 1) % size])
        s.guide[s.order[place]] = _better(s, best, s.order[(place + 1) % size])


@compiled
def _choose_von_neumann(s: State) -> None:
    size = s.tally[0].agents
    columns = math.ceil(math.sqrt(size))
    for place in range(size):
        row, column = place // columns, place % columns
        in_row = min(columns, size - row * columns)
        in_column = (size - column + columns - 1) // columns
        best = _own(s, s.order[place])
        if in_row > 1:
            best = _better(s, best, s.order[row * columns + (column - 1) % in_row])
            best = _better(s, best, s.order[row * columns + (column + 1) % in_row])
        if in_column > 1:
            best = _better(s, best, s.order[(row - 1) % in_column * columns + column])
            best = _better(s, best, s.order[(row + 1) % in_column * columns + column])
        s.guide[s.order[place]] = best


@compiled
def _choose_clan(s: State) -> None:
    size, k = s.tally[0].agents, _groups(s.tally[0].agents)
    leader_of_all = -1
    for clan in range(k):
        leader = s.order[clan]
        for place in range(clan, size, k):
            leader = _better(s, leader, s.order[place])
        for place in range(clan, size, k):
            s.guide[s.order[place]] = leader
        leader_of_all = leader if leader_of_all < 0 else _better(s, leader_of_all, leader)
    for clan in range(k):
        s.guide[s.guide[s.order[clan]]] = leader_of_all


@compiled
def _choose_cluster(s: State) -> None:
    size, k = s.tally[0].agents, _groups(s.tally[0].agents)
    for cluster in range(k):
        best = s.order[cluster]
        for place in range(cluster, size, k):
            best = _better(s, best, s.order[place])
        for other in range(k):
            if other != cluster:
                # the informants of a cluster are its first k - 1 members, one for each other cluster in turn
                number = cluster if cluster < other else cluster - 1
                best = _better(s, best, s.order[other + number * k])
        for place in range(cluster, size, k):
            s.guide[s.order[place]] = best


@compiled
def _choose_hierarchical(s: State) -> None:
    size = s.tally[0].agents
    branching = max(2, int(math.sqrt(size)))
    for node in range(size):
        child = node
        for place in range(branching * node + 1, min(branching * node + branching + 1, size)):
            if _better(s, s.order[child], s.order[place]) == s.order[place]:
                child = place
        s.order[node], s.order[child] = s.order[child], s.order[node]
    s.guide[s.order[0]] = s.order[0]
    for node in range(1, size):
        s.guide[s.order[node]] = s.order[(node - 1) // branching]


@dataclass(frozen=True)
class Global(Network):
    """Every particle follows the best of the whole swarm."""

    title: ClassVar[str] = "Global"
    source: ClassVar[str] = "Kennedy and Eberhart 1995"
    choose: ClassVar[Any] = staticmethod(_choose_global)

    def words(self) -> str:
        return "all particles share the best position of the swarm"


@dataclass(frozen=True)
class Focal(Network):
    """Every particle follows one particle, drawn once."""

    title: ClassVar[str] = "Focal"
    source: ClassVar[str] = "Kennedy and Mendes 2002"
    choose: ClassVar[Any] = staticmethod(_choose_focal)

    def words(self) -> str:
        return "all particles follow the best position of one particle, drawn once"


@dataclass(frozen=True)
class Ring(Network):
    """A particle follows the best of itself and its two neighbours in a ring."""

    title: ClassVar[str] = "Ring"
    source: ClassVar[str] = "Kennedy and Mendes 2002"
    itself: OwnCounts = True
    choose: ClassVar[Any] = staticmethod(_choose_ring)

    def words(self) -> str:
        return f"particles stand in a ring and {_verb(self.itself)} their two neighbours"


@dataclass(frozen=True)
class VonNeumann(Network):
    """A particle follows the best of itself and its four neighbours on a torus."""

    title: ClassVar[str] = "2D von Neumann"
    source: ClassVar[str] = "Kennedy and Mendes 2002"
    itself: OwnCounts = True
    choose: ClassVar[Any] = staticmethod(_choose_von_neumann)

    def words(self) -> str:
        return f"particles stand on a torus and {_verb(self.itself)} their four neighbours"


def _verb(itself: bool) -> str:
    return "share with" if itself else "follow the best of"


@dataclass(frozen=True)
class Clan(Network):
    """Particles follow the best of their clan; these leaders follow the best leader."""

    title: ClassVar[str] = "Clan"
    source: ClassVar[str] = "de Carvalho and Bastos-Filho 2009"
    choose: ClassVar[Any] = staticmethod(_choose_clan)

    def words(self) -> str:
        return "particles form clans, follow their clan's leader, and the leaders the best leader"


@dataclass(frozen=True)
class Cluster(Network):
    """Particles follow the best of their cluster and of the informants that other clusters keep for it."""

    title: ClassVar[str] = "Cluster"
    source: ClassVar[str] = "Mendes, Kennedy and Neves 2003"
    choose: ClassVar[Any] = staticmethod(_choose_cluster)

    def words(self) -> str:
        return "particles form clusters that share their best, with one fixed informant between each two"


@dataclass(frozen=True)
class Hierarchical(Network):
    """Particles form a tree in which better ones rise; each follows its parent."""

    title: ClassVar[str] = "Hierarchical"
    source: ClassVar[str] = "Janson and Middendorf 2005"
    choose: ClassVar[Any] = staticmethod(_choose_hierarchical)

    def words(self) -> str:
        return "particles form a tree in which the better ones rise, and follow their parent"
