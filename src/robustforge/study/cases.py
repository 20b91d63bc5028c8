"""The cases of the study: a champion for each problem and one for all, and comparators with fixed structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robustforge.components import Swarm
from robustforge.core.component import Component
from robustforge.representation import Grammar
from robustforge.representation.derivation_tree import nodes
from robustforge.representation.grammar import EXTENDED, LETTER_GRAMMAR
from robustforge.representation.letter import LETTER_FIELDS
from robustforge.representation.presets import heuristic
from robustforge.representation.restriction import grammar
from robustforge.robust_problem import Problem, Variant
from robustforge.robust_problem.problem import problem, problems

DIMENSIONS = (30, 100)
GENERAL = "general"
VARIANTS: tuple[Variant, ...] = ("shifted", "rotated", "shifted-rotated")

COMPARATORS = ("rpso", "rpso+dd", "rpso+leh", "rpso+dd+leh", "descent-directions", "leh")
"""The rPSO family, and the single-solution searches that it is based on."""

TUNED_ON = ("rastrigin", "multipeak-f1", "heaviside", "sphere")
"""The four problems on which comparators are tuned; the paper does not name its four."""


@dataclass(frozen=True)
class Case:
    """An evolution of the study.

    Attributes:
        dimension: Number of variables.
        target: A problem, "general" for all ten, or a comparator whose parameters are tuned.
    """

    dimension: int
    target: str

    @property
    def name(self) -> str:
        """Its name in stores and folders, e.g. "30d/rastrigin" or "30d/comparator/rpso+dd"."""
        return f"{self.dimension}d/{'comparator/' if self.is_comparator else ''}{self.target}"

    @property
    def second_stage(self) -> str:
        """The name of its second evolution in stores and folders, if it has one."""
        return f"{self.name}/sequel"  # persistent

    def contestant(self, family: str = "champion") -> str:
        """Return the name of its champion in tables and for `rf.heuristic`, e.g. "champion/30d/rastrigin".

        Args:
            family: The family of champions; comparators have their own.
        """
        return f"{'comparator' if self.is_comparator else family}/{self.dimension}d/{self.target}"

    @property
    def is_comparator(self) -> bool:
        """Whether the structure is fixed and only the numerical parameters are evolved."""
        return self.target in COMPARATORS

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Its problems."""
        if self.is_comparator:
            return originals(self.dimension, TUNED_ON)
        return originals(self.dimension) if self.target == GENERAL else originals(self.dimension, (self.target,))

    def comparator_grammar(self, interpretation: str) -> Grammar:
        """Return the grammar of a comparator: its structure, with all numerical parameters free.

        Args:
            interpretation: The grammar whose interpretation of the paper a swarm has; for "letter", its own.
        """
        is_letter = interpretation == LETTER_GRAMMAR and isinstance(heuristic(self.target).outer, Swarm)
        return _structure(self.target, LETTER_GRAMMAR if is_letter else EXTENDED)


def champions() -> tuple[Case, ...]:
    """Return the 22 cases of the paper: those of 30 variables, then the general case of 100, then its single ones."""
    small, large = ([Case(dimension, name) for name in problems()] for dimension in DIMENSIONS)
    return (*small, Case(DIMENSIONS[0], GENERAL), Case(DIMENSIONS[1], GENERAL), *large)


def comparators() -> tuple[Case, ...]:
    """Return the cases of the comparators, six in each dimension."""
    return tuple(Case(dimension, name) for dimension in DIMENSIONS for name in COMPARATORS)


def originals(dimension: int, names: tuple[str, ...] = problems()) -> tuple[Problem, ...]:
    """Return test problems as they are in the paper."""
    return tuple(problem(name, dimension) for name in names)


def variants(dimension: int, seeds: tuple[int, ...]) -> tuple[Problem, ...]:
    """Return all test problems shifted, rotated, and both, by these seeds."""
    return tuple(problem(name, dimension, kind, seed) for kind in VARIANTS for name in problems() for seed in seeds)


def _structure(name: str, base: str) -> Grammar:
    """Return the grammar of heuristics with the components and switches of a preset, in a named grammar."""
    only: dict[str, str] = {}
    fix: dict[str, Any] = {}
    for path, field, value in nodes(heuristic(name)):
        if isinstance(value, Component):
            slot = value.slot()
            if slot is not None:
                only[slot.__name__] = value.title
        elif field.choices and path[0] != "interpretation" and (base == EXTENDED or field.name not in LETTER_FIELDS):
            fix[field.name] = value
    return grammar(base, only=only, fix=fix)
