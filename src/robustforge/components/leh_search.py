"""LEH search: a single candidate that visits the centres of largest empty hyperspheres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from robustforge.components.network import NetworkState
from robustforge.components.outer import Outer, OuterState
from robustforge.components.relocation import (
    MAX_POPULATION,
    LehState,
    empty_centre,
    empty_centre_lines,
    leh_sizes,
)
from robustforge.components.swarm import robust_value, start_at_random
from robustforge.core.agents import copy, random_position, update_bests
from robustforge.core.compiler import compiled
from robustforge.core.component import Former, Range
from robustforge.core.history import neighbours
from robustforge.core.pseudocode_lines import UNIFORM, indented
from robustforge.core.state import DONE, SPACE_COVERED, Plan

if TYPE_CHECKING:
    from robustforge.core.pseudocode_lines import Frame


class LehSearchState(NetworkState, LehState, OuterState):
    """The state that the kernels of an LEH search use."""


@compiled
def _update_leh(s: LehSearchState) -> None:
    for j in range(s.counters[0].agents):
        if s.status[j] == DONE and s.worst[j] > -np.inf:
            update_bests(s, j, robust_value(s, j, neighbours(s, s.x[j])))


@compiled
def _move_leh(s: LehSearchState) -> None:
    t = s.counters[0]
    p: LehSearch = s.outer[0]
    for j in range(t.agents):
        if t.has_incumbent == 0 or t.distances >= t.distance_limit:
            random_position(s, j)
            continue
        clearance = empty_centre(
            s, int(p.population_size), p.mutation_probability, p.amplitude, int(p.elites), int(p.tournament_size)
        )
        t.relocations += 1
        if clearance < 1.0 and s.certain.size == 0:
            t.ending = SPACE_COVERED
        copy(s.leh_centre, s.x[j])


@dataclass(frozen=True)
class LehSearch(Outer):
    """One candidate moves from the centre of one largest empty hypersphere to the next."""

    title: ClassVar[str] = "LEH search"
    rank: ClassVar[int] = 2
    source: ClassVar[str] = "Hughes, Goerigk and Wright 2019"
    extension: ClassVar[bool] = True
    distances_per_evaluation: ClassVar[int] = 100_000
    population_size: Annotated[
        int, Range(5, MAX_POPULATION), Former("population"), "population of the genetic algorithm"
    ]
    mutation_probability: Annotated[
        float, Range(0.01, 0.5), Former("mutation"), "probability that a coordinate is mutated"
    ]
    amplitude: Annotated[float, Range(0.05, 0.5), "largest mutation, as a fraction of the range"]
    elites: Annotated[int, Range(1, 2), "candidates that survive unchanged"]
    tournament_size: Annotated[int, Range(2, 4), Former("tour"), "tournament size"]
    start: ClassVar[Any] = staticmethod(start_at_random)
    update: ClassVar[Any] = staticmethod(_update_leh)
    move: ClassVar[Any] = staticmethod(_move_leh)

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        return {"particles": 1, **leh_sizes(self.population_size, plan)}

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return empty_centre_lines(self, facts)

    def algorithm(self, frame: Frame) -> list[str]:
        lines = [
            f"{UNIFORM}; x* := x_j; F* := infinity",
            "while evaluations are left:",
            *indented(frame.search),
            *indented(frame.completed("")),
            *indented(self.pseudocode(frame.facts)),
            "  if the radius of that hypersphere is below Gamma, and all variables are uncertain: leave the loop",
        ]
        return [line.replace("F_j", "F*").replace("_j", "") for line in lines]  # one candidate, which keeps its best

    def describe(self) -> str:
        return (
            "one candidate moves to the centre of the largest hypersphere without a high-cost point, until the largest "
            "one is smaller than the uncertainty set"
        )
