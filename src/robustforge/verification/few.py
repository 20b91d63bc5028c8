"""`attack`: how bad a design can become, with few evaluations of a slow model."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

import numpy as np

from robustforge.engine.objective import Objective, executor_of
from robustforge.errors import ProblemError
from robustforge.problem import Problem
from robustforge.verification.neighbourhood import Neighbourhood
from robustforge.verification.probing import Knowledge, probing
from robustforge.verification.verify import WorstCase, checked_design, known_within


def attack(problem: Problem, x: Any, budget: int = 200, *, known: Any = None, workers: int | Executor = 1) -> WorstCase:
    """Look for the worst case of a design with few evaluations: for models that are slow.

    By corners of the uncertainty set that tell the effects of the variables apart, where a linear model expects the
    worst, and by displacing one variable at a time. What `verify` finds with some 10,000 evaluations and more is never
    less; in a box of some ten variables a hundred evaluations mostly come close to it.

    Args:
        problem: The problem that the design is for.
        x: The design, for instance the `x` of a result.
        budget: Evaluations, one of which is for the design itself.
        known: Earlier evaluations: the `history` of a result, or points (k, n) and their values (k,). Those within the
            set are not evaluated again, and the result is never below the worst of them.
        workers: How many processes evaluate a Python function, or an executor that does, up to 8 at the same time; the
            answer does not depend on it.

    Returns:
        The worst value that was found, and where.

    Example:
        >>> import robustforge as rf
        >>> problem = rf.Problem(lambda x: float(x @ x), [(-5, 5)] * 3, rf.Box(0.5))
        >>> found = rf.attack(problem, [1.0, 2.0, -1.0], budget=20)
        >>> found.fun, found.x.tolist(), found.nfev
        (10.75, [1.5, 2.5, -1.5], 20)
    """
    design = checked_design(problem, x)
    if not isinstance(budget, (int, np.integer)) or isinstance(budget, bool) or budget < 1:
        raise ProblemError("`budget` must be an integer of at least 1", f"got {budget!r}", "Pass e.g. budget=200")
    given, problem, design = problem, problem.scaled, problem.to_scaled(design)
    around = Neighbourhood(problem, design, cores=1)
    with executor_of(workers, problem.vectorized, problem.compiled is not None) as executor:
        objective = Objective(problem, (), problem.vectorized, True, executor)
        first: list[float] = []
        objective.values(design[None], first)
        points_known, values_known = known_within(around, given, known)
        where, values = np.concatenate([design[None], points_known]), np.append(first, values_known)
        knowledge, spent = Knowledge(around.units(where), values), 1
        probe = probing(knowledge, around.is_box)
        points = next(probe, None)
        while points is not None and spent < budget:
            part: list[float] = []
            objective.values(around.place(points[: budget - spent]), part)
            spent += len(part)
            try:
                points = probe.send(np.array([*part, *[np.nan] * (len(points) - len(part))]))
            except StopIteration:
                points = None
    k = int(np.argmax(values))
    point = where[k] if values[k] >= knowledge.worst else around.place(knowledge.where[None])[0]
    return WorstCase(knowledge.worst, given.from_scaled(point), spent)
