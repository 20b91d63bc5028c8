"""`analyse`: what the best of the bred heuristics have in common, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from robustforge.analysis import components, effects
from robustforge.analysis.evidence import Outcome
from robustforge.analysis.sources import read_evidence
from robustforge.tables import Table


@dataclass(frozen=True)
class Analysis:
    """The components of the heuristics that some evolutions bred, pooled.

    Attributes:
        outcomes: The evolutions.
    """

    outcomes: tuple[Outcome, ...]

    def proportions(self) -> Table:
        """Return how often each alternative occurs, among all heuristics and among the best third of each evolution."""
        return components.proportions(self.outcomes)

    def deciles(self, component: str) -> Table:
        """Return how often each alternative of a component occurs from the best tenth to the worst."""
        return components.deciles(self.outcomes, component)

    def best(self) -> Table:
        """Return the components of the champions."""
        return components.best_components(self.outcomes)

    def cross(self, first: str, second: str, top: bool = True) -> Table:
        """Return how often the alternatives of two components go together, among the best third or among all."""
        return components.cross_table(self.outcomes, first, second, top)

    def effects(self) -> Table:
        """Return how much of the spread of places each component explains, with 90% bootstrap intervals."""
        return effects.effects(self.outcomes)

    def pairs(self) -> Table:
        """Return which pairs of components explain more together than each alone, the strongest first."""
        return effects.pairs(self.outcomes)


def analyse(place: str | Path, names: Sequence[str] = ()) -> Analysis:
    """Analyse the evolutions of a store, or of a folder of results.

    Args:
        place: The store or the folder.
        names: The evolutions that are wanted, all if none is named; those of problems with different numbers of
            variables are better analysed apart.

    Example:
        >>> import os, tempfile
        >>> import robustforge as rf
        >>> place = os.path.join(tempfile.mkdtemp(), "runs.db")
        >>> small = dict(population=9, generations=2, repeats=2, budget=60, samples=20, final_repeats=2)
        >>> _ = rf.evolve(rf.problem("sphere", 2), store=place, name="first", **small)
        >>> shares = rf.analyse(place).proportions()
        >>> sum(row["all"] for row in shares if row["component"] == "network")
        1.0
    """
    return Analysis(read_evidence(place, names).outcomes)
