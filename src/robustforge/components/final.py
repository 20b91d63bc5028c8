"""Final check: whether what a search came to is looked at once more before it is returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.components.middle import EARLIER
from robustforge.core.compiler import compiled
from robustforge.core.component import Component, Range
from robustforge.core.history import neighbours, worst_of
from robustforge.core.state import DONE, PARTIAL, State, copy

MOST_FINALISTS = 6


class Final(Component, slot=True):
    """What happens to the outcome of a search before it is returned.

    Kernels: `gather(s)` places the finalists, as agents; `decide(s)` makes one of them the incumbent.
    """

    verbs: ClassVar[Mapping[str, tuple[Any, ...]]] = {"gather": (), "decide": ()}
    gather: ClassVar[Any]
    decide: ClassVar[Any]

    @property
    def agents(self) -> int:
        """How many finalists there are at most."""
        return 0

    def reserve(self, budget: int) -> int:
        """Return the evaluations that are kept back for it."""
        return 0


@compiled
def _nothing(s: State) -> None:
    pass


@compiled
def _gather(s: State) -> None:
    """The finalists: the incumbent, then what the search keeps: its other outcomes, or the best of its particles."""
    t = s.tally[0]
    copy(s.incumbent_x, s.x[0])
    count, most = 1, int(s.final[0].finalists)
    if s.middle.size > 0:
        for row in range(EARLIER + 1):
            if count < most and s.kept[row] < np.inf and _is_new(s, s.kept_x[row], count):
                copy(s.kept_x[row], s.x[count])
                count += 1
    else:
        while count < most:
            best = -1
            for j in range(t.group):
                better = s.placed[j] and (best < 0 or s.best[j] < s.best[best])
                if better and _is_new(s, s.best_x[j], count):
                    best = j
            if best < 0:
                break
            copy(s.best_x[best], s.x[count])
            count += 1
    t.agents = count
    t.extent = t.free // count


@compiled
def _is_new(s: State, x: Any, count: int) -> bool:
    """Whether a point is none of the finalists so far."""
    for j in range(count):
        same = True
        for i in range(x.size):
            same = same and x[i] == s.x[j, i]
        if same:
            return False
    return True


@compiled
def _decide(s: State) -> None:
    best = -1
    for j in range(s.tally[0].agents):
        sampled = s.status[j] == DONE or s.status[j] == PARTIAL
        if sampled and s.worst[j] > -np.inf and (best < 0 or s.worst[j] < s.worst[best]):
            best = j
    if best >= 0:
        copy(s.x[best], s.incumbent_x)
        s.incumbent[0] = max(s.worst[best], worst_of(s, neighbours(s, s.incumbent_x)))


@dataclass(frozen=True)
class AsItIs(Final):
    """The outcome is returned as it is."""

    title: ClassVar[str] = "None"
    gather: ClassVar[Any] = staticmethod(_nothing)
    decide: ClassVar[Any] = staticmethod(_nothing)

    def words(self) -> str:
        return "the outcome is returned as it is"


@dataclass(frozen=True)
class WorstOfFew(Final):
    """A few outcomes are sampled once more, each as often, and the one with the best worst case is returned."""

    title: ClassVar[str] = "Worst of few"
    extension: ClassVar[bool] = True
    share: Annotated[float, Range(0.01, 0.2), "of the budget, for it"]
    finalists: Annotated[int, Range(2, MOST_FINALISTS), "outcomes that are compared, at most"]
    gather: ClassVar[Any] = staticmethod(_gather)
    decide: ClassVar[Any] = staticmethod(_decide)

    @property
    def agents(self) -> int:
        return self.finalists

    def reserve(self, budget: int) -> int:
        return round(self.share * budget)

    def words(self) -> str:
        return (
            f"the last {100 * self.share:.2g}% of the budget compare up to {self.finalists} outcomes by points drawn "
            "on the surface of the uncertainty set"
        )
