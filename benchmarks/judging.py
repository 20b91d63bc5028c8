"""How champions are judged: on seeds that no evolution has used, the same for all that are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

import robustforge as rf
from robustforge.evolution.settings import Settings
from robustforge.evolution.trial import run_trials, trial

FRESH = 987_654_321


def fresh_values(problem: rf.Problem, heuristic: rf.Heuristic, runs: int, number: int, **settings: Any) -> np.ndarray:
    """Return re-estimated worst cases of a heuristic; `number` and the repeat decide the seeds."""
    chosen = Settings(seed=FRESH, **settings)
    made = run_trials(problem, chosen, [trial(chosen, heuristic, "", number, 0, k) for k in range(runs)])
    return np.array([run.value for run in made])
