"""Inner searches that go beyond the paper's: where their points lie."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import robustforge as rf
from robustforge.components import SurfaceSampling


@pytest.mark.parametrize("uncertainty", [rf.Ball([0.5, 0.2, 0.0, 1.0]), rf.Box([0.5, 0.2, 0.0, 1.0])], ids=repr)
def test_surface_samples_come_in_pairs_of_opposites(uncertainty):
    base = rf.heuristic("rpso")
    inner = dataclasses.replace(base.inner, form=SurfaceSampling(), extent=0.4, stopping=False)
    heuristic = dataclasses.replace(base, outer=dataclasses.replace(base.outer, group=2), inner=inner)
    assert heuristic.inner.points(200, 2) == 10
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
