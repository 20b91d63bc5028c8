"""What a store holds: experiments, and the runs of heuristics in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

FINAL = -1
"""The generation that the final comparison is stored under."""


RunKey = tuple[int, int, str, int]
"""Generation, problem, heuristic and repeat: what tells a run from all others of an experiment."""


@dataclass(frozen=True)
class Run:
    """One run of a heuristic on a problem.

    Attributes:
        generation: The generation, or `FINAL`.
        problem: The problem's place in the experiment's list.
        heuristic: The heuristic's id.
        repeat: The number of the repeat.
        seed: What decided the search, as for `minimize`.
        value: The independent re-estimate of the worst case at the returned point; NaN after a failure.
        estimate: What the search itself took for it.
        nfev: Evaluations of the search.
        work: Distances computed by its relocations.
        relocations: How many these were.
        seconds: How long search and re-estimate took.
        failure: Why there is no value; empty if there is one.
    """

    generation: int
    problem: int
    heuristic: str
    repeat: int
    seed: int
    value: float = math.nan
    estimate: float = math.nan
    nfev: int = 0
    work: int = 0
    relocations: int = 0
    seconds: float = 0.0
    failure: str = ""

    @property
    def key(self) -> RunKey:
        """What tells it from all other runs of an experiment."""
        return (self.generation, self.problem, self.heuristic, self.repeat)


@dataclass(frozen=True)
class Experiment:
    """What is stored of an experiment beside its runs.

    Attributes:
        id: Its number in this store.
        name: Its name, unique in the store.
        kind: What it is, "evolution".
        settings: All that decides its outcome.
        grammar: The production rules.
        champion: The id of what came out, `None` until it has ended.
        begun: When, in UTC.
        ended: When, in UTC; `None` until then.
    """

    id: int
    name: str
    kind: str
    settings: dict[str, Any]
    grammar: dict[str, Any]
    champion: str | None
    begun: str
    ended: str | None
