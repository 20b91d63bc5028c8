"""The operators change what they say and nothing else, and reach everything."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import robustforge as rf
from robustforge.errors import EvolutionError
from robustforge.evolution.operators import breed, combine, first_population, mutate
from robustforge.evolution.settings import Settings
from robustforge.heuristic.grammar import kinds
from robustforge.heuristic.restriction import label
from robustforge.heuristic.tree import branch, nodes

PAPER = rf.grammar("paper")
EXTENDED = rf.grammar("extended")
NARROW = rf.grammar("paper", only={"network": ["Global", "Ring"]}, without=["leh"], fix={"group": 10})

grammars = st.sampled_from([PAPER, EXTENDED, NARROW])
seeds = st.integers(0, 2**32)


def tree(grammar, seed):
    return grammar.random(np.random.default_rng(seed))


def outside(heuristic, cut):
    """All leaves that are not below the cut."""
    return {
        path: value for path, field, value in nodes(heuristic) if not field.is_component and path[: len(cut)] != cut
    }


def below(heuristic, cut):
    return branch(heuristic, cut)


def valid(heuristic, grammar):
    return grammar.holds(heuristic) and rf.Heuristic.from_json(heuristic.to_json()) == heuristic


def types_above(heuristic, cut):
    """The alternatives chosen on the way to the cut and beside it."""
    return {
        path: type(value) for path, field, value in nodes(heuristic) if field.is_component and path[: len(cut)] != cut
    }


@given(grammars, seeds, seeds, st.data())
@settings(max_examples=150, deadline=None)
def test_a_child_equals_one_parent_below_the_cut_and_the_other_elsewhere(grammar, one, other, data):
    first, second = tree(grammar, one), tree(grammar, other)
    cut = data.draw(st.sampled_from(grammar.cut_points))
    child = combine(first, second, cut)
    assert below(child, cut) == below(first, cut)
    assert outside(child, cut) == outside(second, cut)
    assert types_above(child, cut) == types_above(second, cut)
    assert valid(child, grammar)


@given(grammars, seeds, seeds, st.data())
@settings(max_examples=150, deadline=None)
def test_a_mutant_equals_its_parent_outside_the_cut(grammar, seed, other, data):
    parent = tree(grammar, seed)
    cut = data.draw(st.sampled_from(grammar.cut_points))
    mutant = mutate(parent, cut, grammar, np.random.default_rng(other))
    assert outside(mutant, cut) == outside(parent, cut)
    assert types_above(mutant, cut) == types_above(parent, cut)
    assert valid(mutant, grammar)


def test_a_mutation_reaches_every_alternative_below_its_cut_evenly():
    rng = np.random.default_rng(1)
    parent = PAPER.random(rng)
    found = Counter()
    for _ in range(3000):
        found[mutate(parent, ("outer", "network"), PAPER, rng).outer.network.title] += 1
    assert len(found) == 7
    assert chisquare(list(found.values())).pvalue > 1e-4


@given(grammars, seeds, seeds)
def test_a_varied_tree_keeps_its_structure_and_stays_in_the_grammar(grammar, seed, other):
    before = tree(grammar, seed)
    after = grammar.varied(before, np.random.default_rng(other))
    assert valid(after, grammar)
    for (path, field, old), (place, _, new) in zip(nodes(before), nodes(after), strict=True):
        assert path == place
        if field.is_component:
            assert type(new) is type(old)
        elif field.range is None:
            assert new == old


def test_a_third_of_the_numbers_is_shifted_a_little():
    rng, shifts, count = np.random.default_rng(1), [], 0
    for seed in range(400):
        before = tree(PAPER, seed)
        for (_, field, old), (_, _, new) in zip(nodes(before), nodes(PAPER.varied(before, rng)), strict=True):
            if field.range is not None and field.kind is float and not field.range.log:
                count += 1
                shifts += [(new - old) / (field.range.high - field.range.low)] if new != old else []
    assert 0.28 < len(shifts) / count < 0.38
    assert 0.05 < np.std(shifts) < 0.11


def test_children_are_refined_only_if_that_is_asked_for():
    parents = [tree(PAPER, seed) for seed in range(20)]
    known = {(path, value) for parent in parents for path, field, value in nodes(parent) if not field.is_component}

    def new_numbers(refinement):
        chosen = Settings(population=20, elites=0, mutation=0.0, refinement=refinement)
        children = breed(parents, chosen, PAPER, np.random.default_rng(3))
        return sum(
            (path, value) not in known for child in children for path, field, value in nodes(child) if field.range
        )

    assert new_numbers(0.0) < new_numbers(1.0) / 5  # twins are mutated in any case


def test_random_trees_reach_every_production_evenly():
    rng = np.random.default_rng(2)
    found: dict[type, Counter] = {}
    for _ in range(3000):
        for _path, field, value in nodes(PAPER.random(rng)):
            if field.is_component and field.kind.is_slot:
                found.setdefault(field.kind, Counter())[type(value)] += 1
            elif field.choices:
                found.setdefault(field.name, Counter())[value] += 1
    for kind, counts in found.items():
        expected = PAPER.alternatives(kind) if isinstance(kind, type) else None
        if expected is not None:
            assert set(counts) == set(expected)
        if len(counts) > 1:
            assert chisquare(list(counts.values())).pvalue > 1e-4, kind


def changed_cuts(parent, child):
    """The smallest cut points below which a child differs."""
    differing = [cut for cut in PAPER.cut_points if branch(parent, cut) != branch(child, cut)]
    return {cut for cut in differing if not any(other != cut and other[: len(cut)] == cut for other in differing)}


def test_breeding_cuts_everywhere():
    """Over many children of two parents that differ everywhere, each cut point is used about equally often."""
    rng = np.random.default_rng(3)
    parents = [tree(PAPER, 10), tree(PAPER, 11)]
    while any(branch(parents[0], cut) == branch(parents[1], cut) for cut in PAPER.cut_points):
        parents[1] = PAPER.random(rng)
    chosen = Settings(population=1500, elites=0, mutation=0.0, tournament=1)
    found = Counter()
    for child in dict.fromkeys(breed(parents, chosen, PAPER, rng)):
        for above in parents:
            for cut in PAPER.cut_points:
                other = parents[0] if above is parents[1] else parents[1]
                if child == combine(other, above, cut):
                    found[cut] += 1
    assert set(found) == set(PAPER.cut_points)


def test_the_cut_points_are_drawn_evenly(monkeypatch):
    import robustforge.evolution.operators as operators

    cuts = Counter()

    def noted(below, above, cut):
        cuts[cut] += 1
        return combine(below, above, cut)

    monkeypatch.setattr(operators, "combine", noted)
    rng = np.random.default_rng(4)
    parents = first_population(Settings(population=50), PAPER, rng)
    for _ in range(40):
        breed(parents, Settings(), PAPER, rng)
    assert set(cuts) == set(PAPER.cut_points)
    assert chisquare(list(cuts.values())).pvalue > 1e-4


def test_a_mutation_is_below_another_cut_than_the_combination(monkeypatch):
    import robustforge.evolution.operators as operators

    trail = []
    monkeypatch.setattr(operators, "combine", lambda b, a, cut: (trail.append(cut), combine(b, a, cut))[1])
    monkeypatch.setattr(operators, "mutate", lambda t, cut, g, r: (trail.append(cut), mutate(t, cut, g, r))[1])
    rng = np.random.default_rng(5)
    parents = first_population(Settings(population=30), PAPER, rng)
    breed(parents, Settings(population=200, elites=0, mutation=1.0), PAPER, rng)
    pairs = list(zip(trail[::2], trail[1::2], strict=False))[:50]  # before the first twin, each child is one of each
    assert all(one != other for one, other in pairs)


def test_elites_survive_unchanged_and_in_order():
    rng = np.random.default_rng(6)
    parents = first_population(Settings(population=20), PAPER, rng)
    assert breed(parents, Settings(population=20, elites=3), PAPER, rng)[:3] == parents[:3]


def test_tournaments_prefer_the_better():
    rng = np.random.default_rng(7)
    parents = first_population(Settings(population=20), PAPER, rng)
    children = breed(parents, Settings(population=400, elites=0, mutation=0.0, tournament=5), PAPER, rng)
    groups = [parent.outer.capability.baseline for parent in parents]
    standing = [
        groups.index(child.outer.capability.baseline)
        for child in children[:200]
        if child.outer.capability.baseline in groups
    ]
    assert np.mean(standing) < 6  # of 0 to 19; 9.5 without selection


def test_no_generation_has_twins():
    rng = np.random.default_rng(8)
    population = first_population(Settings(population=30), NARROW, rng)
    for _ in range(10):
        population = breed(population, Settings(population=30), NARROW, rng)
        assert len(set(population)) == 30
        assert all(NARROW.holds(each) for each in population)


def one_alternative_grammars():
    """Every grammar that keeps a single alternative of one slot."""
    for kind in kinds():
        if kind.is_slot:
            for component in EXTENDED.alternatives(kind):
                yield label(kind), component.title


@pytest.mark.parametrize(("slot", "title"), list(one_alternative_grammars()))
def test_every_restricted_grammar_can_be_bred(slot, title):
    grammar = rf.grammar("extended", only={slot: [title]})
    rng = np.random.default_rng(9)
    population = first_population(Settings(population=20), grammar, rng)
    for _ in range(5):
        population = breed(population, Settings(population=20, mutation=0.8), grammar, rng)
        assert all(valid(each, grammar) for each in population)


def test_a_grammar_of_few_heuristics_is_refused_for_a_large_population():
    tiny = rf.grammar(
        "paper",
        only={
            "network": ["Ring"],
            "mutation": ["None"],
            "baseline": ["Inertia"],
            "movement": ["{}"],
            "form": ["Random sampling"],
        },
        fix={"group": 10, "inertia.c1": 1, "inertia.c2": 1, "inertia.omega": 0.5, "extent": 0.1},
    )
    assert len(tiny.cut_points) == 4  # inner as a whole, three switches, and nothing else
    assert len(first_population(Settings(population=8), tiny, np.random.default_rng(1))) == 8
    with pytest.raises(EvolutionError, match="only 8 were found for a population of 9"):
        first_population(Settings(population=9), tiny, np.random.default_rng(1))
