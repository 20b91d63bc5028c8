"""What a search on a user's problem came to, in the user's own names, units and sense."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult

from robustforge.model.problem_file import ProblemFile

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """The design to build, and what is known of it.

    Attributes:
        design: The design.
        nominal: What it is worth if it is built exactly; NaN until the search has ended.
        worst: The worst that is known within its tolerances.
        worst_point: Where that is.
        estimate: What the search itself took for the worst case.
        runs: Runs of the model.
        failures: How many of them had no value.
        success: Whether the search ended, with a design.
        message: How it ended, in words.
        found: Whether there is a design: some candidate has a robust value.
    """

    design: dict[str, float]
    nominal: float
    worst: float
    worst_point: dict[str, float]
    estimate: float
    runs: int
    failures: int
    success: bool
    message: str
    found: bool


def answer_of(file: ProblemFile, result: OptimizeResult) -> Answer:
    """Return what a search found, in the user's names, units and sense."""
    there = not math.isnan(result.fun)
    return Answer(
        design=file.variables.decode(result.x),
        nominal=file.sign * float(result.nominal_fun),
        worst=file.sign * float(result.fun),
        worst_point=file.variables.decode(result.worst_x) if there else {},
        estimate=file.sign * float(result.estimate),
        runs=int(result.nfev),
        failures=int(result.failures),
        success=bool(result.success),
        message=str(result.ending),
        found=not math.isnan(result.estimate),
    )
