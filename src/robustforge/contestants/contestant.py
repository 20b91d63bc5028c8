"""What a contestant is: a name, perhaps a budget of its own, and a way to search by ask and tell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from robustforge.engine.objective import Objective
from robustforge.engine.optimizer import failure_error
from robustforge.engine.setup import checked_budget
from robustforge.errors import AssessmentError
from robustforge.problem import Problem

Floats = npt.NDArray[np.float64]


class Search(Protocol):
    """An optimiser at work on one problem."""

    def ask(self) -> Floats:
        """Return points that are to be evaluated (k, n); none (0, n) if it has ended."""

    def tell(self, values: Floats) -> None:
        """Take the values of the points that were last asked for (k,)."""

    @property
    def design(self) -> Floats | None:
        """The design that it would return now (n,); `None` if it has none yet."""


@dataclass(frozen=True)
class Finish:
    """What a search has come to.

    Attributes:
        x: The design that it returns (n,).
        nfev: Evaluations that it used.
        designs: The design at hand after each of the marks; `None` where there was none yet.
    """

    x: Floats
    nfev: int
    designs: tuple[Floats | None, ...]


@dataclass(frozen=True)
class Contestant(ABC):
    """An optimiser that takes part in an assessment.

    Attributes:
        name: What it is called in tables.
        budget: Evaluations of its own, if it is not to have those of all others.
        identity: What tells it from all others in a store; if it is empty, that follows from the name.
        fixed: Whether the same identity always gives the same runs, so that stored ones need not be checked.
    """

    name: str
    budget: int | None = field(default=None, kw_only=True)
    identity: str = field(default="", kw_only=True)
    fixed: bool = field(default=False, kw_only=True)

    @property
    def id(self) -> str:
        """What it is called in a store; an optimiser of the user's cannot be taken for one of ours."""
        return self.identity or f"own {self.name}"

    def __post_init__(self) -> None:
        if self.budget is not None:
            checked_budget(self.budget)

    @abstractmethod
    def run(self, problem: Problem, budget: int, seed: int, marks: Sequence[int]) -> Finish:
        """Search with so many evaluations, and take note of the design at hand after some of them.

        Args:
            problem: What is searched.
            budget: Evaluations in all.
            seed: Decides the search.
            marks: After how many evaluations, in ascending order.
        """


@dataclass(frozen=True)
class AskTell(Contestant):
    """An optimiser with `ask` and `tell`, of yours or anybody's.

    Args:
        name: What it is called in tables.
        begin: Begins a search: a function of the problem, the budget and a seed that returns a `Search`. It is called
            in worker threads, so it must draw its random numbers from a generator of its own.
        budget: Evaluations of its own, if it is not to have those of all others.

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

    begin: Callable[[Problem, int, int], Search]

    def run(self, problem: Problem, budget: int, seed: int, marks: Sequence[int]) -> Finish:
        """Ask, evaluate and tell; a batch that would exceed the budget ends the search."""
        search = self.begin(problem, budget, seed)
        designs: list[Floats | None] = []
        spent = 0
        while len(points := search.ask()) and spent + len(points) <= budget:
            search.tell(_values(problem, points))
            spent += len(points)
            while len(designs) < len(marks) and marks[len(designs)] <= spent:
                designs.append(None if search.design is None else _checked(search.design, problem))
        if search.design is None:
            raise RuntimeError(f"{self.name} has no design after {spent} of {budget} evaluations")
        last = _checked(search.design, problem)
        return Finish(last, spent, (*designs, *(last for _ in range(len(marks) - len(designs)))))


def _checked(given: Any, problem: Problem) -> Floats:
    """Return a copy of a design in the box, or raise if it is none."""
    design = np.array(given, dtype=np.float64)
    if design.shape != (problem.dimension,) or not np.isfinite(design).all():
        raise AssessmentError(
            f"a design must be {problem.dimension} finite numbers", f"got {np.array2string(design, threshold=6)}"
        )
    return np.clip(design, problem.lower, problem.upper)


def _values(problem: Problem, points: Floats) -> Floats:
    found: list[float] = []
    Objective(problem, (), problem.vectorized, strict=True).values(np.array(points, dtype=np.float64), found)
    values = np.array(found)
    failed = np.flatnonzero(np.isnan(values) | (values == -np.inf))
    if failed.size:
        raise failure_error(np.array(points[failed[0]]), "NaN or -inf")
    return values
