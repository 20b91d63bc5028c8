"""Recommendation: which point a mean-based search returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from robustforge.core.agents import copy
from robustforge.core.compiler import compiled
from robustforge.core.component import Component, Former, Range
from robustforge.core.history import neighbours, worst_of
from robustforge.core.state import ONE, Floats, Shape, SlotRecord, State

MEAN, AVERAGED_MEAN, BEST_CANDIDATE, PREVIOUS_START = range(4)
"""The outcomes of a mean-based search: the mean, its average, the best candidate, the best of the previous starts."""

OUTCOMES = 4


class Recommendation(Component, slot=True):
    """Which outcome of a mean-based search is recommended.

    Kernels: `recommend(s)` makes one of the outcomes the incumbent.
    """

    label: ClassVar[str] = "Recommendation"
    key: ClassVar[str] = "returned"
    former_symbol: ClassVar[str] = "Returned"
    kernels: ClassVar[Mapping[str, tuple[Any, ...]]] = {"recommend": ()}
    recommend: ClassVar[Any]


class OutcomeState(State):
    """The outcomes of a mean-based search."""

    recommendation: Annotated[SlotRecord[Recommendation], ONE, "the recommendation"]
    outcome_x: Annotated[Floats, Shape("outcomes", "mean"), "the outcomes so far"]
    outcome_f: Annotated[Floats, Shape(OUTCOMES), "their values; +inf if there is none"]


@compiled
def recommend(s: OutcomeState, outcome: int) -> None:
    """Make an outcome the incumbent; its value is raised to the worst neighbour in the history."""
    copy(s.outcome_x[outcome], s.incumbent_x)
    s.incumbent_f[0] = max(s.outcome_f[outcome], worst_of(s, neighbours(s, s.incumbent_x)))


@compiled
def _recommend_mean(s: OutcomeState) -> None:
    recommend(s, MEAN)


@compiled
def _recommend_average(s: OutcomeState) -> None:
    recommend(s, AVERAGED_MEAN)


@compiled
def _recommend_best(s: OutcomeState) -> None:
    recommend(s, BEST_CANDIDATE)


@dataclass(frozen=True)
class RecommendMean(Recommendation):
    """The last mean."""

    title: ClassVar[str] = "Mean"
    extension: ClassVar[bool] = True
    recommend: ClassVar[Any] = staticmethod(_recommend_mean)

    def describe(self) -> str:
        return "the last mean is recommended"


@dataclass(frozen=True)
class RecommendAverage(Recommendation):
    """The average of the means of the last iterations."""

    title: ClassVar[str] = "Averaged mean"
    extension: ClassVar[bool] = True
    fraction: Annotated[
        float, Range(0.02, 0.2), Former("share"), "fraction of the budget, its last part, over which means are averaged"
    ]
    recommend: ClassVar[Any] = staticmethod(_recommend_average)

    def describe(self) -> str:
        return f"the average of the means over the last {100 * self.fraction:.2g}% of the budget is recommended"


@dataclass(frozen=True)
class RecommendBest(Recommendation):
    """The candidate with the lowest value."""

    title: ClassVar[str] = "Best candidate"
    extension: ClassVar[bool] = True
    recommend: ClassVar[Any] = staticmethod(_recommend_best)

    def describe(self) -> str:
        return "the candidate with the lowest value is recommended"
