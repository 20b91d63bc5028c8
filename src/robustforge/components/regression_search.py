"""Regression search: a local regression of all candidates nearby gives the next mean.

The candidates of an iteration are on a sphere around the mean, in orthogonal directions. A linear model with curvature
is fitted to the candidates so far, weighted by distance; the mean moves to the model's minimum within a trust region.
The radius of the sphere shrinks with the budget, down to about that of the uncertainty set: there, the candidates are
themselves a sample of the worst case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.components import mean_based, quadratic_surrogate
from robustforge.components.mean_based import MeanBased, mean_sizes
from robustforge.components.outer import Outer
from robustforge.components.quadratic_surrogate import (
    DIAGONAL,
    ISOTROPIC,
    LARGE,
    MAX_ARCHIVE_LENGTH,
    MAX_LENGTHS,
    UPDATE_ERRORS,
    Curvature,
    SurrogateState,
    surrogate_sizes,
)
from robustforge.components.recommendation import Recommendation
from robustforge.components.restart import Restart
from robustforge.components.surrogate_fit import FIT_ITERATIVELY
from robustforge.core.agents import copy
from robustforge.core.compiler import Routine, call, compiled, inlined
from robustforge.core.component import Former, Range
from robustforge.core.portable_math import power
from robustforge.core.random import normal, uniform
from robustforge.core.state import Floats, Plan, Shape


class RegressionState(SurrogateState):
    """The state that the kernels of a regression search use, in addition to the surrogate."""

    sampling_direction: Annotated[Floats, Shape("sphere", "dimension"), "directions of the candidates from the mean"]
    model_step: Annotated[Floats, Shape("model_dimension"), "step to the model's minimum, in radii"]


@inlined
def _shrink(s: RegressionState) -> None:
    """Set the radius along each variable, from a fraction of its range down to the uncertainty set."""
    p: RegressionSearch = s.outer[0]
    mean_based.set_radius(s, p.final_radius)
    far = power(mean_based.progress(s), p.radius_exponent)
    for i in range(s.radius.size):
        first = max(p.initial_radius * (s.upper[i] - s.lower[i]), s.radius[i])
        if first > 0.0:
            s.radius[i] = first * power(s.radius[i] / first, far)


@compiled
def draw_directions(s: RegressionState, count: int) -> None:
    """Draw random directions, orthogonal to each other in groups of as many as there are variables."""
    v, rng = s.sampling_direction, s.rng
    n = v.shape[1]
    for j in range(count):
        row = v[j]
        for i in range(n):
            row[i] = normal(rng)
        for other in range(j - j % n, j):
            known, dot = v[other], 0.0
            for i in range(n):
                dot += row[i] * known[i]
            for i in range(n):
                row[i] -= dot * known[i]
        square = 0.0
        for i in range(n):
            square += row[i] * row[i]
        length = math.sqrt(square)
        for i in range(n):
            row[i] /= length


@compiled
def put_candidate(s: RegressionState, j: int, distance: float) -> None:
    """Place agent `j` in its direction from the mean, at a distance in radii, reflected at the bounds.

    Clipped instead, the candidates on a wide sphere would all be corners, which do not depend on the mean.
    """
    x, v, centre, radius = s.x[j], s.sampling_direction[j], s.mean, s.radius
    lower, upper, margin = s.lower, s.upper, s.margin
    for i in range(x.size):
        low, high = lower[i] - margin[i], upper[i] + margin[i]
        position = centre[i] + distance * radius[i] * v[i]
        if position < low:
            position = 2.0 * low - position
        elif position > high:
            position = 2.0 * high - position
        x[i] = min(max(position, low), high)


@compiled
def _place_sphere(s: RegressionState) -> None:
    t = s.counters[0]
    p: RegressionSearch = s.outer[0]
    _shrink(s)
    draw_directions(s, t.agents)
    radius = math.sqrt(float(t.dimension))
    copy(s.mean, s.x[0])
    for j in range(1, t.agents):
        if p.mirrored > 0.0 and j % 2 == 0:
            for i in range(t.dimension):
                s.sampling_direction[j, i] = -s.sampling_direction[j - 1, i]
        put_candidate(s, j, radius * (1.0 + p.radius_jitter * (2.0 * uniform(s.rng) - 1.0)))


@compiled
def _start_regression(s: RegressionState) -> None:
    t = s.counters[0]
    mean_based.start_next(s)
    quadratic_surrogate.clear_archive(s)
    prior = t.spent - (t.outer_budget - t.unallocated)
    for k in range(prior):
        if s.history_f[k] < np.inf:
            quadratic_surrogate.remember(s, s.history_y[k], s.history_f[k])
    _place_sphere(s)


@compiled
def _update_by_regression(s: RegressionState) -> None:
    p: RegressionSearch = s.outer[0]
    if p.archive_lengths > 1.0:
        call(s.update_errors_kernel[0], s)
    for j in range(s.counters[0].agents):
        if mean_based.has_value(s, j):
            quadratic_surrogate.remember(s, s.x[j], s.worst[j])
    if s.archive_count[0] > 1 and quadratic_surrogate.fit(s):
        _step(s)
    mean_based.record_outcome(s)
    if mean_based.is_over(s):
        mean_based.end_start(s)
        mean_based.start_next(s)
        quadratic_surrogate.clear_archive(s)


@compiled
def _move_to_sphere(s: RegressionState) -> None:
    _place_sphere(s)


@inlined
def _step(s: RegressionState) -> None:
    """Move the mean to the model's minimum, or as far towards it as the trust region allows."""
    p: RegressionSearch = s.outer[0]
    n = s.counters[0].dimension
    root = math.sqrt(float(n))
    longest = p.max_step * root
    model, step, square = s.coefficients, s.model_step, 0.0
    for i in range(n):
        curvature = model[n + 1 + i] if p.model == DIAGONAL else model[n + 1] / root
        gradient = model[1 + i]
        if p.model == DIAGONAL:
            to_minimum = gradient / curvature if curvature > 0.0 else gradient * np.inf
            step[i] = max(-longest, min(longest, to_minimum)) if gradient != 0.0 else 0.0
        else:
            step[i] = gradient / curvature if curvature > 0.0 else gradient
        square += step[i] * step[i]
    if square == 0.0:
        return
    length = math.sqrt(square)
    uncapped = p.model == ISOTROPIC and not model[n + 1] > 0.0
    factor = longest / length if uncapped or length > longest else 1.0
    for i in range(n):
        moved = s.mean[i] - factor * step[i] * s.radius[i]
        s.mean[i] = min(max(moved, s.lower[i]), s.upper[i])


@dataclass(frozen=True)
class RegressionSearch(MeanBased, Outer):
    """Candidates on a shrinking sphere, a local regression of them, and a step to its minimum."""

    title: ClassVar[str] = "Regression search"
    rank: ClassVar[int] = 5
    source: ClassVar[str] = "response surfaces: Box and Wilson 1951; trust regions: Conn, Gould and Toint 2000"
    extension: ClassVar[bool] = True
    population_size: Annotated[int, Range(4, 60), Former("group"), "candidates of an iteration, the mean included"]
    model: Annotated[Curvature, "one curvature for all directions, or one for each variable"]
    archive_length: Annotated[
        float, Range(1.5, MAX_ARCHIVE_LENGTH), Former("window"), "candidates that the model is fitted to, per variable"
    ]
    weight_distance: Annotated[
        float, Range(1.2, 5.0), Former("weight"), "distance at which a candidate has half the weight, in radii"
    ]
    ridge: Annotated[float, Range(1e-4, 0.3, log=True), "ridge penalty of the coefficients"]
    radius_jitter: Annotated[float, Range(0.0, 0.4), Former("jitter"), "relative variation of the radius"]
    mirrored: Annotated[bool, "whether candidates come in mirrored pairs"]
    max_step: Annotated[float, Range(0.1, 2.0), Former("step"), "longest step (trust region), in radii"]
    initial_radius: Annotated[
        float, Range(0.15, 1.0), Former("first"), "initial radius along a variable, as a fraction of its range"
    ]
    final_radius: Annotated[float, Range(0.3, 2.0), Former("end"), "final radius, in units of the uncertainty set's"]
    radius_exponent: Annotated[
        float, Range(0.5, 1.5), Former("exponent"), "exponent of the spent fraction of the budget in the radius"
    ]
    restart: Restart
    recommendation: Annotated[Recommendation, Former("returned")]
    archive_lengths: Annotated[
        int, Range(1, MAX_LENGTHS), Former("windows"), "archive lengths that compete, each twice the one before"
    ] = 1
    start: ClassVar[Any] = staticmethod(_start_regression)
    update: ClassVar[Any] = staticmethod(_update_by_regression)
    move: ClassVar[Any] = staticmethod(_move_to_sphere)

    @property
    def agents(self) -> int:
        return self.population_size

    @property
    def leaves_box(self) -> bool:
        return True

    def routines(self, dimension: int) -> tuple[Routine, ...]:
        compete = (UPDATE_ERRORS,) if self.archive_lengths > 1 else ()
        return (*compete, FIT_ITERATIVELY) if dimension >= LARGE else compete

    def sizes(self, plan: Plan) -> Mapping[str, int]:
        n = plan.dimension
        longest = int(self.archive_length * 2 ** (self.archive_lengths - 1) * n)
        archive = min(longest, plan.history) + self.population_size  # there are never more candidates than that
        model = 2 * n + 1 if self.model == "diagonal" else n + 2
        surrogate = surrogate_sizes(plan, self.archive_lengths, archive, model)
        return {**mean_sizes(self, plan), **surrogate, "sphere": self.population_size}

    @property
    def steps(self) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        mirrored = ", in mirrored pairs" if self.mirrored else ""
        return (
            (f"m := {self.restart.initial_mean}",),
            (
                f"q := fraction of the budget used; r := from {self.initial_radius:.3g} of the width of X to "
                f"{self.final_radius:.3g} Gamma (/ sqrt n for a ball), geometrically, by q^{self.radius_exponent:.3g}, "
                "along each variable",
                f"x_1 := m; {self.population_size - 1} further x_j on the sphere of radius r sqrt n around m, in "
                f"random orthogonal directions{mirrored}, each radius varied by up to {100 * self.radius_jitter:.2g}%; "
                "reflected at the bounds of X (of X and Gamma if candidates are only samples)",
            ),
            (
                f"fit a linear model with {self._curvature} to the newest {self._archive} n candidates, with weights "
                f"1 / (1 + (distance / {self.weight_distance:.3g} r)^4) and a ridge of {self.ridge:.2g}{self._choice}",
                f"m := its minimum, at most {self.max_step:.3g} radii away and in X",
                self.recommended,
            ),
        )

    def describe(self) -> str:
        mirrored = ", in mirrored pairs" if self.mirrored else ""
        return (
            f"{self.population_size} candidates on a sphere around a mean{mirrored}; a linear model with "
            f"{self._curvature} of the newest {self._archive} candidates per variable{self._choice} gives the next "
            f"mean, at most {self.max_step:.2g} radii away; the radius shrinks with the budget from "
            f"{self.initial_radius:.2g} of the range to {self.final_radius:.2g} of the uncertainty set"
        )

    @property
    def _curvature(self) -> str:
        return "a curvature for each variable" if self.model == "diagonal" else "one shared curvature"

    @property
    def _archive(self) -> str:
        return " or ".join(f"{self.archive_length * 2**k:.3g}" for k in range(self.archive_lengths))

    @property
    def _choice(self) -> str:
        return ", chosen by prediction error on the newest candidates," if self.archive_lengths > 1 else ""
