"""`verify` and `attack`: the worst case of a design, with a large or with a small number of evaluations.

`verify` samples the uncertainty set, as the re-estimate of the paper does, and attacks it by ascents, a knapsack and
steps over cliffs. In many variables a sample hardly ever contains the worst point of a set, so the attacked worst case
is the figure to trust; it is never below the sampled one. `attack` is for slow models.
"""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.arguments import named_arguments
from robustforge.core.random import Seed, stream
from robustforge.engine.batch_evaluation import Objective, executor_of
from robustforge.engine.design_attack import attack_on
from robustforge.engine.prior_evaluations import PriorEvaluations, as_prior
from robustforge.engine.result import History
from robustforge.robust_problem import Problem
from robustforge.verification.argument_checks import check_count, check_design, prior_points_within
from robustforge.verification.full_attack import START_POINTS, find_worst_case
from robustforge.verification.neighbourhood import Neighbourhood
from robustforge.verification.worst_case import Verification, WorstCase

Floats = npt.NDArray[np.float64]


@named_arguments(known="prior_evaluations")
def verify(
    problem: Problem,
    x: Any,
    samples: int = 1_000_000,
    rng: Seed = None,
    *,
    attack: bool = True,
    prior_evaluations: Any = None,
    cores: int | None = None,
) -> Verification:
    """Return the sampled and the attacked worst case of a design.

    Args:
        problem: The problem of the design.
        x: The design, for instance the `x` of a result.
        samples: Points to sample uniformly from the uncertainty set around it.
        rng: An int, a `SeedSequence` or a `Generator`; the result does not depend on the number of threads.
        attack: Whether to attack the design as well, which takes some 10,000 to 100,000 evaluations.
        prior_evaluations: The `history` of a result, or points (k, n) and their values (k,). The attack starts from
            those within the set, too, and its result is never below the worst of them.
        cores: Threads for a compiled objective; by default one per core.

    Returns:
        The nominal value, the sampled worst case, and the attacked worst case.

    Raises:
        RobustforgeError: An argument is invalid.
        ObjectiveError: The objective returned NaN or -inf; `x` of the exception is the point. +inf is a valid value.

    Example:
        >>> import robustforge as rf
        >>> found = rf.verify(rf.problem("sphere", dimension=2), [20.0, 21.0], samples=1000, rng=1)
        >>> found.nominal_fun, round(found.attacked.fun, 6)
        (1.0, 4.0)
    """
    design = check_design(problem, x)
    count = check_count("samples", samples, "1_000_000")
    design = problem.to_scaled(design)
    neighbourhood = Neighbourhood(problem.scaled, design, cores)
    nominal = float(neighbourhood.evaluate(design[None])[0])
    values, points = _sample_worst(neighbourhood, count, stream(rng))
    sampled = WorstCase(float(values[0]), problem.from_scaled(points[0].copy()), count)
    if not attack:
        return Verification(nominal, sampled, None)
    prior_points, prior_values = prior_points_within(neighbourhood, problem, prior_evaluations)
    values, points = _keep_worst(np.append(values, prior_values), np.concatenate([points, prior_points]))
    objective = find_worst_case(neighbourhood, np.concatenate([points, design[None]]))
    worst_x = problem.from_scaled(neighbourhood.to_points(objective.worst_point[None])[0])
    attacked = WorstCase(objective.worst_value, worst_x, objective.nfev)
    for value, point in ((float(values[0]), problem.from_scaled(points[0])), (nominal, problem.from_scaled(design))):
        if value > attacked.fun:  # by rounding only: the attack starts from these points
            attacked = WorstCase(value, point.copy(), objective.nfev)
    return Verification(nominal, sampled, attacked)


@named_arguments(known="prior_evaluations")
def attack(
    problem: Problem, x: Any, budget: int = 200, *, prior_evaluations: Any = None, workers: int | Executor = 1
) -> WorstCase:
    """Search for the worst case of a design with a small budget: for slow models.

    It is the attack that closes a search: from all prior evaluations, it looks where linear and quadratic models and a
    trust region expect the worst, then at corners of a box and at mirrored pairs of points of a ball. `verify` needs
    some 10,000 evaluations and more, and is more thorough; in a box of about ten variables a hundred evaluations of
    `attack` mostly come close to it.

    Args:
        problem: The problem of the design.
        x: The design, for instance the `x` of a result.
        budget: Number of evaluations, one of which is for the design itself.
        prior_evaluations: The `history` of a result, or points (k, n) and their values (k,). The attack starts from
            all of them; those within the set are not evaluated again, and the result is never below their worst.
        workers: Number of processes that evaluate a Python function, up to 8 at a time, or an executor; the result does
            not depend on it.

    Returns:
        The worst value found, and its point.

    Example:
        >>> import robustforge as rf
        >>> problem = rf.Problem(lambda x: float(x @ x), [(-5, 5)] * 3, rf.Box(0.5))
        >>> found = rf.attack(problem, [1.0, 2.0, -1.0], budget=20)
        >>> found.fun, found.x.tolist(), found.nfev
        (10.75, [1.5, 2.5, -1.5], 20)
    """
    design = check_design(problem, x)
    search = attack_on(problem, design, check_count("budget", budget, "200") - 1, _as_prior(problem, prior_evaluations))
    scaled = search.problem
    with executor_of(workers, scaled.vectorized, scaled.compiled is not None) as executor:
        objective = Objective(scaled, (), scaled.vectorized, True, executor)
        points, values = search.arrays["batch_x"], search.arrays["batch_f"]
        while (size := search.advance()) > 0:
            done: list[float] = []
            objective.values(points[:size], done)
            values[:size] = done
        search.raise_failure()
    found = search.result_without_copy()
    known, values = prior_points_within(Neighbourhood(scaled, problem.to_scaled(design), 1), problem, prior_evaluations)
    if values.size and values.max() > found.fun:  # at the edge of the set, but for rounding
        return WorstCase(float(values.max()), problem.from_scaled(known[int(np.argmax(values))]), found.nfev)
    return WorstCase(found.fun, found.worst_x, found.nfev)


def _as_prior(problem: Problem, given: Any) -> PriorEvaluations:
    """Return prior evaluations: a history, points and their values, or none."""
    if isinstance(given, History):
        has_value = ~np.isnan(given.fun)
        given = given.x[has_value], given.fun[has_value]
    return as_prior(given, problem)


def _sample_worst(neighbourhood: Neighbourhood, count: int, base: npt.NDArray[np.uint64]) -> tuple[Floats, Floats]:
    """Sample points in blocks, each with its own random stream; return the worst few values and points, worst first."""
    entropy = [int(word) for word in base]

    def worst_of_block(number: int) -> tuple[Floats, Floats]:
        size = min(neighbourhood.block, count - number * neighbourhood.block)
        own = stream(np.random.SeedSequence(entropy, spawn_key=(number,)))
        return neighbourhood.worst_of_sample(size, own, START_POINTS)

    values, points = np.empty(0), np.empty((0, neighbourhood.problem.dimension))
    for more, where in neighbourhood.map_blocks(worst_of_block, range(-(-count // neighbourhood.block))):
        values, points = _keep_worst(np.concatenate([values, more]), np.concatenate([points, where]))
    return values, points


def _keep_worst(values: Floats, points: Floats) -> tuple[Floats, Floats]:
    """Return the worst few values and points, worst first; of equal ones the first."""
    worst = np.argsort(-values, kind="stable")[:START_POINTS]
    return values[worst], points[worst]
