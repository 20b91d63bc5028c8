"""`Dataset`: the evolutions and assessed runs of a store or of a results folder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from robustforge.representation import Heuristic
from robustforge.robust_problem.problem import problems
from robustforge.store import AssessedRun


@dataclass(frozen=True)
class EvolvedHeuristic:
    """A distinct heuristic of an evolution.

    Attributes:
        heuristic: The heuristic.
        generation: The first generation that it was in, from 0.
        runs: Number of runs on each problem, over all generations.
        means: Mean value on each problem; +inf after a failure.
    """

    heuristic: Heuristic
    generation: int
    runs: int
    means: tuple[float, ...]


@dataclass(frozen=True)
class EvolutionRecord:
    """A stored evolution, finished or not.

    Attributes:
        name: Its name.
        problems: Names of its problems.
        settings: Everything that decided its result, as it was stored.
        grammar: Name, restrictions and fingerprint of the grammar, as they were stored.
        heuristics: The distinct heuristics of the complete generations, best first: by mean on one problem, by
            elimination on several.
        fitness: Best and median fitness of each complete generation; see `Evolution.fitness`.
        champion: The best finalist; before the end, the best of the last complete generation, or `None`.
        finished: Whether the champion is final.
        runs: Number of runs.
        failures: Number of failed runs.
        seconds: Total duration of all runs, on one core.
        started: Start time in UTC.
        ended: End time in UTC; `None` before.
    """

    name: str
    problems: tuple[str, ...]
    settings: dict[str, Any]
    grammar: dict[str, Any]
    heuristics: tuple[EvolvedHeuristic, ...]
    fitness: tuple[tuple[float, float], ...]
    champion: Heuristic | None
    finished: bool
    runs: int
    failures: int
    seconds: float
    started: str
    ended: str | None

    @property
    def budget(self) -> int:
        """Evaluations per run."""
        return int(self.settings["budget"])

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The distinct numbers of variables of its problems, in ascending order."""
        return tuple(sorted({problem["dimension"] for problem in self.settings["problems"]}))


@dataclass(frozen=True)
class Dataset:
    """The contents of a store or a results folder.

    Attributes:
        path: The store or the folder.
        evolutions: Its evolutions; those of a store by start time, those of a folder by problem.
        assessed_runs: Its assessed runs.
        running: Whether another process is writing to it.
    """

    path: str
    evolutions: tuple[EvolutionRecord, ...]
    assessed_runs: tuple[AssessedRun, ...]
    running: bool


def pooled(evolutions: Iterable[EvolutionRecord]) -> dict[tuple[int, ...], list[EvolutionRecord]]:
    """Return the evolutions that are analysed together: as in the paper, those with the same number of variables.

    Evolutions without a complete generation are left out.

    Returns:
        Evolutions by the numbers of variables of their problems, in ascending order; within a pool in the given order.
    """
    pools: dict[tuple[int, ...], list[EvolutionRecord]] = {}
    for evolution in evolutions:
        if evolution.heuristics:
            pools.setdefault(evolution.dimensions, []).append(evolution)
    return {dimensions: pools[dimensions] for dimensions in sorted(pools)}


def problem_sort_key(problem: str) -> tuple[int, str]:
    """Return a sort key for names of problems: test problems in the order of the paper, then others by name."""
    known = problems()
    return next((k for k, name in enumerate(known) if problem.startswith(f"{name}-")), len(known)), problem


def check_settings(settings: Any) -> None:
    """Raise `ValueError` if stored settings lack what every analysis needs."""
    if not isinstance(settings, dict):
        raise ValueError(f"settings are {settings!r}")
    problems, budget = settings.get("problems"), settings.get("budget")
    if not isinstance(problems, list) or not problems or not all(map(_is_problem, problems)):
        raise ValueError(f"the settings' problems are {problems!r}")
    if not isinstance(budget, int) or budget < 1:
        raise ValueError(f"the settings' budget is {budget!r}")


def check_grammar(stored: Any) -> None:
    """Raise `ValueError` if a stored grammar has restrictions that are none."""
    restrictions = stored.get("restrictions") or {} if isinstance(stored, dict) else None
    if isinstance(restrictions, dict):
        only, fixed, without = (restrictions.get(key) or default for key, default in _RESTRICTIONS.items())
        lists = [*only.values(), without] if isinstance(only, dict) and isinstance(fixed, dict) else [None]
        if all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in lists):
            return
    raise ValueError(f"the grammar is {stored!r}")


_RESTRICTIONS: dict[str, Any] = {"only": {}, "fix": {}, "without": []}


def check_assessed(runs: Iterable[AssessedRun]) -> tuple[AssessedRun, ...]:
    """Return assessed runs, or raise `ValueError` if their problem or their numbers are malformed."""
    checked = tuple(runs)
    for text in {run.problem for run in checked}:
        if not _is_problem(json.loads(text)):
            raise ValueError(f"an assessed problem is {text!r}")
    for run in checked:
        numbers = (run.value, run.attacked, run.nominal, run.seconds)
        if not all(isinstance(number, (int, float)) for number in numbers) or not isinstance(run.budget, int):
            raise ValueError(f"run {run.repeat} of {run.name!r} has values that are not numbers")
    return checked


def _is_problem(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("name"), str) and isinstance(data.get("dimension"), int)
