"""`verify`: how bad a design really is, by many points of its uncertainty set and by an attack on it.

The sample is the re-estimate of the paper. In many variables a sample hardly ever meets the worst of a set, so the
attack, which climbs and divides and steps over cliffs, is the number to trust; it is never below the sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.core.random import Seed, stream
from robustforge.engine.known import as_known
from robustforge.engine.result import History
from robustforge.errors import ProblemError
from robustforge.problem import Problem
from robustforge.verification.neighbourhood import Neighbourhood
from robustforge.verification.worst import POINTS_WANTED, find_worst

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WorstCase:
    """The worst that was found around a design.

    Attributes:
        fun: The value.
        x: The point that has it, as it was evaluated (n,).
        nfev: How many evaluations it took to find.
    """

    fun: float
    x: Floats
    nfev: int


@dataclass(frozen=True, eq=False)
class Verification:
    """What a design is worth, as planned and at worst.

    Attributes:
        nominal_fun: f(x) of the design itself.
        sampled: The worst of points drawn uniformly from the uncertainty set.
        attacked: The worst that the attack found, never below the sample; `None` if there was none.
    """

    nominal_fun: float
    sampled: WorstCase
    attacked: WorstCase | None

    def __str__(self) -> str:
        lines = [
            f"as designed       {self.nominal_fun:.6g}",
            f"worst of sample   {self.sampled.fun:.6g}  ({self.sampled.nfev} points)",
        ]
        if self.attacked is not None:
            lines.append(f"worst by attack   {self.attacked.fun:.6g}  ({self.attacked.nfev} evaluations)")
        return "\n".join(lines)


def verify(
    problem: Problem,
    x: Any,
    samples: int = 1_000_000,
    rng: Seed = None,
    *,
    attack: bool = True,
    known: Any = None,
    cores: int | None = None,
) -> Verification:
    """Find out how bad a design can become within its uncertainty set.

    Args:
        problem: The problem that the design is for.
        x: The design, for instance the `x` of a result.
        samples: Points to draw uniformly from the set around it.
        rng: An int, a `SeedSequence` or a `Generator`: decides everything, whatever the number of threads.
        attack: Whether to attack as well, which takes some 10,000 to 100,000 evaluations.
        known: Earlier evaluations: the `history` of a result, or points (k, n) and their values (k,). The attack starts
            from those within the set, too, and its result is never below the worst of them.
        cores: How many cores a compiled objective may use; all, if nobody says.

    Returns:
        The value of the design itself, the worst of the sample, and the worst found by the attack.

    Raises:
        RobustforgeError: The call makes no sense; the message says why and what to do.
        ObjectiveError: The objective returned NaN or -inf; its `x` says where. A value of +inf is legal.

    Example:
        >>> import robustforge as rf
        >>> found = rf.verify(rf.problem("sphere", dimension=2), [20.0, 21.0], samples=1000, rng=1)
        >>> found.nominal_fun, round(found.attacked.fun, 6)
        (1.0, 4.0)
    """
    design = checked_design(problem, x)
    count = _checked_samples(samples)
    design = problem.to_scaled(design)
    neighbourhood = Neighbourhood(problem.scaled, design, cores)
    nominal = float(neighbourhood.evaluate(design[None])[0])
    values, points = _worst_of_sample(neighbourhood, count, stream(rng))
    sampled = WorstCase(float(values[0]), problem.from_scaled(points[0].copy()), count)
    if not attack:
        return Verification(nominal, sampled, None)
    points_known, values_known = known_within(neighbourhood, problem, known)
    values, points = _worst(np.append(values, values_known), np.concatenate([points, points_known]))
    target = find_worst(neighbourhood, np.concatenate([points, design[None]]))
    found = WorstCase(target.worst, problem.from_scaled(neighbourhood.place(target.where[None])[0]), target.nfev)
    for value, point in ((float(values[0]), problem.from_scaled(points[0])), (nominal, problem.from_scaled(design))):
        if value > found.fun:  # by a rounding error: the attack begins with these points
            found = WorstCase(value, point.copy(), target.nfev)
    return Verification(nominal, sampled, found)


def _worst_of_sample(neighbourhood: Neighbourhood, count: int, base: npt.NDArray[np.uint64]) -> tuple[Floats, Floats]:
    """Draw points, in blocks with a stream each, and return the worst few, the worst first: values and points."""
    entropy = [int(word) for word in base]

    def of_block(number: int) -> tuple[Floats, Floats]:
        size = min(neighbourhood.block, count - number * neighbourhood.block)
        own = stream(np.random.SeedSequence(entropy, spawn_key=(number,)))
        return neighbourhood.worst_drawn(size, own, POINTS_WANTED)

    values, points = np.empty(0), np.empty((0, neighbourhood.problem.dimension))
    for more, where in neighbourhood.on_all_cores(of_block, range(-(-count // neighbourhood.block))):
        values, points = _worst(np.concatenate([values, more]), np.concatenate([points, where]))
    return values, points


def _worst(values: Floats, points: Floats) -> tuple[Floats, Floats]:
    """Return the worst few, the worst first; of equal ones the first."""
    worst = np.argsort(-values, kind="stable")[:POINTS_WANTED]
    return values[worst], points[worst]


def known_within(neighbourhood: Neighbourhood, problem: Problem, known: Any) -> tuple[Floats, Floats]:
    """Return those earlier evaluations that lie in the set: points as the search sees them (k, n), and values (k,).

    Args:
        neighbourhood: The set around the design.
        problem: In whose units the earlier evaluations are.
        known: A history, points and their values, or `None`.
    """
    if isinstance(known, History):
        has_value = ~np.isnan(known.fun)
        known = known.x[has_value], known.fun[has_value]
    given = as_known(known, problem)
    points = problem.to_scaled(given.x)
    near = neighbourhood.holds(points)
    return points[near], given.values[near]


def checked_design(problem: Any, x: Any) -> Floats:
    """Return the design as an array, or raise if it is none of this problem."""
    if not isinstance(problem, Problem):
        raise ProblemError("`problem` must be a Problem", f"got {problem!r}", "Pass e.g. rf.problem('sphere')")
    n = problem.dimension
    try:
        design = np.array(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ProblemError("`x` must be an array of numbers", f"got {x!r}", f"Pass {n} numbers") from error
    if design.shape != (n,):
        raise ProblemError(
            "`x` must have one number per variable", f"its shape is {design.shape}, not ({n},)", f"Pass {n} numbers"
        )
    wrong = np.flatnonzero(~np.isfinite(design))
    if wrong.size:
        raise ProblemError("`x` must be finite", f"x[{wrong[0]}] is {design[wrong[0]]}", "Pass the design itself")
    (lower, upper), slack = problem.design_box, 1e-9 * (problem.upper - problem.lower)
    wrong = np.flatnonzero((design < lower - slack) | (design > upper + slack))
    if wrong.size:
        k = int(wrong[0])
        which = "shrunken bounds" if problem.outside == "shrink" else "bounds"
        raise ProblemError(
            f"`x` must be within the {which}",
            f"x[{k}] is {design[k]:g}, its bounds are ({lower[k]:g}, {upper[k]:g})",
            "Pass a design of this problem",
        )
    return design


def _checked_samples(samples: Any) -> int:
    if isinstance(samples, (int, np.integer)) and not isinstance(samples, bool) and samples >= 1:
        return int(samples)
    raise ProblemError("`samples` must be an integer of at least 1", f"got {samples!r}", "Pass e.g. samples=1_000_000")
