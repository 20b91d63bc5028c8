"""Gradient search: slopes by differences along the axes, then steps downhill of several lengths at once.

The differences are as wide as the uncertainty set is along an axis, so that ripples smaller than that are not followed.
Where no step leads down the search is at a minimum for its step size; it goes on with a smaller one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.components import middle
from robustforge.components.middle import Restart, Returned, WithMiddle
from robustforge.components.outer import Outer, Steps
from robustforge.core.compiler import compiled, inlined
from robustforge.core.component import Range
from robustforge.core.state import Plan, State, StateField, copy

LENGTHS, _FACTOR = 6, 0.4
"""Steps that are tried together, and the ratio of their lengths."""

SLOPES = np.dtype([("next", np.int64), ("length", np.float64), ("value", np.float64)], align=True)

STATE_FIELDS = (
    StateField("slopes", SLOPES, lambda p: (1,)),
    StateField("slope", np.float64, lambda p: (p.middles,)),
)


@compiled
def _begin_descent(s: State) -> None:
    middle.begin(s)
    d = s.slopes[0]
    d.next, d.length, d.value = -1, s.outer[0].first, np.nan


@compiled
def _place_differences(s: State) -> None:
    """Place the next differences; once all slopes are known, steps of several lengths.

    `next` is -1 before the middle has a value, then the axis whose slope is next.
    """
    t, d, n = s.tally[0], s.slopes[0], s.tally[0].dimension
    middle.end_radius(s, s.outer[0].difference)
    t.agents = 0
    if d.next < 0:
        copy(s.middle, s.x[0])
        t.agents = 1
        return
    if d.next >= n:
        _place_steps(s)
        return
    while t.agents < t.group and d.next + t.agents < n:
        i, j = d.next + t.agents, t.agents
        copy(s.middle, s.x[j])
        s.x[j, i] += s.radius[i] if s.middle[i] + s.radius[i] <= s.upper[i] else -s.radius[i]
        s.x[j, i] = max(s.x[j, i], s.lower[i])
        t.agents += 1


@inlined
def _place_steps(s: State) -> None:
    """Place candidates downhill, the longest step first; along each variable in units of its range."""
    t, n = s.tally[0], s.tally[0].dimension
    steepest = 0.0
    for i in range(n):
        steepest = max(steepest, abs(s.slope[i]) * (s.upper[i] - s.lower[i]))
    length = s.slopes[0].length
    t.agents = LENGTHS
    for j in range(t.agents):
        for i in range(n):
            width = s.upper[i] - s.lower[i]
            step = length * width * (s.slope[i] * width / steepest) if steepest > 0.0 else 0.0
            s.x[j, i] = min(max(s.middle[i] - step, s.lower[i]), s.upper[i])
        length *= _FACTOR


@compiled
def _learn_by_differences(s: State) -> None:
    t, d, n = s.tally[0], s.slopes[0], s.tally[0].dimension
    if d.next < 0:
        if middle.is_counted(s, 0) and s.worst[0] < np.inf:
            d.value = s.worst[0]
            d.next = 0
        else:
            middle.begin(s)  # nothing can be compared with a failure: elsewhere
            s.present[0].number -= 1.0
    elif d.next < n:
        for j in range(t.agents):
            i = d.next + j
            gap = s.x[j, i] - s.middle[i]
            known = middle.is_counted(s, j) and s.worst[j] < np.inf and gap != 0.0
            s.slope[i] = (s.worst[j] - d.value) / gap if known else 0.0
        d.next += t.agents
    else:
        _step(s)
    middle.settle(s)
    if middle.is_over(s) or (d.length < s.outer[0].least and s.present[0].number < s.restart[0].starts):
        middle.end(s)
        _begin_descent(s)


@inlined
def _step(s: State) -> None:
    """Take the best of the steps, if it leads down; else look at shorter ones next time."""
    t, d = s.tally[0], s.slopes[0]
    best = -1
    for j in range(t.agents):
        if middle.is_counted(s, j) and s.worst[j] < d.value and (best < 0 or s.worst[j] < s.worst[best]):
            best = j
    if best >= 0:
        for _ in range(best):
            d.length *= _FACTOR
        d.length = min(1.0, d.length / _FACTOR)
        d.value = s.worst[best]
        copy(s.x[best], s.middle)
    else:
        for _ in range(LENGTHS - 1):
            d.length *= _FACTOR
    d.length = max(d.length, 1e-9)
    d.next = 0


@compiled
def _start_descent(s: State) -> None:
    _begin_descent(s)
    _place_differences(s)


@dataclass(frozen=True)
class GradientSearch(WithMiddle, Outer):
    """One candidate goes downhill by finite differences, and begins again where no step leads down."""

    title: ClassVar[str] = "Gradient search"
    source: ClassVar[str] = "steepest descent by finite differences: Kelley 1999"
    extension: ClassVar[bool] = True
    group: Annotated[int, Range(LENGTHS, 60), "differences that are taken together"]
    difference: Annotated[float, Range(0.3, 3.0, log=True), "width of a difference, in uncertainty sets"]
    first: Annotated[float, Range(0.05, 0.5), "longest step in the beginning, as a share of the range"]
    least: Annotated[float, Range(1e-4, 0.02, log=True), "longest step at which it begins again, where it may"]
    restart: Restart
    returned: Returned
    start: ClassVar[Any] = staticmethod(_start_descent)
    learn: ClassVar[Any] = staticmethod(_learn_by_differences)
    move: ClassVar[Any] = staticmethod(_place_differences)

    @property
    def agents(self) -> int:
        return self.group

    def room(self, plan: Plan) -> Mapping[str, int]:
        return {"middles": plan.dimension}

    @property
    def steps(self) -> Steps:
        return Steps(
            (f"m := {self.restart.again}; step := {self.first:.3g}",),
            (
                f"by turns: the candidates x_j := m + {self.difference:.3g} Gamma (/ sqrt n for a ball) along one axis "
                f"each, up to {self.group} together, until all slopes are known;",
                f"then {LENGTHS} candidates x_j downhill from m: step, and {_FACTOR} times the one before, in units of "
                "the width of X",
            ),
            (
                "after the steps: m := the best of them, if it is better; else they get shorter",
                f"x* := {self.returned.words()}".replace(" is returned", ""),
            ),
        )

    def words(self) -> str:
        return (
            f"differences of {self.difference:.2g} uncertainty sets along each axis show the way down; of {LENGTHS} "
            "steps along it the best is taken, and where none leads down they get shorter"
        )
