"""Algorithm 1 of the paper with a heuristic's choices filled in: numbered lines of what the engine does, in its order.

Each component has lines of its own (`Component.pseudocode`); an outer search arranges those of its parts around its
loop (`Outer.algorithm`). A step that a heuristic does not have is left out. An interpretation of the paper other than
the default is described in front of the lines, which follow it.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace

from robustforge.components import NoInnerSearch
from robustforge.components.descent_directions import HIGH_COST_POINTS
from robustforge.core.pseudocode_lines import WIDTH, Frame, indented, numbered
from robustforge.core.state import Plan
from robustforge.representation.heuristic import Heuristic

_SYMBOLS = {
    ("X",): "the box; y outside: evaluated or clipped, depending on the problem",
    ("H",): "the history: every point evaluated so far, with its f",
    ("near",): "in the uncertainty set around a position; its radius is Gamma",
    ("p_j", "F_j"): "personal best of j and its robust value; no pull without it",
    ("F",): "the lowest F(x) since the last start",
    ("T",): "the particles that move in this iteration",
    ("x*", "F*"): "best design of the whole search and its robust value",
    ("rho_j",): "the step along d_j, in Gamma, that leaves D behind",
    ("D",): f"the high-cost points; at most {HIGH_COST_POINTS}, the highest",
    ("empty",): "without a point of H whose f is above F*",
    ("r1", "r2", "r3"): "U(0, 1), drawn for each coordinate",
    ("n",): "the number of variables",
}
"""Meanings of symbols; pseudocode ends with those that it uses."""


def pseudocode(heuristic: Heuristic, budget: int = 2000) -> str:
    """Return what a heuristic does as numbered lines of pseudocode, every choice and number filled in.

    Args:
        heuristic: The heuristic.
        budget: Evaluations in all, which decide the inner budget.

    Returns:
        Lines of at most 78 columns.

    Example:
        >>> import robustforge as rf
        >>> print(pseudocode(rf.heuristic("rpso")).splitlines()[0])
        Input: f, X, Gamma, and 2,000 evaluations, one of them reserved for f(x*)
    """
    frame = _frame(heuristic, budget)
    lines = heuristic.outer.algorithm(frame)
    second = heuristic.second_stage.continuation
    if second is not None:
        lines += [*heuristic.second_stage.pseudocode(frame.facts), *second.algorithm(_nominal(frame))]
    separability = heuristic.separability
    if separability.replacement is not None:
        other = separability.replacement.algorithm(_nominal(frame))
        lines = [*separability.pseudocode(frame.facts), *indented(other), "else:", *indented(lines)]
    if heuristic.final.agents:
        lines += heuristic.final.pseudocode(frame.facts)
    lines += ["evaluate f(x*)", "return x*, f(x*), and the highest f of H near x*"]
    head = f"Input: f, X, Gamma, and {budget:,} evaluations, one of them reserved for f(x*)"
    return "\n".join([head, *_interpretation(heuristic), "", *numbered(lines), "", *_glossary(lines)])


def _interpretation(heuristic: Heuristic) -> list[str]:
    """Return the interpretation of the paper, unless it is the default."""
    text = heuristic.describe_interpretation()
    return textwrap.wrap(text[:1].upper() + text[1:], WIDTH, subsequent_indent="  ")


def _frame(heuristic: Heuristic, budget: int) -> Frame:
    outer, inner, rules = heuristic.outer, heuristic.inner, heuristic.interpretation
    inner_budget = heuristic.inner_budget(budget)
    plan = Plan(budget=budget, agents=outer.agents, inner_budget=inner_budget)
    return Frame(
        facts={"budget": budget, "distance_limit": outer.distance_limit(budget), "interpretation": rules},
        values=_values(heuristic, plan),
        points=_points(heuristic, plan),
        pace="generation" if inner.form.members(plan) else "point",
        inner_budget=inner_budget,
        n_dorm=inner.n_dorm,
        n_pbest=inner.n_pbest,
        stopping=inner.stopping,
        rules=rules,
    )


def _nominal(frame: Frame) -> Frame:
    """Return the frame of a search that evaluates candidates as they are."""
    return replace(frame, values=["evaluate all f(x_j)"], points=[], pace="point", inner_budget=1)


def _values(heuristic: Heuristic, plan: Plan) -> list[str]:
    """Return how candidates get their values."""
    outer, form = heuristic.outer, heuristic.inner.form
    if outer.is_nominal or isinstance(form, NoInnerSearch):
        return ["evaluate all f(x_j)"]
    if form.is_single:
        return [f"for each x_j: {line}" for line in form.pseudocode({})]
    head = (
        f"for each x_j, an inner search with {plan.inner_budget} points, or as many as are left; F(x_j) := highest f:"
    )
    return [head, *indented(line.replace("F_j", outer.stops_above) for line in _points(heuristic, plan))]


def _points(heuristic: Heuristic, plan: Plan) -> list[str]:
    """Return how an inner search chooses its points, and when it ends early."""
    inner, form = heuristic.inner, heuristic.inner.form
    members = form.members(plan)
    lines = list(form.pseudocode({"members": members, "parameters": form.parameters(plan)}))
    if members >= plan.inner_budget:
        lines = [lines[0].removeprefix("first, ")]  # one generation is the whole search
    if inner.stopping and heuristic.outer.uses_stopping:
        which = "f(y)" if members == 0 else "an f of this generation"
        saved = ", and saves its other points" if members < plan.inner_budget else ""
        lines.append(f"if {which} > F_j: this search stops{saved}")
    return lines


def _glossary(lines: list[str]) -> list[str]:
    text = "\n".join(lines)

    def is_used(name: str) -> bool:
        return re.search(rf"(?<!\w){re.escape(name)}(?![\w*(])", text) is not None

    found = {", ".join(filter(is_used, names)): meaning for names, meaning in _SYMBOLS.items() if is_used(names[0])}
    return [f"{names:10}  {meaning}" for names, meaning in found.items()]
