"""What a closing attack found, in words: how hard the design was attacked, and how much worse it is than believed."""

from __future__ import annotations

import math

from robustforge.formatting import at_precision, count, finite_range, percent

MAX_PERCENTAGE_RISE = 10.0
"""Above this increase, or if the sign changes, the two values are shown instead of a percentage."""


def rise_of(worst: float, believed: float) -> float:
    """Return by how much a value is worse than was believed, as a fraction; 0 if it is not."""
    if not worst > believed:
        return 0.0
    return abs(worst - believed) / abs(believed) if believed and math.isfinite(believed) else math.inf


def summarise_attack(worst: float, believed: float, runs: int, unit: str = "evaluation", sign: float = 1.0) -> str:
    """Return how hard a design was attacked, and what that found, as a phrase.

    Args:
        worst: The worst value found, minimised.
        believed: What the search believed it to be before.
        runs: Evaluations of the attack.
        unit: What one is called.
        sign: -1 where values are shown negated.

    Example:
        >>> summarise_attack(1.31, 1.0, 20)
        'attacked by 20 evaluations: 31% worse than the search believed'
    """
    rise = rise_of(worst, believed)
    attacked = f"attacked by {count(runs, unit)}: "
    if not math.isfinite(believed):
        return f"attacked by {count(runs, unit)}"
    if not rise:
        return f"{attacked}no worse than the search believed"
    if worst == math.inf:
        return f"{attacked}infeasible within the tolerances"
    if rise <= MAX_PERCENTAGE_RISE and worst * believed > 0:
        return f"{attacked}{percent(rise)} worse than the search believed"
    width = finite_range(worst, believed)
    found, expected = (at_precision(sign * value, width, 4) for value in (worst, believed))
    return f"{attacked}{found}, where the search believed {expected}"
