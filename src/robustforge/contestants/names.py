"""Contestants by name: `rpso+dd`, `champion.json`, `random@5000`, `cma-es-worst-of-4`, ..."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.contestants.cma_es import CmaEs, pycma
from robustforge.contestants.contestant import AskTell, Contestant, Finish
from robustforge.contestants.controls import Centre, RandomSearch
from robustforge.engine.minimize import minimize_in_sight
from robustforge.engine.setup import checked_budget
from robustforge.errors import AssessmentError, UnknownNameError
from robustforge.heuristic import Heuristic, heuristic, heuristics
from robustforge.problem import Problem

Floats = npt.NDArray[np.float64]

CMA_ES = "cma-es"
QUICK = ("centre", "random")
"""Controls that cost next to nothing beside the evaluations."""

CONTROLS = (*QUICK, CMA_ES, f"{CMA_ES}-worst-of-4")
"""Contestants that are no heuristics; the last may have another number of points."""

_WORST_OF = re.compile(r"cma-es-worst-of-([1-9][0-9]{0,3})")
_OWN_BUDGET = re.compile(r"(.+)@([0-9]{1,18})")


@dataclass(frozen=True)
class HeuristicContestant(Contestant):
    """A heuristic of this package, run as `minimize` runs it."""

    heuristic: Heuristic

    def run(self, problem: Problem, budget: int, seed: int, marks: Sequence[int]) -> Finish:
        """Search with so many evaluations, and take note of the design at hand after some of them."""
        designs: list[Floats | None] = []
        found = minimize_in_sight(problem, budget, self.heuristic, seed, marks, designs.append)
        rest = [found.x] * (len(marks) - len(designs))
        return Finish(found.x, int(found.nfev), (*designs, *rest))


def contestant_names() -> tuple[str, ...]:
    """Return the names that stand for contestants: the ready-made heuristics and the controls."""
    return (*heuristics(), *CONTROLS)


def as_contestant(given: Any) -> Contestant:
    """Return who is meant: a `Contestant` as it is, a `Heuristic`, or one of both by a name or a path.

    Args:
        given: A name may end in "@5000": then this contestant has so many evaluations.
    """
    if isinstance(given, Contestant):
        return given
    if isinstance(given, Heuristic):
        return _from_heuristic(given, given.id)
    if not isinstance(given, (str, Path)):
        fix = "Pass a name, a path to a .json file, a Heuristic or an AskTell"
        raise AssessmentError("a contestant must be an optimiser", f"got {given!r}", fix)
    text = str(given)
    own = _OWN_BUDGET.fullmatch(text)
    if own is None:
        return _named(text)
    budget = checked_budget(int(own.group(2)))
    return replace(_named(own.group(1)), budget=budget, name=f"{_named(own.group(1)).name}@{budget}")


def _named(name: str) -> Contestant:
    if name == "centre":
        return AskTell(name, Centre, identity=name, fixed=True)
    if name == "random":
        return AskTell(name, RandomSearch, identity=name, fixed=True)
    if name == CMA_ES:
        return AskTell(name, CmaEs, identity=_with_version(name), fixed=True)
    sampled = _WORST_OF.fullmatch(name)
    if sampled is not None:
        begin = partial(CmaEs, worst_of=int(sampled.group(1)))
        return AskTell(name, begin, identity=_with_version(name), fixed=True)
    if name.endswith(".json"):
        return _from_heuristic(heuristic(name), Path(name).stem)
    if name not in heuristics():
        raise UnknownNameError("contestant", name, contestant_names(), "robustforge heuristics")
    return _from_heuristic(heuristic(name), name)


def _from_heuristic(chosen: Heuristic, name: str) -> Contestant:
    return HeuristicContestant(name, chosen, identity=chosen.id, fixed=True)


def _with_version(name: str) -> str:
    return f"{name} (pycma {pycma().__version__})"
