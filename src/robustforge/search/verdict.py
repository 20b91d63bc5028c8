"""What the worst value that a search reports is worth, by the attack on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robustforge.formatting import percent, spread, within
from robustforge.search.attack import Verified

LARGE = 0.05
"""A rise above this fraction of the worst value that the search knew is a warning."""

_PERCENTAGES = 10.0
"""A rise above this multiple, or through 0, is told by the two values: a percentage would say nothing."""


@dataclass(frozen=True)
class Verdict:
    """What an attack says about the worst value that a search reports.

    Attributes:
        kind: "confirmed" if the attack found nothing worse, or hardly; "warning" if it did; "neutral" if nobody knows.
        rise: How much worse, as a fraction of the value that the search knew; NaN if nobody knows.
        text: The same in words.
    """

    kind: str
    rise: float
    text: str


def verdict(found: Verified | None) -> Verdict:
    """Return what an attack says about the worst value of a search; `None` stands for no attack."""
    if found is None or not found.runs:
        return Verdict("neutral", math.nan, "Not attacked: no further runs have looked for a worse value.")
    runs = f"{found.runs:,} further run{'s' if found.runs != 1 else ''}"
    if math.isinf(found.worst):
        return Verdict("warning", _rise(found), _infeasible(found, runs))
    if found.failures == found.runs:
        return Verdict("neutral", math.nan, f"Not attacked: none of {runs} had a value.")
    rise = _rise(found)
    if not rise:
        return Verdict("confirmed", rise, f"The attack found nothing worse, in {runs}.")
    return Verdict("confirmed" if rise <= LARGE else "warning", rise, _worse(found, rise, runs))


def _rise(found: Verified) -> float:
    if found.worst == found.known:
        return 0.0
    return abs(found.worst - found.known) / abs(found.known) if found.known else math.inf


def _infeasible(found: Verified, runs: str) -> str:
    if math.isinf(found.known):
        return "A point within the tolerances is infeasible, and the search knew it."
    return f"The attack found an infeasible point within the tolerances, in {runs}; the search knew none."


def _worse(found: Verified, rise: float, runs: str) -> str:
    width = spread(found.nominal, found.known, found.worst)
    worst, known = (within(value, width, 4) for value in (found.worst, found.known))
    if rise > _PERCENTAGES or found.worst * found.known <= 0:
        return f"The attack found {worst} where the search believed {known}, in {runs}."
    return f"The attack found {percent(rise)} worse than the search believed: {worst} instead of {known}, in {runs}."
