"""Inner searches that go beyond the paper's: where their points lie."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import qmc

import robustforge as rf
from robustforge.components import SurfaceSampling
from robustforge.components.inner_emulator import EmulatedSearch
from robustforge.components.inner_sampling import LatinHypercubeSampling, SobolSampling


@pytest.mark.parametrize("uncertainty", [rf.Ball([0.5, 0.2, 0.0, 1.0]), rf.Box([0.5, 0.2, 0.0, 1.0])], ids=repr)
def test_surface_samples_come_in_pairs_of_opposites(uncertainty):
    base = rf.heuristic("rpso")
    inner = dataclasses.replace(base.inner, form=SurfaceSampling(), extent=0.4, stopping=False)
    heuristic = dataclasses.replace(base, outer=dataclasses.replace(base.outer, swarm_size=2), inner=inner)
    assert heuristic.inner_budget(200) == 10
    search = rf.Optimizer([(-5, 5)] * 4, uncertainty, 200, heuristic, 1)
    asked = []
    for _ in range(10):
        batch = search.ask()
        asked.append(batch.x[0])  # of the first agent
        search.tell(batch.ids, np.ones(len(batch)))
    points = np.array(asked)
    centres = (points[0::2] + points[1::2]) / 2
    assert np.allclose(centres, centres[0])
    units = (points - centres[0]) / np.array([0.5, 0.2, 1.0, 1.0])
    assert np.allclose(units[:, 2], 0.0)
    if isinstance(uncertainty, rf.Box):
        assert np.allclose(np.abs(units[:, [0, 1, 3]]), 1.0)
    else:
        assert np.allclose(np.linalg.norm(units, axis=1), 1.0)
    assert len(np.unique(np.round(points, 9), axis=0)) > 4


def inner_samples(form, uncertainty, count, seed=1, objective=lambda x: np.ones(len(x)), dimension=3):
    """The offsets, in the unit set, of the first agent's first inner search."""
    base = rf.heuristic("rpso")
    budget = 100 * count
    inner = base.inner.replace(form=form, extent=0.08, stopping=False, n_dorm=False)
    heuristic = base.replace(outer=base.outer.replace(swarm_size=2), inner=inner)
    assert heuristic.inner_budget(budget) == count
    search = rf.Optimizer([(-5, 5)] * dimension, uncertainty, budget, heuristic, seed)
    batch, points = search.ask(), []
    candidate = search.arrays["x"][0].copy()
    for _ in range(count):
        points.append(batch.x[0])
        search.tell(batch.ids, objective(batch.x))
        batch = search.ask()
    return (np.array(points) - search.arrays["centre"]) / search.arrays["scale"] - candidate


def stratified(values, count):
    return sorted(np.floor(values * count).astype(int)) == list(range(count))


@pytest.mark.parametrize("form", [LatinHypercubeSampling(), SobolSampling()], ids=lambda form: form.title)
@pytest.mark.parametrize("seed", range(5))
def test_samples_are_stratified_along_each_variable_of_a_box(form, seed):
    points = inner_samples(form, rf.Box([0.5, 0.2, 1.0]), 8, seed)
    assert all(stratified((points[:, i] + 1.0) / 2.0, 8) for i in range(3))


@pytest.mark.parametrize("form", [LatinHypercubeSampling(), SobolSampling()], ids=lambda form: form.title)
def test_samples_in_a_ball_are_uniform_and_stratified_by_radius(form):
    points = np.concatenate([inner_samples(form, rf.Ball(0.5), 16, seed) for seed in range(60)])
    radii = np.linalg.norm(points, axis=1)
    assert (radii <= 1.0 + 1e-12).all()
    assert all(stratified(radii[k : k + 16] ** 3, 16) for k in range(0, radii.size, 16))
    directions = points / radii[:, None]
    # at most 0.027 and 0.020 with 20 other sets of seeds
    assert np.abs(directions.mean(axis=0)).max() < 0.06
    assert np.abs(directions.T @ directions / radii.size - np.eye(3) / 3).max() < 0.03


@pytest.mark.parametrize("form", [LatinHypercubeSampling(), SobolSampling()], ids=lambda form: form.title)
def test_variables_without_tolerance_are_not_sampled(form):
    points = inner_samples(form, rf.Ball([0.5, 0.0, 1.0]), 8)
    assert np.abs(points[:, 1]).max() < 1e-12
    assert np.ptp(points[:, 0]) > 0.1


def test_sobol_points_are_those_of_scipy_with_a_shift():
    points = inner_samples(SobolSampling(), rf.Box(0.5), 16, dimension=40)
    units = np.floor((points + 1.0) / 2.0 * 2**16).astype(np.int64)
    unshifted = units ^ units[0]
    reference = (qmc.Sobol(40, scramble=False).random_base2(4) * 2**16).astype(np.int64)
    gray = [k ^ (k >> 1) for k in range(16)]
    assert np.array_equal(unshifted[gray], reference)


@pytest.mark.parametrize("uncertainty", [rf.Ball(0.5), rf.Box(0.5)], ids=repr)
def test_the_emulator_follows_the_slope_of_a_linear_objective(uncertainty):
    slope = np.array([3.0, -2.0, 1.0, 0.5, -0.1])
    form = EmulatedSearch(model_points=32, noise=0.05)
    best = np.sign(slope) if isinstance(uncertainty, rf.Box) else slope / np.linalg.norm(slope)
    limit, first = best @ slope, []
    for seed in range(1, 11):
        values = inner_samples(form, uncertainty, 20, seed, lambda x: x @ slope, dimension=5) @ slope
        first.append(values[:2].max())
        if isinstance(uncertainty, rf.Box):  # a corner is not proposed twice
            assert values.max() == pytest.approx(limit)
        else:  # at least 0.9987 with 20 other seeds
            assert values[-5:].min() > 0.9 * limit
    assert np.mean(first) < 0.9 * limit  # at random; at most 0.66 with 20 other sets of seeds


def test_the_emulator_stays_on_the_surface_whatever_the_values():
    rng = np.random.default_rng(1)
    for values in (np.full(2, 3.0), np.array([1e308, -1e308]), np.array([np.inf, 1.0])):
        points = inner_samples(EmulatedSearch(16, 0.5), rf.Ball(0.5), 10, 1, lambda x, v=values: rng.permutation(v))
        assert np.allclose(np.linalg.norm(points, axis=1), 1.0)
