"""Algorithm 1 of the paper with a heuristic's choices filled in: numbered lines of what the engine does, in its order.

Each component has its lines in the table below, with its fields by name; one that is not in it, a user's own, speaks
for itself with `words`. The frame around them follows `engine/machine.py` and the outer searches, as the paper is read
by default; a step that a heuristic does not have is not there.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable
from typing import Any

from robustforge.components import (
    Clan,
    Cluster,
    Constriction,
    DescentDirections,
    DescentSearch,
    Focal,
    GaussianMutation,
    Global,
    Hierarchical,
    Inertia,
    InnerGa,
    InnerPso,
    Itself,
    LehRelocation,
    LehSearch,
    NoClamp,
    NoMutation,
    Outer,
    RandomRelocation,
    RandomSampling,
    Ring,
    ShellPoint,
    SurfaceSampling,
    Swarm,
    UniformMutation,
    VonNeumann,
    WidthClamp,
)
from robustforge.components.descent import HIGH_COST_POINTS
from robustforge.components.relocation import GENERATIONS
from robustforge.core.component import Component
from robustforge.core.state import Plan
from robustforge.heuristic.heuristic import Heuristic

WIDTH = 78
"""Columns of a listing."""

BARREN_LIMIT = 50
"""Turns of everybody without a search after which a swarm is scattered; `engine.machine` has the same."""

_GLUE = "\N{NO-BREAK SPACE}"
_ANYWHERE = "x_j := uniform in X"
_FRESH = "v_j := U(0, 0.1) Gamma in each coordinate"
_EVERYBODY = "T := all particles"
_EMPTY_CENTRE = (
    f"if F* = infinity, or {{limit:,}} distances were computed here: {_ANYWHERE}",
    f"else: x_j := the centre of the largest empty hypersphere, by a genetic algorithm ({{population}} candidates, "
    f"{GENERATIONS} generations, elites {{elites}}, tournaments of {{tour}}, each coordinate shifted with chance "
    "{mutation:.3g} by up to {amplitude:.3g} of the width of X)",
)

_LINES: dict[Any, tuple[str, ...]] = {
    Global: ("g_j := best p of the swarm, for every j",),
    Focal: ("g_j := p_k for every j, where k is one particle, drawn at the start",),
    Ring: ("g_j := best p of {whose} two neighbours in a ring drawn at the start",),
    VonNeumann: ("g_j := best p of {whose} four neighbours on a torus drawn at the start, {columns} to a row",),
    Clan: (
        "leader of each of {groups} clans drawn at the start := its particle with the best p",
        "g_j := p of the leader of j's clan; for leaders: of the best leader",
    ),
    Cluster: (
        "g_j := best p of j's cluster, one of {groups} drawn at the start, and of its informants, one in each "
        "other cluster",
    ),
    Hierarchical: (
        "in a tree drawn at the start, up to {branching} below each: from the top down, each changes places with the "
        "best below it if that has a better p",
        "g_j := p of the particle above j; for the top one: its own",
    ),
    Inertia: ("v_j := {omega:.3g} v_j + {c1:.3g} r1 (p_j - x_j) + {c2:.3g} r2 (g_j - x_j)",),
    Constriction: ("v_j := {chi:.3g} (v_j + {c1:.3g} r1 (p_j - x_j) + {c2:.3g} r2 (g_j - x_j))",),
    NoClamp: (),
    WidthClamp: ("cut each coordinate of v_j to +-{fraction:.3g} of the width of X",),
    NoMutation: (),
    UniformMutation: (
        "with chance {probability:.3g}: c := U(0, 1/n), and each coordinate of x_j moves, with chance c, by "
        "{amplitude:.3g} U(-1, 1) of the width of X",
    ),
    GaussianMutation: (
        "with chance {probability:.3g}: c := U(0, 1/n), and each coordinate of x_j moves, with chance c, by "
        "{amplitude:.3g} N(0, 1) of the width of X",
    ),
    RandomRelocation: (_ANYWHERE,),
    LehRelocation: _EMPTY_CENTRE,
    LehSearch: _EMPTY_CENTRE,
    RandomSampling: ("y := uniform near x_j; evaluate f(y)",),
    Itself: ("evaluate f(x_j)",),
    ShellPoint: ("y := on the surface of the set around x_j; evaluate f(y)",),
    SurfaceSampling: (
        "by turns: y := on the surface of the set around x_j (a corner of a box); y := its opposite; evaluate f(y)",
    ),
    InnerPso: (
        "first, a generation of {swarm}: y := uniform near x_j; w := U(0, 0.1) Gamma; evaluate f(y)",
        "then, for each y: w := {omega:.3g} w + {c1:.3g} r1 (its highest - y) + {c2:.3g} r2 (the highest of all - y); "
        "y := y + w, brought back if not near x_j; evaluate f(y)",
    ),
    InnerGa: (
        "first, a generation of {population}: y := uniform near x_j; evaluate f(y)",
        "then: keep the elites, the {elites} highest; breed {children} y by tournaments of {tour}, each coordinate "
        "from either parent, shifted with chance {mutation:.3g} by up to {amplitude:.3g} of the set's width; brought "
        "back if not near x_j; evaluate f(y)",
    ),
}
"""The lines of each component."""

_GLOSSARY = {
    ("X",): "the box; a y outside is evaluated or clipped, as the problem says",
    ("H",): "every point evaluated so far, with its f",
    ("near",): "in the uncertainty set around a position; its radius is Gamma",
    ("p_j", "F_j"): "best position of j and its robust value; an unknown p has no pull",
    ("F",): "the lowest F(x) since x was last drawn",
    ("T",): "whose turn it is",
    ("x*", "F*"): "best design of the whole search and its robust value",
    ("D",): f"the high-cost points; of more than {HIGH_COST_POINTS} the highest",
    ("empty",): "without a point of H whose f is above F*",
    ("r1", "r2", "r3"): "U(0, 1), drawn for each coordinate",
    ("n",): "the number of variables",
}
"""What the lines do not say themselves; a listing has those it uses."""


def listing(heuristic: Heuristic, budget: int = 2000) -> str:
    """Return what a heuristic does as numbered lines of pseudo-code, every choice and number filled in.

    Args:
        heuristic: The heuristic.
        budget: Evaluations in all, which decide the size of the inner searches.

    Returns:
        Lines of at most 78 columns.

    Example:
        >>> import robustforge as rf
        >>> print(listing(rf.heuristic("rpso")).splitlines()[0])
        Input: f, X, Gamma, and 2,000 evaluations, one of them kept for f(x*)
    """
    write = {Swarm: _swarm, DescentSearch: _descent, LehSearch: _leh}.get(type(heuristic.outer), _foreign)
    found = write(heuristic, budget)
    if test := _test(heuristic):
        found = [*test, *_inside(found)]
    body = [*found, *_check(heuristic, budget)]
    body += ["evaluate f(x*)", "return x*, f(x*), and the highest f of H near x*"]
    head = f"Input: f, X, Gamma, and {budget:,} evaluations, one of them kept for f(x*)"
    return "\n".join([head, "", *_numbered(body), "", *_glossary(body)])


def _swarm(heuristic: Heuristic, budget: int) -> list[str]:
    swarm: Any = heuristic.outer
    capability, movement = swarm.capability, swarm.movement
    facts = _swarm_facts(swarm, budget)
    rescue = movement.rescue
    move = [*_lines(capability.baseline, facts), *_descent_step(movement.directions), *_lines(capability.clamp, facts)]
    move += ["x_j := x_j + v_j", *_lines(swarm.mutation, facts)]
    if rescue:
        relocation = [*_lines(rescue, facts), f"{_FRESH}; idle_j := 0", "keep p_j and F_j; next particle"]
        move = [f"if idle_j >= {rescue.dorm}:", *_inside(relocation), *move]
    whose = _whose(swarm)
    return [
        f"for each of {swarm.group} particles j:",
        *_inside([_ANYWHERE, f"{_FRESH}; F_j := infinity{'; idle_j := 0' if rescue else ''}"]),
        f"x* := x_1; F* := infinity{f'; {_EVERYBODY}' if whose else ''}",
        "while evaluations are left:",
        *_inside(_searches(heuristic, budget)),
        f"  for each particle j{whose} that has searched:",
        *_inside(_completed(heuristic, budget), 2),
        *_inside(_direction(movement.directions), 2),
        *_inside(_scattering(heuristic)),
        *(["  T := the particle after the last of T, in a circle"] if whose else []),
        *_inside(_lines(swarm.network, facts)),
        f"  for each particle j{whose}:",
        *_inside(move, 2),
    ]


def _whose(swarm: Any) -> str:
    """Return what is said of the particles whose turn it is, if there are turns."""
    return " of T" if swarm.order == "in turn" else ""


def _descent(heuristic: Heuristic, budget: int) -> list[str]:
    outer: Any = heuristic.outer
    again = [_ANYWHERE, "F_j := infinity"] if heuristic.inner.stopping else [_ANYWHERE]
    lines = [
        "; ".join([*again, "x* := x_j", "F* := infinity"]),
        "while evaluations are left:",
        *_inside(_search(heuristic, budget)),
        *_inside(_completed(heuristic, budget)),
        *_inside(_direction(outer)),
        "  if d_j exists:",
        "    rho := the shortest step along d_j that takes all of D out of the set around x_j",
        f"    x_j := x_j + max(rho, {outer.min_step:.3g} Gamma) d_j",
        f"  if it does not, or x_j is outside X: {'; '.join(again)}",
    ]
    return _alone(lines)


def _leh(heuristic: Heuristic, budget: int) -> list[str]:
    outer: Any = heuristic.outer
    lines = [
        f"{_ANYWHERE}; x* := x_j; F* := infinity",
        "while evaluations are left:",
        *_inside(_search(heuristic, budget)),
        *_inside(_completed(heuristic, budget)),
        *_inside(_lines(outer, {"limit": outer.work_limit(budget)})),
        "  if the radius of that hypersphere is below Gamma, and no variable is exact: leave the loop",
    ]
    return _alone([line.replace("F_j", "F*") for line in lines])  # it never forgets its best


def _foreign(heuristic: Heuristic, budget: int) -> list[str]:
    return _stepwise(heuristic.outer, _values(heuristic, budget))


def _stepwise(outer: Outer, values: list[str]) -> list[str]:
    """Return the lines of an outer search that has its own steps."""
    steps = outer.steps
    return [*steps.first, "while evaluations are left:", *_inside([*steps.place, *values, *steps.learn])]


def _values(heuristic: Heuristic, budget: int) -> list[str]:
    """Return how candidates get their values."""
    outer, form = heuristic.outer, heuristic.inner.form
    if outer.is_nominal or isinstance(form, Itself):
        return ["evaluate all f(x_j)"]
    if form.is_single:
        return [f"for each x_j: {line}" for line in _lines(form, {})]
    points = heuristic.inner.points(budget, outer.agents)
    found = [f"for each x_j, a search with {points} points, or as many as are left; its value is the highest f:"]
    return [*found, *_inside(line.replace("F_j", outer.stops_above) for line in _points(heuristic, budget))]


def _test(heuristic: Heuristic) -> list[str]:
    """Return the lines of a structure test, with the search that takes over."""
    structure = heuristic.structure
    if structure.other is None:
        return []
    return [
        "a := uniform in X; evaluate f(a)",
        f"{(structure.agents - 1) // 3} times: b := uniform in X; c, c' := mixtures of a and b, each variable of a in "
        "one of them, of b in the other; evaluate f(b), f(c), f(c')",
        "if f(a) + f(b) = f(c) + f(c') each time:",
        *_inside(_stepwise(structure.other, ["evaluate all f(x_j)"])),
        "else:",
    ]


def _check(heuristic: Heuristic, budget: int) -> list[str]:
    """Return the lines of a final check."""
    final, reserve = heuristic.final, heuristic.final.reserve(budget)
    if not reserve:
        return []
    return [
        f"x* := of up to {final.agents} outcomes, the one whose highest f is the lowest: {reserve} evaluations, kept "
        "back for this, on the surface of the sets around them, as many each",
    ]


def _searches(heuristic: Heuristic, budget: int) -> list[str]:
    """Return who searches, and how all searches go on together."""
    rescue = heuristic.outer.movement.rescue is not None
    points = heuristic.inner.points(budget, heuristic.outer.agents)
    idle, busy = ("; idle_j := idle_j + 1", "idle_j := 0; ") if rescue else ("", "")
    lines = [f"for each particle j{_whose(heuristic.outer)}, in order:", f"  if x_j is outside X: no search{idle}"]
    if rescue and heuristic.inner.n_dorm:
        lines.append(f"  else if H has an f > F_j near x_j: no search{idle}")
    lines.append(f"  else: {busy}search with {points} points, or as many as are left")
    pace = "generation" if heuristic.inner.form.members(_plan(heuristic, budget)) else "point"
    return [*lines, f"all searches together, round by round, a {pace} each:", *_inside(_points(heuristic, budget))]


def _search(heuristic: Heuristic, budget: int) -> list[str]:
    points = heuristic.inner.points(budget, 1)
    return [f"search with {points} points, or as many as are left:", *_inside(_points(heuristic, budget))]


def _points(heuristic: Heuristic, budget: int) -> list[str]:
    """Return how a search chooses its points, and when it ends early."""
    inner, form, plan = heuristic.inner, heuristic.inner.form, _plan(heuristic, budget)
    members, resolved = form.members(plan), dict(form.resolved(plan))
    lines = _lines(form, {**resolved, "children": members - resolved.get("elites", 0)})
    if members >= plan.extent:
        lines = [lines[0].removeprefix("first, ")]  # one generation is the whole search
    if inner.stopping and heuristic.outer.uses_stopping:
        which = "f(y)" if members == 0 else "an f of this generation"
        saved = ", and saves its other points" if members < plan.extent else ""
        lines.append(f"if {which} > F_j: this search ends{saved}")
    return lines


def _plan(heuristic: Heuristic, budget: int) -> Plan:
    agents = heuristic.outer.agents
    return Plan(budget=budget, agents=agents, extent=heuristic.inner.points(budget, agents))


def _completed(heuristic: Heuristic, budget: int) -> list[str]:
    """Return what becomes of the value that a search has found, if it was not cut short."""
    outer, inner = heuristic.outer, heuristic.inner
    seen = "of H near x_j, from this search or any other" if inner.n_pbest else "of this search"
    lines = [
        f"if all its {inner.points(budget, outer.agents)} points were evaluated:",
        f"  F(x_j) := the highest f {seen}",
    ]
    if isinstance(outer, Swarm):
        lines.append("  if F(x_j) < F_j: p_j := x_j; F_j := F(x_j)")
    elif isinstance(outer, DescentSearch) and inner.stopping:
        lines.append("  if F(x_j) < F_j: F_j := F(x_j)")
    return [*lines, "  if F(x_j) < F*: x* := x_j; F* := F(x_j)"]


def _direction(descent: DescentDirections | DescentSearch | None) -> list[str]:
    if descent is None:
        return []
    again = f"halve s and try again while s >= {descent.sigma_limit:.3g}"
    if descent.sigma / 2 < descent.sigma_limit:
        again = f"there is no d_j, as s / 2 < {descent.sigma_limit:.3g}"
    return [
        f"D := points of H near x_j within s (max - min) of the max f, s = {descent.sigma:.3g}",
        f"d_j := the unit vector at the widest angle to D; if none leads away from D, {again}",
    ]


def _descent_step(descent: DescentDirections | None) -> list[str]:
    if descent is None:
        return []
    if descent.r3 == "unity":
        return [f"if d_j exists: v_j := v_j + max({descent.c3:.3g}, {descent.min_step:.3g}) Gamma d_j"]
    return [f"if d_j exists: v_j := v_j + max({descent.c3:.3g}, {descent.min_step:.3g} / |r3 d_j|) Gamma r3 d_j"]


def _scattering(heuristic: Heuristic) -> list[str]:
    rescue = heuristic.outer.movement.rescue is not None
    idle = "; all idle_j := 0" if rescue else ""
    free = ", in which H prevents no search" if rescue and heuristic.inner.n_dorm else ""
    turns = heuristic.outer.agents if _whose(heuristic.outer) else 1
    everybody = f"; {_EVERYBODY}" if turns > 1 else ""
    return [
        f"if nobody has searched for {BARREN_LIMIT * turns} iterations:",
        f"  draw all x_j and v_j as at the start{idle}{everybody}; next iteration{free}",
    ]


def _swarm_facts(swarm: Swarm, budget: int) -> dict[str, Any]:
    """Return the numbers in the lines of a swarm's components that are no fields of theirs."""
    size, baseline = swarm.group, swarm.capability.baseline
    facts: dict[str, Any] = {
        "columns": math.ceil(math.sqrt(size)),
        "groups": next(k for k in range(size + 1, 0, -1) if k * (k - 1) <= size),
        "branching": max(2, math.isqrt(size)),
        "whose": "j and its" if getattr(swarm.network, "itself", True) else "j's",
        "limit": swarm.work_limit(budget),
    }
    if isinstance(baseline, Constriction):
        phi = baseline.c1 + baseline.c2
        facts["chi"] = 2.0 / abs(2.0 - phi - math.sqrt(phi * phi - 4.0 * phi))
    return facts


def _lines(part: Component, facts: dict[str, Any]) -> list[str]:
    """Return the lines of a component, its numbers filled in; its own words if it has none."""
    lines = _LINES.get(type(part))
    return [part.words()] if lines is None else [line.format(**{**vars(part), **facts}) for line in lines]


def _inside(lines: Iterable[str], levels: int = 1) -> list[str]:
    return ["  " * levels + line for line in lines]


def _alone(lines: list[str]) -> list[str]:
    """Return lines about the one candidate of a search that is no swarm: there is no j."""
    return [line.replace("_j", "") for line in lines]


def _numbered(lines: list[str]) -> list[str]:
    """Return the lines with numbers, long ones wrapped under their own beginning."""
    found = []
    for number, line in enumerate(lines, 1):
        margin = " " * (4 + len(line) - len(line.lstrip()))
        whole = re.sub(r" (:?=) | (?=f\()", lambda found: found[0].replace(" ", _GLUE), line.strip())
        wrapped = textwrap.wrap(
            whole, WIDTH, initial_indent=margin, subsequent_indent=margin + "  ", break_on_hyphens=False
        )
        found += [f"{number:>2}{wrapped[0][2:]}", *wrapped[1:]]
    return [line.replace(_GLUE, " ") for line in found]


def _glossary(lines: list[str]) -> list[str]:
    text = "\n".join(lines)

    def used(name: str) -> bool:
        return re.search(rf"(?<!\w){re.escape(name)}(?![\w*(])", text) is not None

    found = {", ".join(filter(used, names)): words for names, words in _GLOSSARY.items() if used(names[0])}
    return [f"{names:10}  {words}" for names, words in found.items()]
