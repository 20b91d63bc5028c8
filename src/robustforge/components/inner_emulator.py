"""Inner search by an emulator: a linear model of the history near a candidate proposes the next point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from robustforge.components.inner_search import InnerForm, InnerState, put, report_nothing, sample, to_surface
from robustforge.core.compiler import compiled
from robustforge.core.component import Range
from robustforge.core.history import neighbours
from robustforge.core.linear_algebra import solve_in_place
from robustforge.core.state import Floats, Plan, Shape

_RIDGE = 1e-3
"""The ridge, as a fraction of the mean diagonal entry of the Gram matrix."""

_SAME = 1e-9
"""Largest difference of coordinates of points that count as the same."""

_MIN_POINTS = 2
"""Points with different values without which there is no model."""


class InnerEmulatorState(InnerState):
    """The linear model of an inner search, fitted for each point that it proposes."""

    emulator_mean: Annotated[Floats, Shape("emulator_dimension"), "mean of the points"]
    emulator_x: Annotated[Floats, Shape("emulator_points", "dimension"), "offsets of the points from their mean"]
    emulator_f: Annotated[Floats, Shape("emulator_points"), "differences of their values from the mean value"]
    emulator_weight: Annotated[Floats, Shape("emulator_points"), "weights of the offsets in the slope"]
    emulator_gram: Annotated[Floats, Shape("emulator_points", "emulator_points"), "inner products of the offsets"]
    emulator_slope: Annotated[Floats, Shape("emulator_dimension"), "slope along each variable"]


@compiled
def _load_points(s: InnerEmulatorState, j: int, limit: int) -> int:
    """Centre the newest points near agent `j`, and their values, at most `limit`; return their number."""
    found, count = neighbours(s, s.x[j]), 0
    mean_f, mean_x = 0.0, s.emulator_mean
    mean_x[:] = 0.0
    for k in range(found - 1, -1, -1):
        h = s.neighbours[k]
        if count == limit or not math.isfinite(s.history_f[h]):
            continue
        for i in s.uncertain:
            s.emulator_x[count, i] = s.history_y[h, i]
            mean_x[i] += s.history_y[h, i]
        s.emulator_f[count] = s.history_f[h]
        mean_f += s.history_f[h]
        count += 1
    mean_f /= max(1, count)
    for i in s.uncertain:
        mean_x[i] /= max(1, count)
    for m in range(count):
        s.emulator_f[m] -= mean_f
        for i in s.uncertain:
            s.emulator_x[m, i] -= mean_x[i]
    return count


@compiled
def _fit(s: InnerEmulatorState, count: int) -> float:
    """Fit the model by ridge regression in its dual form; return the length of the slope: 0 if there is none."""
    x, weights, gram, slope = s.emulator_x, s.emulator_weight[:count], s.emulator_gram[:count, :count], s.emulator_slope
    trace, weight_sum = 0.0, 0.0
    for a in range(count):
        weights[a] = s.emulator_f[a]
        weight_sum += abs(weights[a])
        for b in range(a + 1):
            total = 0.0
            for i in s.uncertain:
                total += x[a, i] * x[b, i]
            gram[a, b] = total
        trace += gram[a, a]
    if not (trace > 0.0 and 0.0 < weight_sum < math.inf):
        return 0.0
    for a in range(count):
        gram[a, a] += _RIDGE * trace / count
    solve_in_place(gram, weights)
    square = 0.0
    for i in s.uncertain:
        total = 0.0
        for a in range(count):
            total += weights[a] * x[a, i]
        slope[i] = total
        square += total * total
    return math.sqrt(square) if math.isfinite(square) else 0.0


@compiled
def _is_evaluated(s: InnerEmulatorState, j: int, offset: Floats) -> bool:
    """Whether the history has the point of agent `j` at this offset."""
    for k in range(s.counters[0].neighbour_count):
        y, furthest = s.history_y[s.neighbours[k]], 0.0
        for i in s.uncertain:
            furthest = max(furthest, abs(y[i] - s.x[j, i] - offset[i]))
        if furthest < _SAME:
            return True
    return False


@compiled
def _propose_emulated(s: InnerEmulatorState, j: int, limit: int) -> None:
    p: EmulatedSearch = s.inner[0]
    offset, is_box = s.inner_offset, s.counters[0].is_box == 1
    sample(s.rng, s.uncertain, is_box, offset)
    to_surface(offset, s.uncertain, is_box)
    count = _load_points(s, j, int(p.model_points))
    length = _fit(s, count) if count >= _MIN_POINTS else 0.0
    if length > 0.0:
        scale = math.sqrt(float(s.uncertain.size)) if is_box else 1.0
        for i in s.uncertain:
            offset[i] = scale * s.emulator_slope[i] / length + p.noise * offset[i]
        to_surface(offset, s.uncertain, is_box)
        if _is_evaluated(s, j, offset):  # a corner of a box: the model would propose it again and again
            sample(s.rng, s.uncertain, is_box, offset)
            to_surface(offset, s.uncertain, is_box)
    put(s, j, 0, offset)


@dataclass(frozen=True)
class EmulatedSearch(InnerForm):
    """Points where a linear model of the history near the candidate is largest, disturbed at random.

    The model is fitted again for each point; a point is on the surface of the set (a corner of a box), in the direction
    of the slope plus a random vector. Without a model, and where that point has been evaluated already, it is random.
    """

    title: ClassVar[str] = "Emulator"
    source: ClassVar[str] = "future work of the paper, Section 6"
    extension: ClassVar[bool] = True
    rank: ClassVar[int] = 112
    model_points: Annotated[int, Range(4, 64, log=True), "points of the history that the model is fitted to, at most"]
    noise: Annotated[float, Range(0.05, 2.0, log=True), "length of the random vector, relative to a slope of length 1"]
    propose: ClassVar[Any] = staticmethod(_propose_emulated)
    report: ClassVar[Any] = staticmethod(report_nothing)

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        return {"emulator_points": self.model_points, "emulator_dimension": plan.dimension}

    def describe(self) -> str:
        return (
            f"points in the direction of the slope of a linear model of the newest {self.model_points} points nearby, "
            f"plus a random vector of length {self.noise:.3g}"
        )

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return [
            f"b := unit slope of a ridge regression on the newest {self.model_points} points of H near x_j, or 0",
            f"y := on the surface of the set around x_j, in the direction b + {self.noise:.3g} U(unit sphere)",
            "evaluate f(y)",
        ]
