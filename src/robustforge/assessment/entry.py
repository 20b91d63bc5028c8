"""`assess` and `compare`: contestants on problems, many runs each, with everything kept that was run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robustforge.assessment.assessed import Task, run_seed
from robustforge.assessment.comparison import Comparison, Measure, anytime, comparison, summaries
from robustforge.assessment.process import Process, Progress
from robustforge.contestants import Contestant, as_contestant
from robustforge.contestants.names import QUICK, HeuristicContestant
from robustforge.engine.setup import checked_budget
from robustforge.errors import AssessmentError, StoreWriteError
from robustforge.heuristic import Heuristic
from robustforge.problem import Problem, as_problems
from robustforge.store import Assessed, Store
from robustforge.tables import Table
from robustforge.workshop import crew

MOST_SAMPLES = 10**9


@dataclass(frozen=True)
class Assessment:
    """Assessed runs, as they were asked for.

    Attributes:
        runs: All runs, contestant by contestant on problem by problem.
        new: How many of them were made now; the others were in the store.
    """

    runs: tuple[Assessed, ...]
    new: int

    def summaries(self) -> Table:
        """Return what each contestant reaches on each problem: mean, quartiles, standard error, attacked, nominal."""
        return summaries(self.runs)

    def comparison(self, measure: Measure = "value") -> Comparison:
        """Return the contestants side by side, with tests: by the worst of the samples, or by "attacked"."""
        return comparison(self.runs, measure)

    def anytime(self) -> Table:
        """Return how the worst case of the design at hand falls with the evaluations."""
        return anytime(self.runs)

    def __repr__(self) -> str:
        failed = sum(bool(run.failure) for run in self.runs)
        return f"<Assessment of {len(self.runs)} runs, {self.new} of them new, {failed} failed>"


def assess(
    contestants: Any,
    problems: Problem | Iterable[Problem],
    *,
    runs: int = 200,
    samples: int = 1_000_000,
    budget: int = 2000,
    seed: int = 1,
    attack: bool = True,
    store: str | Path | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    time_limit: float | None = None,
    callback: Callable[[Progress], Any] | None = None,
) -> Assessment:
    """Find out how good contestants are: many runs of each, and what the designs that come out are worth.

    Args:
        contestants: One or several: names of heuristics or of other optimisers ("random", "centre", "cma-es",
            "cma-es-worst-of-4"), paths to .json files, `Heuristic` or `AskTell`. "rpso@5000" has a budget of its own.
        problems: A `Problem`, or several.
        runs: How many runs of each contestant on each problem.
        samples: Points around each returned design; the worst of them is its value.
        budget: Evaluations of a run.
        seed: Decides everything. Repeat k of all contestants has the same seed.
        attack: Whether to attack each returned design as well, which costs 10,000 to 100,000 evaluations.
        store: A file that keeps every run. What it holds is not run again, whoever asked for it.
        executor: Who makes the runs: any `concurrent.futures.Executor`; by default all cores of this machine.
        workers: How many cores of this machine.
        time_limit: Seconds after which a run, then in a process, has failed.
        callback: Called with the `Progress` as runs are done.

    Returns:
        The runs, with `summaries`, `comparison` and `anytime` as tables.

    Raises:
        StoreWriteError: The store cannot be written to any more: the disk is full, or its file was deleted. Its
            `result` is the assessment of the runs that were made; `None` if there are none.

    Example:
        >>> import robustforge as rf
        >>> found = rf.assess("rpso", rf.problem("sphere", 2), runs=5, samples=100, budget=100)
        >>> row = found.summaries()[0]
        >>> row["contestant"], row["runs"], row["nominal"] <= row["mean"] <= row["attacked"]
        ('rpso', 5, True)
    """
    chosen, where = _contestants(contestants, checked_budget(budget)), as_problems(problems)
    _check_numbers(runs, samples, seed)
    if callback is not None and not callable(callback):
        raise AssessmentError("a callback must be a function of the progress", f"got {callback!r}")
    tasks = _tasks(chosen, where, int(budget), int(samples), bool(attack), int(runs), int(seed))
    in_python = not all(isinstance(each, HeuristicContestant) or each.id in QUICK for each in chosen)
    process: Process | None = None
    try:
        with Store.open(store) as kept, crew(where, executor, workers, time_limit, in_python=in_python) as makers:
            process = Process(kept, makers, chosen, where, callback)
            process.run(tasks)
    except StoreWriteError as error:
        done = [process.known[task.key] for task in tasks if task.key in process.known] if process else []
        error.result = Assessment(tuple(done), process.made) if process and done else None
        raise
    return Assessment(tuple(process.known[task.key] for task in tasks), process.made)


def compare(contestants: Any, problems: Problem | Iterable[Problem], **options: Any) -> Comparison:
    """Compare contestants on problems; takes what `assess` takes, and re-uses what it stored.

    Returns:
        Who is best on each problem and who cannot be told from it (Wilcoxon's rank-sum test at 95%, and Holm's
        correction beside it), effect sizes, and average ranks.

    Example:
        >>> import robustforge as rf
        >>> found = rf.compare(["rpso", "random"], rf.problem("sphere", 10), runs=10, samples=100, budget=500)
        >>> [row["contestant"] for row in found.cells if row["is_best"]]
        ['rpso']
    """
    return assess(contestants, problems, **options).comparison()


def _tasks(
    contestants: Sequence[Contestant],
    problems: Sequence[Problem],
    budget: int,
    samples: int,
    attack: bool,
    runs: int,
    seed: int,
) -> list[Task]:
    """Return all runs that are asked for, problem by problem and contestant by contestant."""
    tasks = []
    for place, problem in enumerate(problems):
        own = {} if problem.is_test_problem else {"own": True}  # cannot be taken for a test problem of the same name
        text = json.dumps({**problem.to_dict(), **own}, sort_keys=True)
        for number, each in enumerate(contestants):
            for repeat in range(runs):
                run = Assessed(
                    each.id, each.name, text, each.budget or budget, samples, attack, run_seed(seed, repeat), repeat
                )
                tasks.append(Task(each, run, place * len(contestants) + number))
    return tasks


def _contestants(given: Any, budget: int) -> tuple[Contestant, ...]:
    if isinstance(given, (str, Path, Heuristic, Contestant)):
        given = (given,)
    try:
        chosen = tuple(as_contestant(each) for each in given)
    except TypeError:
        fix = "Pass one contestant or a list of them, for instance rpso+dd"
        raise AssessmentError("an assessment needs contestants", f"got {given!r}", fix) from None
    if not chosen:
        raise AssessmentError("an assessment needs a contestant", "got none", "Name one, for instance rpso+dd")
    names: dict[str, Contestant] = {}
    kinds: dict[tuple[str, int], Contestant] = {}
    for each in chosen:
        if each.name in names:
            fix = "Rename the file, or leave one out"
            raise AssessmentError("contestants must have different names", f"{each.name!r} is there twice", fix)
        twin = kinds.setdefault((each.id, each.budget or budget), each)
        if twin is not each:
            fact = f"{twin.name!r} and {each.name!r} are the same"
            raise AssessmentError("contestants must be different", fact, "Leave one of them out")
        names[each.name] = each
    return chosen


def _check_numbers(runs: Any, samples: Any, seed: Any) -> None:
    for name, value, least, most in (
        ("runs", runs, 1, 10**6),
        ("samples", samples, 1, MOST_SAMPLES),
        ("seed", seed, 0, 2**63),
    ):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value <= most:
            raise AssessmentError(f"{name} must be an integer from {least:,} to {most:,}", f"got {value!r}")
