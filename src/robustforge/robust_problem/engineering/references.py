"""Reference values of the engineering problems: what a regret of 0 and of 100% is.

They are computed by `benchmarks/engineering_references.py` and stored in `references.csv`.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("references.csv")

WORST_REGRET = 200.0
"""Regret of a design whose neighbourhood has failures, and the largest of all, in percent."""


@dataclass(frozen=True)
class Reference:
    """The worst cases of the best design known and of a random one.

    Attributes:
        best: The lowest worst case known.
        median: The median worst case of uniformly random designs; of those whose neighbourhood works, if some fail.
        working: Which share of the random designs has a neighbourhood that works.
        gap: By how much a design may be better at most, in percent of the difference between both, as estimated.
        x: The best design known.
    """

    best: float
    median: float
    working: float
    gap: float
    x: tuple[float, ...]

    def regret(self, worst: float) -> float:
        """Return the regret of a design with this worst case in percent: 0 for the best known, 100 for the median.

        Example:
            >>> Reference(best=2.0, median=4.0, working=1.0, gap=0.0, x=(0.5,)).regret(2.5)
            25.0
        """
        if not math.isfinite(worst):
            return WORST_REGRET
        return min(max(100.0 * (worst - self.best) / (self.median - self.best), 0.0), WORST_REGRET)


@cache
def references() -> dict[str, Reference]:
    """Return the reference of each engineering problem, by its name."""
    with _FILE.open(encoding="utf-8", newline="") as file:
        return {
            row["name"]: Reference(
                float(row["best"]),
                float(row["median"]),
                float(row["working"]),
                float(row["gap"]),
                tuple(float(each) for each in row["x"].split()),
            )
            for row in csv.DictReader(file)
        }
