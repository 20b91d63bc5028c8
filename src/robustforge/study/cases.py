"""What the study breeds: a champion for each problem and for all at once, and comparators with fixed structures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robustforge.core.component import Component
from robustforge.heuristic import Grammar, grammar, heuristic
from robustforge.heuristic.tree import nodes
from robustforge.problem import Problem, Variant, problem, problems

DIMENSIONS = (30, 100)
GENERAL = "general"
VARIANTS: tuple[Variant, ...] = ("shifted", "rotated", "shifted-rotated")

COMPARATORS = ("rpso", "rpso+dd", "rpso+leh", "rpso+dd+leh", "descent-directions", "leh")
"""The rPSO family, and the single-solution searches that it comes from."""

TUNED_ON = ("rastrigin", "multipeak-f1", "heaviside", "sphere")
"""The four problems that comparators are tuned on; which four the paper's were is not said there."""


@dataclass(frozen=True)
class Case:
    """An evolution of the study.

    Attributes:
        dimension: Number of variables.
        target: A problem, "general" for all ten, or a comparator whose numbers are tuned.
    """

    dimension: int
    target: str

    @property
    def name(self) -> str:
        """What it is called in stores and folders, e.g. "30d/rastrigin" or "30d/comparator/rpso+dd"."""
        return f"{self.dimension}d/{'comparator/' if self.is_comparator else ''}{self.target}"

    @property
    def sequel(self) -> str:
        """What a further evolution for the same is called."""
        return f"{self.name}/sequel"

    @property
    def contestant(self) -> str:
        """What its outcome is called in tables and by `rf.heuristic`, e.g. "champion/30d/rastrigin"."""
        kind = "comparator" if self.is_comparator else "champion"
        return f"{kind}/{self.dimension}d/{self.target}"

    @property
    def is_comparator(self) -> bool:
        """Whether the structure is fixed and only the numbers are searched."""
        return self.target in COMPARATORS

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What it is bred for."""
        if self.is_comparator:
            return originals(self.dimension, TUNED_ON)
        return originals(self.dimension) if self.target == GENERAL else originals(self.dimension, (self.target,))

    @property
    def grammar(self) -> Grammar:
        """What it is bred from: the paper's grammar, or for a comparator its structure with all numbers open."""
        return _structure(self.target) if self.is_comparator else grammar("paper")


def champions() -> tuple[Case, ...]:
    """Return the 22 cases of the paper: 30 variables first, then the general case of 100, then its single ones."""
    small, large = ([Case(dimension, name) for name in problems()] for dimension in DIMENSIONS)
    return (*small, Case(DIMENSIONS[0], GENERAL), Case(DIMENSIONS[1], GENERAL), *large)


def comparators() -> tuple[Case, ...]:
    """Return the comparators, six in each dimension."""
    return tuple(Case(dimension, name) for dimension in DIMENSIONS for name in COMPARATORS)


def originals(dimension: int, names: tuple[str, ...] = problems()) -> tuple[Problem, ...]:
    """Return test problems as they are in the paper."""
    return tuple(problem(name, dimension) for name in names)


def variants(dimension: int, seeds: tuple[int, ...]) -> tuple[Problem, ...]:
    """Return all test problems shifted, rotated, and both, by these seeds."""
    return tuple(problem(name, dimension, kind, seed) for kind in VARIANTS for name in problems() for seed in seeds)


def _structure(name: str) -> Grammar:
    """Return the grammar that keeps the alternatives, words and switches of a ready-made heuristic."""
    only: dict[str, str] = {}
    fix: dict[str, Any] = {}
    for _, field, value in nodes(heuristic(name)):
        if isinstance(value, Component):
            slot = value.slot()
            if slot is not None:
                only[slot.__name__] = value.title
        elif field.choices:
            fix[field.name] = value
    return grammar("extended", only=only, fix=fix)
