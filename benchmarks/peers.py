"""Optimisers of other packages on a robust problem: each candidate is scored by the worst of four samples around it.

This is what a user would write around a nominal optimiser. All of them get 20 agents and 2,000 evaluations; the time
inside the objective and the sampling is measured apart, so that what is left is the optimiser's own.
"""

from __future__ import annotations

import contextlib
import io
import logging
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import robustforge as rf

AGENTS, POINTS, BUDGET = 20, 4, 2000
ROUNDS = BUDGET // (AGENTS * POINTS)


class Sampled:
    """The worst of four samples in the ball around a point, with the time it took."""

    def __init__(self, fun: Callable[[np.ndarray], float], problem: rf.Problem, seed: int) -> None:
        self.fun, self.radius = fun, float(problem.geometry.radii[0])
        self.rng = np.random.default_rng(seed)
        self.seconds, self.calls = 0.0, 0
        self.best, self.best_x = np.inf, np.zeros(problem.dimension)

    def __call__(self, x: Any) -> float:
        start = time.perf_counter()
        point = np.asarray(x, dtype=float)
        steps = self.rng.standard_normal((POINTS, point.size))
        steps *= self.radius * self.rng.random((POINTS, 1)) ** (1 / point.size) / np.linalg.norm(steps, axis=1)[:, None]
        worst = max(self.fun(point + step) for step in steps)
        self.calls += POINTS
        if worst < self.best:
            self.best, self.best_x = worst, point.copy()
        self.seconds += time.perf_counter() - start
        return worst


def run_pymoo(objective: Sampled, problem: rf.Problem, seed: int) -> None:
    from pymoo.algorithms.soo.nonconvex.pso import PSO
    from pymoo.core.problem import Problem as PymooProblem
    from pymoo.optimize import minimize

    class Wrapped(PymooProblem):  # type: ignore[misc]
        def _evaluate(self, x: Any, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            out["F"] = np.array([[objective(row)] for row in x])

    wrapped = Wrapped(n_var=problem.dimension, n_obj=1, xl=problem.lower, xu=problem.upper)
    minimize(wrapped, PSO(pop_size=AGENTS), ("n_eval", AGENTS * ROUNDS), seed=seed, verbose=False)


def run_nevergrad(objective: Sampled, problem: rf.Problem, seed: int) -> None:
    import nevergrad as ng

    space = ng.p.Array(init=(problem.lower + problem.upper) / 2).set_bounds(problem.lower, problem.upper)
    space.random_state.seed(seed)
    optimiser = ng.optimizers.ConfPSO(popsize=AGENTS)(parametrization=space, budget=AGENTS * ROUNDS)
    optimiser.minimize(objective)


def run_pyswarms(objective: Sampled, problem: rf.Problem, seed: int) -> None:
    from pyswarms.single import GlobalBestPSO

    np.random.seed(seed)
    options = {"c1": 1.5, "c2": 1.5, "w": 0.7}
    swarm = GlobalBestPSO(AGENTS, problem.dimension, options, bounds=(problem.lower, problem.upper))
    swarm.optimize(lambda xs: np.array([objective(x) for x in xs]), iters=ROUNDS, verbose=False)


def run_pycma(objective: Sampled, problem: rf.Problem, seed: int) -> None:
    import cma

    start = np.random.default_rng(seed).uniform(problem.lower, problem.upper)
    options = {"popsize": AGENTS, "seed": seed + 1, "verbose": -9, "bounds": [list(problem.lower), list(problem.upper)]}
    strategy = cma.CMAEvolutionStrategy(start, 0.3 * float(problem.upper[0] - problem.lower[0]), options)
    for _ in range(ROUNDS):
        candidates = strategy.ask()
        strategy.tell(candidates, [objective(x) for x in candidates])


PEERS = {"pymoo PSO": run_pymoo, "nevergrad PSO": run_nevergrad, "pyswarms": run_pyswarms, "pycma": run_pycma}


def run_peer(name: str, problem: rf.Problem, fun: Callable[[np.ndarray], float], seed: int) -> tuple[Sampled, float]:
    """Run a peer; return its objective with what it found, and the seconds it took itself."""
    logging.disable(logging.CRITICAL)
    objective = Sampled(fun, problem, seed)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        PEERS[name](objective, problem, seed)
        wall = time.perf_counter() - start
    return objective, wall - objective.seconds
