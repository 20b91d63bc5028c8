"""Interpretation: switches for passages of the paper that allow more than one reading.

Every heuristic has an interpretation. The default has the rules of this project; `LETTER` has the rules that the text
of the paper states. `docs/explanation/paper.md` quotes the passage behind each switch, and gives the reasons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from robustforge.core.component import Component, Range, fields
from robustforge.core.state import ONE, SlotRecord, State

_MAX_VALUE = 1000.0


@dataclass(frozen=True)
class Interpretation(Component):
    """Switches for passages of the paper that allow more than one reading; the defaults are this project's rules.

    Example:
        >>> import robustforge as rf
        >>> swarm = rf.heuristic("rpso+dd").replace(interpretation=rf.Interpretation(min_inner_points=4))
        >>> swarm.interpretation.describe()
        'an inner search has at least 4 points'
    """

    title: ClassVar[str] = "Interpretation"
    source: ClassVar[str] = "the paper, where its text allows more than one reading"
    step_by_rho: Annotated[bool, "whether the descent component has the length of (Rho) instead of Gamma"] = False
    step_scale: Annotated[
        float, Range(0.0, _MAX_VALUE), "factor on the descent component: 1 in units of Gamma, 1/Gamma in units of x"
    ] = 1.0
    direction_after_stop: Annotated[bool, "whether an inner search that was stopped early gives a direction"] = True
    relocation_resets_best: Annotated[bool, "whether a relocated particle forgets its personal best"] = False
    outside_is_idle: Annotated[bool, "whether an iteration outside the bounds counts towards dormancy"] = True
    mutated_dimensions: Annotated[
        float,
        Range(0.0, _MAX_VALUE),
        "coordinates that a mutation changes on average: 0.5 by the formula, 1 by the text",
    ] = 0.5
    first_speed_in_x: Annotated[bool, "whether initial velocities are in units of x instead of Gamma"] = False
    min_inner_points: Annotated[int, Range(1, _MAX_VALUE), "smallest inner budget"] = 2
    min_searches: Annotated[int, Range(1, _MAX_VALUE), "complete inner searches per particle at the largest extent"] = 4
    direction_without_search: Annotated[
        bool, "whether particles without an inner search (skipped by nDorm, or out of bounds) get a direction"
    ] = False
    followers_know_leaders: Annotated[bool, "whether all of a clan, not only its leader, know the other leaders"] = (
        False
    )
    mutation_after_relocation: Annotated[bool, "whether a relocated particle may be mutated"] = False

    @property
    def is_default(self) -> bool:
        """Whether all rules are this project's."""
        return not self.departures

    @property
    def departures(self) -> list[str]:
        """Differences from the default rules, in words."""
        values = ((field.name, getattr(self, field.name), field.default) for field in fields(Interpretation))
        return [_DEPARTURES[name].format(value) for name, value, default in values if value != default]

    def describe(self) -> str:
        return "; ".join(self.departures)


_DEPARTURES = {
    "step_by_rho": "descent steps have the length of (Rho)",
    "step_scale": "descent steps are multiplied by {:.3g}",
    "direction_after_stop": "an inner search that was stopped early gives no descent direction",
    "relocation_resets_best": "a relocated particle forgets its personal best",
    "outside_is_idle": "an iteration outside the bounds is not idle",
    "mutated_dimensions": "a mutation changes {:.3g} coordinates on average, not half a coordinate",
    "first_speed_in_x": "initial velocities are in units of x, not of Gamma",
    "min_inner_points": "an inner search has at least {} points",
    "min_searches": "at the largest extent the budget is enough for {} inner searches per particle",
    "direction_without_search": "particles without an inner search get descent directions, too",
    "followers_know_leaders": "all particles of a clan know the leaders of all clans",
    "mutation_after_relocation": "relocated particles may be mutated",
}
"""Descriptions of the switches that are not at their defaults."""

LETTER = Interpretation(
    first_speed_in_x=True,
    min_inner_points=4,
    min_searches=2,
    direction_without_search=True,
    followers_know_leaders=True,
    mutation_after_relocation=True,
)
"""The paper to the letter: what its text states where this project has a rule of its own."""


class InterpretationState(State):
    """The record of the interpretation: 1 for yes."""

    interpretation: Annotated[SlotRecord[Interpretation], ONE, "how the paper is read"]
