"""The price of robustness, as far as a search knows it: what the best design would be worth under other tolerances.

Nothing is run for it. What is known around a design is what the search happened to run there, so that the worst of it
is a lower bound, and the lower the fewer runs there are. So designs are compared that were sampled alike: runs of the
search count, those of an attack on one design do not, and a design with few runs around it is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from robustforge.problem import Problem

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

FACTORS = tuple(k / 4 for k in range(9))
"""Tolerances that are looked at, as multiples of those of the problem."""

LEAST = 3
"""Known points within the tolerances, itself included, from which on a design is compared."""

MOST = 500
"""Designs that are compared, at most: the points with the best values."""

_EDGE = 1e-9


@dataclass(frozen=True)
class Estimate:
    """What a history says about the best robust design under some tolerances.

    Attributes:
        factor: The tolerances, as a multiple of those of the problem.
        value: The worst known value around the best design, lower being better; NaN if none is compared.
        points: Known points within its tolerances.
        left_out: How many designs have too few points to be compared.
        least: How many points that takes.
    """

    factor: float
    value: float
    points: int
    left_out: int = 0
    least: int = LEAST


def price(
    problem: Problem,
    x: Floats,
    values: Floats,
    factors: Sequence[float] = FACTORS,
    least: int = LEAST,
    design: Floats | None = None,
) -> list[Estimate]:
    """Return what a history says about the best robust design under each of several tolerances.

    A design that is known to stand wide tolerances stands narrow ones as well. So where the best design under wider
    tolerances is better than the best of those that are compared under these, it takes their place.

    Args:
        problem: Has the tolerances.
        x: Evaluated points (k, n).
        values: Their values (k,), lower being better; +inf where infeasible, NaN where unknown.
        factors: Multiples of the tolerances, the least first.
        least: Points within its tolerances that a design needs, unless these are 0.
        design: One (n,) that the others are compared with: they need half as many points as it has, too.
    """
    feasible = np.flatnonzero(np.isfinite(values))
    designs = x[feasible[np.argsort(values[feasible], kind="stable")[:MOST]]]
    if design is not None:
        designs = np.vstack([design, designs[(designs != design).any(axis=1)]])
    found = []
    for factor, worst, counts in _around(problem, x, values, designs, factors):
        alike = 0 if design is None else -(-int(counts[0]) // 2)
        found.append(_best(factor, worst, counts, max(least, alike) if factor else 1))
    for place in range(len(found) - 2, -1, -1):
        wider = next((each for each in found[place + 1 :] if not np.isnan(each.value)), None)
        if wider is not None and wider.value < found[place].value:
            found[place] = replace(found[place], value=wider.value, points=wider.points)
    return found


def price_of(
    design: Floats,
    problem: Problem,
    x: Floats,
    values: Floats,
    factors: Sequence[float] = FACTORS,
    least: int = LEAST,
) -> list[Estimate]:
    """Return what a history says about one design (n,) under each of several tolerances."""
    return [
        _best(factor, worst, counts, least if factor else 1)
        for factor, worst, counts in _around(problem, x, values, design[None], factors)
    ]


def _best(factor: float, worst: Floats, counts: Integers, least: int) -> Estimate:
    """Return the best of the designs that are compared; of equals, the one that most is known about."""
    enough = np.flatnonzero(counts >= least)
    if not enough.size:
        return Estimate(factor, np.nan, 0, counts.size, least)
    best = enough[np.lexsort((-counts[enough], worst[enough]))[0]]
    return Estimate(factor, float(worst[best]), int(counts[best]), counts.size - enough.size, least)


def _around(
    problem: Problem, x: Floats, values: Floats, centres: Floats, factors: Sequence[float]
) -> list[tuple[float, Floats, Integers]]:
    """Return for each factor the worst value known around each centre, and of how many points."""
    space, geometry, known = problem.space, problem.geometry, ~np.isnan(values)
    x, values = x[known], values[known]
    worst, counts = np.full((len(factors), len(centres)), np.nan), np.zeros((len(factors), len(centres)), np.int64)
    reach = max(factors, default=0.0) * (1.0 + np.abs(space.offset)) * (geometry.radii > 0) + 1e-6
    for place, centre in enumerate(centres):
        gaps = (x - centre) / space.scale
        close = np.flatnonzero((np.abs(gaps) <= reach).all(axis=1))  # a box that holds the widest set
        for row, factor in enumerate(factors):
            inside = close[_holds(problem, gaps[close], factor)]
            if inside.size:
                worst[row, place], counts[row, place] = values[inside].max(), inside.size
    return [(factor, worst[row], counts[row]) for row, factor in enumerate(factors)]


def _holds(problem: Problem, gaps: Floats, factor: float) -> npt.NDArray[np.bool_]:
    """Say which scaled differences from a design are within its tolerances times a factor."""
    if factor == 0:
        return np.asarray((np.abs(gaps) <= _EDGE).all(axis=1))
    uncertain = problem.geometry.radii > 0
    scaled = np.where(uncertain, (gaps - factor * problem.space.offset) / factor, gaps)
    return problem.geometry.holds(scaled)
