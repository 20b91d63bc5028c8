"""Second stage: a search that continues where the outer search is stopped, with all that it has evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from robustforge.components.emulator_search import EmulatorSearch
from robustforge.components.outer import Outer, OuterState
from robustforge.core.component import Component, Range
from robustforge.core.state import ONE, SlotRecord


class SecondStage(Component, slot=True):
    """Whether another search takes over from the outer search."""

    label: ClassVar[str] = "Second stage"
    key: ClassVar[str] = "second_stage"

    @property
    def continuation(self) -> EmulatorSearch | None:
        """The search that takes over."""
        return None

    def evaluations_left(self, budget: int) -> int:
        """Return how many evaluations are left when it takes over; -1 if none does."""
        return -1


class SecondStageState(OuterState):
    """The record of the search that takes over."""

    second_search: Annotated[SlotRecord[Outer], ONE, "the search of the second stage"]


@dataclass(frozen=True)
class NoSecondStage(SecondStage):
    """The outer search has the whole budget."""

    title: ClassVar[str] = "None"

    def describe(self) -> str:
        return "no second stage"


@dataclass(frozen=True)
class EmulatorStage(SecondStage):
    """An emulator search takes over after a fraction of the budget."""

    title: ClassVar[str] = "Emulator"
    extension: ClassVar[bool] = True
    costly: ClassVar[bool] = True
    first_fraction: Annotated[float, Range(0.1, 0.9), "fraction of the budget after which it takes over"]
    search: EmulatorSearch

    @property
    def continuation(self) -> EmulatorSearch:
        return self.search

    def evaluations_left(self, budget: int) -> int:
        return round((1.0 - self.first_fraction) * budget)

    def describe(self) -> str:
        return f"after {100 * self.first_fraction:.2g}% of the budget: {self.search.describe()}"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return [f"if only {self.evaluations_left(facts['budget'])} evaluations are left: the second stage follows"]
