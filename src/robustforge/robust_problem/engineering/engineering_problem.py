"""What an engineering problem consists of: a formula of a fixed number of variables, with its bounds and its set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from robustforge.robust_problem.uncertainty_sets import UncertaintySet

Floats = npt.NDArray[np.float64]
EngineeringSuite = Literal["engineering", "engineering-held-out"]
Trait = Literal["additive", "multimodal", "kinks", "cliffs", "crashes"]

TRAINING: EngineeringSuite = "engineering"
CHECKING: EngineeringSuite = "engineering-held-out"


@dataclass(frozen=True)
class EngineeringProblem:
    """A test problem as engineers have it: few variables, each with its own range and tolerance.

    Attributes:
        name: The name in `rf.problem`.
        suite: "engineering" for those on which defaults may be chosen, "engineering-held-out" for those that only check
            the choice.
        formula: The compiled function of a point and its data, which are empty.
        bounds: Lower and upper bound of each variable.
        uncertainty: The uncertainty set.
        about: One line on what it is.
        traits: What makes it hard, besides its variables: a sum of functions of one variable each ("additive"), several
            optima, the maximum of several functions ("kinks"), limits added as steep penalties ("cliffs"), +inf in a
            part of the box ("crashes").
    """

    name: str
    suite: EngineeringSuite
    formula: Callable[[Floats, Floats], float]
    bounds: tuple[tuple[float, float], ...]
    uncertainty: UncertaintySet
    about: str
    traits: tuple[Trait, ...] = ()

    @property
    def dimension(self) -> int:
        """The number of variables."""
        return len(self.bounds)
