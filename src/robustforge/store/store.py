"""The store: experiments, heuristics, assessed designs, and every single run, on top of the database.

What `add` has returned from is there after the process is killed at any moment. Heuristics are stored as JSON and
checked when they are read; nothing stored is ever executed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, fields
from datetime import UTC, datetime
from typing import Any

import numpy as np

from robustforge.errors import HeuristicError, StoreError, UnknownNameError
from robustforge.heuristic import Heuristic
from robustforge.store.database import Database
from robustforge.store.records import (
    EVOLUTION,
    FINAL,
    SEARCH,
    Assessed,
    Evaluation,
    Experiment,
    R,
    Run,
    damaged,
    decoded,
)

_ASSESSED = ", ".join(field.name for field in fields(Assessed))
_EVALUATION = ", ".join(field.name for field in fields(Evaluation))
_TOLD = 4
"""Differences of settings that are told."""

_VECTORS, _TEXTS = ("curve", "x"), ("failure", "tail")


class Store(Database):
    """A store that is open: `Store.open` to write, `Store.read` to read. Use it in a `with` statement."""

    def find(self, name: str, kind: str, settings: Mapping[str, Any], grammar: Mapping[str, Any]) -> Experiment | None:
        """Return the experiment of a name to go on with, or `None` if there is none.

        The grammar is for the message alone: what must be the same of it is its fingerprint, in the settings.

        Raises:
            StoreError: There is one of this name with other settings; the message says which.
        """
        known = {experiment.name: experiment for experiment in self.experiments(None)}
        if name in known:
            _check_same(known[name], kind, json.loads(json.dumps(settings)), grammar)
        return known.get(name)

    def begin(self, name: str, kind: str, settings: Mapping[str, Any], grammar: Mapping[str, Any]) -> Experiment:
        """Begin a new experiment; its name must not be in the store."""
        row = (name, kind, json.dumps(settings), json.dumps(grammar), _now())
        with self._transaction():
            self._connection.execute(
                "INSERT INTO experiment (name, kind, settings, grammar, begun) VALUES (?, ?, ?, ?, ?)", row
            )
        return self.experiment(name, kind)

    def add(self, experiment: Experiment, runs: Iterable[Run]) -> None:
        """Store runs; when this returns, they are there."""
        rows = [(experiment.id, *_as_row(run)) for run in runs]
        with self._transaction():
            self._connection.executemany(f"INSERT INTO run VALUES ({', '.join('?' * len(rows[0]))})", rows)

    def add_heuristics(self, heuristics: Iterable[Heuristic]) -> None:
        """Store heuristics, those that are not there yet; their runs come after them."""
        rows = [(heuristic.id, heuristic.to_json()) for heuristic in heuristics]
        with self._transaction():
            self._connection.executemany("INSERT OR IGNORE INTO heuristic VALUES (?, ?)", rows)

    def add_generation(self, experiment: Experiment, generation: int, best_first: Sequence[str]) -> None:
        """Store who was in a generation that is complete; again if it is the same.

        Raises:
            StoreError: The store holds another outcome, so that it was written by another version of the engine.
        """
        known = self.members(experiment).get(generation)
        if known == list(best_first):
            return
        if known is not None:
            raise StoreError(
                "a run must go on as it began",
                f"generation {generation} of {experiment.name!r} comes out differently than it was stored",
                "Was the objective changed, or the package? Begin anew under another name",
            )
        rows = [(experiment.id, generation, place, heuristic) for place, heuristic in enumerate(best_first)]
        with self._transaction():
            self._connection.executemany("INSERT INTO member VALUES (?, ?, ?, ?)", rows)

    def add_assessed(self, runs: Iterable[Assessed]) -> None:
        """Store assessed runs; when this returns, they are there."""
        rows = [tuple(_to_column(field.name, getattr(run, field.name)) for field in fields(Assessed)) for run in runs]
        text = f"INSERT OR REPLACE INTO assessed ({_ASSESSED}) VALUES ({', '.join('?' * len(fields(Assessed)))})"
        with self._transaction():
            self._connection.executemany(text, rows)

    def begin_search(self, name: str, settings: Mapping[str, Any], known: Sequence[Evaluation]) -> Experiment:
        """Begin a search with what is known before it, all at once; its name must not be in the store."""
        row = (name, SEARCH, json.dumps(settings), "{}", _now())
        with self._transaction():
            text = "INSERT INTO experiment (name, kind, settings, grammar, begun) VALUES (?, ?, ?, ?, ?)"
            number = self._connection.execute(text, row).lastrowid
            self._insert_evaluations(int(number or 0), known)
        return self.experiment(name, SEARCH)

    def add_evaluations(self, experiment: Experiment, evaluations: Sequence[Evaluation]) -> None:
        """Store runs of a model; when this returns, they are there."""
        with self._transaction():
            self._insert_evaluations(experiment.id, evaluations)

    def _insert_evaluations(self, number: int, evaluations: Sequence[Evaluation]) -> None:
        names = [field.name for field in fields(Evaluation)]
        rows = [(number, *(_to_column(name, getattr(each, name)) for name in names)) for each in evaluations]
        text = f"INSERT INTO evaluation (experiment, {_EVALUATION}) VALUES (?, {', '.join('?' * len(names))})"
        self._connection.executemany(text, rows)

    def forget_evaluation(self, experiment: Experiment, part: str, number: int) -> None:
        """Take a run of a model back, which ended its search: mended, it is made again."""
        with self._transaction():
            text = "DELETE FROM evaluation WHERE experiment = ? AND part = ? AND number = ?"
            self._connection.execute(text, (experiment.id, part, number))

    def change_settings(self, experiment: Experiment, settings: Mapping[str, Any]) -> None:
        """Replace the settings of an experiment: where somebody says that its runs hold for these as well."""
        with self._transaction():
            text = "UPDATE experiment SET settings = ? WHERE id = ?"
            self._connection.execute(text, (json.dumps(settings), experiment.id))

    def forget_search(self, experiment: Experiment) -> None:
        """Take a search back with all its runs: of a model that never had a value."""
        with self._transaction():
            for table, column in (("evaluation", "experiment"), ("experiment", "id")):
                self._connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (experiment.id,))

    def end(self, experiment: Experiment, champion: str | None = None) -> None:
        """Mark an experiment as ended, and say what came out."""
        with self._transaction():
            self._connection.execute(
                "UPDATE experiment SET champion = ?, ended = ? WHERE id = ?", (champion, _now(), experiment.id)
            )

    def experiments(self, kind: str | None = EVOLUTION) -> list[Experiment]:
        """Return all experiments of a kind, or of any, the oldest first."""
        if self._new:
            return []
        every = self._records(Experiment, "FROM experiment ORDER BY id")
        return [experiment for experiment in every if kind in (None, experiment.kind)]

    def experiment(self, name: str, kind: str = EVOLUTION) -> Experiment:
        """Return one experiment by its name."""
        known = {experiment.name: experiment for experiment in self.experiments(kind)}
        if name not in known:
            raise UnknownNameError("run in this store", name, known, f"robustforge runs {self.path}")
        return known[name]

    def chosen(self, name: str | None, kind: str = EVOLUTION) -> Experiment:
        """Return the experiment of a name, or the only one of its kind if there is no name."""
        every = self.experiments(kind)
        if name is not None or len(every) == 1:
            return self.experiment(name or every[0].name, kind)
        if every:
            fact = f"{self.path} has: {', '.join(experiment.name for experiment in every)}"
            raise StoreError("one of several needs its name", fact, "Add --name")
        begin = "solve" if kind == SEARCH else "evolve"
        fact = f"there is no {kind} in {self.path} yet"
        raise StoreError("only what a store holds can be looked at", fact, f"Begin one with `{begin}`")

    def runs(self, experiment: Experiment) -> list[Run]:
        """Return all runs of an experiment, sorted by key."""
        text = "FROM run WHERE experiment = ? ORDER BY generation, problem, heuristic, repeat"
        return self._records(Run, text, experiment.id)

    def count_runs(self, experiment: Experiment) -> tuple[int, int]:
        """Return how many runs an experiment has, and how many of them failed."""
        rows = self._rows("SELECT count(*), count(failure) FROM run WHERE experiment = ?", experiment.id)
        runs, failures = next(rows)
        return int(runs), int(failures)

    def members(self, experiment: Experiment) -> dict[int, list[str]]:
        """Return the ids of who was in each complete generation, best first."""
        found: dict[int, list[str]] = {}
        text = "SELECT generation, standing, heuristic FROM member WHERE experiment = ? ORDER BY generation, standing"
        for generation, standing, heuristic in self._rows(text, experiment.id):
            best_first = found.setdefault(generation, [])
            known = isinstance(generation, int) and generation >= FINAL and isinstance(heuristic, str)
            if not known or standing != len(best_first):
                raise damaged(self.path, f"member {standing!r} of generation {generation!r} of {experiment.name!r}")
            best_first.append(heuristic)
        return found

    def assessed(self) -> list[Assessed]:
        """Return all assessed runs, sorted by key."""
        if not self._has(1):
            return []
        return self._records(Assessed, "FROM assessed ORDER BY problem, budget, samples, contestant, repeat")

    def evaluations(self, experiment: Experiment) -> list[Evaluation]:
        """Return all runs of a model that belong to a search, by part and number."""
        if not self._has(2):
            return []
        return self._records(Evaluation, "FROM evaluation WHERE experiment = ? ORDER BY part, number", experiment.id)

    def heuristics(self, experiment: Experiment) -> dict[str, Heuristic]:
        """Return all heuristics of an experiment by id, each checked against the grammar."""
        text = "SELECT id, json FROM heuristic WHERE id IN (SELECT heuristic FROM member WHERE experiment = ?)"
        return {id: self._heuristic(id, json) for id, json in self._rows(text, experiment.id)}

    def heuristic(self, id: str) -> Heuristic:
        """Return a heuristic by its id, checked against the grammar."""
        for (text,) in self._rows("SELECT json FROM heuristic WHERE id = ?", id):
            return self._heuristic(id, text)
        raise StoreError("a heuristic must be in the store", f"{self.path} has none with the id {id}")

    def _heuristic(self, id: Any, text: Any) -> Heuristic:
        """Return a heuristic of the store, whose id is a hash of it."""
        if not isinstance(text, str):
            raise damaged(self.path, f"heuristic {id!r} is no text")
        try:
            found = Heuristic.from_json(text)
        except HeuristicError as error:
            raise damaged(self.path, f"heuristic {id!r}: {error.rule}; {error.fact}") from error
        if found.id != id:
            raise damaged(self.path, f"heuristic {id!r} was changed: its id is {found.id} now")
        return found

    def _records(self, kind: type[R], text: str, *values: Any) -> list[R]:
        """Return the records in rows that a query, without its columns, finds."""
        columns = ", ".join(field.name for field in fields(kind))
        return [decoded(kind, self.path, row) for row in self._rows(f"SELECT {columns} {text}", *values)]


def _check_same(known: Experiment, kind: str, settings: Mapping[str, Any], grammar: Mapping[str, Any]) -> None:
    """Refuse to go on with other settings, and say which differ; another version of the package may go on."""
    if kind != known.kind:
        raise StoreError(
            "a name stands for one thing", f"{known.name!r} is of the kind {known.kind}", "Choose another name"
        )
    before, now = (
        _entries({key: value for key, value in each.items() if key != "version"}) for each in (known.settings, settings)
    )
    both = {key: (before.get(key), now.get(key)) for key in {**before, **now} if before.get(key) != now.get(key)}
    if both:
        if "grammar" in both:
            both["grammar"] = (_grammar_words(known.grammar), _grammar_words(grammar))
        facts = [_difference(key, one, other) for key, (one, other) in both.items()]
        changed = any(_is_file(key) for key in both)
        fix = "Put the old file back to go on" if changed else "Give the same settings to go on"
        more = [f"and {len(facts) - _TOLD} more"] if len(facts) > _TOLD else []
        raise StoreError(
            f"a run goes on with the settings that it began with; those of {known.name!r} differ",
            "; ".join([*facts[:_TOLD], *more]),
            f"{fix}, or another name to begin anew",
        )


_TEMPLATE = "model.templates."


def _is_file(key: str) -> bool:
    """Whether a setting is the fingerprint of a file."""
    return key.startswith(_TEMPLATE) or key == "data"


def _difference(key: str, before: Any, now: Any) -> str:
    """Return how a setting differs, in words; of a file, its fingerprint says nothing to anybody."""
    if not _is_file(key):
        return f"{key} is {_short(before)}, not {_short(now)}"
    name = f"the template {key.removeprefix(_TEMPLATE)}" if key != "data" else "the file that `data` names"
    if before is None or now is None:
        return f"{name} was {'not there' if before is None else 'there'} when it began"
    return f"{name} has changed since it began"


def _entries(settings: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return settings with what is inside of others by its whole name, as in "variables.R1.bounds"."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        inside = isinstance(value, dict) and value
        found.update(_entries(value, f"{above}{key}.") if inside else {f"{above}{key}": value})
    return found


def _grammar_words(grammar: Mapping[str, Any]) -> Any:
    restrictions = grammar.get("restrictions")
    return {"name": grammar.get("name"), **restrictions} if restrictions else grammar.get("name")


def _as_row(run: Run) -> tuple[Any, ...]:
    return (*astuple(run)[:-1], run.failure or None)


def _to_column(name: str, value: Any) -> Any:
    if name in _VECTORS:
        return np.asarray(value, "<f8").tobytes()
    return (value or None) if name in _TEXTS else value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
