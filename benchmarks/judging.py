"""Shared by the benchmarks of evolution: champions are assessed on common seeds that no evolution has used."""

from __future__ import annotations

from typing import Any

import numpy as np

import robustforge as rf
from robustforge.evolution.settings import Settings
from robustforge.evolution.trial import make_trial, run_trials

FRESH = 987_654_321


def fresh_values(problem: rf.Problem, heuristic: rf.Heuristic, runs: int, number: int, **settings: Any) -> np.ndarray:
    """Return re-estimated worst cases of a heuristic; `number` and the repeat decide the seeds."""
    chosen = Settings(seed=FRESH, **settings)
    made = run_trials(problem, chosen, [make_trial(chosen, heuristic, "", number, 0, k) for k in range(runs)])
    return np.array([run.value for run in made])
