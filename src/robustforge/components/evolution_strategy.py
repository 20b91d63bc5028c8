"""Evolution strategy: candidates are sampled around a mean; the better half adapts mean and distribution.

The step size follows the length of the evolution path of the mean. The covariance is a standard deviation for each
variable (sep-CMA-ES), or a full transformation matrix that is adapted without a decomposition (MA-ES).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from robustforge.components import mean_based
from robustforge.components.mean_based import MeanBased, MeanState, mean_sizes
from robustforge.components.outer import Outer
from robustforge.components.recommendation import Recommendation
from robustforge.components.restart import Restart
from robustforge.core.agents import fill
from robustforge.core.compiler import compiled, inlined
from robustforge.core.component import Former, Range, codes
from robustforge.core.portable_math import exp, log
from robustforge.core.random import normal
from robustforge.core.state import ONE, STOPPED, Floats, Integers, Plan, Shape

Covariance = Literal["separable", "full"]
SEPARABLE, FULL = codes(Covariance)


class StrategyState(MeanState):
    """The distribution of an evolution strategy."""

    sigma: Annotated[Floats, ONE, "the step size, as a fraction of the range of each variable"]
    z: Annotated[Floats, Shape("es_population", "dimension"), "standard normal samples of the candidates"]
    deviation: Annotated[Floats, Shape("es_dimension"), "standard deviation of each variable, without the step size"]
    transformation: Annotated[Floats, Shape("es_matrix", "es_matrix"), "the transformation matrix M of MA-ES"]
    p_sigma: Annotated[Floats, Shape("es_dimension"), "evolution path of the step size"]
    p_c: Annotated[Floats, Shape("es_dimension"), "evolution path of the covariance"]
    mean_z: Annotated[Floats, Shape("es_dimension"), "weighted mean of the parents' z"]
    ranked: Annotated[Integers, Shape("es_population"), "the candidates with a value, the best first"]
    weights: Annotated[Floats, Shape("es_population"), "recombination weights"]
    transformed_path: Annotated[Floats, Shape("es_matrix"), "M p_sigma"]
    transformed_z: Annotated[Floats, Shape("es_steps", "dimension"), "M z of each parent"]


@compiled
def _start_distribution(s: StrategyState) -> None:
    p: EvolutionStrategy = s.outer[0]
    mean_based.start_next(s)
    s.sigma[0] = p.initial_sigma
    fill(s.p_sigma, 0.0)
    fill(s.p_c, 0.0)
    fill(s.deviation, 1.0)
    if p.covariance == FULL:
        for i in range(s.counters[0].dimension):
            for k in range(s.counters[0].dimension):
                s.transformation[i, k] = 1.0 if i == k else 0.0


@compiled
def _sample(s: StrategyState) -> None:
    """Sample the candidates; those outside the bounds are clipped."""
    t, n = s.counters[0], s.counters[0].dimension
    p: EvolutionStrategy = s.outer[0]
    _limit_sigma(s)
    for j in range(t.agents):
        z = s.z[j]
        if p.mirrored > 0.0 and j % 2 == 1:
            for i in range(n):
                z[i] = -s.z[j - 1, i]
        else:
            for i in range(n):
                z[i] = normal(s.rng)
        for i in range(n):
            step = s.deviation[i] * z[i]
            if p.covariance == FULL:
                step = 0.0
                for k in range(n):
                    step += s.transformation[i, k] * z[k]
            width = s.upper[i] - s.lower[i]
            x = s.mean[i] + s.sigma[0] * width * step
            if not s.lower[i] <= x <= s.upper[i]:
                x = min(max(x, s.lower[i]), s.upper[i])
                if p.covariance == SEPARABLE and width > 0.0:
                    z[i] = (x - s.mean[i]) / (s.sigma[0] * width * s.deviation[i])
            s.x[j, i] = x


@inlined
def _limit_sigma(s: StrategyState) -> None:
    """Keep the distribution from shrinking far below the uncertainty set: there, candidates are samples of the set."""
    p: EvolutionStrategy = s.outer[0]
    total, count = 0.0, 0
    mean_based.set_radius(s, 1.0)
    for i in s.uncertain:
        width = s.upper[i] - s.lower[i]
        if s.radius[i] > 0.0 and width > 0.0:
            size = s.deviation[i]
            if p.covariance == FULL:
                square = 0.0
                for k in range(s.mean.size):
                    square += s.transformation[i, k] * s.transformation[i, k]
                size = math.sqrt(square)
            total += log(width * size / s.radius[i])
            count += 1
    if p.min_sigma > 0.0 and count > 0:
        s.sigma[0] = max(s.sigma[0], p.min_sigma / exp(total / count))


@inlined
def _rank(s: StrategyState) -> int:
    """Sort the candidates by value, the best first; return how many have one."""
    order, count = s.ranked, 0
    for j in range(s.counters[0].agents):
        if mean_based.has_value(s, j) or (s.status[j] == STOPPED and s.worst[j] > -np.inf):
            k = count
            while k > 0 and s.worst[order[k - 1]] > s.worst[j]:
                order[k] = order[k - 1]
                k -= 1
            order[k] = j
            count += 1
    return count


@compiled
def _update_distribution(s: StrategyState) -> None:
    t, n = s.counters[0], s.counters[0].dimension
    count = _rank(s)
    parents = count // 2
    if parents > 0 and s.worst[s.ranked[0]] < np.inf:
        total, squares = 0.0, 0.0
        for k in range(parents):
            s.weights[k] = log(parents + 0.5) - log(k + 1.0)
            total += s.weights[k]
        for k in range(parents):
            s.weights[k] /= total
            squares += s.weights[k] * s.weights[k]
        _adapt(s, parents, 1.0 / squares, float(n))
        for j in range(t.agents):  # an inner search is stopped where its candidate can no longer be a parent
            s.stop_above[j] = s.worst[s.ranked[parents - 1]]
    mean_based.record_outcome(s)
    if mean_based.is_over(s):
        mean_based.end_start(s)
        _start_distribution(s)


@inlined
def _adapt(s: StrategyState, parents: int, mu_eff: float, n: float) -> None:
    """Adapt the mean, the step size and the covariance, with the default learning rates of CMA-ES."""
    p: EvolutionStrategy = s.outer[0]
    full = p.covariance == FULL
    c_sigma = (mu_eff + 2.0) / (n + mu_eff + 5.0)
    damping = 1.0 + c_sigma + 2.0 * max(0.0, math.sqrt((mu_eff - 1.0) / (n + 1.0)) - 1.0)
    c_c = 4.0 / (n + 4.0)
    c_1 = 2.0 / ((n + 1.3) * (n + 1.3) + mu_eff)
    c_mu = min(1.0 - c_1, 2.0 * (mu_eff - 2.0 + 1.0 / mu_eff) / ((n + 2.0) * (n + 2.0) + mu_eff))
    if not full:  # n numbers instead of n^2 / 2 can be learnt faster
        c_1 = min(1.0, c_1 * (n + 2.0) / 3.0)
        c_mu = min(1.0 - c_1, max(0.0, c_mu) * (n + 2.0) / 3.0)
    c_mu = max(0.0, c_mu)
    mean_z, factor = s.mean_z, math.sqrt(c_sigma * (2.0 - c_sigma) * mu_eff)
    square = 0.0
    for i in range(mean_z.size):
        x, z = 0.0, 0.0
        for k in range(parents):
            x += s.weights[k] * s.x[s.ranked[k], i]
            z += s.weights[k] * s.z[s.ranked[k], i]
        s.mean[i] = x
        mean_z[i] = z
        s.p_sigma[i] = (1.0 - c_sigma) * s.p_sigma[i] + factor * z
        square += s.p_sigma[i] * s.p_sigma[i]
    if full:
        _adapt_transformation(s, parents, c_1, c_mu)
    else:
        _adapt_deviations(s, parents, c_1, c_mu, c_c, math.sqrt(c_c * (2.0 - c_c) * mu_eff))
    expected = math.sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n))
    s.sigma[0] *= exp(min(1.0, c_sigma / damping * (math.sqrt(square) / expected - 1.0)))
    s.sigma[0] = min(max(s.sigma[0], 1e-12), 1.0)


@inlined
def _adapt_deviations(s: StrategyState, parents: int, c_1: float, c_mu: float, c_c: float, factor: float) -> None:
    """Adapt the standard deviation of each variable, as sep-CMA-ES does."""
    for i in range(s.mean_z.size):
        variance, rank_mu = s.deviation[i] * s.deviation[i], 0.0
        s.p_c[i] = (1.0 - c_c) * s.p_c[i] + factor * s.deviation[i] * s.mean_z[i]
        for k in range(parents):
            z = s.z[s.ranked[k], i]
            rank_mu += s.weights[k] * z * z
        rank_one = s.p_c[i] * s.p_c[i]
        changed = (1.0 - c_1 - c_mu) * variance + c_1 * rank_one + c_mu * variance * rank_mu
        s.deviation[i] = math.sqrt(max(changed, 1e-20))


@inlined
def _adapt_transformation(s: StrategyState, parents: int, c_1: float, c_mu: float) -> None:
    """Multiply the transformation by the update from the parents and the evolution path, as MA-ES does."""
    n = s.mean.size
    old, path = s.transformation, s.p_sigma
    for i in range(n):
        along = 0.0
        for k in range(n):
            along += old[i, k] * path[k]
        s.transformed_path[i] = along
    for j in range(parents):
        z, row = s.z[s.ranked[j]], s.transformed_z[j]
        for i in range(n):
            step = 0.0
            for k in range(n):
                step += old[i, k] * z[k]
            row[i] = step
    for i in range(n):
        row = old[i]
        for k in range(n):
            row[k] *= 1.0 - 0.5 * c_1 - 0.5 * c_mu
            row[k] += 0.5 * c_1 * s.transformed_path[i] * path[k]
        for j in range(parents):
            factor = 0.5 * c_mu * s.weights[j] * s.transformed_z[j, i]
            z = s.z[s.ranked[j]]
            for k in range(n):
                row[k] += factor * z[k]


@compiled
def _start(s: StrategyState) -> None:
    _start_distribution(s)
    _sample(s)


@dataclass(frozen=True)
class EvolutionStrategy(MeanBased, Outer):
    """An evolution strategy with an adaptive step size and covariance."""

    title: ClassVar[str] = "Evolution strategy"
    rank: ClassVar[int] = 6
    source: ClassVar[str] = "Ros and Hansen 2008 (separable); Beyer and Sendhoff 2017 (full)"
    extension: ClassVar[bool] = True
    population_size: Annotated[int, Range(6, 60), Former("group"), "candidates of an iteration (lambda)"]
    covariance: Annotated[Covariance, "a standard deviation for each variable, or a full matrix"]
    mirrored: Annotated[bool, "whether candidates come in mirrored pairs"]
    initial_sigma: Annotated[
        float, Range(0.08, 0.4), Former("first"), "initial standard deviation, as a fraction of the range"
    ]
    min_sigma: Annotated[
        float, Range(0.0, 1.0), Former("floor"), "least standard deviation, in units of Gamma / sqrt n"
    ]
    restart: Restart
    recommendation: Annotated[Recommendation, Former("returned")]
    start: ClassVar[Any] = staticmethod(_start)
    update: ClassVar[Any] = staticmethod(_update_distribution)
    move: ClassVar[Any] = staticmethod(_sample)

    @property
    def agents(self) -> int:
        return self.population_size

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        n, population = plan.dimension, self.population_size
        sizes = {**mean_sizes(self, plan), "es_dimension": n, "es_population": population}
        return {**sizes, "es_matrix": n, "es_steps": population} if self.covariance == "full" else sizes

    @property
    def stops_above(self) -> str:
        return "the worst parent of the last iteration"

    @property
    def steps(self) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        shape = "a matrix" if self.covariance == "full" else "diagonal"
        mirrored = ", in mirrored pairs" if self.mirrored else ""
        return (
            (f"m := {self.restart.initial_mean}; sigma := {self.initial_sigma:.3g}; C := 1",),
            (
                f"sigma := at least so that the standard deviation is {self.min_sigma:.3g} Gamma / sqrt n",
                f"{self.population_size} candidates x_j := m + sigma (width of X) C^1/2 N(0, 1), clipped to "
                f"X{mirrored}",
            ),
            (
                "m := weighted mean of the better half; its evolution path adapts sigma",
                f"the better half and the evolution path adapt C ({shape})",
                self.recommended,
            ),
        )

    def describe(self) -> str:
        mirrored = ", in mirrored pairs" if self.mirrored else ""
        shape = "a full covariance matrix" if self.covariance == "full" else "a standard deviation for each variable"
        return (
            f"{self.population_size} candidates, normally distributed around a mean{mirrored}; the better half gives "
            f"the next mean, and adapts step size and {shape}, from {self.initial_sigma:.2g} of the range to no less "
            f"than {self.min_sigma:.2g} of the uncertainty set"
        )
