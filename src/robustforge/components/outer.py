"""Outer search: the slot of the components that place candidates. Each of them has its own module.

The engine knows an outer search by three kernels: `start` places the first candidates, `update` uses the values that
their inner searches found, `move` places the next candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from robustforge.components.movement import Movement, PlainMovement
from robustforge.core.compiler import Routine
from robustforge.core.component import Component, fields
from robustforge.core.pseudocode_lines import indented
from robustforge.core.state import ONE, SlotRecord, State

if TYPE_CHECKING:
    from robustforge.core.pseudocode_lines import Frame


class Outer(Component, slot=True):
    """The outer search: which designs become candidates.

    Kernels: `start(s)`, `update(s)` and `move(s)`.
    """

    label: ClassVar[str] = "Outer search"
    kernels: ClassVar[Mapping[str, tuple[Any, ...]]] = {"start": (), "update": (), "move": ()}
    start: ClassVar[Any]
    update: ClassVar[Any]
    move: ClassVar[Any]
    distances_per_evaluation: ClassVar[int] = 5000
    """Distances that relocations may compute, per evaluation of the budget; beyond that they go to random points."""

    @property
    def agents(self) -> int:
        """Candidates that are processed together."""
        return 1

    @property
    def is_asynchronous(self) -> bool:
        """Whether agents move one after the other, and not all in each iteration."""
        return False

    @property
    def movement(self) -> Movement:
        """The movement components of the agents."""
        return PlainMovement()

    @property
    def offers_candidates(self) -> bool:
        """Whether the best candidate by its inner search is recommended, and personal bests are kept."""
        return True

    @property
    def stops_above(self) -> str:
        """The value above which an inner search may be stopped, in words; empty if it never is."""
        return "the candidate's own best" if self.offers_candidates else ""

    @property
    def uses_stopping(self) -> bool:
        """Whether inner searches can be stopped early."""
        return bool(self.stops_above)

    @property
    def is_nominal(self) -> bool:
        """Whether candidates are evaluated as they are, whatever the inner search."""
        return False

    @property
    def leaves_box(self) -> bool:
        """Whether candidates may be outside the bounds as far as disturbances do: they are samples, not designs."""
        return False

    @property
    def described_parts(self) -> list[Component]:
        """The components inside that have a line of their own in a description."""
        return [getattr(self, field.name) for field in fields(type(self)) if field.is_component]

    def distance_limit(self, budget: int) -> int:
        """Return the distances that relocations may compute in all: a fifth per evaluation beyond the first 2,000.

        Each relocation scans the whole history, so its cost grows with the number of evaluations.
        """
        return self.distances_per_evaluation * (min(budget, 2000) + max(0, budget - 2000) // 5)

    def routines(self, dimension: int) -> tuple[Routine, ...]:
        """Return the kernels that its own kernels call by address, for a number of variables."""
        return ()

    def algorithm(self, frame: Frame) -> list[str]:
        """Return the whole search as pseudocode: initialisation, then the loop."""
        first, place, update = self.steps
        return [*first, "while evaluations are left:", *indented([*place, *frame.values, *update])]

    @property
    def steps(self) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        """Its steps as pseudocode: initialisation, how candidates x_j are placed, how their values are used."""
        first = f"{self.title} places {self.agents} candidates x_j"
        return (first,), (), (f"{self.title} updates its state and moves: {self.describe()}",)


class OuterState(State):
    """The record of the outer search."""

    outer: Annotated[SlotRecord[Outer], ONE, "the outer search"]
