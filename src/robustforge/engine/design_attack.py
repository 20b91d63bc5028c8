"""The attack on a given design: the closing attack of a search, started by itself.

The machine starts in the phase of the final selection, with the design as its incumbent, which stays. Which points it
asks for does not depend on the number of runs, so that an attack can be continued with more of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from robustforge.components.closing_attack import DEFAULT_ATTACK
from robustforge.core.state import Ending, Phase
from robustforge.engine.optimizer import OnFailure, Optimizer
from robustforge.engine.prior_evaluations import PriorEvaluations
from robustforge.representation.presets import heuristic
from robustforge.robust_problem import Problem

Floats = npt.NDArray[np.float64]

_SEED = 1
_SEARCH = "mirrored-es"
"""The heuristic whose search the machine leaves out: one with little memory."""


def attack_on(
    problem: Problem, x: Floats, runs: int, prior: PriorEvaluations, on_failure: OnFailure = "raise"
) -> Optimizer:
    """Return a search that attacks a design, and then evaluates the design itself.

    Args:
        problem: The problem.
        x: The design, in its units (n,).
        runs: Evaluations of the attack.
        prior: Prior evaluations, from all of which the attack starts.
        on_failure: Policy for failed evaluations.
    """
    chosen = heuristic(_SEARCH).replace(final=DEFAULT_ATTACK)
    budget = max(runs + 1, 3)
    made = Optimizer(problem, None, budget, chosen, _SEED, on_failure=on_failure, prior_evaluations=prior)
    space = made.problem.space
    made.arrays["incumbent_x"][:] = (made.problem.to_scaled(problem.to_scaled(x)) - space.centre) / space.scale
    made.arrays["incumbent_x"][:] += space.offset
    started = {
        "phase": Phase.SELECTING,
        "ending": Ending.BUDGET_SPENT,
        "reserve": runs if made.problem.geometry.active.size else 0,
        "unallocated": 0,
        "has_incumbent": 1,
    }
    for name, number in started.items():
        made.arrays["counters"][name] = number
    made.arrays["incumbent_f"][0] = -np.inf
    made.arrays["closing"]["is_fixed"] = 1
    return made


def is_attack_over(search: Optimizer) -> bool:
    """Whether all evaluations of an attack are done: what is asked for now is the design itself."""
    return bool(search.arrays["counters"]["final_requested"][0] == 1)
