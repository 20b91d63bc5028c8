"""The operators of genetic programming on derivation trees (Section 4.3 of the paper).

Two parents are combined at a cut point that both have: what is below it comes from the first, everything else from the
second. A mutant has a new derivation below a cut point. Beyond the paper, numbers of a child may be shifted a
little. Every tree that comes out is a heuristic that can be run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robustforge.errors import EvolutionError
from robustforge.evolution.settings import Settings
from robustforge.heuristic import Grammar, Heuristic
from robustforge.heuristic.tree import Path, branch, replaced

_TRIES = 1000


def combine(below: Heuristic, above: Heuristic, cut: Path) -> Heuristic:
    """Return the tree that equals one parent below the cut point and the other everywhere else."""
    return replaced(above, cut, branch(below, cut))


def mutate(tree: Heuristic, cut: Path, grammar: Grammar, rng: np.random.Generator) -> Heuristic:
    """Return the tree with a new random derivation below the cut point."""
    return replaced(tree, cut, grammar.derive_field(grammar.field_at(cut, tree), rng))


def first_population(settings: Settings, grammar: Grammar, rng: np.random.Generator) -> list[Heuristic]:
    """Return what is started with, and random heuristics, no two of them equal.

    Raises:
        EvolutionError: The grammar does not have so many.
    """
    size, found = settings.first_size, dict.fromkeys(settings.start)
    for _ in range(_TRIES * size):
        if len(found) == size:
            return list(found)
        found[grammar.random(rng)] = None
    raise EvolutionError(
        "a grammar must have as many heuristics as the population",
        f"only {len(found)} were found for a population of {size}",
        "Restrict the grammar less, or lower the population",
    )


def breed(
    best_first: Sequence[Heuristic], settings: Settings, grammar: Grammar, rng: np.random.Generator
) -> list[Heuristic]:
    """Return the next generation: the elites, and children of parents that won a tournament.

    A child that is there already would be run on the same seeds as its twin, so it is mutated until it is another,
    whatever the chance of a mutation.
    """
    following = dict.fromkeys(best_first[: settings.elites])
    while len(following) < settings.population:
        child = _child(best_first, settings, grammar, rng)
        while child in following:  # ends: the first population has shown that the grammar has enough trees
            child = mutate(child, _drawn(grammar.cuts_of(child), rng), grammar, rng)
        following[child] = None
    return list(following)


def _child(
    best_first: Sequence[Heuristic], settings: Settings, grammar: Grammar, rng: np.random.Generator
) -> Heuristic:
    one, other = (best_first[_winner(len(best_first), settings.tournament, rng)] for _ in range(2))
    cut = _drawn(grammar.cuts_of(one, other), rng)
    child = combine(one, other, cut)
    if rng.random() < settings.mutation:
        others = [point for point in grammar.cuts_of(child) if point != cut] or [cut]
        child = mutate(child, _drawn(others, rng), grammar, rng)
    if settings.refinement and rng.random() < settings.refinement:
        child = grammar.varied(child, rng)
    return child


def _winner(count: int, size: int, rng: np.random.Generator) -> int:
    """Return the standing of the winner of a tournament among so many, 0 being the best."""
    return int(rng.integers(count, size=size).min())


def _drawn(cuts: Sequence[Path], rng: np.random.Generator) -> Path:
    return cuts[int(rng.integers(len(cuts)))]
