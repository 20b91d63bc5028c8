"""Arguments by a name that a function does not have: a sentence that names the right one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from robustforge.errors import ArgumentError, closest

P = ParamSpec("P")
R = TypeVar("R")

_SAME = {
    "seed": ("rng", "seed"),
    "rng": ("seed",),
    "random_state": ("rng", "seed"),
    "func": ("fun",),
    "objective": ("fun",),
    "maxfun": ("budget",),
    "maxfev": ("budget",),
    "maxiter": ("budget", "generations"),
    "method": ("heuristic",),
    "tolerance": ("uncertainty",),
    "tolerances": ("uncertainty",),
    "n_jobs": ("workers",),
    "executor": ("workers",),
}
"""What other packages call an argument, and what it may be called here."""
_OTHERWISE = {
    "x0": "There is no starting point; what is known before, pass as `known=(points, values)` to `rf.Optimizer`",
    "known": "`rf.Optimizer` takes `known=(points, values)`; ask it for points, and tell it values",
    "goal": "What is searched for is the least worst case; return the negative value to maximise",
    "maximize": "What is searched for is the least worst case; return the negative value to maximise",
    "constraints": "Return +inf, or a penalty, where a design breaks a constraint",
}
"""What to do where there is no such argument under any name."""


def explained(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function explain which arguments it has if it is given one that it does not have."""
    names = [name for name in inspect.signature(function).parameters if name != "self"]

    @functools.wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> R:
        for name in given:
            if name not in names:
                raise unknown_argument(name, names)
        return function(*args, **given)

    return call


def unknown_argument(name: str, known: Iterable[str]) -> ArgumentError:
    """Return the error for an argument that there is not, with what to write instead.

    Args:
        name: The argument.
        known: Those that there are.
    """
    names = list(known)
    same = [each for each in _SAME.get(name, ()) if each in names]
    close = closest(name, names, cutoff=0.6)
    if same:
        fix = f"Write `{same[0]}=`"
    elif close:
        fix = f"Did you mean `{close[0]}=`?"
    else:
        fix = _OTHERWISE.get(name, f"There are: {', '.join(names)}")
    return ArgumentError(f"there is no argument `{name}=`", fix=fix)
