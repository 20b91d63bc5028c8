"""Evolution learns: its champions beat the best of equally many random heuristics."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from learning import compare


@pytest.mark.long
@pytest.mark.parametrize("problem", ["sphere", "rastrigin"])
def test_champions_beat_the_best_of_equally_many_random_heuristics(problem):
    found = compare(problem, seeds=2, runs=100)
    assert found.evolved.size == found.drawn.size == 200
    assert found.p_value < 0.05
    assert found.evolved.mean() < found.drawn.mean()
