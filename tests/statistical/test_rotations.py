"""Rotations of the test problems are uniform among the orthogonal matrices (Haar measure on O(n)).

Every level below is 1e-6, or five to six standard errors: with 20 other seeds, no test failed.
"""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy import stats

from robustforge.core.random import stream
from robustforge.robust_problem.test_functions import random_rotation

COUNT = 4000
SEED = 1
LEVEL = 1e-6


@njit
def draw(r, n, count):
    out = np.empty((count, n, n))
    for k in range(count):
        out[k] = random_rotation(r, n)
    return out


def rotations(n, count=COUNT):
    return draw(stream(np.random.SeedSequence([SEED, n])), n, count)


def coordinate(n):
    """The distribution function of a coordinate of a uniform direction: (1 + u)/2 is Beta((n - 1)/2, (n - 1)/2)."""
    return lambda u: stats.beta((n - 1) / 2, (n - 1) / 2).cdf((1 + u) / 2)


@pytest.mark.parametrize("n", [1, 2, 3, 30, 300])
def test_rotations_are_orthogonal(n):
    q = rotations(n, 1)[0]
    assert np.abs(q @ q.T - np.eye(n)).max() < 1e-12
    assert np.abs(q.T @ q - np.eye(n)).max() < 1e-12


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_moments_of_the_entries(n):
    q = rotations(n)
    fourth, eighth = 3 / (n * (n + 2)), 105 / (n * (n + 2) * (n + 4) * (n + 6))
    assert np.abs(q.mean(axis=0)).max() < 6 * np.sqrt(1 / n / COUNT)
    assert np.abs((q**2).mean(axis=0) - 1 / n).max() < 6 * np.sqrt((fourth - 1 / n**2) / COUNT)
    assert np.abs((q**4).mean(axis=0) - fourth).max() < 6 * np.sqrt((eighth - fourth**2) / COUNT)


@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_half_of_the_rotations_are_reflections(n):
    signs = np.linalg.det(rotations(n))
    assert np.abs(signs) == pytest.approx(np.ones(COUNT), abs=1e-9)
    assert stats.binomtest(int((signs > 0).sum()), COUNT).pvalue > LEVEL


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_a_rotated_direction_is_uniform(n):
    """Of each unit vector, of the diagonal, and of random directions, seen along such directions; rows likewise."""
    q = rotations(n)
    directions = [*np.eye(n), np.ones(n) / np.sqrt(n)]
    extra = np.random.default_rng(n).normal(size=(3, n))
    directions.extend(extra / np.linalg.norm(extra, axis=1)[:, None])
    for given in directions:
        for seen in directions:
            assert stats.kstest((q @ given) @ seen, coordinate(n)).pvalue > LEVEL


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_fixed_rotation_changes_nothing(n):
    """The trace of Q, of R Q and of Q R have one distribution, whatever R; so have products of two entries."""
    q, other = rotations(n), rotations(n + 100, 1)[0][:n, :n]
    fixed = np.linalg.qr(other)[0]
    apart = rotations(n, 2 * COUNT)[COUNT:]
    for moved in (fixed @ apart, apart @ fixed):
        for figure in (
            lambda m: np.trace(m, axis1=1, axis2=2),
            lambda m: m[:, 0, 0] * m[:, 1, 1] - m[:, 0, 1] * m[:, 1, 0],
        ):
            one, two = (figure(matrices).round(9) for matrices in (q, moved))  # in the plane, many are the same
            assert stats.ks_2samp(one, two).pvalue > LEVEL


def test_columns_are_independent_apart_from_orthogonality():
    """In three dimensions, the angle of the second column around the first is uniform."""
    q = rotations(3)
    first, second = q[:, :, 0], q[:, :, 1]
    helper = np.cross(first, np.array([0.3, -0.5, 0.8]))
    helper /= np.linalg.norm(helper, axis=1)[:, None]
    across = np.cross(first, helper)
    angle = np.arctan2((second * across).sum(axis=1), (second * helper).sum(axis=1))
    assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > LEVEL
