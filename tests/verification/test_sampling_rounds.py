"""Sampling by rounds: each round is as good a sample of the ball as the first, which has new normal numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import robustforge as rf
from robustforge.core.random import stream
from robustforge.verification.neighbourhood import Neighbourhood
from robustforge.verification.sampling import ROUNDS

N = 5
SIZE = 2000
MIN_P = 1e-6  # at least 1.1e-4 with 20 other sets of seeds
"""The minimum p-value. Every run tests some hundred, so with 0.001 one run in ten would fail."""


def around(radius=0.5, dimension=N, x=None, **options):
    """The neighbourhood of a design; the objective is irrelevant."""
    uncertainty = options.pop("uncertainty", rf.Ball(radius))
    problem = rf.Problem(lambda x: 0.0, [(-2.0, 2.0)] * dimension, uncertainty, **options)
    return Neighbourhood(problem, np.full(dimension, 0.25) if x is None else np.array(x))


def sampled_rounds(here, count, seed=1, rounds=ROUNDS):
    """Points of the unit ball, one array for each round."""
    units = here.to_unit(here.sample(count, stream(seed), rounds))
    size = count // rounds // 4 * 4
    return [units[k * size : (k + 1) * size] for k in range(rounds)]


@pytest.fixture(scope="module")
def rounds():
    return sampled_rounds(around(), SIZE * ROUNDS)


def test_all_points_are_in_the_ball(rounds):
    lengths = np.linalg.norm(np.concatenate(rounds), axis=1)
    assert lengths.max() <= 1.0 + 1e-12
    assert lengths.max() > 0.999


def test_every_round_is_uniform_in_the_ball(rounds):
    for units in rounds:
        lengths = np.linalg.norm(units, axis=1)
        assert stats.kstest(lengths**N, "uniform").pvalue > MIN_P
        for i in range(N):  # a coordinate of a uniform point is that of a direction in n + 2 dimensions
            marginal = stats.beta((N + 1) / 2, (N + 1) / 2, loc=-1, scale=2)
            assert stats.kstest(units[:, i], marginal.cdf).pvalue > MIN_P
        assert abs(np.corrcoef(units.T) - np.eye(N)).max() < 5.5 / np.sqrt(SIZE)  # at most 3.4 with 20 other seeds


def test_lengths_and_directions_are_independent(rounds):
    for units in rounds:
        lengths = np.linalg.norm(units, axis=1)
        short = lengths < np.median(lengths)
        cosines = units / lengths[:, None]
        assert stats.ks_2samp(cosines[short, 0], cosines[~short, 0]).pvalue > MIN_P


def test_the_points_of_a_round_are_independent_also_within_a_group_of_four(rounds):
    law = stats.beta(0.5, (N - 1) / 2)  # of the squared cosine between two random directions
    for units in rounds:
        directions = units / np.linalg.norm(units, axis=1)[:, None]
        for gap in (1, 2, 3):
            cosines = (directions[:-gap:4] * directions[gap::4]).sum(axis=1)
            assert stats.kstest(cosines**2, law.cdf).pvalue > MIN_P
            assert abs(cosines.mean()) < 5.5 / np.sqrt(N * cosines.size)  # at most 4.1 with 20 other seeds


def test_points_are_distinct(rounds):
    directions = np.concatenate([units / np.linalg.norm(units, axis=1)[:, None] for units in rounds[:4]])
    assert len(np.unique(directions.round(9), axis=0)) == 4 * SIZE


@pytest.mark.parametrize("count", [1, 127, 128, 131, 1000, 1027])
@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_any_number_of_points_in_any_dimension(count, dimension):
    here = around(dimension=dimension)
    units = here.to_unit(here.sample(count, stream(3)))
    lengths = np.linalg.norm(units, axis=1)
    assert units.shape == (count, dimension)
    assert (lengths > 0).all()
    assert (lengths <= 1.0 + 1e-12).all()
    if count >= 1000:
        # the mean of a round goes with that of the round before: a standard deviation is 1.4 / sqrt(count), and with
        # 20 other seeds, 5.2 / sqrt(count) was the most
        assert abs(np.sign(units).mean(axis=0)).max() < 8 / np.sqrt(count)


def test_the_seed_determines_the_points():
    here = around()
    assert (here.sample(999, stream(1)) == here.sample(999, stream(1))).all()
    assert (here.sample(999, stream(1)) != here.sample(999, stream(2))).any()


def test_exact_variables_are_constant():
    here = around(uncertainty=rf.Ball([0.5, 0.0, 1.0, 0.0, 0.1]))
    points = here.sample(SIZE * ROUNDS, stream(1))
    assert (points[:, [1, 3]] == 0.25).all()
    for units in sampled_rounds(here, SIZE * ROUNDS):
        assert units.shape == (SIZE, 3)
        assert stats.kstest(np.linalg.norm(units, axis=1) ** 3, "uniform").pvalue > MIN_P
    spread = np.abs(points - 0.25).max(axis=0)
    assert spread == pytest.approx([0.5, 0.0, 1.0, 0.0, 0.1], rel=0.05)


def test_points_are_clipped_if_that_is_the_policy():
    corner = [1.9, -1.9, 0.0, 0.0, 0.0]
    clipped = around(x=corner, out_of_bounds="clip").sample(SIZE, stream(1))
    plain = around(x=corner).sample(SIZE, stream(1))
    assert (np.abs(plain) > 2.0).any()
    assert (clipped == np.clip(plain, -2.0, 2.0)).all()


def test_a_box_has_no_rounds():
    here = around(uncertainty=rf.Box(0.5))
    assert (here.sample(SIZE, stream(1)) == here.sample(SIZE, stream(1), rounds=1)).all()


def worst(here, rounds, repeats, count):
    """The worst of `count` points, `repeats` times."""
    return np.array([here._values(here.sample(count, stream(seed), rounds)).max() for seed in range(repeats)])


@pytest.mark.parametrize("where", ["the centre, where directions and their opposites are alike", "somewhere"])
def test_the_mean_worst_value_equals_that_of_independent_points(where):
    problem = rf.problem("rastrigin", 10)
    x = (problem.lower + problem.upper) / 2
    if where == "somewhere":
        x = np.random.default_rng(5).uniform(problem.lower, problem.upper)
    here = Neighbourhood(problem, x)
    mixed, independent = worst(here, ROUNDS, 300, 2048), worst(here, 1, 300, 2048)
    error = np.hypot(mixed.std() / np.sqrt(300), independent.std() / np.sqrt(300))
    assert abs(mixed.mean() - independent.mean()) < 6 * error  # here and below; with 20 other seeds, 3.3 at most
    assert error < 0.01 * abs(independent.mean())  # the test has power
    assert 0.7 < mixed.std() / independent.std() < 1.6  # with 20 other seeds, 0.90 to 1.30: mixed samples do vary more


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_the_mean_worst_value_of_a_radial_function(dimension):
    here = Neighbourhood(rf.problem("sphere", dimension), np.full(dimension, 20.0))  # the robust optimum
    mixed, independent = worst(here, ROUNDS, 200, 1024), worst(here, 1, 200, 1024)
    error = np.hypot(mixed.std() / np.sqrt(200), independent.std() / np.sqrt(200))
    assert abs(mixed.mean() - independent.mean()) < 6 * error


def test_verify_is_independent_of_the_cores():
    problem = rf.problem("ackley", 40)
    x = np.full(40, 45.0)
    one, every = (rf.verify(problem, x, 10_000, rng=1, attack=False, cores=cores) for cores in (1, None))
    assert Neighbourhood(problem, x).block < 10_000 / 2  # more than two blocks
    assert one.sampled.fun == every.sampled.fun
    assert (one.sampled.x == every.sampled.x).all()
    attacked = [rf.verify(rf.problem("sphere", 4), np.full(4, 22.0), 500, rng=1, cores=k).attacked for k in (1, None)]
    assert attacked[0].fun == attacked[1].fun
    assert attacked[0].nfev == attacked[1].nfev
