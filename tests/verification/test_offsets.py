"""The re-estimate at fixed offsets, by which an evolution compares designs."""

from __future__ import annotations

import numpy as np
import pytest

import robustforge as rf
from robustforge.core.random import stream
from robustforge.errors import ObjectiveError
from robustforge.verification.neighbourhood import Neighbourhood
from robustforge.verification.sampling import sample_offsets


def plain(problem, x, offsets):
    """The definition, point by point."""
    points = x + problem.geometry.offset + problem.geometry.radii * offsets
    if problem.out_of_bounds == "clip":
        points = np.clip(points, problem.lower, problem.upper)
    return max(float(problem(point)) for point in points)


@pytest.mark.parametrize("out_of_bounds", ["evaluate", "clip", "shrink"])
@pytest.mark.parametrize("uncertainty", [rf.Ball([0.5, 0.1, 0.0, 1.0]), rf.Box(lower=[0.1] * 4, upper=[0.3] * 4)])
def test_the_worst_value_at_offsets_equals_its_definition(out_of_bounds, uncertainty, compiled_bowl):
    rng = np.random.default_rng(1)
    python = rf.Problem(
        lambda x: float(((x - 1.0) ** 2).sum()), [(-2, 2)] * 4, uncertainty, out_of_bounds=out_of_bounds
    )
    compiled = rf.Problem(compiled_bowl, [(-2, 2)] * 4, uncertainty, out_of_bounds=out_of_bounds)
    offsets = sample_offsets(python, 200, stream(1))
    for x in rng.uniform(-1.5, 1.5, (5, 4)):
        expected = plain(python, x, offsets)
        assert Neighbourhood(python, x).worst_at(offsets, "raise") == pytest.approx(expected, rel=1e-13)
        assert Neighbourhood(compiled, x).worst_at(offsets, "raise") == pytest.approx(expected, rel=1e-13)


def test_offsets_are_in_the_set_and_exact_variables_are_constant():
    problem = rf.Problem(lambda x: 0.0, [(-2, 2)] * 3, rf.Ball([0.5, 0.0, 1.0]))
    offsets = sample_offsets(problem, 1000, stream(1))
    assert (offsets[:, 1] == 0).all()
    lengths = np.linalg.norm(offsets, axis=1)
    assert lengths.max() <= 1.0
    assert (lengths**2).mean() == pytest.approx(0.5, abs=0.06)  # uniform in the disc; 0.023 with 20 other seeds
    assert (offsets == sample_offsets(problem, 1000, stream(1))).all()


def failing(x):
    if x[0] > 0.2:
        raise ValueError("no")
    return float("nan") if x[0] < -0.2 else float(x[1])


def test_failures_follow_the_policy():
    problem = rf.Problem(failing, [(-2, 2)] * 2, rf.Ball(0.5))
    offsets = sample_offsets(problem, 100, stream(1))
    here = Neighbourhood(problem, np.zeros(2))
    with pytest.raises((ValueError, ObjectiveError)):
        here.worst_at(offsets, "raise")
    assert here.worst_at(offsets, "infeasible") == np.inf
    known = here.worst_at(offsets, "unknown")
    assert 0.0 < known < 0.5
    everywhere = rf.Problem(lambda x: float("nan"), [(-2, 2)] * 2, rf.Ball(0.5))
    with pytest.raises(ObjectiveError):
        Neighbourhood(everywhere, np.zeros(2)).worst_at(offsets, "unknown")


def test_infinity_is_a_valid_value():
    problem = rf.Problem(lambda x: float("inf") if x[0] > 0.3 else 1.0, [(-2, 2)] * 2, rf.Ball(0.5))
    offsets = sample_offsets(problem, 100, stream(1))
    assert Neighbourhood(problem, np.zeros(2)).worst_at(offsets, "raise") == np.inf


def out_of_memory(x):
    raise MemoryError


@pytest.mark.parametrize("policy", ["infeasible", "unknown"])
def test_a_memory_error_is_never_a_value(policy):
    problem = rf.Problem(out_of_memory, [(-2, 2)] * 2, rf.Ball(0.5))
    with pytest.raises(MemoryError):
        Neighbourhood(problem, np.zeros(2)).worst_at(sample_offsets(problem, 5, stream(1)), policy)
    with pytest.raises(MemoryError):
        rf.minimize(problem, budget=50, rng=1, on_failure=policy)
