"""`analyse`: which components the evolved heuristics have, and how much each matters, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from robustforge.analysis import component_tables, effects
from robustforge.analysis.dataset import EvolutionRecord
from robustforge.analysis.loader import read_dataset
from robustforge.arguments import former_attribute, named_arguments
from robustforge.tables import Table


@dataclass(frozen=True)
class Analysis:
    """The result of `analyse`: components of the heuristics of some evolutions, pooled.

    Attributes:
        evolutions: The evolutions.
    """

    evolutions: tuple[EvolutionRecord, ...]

    outcomes = former_attribute("outcomes", "evolutions")

    def proportions(self) -> Table:
        """Return the proportion of each alternative among all heuristics, and in the top third of each evolution."""
        return component_tables.proportions(self.evolutions)

    def deciles(self, component: str) -> Table:
        """Return the proportion of each alternative of a component in each decile, from the best to the worst."""
        return component_tables.deciles(self.evolutions, component)

    def best(self) -> Table:
        """Return the components of the champions."""
        return component_tables.best_components(self.evolutions)

    def cross(self, first: str, second: str, top: bool = True) -> Table:
        """Return how often the alternatives of two components occur together, in the top third or among all."""
        return component_tables.cross_table(self.evolutions, first, second, top)

    def effects(self) -> Table:
        """Return the fraction of the variance of ranks that each component explains, with 90% bootstrap intervals."""
        return effects.effects(self.evolutions)

    def pairs(self) -> Table:
        """Return the fraction of the variance that interactions of two components explain, the largest first."""
        return effects.pairs(self.evolutions)


@named_arguments(place="path")
def analyse(path: str | Path, names: Sequence[str] = ()) -> Analysis:
    """Analyse the evolutions in a store or a results folder.

    Args:
        path: The store or the folder.
        names: Names of the evolutions; by default all. Analyse those with different numbers of variables separately.

    Example:
        >>> import os, tempfile
        >>> import robustforge as rf
        >>> path = os.path.join(tempfile.mkdtemp(), "runs.db")
        >>> small = dict(population=9, generations=2, repeats=2, budget=60, samples=20, final_repeats=2)
        >>> _ = rf.evolve(rf.problem("sphere", 2), store=path, name="first", **small)
        >>> table = rf.analyse(path).proportions()
        >>> sum(row["all"] for row in table if row["component"] == "network")
        1.0
    """
    return Analysis(read_dataset(path, names).evolutions)
