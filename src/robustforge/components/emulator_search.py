"""Emulator search: Gaussian processes of all evaluations propose designs, and where within the set to evaluate them.

In each iteration the emulator (`emulator.py`) is conditioned on the history, its robust optima are found
(`emulated_optimum.py`), and the best of them is evaluated where the set around it may be worst. Every other point goes
to an optimum that may turn out better than expected. The recommendation is guarded by the doubt about its worst case.
For few evaluations of expensive models: its own cost is some milliseconds per evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.components import emulator
from robustforge.components.emulated_optimum import FIND_OPTIMA, OptimumState, optimum_sizes
from robustforge.components.emulated_worst_case import DOUBTFUL_WORST_CASE, disturb, set_geometry
from robustforge.components.emulator import MIN_POINTS, UPDATE_EMULATOR, emulator_sizes, from_fraction, to_fraction
from robustforge.components.inner_search import sample
from robustforge.components.outer import Outer
from robustforge.core import gaussian_process
from robustforge.core.agents import copy, in_box
from robustforge.core.compiler import Routine, call, compiled, inlined
from robustforge.core.component import Range
from robustforge.core.gaussian_process import CONDITION, FAILURES, FIT, OBJECTIVE
from robustforge.core.history import neighbours, worst_of
from robustforge.core.random import normal, uniform
from robustforge.core.state import ONE, Floats, Plan, Record, Shape

MAX_UPDATES = 200
"""Updates of the emulator in a run; with a larger budget it is updated after several iterations only."""

_RECENT = 12
"""Robust optima of the last iterations that may be recommended."""

_BEST_POINTS, _LAST_OPTIMA, _NEARBY = 5, 3, 8
_KNOWN = 1 + _BEST_POINTS + _LAST_OPTIMA + _NEARBY
"""Known designs that are compared with random ones: the incumbent, the best points, the last optima, points nearby."""

_RANDOM_PER_INPUT, _MAX_RANDOM = 20, 100
_NEARBY_DEVIATION = 0.1
_DESCENT_STEPS, _LAST_DESCENT_STEPS = 15, 25
_FAR_TRIALS = 60
_BETWEEN_UPDATES = 64
"""Points that can be added to the emulator between two updates."""

_SAME = 1e-6
_REACH = 2.0


class Progress:
    """The progress of an emulator search."""

    turn: int  # points placed so far
    optima: int  # robust optima found so far
    is_ready: int  # the emulator can be used
    next_update: int  # evaluations after which it is updated


class EmulatorSearchState(OptimumState):
    """The state of an emulator search."""

    progress: Annotated[Record[Progress], ONE, "the progress of the emulator search"]
    recent_x: Annotated[Floats, Shape("recent_optima", "process_inputs"), "robust optima of the last iterations"]


@compiled
def _start_emulator(s: EmulatorSearchState) -> None:
    p: EmulatorSearch = s.outer[0]
    set_geometry(s, p.failure_margin)
    for i in s.uncertain:
        s.margin[i] = _REACH  # candidates are points of the sets around designs
    s.progress[0].turn, s.progress[0].optima = 0, 0
    s.progress[0].next_update = 0
    s.emulator[0].fitted, s.emulator[0].fitted_failures = 0, 0
    call(p.update, s)
    call(p.move, s)


@compiled
def _update_emulator(s: EmulatorSearchState) -> None:
    """Condition the emulator on the history, find its robust optima, and recommend one."""
    t, c = s.counters[0], s.progress[0]
    p: EmulatorSearch = s.outer[0]
    if t.spent < c.next_update and t.unallocated > 0:
        return
    c.next_update = t.spent + max(1, t.outer_budget // MAX_UPDATES)
    emulator.load(s, int(p.model_points))
    count = s.process[OBJECTIVE].count
    c.is_ready = 1 if count >= min(max(float(MIN_POINTS), t.outer_budget / 3.0), p.initial_points) else 0
    if t.unallocated == 0 and count >= MIN_POINTS:
        c.is_ready = 1
    if c.is_ready == 0:
        _recommend_best_point(s)
        return
    call(s.update_emulator_kernel[0], s)
    _set_known_designs(s)
    call(s.find_optima_kernel[0], s, _KNOWN, _LAST_DESCENT_STEPS if t.unallocated == 0 else _DESCENT_STEPS)
    copy(s.optimum_x[s.emulated_descent[0].best], s.recent_x[c.optima % _RECENT])
    c.optima += 1
    _recommend(s)


@inlined
def _set_known_designs(s: EmulatorSearchState) -> None:
    """Write the known designs to the first rows of those that are compared."""
    known, c, row = s.screened_x, s.progress[0], 1
    to_fraction(s, s.incumbent_x, known[0])
    for rank in range(_BEST_POINTS):
        _write_point_of_rank(s, min(rank, s.process[OBJECTIVE].count - 1), known[row])
        row += 1
    for back in range(_LAST_OPTIMA):
        last = (c.optima - 1 - back) % _RECENT
        copy(s.recent_x[last] if back < c.optima else known[1], known[row])
        row += 1
    for k in range(_NEARBY):
        width = _NEARBY_DEVIATION / (1.0 if k % 3 == 0 else 3.0 if k % 3 == 1 else 9.0)
        for i in range(known.shape[1]):
            known[row, i] = known[1 + _BEST_POINTS, i] + width * normal(s.rng)
        row += 1
    for k in range(row):
        for i in range(known.shape[1]):
            known[k, i] = min(max(known[k, i], 0.0), 1.0)


@compiled
def _write_point_of_rank(s: EmulatorSearchState, rank: int, u: Floats) -> None:
    """Write the point whose value has a rank, the lowest first."""
    values, ordered, before = s.emulator_values, s.emulator_sorted, 0
    for a in range(rank):
        before += 1 if ordered[a] == ordered[rank] else 0
    for a in range(s.process[OBJECTIVE].count):
        if values[a] == ordered[rank]:
            if before == 0:
                for i in range(u.size):
                    u[i] = s.process_x[OBJECTIVE, i, a]
                return
            before -= 1


@inlined
def _recommend(s: EmulatorSearchState) -> None:
    """Make the recent optimum with the lowest doubtful worst case the incumbent."""
    t, c = s.counters[0], s.progress[0]
    p: EmulatorSearch = s.outer[0]
    offset, best, lowest = np.empty(t.dimension), 0, np.inf
    for row in range(min(c.optima, _RECENT)):
        from_fraction(s, s.recent_x[row], s.x[0])
        value = emulator.standardised(s, worst_of(s, neighbours(s, s.x[0])))
        for k in range(emulator.models(s)):
            call(s.doubtful_worst_case_kernel[0], s, k, s.recent_x[row], p.caution, offset)
            value = max(value, s.offsets[0].doubtful)
        if value < lowest:
            best, lowest = row, value
    from_fraction(s, s.recent_x[best], s.incumbent_x)
    call(s.doubtful_worst_case_kernel[0], s, OBJECTIVE, s.recent_x[best], 0.0, offset)
    s.incumbent_f[0] = max(emulator.value_of(s, s.offsets[0].doubtful), worst_of(s, neighbours(s, s.incumbent_x)))
    t.has_incumbent = 1


@compiled
def _recommend_best_point(s: EmulatorSearchState) -> None:
    """Without an emulator, make the design with the lowest value so far the incumbent."""
    t, best = s.counters[0], -1
    for h in range(t.spent):
        value = s.history_f[h]
        if math.isfinite(value) and in_box(s, s.history_y[h]) and (best < 0 or value < s.history_f[best]):
            best = h
    if best >= 0:
        copy(s.history_y[best], s.incumbent_x)
        s.incumbent_f[0] = max(s.history_f[best], worst_of(s, neighbours(s, s.incumbent_x)))
        t.has_incumbent = 1


@compiled
def _place_points(s: EmulatorSearchState) -> None:
    """Place the points of the next batch."""
    t, c = s.counters[0], s.progress[0]
    u = np.empty(t.dimension)
    t.agents = max(1, min(t.outer_agents, t.unallocated))
    for j in range(t.agents):
        if c.is_ready == 0:
            _draw_far_point(s, j, u)
        else:
            _choose_point(s, u)
            if s.process[OBJECTIVE].count < s.process_x.shape[2]:
                gaussian_process.add_point(s, OBJECTIVE, u)
        from_fraction(s, u, s.x[j])
        c.turn += 1


@inlined
def _draw_far_point(s: EmulatorSearchState, j: int, u: Floats) -> None:
    """Draw the one of some random designs that is furthest from all points so far, those of the batch included."""
    trial, widest, other = np.empty(u.size), -1.0, np.empty(u.size)
    known = s.process[FAILURES].count
    for _ in range(_FAR_TRIALS):
        nearest = np.inf
        for i in range(u.size):
            trial[i] = uniform(s.rng)
        for a in range(known):
            for i in range(u.size):
                other[i] = s.process_x[FAILURES, i, a]
            nearest = min(nearest, _square(trial, other))
        for b in range(j):
            to_fraction(s, s.x[b], other)
            nearest = min(nearest, _square(trial, other))
        if nearest > widest:
            widest = nearest
            copy(trial, u)


@compiled
def _square(a: Floats, b: Floats) -> float:
    total = 0.0
    for i in range(a.size):
        total += (a[i] - b[i]) * (a[i] - b[i])
    return total


@compiled
def _choose_point(s: EmulatorSearchState, u: Floats) -> None:
    """Choose where to evaluate next: within the set around a robust optimum of the emulator."""
    c = s.progress[0]
    p: EmulatorSearch = s.outer[0]
    row = _most_promising(s) if p.exploration > 0.0 and c.turn % 2 == 1 else s.emulated_descent[0].best
    design, offset, feared = s.optimum_x[row], np.empty(u.size), np.empty(u.size)
    call(s.doubtful_worst_case_kernel[0], s, OBJECTIVE, design, p.probing, offset)
    if s.emulator[0].has_failures == 1:
        call(s.doubtful_worst_case_kernel[0], s, FAILURES, design, p.probing, feared)
        if s.offsets[0].doubtful > s.emulator[0].lowest:  # the set comes too close to where evaluations fail
            copy(feared, offset)
    disturb(s, design, offset, u)
    if _is_known(s, u):
        _choose_doubtful(s, design, u)
        if _is_known(s, u):
            sample(s.rng, s.uncertain, s.counters[0].is_box == 1, offset)
            disturb(s, design, offset, u)


@inlined
def _most_promising(s: EmulatorSearchState) -> int:
    """Return the local optimum whose worst case may be lowest."""
    p: EmulatorSearch = s.outer[0]
    best, lowest, point = s.emulated_descent[0].best, np.inf, np.empty(s.metric.size)
    for k in range(s.optimum_f.size):
        if s.optimum_f[k] < np.inf:
            disturb(s, s.optimum_x[k], s.optimum_offset[k], point)
            value = s.optimum_f[k] - p.exploration * emulator.doubt(s, OBJECTIVE, point)
            if value < lowest:
                best, lowest = k, value
    return best


@compiled
def _is_known(s: EmulatorSearchState, u: Floats) -> bool:
    """Whether a point is hardly away from one of the emulator."""
    gaussian_process.squared_distances(
        s.process_x[OBJECTIVE], s.process[OBJECTIVE].count, s.process_rate[OBJECTIVE], u, s.process_row
    )
    nearest = np.inf
    for a in range(s.process[OBJECTIVE].count):
        nearest = min(nearest, s.process_row[a])
    return nearest < _SAME


@inlined
def _choose_doubtful(s: EmulatorSearchState, design: Floats, u: Floats) -> None:
    """Choose the most doubtful of a design and its disturbances by the kept offsets."""
    point, most = np.empty(u.size), emulator.doubt(s, OBJECTIVE, design)
    copy(design, u)
    for row in range(s.offsets[0].count):
        disturb(s, design, s.worst_offset[row], point)
        value = emulator.doubt(s, OBJECTIVE, point)
        if value > most:
            most = value
            copy(point, u)


@dataclass(frozen=True)
class EmulatorSearch(Outer):
    """Gaussian processes of all evaluations: their robust optima are evaluated where they may be worst.

    Evaluations that failed are modelled by a process of their own, and designs keep away from them with the whole set.
    It evaluates points as they are, whatever the inner search.
    """

    title: ClassVar[str] = "Emulator search"
    rank: ClassVar[int] = 7
    source: ClassVar[str] = "Gaussian processes: Rasmussen and Williams 2006; robust: Bogunovic et al. 2018"
    extension: ClassVar[bool] = True
    costly: ClassVar[bool] = True
    batch: Annotated[int, Range(1, 8), "points of an iteration, which can be evaluated at the same time"]
    initial_factor: Annotated[float, Range(0.5, 6.0), "random points before the first emulator, per variable"]
    exploration: Annotated[
        float, Range(0.0, 4.0), "standard deviations by which every other point's worst case may be lower"
    ]
    probing: Annotated[float, Range(0.0, 3.0), "standard deviations by which a point of the set may be worse"]
    caution: Annotated[float, Range(0.0, 2.0), "the same, in the worst case of a recommendation"]
    failure_margin: Annotated[
        float, Range(0.0, 1.5), "distance kept from failures, as a difference of the model whose values are -1 and 1"
    ]
    model_points: Annotated[int, Range(32, 256, log=True), "points of the emulator at most: half of them the newest"]
    computed: ClassVar[Sequence[str]] = ("initial_points",)
    initial_points: ClassVar[float]
    start: ClassVar[Any] = staticmethod(_start_emulator)
    update: ClassVar[Any] = staticmethod(_update_emulator)
    move: ClassVar[Any] = staticmethod(_place_points)

    @property
    def agents(self) -> int:
        return self.batch

    @property
    def is_nominal(self) -> bool:
        return True

    @property
    def offers_candidates(self) -> bool:
        return False

    def routines(self, dimension: int) -> tuple[Routine, ...]:
        return CONDITION, FIT, UPDATE_EMULATOR, FIND_OPTIMA, DOUBTFUL_WORST_CASE

    def parameters(self, plan: Plan) -> Mapping[str, float]:
        return {**super().parameters(plan), "initial_points": 4.0 + math.ceil(self.initial_factor * plan.dimension)}

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        n = plan.dimension
        screened = _KNOWN + min(_RANDOM_PER_INPUT * n, _MAX_RANDOM)
        return {
            **emulator_sizes(plan, self.model_points, _BETWEEN_UPDATES),
            **optimum_sizes(n, screened),
            "recent_optima": _RECENT,
        }

    @property
    def steps(self) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        return (
            (f"evaluate random points, far from each other, until {self.initial_factor:.3g} n + 4 have a value",),
            (
                f"E := Gaussian processes of {self.model_points} points at most; W(x) := their largest mean in the "
                "set around x",
                "z_1, z_2, z_3 := local minima of W, by descents along the shortest slope in the hull of those at "
                "nearly worst points",
                f"x_j := where the set around the best z is largest by mean + {self.probing:.3g} deviations, or comes "
                f"near failures; every other time around the best z by W - {self.exploration:.3g} deviations",
            ),
            (f"x* := of the last {_RECENT} best z, the lowest by the largest mean + {self.caution:.3g} deviations",),
        )

    def describe(self) -> str:
        return (
            f"Gaussian processes of up to {self.model_points} points; their robust optimum is evaluated where "
            f"mean + {self.probing:.2g} deviations is largest in its set, every other time another one that may be "
            f"better ({self.exploration:.2g} deviations); failures are modelled, too; the optimum with the lowest "
            f"worst mean + {self.caution:.2g} deviations is recommended; {self.batch} "
            f"point{'s' if self.batch > 1 else ''} at a time"
        )
