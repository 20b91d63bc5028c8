"""The screening attack: a search for the worst case with a small budget, for slow models.

It starts from the prior evaluations in the neighbourhood and from a screening design, corners of the set that separate
the effects of all coordinates. Then it evaluates the predicted worst point of a linear model, displaces one coordinate
at a time, and repeats this from sampled start points. Batches depend on the values only, not on the number of workers,
so that an interrupted attack can be resumed.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import numpy.typing as npt

from robustforge.core.linear_algebra import hadamard, norm, norms
from robustforge.core.random import stream
from robustforge.core.ridge_regression import linear_slopes
from robustforge.verification.sampling import sample_sphere

Floats = npt.NDArray[np.float64]
Batches = Generator[Floats, Floats, None]
"""Yields points of the unit set (k, m), and receives their values (k,); NaN after a failure."""

STEPS = (1.0, 0.5, 0.25)
"""Displacements of a coordinate: first to the other side of the set, then smaller ones."""

_MAX_STARTS = 10_000
_CORNER_PROBABILITY = 0.75


class PointArchive:
    """The evaluated points of the unit set, and a linear model of their values.

    Args:
        units: Points (k, m).
        values: Their values (k,).

    Attributes:
        units: Points (k, m).
        values: Their values (k,); +inf where the design is infeasible.
    """

    def __init__(self, units: Floats, values: Floats) -> None:
        self.units, self.values = units[:0], values[:0]
        self._by_key: dict[bytes, float] = {}
        self.add(units, values)

    def value_at(self, unit: Floats) -> float:
        """Return the value of a point; -inf if its evaluation failed, NaN if it is not evaluated."""
        return self._by_key.get(_key(unit), np.nan)

    def add(self, units: Floats, values: Floats) -> bool:
        """Add points, with NaN for failed evaluations; return whether one of them is worse than all others."""
        for unit, value in zip(units, values.tolist(), strict=True):
            self._by_key[_key(unit)] = -np.inf if np.isnan(value) else value
        valid = ~np.isnan(values)
        before = self.worst_value
        self.units = np.concatenate([self.units, units[valid]])
        self.values = np.concatenate([self.values, values[valid]])
        return self.worst_value > before

    @property
    def worst_value(self) -> float:
        """The worst value; -inf if there is none."""
        return float(self.values.max()) if self.values.size else -np.inf

    @property
    def worst_point(self) -> Floats:
        """The worst point; the centre if there is none."""
        if not self.values.size:
            return np.zeros(self.units.shape[1])
        return np.array(self.units[int(np.argmax(self.values))])

    def slopes(self) -> Floats:
        """Return the gradient of a linear model, fitted to all finite values by ridge regression (m,)."""
        return linear_slopes(self.units, self.values)


def screening_attack(archive: PointArchive, is_box: bool, batch: int = 8) -> Batches:
    """Yield batches of points that may be worse than all points of the archive, until there are no more.

    Args:
        archive: The evaluated points, to which the received values are added.
        is_box: Whether the unit set is [-1, 1]^m instead of the unit ball.
        batch: Maximum number of points per batch.
    """
    size = archive.units.shape[1]
    yield from _evaluate_all(archive, _screening_design(size, is_box), batch)
    yield from _follow_model(archive, is_box, batch)
    yield from _coordinate_ascent(archive, archive.worst_point, is_box, batch)
    for number in range(_MAX_STARTS):  # restarts, since the ascents so far may share one local maximum
        if archive.worst_value == np.inf:
            return
        start = yield from _evaluate_worst(archive, _sampled_starts(number, batch, size, is_box))
        yield from _coordinate_ascent(archive, start, is_box, batch)
        yield from _follow_model(archive, is_box, batch)


def _evaluate_all(archive: PointArchive, points: Floats, batch: int) -> Batches:
    """Evaluate all points that are not in the archive."""
    for part in _split(_not_evaluated(points, archive), batch):
        archive.add(part, (yield part))


def _evaluate_worst(archive: PointArchive, points: Floats) -> Generator[Floats, Floats, Floats]:
    """Evaluate points that are not in the archive, and return the worst of them."""
    new = _not_evaluated(points, archive)
    if not new.size:
        return archive.worst_point
    values = yield new
    archive.add(new, values)
    return np.array(new[int(np.argmax(np.where(np.isnan(values), -np.inf, values)))])


def _screening_design(size: int, is_box: bool) -> Floats:
    """Return corners of the set, in pairs of opposites, from a Hadamard matrix: all main effects are orthogonal."""
    width = 1 << size.bit_length()
    corners = hadamard(width)[:, 1 : size + 1]
    return on_surface(np.stack([corners, -corners], axis=1).reshape(-1, size), is_box)


def _sampled_starts(number: int, count: int, size: int, is_box: bool) -> Floats:
    """Return points on a sphere, or points of a box with most coordinates at a bound; `number` is the seed."""
    if not is_box:
        return sample_sphere(count, size, stream(number))
    rng = np.random.Generator(np.random.PCG64(number))
    within = 2.0 * rng.random((count, size)) - 1.0
    return np.where(rng.random((count, size)) < _CORNER_PROBABILITY, np.sign(within), within)


def _follow_model(archive: PointArchive, is_box: bool, batch: int) -> Batches:
    """Evaluate the predicted worst point of the linear model, as long as it is worse than all others."""
    while archive.worst_value < np.inf:
        slopes = archive.slopes()
        if not slopes.any():
            return
        predicted = np.where(slopes < 0, -1.0, 1.0) if is_box else slopes / norm(slopes)
        points = [predicted]
        for i in np.argsort(np.abs(slopes), kind="stable")[: max(batch - 2, 0)]:  # the least certain signs
            flipped = predicted.copy()
            flipped[i] = -flipped[i]
            points.append(flipped)
        points.append(on_surface((archive.worst_point + predicted)[None], is_box)[0])
        new = _not_evaluated(np.array(points), archive)
        if not new.size or not archive.add(new, (yield new)):
            return


def _coordinate_ascent(archive: PointArchive, start: Floats, is_box: bool, batch: int) -> Batches:
    """Displace the coordinates of a point one at a time, combine the improvements, and continue from the worst."""
    centre, value = start, archive.value_at(start)
    for step in STEPS:
        while archive.worst_value < np.inf:
            before, top, best = value, centre, centre.copy()
            gains = np.zeros(centre.size)
            moves = [(k // 2, _displaced(centre, k, step, is_box)) for k in range(2 * centre.size)]
            moves = [(i, point) for i, point in moves if np.isnan(archive.value_at(point))]
            for first in range(0, len(moves), batch):
                part = moves[first : first + batch]
                points = np.array([point for _, point in part])
                values = yield points
                archive.add(points, values)
                for (i, point), found in zip(part, values, strict=True):
                    if found - before > gains[i]:
                        gains[i], best[i] = found - before, point[i]
                    if found > value:
                        value, top = float(found), point
            together = best[None] if is_box else on_surface(best[None], is_box)
            new = _not_evaluated(together, archive)
            if np.count_nonzero(gains) > 1 and new.size:
                found = yield new
                archive.add(new, found)
                if found[0] > value:
                    value, top = float(found[0]), new[0]
            if not value > before:
                break
            centre = top


def _displaced(centre: Floats, k: int, step: float, is_box: bool) -> Floats:
    """Return a point with coordinate k // 2 displaced, downwards if k is even; in a box up to the other side."""
    point, i = centre.copy(), k // 2
    signed = step if k % 2 else -step
    if is_box:
        point[i] = np.clip(point[i] + 2 * signed, -1.0, 1.0)
        return point
    point[i] += signed
    return np.array(on_surface(point[None], is_box)[0])


def on_surface(points: Floats, is_box: bool) -> Floats:
    """Return points scaled to the surface of the set; the centre is unchanged."""
    sizes = np.abs(points).max(axis=1) if is_box else norms(points)
    return np.asarray(points / np.where(sizes > 0, sizes, 1.0)[:, None])


def _not_evaluated(points: Floats, archive: PointArchive) -> Floats:
    """Return the points that are not in the archive, without duplicates."""
    once = {_key(point): point for point in points}
    kept = [point for point in once.values() if np.isnan(archive.value_at(point))]
    return np.array(kept).reshape(-1, points.shape[1])


def _key(point: Floats) -> bytes:
    """Return a key that is equal for points that differ by rounding only."""
    return (np.round(point, 12) + 0.0).tobytes()


def _split(items: Floats, size: int) -> list[Floats]:
    return [items[first : first + size] for first in range(0, len(items), size)]
