"""Evidence: what a store, or a folder of published results, says about evolutions and assessments.

A folder holds, for each evolution, what is needed to analyse it without its single runs: see `archive`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robustforge.heuristic import Heuristic
from robustforge.store import Assessed


@dataclass(frozen=True)
class Bred:
    """One distinct heuristic of an evolution.

    Attributes:
        heuristic: The heuristic.
        generation: The first generation that it was in, counted from 0.
        runs: How many runs on each problem its means are of, all generations together.
        means: Its mean value on each problem; +inf after a failure.
    """

    heuristic: Heuristic
    generation: int
    runs: int
    means: tuple[float, ...]


@dataclass(frozen=True)
class Outcome:
    """What an evolution has come to, finished or not.

    Attributes:
        name: Its name.
        problems: The names of its problems.
        settings: All that decided it, as it was stored.
        grammar: The grammar's name and fingerprint, as it was stored.
        bred: Each distinct heuristic of its complete generations once, best first: by mean on one problem, by
            elimination on several.
        fitness: Best and median of each complete generation; see `Evolution.fitness`.
        champion: The best of the finalists; of an evolution at work, of the last complete generation; `None` before.
        finished: Whether the champion has been chosen.
        runs: Runs in all.
        failures: Those of them that failed.
        seconds: What all runs took together, on one core.
        begun: When, in UTC.
        ended: When, in UTC; `None` until then.
    """

    name: str
    problems: tuple[str, ...]
    settings: dict[str, Any]
    grammar: dict[str, Any]
    bred: tuple[Bred, ...]
    fitness: tuple[tuple[float, float], ...]
    champion: Heuristic | None
    finished: bool
    runs: int
    failures: int
    seconds: float
    begun: str
    ended: str | None


@dataclass(frozen=True)
class Evidence:
    """All that a place holds.

    Attributes:
        where: The store or the folder.
        outcomes: Its evolutions, the oldest first.
        assessed: Its assessed runs.
        running: Whether somebody is writing to it.
    """

    where: str
    outcomes: tuple[Outcome, ...]
    assessed: tuple[Assessed, ...]
    running: bool
