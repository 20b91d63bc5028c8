"""Keyword arguments: unknown names are explained, former names work for one minor release with a warning."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

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
"""Synonyms used by other packages, and the names of the arguments here."""
_OTHERWISE = {
    "x0": "There is no starting point; pass earlier runs as `prior_evaluations=(points, values)` to `rf.Optimizer`",
    "prior_evaluations": "`rf.Optimizer` takes `prior_evaluations=(points, values)`; use its `ask` and `tell`",
    "known": "`rf.Optimizer` takes `prior_evaluations=(points, values)`; use its `ask` and `tell`",
    "goal": "robustforge minimises the worst case; return the negative value to maximise",
    "maximize": "robustforge minimises the worst case; return the negative value to maximise",
    "constraints": "Return +inf, or a penalty, where a design violates a constraint",
}
"""Hints for arguments without an equivalent."""


def named_arguments(**former: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that explains unknown keyword arguments, and accepts those under former names.

    Args:
        **former: The present name of each argument that was renamed, by its former name.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        names = [name for name in inspect.signature(function).parameters if name != "self"]

        @functools.wraps(function)
        def call(*args: P.args, **given: P.kwargs) -> R:
            present: Any = renamed(given, former, stacklevel=2)
            for name in present:
                if name not in names:
                    raise unknown_argument(name, names)
            return function(*args, **present)

        return call

    return decorate


def renamed(given: Mapping[str, Any], former: Mapping[str, str], stacklevel: int) -> dict[str, Any]:
    """Return keyword arguments under their present names, with a `DeprecationWarning` for each former name.

    Args:
        given: The arguments.
        former: The present name of each argument that was renamed, by its former name.
        stacklevel: Which caller of the caller the warning points to: 1 is the function that calls this one.
    """
    for name in given.keys() & former.keys():
        if former[name] in given:
            fact = f"`{name}=` is its former name, and both were given"
            raise ArgumentError(f"`{former[name]}=` must be given once", fact, f"Leave out `{name}=`")
        text = f"`{name}=` was renamed to `{former[name]}=`; the former name will be removed in the next minor release"
        warnings.warn(text, DeprecationWarning, stacklevel=stacklevel + 1)
    return {former.get(name, name): value for name, value in given.items()}


def former_attribute(former: str, present: str) -> Any:
    """Return a property that gives a renamed attribute under its former name, with a `DeprecationWarning`."""

    def get(owner: Any) -> Any:
        text = f"`{former}` was renamed to `{present}`; the former name will be removed in the next minor release"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return getattr(owner, present)

    return property(get, doc=f"The former name of `{present}`.")


def unknown_argument(name: str, known: Iterable[str]) -> ArgumentError:
    """Return the error for an unknown argument, with a suggestion.

    Args:
        name: The argument.
        known: The valid names.
    """
    names = list(known)
    same = [each for each in _SAME.get(name, ()) if each in names]
    close = closest(name, names)
    if same:
        fix = f"Write `{same[0]}=`"
    elif close:
        fix = f"Did you mean `{close[0]}=`?"
    else:
        fix = _OTHERWISE.get(name, f"Valid arguments: {', '.join(names)}")
    return ArgumentError(f"there is no argument `{name}=`", fix=fix)
