"""The attack: a search for the worst point of the uncertainty set around a design.

It begins with the worst points that sampling found. The profiles along the coordinates settle functions that are sums
of functions of one variable each; ascents from several points and steps over cliffs are for all others.
"""

from __future__ import annotations

import contextlib

import numpy as np
import numpy.typing as npt

from robustforge.core.linear_algebra import norm, norms, shortest_solution, times
from robustforge.verification import cliffs, profiles
from robustforge.verification.ascent import ascend, exchange
from robustforge.verification.cliffs import Cliff
from robustforge.verification.neighbourhood import Neighbourhood
from robustforge.verification.profiles import Profiles
from robustforge.verification.target import Face, Target, UnboundedError, face, face_beyond

Floats = npt.NDArray[np.float64]

POINTS_WANTED = 64
"""Sampled points that the attack makes use of: it searches for cliffs on the way to them."""

STARTS = 4
"""Sampled points from which it climbs."""

WITNESSES = 8
"""Sampled points at which it tests whether the objective is a sum."""

ADDITIVE = 1e-6
"""Up to which error, relative to the terms, it counts as one."""

CLIFFS = 14
"""Cliffs that are straightened, at most; each takes about 20 evaluations per variable."""

ALONE = 5
"""Cliffs that are also tried one at a time."""

MARGINS = (0.0, 1e-3)
"""How much farther than to the cliffs' edges the steps go: the normals of the cliffs are not exact."""

ROUNDS_OF_LAST_ASCENT = 40


def find_worst(neighbourhood: Neighbourhood, starts: Floats) -> Target:
    """Search for the worst point of a neighbourhood.

    Args:
        neighbourhood: The uncertainty set around a design.
        starts: Points of it that are known to be bad, the worst first (k, n).

    Returns:
        The target, which knows the worst value, where it is, and how many evaluations were needed.
    """
    target = Target(neighbourhood)
    with contextlib.suppress(UnboundedError):
        _attack(target, neighbourhood.units(starts))
    return target


def _attack(target: Target, starts: Floats) -> None:
    whole = face(target, np.zeros(target.size), np.zeros(target.size, np.bool_))
    target.values(np.concatenate([starts, _to_surface(target, starts)]))
    ascend(target, whole, np.zeros(target.size))
    measured = profiles.measure(target)
    if not _settled(target, whole, measured, starts):
        for start in starts[:STARTS]:
            ascend(target, whole, start)
        if not target.is_box:
            _over_cliffs(target, measured, starts)
        _exchange(target)
    ascend(target, whole, target.where, ROUNDS_OF_LAST_ASCENT)


def _settled(target: Target, whole: Face, measured: Profiles, starts: Floats) -> bool:
    """Go to where the gains of the profiles add up to most, and climb; return whether they do add up."""
    division = profiles.divide(target, measured)
    centre, there = target.values(np.stack([np.zeros(target.size), division.unit]))
    _, unit = ascend(target, face(target, division.unit, division.edge), division.unit, ROUNDS_OF_LAST_ASCENT)
    ascend(target, whole, unit)
    if abs(there - centre - division.gain) > ADDITIVE * abs(division.gain) + 1e-12 * abs(centre):
        return False
    return all(_adds_up(target, witness, centre) for witness in starts[:WITNESSES])


def _adds_up(target: Target, unit: Floats, centre: float) -> bool:
    """Say whether the objective at a point is what its coordinates, displaced one by one, add up to."""
    value = float(target.values(unit[None])[0])
    terms = target.values(np.diag(unit)) - centre
    error = abs(value - centre - terms.sum())
    return bool(error <= ADDITIVE * np.abs(terms).sum() + 1e-12 * abs(centre))


def _to_surface(target: Target, units: Floats) -> Floats:
    """Return the points pushed outwards to the surface of the set."""
    sizes = np.abs(units).max(axis=1) if target.is_box else norms(units)
    pushed: Floats = units / np.where(sizes > 0, sizes, 1.0)[:, None]
    return pushed


def _exchange(target: Target) -> None:
    """Put single coordinates of the worst point elsewhere, of a ball's rather near than far."""
    steps = np.linspace(-1.0, 1.0, 25)
    if not target.is_box:
        steps = steps * np.sqrt(np.abs(steps)) * min(3.0 / np.sqrt(target.size), 1.0)
    exchange(target, target.where, steps, rounds=3)


def _over_cliffs(target: Target, measured: Profiles, starts: Floats) -> None:
    """Step over single cliffs and over several, those first that are highest for what they cost, and climb beyond."""
    ends = np.concatenate([profiles.towards_cliffs(measured, CLIFFS), starts[:POINTS_WANTED]])
    found = cliffs.on_segments(target, ends, CLIFFS)
    chosen: list[Cliff] = []
    for cliff in found:
        if _beyond(target, [*chosen, cliff]):
            chosen.append(cliff)
    for cliff in found[1:ALONE]:
        _beyond(target, [cliff])


def _beyond(target: Target, chosen: list[Cliff]) -> bool:
    """Climb from the point of the least radius beyond all the cliffs; return whether there is one in the ball."""
    normals = np.array([cliff.normal for cliff in chosen])
    distances = np.array([cliff.distance for cliff in chosen])
    stays = shortest_solution(normals, distances)
    length = norm(stays)
    if length > 1.0 or (np.abs(times(normals, stays) - distances) > 1e-9 * distances).any():
        return False
    for margin in MARGINS:
        farther = stays * min(1.0 + margin, 1.0 / max(length, 1e-300))
        ascend(target, face_beyond(normals, farther), farther, rounds=3)
    return True
