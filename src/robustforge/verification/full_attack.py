"""The full attack: a search for the worst point of the uncertainty set around a design, with a large budget.

It starts from the worst sampled points. For additive functions the profiles along the coordinates give the worst case,
by a knapsack; for all others there are ascents from several points and steps over cliffs.
"""

from __future__ import annotations

import contextlib

import numpy as np
import numpy.typing as npt

from robustforge.core.linear_algebra import norm, norms, shortest_solution, times
from robustforge.verification import axis_profiles, discontinuities
from robustforge.verification.ascent import ascend, exchange
from robustforge.verification.axis_profiles import Profiles
from robustforge.verification.counted_objective import CountedObjective, Face, UnboundedError, face, orthogonal_face
from robustforge.verification.discontinuities import Cliff
from robustforge.verification.neighbourhood import Neighbourhood

Floats = npt.NDArray[np.float64]

START_POINTS = 64
"""Sampled points that the attack uses: it searches for cliffs between the centre and them."""

ASCENTS = 4
"""Sampled points from which it ascends."""

ADDITIVITY_TESTS = 8
"""Sampled points at which it tests whether the objective is additive."""

ADDITIVITY_TOLERANCE = 1e-6
"""Maximum error of an additive function, relative to its terms."""

MAX_CLIFFS = 14
"""Maximum number of cliffs; the normal of each takes about 20 evaluations per variable."""

SINGLE_CLIFFS = 5
"""Cliffs that are also tried alone."""

MARGINS = (0.0, 1e-3)
"""Relative lengths by which steps over cliffs are extended: the normals are not exact."""

FINAL_ROUNDS = 40


def find_worst_case(neighbourhood: Neighbourhood, starts: Floats) -> CountedObjective:
    """Search for the worst point of a neighbourhood.

    Args:
        neighbourhood: The uncertainty set around a design.
        starts: Start points, the worst first (k, n).

    Returns:
        The objective, with the worst value, its point and the number of evaluations.
    """
    objective = CountedObjective(neighbourhood)
    with contextlib.suppress(UnboundedError):
        _attack(objective, neighbourhood.to_unit(starts))
    return objective


def _attack(objective: CountedObjective, starts: Floats) -> None:
    whole = face(objective, np.zeros(objective.size), np.zeros(objective.size, np.bool_))
    objective.values(np.concatenate([starts, _to_surface(objective, starts)]))
    ascend(objective, whole, np.zeros(objective.size))
    measured = axis_profiles.measure(objective)
    if not _solve_additive(objective, whole, measured, starts):
        for start in starts[:ASCENTS]:
            ascend(objective, whole, start)
        if not objective.is_box:
            _over_cliffs(objective, measured, starts)
        _exchange(objective)
    ascend(objective, whole, objective.worst_point, FINAL_ROUNDS)


def _solve_additive(objective: CountedObjective, whole: Face, measured: Profiles, starts: Floats) -> bool:
    """Evaluate the best combination of the profiles, and ascend from it; return whether the objective is additive."""
    combination = axis_profiles.combine(objective, measured)
    centre, there = objective.values(np.stack([np.zeros(objective.size), combination.unit]))
    _, unit = ascend(objective, face(objective, combination.unit, combination.edge), combination.unit, FINAL_ROUNDS)
    ascend(objective, whole, unit)
    if abs(there - centre - combination.gain) > ADDITIVITY_TOLERANCE * abs(combination.gain) + 1e-12 * abs(centre):
        return False
    return all(_is_additive_at(objective, point, centre) for point in starts[:ADDITIVITY_TESTS])


def _is_additive_at(objective: CountedObjective, unit: Floats, centre: float) -> bool:
    """Whether the value at a point is the sum of the effects of its coordinates, displaced one at a time."""
    value = float(objective.values(unit[None])[0])
    terms = objective.values(np.diag(unit)) - centre
    error = abs(value - centre - terms.sum())
    return bool(error <= ADDITIVITY_TOLERANCE * np.abs(terms).sum() + 1e-12 * abs(centre))


def _to_surface(objective: CountedObjective, units: Floats) -> Floats:
    """Return points moved outwards to the surface of the set."""
    sizes = np.abs(units).max(axis=1) if objective.is_box else norms(units)
    on_surface: Floats = units / np.where(sizes > 0, sizes, 1.0)[:, None]
    return on_surface


def _exchange(objective: CountedObjective) -> None:
    """Exchange single coordinates of the worst point; in a ball mostly by small displacements."""
    steps = np.linspace(-1.0, 1.0, 25)
    if not objective.is_box:
        steps = steps * np.sqrt(np.abs(steps)) * min(3.0 / np.sqrt(objective.size), 1.0)
    exchange(objective, objective.worst_point, steps, rounds=3)


def _over_cliffs(objective: CountedObjective, measured: Profiles, starts: Floats) -> None:
    """Step over several cliffs and over single ones, those with the least cost first, and ascend beyond them."""
    ends = np.concatenate([axis_profiles.axis_cliffs(measured, MAX_CLIFFS), starts[:START_POINTS]])
    found = discontinuities.find_cliffs(objective, ends, MAX_CLIFFS)
    chosen: list[Cliff] = []
    for cliff in found:
        if _ascend_beyond(objective, [*chosen, cliff]):
            chosen.append(cliff)
    for cliff in found[1:SINGLE_CLIFFS]:
        _ascend_beyond(objective, [cliff])


def _ascend_beyond(objective: CountedObjective, chosen: list[Cliff]) -> bool:
    """Ascend from the point of least radius beyond all chosen cliffs; return whether it is in the ball."""
    normals = np.array([cliff.normal for cliff in chosen])
    distances = np.array([cliff.distance for cliff in chosen])
    nearest = shortest_solution(normals, distances)
    length = norm(nearest)
    if length > 1.0 or (np.abs(times(normals, nearest) - distances) > 1e-9 * distances).any():
        return False
    for margin in MARGINS:
        farther = nearest * min(1.0 + margin, 1.0 / max(length, 1e-300))
        ascend(objective, orthogonal_face(normals, farther), farther, rounds=3)
    return True
