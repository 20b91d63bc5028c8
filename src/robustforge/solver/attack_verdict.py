"""The verdict of an attack: whether the worst value that a search reports is confirmed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robustforge.engine.attack_summary import MAX_PERCENTAGE_RISE, rise_of
from robustforge.formatting import at_precision, finite_range, percent
from robustforge.solver.solution import Solution
from robustforge.solver.stored_attack import AttackResult

WARNING_RISE = 0.05
"""An increase above this fraction of the worst value of the search is a warning."""

_HARDER = " `robustforge verify` attacks the design by further runs."

FEW_RUNS = 8
"""Runs below which the attack that closes a search confirms nothing."""


@dataclass(frozen=True)
class Verdict:
    """The verdict of an attack on the worst value that a search reports.

    Attributes:
        kind: "confirmed" if the attack found no worse value, or hardly; "warning" if it did; "neutral" without attack.
        rise: The increase, as a fraction of the worst value of the search; NaN without attack.
        text: The verdict as a sentence.
    """

    kind: str
    rise: float
    text: str


def judge_attack(attack: AttackResult | None) -> Verdict:
    """Return the verdict of an attack; `None` is no attack."""
    if attack is None or not attack.runs:
        return Verdict("neutral", math.nan, "Not attacked: the worst case was not checked by further runs.")
    runs = f"{attack.runs:,} further run{'s' if attack.runs != 1 else ''}"
    if math.isinf(attack.worst):
        return Verdict("warning", _rise(attack), _infeasible_text(attack, runs))
    if attack.failures == attack.runs:
        return Verdict("neutral", math.nan, f"Not attacked: all {runs} failed.")
    rise = _rise(attack)
    if not rise:
        return Verdict("confirmed", rise, f"{runs} found no worse value.")
    return Verdict("confirmed" if rise <= WARNING_RISE else "warning", rise, _worse_text(attack, rise, runs))


def judge_search(solution: Solution, has_model: bool) -> Verdict:
    """Return the verdict of the attack that closed a search, where there was no other.

    Args:
        solution: The result of the search.
        has_model: Whether a model is run, which a further attack needs.
    """
    hint = _HARDER if has_model else ""
    if not solution.attack_runs:
        return Verdict("neutral", math.nan, "Not attacked: the worst value is that of the search." + hint)
    sign = math.copysign(1.0, solution.worst - solution.nominal) if solution.worst != solution.nominal else 1.0
    rise = rise_of(sign * solution.worst, sign * solution.estimate)
    kind = "confirmed" if rise <= WARNING_RISE else "warning"
    remark = "" if solution.attack_runs >= FEW_RUNS else " These are few runs." + hint
    kind = "neutral" if remark and kind == "confirmed" else kind
    return Verdict(kind, rise, f"{solution.attack[:1].upper()}{solution.attack[1:]}.{remark}")


def _rise(attack: AttackResult) -> float:
    if attack.worst == attack.found_by_search:
        return 0.0
    return (
        abs(attack.worst - attack.found_by_search) / abs(attack.found_by_search) if attack.found_by_search else math.inf
    )


def _infeasible_text(attack: AttackResult, runs: str) -> str:
    if math.isinf(attack.found_by_search):
        return "A point within the tolerances is infeasible, as the search has found."
    return f"The attack found an infeasible point within the tolerances, in {runs}; the search had found none."


def _worse_text(attack: AttackResult, rise: float, runs: str) -> str:
    width = finite_range(attack.nominal, attack.found_by_search, attack.worst)
    worst, known = (at_precision(value, width, 4) for value in (attack.worst, attack.found_by_search))
    if rise > MAX_PERCENTAGE_RISE or attack.worst * attack.found_by_search <= 0:
        return f"The attack found {worst} in {runs}; the search had found {known}."
    return f"The attack found a value {percent(rise)} worse than the search: {worst} instead of {known}, in {runs}."
