"""Mean-based searches: candidates are placed around one point, the mean, which moves according to their values.

This module has what these searches share: the mean and its averages, and how the budget is divided among starts. A
search calls `start_next` at each start, `record_outcome` after each iteration, and `progress` for the fraction of the
present start's budget that is spent: radii follow the budget, not the clock.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from robustforge.components.outer import OuterState
from robustforge.components.recommendation import (
    AVERAGED_MEAN,
    BEST_CANDIDATE,
    MEAN,
    OUTCOMES,
    PREVIOUS_START,
    OutcomeState,
    Recommendation,
    RecommendAverage,
    recommend,
)
from robustforge.components.restart import RandomRestart, Restart, RestartState
from robustforge.core.agents import copy, fill, in_box, random_point
from robustforge.core.compiler import call, compiled
from robustforge.core.component import Former
from robustforge.core.state import DONE, PARTIAL, Floats, Plan, Shape

_CERTAIN_RADIUS = 1e-3
"""Least radius along a variable without a tolerance, as a fraction of its range."""


class MeanState(RestartState, OutcomeState, OuterState):
    """The state that the kernels of mean-based searches use, in addition to their own arrays."""

    radius: Annotated[Floats, Shape("mean"), "radius of the sphere around the mean along each variable"]
    mean_sum: Annotated[Floats, Shape("mean"), "sum of the means that are averaged"]


class MeanBased:
    """Shared fields and properties of mean-based searches; their own fields precede these two."""

    restart: Restart
    recommendation: Annotated[Recommendation, Former("returned")]

    @property
    def offers_candidates(self) -> bool:
        """Whether candidates are recommended by their inner search: never, there is a component for this."""
        return False

    @property
    def recommended(self) -> str:
        """The recommendation as a line of pseudocode."""
        return f"x* := {self.recommendation.describe()}".replace(" is recommended", "")


def mean_sizes(search: Any, plan: Plan) -> dict[str, int]:
    """Return the sizes of the memory that mean-based searches share."""
    return {"mean": plan.dimension, "outcomes": OUTCOMES, "starts": getattr(search.restart, "starts", 0) or 0}


@compiled
def spent_so_far(s: MeanState) -> float:
    """Return how many evaluations were allocated to candidates so far."""
    return float(s.counters[0].outer_budget - s.counters[0].unallocated)


@compiled
def progress(s: MeanState) -> float:
    """Return the fraction of the present start's budget that is spent, from 0 to 1."""
    m = s.start[0]
    return min(1.0, (spent_so_far(s) - m.first) / max(1.0, m.last - m.first))


@compiled
def start_next(s: MeanState) -> None:
    """Start: choose a mean, and allocate an equal part of what is left of the budget."""
    t, m = s.counters[0], s.start[0]
    p: RandomRestart = s.restart[0]
    left = max(1.0, p.starts - m.number)
    m.first = spent_so_far(s)
    m.last = m.first + (t.outer_budget - m.first) / left
    m.averaged = 0.0
    fill(s.mean_sum, 0.0)
    s.outcome_f[MEAN], s.outcome_f[AVERAGED_MEAN], s.outcome_f[BEST_CANDIDATE] = np.inf, np.inf, np.inf
    if m.number == 0:
        s.outcome_f[PREVIOUS_START] = np.inf
        if not _best_prior(s):
            random_point(s, s.mean)
    else:
        call(p.place_mean, s)
    copy(s.mean, s.outcome_x[BEST_CANDIDATE])  # until there is a candidate that may be recommended
    m.number += 1.0


@compiled
def set_radius(s: MeanState, fraction: float) -> None:
    """Set the radius along each variable to that of a sphere of `fraction` times the uncertainty set."""
    fill(s.radius, 0.0)
    for i in s.uncertain:
        s.radius[i] = fraction if s.counters[0].is_box == 1 else fraction / math.sqrt(float(s.uncertain.size))
    for i in s.certain:
        s.radius[i] = _CERTAIN_RADIUS * (s.upper[i] - s.lower[i])


@compiled
def is_over(s: MeanState) -> bool:
    """Whether the budget of the present start is spent, and there is another start."""
    m = s.start[0]
    p: RandomRestart = s.restart[0]
    return m.number < p.starts and spent_so_far(s) >= m.last


@compiled
def has_value(s: MeanState, j: int) -> bool:
    """Whether the inner search of agent `j` gave a value."""
    return (s.status[j] == DONE or s.status[j] == PARTIAL) and s.worst[j] > -np.inf


@compiled
def record_outcome(s: MeanState) -> None:
    """Record the mean and the values of this iteration's candidates, and update the recommendation.

    The value of the mean is the average over its candidates, since single values are noisy.
    """
    t, m = s.counters[0], s.start[0]
    p: RecommendAverage = s.recommendation[0]
    total, count = 0.0, 0
    for j in range(t.agents):
        if has_value(s, j):
            if s.worst[j] < s.outcome_f[BEST_CANDIDATE] and in_box(s, s.x[j]):
                s.outcome_f[BEST_CANDIDATE] = s.worst[j]
                copy(s.x[j], s.outcome_x[BEST_CANDIDATE])
            if s.worst[j] < np.inf:
                total += s.worst[j]
                count += 1
    if count == 0:
        if t.has_incumbent == 0 and s.outcome_f[PREVIOUS_START] == np.inf:
            copy(s.mean, s.incumbent_x)
        return
    value = total / count
    s.outcome_f[MEAN], s.outcome_f[AVERAGED_MEAN] = value, value
    copy(s.mean, s.outcome_x[MEAN])
    if progress(s) >= 1.0 - p.fraction:
        m.averaged += 1.0
        for i in range(s.mean.size):
            s.mean_sum[i] += s.mean[i]
            s.outcome_x[AVERAGED_MEAN, i] = s.mean_sum[i] / m.averaged
    else:
        copy(s.mean, s.outcome_x[AVERAGED_MEAN])
    t.has_incumbent = 1
    if s.outcome_f[PREVIOUS_START] <= value:
        recommend(s, PREVIOUS_START)
    else:
        call(p.recommend, s)


@compiled
def end_start(s: MeanState) -> None:
    """End the present start: its outcome is kept if it is the best so far."""
    m = s.start[0]
    copy(s.mean, s.previous_x[int(m.number) - 1])
    if s.outcome_f[MEAN] < s.outcome_f[PREVIOUS_START]:
        s.outcome_f[PREVIOUS_START] = s.outcome_f[MEAN]
        copy(s.incumbent_x, s.outcome_x[PREVIOUS_START])


@compiled
def _best_prior(s: MeanState) -> bool:
    """Set the mean to the best prior evaluation within the bounds; return whether there is one."""
    t = s.counters[0]
    prior = t.spent - (t.outer_budget - t.unallocated)
    best = -1
    for k in range(prior):
        if s.history_f[k] < np.inf and (best < 0 or s.history_f[k] < s.history_f[best]) and in_box(s, s.history_y[k]):
            best = k
    if best >= 0:
        copy(s.history_y[best], s.mean)
    return best >= 0
