"""Descent search: a single candidate that follows descent directions, the method that the paper's swarms extend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from robustforge.components.descent_directions import (
    FIND_DIRECTION,
    DescentState,
    MinStep,
    Sigma,
    SigmaLimit,
    direction_lines,
    directions_of,
    find_direction,
)
from robustforge.components.network import NetworkState
from robustforge.components.outer import Outer, OuterState
from robustforge.components.swarm import robust_value, start_at_random
from robustforge.core.agents import forget_best, is_inside, random_position, update_bests
from robustforge.core.compiler import Routine, compiled
from robustforge.core.history import neighbours
from robustforge.core.pseudocode_lines import UNIFORM, indented
from robustforge.core.state import DONE, Plan

if TYPE_CHECKING:
    from robustforge.core.pseudocode_lines import Frame


class DescentSearchState(NetworkState, DescentState, OuterState):
    """The state that the kernels of a descent search use."""


@compiled
def _update_descent(s: DescentSearchState) -> None:
    p: DescentSearch = s.outer[0]
    for j in range(s.counters[0].agents):
        s.has_direction[j] = False
        if s.worst[j] > -np.inf:
            found = neighbours(s, s.x[j])
            if s.status[j] == DONE:
                update_bests(s, j, robust_value(s, j, found))
            find_direction(s, j, found, p.sigma, p.sigma_limit)


@compiled
def _move_descent(s: DescentSearchState) -> None:
    p: DescentSearch = s.outer[0]
    for j in range(s.counters[0].agents):
        if s.has_direction[j]:
            step = max(s.rho[j], p.min_step)
            x, direction = s.x[j], s.direction[j]
            for i in range(x.size):
                x[i] += step * direction[i]
            if is_inside(s, j):
                continue
        random_position(s, j)  # a local minimum, or outside the bounds: restart elsewhere
        forget_best(s, j)


@dataclass(frozen=True)
class DescentSearch(Outer):
    """One candidate follows descent directions to a local robust minimum, then restarts at random."""

    title: ClassVar[str] = "Descent search"
    rank: ClassVar[int] = 1
    source: ClassVar[str] = "Bertsimas, Nohadani and Teo 2010; restarts: Hughes, Goerigk and Wright 2019"
    extension: ClassVar[bool] = True
    sigma: Sigma
    sigma_limit: SigmaLimit
    min_step: MinStep
    start: ClassVar[Any] = staticmethod(start_at_random)
    update: ClassVar[Any] = staticmethod(_update_descent)
    move: ClassVar[Any] = staticmethod(_move_descent)

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        return {"particles": 1, **directions_of(1, plan)}

    def routines(self, dimension: int) -> tuple[Routine, ...]:
        return (FIND_DIRECTION,)

    def algorithm(self, frame: Frame) -> list[str]:
        restart = [UNIFORM, "F_j := infinity"] if frame.stopping else [UNIFORM]
        lines = [
            "; ".join([*restart, "x* := x_j", "F* := infinity"]),
            "while evaluations are left:",
            *indented(frame.search),
            *indented(frame.completed("if F(x_j) < F_j: F_j := F(x_j)" if frame.stopping else "")),
            *indented(direction_lines(self)),
            "  if d_j exists:",
            "    rho := the shortest step along d_j that takes all of D out of the set around x_j",
            f"    x_j := x_j + max(rho, {self.min_step:.3g} Gamma) d_j",
            f"  if it does not, or x_j is outside X: {'; '.join(restart)}",
        ]
        return [line.replace("_j", "") for line in lines]  # there is one candidate

    def describe(self) -> str:
        return (
            "one candidate steps away from its high-cost points, just far enough to exclude them from the "
            f"uncertainty set (at least {self.min_step:.3g} Gamma), and restarts at random where there is no descent "
            "direction"
        )
