"""Pseudocode: what the lines of all components have in common, and how lines are indented, numbered and wrapped."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robustforge.core.interpretation import Interpretation

WIDTH = 78
"""Columns of a pseudocode."""

UNIFORM = "x_j := uniform in X"

_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Frame:
    """Context for the pseudocode of an outer search.

    Attributes:
        facts: Numbers that follow from the budget.
        values: Lines: how candidates get their values.
        points: Lines: how an inner search chooses its points, and when it ends early.
        pace: What an inner search does per round: a point, or a generation.
        inner_budget: Evaluations of a complete inner search.
        n_dorm: Whether the history may make an inner search unnecessary.
        n_pbest: Whether values are raised to the worst neighbour in the history.
        stopping: Whether inner searches are stopped early.
        rules: The interpretation of the paper.
    """

    facts: Mapping[str, Any]
    values: Sequence[str]
    points: Sequence[str]
    pace: str
    inner_budget: int
    n_dorm: bool
    n_pbest: bool
    stopping: bool
    rules: Interpretation

    @property
    def search(self) -> list[str]:
        """The inner search of a single candidate."""
        return [f"inner search with {self.inner_budget} points, or as many as are left:", *indented(self.points)]

    def completed(self, personal_best: str) -> list[str]:
        """Return how the value of a completed inner search is used.

        Args:
            personal_best: The line that updates the personal best; empty if there is none.
        """
        source = "of H near x_j, from this search or any other" if self.n_pbest else "of this search"
        lines = [f"F(x_j) := the highest f {source}", personal_best, "if F(x_j) < F*: x* := x_j; F* := F(x_j)"]
        return [f"if all its {self.inner_budget} points were evaluated:", *indented(filter(None, lines))]


def indented(lines: Iterable[str], levels: int = 1) -> list[str]:
    """Return lines indented by some levels."""
    return ["  " * levels + line for line in lines]


def numbered(lines: Iterable[str]) -> list[str]:
    """Return lines with numbers; long ones are wrapped with a hanging indent."""
    found = []
    for number, line in enumerate(lines, 1):
        margin = " " * (4 + len(line) - len(line.lstrip()))
        whole = re.sub(r" (:?=) | (?=f\()", lambda match: match[0].replace(" ", _NO_BREAK_SPACE), line.strip())
        wrapped = textwrap.wrap(
            whole, WIDTH, initial_indent=margin, subsequent_indent=margin + "  ", break_on_hyphens=False
        )
        found += [f"{number:>2}{wrapped[0][2:]}", *wrapped[1:]]
    return [line.replace(_NO_BREAK_SPACE, " ") for line in found]
