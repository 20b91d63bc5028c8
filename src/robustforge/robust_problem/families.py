"""Families of problems: what a heuristic is evolved for, or assessed on."""

from __future__ import annotations

from collections.abc import Iterable

from robustforge.errors import ProblemError
from robustforge.robust_problem.problem import Problem

_FIX = "Pass a Problem, or a list of them, e.g. rf.problem('sphere')"


def as_problems(given: Problem | Iterable[Problem]) -> tuple[Problem, ...]:
    """Return one or several problems as a tuple, or raise if they are not problems, or if two share a name."""
    rule = "one or several problems are needed"
    try:
        problems = (given,) if isinstance(given, (Problem, str)) else tuple(given)
    except TypeError:
        raise ProblemError(rule, f"got {given!r}", _FIX) from None
    if not problems:
        raise ProblemError("at least one problem is needed", "got none", _FIX)
    for each in problems:
        if not isinstance(each, Problem):
            raise ProblemError(rule, f"got {each!r}", _FIX)
    names = [each.name for each in problems]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ProblemError("problems must have different names", f"{twice!r} occurs twice", "Set Problem(name=...)")
    return tuple(each.scaled for each in problems)  # as the search sees them: only values are compared
