"""The searches of a store as the report shows them: settings, state, result and neighbourhood of each.

Nothing is evaluated. But a store holds no estimates, so the optimiser is replayed on the stored values to trace how its
estimate developed (`estimates`).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.engine import RobustResult
from robustforge.engine.estimate_trace import CHECKPOINTS, trace_estimates
from robustforge.errors import ProblemError, StoreError, UnknownNameError
from robustforge.reporting.tolerance_tradeoff import Estimate, best_price, design_price
from robustforge.representation import Heuristic
from robustforge.simulator.problem_file import ProblemFile
from robustforge.simulator.run_outcome import RunOutcome
from robustforge.solver import (
    AttackResult,
    Solution,
    StoredAttack,
    StoredSearch,
    Verdict,
    judge_attack,
    judge_search,
    solution_from_result,
)
from robustforge.store import SEARCH, SOLVE, VERIFY, Evaluation, Experiment, Store, reporting_damage
from robustforge.store.lock_file import LockFile
from robustforge.verification.near_points import NearPoints
from robustforge.verification.neighbourhood import Neighbourhood

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NeighbourhoodData:
    """The evaluations within the tolerances of a design. Values are as the search sees them: lower is better.

    Attributes:
        names: The uncertain variables.
        positions: The position of each evaluation in each of them (k, m): -1 lowest, 0 as designed, 1 highest.
        values: The values (k,); +inf where infeasible.
        changes: The change of the value from one end of each tolerance to the other, by a linear model (m,).
        fitted: The number of evaluations that the linear model is fitted to.
    """

    names: tuple[str, ...]
    positions: Floats
    values: Floats
    changes: Floats
    fitted: int

    @property
    def is_reliable(self) -> bool:
        """Whether the linear model is fitted to enough evaluations."""
        return self.fitted >= len(self.names) + 2

    @property
    def by_effect(self) -> list[int]:
        """The indices of the variables, the one with the largest effect first."""
        return [int(k) for k in np.argsort(-np.abs(self.changes), kind="stable")]

    @property
    def worst(self) -> int | None:
        """The index of the worst evaluation; `None` if there is none."""
        return int(np.argmax(self.values)) if self.values.size else None


@dataclass(frozen=True, eq=False)
class SearchData:
    """A search of a store, and its current design.

    Attributes:
        name: The name of the search.
        file: The problem file.
        heuristic: The heuristic of the search.
        solution: The result, with the user's names, units and sign.
        state: "finished", "running", "waiting" for values from the user, or "interrupted".
        has_design: Whether there is a design.
        has_model: Whether a model is run; otherwise the user reports the values.
        started: Start time, in UTC.
        ended: End time, in UTC; `None` until then.
        runs: All runs of the search and of the attack on its design.
        seconds: Total time of these runs.
        prior_evaluations: The number of points that were evaluated before the search.
        attacked: The result of the attack; `None` if there was none.
        worst_point: The worst point found within the tolerances; empty if there is none.
        neighbourhood: The evaluations within the tolerances; `None` if there is no design.
        estimates: Numbers of runs and the estimate of the robust value after them, with the user's sign.
        price: The worst value of the best design under other tolerances, by the runs of the search; lower is better.
        own_price: The same of this design.
    """

    name: str
    file: ProblemFile
    heuristic: Heuristic
    solution: Solution
    state: str
    has_design: bool
    has_model: bool
    started: str
    ended: str | None
    runs: tuple[Evaluation, ...]
    seconds: float
    prior_evaluations: int
    attacked: AttackResult | None
    worst_point: dict[str, float]
    neighbourhood: NeighbourhoodData | None
    estimates: tuple[tuple[int, float], ...]
    price: tuple[Estimate, ...]
    own_price: tuple[Estimate, ...]

    @property
    def worst(self) -> float:
        """The worst value found within the tolerances, with the user's sign."""
        return self.attacked.worst if self.attacked else self.solution.worst

    @property
    def verdict(self) -> Verdict:
        """The verdict of the attack on the worst value that the search had found."""
        return judge_attack(self.attacked) if self.attacked else judge_search(self.solution, self.has_model)

    @property
    def failure_reasons(self) -> list[tuple[str, int]]:
        """The reasons of failed runs with their counts, the most frequent first."""
        return Counter(run.failure for run in self.runs if run.failure).most_common()

    @property
    def last_failed(self) -> Evaluation | None:
        """The last run that failed."""
        return next((run for run in reversed(self.runs) if run.failure), None)


def read_searches(path: str | Path, names: Sequence[str] = ()) -> tuple[list[SearchData], list[str]]:
    """Return the searches of a store in their current state; a writer is not disturbed.

    Args:
        path: A store. A folder of results holds no searches.
        names: The searches and evolutions to include; all by default.

    Returns:
        The searches, in the order of `names` or the oldest first, and those of the names that are not searches.

    Raises:
        StoreError: The store is missing or damaged.
        UnknownNameError: The store has no search or evolution of a name.
    """
    if Path(path).is_dir():
        return [], list(names)
    with Store.read(path) as store, reporting_damage(str(path)):
        known = {experiment.name: experiment for experiment in store.experiments(None)}
        for name in names:
            if name not in known:
                raise UnknownNameError("run in this store", name, known, f"robustforge runs {store.path}")
        searches = [name for name in dict.fromkeys(names or known) if known[name].kind == SEARCH]
        is_running = LockFile.is_held(store.path)
        return [read_search(store, known[name], is_running) for name in searches], [
            name for name in names if name not in searches
        ]


def read_search(store: Store, experiment: Experiment, is_running: bool = False) -> SearchData:
    """Return the data of one search.

    Args:
        store: The store that it is in.
        experiment: The search.
        is_running: Whether a process is writing to the store.
    """
    search = StoredSearch.read(store, experiment)
    reported = search.optimizer.values
    rows = [row for row in store.evaluations(experiment) if row.part == VERIFY or row.number in reported]
    solved, verified = ([row for row in rows if row.part == part] for part in (SOLVE, VERIFY))
    attack, result = _stored_attack(search, verified), search.result()
    has_design = search.optimizer.design is not None
    near = attack.near_points() if attack else _near_points(search, result) if has_design else None
    has_model = experiment.settings.get("model") is not None
    idle = "running" if is_running else "interrupted" if has_model else "waiting"
    problem, x, values = search.optimizer.problem, result.history.x, result.history.fun
    return SearchData(
        name=experiment.name,
        file=search.file,
        heuristic=search.optimizer.heuristic,
        solution=solution_from_result(search.file, result),
        state="finished" if search.optimizer.finished else idle,
        has_design=has_design,
        has_model=has_model,
        started=experiment.started,
        ended=experiment.ended,
        runs=(*solved, *verified),
        seconds=float(np.nansum([row.seconds for row in (*solved, *verified)])),
        prior_evaluations=len(search.optimizer.prior),
        attacked=attack.result() if attack and attack.runs else None,
        worst_point=_worst_point(search, result, near),
        neighbourhood=_neighbourhood_data(search, result, near) if near else None,
        estimates=tuple(estimates(search)),
        price=tuple(best_price(problem, x, values, design=result.x if has_design else None)),
        own_price=tuple(design_price(result.x, problem, x, values)) if has_design else (),
    )


def estimates(search: StoredSearch, checkpoints: int = CHECKPOINTS) -> list[tuple[int, float]]:
    """Return numbers of runs and the search's estimate of the robust value after them, with the user's sign.

    The store holds no estimates. So the optimiser is replayed on the stored values, which evaluates nothing.
    """
    optimizer = search.optimizer
    trace = trace_estimates(optimizer.restart(), optimizer.values, checkpoints=checkpoints)
    return [(runs, search.file.sign * estimate) for runs, estimate in trace]


def _stored_attack(search: StoredSearch, rows: Sequence[Evaluation]) -> StoredAttack | None:
    """Return the attack on the design of a search as far as it is stored; `None` if there is no design yet."""
    try:
        attack = StoredAttack(search)
    except ProblemError:
        return None
    numbers = {row.number for row in rows}
    completed = next(number for number in itertools.count() if number not in numbers)  # later ones may have overtaken
    attack.run(completed, _refuse)
    return attack


def _refuse(values: Any, number: int) -> Future[RunOutcome]:
    raise StoreError(f"run {number} of the attack is not stored", "the stored attack does not match its search")


def _near_points(search: StoredSearch, result: RobustResult) -> NearPoints:
    """Return the evaluations of an unfinished search within the uncertainty set of its current design."""
    problem, history = search.optimizer.problem, result.history
    neighbourhood = Neighbourhood(problem, result.x, cores=1)
    differences = (history.x - neighbourhood.centre) / problem.space.scale
    is_near = problem.geometry.holds(differences) & ~np.isnan(history.fun)
    return NearPoints(neighbourhood.to_unit(history.x[is_near]), history.fun[is_near])


def _worst_point(search: StoredSearch, result: RobustResult, near: NearPoints | None) -> dict[str, float]:
    if near is None or not near.values.size:
        return {}
    neighbourhood = Neighbourhood(search.optimizer.problem, result.x, cores=1)
    return search.file.variables.decode(neighbourhood.to_points(near.worst_point[None])[0])


def _neighbourhood_data(search: StoredSearch, result: RobustResult, near: NearPoints) -> NeighbourhoodData:
    neighbourhood = Neighbourhood(search.optimizer.problem, result.x, cores=1)
    uncertain = [search.file.variables.members[k] for k in neighbourhood.uncertain]
    down, up = (np.array(side) for side in zip(*(each.deviation for each in uncertain), strict=True))
    moved = (neighbourhood.to_points(near.units) - result.x)[:, neighbourhood.uncertain]
    half_width = np.where(moved < 0, down, up)
    return NeighbourhoodData(
        names=tuple(each.name for each in uncertain),
        positions=moved / np.where(half_width > 0, half_width, np.inf),
        values=near.values,
        changes=2 * near.slopes(),
        fitted=int(np.isfinite(near.values).sum()),
    )
