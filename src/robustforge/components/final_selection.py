"""Final selection: whether the outcomes of a search are re-evaluated before one of them is returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.components.inner_search import InnerForm, InnerState
from robustforge.components.recommendation import OUTCOMES, OutcomeState
from robustforge.components.restart import RestartState
from robustforge.core.agents import copy
from robustforge.core.compiler import compiled
from robustforge.core.component import Component, Former, Range
from robustforge.core.history import neighbours, worst_of
from robustforge.core.state import DONE, ONE, PARTIAL, SlotRecord

MAX_FINALISTS = 6


class Final(Component, slot=True):
    """The final selection.

    Kernels: `gather(s)` places the finalists, as agents; `decide(s)` makes one of them the incumbent. They are called
    again as long as `gather` leaves evaluations in the reserve.
    """

    label: ClassVar[str] = "Final selection"
    kernels: ClassVar[Mapping[str, tuple[Any, ...]]] = {"gather": (), "decide": ()}
    works_alone: ClassVar[float]
    """In the record: whether it can look for a design where the outer search has found none."""
    crash_reserve: ClassVar[float]
    """In the record: evaluations that it has at least where some have failed."""
    gather: ClassVar[Any]
    decide: ClassVar[Any]

    @property
    def agents(self) -> int:
        """Finalists at most."""
        return 0

    def reserve(self, budget: int, uncertain: int = 1, is_box: bool = False) -> int:
        """Return the evaluations that are reserved for it.

        Args:
            budget: Evaluations in all.
            uncertain: Variables with a tolerance.
            is_box: Whether the uncertainty set is a box.
        """
        return 0


class FinalState(RestartState, OutcomeState, InnerState):
    """The record of the final selection, and the outcomes that it compares."""

    final: Annotated[SlotRecord[Final], ONE, "the final selection"]
    final_inner: Annotated[SlotRecord[InnerForm], ONE, "the inner search of the final selection"]


@compiled
def _do_nothing(s: FinalState) -> None:
    pass


@compiled
def _gather(s: FinalState) -> None:
    """The finalists: the incumbent, then the other outcomes of a mean-based search, or the best particles."""
    t = s.counters[0]
    p: FinalistSelection = s.final[0]
    copy(s.incumbent_x, s.x[0])
    count, most = 1, int(p.finalists)
    if s.mean.size > 0:
        for row in range(OUTCOMES):
            if count < most and s.outcome_f[row] < np.inf and _is_new(s, s.outcome_x[row], count):
                copy(s.outcome_x[row], s.x[count])
                count += 1
    else:
        while count < most:
            best = -1
            for j in range(t.outer_agents):
                better = s.has_best[j] and (best < 0 or s.best_f[j] < s.best_f[best])
                if better and _is_new(s, s.best_x[j], count):
                    best = j
            if best < 0:
                break
            copy(s.best_x[best], s.x[count])
            count += 1
    t.agents = count
    t.inner_budget = t.unallocated // count


@compiled
def _is_new(s: FinalState, x: Any, count: int) -> bool:
    """Whether a point is not among the finalists so far."""
    for j in range(count):
        same = True
        for i in range(x.size):
            same = same and x[i] == s.x[j, i]
        if same:
            return False
    return True


@compiled
def _decide(s: FinalState) -> None:
    best = -1
    for j in range(s.counters[0].agents):
        sampled = s.status[j] == DONE or s.status[j] == PARTIAL
        if sampled and s.worst[j] > -np.inf and (best < 0 or s.worst[j] < s.worst[best]):
            best = j
    if best >= 0:
        copy(s.x[best], s.incumbent_x)
        s.incumbent_f[0] = max(s.worst[best], worst_of(s, neighbours(s, s.incumbent_x)))


@dataclass(frozen=True)
class NoSelection(Final):
    """The incumbent is returned."""

    title: ClassVar[str] = "None"
    gather: ClassVar[Any] = staticmethod(_do_nothing)
    decide: ClassVar[Any] = staticmethod(_do_nothing)

    def describe(self) -> str:
        return "the incumbent is returned"


@dataclass(frozen=True)
class FinalistSelection(Final):
    """A few finalists are sampled again with equal budgets, and the one with the best worst case is returned."""

    title: ClassVar[str] = "Finalist re-evaluation"
    former_title: ClassVar[str] = "Worst of few"
    extension: ClassVar[bool] = True
    fraction: Annotated[float, Range(0.01, 0.2), Former("share"), "fraction of the budget that is reserved for it"]
    finalists: Annotated[int, Range(2, MAX_FINALISTS), "finalists at most"]
    gather: ClassVar[Any] = staticmethod(_gather)
    decide: ClassVar[Any] = staticmethod(_decide)

    @property
    def agents(self) -> int:
        return self.finalists

    def reserve(self, budget: int, uncertain: int = 1, is_box: bool = False) -> int:
        return round(self.fraction * budget)

    def describe(self) -> str:
        return (
            f"the last {100 * self.fraction:.2g}% of the budget compare up to {self.finalists} finalists by points "
            "drawn on the surface of the uncertainty set"
        )

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        reserve = self.reserve(facts["budget"])
        if not reserve:
            return []
        return [
            f"x* := of up to {self.finalists} finalists, the one whose highest f is the lowest: {reserve} evaluations, "
            "reserved for this, on the surface of the sets around them, equally divided",
        ]
