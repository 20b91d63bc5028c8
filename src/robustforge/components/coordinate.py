"""Coordinate search: each variable by itself, an emulator along each axis, and the worst case computed from them.

For objectives that are sums of functions of one variable each; there it is hard to beat, elsewhere it is of little use.
All samples lie on the axes through one base point. Along each axis they are interpolated; the design is the exact
robust optimum of the interpolated sum: the worst case over a ball is, by a multiplier l for its radius,

    min over l of  l Gamma^2 + sum over i of  max over |d| <= Gamma of  h_i(t_i + d) - l d^2

and each term is minimised over t_i by itself. Further samples go to where that optimum stands or falls.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.components.outer import Outer, Steps
from robustforge.core.compiler import compiled, inlined
from robustforge.core.component import Range
from robustforge.core.random import uniform
from robustforge.core.state import DONE, Array, Floats, Plan, State, StateField, copy, random_position

GROUP = 32
"""Samples of an iteration at most."""

GRID = 256
"""Points of an axis at which its emulator is evaluated."""

_ADJUST_EVERY = 6
"""Rounds between two adjustments of the multiplier."""

_COARSE, _RATIO = 9, 2.0
"""Multipliers that are tried first, and the logarithm of the ratio of two of them."""

_GOLDEN, _STEPS, _FEWER_STEPS = (math.sqrt(5.0) - 1.0) / 2.0, 7, 3

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
    StateField("multiplier", np.float64, lambda p: (1,)),
    StateField("base_value", np.float64, lambda p: (1,)),
    StateField("base_x", np.float64, lambda p: (_axes(p),)),
    StateField("axis_t", np.float64, lambda p: (_axes(p), p.axis)),
    StateField("axis_h", np.float64, lambda p: (_axes(p), p.axis)),
    StateField("axis_count", np.int64, lambda p: (_axes(p),)),
    StateField("axis_new", np.int64, lambda p: (_axes(p), 2)),
    StateField("axis_best", np.float64, lambda p: (_axes(p),)),
    StateField("axis_next", np.float64, lambda p: (_axes(p),)),
    StateField("axis_of", np.int64, lambda p: (p.agents if p.axis else 0,)),
    StateField("grids", np.float64, lambda p: (_axes(p), GRID)),
    StateField("raised", np.float64, lambda p: (GRID,)),
    StateField("hull_at", np.int64, lambda p: (GRID,)),
    StateField("hull_from", np.float64, lambda p: (GRID + 1,)),
)


def _axes(plan: Plan) -> int:
    return plan.dimension if plan.axis else 0


@compiled
def _start_lines(s: State) -> None:
    t, p, lines, n = s.tally[0], s.outer[0], s.lines[0], s.tally[0].dimension
    lines.rounds = max(1, min((t.free - 1) // n, s.axis_t.shape[1] - 1))
    lines.spread = max(2, round(p.spread * lines.rounds))
    lines.base = 0
    lines.round = 0
    lines.next = 0
    s.multiplier[0] = 0.0
    s.axis_count[:] = 0
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
            _insert(s, i, s.x[j, i], s.worst[j])
            continue
        if s.worst[j] == np.inf:
            continue
        lines.base = 1
        s.base_value[0] = s.worst[j]
        for i in range(t.dimension):
            _insert(s, i, s.base_x[i], s.worst[j])
        t.found = 1
        s.incumbent[0] = s.worst[j]
        copy(s.base_x, s.incumbent_x)
    if t.free == 0:
        _plan(s)


@inlined
def _insert(s: State, i: int, place: float, value: float) -> None:
    """Add a sample to those of an axis, which are sorted; one at the place of another is left out."""
    times, heights, count = s.axis_t[i], s.axis_h[i], s.axis_count[i]
    k = count
    while k > 0 and times[k - 1] > place:
        k -= 1
    closest = 1e-12 * (s.upper[i] - s.lower[i])
    if (
        count == times.size
        or (k > 0 and place - times[k - 1] <= closest)
        or (k < count and times[k] - place <= closest)
    ):
        return
    for m in range(count, k, -1):
        times[m], heights[m] = times[m - 1], heights[m - 1]
    times[k], heights[k] = place, value
    s.axis_count[i] = count + 1
    changed = s.axis_new[i]  # the emulator changes in three gaps to either side at most
    per_cell = (GRID - 1) / (s.upper[i] - s.lower[i])
    if k >= 2 and value < np.inf:
        changed[0] = min(changed[0], int((times[k - 2] - s.lower[i]) * per_cell))
    else:
        changed[0] = 0
    if k + 2 <= count and value < np.inf:
        changed[1] = max(changed[1], int((times[k + 2] - s.lower[i]) * per_cell) + 1)
    else:
        changed[1] = GRID - 1


@compiled
def _height(times: Floats, heights: Floats, count: int, k: int, t: float, ceiling: float) -> float:
    """Return the emulator between samples `k` and `k + 1`: two parabolas through three samples each, blended."""
    h0, h1 = min(heights[k], ceiling), min(heights[k + 1], ceiling)
    gap = times[k + 1] - times[k]
    slope = (h1 - h0) / gap
    w = (t - times[k]) / gap
    if w < 0.0 or w > 1.0:
        return h0 if w < 0.0 else h1
    left, right, has_left, has_right = 0.0, 0.0, k > 0, k + 2 < count
    if has_left:
        before = (h0 - min(heights[k - 1], ceiling)) / (times[k] - times[k - 1])
        left = (slope - before) / (times[k + 1] - times[k - 1])
    if has_right:
        after = (min(heights[k + 2], ceiling) - h1) / (times[k + 2] - times[k + 1])
        right = (after - slope) / (times[k + 2] - times[k])
    bend = (1.0 - w) * left + w * right if has_left and has_right else left + right
    return float(h0 + slope * (t - times[k]) + bend * (t - times[k]) * (t - times[k + 1]))


@inlined
def _emulate(s: State, i: int) -> float:
    """Evaluate the emulator of an axis on its grid; return its range. Infeasible samples count as the worst others."""
    times, heights, count, grid = s.axis_t[i], s.axis_h[i], s.axis_count[i], s.grids[i]
    low, high = np.inf, -np.inf
    for k in range(count):
        low = min(low, heights[k])
        if heights[k] < np.inf:
            high = max(high, heights[k])
        else:
            s.axis_new[i, 0], s.axis_new[i, 1] = 0, GRID - 1
    if count < 2 or not low < high:
        grid[:] = low if low < np.inf else 0.0
        return 0.0
    ceiling, changed = high + (high - low), s.axis_new[i]
    k = 0
    for q in range(changed[0], min(changed[1], GRID - 1) + 1):
        t = _place_of(s, i, float(q))
        while k < count - 2 and times[k + 1] <= t:
            k += 1
        grid[q] = _height(times, heights, count, k, t, ceiling)
    changed[0], changed[1] = GRID, -1
    return high - low


@inlined
def _place_of(s: State, i: int, q: float) -> float:
    return s.lower[i] + (s.upper[i] - s.lower[i]) * q / (GRID - 1)


@compiled
def raise_parabolas(heights: Floats, a: float, reach: int, raised: Floats, at: Array, start: Floats) -> None:
    """Write max over q of heights[q] - a (p - q)^2 for all p, by the upper envelope of the parabolas.

    In linear time, but for places whose maximum is out of reach: those are looked at one by one.

    Args:
        heights: Values on a grid.
        a: Steepness of the parabolas, positive.
        reach: How far q may be from p.
        raised: Where the maxima go.
        at: Memory: the parabolas of the envelope.
        start: Memory: where each of them begins; one longer.
    """
    last = 0
    at[0], start[0], start[1] = 0, -np.inf, np.inf
    for q in range(1, heights.size):
        meet = -np.inf
        while True:
            p = at[last]
            meet = 0.5 * ((heights[p] - heights[q]) / (a * (q - p)) + (q + p))
            if meet > start[last] or last == 0:
                break
            last -= 1
        if meet > start[last]:
            last += 1
            start[last] = meet
        at[last] = q
        start[last + 1] = np.inf
    k = 0
    for p in range(heights.size):
        while start[k + 1] < p:
            k += 1
        gap = p - at[k]
        raised[p] = heights[at[k]] - a * gap * gap
        if abs(gap) > reach:
            raised[p] = heights[p]
            for q in range(max(0, p - reach), min(heights.size, p + reach + 1)):
                raised[p] = max(raised[p], heights[q] - a * (p - q) * (p - q))


@inlined
def _raise(s: State, i: int, multiplier: float) -> None:
    """Write to `s.raised` how bad each place of an axis can get, beyond what the multiplier charges for it."""
    cell = (s.upper[i] - s.lower[i]) / (GRID - 1)
    grid = s.grids[i]
    exact = True
    for k in s.active:
        exact = exact and k != i
    if exact or cell == 0.0:
        copy(grid, s.raised)
    elif s.tally[0].is_box == 1:
        reach = int(1.0 / cell + 0.5)
        for q in range(GRID):
            worst = grid[q]
            for k in range(max(0, q - reach), min(GRID, q + reach + 1)):
                worst = max(worst, grid[k])
            s.raised[q] = worst
    else:
        reach = int(min(s.outer[0].reach / cell, float(GRID)) + 0.5)  # no variable alone goes further than the ball
        raise_parabolas(grid, multiplier * cell * cell, reach, s.raised, s.hull_at, s.hull_from)


@compiled
def _bound(s: State, multiplier: float) -> float:
    """Return the worst case of the best design for a multiplier, but for a constant."""
    total = multiplier * s.outer[0].reach * s.outer[0].reach
    for i in range(s.tally[0].dimension):
        _raise(s, i, multiplier)
        total += np.min(s.raised)
    return total


@inlined
def _adjust(s: State, spread: float, anew: bool) -> None:
    """Find the multiplier with the lowest bound, by golden sections; anew: coarsely first, for there are valleys."""
    near, steps = math.log(max(s.multiplier[0], 1e-300)), _FEWER_STEPS
    if anew:
        first, lowest, steps = math.log(spread) - 0.5 * (_COARSE - 1) * _RATIO, np.inf, _STEPS
        for k in range(_COARSE):
            value = _bound(s, math.exp(first + k * _RATIO))
            if value < lowest:
                near, lowest = first + k * _RATIO, value
    low, high = near - _RATIO, near + _RATIO
    one, two = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_one, at_two = _bound(s, math.exp(one)), _bound(s, math.exp(two))
    for _ in range(steps):
        if at_one < at_two:
            high, two, at_two = two, one, at_one
            one = high - _GOLDEN * (high - low)
            at_one = _bound(s, math.exp(one))
        else:
            low, one, at_one = one, two, at_two
            two = low + _GOLDEN * (high - low)
            at_two = _bound(s, math.exp(two))
    s.multiplier[0] = math.exp(one if at_one < at_two else two)


@compiled
def _plan(s: State) -> None:
    """Find the robust optimum of the emulators, and where on each axis to look next."""
    t, lines, n = s.tally[0], s.lines[0], s.tally[0].dimension
    if lines.base == 0:
        return
    spread = 0.0
    for i in range(n):
        spread = max(spread, _emulate(s, i))
    if not spread > 0.0:
        for i in range(n):
            s.axis_next[i] = s.lower[i] + uniform(s.rng) * (s.upper[i] - s.lower[i])
        return
    since, anew = lines.round - lines.spread, s.multiplier[0] == 0.0 or t.free == 0
    if anew or since % _ADJUST_EVERY == 0:
        _adjust(s, spread, anew)
    multiplier = s.multiplier[0]
    total = multiplier * s.outer[0].reach * s.outer[0].reach - (n - 1) * s.base_value[0]
    for i in range(n):
        _raise(s, i, multiplier)
        q = int(np.argmin(s.raised))
        total += s.raised[q]
        exactly = float(q)
        if 0 < q < GRID - 1:
            bend = s.raised[q - 1] - 2.0 * s.raised[q] + s.raised[q + 1]
            if bend > 0.0:
                exactly += 0.5 * (s.raised[q - 1] - s.raised[q + 1]) / bend
        s.axis_best[i] = min(max(_place_of(s, i, exactly), s.lower[i]), s.upper[i])
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
        at = best if which == 0 else _place_of(s, i, float(left if which == 1 else right))
        nearest = np.inf
        for k in range(count):
            nearest = min(nearest, abs(times[k] - at))
        if which == 0:
            nearest *= 3.0
        if nearest > furthest:
            furthest, place = nearest, at
    if furthest * math.sqrt(float(s.active.size)) >= s.outer[0].resolution:
        return place
    low, high, most = _place_of(s, i, float(left)), _place_of(s, i, float(right)), -1.0
    for k in range(count - 1):
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
    source: ClassVar[str] = "robust counterpart by its dual; envelopes of parabolas: Felzenszwalb and Huttenlocher 2012"
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
        return {"axis": plan.budget // plan.dimension + 2}

    @property
    def offers_candidates(self) -> bool:
        return False

    @property
    def stops_above(self) -> str:
        return ""

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
