"""The price of robustness by the runs of a search: the worst value of the best design under other tolerances.

Nothing is evaluated. The evaluations around a design are those that the search happened to make there, so the worst of
them is a lower bound on the worst case, and the looser the fewer there are. Designs are therefore compared on an equal
footing: only runs of the search count, not those of an attack on one design, and designs with few evaluations around
them are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from robustforge.robust_problem import Problem

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

FACTORS = tuple(k / 4 for k in range(9))
"""Tolerances, as multiples of those of the problem."""

MIN_POINTS = 3
"""Evaluations within the tolerances of a design, itself included, that it needs to be compared."""

MAX_DESIGNS = 500
"""Designs that are compared, at most: the points with the best values."""

_EDGE = 1e-9


@dataclass(frozen=True)
class Estimate:
    """The worst value of the best robust design under some tolerances, by a history of evaluations.

    Attributes:
        factor: The tolerances, as a multiple of those of the problem.
        value: The worst value found around the best design, lower being better; NaN if no design is compared.
        points: Evaluations within its tolerances.
        left_out: The number of designs with too few evaluations to be compared.
        min_points: The number of evaluations that it takes.
    """

    factor: float
    value: float
    points: int
    left_out: int = 0
    min_points: int = MIN_POINTS


def best_price(
    problem: Problem,
    x: Floats,
    values: Floats,
    factors: Sequence[float] = FACTORS,
    min_points: int = MIN_POINTS,
    design: Floats | None = None,
) -> list[Estimate]:
    """Return the estimate for the best robust design under each of several tolerances.

    A design with a certain worst value under wide tolerances is at least as good under narrow ones. So where the best
    design under wider tolerances is better than the best of those that are compared under narrower ones, it replaces
    that.

    Args:
        problem: Has the tolerances.
        x: Evaluated points (k, n).
        values: Their values (k,), lower being better; +inf where infeasible, NaN where unknown.
        factors: Multiples of the tolerances, in ascending order.
        min_points: Evaluations within its tolerances that a design needs, unless the tolerances are 0.
        design: A design (n,) to compare with: the others also need half as many evaluations as this one has.
    """
    feasible = np.flatnonzero(np.isfinite(values))
    designs = x[feasible[np.argsort(values[feasible], kind="stable")[:MAX_DESIGNS]]]
    if design is not None:
        designs = np.vstack([design, designs[(designs != design).any(axis=1)]])
    estimates = []
    for factor, worst, counts in _worst_values(problem, x, values, designs, factors):
        half = 0 if design is None else -(-int(counts[0]) // 2)
        estimates.append(_best(factor, worst, counts, max(min_points, half) if factor else 1))
    for index in range(len(estimates) - 2, -1, -1):
        wider = next((each for each in estimates[index + 1 :] if not np.isnan(each.value)), None)
        if wider is not None and wider.value < estimates[index].value:
            estimates[index] = replace(estimates[index], value=wider.value, points=wider.points)
    return estimates


def design_price(
    design: Floats,
    problem: Problem,
    x: Floats,
    values: Floats,
    factors: Sequence[float] = FACTORS,
    min_points: int = MIN_POINTS,
) -> list[Estimate]:
    """Return the estimate for one design (n,) under each of several tolerances."""
    return [
        _best(factor, worst, counts, min_points if factor else 1)
        for factor, worst, counts in _worst_values(problem, x, values, design[None], factors)
    ]


def _best(factor: float, worst: Floats, counts: Integers, min_points: int) -> Estimate:
    """Return the estimate for the best design with enough evaluations; of equals, for the one with most of them."""
    enough = np.flatnonzero(counts >= min_points)
    if not enough.size:
        return Estimate(factor, np.nan, 0, counts.size, min_points)
    best = enough[np.lexsort((-counts[enough], worst[enough]))[0]]
    return Estimate(factor, float(worst[best]), int(counts[best]), counts.size - enough.size, min_points)


def _worst_values(
    problem: Problem, x: Floats, values: Floats, centres: Floats, factors: Sequence[float]
) -> list[tuple[float, Floats, Integers]]:
    """Return for each factor the worst value within the tolerances of each centre, and the number of evaluations."""
    space, geometry, known = problem.space, problem.geometry, ~np.isnan(values)
    x, values = x[known], values[known]
    worst, counts = np.full((len(factors), len(centres)), np.nan), np.zeros((len(factors), len(centres)), np.int64)
    half_widths = max(factors, default=0.0) * (1.0 + np.abs(space.offset)) * (geometry.radii > 0) + 1e-6
    for column, centre in enumerate(centres):
        differences = (x - centre) / space.scale
        close = np.flatnonzero((np.abs(differences) <= half_widths).all(axis=1))  # a box around the widest set
        for row, factor in enumerate(factors):
            inside = close[_is_within(problem, differences[close], factor)]
            if inside.size:
                worst[row, column], counts[row, column] = values[inside].max(), inside.size
    return [(factor, worst[row], counts[row]) for row, factor in enumerate(factors)]


def _is_within(problem: Problem, differences: Floats, factor: float) -> npt.NDArray[np.bool_]:
    """Return which scaled differences from a design are within its tolerances times a factor."""
    if factor == 0:
        return np.asarray((np.abs(differences) <= _EDGE).all(axis=1))
    uncertain = problem.geometry.radii > 0
    scaled = np.where(uncertain, (differences - factor * problem.space.offset) / factor, differences)
    return problem.geometry.holds(scaled)
