"""Contestants by name, such as `rpso+dd`, `champion.json`, `random@5000` or `cma-es-worst-of-4`."""

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
from robustforge.contestants.contestant import AskTell, Contestant, SearchResult
from robustforge.contestants.controls import Centre, RandomSearch
from robustforge.engine.api import minimize_with_checkpoints
from robustforge.engine.initial_state import checked_budget
from robustforge.errors import AssessmentError, UnknownNameError
from robustforge.representation import Heuristic
from robustforge.representation.presets import heuristic, heuristics
from robustforge.robust_problem import Problem

Floats = npt.NDArray[np.float64]

CMA_ES = "cma-es"
CHEAP_CONTROLS = ("centre", "random")
"""Controls whose cost besides the evaluations is negligible."""

CONTROLS = (*CHEAP_CONTROLS, CMA_ES, f"{CMA_ES}-worst-of-4")
"""Contestants that are not heuristics; the number at the end of the last may be another one."""

_WORST_OF = re.compile(r"cma-es-worst-of-([1-9][0-9]{0,3})")
_OWN_BUDGET = re.compile(r"(.+)@([0-9]{1,18})")


@dataclass(frozen=True)
class HeuristicContestant(Contestant):
    """A heuristic of this package, run as `minimize` runs it."""

    heuristic: Heuristic

    def run(self, problem: Problem, budget: int, seed: int, checkpoints: Sequence[int]) -> SearchResult:
        """Run the heuristic, and record the incumbent design at checkpoints."""
        designs: list[Floats | None] = []
        result = minimize_with_checkpoints(problem, budget, self.heuristic, seed, checkpoints, designs.append)
        rest = [result.x] * (len(checkpoints) - len(designs))
        return SearchResult(result.x, int(result.nfev), (*designs, *rest))


def contestant_names() -> tuple[str, ...]:
    """Return the names of contestants: the presets and the controls."""
    return (*heuristics(), *CONTROLS)


def as_contestant(given: Any) -> Contestant:
    """Return a contestant that is given as an object, a `Heuristic`, a name or a path.

    Args:
        given: The contestant; a name that ends in "@5000" sets its own budget.
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
        return AskTell(name, CmaEs, identity=_with_version(name), fixed=True, portable=False)
    sampled = _WORST_OF.fullmatch(name)
    if sampled is not None:
        factory = partial(CmaEs, worst_of=int(sampled.group(1)))
        return AskTell(name, factory, identity=_with_version(name), fixed=True, portable=False)
    if name.endswith(".json"):
        return _from_heuristic(heuristic(name), Path(name).stem)
    if name not in heuristics():
        raise UnknownNameError("contestant", name, contestant_names(), "robustforge heuristics")
    return _from_heuristic(heuristic(name), name)


def _from_heuristic(chosen: Heuristic, name: str) -> Contestant:
    return HeuristicContestant(name, chosen, identity=chosen.id, fixed=True)


def _with_version(name: str) -> str:
    return f"{name} (pycma {pycma().__version__})"
