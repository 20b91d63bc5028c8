"""What a store holds: experiments, the runs of heuristics in them, and runs of users' own models."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

EVOLUTION, SEARCH = "evolution", "search"
"""The kinds of experiments."""

KNOWN, SOLVE, VERIFY = "known", "solve", "verify"
"""What a run of a model was for: it was known before, the search asked for it, or the attack on its answer."""

FINAL = -1
"""The generation that the final comparison is stored under."""


RunKey = tuple[int, int, str, int]
"""Generation, problem, heuristic and repeat: what tells a run from all others of an experiment."""

AssessedKey = tuple[str, str, int, int, bool, int]
"""Contestant, problem, budget, samples, attack and seed: what tells an assessed run from all others of a store."""

CHECKPOINTS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Shares of the budget at which an assessed run is looked at."""


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
class Assessed:
    """One run of a contestant, and what the design that it returned is worth.

    Attributes:
        contestant: Who ran: a heuristic's id, or the name of another optimiser.
        name: What it was called.
        problem: The problem, as `Problem.to_dict` in canonical JSON.
        budget: Evaluations that it was given.
        samples: Points of the re-estimate.
        attack: Whether the design was attacked, too.
        seed: What decided the search.
        repeat: The number of the run.
        value: The worst of the samples around the returned design; NaN after a failure.
        attacked: The worst that the attack found; NaN if there was none.
        nominal: The value of the design itself.
        nfev: Evaluations that it used.
        curve: The worst of `samples` / 100 points around the design that would have been returned after each of
            `CHECKPOINTS`, as shares of the budget; NaN until there was one.
        x: The design.
        seconds: How long it all took.
        failure: Why there is no value; empty if there is one.
    """

    contestant: str
    name: str
    problem: str
    budget: int
    samples: int
    attack: bool
    seed: int
    repeat: int
    value: float = math.nan
    attacked: float = math.nan
    nominal: float = math.nan
    nfev: int = 0
    curve: tuple[float, ...] = ()
    x: tuple[float, ...] = ()
    seconds: float = 0.0
    failure: str = ""

    @property
    def key(self) -> AssessedKey:
        """What tells it from all other assessed runs."""
        return (self.contestant, self.problem, self.budget, self.samples, self.attack, self.seed)

    @property
    def problem_name(self) -> str:
        """The problem's name."""
        return str(json.loads(self.problem)["name"])


@dataclass(frozen=True)
class Evaluation:
    """One run of a user's model.

    Attributes:
        part: What it was for: `KNOWN`, `SOLVE` or `VERIFY`.
        number: Its number among those.
        x: The point, as the search sees it.
        value: What the model says, in the user's own sense; NaN after a failure.
        failure: Why there is no value; empty if there is one.
        tail: The last of what a failed run printed.
        seconds: How long it took.
    """

    part: str
    number: int
    x: tuple[float, ...]
    value: float = math.nan
    failure: str = ""
    tail: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Experiment:
    """What is stored of an experiment beside its runs.

    Attributes:
        id: Its number in this store.
        name: Its name, unique in the store.
        kind: What it is, `EVOLUTION` or `SEARCH`.
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
