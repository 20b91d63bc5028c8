"""What is known of the searches of a store, each for a robust design of a user's own problem; nothing is run."""

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
from scipy.optimize import OptimizeResult

from robustforge.engine import Optimizer
from robustforge.errors import ProblemError, StoreError, UnknownNameError
from robustforge.heuristic import Heuristic
from robustforge.model.outcome import Outcome
from robustforge.model.problem_file import ProblemFile
from robustforge.report.price import Estimate, price, price_of
from robustforge.search import Answer, Attack, Search, Verdict, Verified, answer_of, verdict
from robustforge.store import SEARCH, SOLVE, VERIFY, Evaluation, Experiment, Store, damage
from robustforge.store.lock import Lock
from robustforge.verification.neighbourhood import Neighbourhood
from robustforge.verification.probing import Knowledge

Floats = npt.NDArray[np.float64]

CHECKPOINTS = 60
"""Moments of a search at which its estimate is looked at, at most."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What is known within the tolerances of a design. Values are as the search sees them: lower is better.

    Attributes:
        names: The uncertain variables.
        positions: Where each known point lies in each of them (k, m): -1 at the lowest that can be built, 0 at the
            design, 1 at the highest.
        values: Their values (k,); +inf where infeasible.
        changes: How much the value rises from one end of each tolerance to the other, by a linear model (m,).
        fitted: How many points the linear model is of.
    """

    names: tuple[str, ...]
    positions: Floats
    values: Floats
    changes: Floats
    fitted: int

    @property
    def is_trusted(self) -> bool:
        """Whether the linear model has points enough to be more than a guess."""
        return self.fitted >= len(self.names) + 2

    @property
    def by_size(self) -> list[int]:
        """The places of the variables, the one that changes the value most first."""
        return [int(k) for k in np.argsort(-np.abs(self.changes), kind="stable")]

    @property
    def worst(self) -> int | None:
        """The place of the worst point; `None` if there is none."""
        return int(np.argmax(self.values)) if self.values.size else None


@dataclass(frozen=True, eq=False)
class Design:
    """A search, and the design that it has come to.

    Attributes:
        name: What the search is called.
        file: The problem.
        heuristic: Who searches.
        answer: What it has come to, in the user's own sense.
        state: "finished", "running", "waiting" for values that somebody tells, or "interrupted".
        is_found: Whether there is a design at all.
        has_model: Whether a model is run; else somebody tells the values.
        begun: When, in UTC.
        ended: When, in UTC; `None` until then.
        runs: All runs of the search and of the attack on its answer.
        seconds: What they took together.
        earlier: How many points were known before.
        attacked: What the attack came to; `None` if there was none.
        worst_point: The worst point that is known within the tolerances; empty if there is none.
        near: What is known within the tolerances; `None` if there is no design.
        estimates: What the search took for the robust value of its design after so many runs, in the user's sense.
        price: What the search's own runs say about the best design under other tolerances; lower is better.
        own_price: What they say about this one under them.
    """

    name: str
    file: ProblemFile
    heuristic: Heuristic
    answer: Answer
    state: str
    is_found: bool
    has_model: bool
    begun: str
    ended: str | None
    runs: tuple[Evaluation, ...]
    seconds: float
    earlier: int
    attacked: Verified | None
    worst_point: dict[str, float]
    near: Surroundings | None
    estimates: tuple[tuple[int, float], ...]
    price: tuple[Estimate, ...]
    own_price: tuple[Estimate, ...]

    @property
    def worst(self) -> float:
        """The worst value that is known within the tolerances, in the user's sense."""
        return self.attacked.worst if self.attacked else self.answer.worst

    @property
    def verdict(self) -> Verdict:
        """What the attack says about the worst value that the search knew."""
        return verdict(self.attacked)

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """Why runs have no value, and how many each: the most frequent first, of equals the first."""
        return Counter(run.failure for run in self.runs if run.failure).most_common()

    @property
    def last_failed(self) -> Evaluation | None:
        """The last run without a value."""
        return next((run for run in reversed(self.runs) if run.failure), None)


def read_designs(path: str | Path, names: Sequence[str] = ()) -> tuple[list[Design], list[str]]:
    """Return the searches of a store as they stand; a writer is not disturbed.

    Args:
        path: A store. A folder of results holds no searches.
        names: The searches and evolutions that are wanted; all, if none is named.

    Returns:
        The searches, the oldest first or as they were named, and those of the names that are no search.

    Raises:
        StoreError: There is no store, or it is damaged.
        UnknownNameError: It has nothing of a name.
    """
    if Path(path).is_dir():
        return [], list(names)
    with Store.read(path) as store, damage(str(path)):
        known = {experiment.name: experiment for experiment in store.experiments(None)}
        for name in names:
            if name not in known:
                raise UnknownNameError("run in this store", name, known, f"robustforge runs {store.path}")
        searches = [name for name in dict.fromkeys(names or known) if known[name].kind == SEARCH]
        running = Lock.is_held(store.path)
        return [look(store, known[name], running) for name in searches], [n for n in names if n not in searches]


def look(store: Store, experiment: Experiment, running: bool = False) -> Design:
    """Return what is known of one search.

    Args:
        store: The store that it is in.
        experiment: The search.
        running: Whether somebody writes to the store.
    """
    search = Search.look(store, experiment)
    told = search.optimizer.values
    rows = [row for row in store.evaluations(experiment) if row.part == VERIFY or row.number in told]
    solved, checked = ([row for row in rows if row.part == part] for part in (SOLVE, VERIFY))
    attack, result = _attack(search, checked), search.result()
    is_found = search.optimizer.design is not None
    knowledge = attack.knowledge if attack else _known(search, result) if is_found else None
    has_model = experiment.settings.get("model") is not None
    idle = "running" if running else "interrupted" if has_model else "waiting"
    problem, x, values = search.optimizer.problem, result.history.x, result.history.fun
    return Design(
        name=experiment.name,
        file=search.file,
        heuristic=search.optimizer.heuristic,
        answer=answer_of(search.file, result),
        state="finished" if search.optimizer.over else idle,
        is_found=is_found,
        has_model=has_model,
        begun=experiment.begun,
        ended=experiment.ended,
        runs=(*solved, *checked),
        seconds=float(np.nansum([row.seconds for row in (*solved, *checked)])),
        earlier=len(search.optimizer.known),
        attacked=attack.outcome() if attack and attack.runs else None,
        worst_point=_worst_point(search, result, knowledge),
        near=_surroundings(search, result, knowledge) if knowledge else None,
        estimates=tuple(estimates(search)),
        price=tuple(price(problem, x, values, design=result.x if is_found else None)),
        own_price=tuple(price_of(result.x, problem, x, values)) if is_found else (),
    )


def estimates(search: Search, most: int = CHECKPOINTS) -> list[tuple[int, float]]:
    """Return what a search took for the robust value of its design, after so many runs, in the user's sense.

    It is gone through once more with the values that are known, and asked now and then.
    """
    told = search.optimizer
    again = Optimizer(
        told.problem,
        budget=told.budget,
        heuristic=told.heuristic,
        rng=search.file.seed,
        on_failure=told.on_failure,
        retries=told.retries,
        known=told.known,
    )
    left, found, due = dict(told.values), [], 0.0
    step = len(left) / most
    while left:
        ids = [number for number in again.ask().ids.tolist() if number in left]
        again.tell(ids, [left.pop(number) for number in ids])
        runs = len(told.values) - len(left)
        if runs >= due or not left:
            found.append((runs, search.file.sign * float(again.result().estimate)))
            due = runs + step
    return found


def _attack(search: Search, rows: Sequence[Evaluation]) -> Attack | None:
    """Return the attack on the answer of a search as far as it is stored; `None` if there is no answer yet."""
    try:
        attack = Attack(search)
    except ProblemError:
        return None
    numbers = {row.number for row in rows}
    whole = next(number for number in itertools.count() if number not in numbers)  # of one at work, some may be late
    attack.carry_out(whole, _refuse)
    return attack


def _refuse(values: Any, number: int) -> Future[Outcome]:
    raise StoreError("an attack must go on as it began", f"run {number} is not stored")


def _known(search: Search, result: OptimizeResult) -> Knowledge:
    """Return what a search that goes on knows of the neighbourhood of its design."""
    problem, history = search.optimizer.problem, result.history
    around = Neighbourhood(problem, result.x, cores=1)
    gaps = (history.x - around.centre) / problem.space.scale
    near = problem.geometry.holds(gaps) & ~np.isnan(history.fun)
    return Knowledge(around.units(history.x[near]), history.fun[near])


def _worst_point(search: Search, result: OptimizeResult, knowledge: Knowledge | None) -> dict[str, float]:
    if knowledge is None or not knowledge.values.size:
        return {}
    around = Neighbourhood(search.optimizer.problem, result.x, cores=1)
    return search.file.variables.decode(around.place(knowledge.where[None])[0])


def _surroundings(search: Search, result: OptimizeResult, knowledge: Knowledge) -> Surroundings:
    around = Neighbourhood(search.optimizer.problem, result.x, cores=1)
    uncertain = [search.file.variables.each[k] for k in around.active]
    down, up = (np.array(side) for side in zip(*(each.reach for each in uncertain), strict=True))
    moved = (around.place(knowledge.units) - result.x)[:, around.active]
    reach = np.where(moved < 0, down, up)
    return Surroundings(
        names=tuple(each.name for each in uncertain),
        positions=moved / np.where(reach > 0, reach, np.inf),
        values=knowledge.values,
        changes=2 * knowledge.slopes(),
        fitted=int(np.isfinite(knowledge.values).sum()),
    )
