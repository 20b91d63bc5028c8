"""Evidence: what a store, or a folder of published results, says about evolutions and assessments.

A folder holds, for each evolution, what is needed to analyse it without its single runs: see `archive`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from robustforge.heuristic import Heuristic
from robustforge.problem import problems
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

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The numbers of variables of its problems, each once, the lowest first."""
        return tuple(sorted({problem["dimension"] for problem in self.settings["problems"]}))


@dataclass(frozen=True)
class Evidence:
    """All that a place holds.

    Attributes:
        where: The store or the folder.
        outcomes: Its evolutions; those of a store the oldest first, those of a folder by their problems.
        assessed: Its assessed runs.
        running: Whether somebody is writing to it.
    """

    where: str
    outcomes: tuple[Outcome, ...]
    assessed: tuple[Assessed, ...]
    running: bool


def pooled(outcomes: Iterable[Outcome]) -> dict[tuple[int, ...], list[Outcome]]:
    """Return the evolutions that are analysed together, as in the paper: those with as many variables.

    Those that have bred nothing yet are left out.

    Returns:
        Evolutions by the numbers of variables of their problems, the lowest first; within a pool as they were given.
    """
    pools: dict[tuple[int, ...], list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.bred:
            pools.setdefault(outcome.dimensions, []).append(outcome)
    return {dimensions: pools[dimensions] for dimensions in sorted(pools)}


def standing(problem: str) -> tuple[int, str]:
    """Return where a problem stands among others: the test problems in the order of the paper, then all by name."""
    known = problems()
    return next((place for place, name in enumerate(known) if problem.startswith(f"{name}-")), len(known)), problem


def check_settings(settings: Any) -> None:
    """Raise `ValueError` if settings lack what every analysis needs of them."""
    if not isinstance(settings, dict):
        raise ValueError(f"settings are {settings!r}")
    problems, budget = settings.get("problems"), settings.get("budget")
    if not isinstance(problems, list) or not problems or not all(map(_is_problem, problems)):
        raise ValueError(f"the settings' problems are {problems!r}")
    if not isinstance(budget, int) or budget < 1:
        raise ValueError(f"the settings' budget is {budget!r}")


def check_assessed(runs: Iterable[Assessed]) -> tuple[Assessed, ...]:
    """Return assessed runs, or raise `ValueError` if what they are about cannot be told."""
    checked = tuple(runs)
    for text in {run.problem for run in checked}:
        if not _is_problem(json.loads(text)):
            raise ValueError(f"an assessed problem is {text!r}")
    for run in checked:
        numbers = (run.value, run.attacked, run.nominal, run.seconds)
        if not all(isinstance(number, (int, float)) for number in numbers) or not isinstance(run.budget, int):
            raise ValueError(f"run {run.repeat} of {run.name!r} has no numbers")
    return checked


def _is_problem(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("name"), str) and isinstance(data.get("dimension"), int)
