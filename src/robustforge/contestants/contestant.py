"""`Contestant`: an optimiser in an assessment; `AskTell` adapts any optimiser with an ask-and-tell interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from robustforge.arguments import former_attribute, named_arguments
from robustforge.engine.batch_evaluation import Objective
from robustforge.engine.initial_state import checked_budget
from robustforge.engine.optimizer import failure_error
from robustforge.errors import AssessmentError
from robustforge.robust_problem import Problem

Floats = npt.NDArray[np.float64]


class Search(Protocol):
    """An optimiser running on one problem."""

    def ask(self) -> Floats:
        """Return the points to be evaluated (k, n); empty (0, n) to end the search."""

    def tell(self, values: Floats) -> None:
        """Receive the values of the points returned by the last `ask` (k,)."""

    @property
    def design(self) -> Floats | None:
        """The incumbent design (n,); `None` if there is none yet."""


@dataclass(frozen=True)
class SearchResult:
    """The result of a contestant's run.

    Attributes:
        x: The returned design (n,).
        nfev: Number of evaluations.
        checkpoint_designs: The incumbent design at each checkpoint; `None` where there was none yet.
    """

    x: Floats
    nfev: int
    checkpoint_designs: tuple[Floats | None, ...]


@dataclass(frozen=True)
class Contestant(ABC):
    """An optimiser that takes part in an assessment.

    Attributes:
        name: Name in tables.
        budget: Its own number of evaluations, if it differs from that of the assessment.
        identity: Identifies it in a store; by default it is identified by its name.
        fixed: Whether the same identity always gives the same runs, so that stored ones need not be checked.
        portable: Whether its runs are the same to the bit on every CPU. Those of an optimiser that calls BLAS or LAPACK
            are not, so that stored ones cannot be checked.
    """

    name: str
    budget: int | None = field(default=None, kw_only=True)
    identity: str = field(default="", kw_only=True)
    fixed: bool = field(default=False, kw_only=True)
    portable: bool = field(default=True, kw_only=True)

    @property
    def id(self) -> str:
        """Identifies it in a store; that of a user's optimiser differs from all of ours."""
        return self.identity or f"own {self.name}"

    def __post_init__(self) -> None:
        if self.budget is not None:
            checked_budget(self.budget)

    @abstractmethod
    def run(self, problem: Problem, budget: int, seed: int, checkpoints: Sequence[int]) -> SearchResult:
        """Search for a robust design, and record the incumbent at checkpoints.

        Args:
            problem: The problem.
            budget: Number of evaluations.
            seed: Decides everything that is random.
            checkpoints: Numbers of evaluations, in ascending order.
        """


@dataclass(frozen=True)
class AskTell(Contestant):
    """An optimiser with an ask-and-tell interface.

    Args:
        name: Name in tables.
        factory: A function of the problem, the budget and a seed that returns a `Search`. It is called in worker
            threads, so it must use its own random generator.
        budget: Its own number of evaluations, if it differs from that of the assessment.

    Example:
        >>> import numpy as np
        >>> import robustforge as rf
        >>> class Guess:
        ...     def __init__(self, problem, budget, seed):
        ...         self.design = np.random.default_rng(seed).uniform(problem.lower, problem.upper)
        ...     def ask(self):
        ...         return np.empty((0, 2))
        >>> found = rf.assess(rf.AskTell("guess", Guess), rf.problem("sphere", 2), runs=3, samples=100)
        >>> len(found.runs), found.runs[0].nfev
        (3, 0)
    """

    factory: Callable[[Problem, int, int], Search]

    begin = former_attribute("begin", "factory")

    def run(self, problem: Problem, budget: int, seed: int, checkpoints: Sequence[int]) -> SearchResult:
        """Ask, evaluate and tell; a batch that would exceed the budget ends the search."""
        search = self.factory(problem, budget, seed)
        designs: list[Floats | None] = []
        nfev = 0
        while len(points := search.ask()) and nfev + len(points) <= budget:
            search.tell(_values(problem, points))
            nfev += len(points)
            while len(designs) < len(checkpoints) and checkpoints[len(designs)] <= nfev:
                designs.append(None if search.design is None else _checked_design(search.design, problem))
        if search.design is None:
            raise RuntimeError(f"{self.name} has no design after {nfev} of {budget} evaluations")
        x = _checked_design(search.design, problem)
        return SearchResult(x, nfev, (*designs, *(x for _ in range(len(checkpoints) - len(designs)))))


AskTell.__init__ = named_arguments(begin="factory")(AskTell.__init__)  # type: ignore[method-assign]


def _checked_design(given: Any, problem: Problem) -> Floats:
    """Return a copy of a design, clipped to the box."""
    design = np.array(given, dtype=np.float64)
    if design.shape != (problem.dimension,) or not np.isfinite(design).all():
        raise AssessmentError(
            f"a design must be {problem.dimension} finite numbers", f"got {np.array2string(design, threshold=6)}"
        )
    return np.clip(design, problem.lower, problem.upper)


def _values(problem: Problem, points: Floats) -> Floats:
    """Return the values of points (k,); raise if one is NaN or -inf."""
    collected: list[float] = []
    Objective(problem, (), problem.vectorized, strict=True).values(np.array(points, dtype=np.float64), collected)
    values = np.array(collected)
    failed = np.flatnonzero(np.isnan(values) | (values == -np.inf))
    if failed.size:
        raise failure_error(np.array(points[failed[0]]), "NaN or -inf")
    return values
