"""The operators of genetic programming on derivation trees (Section 4.3 of the paper).

Crossover joins two parents at a crossover point (the paper's cut point) that both have: the subtree below it comes from
the first, everything else from the second. Mutation replaces the subtree below a point by a new random derivation.
Parameter mutation, which the paper does not have, perturbs numerical parameters of a child. Every resulting tree is a
valid heuristic.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robustforge.errors import EvolutionError
from robustforge.evolution.settings import Settings
from robustforge.representation import Grammar, Heuristic
from robustforge.representation.derivation_tree import Path, branch, replaced

_MAX_TRIES = 1000
"""Random derivations per heuristic of the initial population before the grammar counts as too small."""


def crossover(below: Heuristic, above: Heuristic, point: Path) -> Heuristic:
    """Return the tree that equals one parent below the crossover point and the other everywhere else."""
    return replaced(above, point, branch(below, point))


def mutate(tree: Heuristic, point: Path, grammar: Grammar, rng: np.random.Generator) -> Heuristic:
    """Return the tree with a new random derivation below a crossover point."""
    return replaced(tree, point, grammar.derive_field(grammar.field_at(point, tree), rng))


def initial_population(settings: Settings, grammar: Grammar, rng: np.random.Generator) -> list[Heuristic]:
    """Return the initial heuristics of the settings, and random ones, all distinct.

    Raises:
        EvolutionError: The grammar has too few heuristics.
    """
    size, population = settings.initial_size, dict.fromkeys(settings.initial_heuristics)
    for _ in range(_MAX_TRIES * size):
        if len(population) == size:
            return list(population)
        population[grammar.random(rng)] = None
    raise EvolutionError(
        "a grammar must have at least as many heuristics as the population",
        f"found only {len(population)} for a population of {size}",
        "Relax the restrictions, or reduce the population",
    )


def next_generation(
    best_first: Sequence[Heuristic], settings: Settings, grammar: Grammar, rng: np.random.Generator
) -> list[Heuristic]:
    """Return the next generation: the elites, and children of parents selected by tournaments.

    A duplicate would be run on the same seeds as the original, so it is mutated until it is distinct,
    whatever the mutation probability.
    """
    population = dict.fromkeys(best_first[: settings.elites])
    while len(population) < settings.population:
        child = _child(best_first, settings, grammar, rng)
        while child in population:  # ends: the initial population has shown that the grammar has enough trees
            child = mutate(child, _random_point(grammar.crossover_points_of(child), rng), grammar, rng)
        population[child] = None
    return list(population)


def _child(
    best_first: Sequence[Heuristic], settings: Settings, grammar: Grammar, rng: np.random.Generator
) -> Heuristic:
    below, above = (best_first[_tournament(len(best_first), settings.tournament_size, rng)] for _ in range(2))
    point = _random_point(grammar.crossover_points_of(below, above), rng)
    child = crossover(below, above, point)
    if rng.random() < settings.mutation_probability:
        other_points = [other for other in grammar.crossover_points_of(child) if other != point] or [point]
        child = mutate(child, _random_point(other_points, rng), grammar, rng)
    if settings.parameter_mutation and rng.random() < settings.parameter_mutation:
        child = grammar.mutate_parameters(child, rng)
    return child


def _tournament(count: int, size: int, rng: np.random.Generator) -> int:
    """Return the rank of the winner of a tournament, from 0 for the best to `count` - 1."""
    return int(rng.integers(count, size=size).min())


def _random_point(points: Sequence[Path], rng: np.random.Generator) -> Path:
    return points[int(rng.integers(len(points)))]
