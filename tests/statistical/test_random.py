"""The random stream does what its names say: distributions at fixed seeds, by tests that a wrong one fails.

With 20 other seeds, no test failed.
"""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy import stats

from robustforge.core import random
from robustforge.errors import ProblemError

SEED = 0
LEVEL = 1e-5


def seeded(number):
    return random.stream(np.random.SeedSequence([SEED, number]))


@njit
def draw(kind, r, n):
    out = np.empty(n)
    for i in range(n):
        if kind == 0:
            out[i] = random.uniform(r)
        elif kind == 1:
            out[i] = random.normal(r)
        else:
            out[i] = random.below(r, 7)
    return out


@njit
def draw_points(ball, r, count, active, n):
    out = np.empty((count, n))
    for k in range(count):
        if ball:
            random.in_unit_ball(r, active, out[k])
        else:
            random.in_unit_box(r, active, out[k])
    return out


def test_uniforms():
    u = draw(0, seeded(1), 200_000)
    assert (u >= 0).all()
    assert (u < 1).all()
    assert stats.kstest(u, "uniform").pvalue > LEVEL
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.01


def test_normals_in_the_body_and_in_the_tail():
    z = draw(1, seeded(2), 400_000)
    assert stats.kstest(z, "norm").pvalue > LEVEL
    beyond = np.abs(z) > 3.7
    assert stats.binomtest(int(beyond.sum()), z.size, 2 * stats.norm.sf(3.7)).pvalue > LEVEL
    assert stats.kstest(np.abs(z[beyond]), lambda t: 1 - stats.norm.sf(t) / stats.norm.sf(3.7)).pvalue > LEVEL


def test_choices():
    counts = np.bincount(draw(2, seeded(3), 70_000).astype(int), minlength=7)
    assert stats.chisquare(counts).pvalue > LEVEL


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_points_are_uniform_in_the_ball(n):
    points = draw_points(True, seeded(n), 20_000, np.arange(n), n)
    radii = np.linalg.norm(points, axis=1)
    assert stats.kstest(radii**n, "uniform").pvalue > LEVEL
    directions = points / radii[:, None]
    if n == 1:
        assert stats.binomtest(int((directions > 0).sum()), 20_000).pvalue > LEVEL
    else:  # a coordinate of a uniform direction, squared, is Beta(1/2, (n - 1)/2)
        assert stats.kstest(directions[:, 0] ** 2, stats.beta(0.5, (n - 1) / 2).cdf).pvalue > LEVEL
        assert np.abs(directions.mean(axis=0)).max() < 0.03


def test_points_are_uniform_in_the_box_and_exact_variables_stay():
    points = draw_points(False, seeded(4), 20_000, np.array([0, 2]), 3)
    assert (points[:, 1] == 0).all()
    for i in (0, 2):
        assert stats.kstest(points[:, i], stats.uniform(-1, 2).cdf).pvalue > LEVEL


def test_shuffles_are_uniform():
    r = seeded(5)
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(12_000):
        items = np.arange(4)
        random.shuffle(r, items)
        seen[tuple(items.tolist())] = seen.get(tuple(items.tolist()), 0) + 1
    assert len(seen) == 24
    assert stats.chisquare(list(seen.values())).pvalue > LEVEL


def test_the_stream_is_xoshiro256_plus_plus():
    """The first outputs for the state 1, 2, 3, 4, as the reference implementation of the authors gives them."""
    r = np.array([1, 2, 3, 4], dtype=np.uint64)
    first = [int(random.next_bits(r)) for _ in range(3)]
    assert first == [41943041, 58720359, 3588806011781223]


def test_seeds_of_a_stream():
    assert (random.stream(5) == random.stream(np.random.SeedSequence(5))).all()
    assert (random.stream(np.random.default_rng(1)) == random.stream(np.random.default_rng(1))).all()
    generator = np.random.default_rng(1)
    assert (random.stream(generator) != random.stream(generator)).any()
    assert (random.stream(None) != random.stream(None)).any()
    for bad in (-1, 1.5, "one", True):
        with pytest.raises(ProblemError, match="rng"):
            random.stream(bad)


def test_the_layers_under_the_normal_curve_have_one_area():
    """The one at the bottom with its tail; the last one ends at the top of the curve."""
    x, y = random._EDGES, random._HEIGHTS
    assert y == pytest.approx(np.exp(-(x**2) / 2), rel=1e-15)
    areas = x[1:-1] * np.diff(y[1:])
    assert areas == pytest.approx(np.full(255, random._AREA), rel=1e-11)
    tail = np.sqrt(2 * np.pi) * stats.norm.sf(random._TAIL)
    assert random._TAIL * y[1] + tail == pytest.approx(random._AREA, rel=1e-13)
    assert x[0] * y[1] == pytest.approx(random._AREA, rel=1e-14)
    assert (x[-1], y[-1]) == (0.0, 1.0)
