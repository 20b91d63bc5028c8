"""A strong attack on designs of few variables whose objective is compiled and cheap: it judges designs.

It adds to `verify` what few variables allow: all corners of a box, climbs without gradients, which kinks and cliffs do
not mislead, and walks along the boundary of failures towards the design.
"""

from __future__ import annotations

import numpy as np
from numba import njit

import robustforge as rf

SAMPLES = 20_000
CLIMBS, CLIMB_STEPS = 8, 400
WALKS, WALK_STEPS = 6, 800


@njit(error_model="numpy", nogil=True)
def norm(d, is_box):
    size = 0.0
    for i in range(d.size):
        size = max(size, abs(d[i])) if is_box else size + d[i] * d[i]
    return size if is_box else np.sqrt(size)


@njit(error_model="numpy", nogil=True)
def draw(n, is_box, size):
    """Return a point on the surface of the set of a given size."""
    d = np.empty(n)
    for i in range(n):
        d[i] = 2.0 * np.random.random() - 1.0 if is_box else np.random.normal()
    return d * (size / max(norm(d, is_box), 1e-300))


@njit(error_model="numpy", nogil=True)
def climb(fun, data, x, radii, is_box, start, value):
    """Improve a difference by random steps within the set."""
    best, size = start.copy(), 0.3
    for _ in range(CLIMB_STEPS):
        tried = best.copy()
        for i in range(x.size):
            if x.size < 4 or np.random.random() < 0.5:
                tried[i] += size * np.random.normal()
        if is_box:
            tried = np.minimum(np.maximum(tried, -1.0), 1.0)
        else:
            tried /= max(norm(tried, False), 1.0)
        found = fun(x + radii * tried, data)
        if found > value:
            best, value, size = tried, found, min(1.6 * size, 0.5)
        else:
            size = max(0.93 * size, 1e-7)
    return best, value


@njit(error_model="numpy", nogil=True)
def fails(fun, data, x, radii, direction, size):
    return fun(x + radii * (size * direction), data) == np.inf


@njit(error_model="numpy", nogil=True)
def walk(fun, data, x, radii, is_box, start):
    """Turn the direction of a failure so that it is nearer to the design; return the nearest failure."""
    nearest = norm(start, is_box)
    best, size = start / nearest, 0.3
    for step in range(WALK_STEPS):
        tried = best.copy()
        if step > 0:
            for i in range(x.size):
                if x.size < 4 or np.random.random() < 0.5:
                    tried[i] += size * np.random.normal()
            tried /= norm(tried, is_box)
        if step > 0 and not fails(fun, data, x, radii, tried, nearest * (1.0 - 1e-6)):
            size = max(0.93 * size, 1e-6)
            continue
        best, size, low = tried, min(1.5 * size, 0.5), 0.0
        for _ in range(14):
            middle = (low + nearest) / 2.0
            if fails(fun, data, x, radii, best, middle):
                nearest = middle
            else:
                low = middle
        if nearest <= 1.0:
            break
    return best * nearest, nearest


@njit(error_model="numpy", nogil=True)
def search(fun, data, x, radii, is_box, seed):
    """Return the worst difference found, in units of the set, and its value."""
    np.random.seed(seed)
    n = x.size
    corners = 2**n if is_box and n <= 12 else 0
    count = corners + 2000 + 300 * n
    units, values = np.zeros((count, n)), np.empty(count)
    for k in range(1, count):
        if k < corners:
            for i in range(n):
                units[k, i] = 1.0 if k >> i & 1 else -1.0
        elif is_box:
            for i in range(n):
                units[k, i] = min(max(1.5 * (2.0 * np.random.random() - 1.0), -1.0), 1.0)
        else:
            units[k] = draw(n, False, 1.0 if k % 4 else np.random.random())
    for k in range(count):
        values[k] = fun(x + radii * units[k], data)
    order = np.argsort(-values)
    worst, where = values[order[0]], units[order[0]].copy()
    for j in range(CLIMBS):
        if worst == np.inf:
            return where, worst
        unit, value = climb(fun, data, x, radii, is_box, units[order[j * j]], values[order[j * j]])
        if value > worst:
            worst, where = value, unit
    near, distances, failures = np.empty((WALKS, n)), np.full(WALKS, 3.0), 0
    for _ in range(2000):
        tried = draw(n, is_box, 1.0 + 1.5 * np.random.random())
        if fun(x + radii * tried, data) == np.inf:
            j, failures = int(np.argmax(distances)), failures + 1
            if norm(tried, is_box) < distances[j]:
                near[j], distances[j] = tried, norm(tried, is_box)
    for j in range(min(WALKS, failures)):
        if distances[j] < 3.0:
            unit, distance = walk(fun, data, x, radii, is_box, near[j])
            if distance <= 1.0:
                return unit, np.inf
    return where, worst


def strong_attack(problem: rf.Problem, x: np.ndarray, samples: int = SAMPLES) -> tuple[float, np.ndarray]:
    """Return the worst value found around a design, and where."""
    fun, data = problem.compiled
    unit, value = search(fun, data, np.array(x, float), problem.geometry.radii, problem.geometry.is_box, 1)
    if value == np.inf:
        return value, x + problem.geometry.radii * unit
    found = rf.verify(problem, x, samples=samples, rng=1, cores=1).attacked
    if found.fun > value:
        return found.fun, found.x
    return value, x + problem.geometry.radii * unit
