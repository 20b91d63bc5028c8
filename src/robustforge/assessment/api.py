"""`assess` and `compare`: many runs of contestants on problems, and statistics on the designs that they return."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from robustforge import notebook_html
from robustforge.arguments import former_attribute, named_arguments
from robustforge.assessment.assessment_task import AssessmentTask, run_seed
from robustforge.assessment.comparison import Comparison, compare_runs
from robustforge.assessment.iohprofiler import write_iohprofiler
from robustforge.assessment.run_groups import Measure
from robustforge.assessment.runner import AssessmentRunner, Progress
from robustforge.assessment.summaries import anytime, summaries
from robustforge.contestants import Contestant, as_contestant
from robustforge.contestants.lookup import CHEAP_CONTROLS, HeuristicContestant
from robustforge.engine.initial_state import checked_budget
from robustforge.errors import AssessmentError, StoreWriteError
from robustforge.representation import Heuristic
from robustforge.robust_problem import Problem, as_problems
from robustforge.scheduling import open_backend
from robustforge.store import AssessedRun, Store
from robustforge.tables import Table

MAX_RUNS, MAX_SAMPLES = 10**6, 10**9


@dataclass(frozen=True)
class Assessment:
    """The result of `assess`.

    Attributes:
        runs: All runs, ordered by problem, contestant and repeat.
        new_runs: Number of runs made by this call; the others were in the store.
    """

    runs: tuple[AssessedRun, ...]
    new_runs: int

    new = former_attribute("new", "new_runs")

    @property
    def failures(self) -> int:
        """Number of failed runs."""
        return sum(bool(run.failure) for run in self.runs)

    def summaries(self) -> Table:
        """Return statistics per problem and contestant: mean, standard error, quartiles, attacked and nominal means."""
        return summaries(self.runs)

    def comparison(self, measure: Measure = "value") -> Comparison:
        """Return the contestants side by side, with significance tests.

        Args:
            measure: "value", the worst of the samples, "attacked" or "nominal".
        """
        return replace(compare_runs(self.runs, measure), assessment=self)

    def anytime(self) -> Table:
        """Return the sampled worst case of the incumbent design against the number of evaluations."""
        return anytime(self.runs)

    def to_iohprofiler(self, folder: str | Path) -> list[Path]:
        """Write the anytime curves of all runs in the format of IOHprofiler, for IOHanalyzer and iohinspector.

        Args:
            folder: The folder, which is created.

        Returns:
            The JSON files, one for each contestant and problem.
        """
        return write_iohprofiler(self.runs, folder)

    def plot(self, problem: str | None = None, ax: Any = None) -> Any:
        """Draw a box plot of the runs of each contestant, as `Comparison.plot` does."""
        return self.comparison().plot(problem, ax)

    def _repr_html_(self) -> str:
        """Return the summaries as a notebook shows them."""
        columns = ("problem", "contestant", "runs", "failures", "nominal", "mean", "se", "median", "attacked")
        rows = ([row[column] for column in columns] for row in self.summaries())
        return notebook_html.fragment(repr(self).strip("<>"), notebook_html.table(columns, rows))

    def __repr__(self) -> str:
        return f"<Assessment: {len(self.runs)} runs, {self.new_runs} new, {self.failures} failed>"


@named_arguments(callback="on_progress")
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
    on_progress: Callable[[Progress], Any] | None = None,
) -> Assessment:
    """Run contestants on problems many times, and estimate the worst case of each returned design.

    Args:
        contestants: One or several: names of heuristics or controls ("random", "centre", "cma-es",
            "cma-es-worst-of-4"), paths to .json files, `Heuristic` or `AskTell`. "rpso@5000" sets its own budget.
        problems: A `Problem`, or several.
        runs: Runs of each contestant on each problem.
        samples: Points sampled around each returned design; its value is the worst of them.
        budget: Evaluations per run.
        seed: Decides everything that is random. Repeat k has the same seed for all contestants.
        attack: Whether to attack each returned design as well, which takes 10,000 to 100,000 evaluations.
        store: A file that stores every run; runs that it holds are not repeated.
        executor: A `concurrent.futures.Executor` for the runs; by default, all local cores.
        workers: Number of local cores.
        time_limit: Seconds after which a run counts as failed. Runs are then made in processes.
        on_progress: Called with a `Progress` whenever runs complete.

    Returns:
        The runs, with `summaries`, `comparison` and `anytime` as tables.

    Raises:
        StoreWriteError: The store can no longer be written: the disk is full, or the file was deleted. `result` is the
            assessment of the completed runs; `None` if there are none.

    Example:
        >>> import robustforge as rf
        >>> found = rf.assess("rpso", rf.problem("sphere", 2), runs=5, samples=100, budget=100)
        >>> row = found.summaries()[0]
        >>> row["contestant"], row["runs"], row["nominal"] <= row["mean"] <= row["attacked"]
        ('rpso', 5, True)
    """
    chosen, where = _contestants(contestants, checked_budget(budget)), as_problems(problems)
    _check_arguments(runs, samples, seed, on_progress)
    tasks = _tasks(chosen, where, int(budget), int(samples), bool(attack), int(runs), int(seed))
    in_python = not all(isinstance(each, HeuristicContestant) or each.id in CHEAP_CONTROLS for each in chosen)
    runner: AssessmentRunner | None = None
    try:
        with (
            Store.open(store) as opened,
            open_backend(where, executor, workers, time_limit, in_python=in_python) as backend,
        ):
            runner = AssessmentRunner(opened, backend, chosen, where, on_progress)
            runner.run(tasks)
    except StoreWriteError as error:
        error.result = _completed(runner, tasks) if runner else None
        raise
    return Assessment(tuple(runner.runs[task.key] for task in tasks), runner.progress.new_runs)


def _completed(runner: AssessmentRunner, tasks: Sequence[AssessmentTask]) -> Assessment | None:
    """Return the assessment of the completed runs; `None` if there are none."""
    runs = tuple(runner.runs[task.key] for task in tasks if task.key in runner.runs)
    return Assessment(runs, runner.progress.new_runs) if runs else None


def compare(
    contestants: Any, problems: Problem | Iterable[Problem], *, measure: Measure = "value", **options: Any
) -> Comparison:
    """Compare contestants on problems, with significance tests.

    Args:
        contestants: As for `assess`.
        problems: As for `assess`.
        measure: What is compared: "value" (the worst of the samples), "attacked" or "nominal".
        **options: Further arguments of `assess`; runs in its store are reused.

    Returns:
        The best contestant on each problem and those that are not significantly different from it (Wilcoxon's rank-sum
        test at the 5% level, with Holm's correction), effect sizes, and average ranks.

    Raises:
        StoreWriteError: As for `assess`; its `result` is the comparison of the completed runs.

    Example:
        >>> import robustforge as rf
        >>> found = rf.compare(["rpso", "random"], rf.problem("sphere", 10), runs=10, samples=100, budget=500)
        >>> [row["contestant"] for row in found.cells if row["is_best"]]
        ['rpso']
    """
    try:
        return assess(contestants, problems, **options).comparison(measure)
    except StoreWriteError as error:
        error.result = error.result and error.result.comparison(measure)
        raise


def _tasks(
    contestants: Sequence[Contestant],
    problems: Sequence[Problem],
    budget: int,
    samples: int,
    attack: bool,
    runs: int,
    seed: int,
) -> list[AssessmentTask]:
    """Return the tasks of all runs, ordered by problem, contestant and repeat."""
    tasks = []
    for k, problem in enumerate(problems):
        own = {} if problem.is_test_problem else {"own": True}  # distinct from a test problem of the same name
        text = json.dumps({**problem.to_dict(), **own}, sort_keys=True)
        for number, each in enumerate(contestants):
            for repeat in range(runs):
                run = AssessedRun(
                    each.id, each.name, text, each.budget or budget, samples, attack, run_seed(seed, repeat), repeat
                )
                tasks.append(AssessmentTask(each, run, k * len(contestants) + number))
    return tasks


def _contestants(given: Any, budget: int) -> tuple[Contestant, ...]:
    if isinstance(given, (str, Path, Heuristic, Contestant)):
        given = (given,)
    try:
        chosen = tuple(as_contestant(each) for each in given)
    except TypeError:
        fix = "Pass one contestant or a list of them, for instance rpso+dd"
        raise AssessmentError("contestants must be a contestant or a list of them", f"got {given!r}", fix) from None
    if not chosen:
        raise AssessmentError("at least one contestant is needed", "got none", "Name one, for instance rpso+dd")
    _check_distinct(chosen, budget)
    return chosen


def _check_distinct(contestants: Sequence[Contestant], budget: int) -> None:
    names: set[str] = set()
    known: dict[tuple[str, int], Contestant] = {}
    for each in contestants:
        if each.name in names:
            fix = "Rename the file, or omit one of them"
            raise AssessmentError("contestants must have different names", f"{each.name!r} occurs twice", fix)
        names.add(each.name)
        first = known.setdefault((each.id, each.budget or budget), each)
        if first is not each:
            fact = f"{first.name!r} and {each.name!r} are the same"
            raise AssessmentError("contestants must be different", fact, "Leave one of them out")


def _check_arguments(runs: Any, samples: Any, seed: Any, on_progress: Any) -> None:
    limits = (("runs", runs, 1, MAX_RUNS), ("samples", samples, 1, MAX_SAMPLES), ("seed", seed, 0, 2**63))
    for name, value, minimum, maximum in limits:
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not minimum <= value <= maximum:
            raise AssessmentError(f"{name} must be an integer from {minimum:,} to {maximum:,}", f"got {value!r}")
    if on_progress is not None and not callable(on_progress):
        raise AssessmentError("on_progress must be a function of the progress", f"got {on_progress!r}")
