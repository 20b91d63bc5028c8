"""Closing attack: the last evaluations attack the design that is about to be returned, and others against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.components.attack_hints import POSITIONS
from robustforge.components.attack_model import (
    FEARED,
    KERNEL_POINTS,
    MANY_VARIABLES,
    ROWS,
    WINDOW,
    ClosingState,
    model_points,
)
from robustforge.components.attack_points import place_attack
from robustforge.components.challengers import (
    HULL,
    begin,
    choose_target,
    has_worked,
    place_challengers,
    place_far,
    refresh,
)
from robustforge.components.final_selection import Final
from robustforge.core.agents import copy
from robustforge.core.compiler import compiled
from robustforge.core.component import Range
from robustforge.core.state import Plan

MAX_BATCH = 8
"""Evaluations of a batch at most."""

BASE_RUNS = 80
"""Evaluations of an attack that do not depend on the number of variables, at most."""

_MIN_RUNS = 4
"""Evaluations of an attack at least."""

_CRASH_FRACTION = 0.2
"""Fraction of the budget for the attack where runs fail, at least."""


@compiled
def _gather(s: ClosingState) -> None:
    """Place the next batch: challengers at the incumbent's worst offset, then attacks on what looks best."""
    t, c = s.counters[0], s.closing[0]
    p: ClosingAttack = s.final[0]
    if c.is_started == 0:
        begin(s)
    left = t.unallocated
    t.agents = 0
    t.nominal = 1
    t.inner_budget = 1
    c.limit = min(left, int(p.batch), max(2, c.total // 3))
    if s.uncertain.size > 0 and left > 0:
        c.round += 1
        c.target = choose_target(s, left)
        if c.failed == 1:
            c.limit = max(1, min(c.limit, left // 4))  # so that little is lost if the next design fails, too
        if c.is_fixed == 0 and c.target == c.best:
            _challenge(s, left)
        if c.is_fixed == 0 and (s.closing_worst[c.target] == np.inf or not has_worked(s)):
            place_far(s)
        else:
            place_attack(s, c.target)
        t.reserve = left - t.agents
        t.unallocated = t.agents


@compiled
def _challenge(s: ClosingState, left: int) -> None:
    """Test challengers, except at the start and at the end; where the incumbent is infeasible, at any time."""
    c = s.closing[0]
    p: ClosingAttack = s.final[0]
    used = 1.0 - left / max(1, c.total)
    is_unsafe = s.closing_value[c.best] >= FEARED
    if is_unsafe or (c.failed == 0 and c.round > 1 and c.round % 2 == 0 and used < p.challenge):
        place_challengers(s, max(1, c.limit // 2))
        c.target = choose_target(s, left) if is_unsafe else c.target


@compiled
def _decide(s: ClosingState) -> None:
    """Make the design with the lowest worst value the incumbent, of those that are attacked enough."""
    t, c = s.counters[0], s.closing[0]
    if c.is_started == 0 or t.agents == 0:
        return
    before, row = s.closing_worst[c.target], c.target
    refresh(s)
    radius = s.closing_radius[row]
    s.closing_radius[row] = min(1.0, 1.3 * radius) if s.closing_worst[row] > before else max(0.02, 0.8 * radius)
    copy(s.closing_x[c.best], s.incumbent_x)
    s.incumbent_f[0] = s.closing_worst[c.best]
    t.has_incumbent = 1


@dataclass(frozen=True)
class ClosingAttack(Final):
    """The last evaluations look for the worst point around the design that is about to be returned.

    They start from all of the history: what a coordinate search knows of each axis, linear and quadratic models of the
    nearest points, a trust region about the worst point, then mirrored pairs or corners. Challengers, other outcomes of
    the search and steps away from what was found, are tested at the incumbent's worst offset, then attacked as hard.
    Where runs fail, a linear classifier keeps the design with its whole set away from them.
    """

    title: ClassVar[str] = "Closing attack"
    rank: ClassVar[int] = 110
    extension: ClassVar[bool] = True
    computed: ClassVar[Sequence[str]] = ("works_alone", "crash_reserve")
    attack_fraction: Annotated[float, Range(0.02, 0.4), "fraction of the budget that is reserved for it"]
    per_variable: Annotated[
        float, Range(1.0, 30.0, log=True), "evaluations for each variable with a tolerance, at most"
    ]
    box_factor: Annotated[float, Range(0.5, 2.0, log=True), "factor of the fraction where the set is a box"]
    challenge: Annotated[float, Range(0.0, 0.9), "fraction of the attack during which challengers are tested"]
    batch: Annotated[int, Range(1, MAX_BATCH), "evaluations at a time"]
    gather: ClassVar[Any] = staticmethod(_gather)
    decide: ClassVar[Any] = staticmethod(_decide)

    @property
    def agents(self) -> int:
        return MAX_BATCH

    def reserve(self, budget: int, uncertain: int = 1, is_box: bool = False) -> int:
        if uncertain == 0:
            return 0
        share = self.attack_fraction * (self.box_factor if is_box else 1.0) * budget
        most = self.per_variable * uncertain + BASE_RUNS
        return round(min(max(_MIN_RUNS, min(share, most)), budget / 3))

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        n = plan.dimension
        points = max(model_points(n), 4 * min(n, MANY_VARIABLES) + 8, POSITIONS)
        return {
            "closing_rows": ROWS + 1,
            "closing_window": min(plan.history, WINDOW),
            "closing_points": points,
            "closing_square": max(min(points, KERNEL_POINTS), min(model_points(n), n)),
            "closing_points_dimension": n,
            "closing_hull": HULL,
            "closing_hull_rooms": 2 * HULL + 3,
        }

    def parameters(self, plan: Plan) -> Mapping[str, float]:
        return {
            **super().parameters(plan),
            "works_alone": 1.0,
            "crash_reserve": float(int(_CRASH_FRACTION * plan.budget)),
        }

    def describe(self) -> str:
        return (
            f"the last {100 * self.attack_fraction:.2g}% of the budget, at most {BASE_RUNS} and "
            f"{self.per_variable:.3g} evaluations per variable, attack the design, and better ones nearby"
        )

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return [
            f"with the last evaluations ({100 * self.attack_fraction:.2g}% of the budget), {self.batch} at a time:",
            "  attack the one of x* and its challengers whose highest known f is lowest, where models of H and a trust "
            "region expect the worst",
            f"  in the first {100 * self.challenge:.2g}%: test challengers, other outcomes and steps away from bad "
            "points, at the worst offset of x*",
            "x* := the one whose highest known f is the lowest, of those attacked enough",
        ]


DEFAULT_ATTACK = ClosingAttack(attack_fraction=0.1, per_variable=6.0, box_factor=1.0, challenge=0.6, batch=8)
"""The attack of the default heuristics; also where a user asks for one and the heuristic has none."""
