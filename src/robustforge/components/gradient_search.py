"""Gradient search: forward differences along the axes, then several steps downhill at once.

The differences are as wide as the uncertainty set along an axis, so that smaller ripples are ignored. Where no step
leads downhill, the search is at a minimum for its step length, and continues with a shorter one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.components import mean_based
from robustforge.components.mean_based import MeanBased, MeanState, mean_sizes
from robustforge.components.outer import Outer
from robustforge.components.recommendation import Recommendation
from robustforge.components.restart import RandomRestart, Restart
from robustforge.core.agents import copy
from robustforge.core.compiler import compiled, inlined
from robustforge.core.component import Former, Range
from robustforge.core.state import ONE, Floats, Plan, Record, Shape

LENGTHS, _FACTOR = 6, 0.4
"""Steps that are tried together, and the ratio of their lengths."""


class LineSearch:
    """The progress of a gradient search."""

    next: int  # the variable whose difference is next; -1 before the mean has a value
    length: float  # longest step that is tried next, as a fraction of the range
    value: float  # value of the mean


class GradientState(MeanState):
    """The gradient, and the line search along it."""

    line_search: Annotated[Record[LineSearch], ONE, "the progress of the search"]
    gradient: Annotated[Floats, Shape("gradient"), "partial derivatives at the mean"]


@compiled
def _start_line_search(s: GradientState) -> None:
    p: GradientSearch = s.outer[0]
    d = s.line_search[0]
    mean_based.start_next(s)
    d.next, d.length, d.value = -1, p.initial_step, np.nan


@compiled
def _place_differences(s: GradientState) -> None:
    """Place the next differences; once the gradient is complete, steps of several lengths."""
    t, d, n = s.counters[0], s.line_search[0], s.counters[0].dimension
    p: GradientSearch = s.outer[0]
    mean_based.set_radius(s, p.difference_width)
    t.agents = 0
    if d.next < 0:
        copy(s.mean, s.x[0])
        t.agents = 1
        return
    if d.next >= n:
        _place_steps(s)
        return
    while t.agents < t.outer_agents and d.next + t.agents < n:
        i, j = d.next + t.agents, t.agents
        copy(s.mean, s.x[j])
        s.x[j, i] += s.radius[i] if s.mean[i] + s.radius[i] <= s.upper[i] else -s.radius[i]
        s.x[j, i] = max(s.x[j, i], s.lower[i])
        t.agents += 1


@inlined
def _place_steps(s: GradientState) -> None:
    """Place candidates downhill, the longest step first; along each variable in units of its range."""
    t, n = s.counters[0], s.counters[0].dimension
    steepest = 0.0
    for i in range(n):
        steepest = max(steepest, abs(s.gradient[i]) * (s.upper[i] - s.lower[i]))
    length = s.line_search[0].length
    t.agents = LENGTHS
    for j in range(t.agents):
        for i in range(n):
            width = s.upper[i] - s.lower[i]
            step = length * width * (s.gradient[i] * width / steepest) if steepest > 0.0 else 0.0
            s.x[j, i] = min(max(s.mean[i] - step, s.lower[i]), s.upper[i])
        length *= _FACTOR


@compiled
def _update_by_differences(s: GradientState) -> None:
    t, d, n = s.counters[0], s.line_search[0], s.counters[0].dimension
    p: GradientSearch = s.outer[0]
    restart: RandomRestart = s.restart[0]
    if d.next < 0:
        if mean_based.has_value(s, 0) and s.worst[0] < np.inf:
            d.value = s.worst[0]
            d.next = 0
        else:
            mean_based.start_next(s)  # nothing can be compared with a failure: start elsewhere
            s.start[0].number -= 1.0
    elif d.next < n:
        for j in range(t.agents):
            i = d.next + j
            width = s.x[j, i] - s.mean[i]
            known = mean_based.has_value(s, j) and s.worst[j] < np.inf and width != 0.0
            s.gradient[i] = (s.worst[j] - d.value) / width if known else 0.0
        d.next += t.agents
    else:
        _step(s)
    mean_based.record_outcome(s)
    if mean_based.is_over(s) or (d.length < p.restart_step and s.start[0].number < restart.starts):
        mean_based.end_start(s)
        _start_line_search(s)


@inlined
def _step(s: GradientState) -> None:
    """Take the best of the steps, if it leads downhill; otherwise try shorter ones next."""
    t, d = s.counters[0], s.line_search[0]
    best = -1
    for j in range(t.agents):
        if mean_based.has_value(s, j) and s.worst[j] < d.value and (best < 0 or s.worst[j] < s.worst[best]):
            best = j
    if best >= 0:
        for _ in range(best):
            d.length *= _FACTOR
        d.length = min(1.0, d.length / _FACTOR)
        d.value = s.worst[best]
        copy(s.x[best], s.mean)
    else:
        for _ in range(LENGTHS - 1):
            d.length *= _FACTOR
    d.length = max(d.length, 1e-9)
    d.next = 0


@compiled
def _start(s: GradientState) -> None:
    _start_line_search(s)
    _place_differences(s)


@dataclass(frozen=True)
class GradientSearch(MeanBased, Outer):
    """Steepest descent by finite differences, with restarts where no step leads downhill."""

    title: ClassVar[str] = "Gradient search"
    rank: ClassVar[int] = 4
    source: ClassVar[str] = "steepest descent by finite differences: Kelley 1999"
    extension: ClassVar[bool] = True
    batch_size: Annotated[int, Range(LENGTHS, 60), Former("group"), "differences that are evaluated together"]
    difference_width: Annotated[
        float, Range(0.3, 3.0, log=True), Former("difference"), "width of a difference, in units of the uncertainty set"
    ]
    initial_step: Annotated[
        float, Range(0.05, 0.5), Former("first"), "longest step at the start, as a fraction of the range"
    ]
    restart_step: Annotated[
        float, Range(1e-4, 0.02, log=True), Former("least"), "longest step below which the next start begins"
    ]
    restart: Restart
    recommendation: Annotated[Recommendation, Former("returned")]
    start: ClassVar[Any] = staticmethod(_start)
    update: ClassVar[Any] = staticmethod(_update_by_differences)
    move: ClassVar[Any] = staticmethod(_place_differences)

    @property
    def agents(self) -> int:
        return self.batch_size

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        return {**mean_sizes(self, plan), "gradient": plan.dimension}

    @property
    def steps(self) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        return (
            (f"m := {self.restart.initial_mean}; step := {self.initial_step:.3g}",),
            (
                f"in turns: candidates x_j := m + {self.difference_width:.3g} Gamma (/ sqrt n for a ball) along one "
                f"axis each, up to {self.batch_size} together, until the gradient is complete;",
                f"then {LENGTHS} candidates x_j downhill from m: step, and {_FACTOR} times the one before, in units of "
                "the width of X",
            ),
            (
                "after the steps: m := the best of them, if it is better; otherwise the step lengths are reduced",
                self.recommended,
            ),
        )

    def describe(self) -> str:
        return (
            f"gradients by differences of {self.difference_width:.2g} uncertainty sets along each axis; the best of "
            f"{LENGTHS} steps downhill is taken, and where none is better the step lengths are reduced"
        )
