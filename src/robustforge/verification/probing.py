"""An attack with few evaluations, for models that are slow: by a linear model, and by one coordinate at a time.

It begins with what is known in the neighbourhood, and with corners of the set that tell the effects of all coordinates
apart (a screening design). Then it goes to where a linear model of all that is known expects the worst, from there on
with one coordinate displaced at a time, and so again from points drawn anew. Batches do not depend on how many workers
there are, and nothing but the values decides what comes next: a probe that stops can go on.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import numpy.typing as npt

from robustforge.core.linear_algebra import hadamard, norm, norms, product, solve_positive, times
from robustforge.core.random import stream
from robustforge.verification.drawing import draw_on_sphere

Floats = npt.NDArray[np.float64]
Probe = Generator[Floats, Floats, None]
"""Yields points of the unit set (k, m), and wants their values (k,); NaN where there is none."""

STEPS = (1.0, 0.5, 0.25)
"""How far a coordinate of the worst point is displaced: first to the other side of the set, then by less."""

_RIDGE = 1e-3
_MOST_STARTS = 10_000
_AT_AN_END = 0.75


class Knowledge:
    """All points of the unit set with a value.

    Args:
        units: Points (k, m).
        values: Their values (k,).

    Attributes:
        units: Points (k, m).
        values: Their values (k,); +inf where the design is infeasible.
    """

    def __init__(self, units: Floats, values: Floats) -> None:
        self.units, self.values = units[:0], values[:0]
        self._named: dict[bytes, float] = {}
        self.learn(units, values)

    def value_at(self, unit: Floats) -> float:
        """Return the value of a point, -inf if it failed there; NaN if it is not known."""
        return self._named.get(_name(unit), np.nan)

    def learn(self, units: Floats, values: Floats) -> bool:
        """Take in points; return whether one of them is worse than all before. Where it failed there is no value."""
        for unit, value in zip(units, values.tolist(), strict=True):
            self._named[_name(unit)] = -np.inf if np.isnan(value) else value
        known = ~np.isnan(values)
        before = self.worst
        self.units = np.concatenate([self.units, units[known]])
        self.values = np.concatenate([self.values, values[known]])
        return self.worst > before

    @property
    def worst(self) -> float:
        """The worst value; -inf if there is none."""
        return float(self.values.max()) if self.values.size else -np.inf

    @property
    def where(self) -> Floats:
        """The worst point; the centre if there is none."""
        if not self.values.size:
            return np.zeros(self.units.shape[1])
        return np.array(self.units[int(np.argmax(self.values))])

    def slopes(self) -> Floats:
        """Return how much the value rises along each coordinate, by a linear model of all finite values (m,)."""
        finite = np.isfinite(self.values)
        units, values = self.units[finite], self.values[finite]
        if values.size < 2:
            return np.zeros(self.units.shape[1])
        centred, rises = units - units.mean(axis=0), values - values.mean()
        across = np.ascontiguousarray(centred.T)
        gram = product(across, centred)
        ridge = _RIDGE * max(np.trace(gram) / gram.shape[0], 1e-300)
        return solve_positive(gram + ridge * np.eye(gram.shape[0]), times(across, rises))


def probing(knowledge: Knowledge, is_box: bool, batch: int = 8) -> Probe:
    """Attack a design: yield batches of points that may be worse than all known ones, until there are no more.

    Args:
        knowledge: What is known; what is sent is added to it.
        is_box: Whether the unit set is [-1, 1]^m instead of the unit ball.
        batch: Points of a batch, at most.
    """
    size = knowledge.units.shape[1]
    yield from _each(knowledge, _screening(size, is_box), batch)
    yield from _along_slopes(knowledge, is_box, batch)
    yield from _climb(knowledge, knowledge.where, is_box, batch)
    for number in range(_MOST_STARTS):  # elsewhere, should all that be one hill only
        if knowledge.worst == np.inf:
            return
        start = yield from _best_of(knowledge, _drawn(number, batch, size, is_box))
        yield from _climb(knowledge, start, is_box, batch)
        yield from _along_slopes(knowledge, is_box, batch)


def _each(knowledge: Knowledge, points: Floats, batch: int) -> Probe:
    """Have all points evaluated that are not known yet."""
    for part in _split(_fresh(points, knowledge), batch):
        knowledge.learn(part, (yield part))


def _best_of(knowledge: Knowledge, points: Floats) -> Generator[Floats, Floats, Floats]:
    """Have points evaluated, and return the worst of them."""
    fresh = _fresh(points, knowledge)
    if not fresh.size:
        return knowledge.where
    values = yield fresh
    knowledge.learn(fresh, values)
    return np.array(fresh[int(np.argmax(np.where(np.isnan(values), -np.inf, values)))])


def _screening(size: int, is_box: bool) -> Floats:
    """Return corners of the set, in pairs of opposites, over which every coordinate's effect stands alone."""
    width = 1 << size.bit_length()
    corners = hadamard(width)[:, 1 : size + 1]
    return on_surface(np.stack([corners, -corners], axis=1).reshape(-1, size), is_box)


def _drawn(number: int, count: int, size: int, is_box: bool) -> Floats:
    """Return points on a ball, or of a box with most coordinates at an end; always the same ones for a number."""
    if not is_box:
        return draw_on_sphere(count, size, stream(number))
    rng = np.random.Generator(np.random.PCG64(number))
    within = rng.uniform(-1.0, 1.0, (count, size))
    return np.where(rng.random((count, size)) < _AT_AN_END, np.sign(within), within)


def _along_slopes(knowledge: Knowledge, is_box: bool, batch: int) -> Probe:
    """Go where the linear model expects the worst, as long as that is worse than all known."""
    while knowledge.worst < np.inf:
        slopes = knowledge.slopes()
        if not slopes.any():
            return
        target = np.where(slopes < 0, -1.0, 1.0) if is_box else slopes / norm(slopes)
        points = [target]
        for i in np.argsort(np.abs(slopes), kind="stable")[: max(batch - 2, 0)]:  # where the model is least sure
            turned = target.copy()
            turned[i] = -turned[i]
            points.append(turned)
        points.append(on_surface((knowledge.where + target)[None], is_box)[0])
        fresh = _fresh(np.array(points), knowledge)
        if not fresh.size or not knowledge.learn(fresh, (yield fresh)):
            return


def _climb(knowledge: Knowledge, start: Floats, is_box: bool, batch: int) -> Probe:
    """Displace the coordinates of a point one at a time, take every rise together, and go on from the best."""
    centre, value = start, knowledge.value_at(start)
    for step in STEPS:
        while knowledge.worst < np.inf:
            before, top, best = value, centre, centre.copy()
            gains = np.zeros(centre.size)
            moves = [(k // 2, _displaced(centre, k, step, is_box)) for k in range(2 * centre.size)]
            moves = [(i, point) for i, point in moves if np.isnan(knowledge.value_at(point))]
            for first in range(0, len(moves), batch):
                part = moves[first : first + batch]
                points = np.array([point for _, point in part])
                values = yield points
                knowledge.learn(points, values)
                for (i, point), found in zip(part, values, strict=True):
                    if found - before > gains[i]:
                        gains[i], best[i] = found - before, point[i]
                    if found > value:
                        value, top = float(found), point
            together = best[None] if is_box else on_surface(best[None], is_box)
            fresh = _fresh(together, knowledge)
            if np.count_nonzero(gains) > 1 and fresh.size:
                found = yield fresh
                knowledge.learn(fresh, found)
                if found[0] > value:
                    value, top = float(found[0]), fresh[0]
            if not value > before:
                break
            centre = top


def _displaced(centre: Floats, k: int, step: float, is_box: bool) -> Floats:
    """Return a point with coordinate k // 2 displaced, downwards if k is even; of a box at most to its other side."""
    point, i = centre.copy(), k // 2
    way = step if k % 2 else -step
    if is_box:
        point[i] = np.clip(point[i] + 2 * way, -1.0, 1.0)
        return point
    point[i] += way
    return np.array(on_surface(point[None], is_box)[0])


def on_surface(points: Floats, is_box: bool) -> Floats:
    """Return points pushed outwards, or pulled back, to the surface of the set; the centre stays."""
    sizes = np.abs(points).max(axis=1) if is_box else norms(points)
    return np.asarray(points / np.where(sizes > 0, sizes, 1.0)[:, None])


def _fresh(points: Floats, knowledge: Knowledge) -> Floats:
    """Return those points that are not known yet, each once."""
    once = {_name(point): point for point in points}
    kept = [point for point in once.values() if np.isnan(knowledge.value_at(point))]
    return np.array(kept).reshape(-1, points.shape[1])


def _name(point: Floats) -> bytes:
    """Return what is the same for points that only rounding tells apart."""
    return (np.round(point, 12) + 0.0).tobytes()


def _split(items: Floats, size: int) -> list[Floats]:
    return [items[first : first + size] for first in range(0, len(items), size)]
