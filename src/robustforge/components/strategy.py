"""Evolution strategy: candidates around a mean, whose better half says where the mean goes and how they spread next.

The step size follows the length of the path of the mean. The spread is a factor for each variable (sep-CMA-ES), or a
full matrix, adapted without a decomposition (MA-ES).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from robustforge.components import middle
from robustforge.components.middle import Restart, Returned, WithMiddle
from robustforge.components.outer import Outer, Steps
from robustforge.core.compiler import compiled, inlined
from robustforge.core.component import Range
from robustforge.core.elementary import exp, log
from robustforge.core.random import normal
from robustforge.core.state import STOPPED, Plan, State, StateField, fill

SEPARABLE, FULL = range(2)

STATE_FIELDS = (
    StateField("sigma", np.float64, lambda p: (1,)),
    StateField("path_sigma", np.float64, lambda p: (p.middles,)),
    StateField("path_spread", np.float64, lambda p: (p.middles,)),
    StateField("spread", np.float64, lambda p: (p.middles,)),
    StateField("moved", np.float64, lambda p: (p.middles,)),
    StateField("ranking", np.int64, lambda p: (p.agents if p.middles else 0,)),
    StateField("weights", np.float64, lambda p: (p.agents if p.middles else 0,)),
)


@compiled
def _begin_strategy(s: State) -> None:
    middle.begin(s)
    s.sigma[0] = s.outer[0].first
    fill(s.path_sigma, 0.0)
    fill(s.path_spread, 0.0)
    fill(s.spread, 1.0)
    if s.outer[0].covariance == FULL:
        for i in range(s.tally[0].dimension):
            for k in range(s.tally[0].dimension):
                s.matrix[i, k] = 1.0 if i == k else 0.0


@compiled
def _place_cloud(s: State) -> None:
    """Draw the candidates; their steps before and after the spread are in `s.v` and, as they are taken, in `s.x`."""
    t, p, n = s.tally[0], s.outer[0], s.tally[0].dimension
    _keep_wide(s)
    for j in range(t.agents):
        z = s.v[j]
        if p.mirrored > 0.0 and j % 2 == 1:
            for i in range(n):
                z[i] = -s.v[j - 1, i]
        else:
            for i in range(n):
                z[i] = normal(s.rng)
        for i in range(n):
            step = s.spread[i] * z[i]
            if p.covariance == FULL:
                step = 0.0
                for k in range(n):
                    step += s.matrix[i, k] * z[k]
            width = s.upper[i] - s.lower[i]
            x = s.middle[i] + s.sigma[0] * width * step
            if not s.lower[i] <= x <= s.upper[i]:
                x = min(max(x, s.lower[i]), s.upper[i])
                if p.covariance == SEPARABLE and width > 0.0:
                    z[i] = (x - s.middle[i]) / (s.sigma[0] * width * s.spread[i])
            s.x[j, i] = x


@inlined
def _keep_wide(s: State) -> None:
    """Keep the cloud from shrinking below a share of the uncertainty set: there, candidates are its samples."""
    floor, total, count = s.outer[0].floor, 0.0, 0
    middle.end_radius(s, 1.0)
    for i in s.active:
        width = s.upper[i] - s.lower[i]
        if s.radius[i] > 0.0 and width > 0.0:
            size = s.spread[i]
            if s.outer[0].covariance == FULL:
                square = 0.0
                for k in range(s.middle.size):
                    square += s.matrix[i, k] * s.matrix[i, k]
                size = math.sqrt(square)
            total += log(width * size / s.radius[i])
            count += 1
    if floor > 0.0 and count > 0:
        s.sigma[0] = max(s.sigma[0], floor / exp(total / count))


@inlined
def _rank(s: State) -> int:
    """Sort the candidates by value, the best first; return how many have one."""
    order, count = s.ranking, 0
    for j in range(s.tally[0].agents):
        if middle.is_counted(s, j) or (s.status[j] == STOPPED and s.worst[j] > -np.inf):
            k = count
            while k > 0 and s.worst[order[k - 1]] > s.worst[j]:
                order[k] = order[k - 1]
                k -= 1
            order[k] = j
            count += 1
    return count


@compiled
def _learn_by_strategy(s: State) -> None:
    t, n = s.tally[0], s.tally[0].dimension
    count = _rank(s)
    parents = count // 2
    if parents > 0 and s.worst[s.ranking[0]] < np.inf:
        total, squares = 0.0, 0.0
        for k in range(parents):
            s.weights[k] = log(parents + 0.5) - log(k + 1.0)
            total += s.weights[k]
        for k in range(parents):
            s.weights[k] /= total
            squares += s.weights[k] * s.weights[k]
        _adapt(s, parents, 1.0 / squares, float(n))
        for j in range(t.agents):  # a search is stopped where its candidate cannot be a parent any more
            s.placed[j] = True
            s.best[j] = s.worst[s.ranking[parents - 1]]
    middle.settle(s)
    if middle.is_over(s):
        middle.end(s)
        _begin_strategy(s)


@inlined
def _adapt(s: State, parents: int, selected: float, n: float) -> None:
    """Move the mean, and adapt step size and spread, with the usual rates of CMA-ES."""
    full = s.outer[0].covariance == FULL
    rate_sigma = (selected + 2.0) / (n + selected + 5.0)
    damping = 1.0 + rate_sigma + 2.0 * max(0.0, math.sqrt((selected - 1.0) / (n + 1.0)) - 1.0)
    rate_path = 4.0 / (n + 4.0)
    rate_one = 2.0 / ((n + 1.3) * (n + 1.3) + selected)
    rate_many = min(1.0 - rate_one, 2.0 * (selected - 2.0 + 1.0 / selected) / ((n + 2.0) * (n + 2.0) + selected))
    if not full:  # of n numbers instead of n^2 / 2: faster
        rate_one = min(1.0, rate_one * (n + 2.0) / 3.0)
        rate_many = min(1.0 - rate_one, max(0.0, rate_many) * (n + 2.0) / 3.0)
    rate_many = max(0.0, rate_many)
    moved, keep = s.moved, math.sqrt(rate_sigma * (2.0 - rate_sigma) * selected)
    square = 0.0
    for i in range(moved.size):
        x, z = 0.0, 0.0
        for k in range(parents):
            x += s.weights[k] * s.x[s.ranking[k], i]
            z += s.weights[k] * s.v[s.ranking[k], i]
        s.middle[i] = x
        moved[i] = z
        s.path_sigma[i] = (1.0 - rate_sigma) * s.path_sigma[i] + keep * z
        square += s.path_sigma[i] * s.path_sigma[i]
    if full:
        _adapt_matrix(s, parents, rate_one, rate_many)
    else:
        drift = math.sqrt(rate_path * (2.0 - rate_path) * selected)
        for i in range(moved.size):
            variance, many = s.spread[i] * s.spread[i], 0.0
            s.path_spread[i] = (1.0 - rate_path) * s.path_spread[i] + drift * s.spread[i] * moved[i]
            for k in range(parents):
                z = s.v[s.ranking[k], i]
                many += s.weights[k] * z * z
            one = s.path_spread[i] * s.path_spread[i]
            changed = (1.0 - rate_one - rate_many) * variance + rate_one * one + rate_many * variance * many
            s.spread[i] = math.sqrt(max(changed, 1e-20))
    expected = math.sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n))
    s.sigma[0] *= exp(min(1.0, rate_sigma / damping * (math.sqrt(square) / expected - 1.0)))
    s.sigma[0] = min(max(s.sigma[0], 1e-12), 1.0)


@inlined
def _adapt_matrix(s: State, parents: int, rate_one: float, rate_many: float) -> None:
    """Multiply the spread by what its steps and its path say, as MA-ES does."""
    n = s.middle.size
    old, path = s.matrix, s.path_sigma
    for i in range(n):
        along = 0.0
        for k in range(n):
            along += old[i, k] * path[k]
        s.solution[i] = along
    for j in range(parents):
        z, row = s.v[s.ranking[j]], s.archive_x[j]
        for i in range(n):
            step = 0.0
            for k in range(n):
                step += old[i, k] * z[k]
            row[i] = step
    for i in range(n):
        row = old[i]
        for k in range(n):
            row[k] *= 1.0 - 0.5 * rate_one - 0.5 * rate_many
            row[k] += 0.5 * rate_one * s.solution[i] * path[k]
        for j in range(parents):
            factor = 0.5 * rate_many * s.weights[j] * s.archive_x[j, i]
            z = s.v[s.ranking[j]]
            for k in range(n):
                row[k] += factor * z[k]


@compiled
def _start_strategy(s: State) -> None:
    _begin_strategy(s)
    _place_cloud(s)


@dataclass(frozen=True)
class EvolutionStrategy(WithMiddle, Outer):
    """A cloud of candidates around a mean that adapts its size and shape to what it finds."""

    title: ClassVar[str] = "Evolution strategy"
    source: ClassVar[str] = "Ros and Hansen 2008 (separable); Beyer and Sendhoff 2017 (full)"
    extension: ClassVar[bool] = True
    group: Annotated[int, Range(6, 60), "candidates of an iteration"]
    covariance: Annotated[Literal["separable", "full"], "a factor for each variable, or a matrix"]
    mirrored: Annotated[bool, "whether candidates come in opposite pairs"]
    first: Annotated[float, Range(0.08, 0.4), "first deviation, as a share of the range"]
    floor: Annotated[float, Range(0.0, 1.0), "least deviation, in units of the uncertainty set's radius / sqrt n"]
    restart: Restart
    returned: Returned
    start: ClassVar[Any] = staticmethod(_start_strategy)
    learn: ClassVar[Any] = staticmethod(_learn_by_strategy)
    move: ClassVar[Any] = staticmethod(_place_cloud)

    @property
    def agents(self) -> int:
        return self.group

    def room(self, plan: Plan) -> Mapping[str, int]:
        if self.covariance == "separable":
            return {"middles": plan.dimension}
        return {"middles": plan.dimension, "matrix": plan.dimension, "archive": self.group}

    @property
    def stops_above(self) -> str:
        return "the worst parent of the last iteration"

    @property
    def steps(self) -> Steps:
        shape = "C a matrix" if self.covariance == "full" else "C diagonal"
        opposite = ", every other one opposite to the one before" if self.mirrored else ""
        return Steps(
            (f"m := {self.restart.again}; sigma := {self.first:.3g}; C := 1",),
            (
                f"sigma := at least so that the cloud is {self.floor:.3g} Gamma / sqrt n wide",
                f"{self.group} candidates x_j := m + sigma (width of X) C N(0, 1), kept to X{opposite}",
            ),
            (
                "m := weighted mean of the better half; its path adapts sigma",
                f"the better half and the path adapt C ({shape})",
                f"x* := {self.returned.words()}".replace(" is returned", ""),
            ),
        )

    def words(self) -> str:
        pairs = ", in opposite pairs" if self.mirrored else ""
        shape = "a matrix" if self.covariance == "full" else "a factor for each variable"
        return (
            f"{self.group} candidates in a cloud around a mean{pairs}; the better half says where the mean goes; size "
            f"and shape ({shape}) adapt, from {self.first:.2g} of the range to no less than {self.floor:.2g} "
            "uncertainty sets"
        )
