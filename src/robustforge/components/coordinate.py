"""Coordinate search: each variable by itself, an emulator along each axis, and the worst case computed from them.

For objectives that are sums of functions of one variable each; there it is hard to beat, elsewhere it is of little use.
All samples lie on the axes through one base point. The design is the exact robust optimum of what is interpolated
between them (`axes.py`), and further samples go to where that optimum stands or falls.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.components.axes import (
    GRID,
    adjust,
    axes_of,
    charge_of,
    emulate,
    first_above,
    insert,
    place_of,
    settle_axis,
    worst_at,
)
from robustforge.components.outer import Outer, Steps
from robustforge.core.compiler import compiled, inlined
from robustforge.core.component import Range
from robustforge.core.random import uniform
from robustforge.core.state import DONE, Plan, State, StateField, copy, random_point, random_position

MOST_SAMPLES = 2048
"""Samples of an axis that are remembered: eight for each point of the grid of its emulator, and more are of no use."""

GROUP = 32
"""Samples of an iteration at most."""

_ADJUST_EVERY = 6
"""Rounds between two adjustments of the multiplier."""

LINES = np.dtype(
    [
        (name, np.int64)
        for name in (
            "base",  # whether the base point has a value
            "rounds",  # rounds of samples, the first ones spread over the whole axis
            "spread",  # how many of these
            "round",  # the present one
            "next",  # the axis whose sample is next in it
        )
    ],
    align=True,
)

STATE_FIELDS = (
    StateField("lines", LINES, lambda p: (1,)),
    StateField("base_value", np.float64, lambda p: (1,)),
    StateField("base_x", np.float64, lambda p: (axes_of(p),)),
    StateField("axis_best", np.float64, lambda p: (axes_of(p),)),
    StateField("axis_next", np.float64, lambda p: (axes_of(p),)),
    StateField("axis_of", np.int64, lambda p: (p.agents if p.axis else 0,)),
)


@compiled
def _start_lines(s: State) -> None:
    t, p, lines, n = s.tally[0], s.outer[0], s.lines[0], s.tally[0].dimension
    lines.rounds = max(1, min((t.free - 1) // n, s.axis_t.shape[1] - 1))
    lines.spread = max(2, round(p.spread * lines.rounds))
    lines.base = 0
    lines.round = 0
    lines.next = 0
    s.multiplier[0] = 0.0
    for i in range(n):
        s.axis_count[i] = 0
    _place_base(s)


@compiled
def _place_base(s: State) -> None:
    """Put the base point somewhere. It comes first, alone, for all samples are compared with it."""
    t = s.tally[0]
    random_position(s, 0)
    copy(s.x[0], s.base_x)
    copy(s.x[0], s.axis_best)
    s.axis_of[0] = -1
    t.agents = 1


@compiled
def _move_along_lines(s: State) -> None:
    """Put the next samples of this round on their axes."""
    t, lines, n = s.tally[0], s.lines[0], s.tally[0].dimension
    if lines.base == 0:
        _place_base(s)
        return
    t.agents = 0
    while t.agents < t.group and (lines.next < n or t.agents == 0 or lines.round + 1 < lines.spread):
        if lines.next >= n:
            lines.round += 1
            lines.next = 0
            if lines.round >= lines.spread:
                _plan(s)
        i = lines.next
        place = s.axis_next[i]
        if lines.round < lines.spread:
            place = s.lower[i] + (s.upper[i] - s.lower[i]) * (lines.round + uniform(s.rng)) / lines.spread
        j = t.agents
        copy(s.base_x, s.x[j])
        s.x[j, i] = place
        s.axis_of[j] = i
        lines.next += 1
        t.agents += 1


@compiled
def _learn_along_lines(s: State) -> None:
    t, lines = s.tally[0], s.lines[0]
    for j in range(t.agents):
        if s.status[j] != DONE or not s.worst[j] > -np.inf:
            continue
        i = s.axis_of[j]
        if i >= 0:
            insert(s, i, s.x[j, i], s.worst[j])
            continue
        if s.worst[j] == np.inf:
            continue
        lines.base = 1
        s.base_value[0] = s.worst[j]
        for i in range(t.dimension):
            insert(s, i, s.base_x[i], s.worst[j])
        t.found = 1
        s.incumbent[0] = s.worst[j]
        copy(s.base_x, s.incumbent_x)
    if t.free == 0:
        _plan(s)


@compiled
def _plan(s: State) -> None:
    """Find the robust optimum of the emulators, and where on each axis to look next."""
    t, lines, n = s.tally[0], s.lines[0], s.tally[0].dimension
    if lines.base == 0:
        return
    spread = 0.0
    for i in range(n):
        spread = max(spread, emulate(s, i))
    if not spread > 0.0:
        random_point(s, s.axis_next)
        return
    since, anew = lines.round - lines.spread, s.multiplier[0] == 0.0 or t.free == 0
    if anew or since % _ADJUST_EVERY == 0:
        adjust(s, spread, anew)
    multiplier = s.multiplier[0]
    total = multiplier * s.outer[0].reach * s.outer[0].reach - (n - 1) * s.base_value[0]
    for i in range(n):
        worst = settle_axis(s, i, multiplier)
        total += worst
        q = s.axis_lowest[i]
        exactly = float(q)
        if 0 < q < GRID - 1:
            a, reach = charge_of(s, i, multiplier)
            before, after = worst_at(s.grids[i], a, reach, q - 1), worst_at(s.grids[i], a, reach, q + 1)
            bend = before - 2.0 * worst + after
            if bend > 0.0:
                exactly += 0.5 * (before - after) / bend
        s.axis_best[i] = min(max(place_of(s, i, exactly), s.lower[i]), s.upper[i])
        s.axis_next[i] = _next_sample(s, i, q, multiplier, spread, since % 2 == 0)
    s.incumbent[0] = total
    copy(s.axis_best, s.incumbent_x)


@inlined
def _next_sample(s: State, i: int, q: int, multiplier: float, spread: float, explore: bool) -> float:
    """Return where on an axis to look next: at the best place, at the worst to its sides, or in a gap between samples.

    Once samples are near all three, it is the middle of the widest gap, or of the one nearby across which most can
    happen.
    """
    cell = (s.upper[i] - s.lower[i]) / (GRID - 1)
    grid, times, heights, count = s.grids[i], s.axis_t[i], s.axis_h[i], s.axis_count[i]
    left, right, worst_left, worst_right = q, q, -np.inf, -np.inf
    furthest_away = min(s.outer[0].reach, math.sqrt(spread / multiplier))
    reach = int(min(float(GRID), furthest_away / cell + 1.0)) if cell > 0.0 else 0
    for k in range(max(0, q - reach), min(GRID, q + reach + 1)):  # beyond, a change costs more than it can be worth
        gap = (k - q) * cell
        value = grid[k] - multiplier * gap * gap
        if k < q and value > worst_left:
            left, worst_left = k, value
        if k > q and value > worst_right:
            right, worst_right = k, value
    best, furthest = s.axis_best[i], -1.0
    place = best
    for which in range(3):
        at = best if which == 0 else place_of(s, i, float(left if which == 1 else right))
        k = first_above(times, count, at)
        nearest = min(times[k] - at if k < count else np.inf, at - times[k - 1] if k > 0 else np.inf)
        if which == 0:
            nearest *= 3.0
        if nearest > furthest:
            furthest, place = nearest, at
    if furthest * math.sqrt(float(s.active.size)) >= s.outer[0].resolution:
        return place
    low, high, most = place_of(s, i, float(left)), place_of(s, i, float(right)), -1.0
    for k in range(0 if explore else max(first_above(times, count, low) - 1, 0), count - 1):
        if not explore and times[k] > high:
            break
        if explore or (times[k + 1] >= low and times[k] <= high):
            size = times[k + 1] - times[k]
            if not explore:
                size *= abs(heights[k + 1] - heights[k])
            if size > most:
                most, place = size, 0.5 * (times[k] + times[k + 1])
    return place


@dataclass(frozen=True)
class CoordinateSearch(Outer):
    """Samples along each axis, an emulator of each, and their robust optimum: uses axis separability.

    It evaluates candidates as they are, whatever the inner search.
    """

    title: ClassVar[str] = "Coordinate search"
    source: ClassVar[str] = "robust counterpart of a sum by its dual: Boyd and Vandenberghe 2004, section 5"
    extension: ClassVar[bool] = True
    spread: Annotated[float, Range(0.3, 1.0), "share of the samples that are spread evenly over the axes"]
    reach: Annotated[float, Range(0.5, 1.2), "radius of the set against which the design is protected, in units of it"]
    resolution: Annotated[float, Range(0.1, 2.0, log=True), "distance between samples that is near, in Gamma / sqrt n"]
    start: ClassVar[Any] = staticmethod(_start_lines)
    learn: ClassVar[Any] = staticmethod(_learn_along_lines)
    move: ClassVar[Any] = staticmethod(_move_along_lines)

    @property
    def agents(self) -> int:
        return GROUP

    @property
    def is_nominal(self) -> bool:
        return True

    def room(self, plan: Plan) -> Mapping[str, int]:
        return {"axis": min(plan.budget // plan.dimension + 2, MOST_SAMPLES)}

    @property
    def offers_candidates(self) -> bool:
        return False

    @property
    def steps(self) -> Steps:
        return Steps(
            ("b := uniform in X; evaluate f(b); h_i := f along axis i through b, known where it was evaluated",),
            (
                f"{100 * self.spread:.2g}% of the samples of each axis are spread evenly over it, at random within "
                "equal parts; the others go where x* or its worst point on that axis is far from any sample, else into "
                "the widest gap, or the one nearby with the highest step",
                f"up to {GROUP} candidates x_j := b with one variable changed",
            ),
            (
                "h_i := blended parabolas through the samples of axis i",
                f"x* := the robust optimum of the sum of all h_i against {self.reach:.3g} Gamma, by its dual: "
                "min over l of l Gamma^2 + sum of min over t of max over d of h_i(t + d) - l d^2",
            ),
        )

    def words(self) -> str:
        return (
            f"samples along each axis, {100 * self.spread:.2g}% of them spread evenly, the others where the design "
            "stands or falls; the robust optimum of what they add up to is returned (uses axis separability)"
        )
