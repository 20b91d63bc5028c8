"""The result of a search on a user's problem, in the user's names and units, with the user's sign."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robustforge.engine import RobustResult
from robustforge.engine.attack_summary import summarise_attack
from robustforge.simulator.problem_file import ProblemFile


@dataclass(frozen=True)
class Solution:
    """The recommended design and its values.

    Attributes:
        design: The design.
        nominal: Its nominal value, if it is built exactly; NaN until the search is over.
        worst: The worst value found within its tolerances.
        worst_point: The point of that value.
        estimate: The search's own estimate of the worst case.
        runs: Runs of the model.
        failures: Number of failed runs.
        success: Whether the search is over and has a design.
        message: Why the search ended.
        found: Whether there is a design: some candidate has a robust value.
        attack_runs: Runs of the attack that closed the search, in the tolerances of the design.
        attack: What they found, in words; empty without an attack.
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
    attack_runs: int
    attack: str


def solution_from_result(file: ProblemFile, result: RobustResult) -> Solution:
    """Return the result of a search in the user's names and units, with the user's sign."""
    has_worst = not math.isnan(result.fun)
    runs = int(result.attack_runs) if result.success else 0
    return Solution(
        design=file.variables.decode(result.x),
        nominal=file.sign * float(result.nominal_fun),
        worst=file.sign * float(result.fun),
        worst_point=file.variables.decode(result.worst_x) if has_worst else {},
        estimate=file.sign * float(result.estimate),
        runs=int(result.nfev),
        failures=int(result.failures),
        success=bool(result.success),
        message=str(result.ending),
        found=not math.isnan(result.estimate),
        attack_runs=runs,
        attack=summarise_attack(result.fun, result.estimate, runs, "run", file.sign) if runs else "",
    )
