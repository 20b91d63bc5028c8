"""Gaussian processes: predictions by their plain definition, gradients by differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

import robustforge as rf
from robustforge.components import EmulatorSearch
from robustforge.core import gaussian_process as gp
from robustforge.core.gaussian_process import FAILURES, OBJECTIVE
from robustforge.engine.initial_state import link_next

POINTS, INPUTS = 23, 3
EMULATOR = EmulatorSearch(
    batch=1, initial_factor=1, exploration=1, probing=1, caution=1, failure_margin=0.5, model_points=64
)


@pytest.fixture
def state():
    """A state with points in its first process, and parameters to try."""
    heuristic = rf.heuristic("champion/10d/few").replace(outer=EMULATOR)
    search = rf.Optimizer([(-1, 1)] * INPUTS, rf.Ball(0.2), 100, heuristic, rng=1)
    link_next(search.arrays, heuristic)
    rng = np.random.default_rng(3)
    x = rng.random((POINTS, INPUTS))
    y = np.sin(4 * x[:, 0]) + x[:, 1] ** 2 + 0.5 * x[:, 2]
    for k in (OBJECTIVE, FAILURES):
        search.arrays["process_x"][k, :, :POINTS] = x.T
        search.arrays["process_y"][k, :POINTS] = (y - y.mean()) / y.std()
        search.arrays["process"]["count"][k] = POINTS
    return search


PARAMETERS = np.array([1.2, 0.1, -1.0, math.log(1e-3), math.log(0.4)])


def covariance(a, b, parameters):
    rate, linear = np.exp(parameters[:INPUTS]), math.exp(parameters[INPUTS + 1])
    r = np.sqrt(5 * (rate * (a[:, None] - b[None]) ** 2).sum(axis=2))
    return (1 + r + r * r / 3) * np.exp(-r) + linear * (a - 0.5) @ (b - 0.5).T


def reference(search, u, parameters):
    """Return the mean and the deviation at a point, and the negative log likelihood, by plain linear algebra."""
    x, y = search.arrays["process_x"][0, :, :POINTS].T, search.arrays["process_y"][0, :POINTS]
    k = covariance(x, x, parameters) + math.exp(parameters[INPUTS]) * np.eye(POINTS)
    inverse, ones = np.linalg.inv(k), np.ones(POINTS)
    mean = ones @ inverse @ y / (ones @ inverse @ ones)
    variance = (y - mean) @ inverse @ (y - mean) / POINTS
    row = covariance(u[None], x, parameters)[0]
    own = covariance(u[None], u[None], parameters)[0, 0]
    likelihood = 0.5 * POINTS * math.log(variance) + 0.5 * np.linalg.slogdet(k)[1]
    return mean + row @ inverse @ (y - mean), math.sqrt(variance * (own - row @ inverse @ row)), likelihood


def test_predictions_are_those_of_the_definition(state):
    gp.condition(state.state, OBJECTIVE, PARAMETERS)
    for u in np.random.default_rng(5).random((5, INPUTS)):
        mean, deviation, likelihood = reference(state, u, PARAMETERS)
        assert gp.predict(state.state, OBJECTIVE, u) == pytest.approx(mean, rel=1e-8)
        assert gp.deviation(state.state, OBJECTIVE, u) == pytest.approx(deviation, rel=1e-6)
        assert state.arrays["process"]["objective"][OBJECTIVE] == pytest.approx(likelihood)


def test_slopes_are_differences(state):
    gp.condition(state.state, OBJECTIVE, PARAMETERS)
    u, gradient = np.array([0.3, 0.8, 0.1]), np.zeros(INPUTS)
    value = gp.predict_slope(state.state, OBJECTIVE, u, gradient)
    assert value == pytest.approx(gp.predict(state.state, OBJECTIVE, u), rel=1e-12)
    for i in range(INPUTS):
        step = 1e-5 * np.eye(INPUTS)[i]
        difference = gp.predict(state.state, OBJECTIVE, u + step) - gp.predict(state.state, OBJECTIVE, u - step)
        assert gradient[i] == pytest.approx(difference / 2e-5, rel=1e-5)


@pytest.mark.parametrize("k", [OBJECTIVE, FAILURES])
def test_the_gradient_of_the_posterior_is_a_difference(state, k):
    gp.posterior(state.state, k, PARAMETERS)
    gradient = state.arrays["process_gradient"].copy()
    for i in range(PARAMETERS.size):
        step = 1e-5 * np.eye(PARAMETERS.size)[i]
        above, below = (gp.posterior(state.state, k, PARAMETERS + sign * step) for sign in (1, -1))
        assert gradient[i] == pytest.approx((above - below) / 2e-5, rel=1e-4, abs=1e-5)


def test_a_fit_improves_the_posterior_and_finds_what_matters(state):
    parameters = PARAMETERS.copy()
    before = gp.posterior(state.state, OBJECTIVE, parameters)
    gp.fit(state.state, OBJECTIVE, parameters, 40)
    assert state.arrays["process"]["objective"][OBJECTIVE] < before - 1
    assert parameters[0] > parameters[2] + 1  # the values are linear in the last input


def test_a_point_that_is_as_predicted_lowers_doubt_only(state):
    gp.condition(state.state, OBJECTIVE, PARAMETERS)
    u, near, far = np.array([0.5, 0.5, 0.5]), np.array([0.52, 0.5, 0.5]), np.array([0.0, 1.0, 0.0])
    before = [gp.predict(state.state, 0, at) for at in (u, near, far)]
    doubt = gp.deviation(state.state, 0, near)
    gp.add_point(state.state, OBJECTIVE, u)
    assert [gp.predict(state.state, 0, at) for at in (u, near, far)] == pytest.approx(before, rel=1e-12)
    assert gp.deviation(state.state, 0, near) < 0.5 * doubt
