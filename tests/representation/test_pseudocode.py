"""The pseudo-code of a heuristic: it has the steps that the heuristic has, in the engine's order, with its numbers."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import robustforge as rf
from robustforge.components import (
    Clan,
    Constriction,
    DescentSearch,
    FullMovement,
    GaussianMutation,
    InnerGa,
    InnerPso,
    LehRelocation,
    LehSearch,
    Network,
    Outer,
    RangeClamp,
    Ring,
    Swarm,
    UniformMutation,
    swarm,
)
from robustforge.components.network import _groups
from robustforge.core.pseudocode_lines import WIDTH
from robustforge.engine import ask_tell
from robustforge.representation.derivation_tree import nodes
from robustforge.representation.pseudocode import pseudocode

GENERAL = """\
Input: f, X, Gamma, and 2,000 evaluations, one of them reserved for f(x*)

 1  for each of 4 particles j:
 2    x_j := uniform in X
 3    v_j := U(0, 0.1) Gamma in each coordinate; F_j := infinity
 4  x* := x_1; F* := infinity
 5  while evaluations are left:
 6    for each particle j, in order:
 7      if x_j is outside X: no search
 8      else: inner search with 4 points, or as many as are left
 9    all inner searches in parallel, one point of each per round:
10      y := uniform near x_j; evaluate f(y)
11      if f(y) > F_j: this search stops, and saves its other points
12    for each particle j that has searched:
13      if all its 4 points were evaluated:
14        F(x_j) := the highest f of H near x_j, from this search or any other
15        if F(x_j) < F_j: p_j := x_j; F_j := F(x_j)
16        if F(x_j) < F*: x* := x_j; F* := F(x_j)
17      D := points of H near x_j within s (max - min) of the max f, s = 0.517
18      d_j := the unit vector at the widest angle to D; if none leads away
          from D, halve s and try again while s >= 0.00606
19    if no particle has searched for 50 iterations:
20      draw all x_j and v_j as at the start; next iteration
21    g_j := best p of j and its two neighbours in a ring drawn at the start
22    for each particle j:
23      v_j := 0.371 v_j + 0.58 r1 (p_j - x_j) + 0.399 r2 (g_j - x_j)
24      if d_j exists: v_j := v_j + max(0.682, 0.817) Gamma d_j
25      x_j := x_j + v_j
26      with probability 0.136: c := U(0, 1/n), and each coordinate of x_j
          moves, with probability c, by 0.479 N(0, 1) of the width of X
27  evaluate f(x*)
28  return x*, f(x*), and the highest f of H near x*

X           the box; y outside: evaluated or clipped, depending on the problem
H           the history: every point evaluated so far, with its f
near        in the uncertainty set around a position; its radius is Gamma
p_j, F_j    personal best of j and its robust value; no pull without it
x*, F*      best design of the whole search and its robust value
D           the high-cost points; at most 256, the highest
r1, r2      U(0, 1), drawn for each coordinate
n           the number of variables"""

LEH = """\
 1  x := uniform in X; x* := x; F* := infinity
 2  while evaluations are left:
 3    inner search with 10 points, or as many as are left:
 4      y := uniform near x; evaluate f(y)
 5      if f(y) > F*: this search stops, and saves its other points
 6    if all its 10 points were evaluated:
 7      F(x) := the highest f of H near x, from this search or any other
 8      if F(x) < F*: x* := x; F* := F(x)
 9    if F* = infinity, or 200,000,000 distances were computed here:
        x := uniform in X
10    else: x := the centre of the largest empty hypersphere, by a genetic
        algorithm (population 10, 4 generations, elites 1, tournaments of 2,
        each coordinate mutated with probability 0.1 by up to 0.2 of the width
        of X)
11    if the radius of that hypersphere is below Gamma, and all variables are
        uncertain: leave the loop
12  evaluate f(x*)
13  return x*, f(x*), and the highest f of H near x*
"""


def steps(chosen):
    """Return the steps of a heuristic: a phrase that stands for each, and whether it has it."""
    part, inner, movement = chosen.outer, chosen.inner, chosen.outer.movement
    swarm = part if isinstance(part, Swarm) else None
    relocation, directions = movement.relocates, movement.directions
    mutation = swarm.mutation if swarm else None
    return {
        "particle": swarm is not None,
        "v_j": swarm is not None,
        "g_j := ": swarm is not None,
        "no particle has searched": swarm is not None,
        "d_j := the unit": directions is not None,
        "if d_j exists": directions is not None,
        "r3": directions is not None and directions.r3 == "random",
        "d := the unit": isinstance(part, DescentSearch),
        "rho": isinstance(part, DescentSearch),
        "leave the loop": isinstance(part, LehSearch),
        "hypersphere": isinstance(part, LehSearch) or isinstance(relocation, LehRelocation),
        "idle": relocation is not None,
        "H has an f > F_j": relocation is not None and inner.n_dorm,
        "H prevents no search": relocation is not None and inner.n_dorm,
        "this search stops": inner.stopping,
        "any other": inner.n_pbest,
        "limit each coordinate of v_j": swarm is not None and isinstance(swarm.capability.clamp, RangeClamp),
        "U(-1, 1)": isinstance(mutation, UniformMutation),
        "N(0, 1)": isinstance(mutation, GaussianMutation),
        "for leaders": swarm is not None and isinstance(swarm.network, Clan),
        "ring": swarm is not None and isinstance(swarm.network, Ring),
        "(v_j +": swarm is not None and isinstance(swarm.capability.baseline, Constriction),
    }


OLD = {"outer": ["Swarm", "Descent search", "LEH search"], "separability": ["None"], "final": ["None"]}
"""The searches whose pseudocode is Algorithm 1."""


def drawn(count):
    """Yield random heuristics of the searches of Algorithm 1."""
    grammar = rf.grammar("extended", only={**OLD, "innerform": ["Random sampling", "In PSO", "In GA"]})
    for seed in range(count):
        chosen = grammar.random(np.random.default_rng(seed))
        yield chosen


def joined(chosen, budget=2000):
    return re.sub(r"\s+", " ", pseudocode(chosen, budget))


def test_pseudocode_is_readable():
    assert pseudocode(rf.heuristic("paper/30d/general")) == GENERAL
    assert LEH in pseudocode(rf.heuristic("leh"))


def test_it_has_exactly_the_steps_of_the_heuristic():
    seen = {name: set() for name in steps(rf.heuristic("rpso"))}
    for chosen in drawn(300):
        text = joined(chosen)
        for name, has in steps(chosen).items():
            assert (name in text) == has, (name, text)
            seen[name].add(has)
    assert all(both == {True, False} for both in seen.values()), seen


def test_every_number_of_the_outer_search_is_there():
    for chosen in drawn(100):
        numbers = set(re.findall(r"[\d.]+(?:e-\d+)?", joined(chosen)))
        for path, field, value in nodes(chosen.outer):
            if field.kind in (int, float):
                assert f"{value:.3g}" in numbers, (path, value)


def test_numbers_of_the_inner_search_are_those_that_the_engine_reads():
    problem, found = rf.problem("sphere", 3), set()
    for number, chosen in enumerate(drawn(120)):
        budget = 200 + 37 * number
        arrays, text = rf.Optimizer(problem, budget=budget, heuristic=chosen, rng=1).arrays, joined(chosen, budget)
        extent, record, form = int(arrays["counters"]["inner_budget"][0]), arrays["inner"][0], chosen.inner.form
        assert f"search with {extent} points" in text
        assert f"if all its {extent} points" in text
        assert f"{budget:,} evaluations" in text
        if isinstance(form, (InnerPso, InnerGa)):
            members = int(record["swarm_size" if isinstance(form, InnerPso) else "population_size"])
            assert f"a generation of {members}:" in text
            assert ("then" in text) == (members < extent)
            found.add((type(form), members < extent))
            if members < extent and isinstance(form, InnerGa):
                children, size = members - int(record["elites"]), int(record["tournament_size"])
                assert (
                    f"the {int(record['elites'])} worst points; {children} children y by tournaments of {size}," in text
                )
            elif members < extent:
                assert f"{form.omega:.3g} w + {form.c1:.3g} r1 (its worst point - y) + {form.c2:.3g} r2" in text
        if "hypersphere" in text:
            assert f"{int(arrays['counters']['distance_limit'][0]):,} distances" in text
    assert {(InnerPso, True), (InnerGa, True)} <= found


def full():
    """Return a heuristic with every step of a swarm."""
    chosen = rf.heuristic("rpso+dd+leh")
    assert isinstance(chosen.outer.movement, FullMovement)
    capability = chosen.outer.capability.replace(clamp=RangeClamp(0.1))
    return chosen.replace(outer=chosen.outer.replace(mutation=UniformMutation(0.2, 0.1), capability=capability))


def test_the_move_has_the_order_of_the_engine():
    source = inspect.getsource(swarm).partition("def _move_swarm")[2].partition("@compiled")[0]
    pairs = {
        "choose_informants": "g_j := ",
        "relocate_if_dormant": "if idle_j >= 3",
        "update_velocity": "r1 (p_j - x_j)",
        "add_descent": "if d_j exists",
        "limit_velocity": "limit each coordinate of v_j",
        "x[i] += v[i]": "x_j := x_j + v_j",
        "mutate": "with probability 0.2",
    }
    order = sorted(pairs, key=source.index)
    text = pseudocode(full())
    assert [pairs[name] for name in order] == sorted(pairs.values(), key=text.index)


def test_an_iteration_has_the_order_of_the_machine():
    marks = [
        "outside X",
        "evaluate f(y)",
        "this search stops",
        "F(x_j) :=",
        "F* := F",
        "d_j :=",
        "no particle has",
        "g_j :=",
    ]
    text = pseudocode(full())
    assert marks == sorted(marks, key=text.index)
    assert text.index("evaluate f(x*)") > text.index("with probability 0.2")


def test_asynchronous_swarms_list_their_turns():
    chosen = full()
    turns = pseudocode(chosen.replace(outer=chosen.outer.replace(update_order="asynchronous")))
    assert "T := all particles" in turns
    assert turns.index("F* := F(x_j)") < turns.index("T := the particle after the last of T") < turns.index("g_j :=")
    assert turns.count("for each particle j of T") == 3
    assert f"no particle has searched for {ask_tell.STAGNATION_LIMIT * chosen.outer.agents} iterations" in turns
    assert "of T" not in pseudocode(chosen)


def test_what_it_repeats_of_the_engine_is_still_so():
    for size in range(2, 51):
        clans = rf.heuristic("rpso").outer.replace(network=Clan(), swarm_size=size)
        assert f" {_groups(size)} clans" in joined(rf.heuristic("rpso").replace(outer=clans))


@pytest.mark.parametrize(("sigma", "limit", "again"), [(0.1, 0.05, True), (0.1, 0.0501, False)])
def test_halving_is_there_only_if_it_can_happen(sigma, limit, again):
    chosen = rf.heuristic("descent-directions")
    chosen = chosen.replace(outer=chosen.outer.replace(sigma=sigma, sigma_limit=limit))
    assert ("halve s" in joined(chosen)) == again
    assert ("there is no d, as s / 2 <" in joined(chosen)) != again


def test_lines_are_short():
    assert max(len(line) for chosen in drawn(300) for line in pseudocode(chosen, 10**6).splitlines()) <= WIDTH


def test_a_component_without_pseudocode_shows_its_description(monkeypatch):
    monkeypatch.setattr(Network, "_alternatives", [*Network.alternatives()])
    monkeypatch.setattr(Outer, "_alternatives", [*Outer.alternatives()])

    @dataclass(frozen=True)
    class Alone(Network):
        """Nobody tells anybody anything."""

        title: ClassVar[str] = "Alone"

        def describe(self) -> str:
            return "particles keep to themselves"

    @dataclass(frozen=True)
    class Walk(Outer):
        """A random walk."""

        title: ClassVar[str] = "Walk"

        def describe(self) -> str:
            return "one candidate stumbles on"

    chosen = rf.heuristic("rpso")
    assert "particles keep to themselves" in pseudocode(chosen.replace(outer=chosen.outer.replace(network=Alone())))
    assert "Walk updates its state and moves: one candidate stumbles on" in joined(chosen.replace(outer=Walk()))


@pytest.mark.parametrize("outer", ["Regression search", "Coordinate search", "Evolution strategy", "Gradient search"])
def test_a_search_beyond_swarms_lists_its_numbers_and_what_is_before_and_after_it(outer):
    grammar = rf.grammar("extended", only={"outer": [outer]})
    for seed in range(40):
        chosen = grammar.random(np.random.default_rng(seed))
        text = joined(chosen)
        words = text.replace("%", " ").replace("/", " ")
        numbers = set(re.findall(r"[\d.]+(?:e-\d+)?", words)) | {"32"}
        for path, field, value in nodes(chosen.outer):
            shown = {f"{value:.3g}", f"{value:.2g}", f"{100 * value:.2g}", str(value - 1)} if field.range else set()
            assert not field.range or path == ("sample_distance",) or path == ("restart_step",) or shown & numbers, (
                path,
                value,
            )
        assert ("f(a) + f(b) = f(c) + f(c')" in text) == (chosen.separability.title == "Additivity")
        assert ("reserved for this" in text) == (chosen.final.title == "Finalist re-evaluation")
        assert ("this search stops" in text) == (chosen.components()["stopping"] == "Yes")
        assert max(map(len, pseudocode(chosen).splitlines())) <= WIDTH
