"""A search for a robust design of a user's own problem, every run of whose model is in a store.

Nothing of the engine is stored: a search that goes on is gone through again with the values that are known, which
takes moments, and asks for the same points. So it can be stopped at any moment, by whatever it may be.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from robustforge.engine import Batch, Optimizer
from robustforge.engine.optimizer import resolve_heuristic
from robustforge.errors import ModelError, ObjectiveError, StoreError, StoreWriteError, TellError
from robustforge.heuristic import Heuristic
from robustforge.model.earlier import read_earlier
from robustforge.model.outcome import Outcome
from robustforge.model.problem_file import ProblemFile, problem_of
from robustforge.model.workforce import Submit
from robustforge.store import KNOWN, SEARCH, SOLVE, Evaluation, Experiment, Store, damage
from robustforge.store.records import damaged

HOPELESS = 10
"""If so many runs of a model are made and none has a value, there is nothing to search."""

Notice = Callable[["Search"], Any]


class Told(NamedTuple):
    """What somebody tells of a point.

    Attributes:
        number: The point's id.
        outcome: What came of it.
        where: Where that stands, for messages.
    """

    number: int
    outcome: Outcome
    where: str = ""


class Search:
    """A search on a store. `Search.open` begins one, or goes on with it.

    Attributes:
        file: The problem.
        store: Where the runs are.
        experiment: What it is called there.
        optimizer: The search itself, with all that is stored taken in.
    """

    def __init__(self, file: ProblemFile, store: Store, experiment: Experiment, optimizer: Optimizer) -> None:
        self.file, self.store, self.experiment, self.optimizer = file, store, experiment, optimizer
        self._runs, self._failures = 0, 0
        self._replay()

    @classmethod
    def open(cls, file: ProblemFile, store: Store, accept_changes: bool = False) -> Search:
        """Begin a search, or go on with the one of this name.

        Args:
            file: The problem.
            store: Where the runs are, or will be.
            accept_changes: Whether the stored runs still hold although files of the model have changed.

        Raises:
            StoreError: There is one of this name with other settings, or it cannot be gone on with.
        """
        heuristic = heuristic_of(file)
        settings = settings_of(file, heuristic)
        experiment = _found(store, file.name, settings, accept_changes)
        if experiment is None:
            known = _earlier(file)
            made = _optimizer(file, heuristic, known)  # raises for what cannot be searched, before anything is stored
            experiment = store.begin_search(file.name, settings, known)
            return cls(file, store, experiment, made)
        with damage(store.path):
            return cls(file, store, experiment, _optimizer(file, heuristic, _known(store, experiment)))

    @classmethod
    def again(cls, file: ProblemFile, store: Store) -> Search:
        """Open a search that is in the store, with the budget, seed, heuristic and policy that it began with.

        Raises:
            UnknownNameError: There is none of this name.
            StoreError: It is about another problem, or files of its model have changed.
        """
        experiment = store.experiment(file.name, SEARCH)
        with damage(store.path):
            kept = {key: experiment.settings[key] for key in ("budget", "seed", "on_failure", "retries")}
            heuristic = Heuristic.from_json(json.dumps(experiment.settings["heuristic"]))
            file = replace(file, **kept, data=None)
            _found(store, file.name, {**settings_of(file, heuristic), "data": experiment.settings["data"]})
            return cls(file, store, experiment, _optimizer(file, heuristic, _known(store, experiment)))

    @classmethod
    def look(cls, store: Store, experiment: Experiment) -> Search:
        """Return a search of a store as it stands, to look at; also while it goes on.

        Raises:
            StoreError: The store is damaged, or was written by another version of the package.
        """
        try:
            file = problem_of(experiment.settings, Path(store.path))
            heuristic = Heuristic.from_json(json.dumps(experiment.settings["heuristic"]))
            return cls(file, store, experiment, _optimizer(file, heuristic, _known(store, experiment)))
        except StoreError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            fact = f"that of {experiment.name!r} cannot be read ({error})"
            raise StoreError("a search in a store must be whole", fact, "Was the file changed?") from error

    @property
    def runs(self) -> int:
        """Runs of the model that are stored and belong to the search itself."""
        return self._runs

    @property
    def failures(self) -> int:
        """How many of them have no value."""
        return self._failures

    def solve(self, submit: Submit, notice: Notice = lambda search: None) -> OptimizeResult:
        """Run the model wherever the search wants, to its end.

        Args:
            submit: Has the model run.
            notice: Called after each run.

        Raises:
            ModelError: The model failed wherever it was run; the store is as if this search had never begun.
            ObjectiveError: A run failed, and the policy is "raise"; the failed run is not stored.
            StoreWriteError: The store cannot be written to any more; its `result` is what is known.
        """
        try:
            while batch := self.optimizer.ask():
                self._evaluate(batch, submit, notice)
            self.close_if_over()
        except StoreWriteError as error:
            error.result = self.result()
            raise
        return self.result()

    def close_if_over(self) -> None:
        """Note in the store that the search has ended, if it has."""
        if self.optimizer.over and self.experiment.ended is None:
            self.store.end(self.experiment)

    def tell(self, number: int, outcome: Outcome) -> None:
        """Take in what came of a run: store it, and let the search go on with it.

        Args:
            number: The id of a point that waits.
            outcome: What came of it.

        Raises:
            TellError: No such point waits.
        """
        outcome = self.judged(outcome)
        x = self._waiting(number)
        row = Evaluation(SOLVE, number, x, outcome.value, outcome.failure, outcome.tail, outcome.seconds)
        try:
            self.store.add_evaluations(self.experiment, [row])
        except StoreWriteError:
            if not row.failure:  # its value is known all the same
                self._take_in([row])
            raise
        self._count(row)
        self._take_in([row])

    def new_ones(self, told: Sequence[Told]) -> list[tuple[int, Outcome]]:
        """Return those of some outcomes that were not told before; nothing is taken in yet.

        Args:
            told: By id; what was told before with the same value is left out.

        Raises:
            TellError: One is of a point that was not asked for, or that was told another value.
        """
        waiting = set(self.optimizer.ask().ids.tolist())
        rows = [row for row in self.store.evaluations(self.experiment) if row.part == SOLVE]
        known = {row.number: Outcome(row.value, row.failure) for row in rows}
        new = []
        for number, outcome, where in told:
            judged = self.judged(outcome)
            if number in known:
                _check_same(number, known[number], judged, where)
            elif number in waiting:
                known[number] = judged
                new.append((number, outcome))
            else:
                raise _not_waiting(number, where)
        return new

    def _take_in(self, rows: Sequence[Evaluation]) -> None:
        """Tell the engine what is stored."""
        first = self.optimizer.nfev
        try:
            self.optimizer.tell([row.number for row in rows], [self._seen(row.value) for row in rows])
        except ObjectiveError as error:  # the policy is to raise, and there are no retries left
            raise self._ended_by_failure(first) from error

    def _ended_by_failure(self, first: int) -> ObjectiveError:
        """Take back the failed runs of the last batch, so that they are made again; return what there is to say."""
        rows = [e for e in self.store.evaluations(self.experiment) if e.part == SOLVE and e.number >= first]
        failed = [row for row in rows if row.failure]
        for row in failed:
            self.store.forget_evaluation(self.experiment, SOLVE, row.number)
        return ObjectiveError(
            'under on_failure = "raise" every run of the model must have a value',
            f"run {failed[0].number} has none: {failed[0].failure}",
            "Fix it and give the same command again, with --accept-changes if its files have changed; or choose "
            f"another policy under another name{_said(failed[0])}",
        )

    def result(self) -> OptimizeResult:
        """Return what is known now, as the search sees it."""
        return self.optimizer.result()

    def _evaluate(self, batch: Batch, submit: Submit, notice: Notice) -> None:
        """Have all points of a batch run, and take in each as soon as it is there."""
        waiting = {submit(self.file.variables.decode(x), number): number for number, x in batch}
        try:
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    self.tell(waiting.pop(future), future.result())
                    notice(self)
                    self._give_up()
        finally:
            for future in waiting:
                future.cancel()

    def _waiting(self, number: int) -> tuple[float, ...]:
        """Return the point that waits under an id."""
        for known, x in self.optimizer.ask():
            if known == number:
                return tuple(x.tolist())
        raise _not_waiting(number)

    def _count(self, row: Evaluation) -> None:
        self._runs += 1
        self._failures += bool(row.failure)

    def _give_up(self) -> None:
        """End a search whose model fails everywhere, and leave nothing of it: mended, it begins anew."""
        if self._failures < self._runs or (self._runs < HOPELESS and not self.optimizer.over):
            return
        last = max(self.store.evaluations(self.experiment), key=lambda e: (e.part == SOLVE, e.number))
        self.store.forget_search(self.experiment)
        raise ModelError(
            "a model must have a value somewhere",
            f"all of its first {self._runs} runs failed, the last one so: {last.failure}",
            "`robustforge check` runs it once and shows all. If these designs are infeasible, let it print inf"
            + _said(last),
        )

    def judged(self, outcome: Outcome) -> Outcome:
        """Return an outcome as a failure if its value is infinitely good: that is no value."""
        if self._seen(outcome.value) != -math.inf:
            return outcome
        return replace(outcome, value=math.nan, failure=f"the result is {outcome.value}, which no design can be worth")

    def _seen(self, value: float) -> float:
        """Return a value as the search sees it, which minimises."""
        return self.file.sign * value

    def _replay(self) -> None:
        """Take in what is stored; points must be asked for as they were."""
        rows = {e.number: e for e in self.store.evaluations(self.experiment) if e.part == SOLVE}
        if any(self._seen(row.value) == -math.inf for row in rows.values()):
            raise damaged(self.store.path, f"a run of {self.experiment.name!r} is infinitely good")
        left = dict(rows)
        while left:
            batch = [(number, x) for number, x in self.optimizer.ask() if number in left]
            if not batch or any(tuple(x.tolist()) != left[number].x for number, x in batch):
                raise StoreError(
                    "a search must go on as it began",
                    f"{self.experiment.name!r} asks for other points than those that are stored",
                    "Use the version of the package that began it, or begin anew under another name",
                )
            self._take_in([left.pop(n) for n, _ in batch])  # a failure at the end may not have been taken back
        for row in rows.values():
            self._count(row)


def _not_waiting(number: int, where: str = "") -> TellError:
    rule, fix = "a value must be for a point that waits", "`robustforge ask` shows those that do"
    return TellError(rule, f"{number}{f', {where},' if where else ''} does not", fix)


def _check_same(number: int, before: Outcome, now: Outcome, where: str) -> None:
    """Refuse another value for a point than the one that was told."""
    if before.failed == now.failed and (before.failed or before.value == now.value):
        return
    one, other = ("failed" if each.failed else repr(each.value) for each in (before, now))
    fix = "A value stays as it was told; begin anew under another name if it was wrong"
    raise TellError("a value is told once", f"{where or 'this'} says {other} for {number}, which was told {one}", fix)


def _said(row: Evaluation) -> str:
    """Return the last that a failed run said, as the end of a message."""
    return f". Its last words:\n{row.tail.strip()}" if row.tail.strip() else ""


def _found(store: Store, name: str, settings: dict[str, Any], accept_changes: bool = False) -> Experiment | None:
    """Return the search of a name to go on with, or `None`; refuse other settings, and a model whose files changed."""
    known = {experiment.name: experiment for experiment in store.experiments(SEARCH)}.get(name)
    if known is None or not (known.settings.get("model") and settings["model"]):
        return store.find(name, SEARCH, settings, {})
    before, now = known.settings["model"], settings["model"]
    rest = {key: value for key, value in now.items() if key not in _FILES}
    same = {**rest, **{key: before[key] for key in _FILES if key in before}}  # an older store may not have them all
    store.find(name, SEARCH, {**settings, "model": same}, {})
    changed = _changed_files(before, now)
    if not changed:
        return known
    if not accept_changes and any(each.part != KNOWN for each in store.evaluations(known)):
        raise StoreError(
            "the stored runs of a search must come from the model as it is now",
            f"since {name!r} began, {' and '.join(changed)}",
            "Undo that, or begin anew under another --name. If the stored runs still hold, say so by "
            "`solve --accept-changes`; a file that the model writes belongs into {dir}",
        )
    store.change_settings(known, settings)
    return store.experiment(name, SEARCH)


_FILES = ("templates", "files")
"""The entries of a model that hold fingerprints of files."""


def _changed_files(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return what happened to the files of a model, in words; those that an older store does not know do not count."""
    told = []
    for key in (each for each in _FILES if each in before):
        known, found = before[key], now.get(key, {})
        for name in sorted({*known, *found}):
            if known.get(name) != found.get(name):
                verb = "is new" if name not in known else "is gone" if name not in found else "has changed"
                told.append(f"{name} {verb}")
    return told


def settings_of(file: ProblemFile, heuristic: Heuristic) -> dict[str, Any]:
    """Return all that decides the outcome of a search."""
    return {
        **file.to_dict(),
        "budget": file.budget,
        "seed": file.seed,
        "heuristic": json.loads(heuristic.to_json()),
        "on_failure": file.on_failure,
        "retries": file.retries,
        "data": hashlib.sha256(file.data.read_bytes()).hexdigest()[:16] if file.data else None,
    }


def heuristic_of(file: ProblemFile) -> Heuristic:
    """Return who searches: by name, from a file that may lie beside the problem file, or the default."""
    beside = file.path.parent / file.heuristic
    named = str(beside) if file.heuristic.endswith(".json") and beside.is_file() else file.heuristic
    return resolve_heuristic(named or None, file.scaled_problem, file.budget)


def _earlier(file: ProblemFile) -> list[Evaluation]:
    if file.data is None:
        return []
    rows = read_earlier(file.data, file.variables)
    return [
        Evaluation(KNOWN, number, tuple(file.variables.encode(point).tolist()), value)
        for number, (point, value) in enumerate(rows)
    ]


def _known(store: Store, experiment: Experiment) -> list[Evaluation]:
    """Return what was known before a search that is in a store."""
    known = [each for each in store.evaluations(experiment) if each.part == KNOWN]
    if [each.number for each in known] != list(range(len(known))):
        raise damaged(store.path, f"not all that was known before {experiment.name!r} is there")
    return known


def _optimizer(file: ProblemFile, heuristic: Heuristic, known: list[Evaluation]) -> Optimizer:
    values = [file.sign * each.value for each in known]
    return Optimizer(
        file.scaled_problem,
        budget=file.budget,
        heuristic=heuristic,
        rng=file.seed,
        on_failure=file.on_failure,
        retries=file.retries,
        known=(np.array([each.x for each in known]), values) if known else None,
    )
