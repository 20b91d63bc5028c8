"""The store: experiments, heuristics, assessed runs, and every single run, on top of the database.

Runs are committed when a method that adds them returns, even if the process is killed afterwards. Heuristics are stored
as JSON and validated when they are read; nothing stored is ever executed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, fields, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from robustforge.errors import HeuristicError, StoreError, UnknownNameError
from robustforge.representation import Heuristic
from robustforge.representation.restriction import present_name
from robustforge.store.database import Database
from robustforge.store.stored_records import (
    COLUMNS,
    EVOLUTION,
    FINAL,
    SEARCH,
    AssessedRun,
    Evaluation,
    Experiment,
    R,
    Run,
    damaged_store_error,
    decode_row,
)

_ASSESSED = ", ".join(field.name for field in fields(AssessedRun))
_EVALUATION = ", ".join(field.name for field in fields(Evaluation))
_PLURALS = {EVOLUTION: "evolutions", SEARCH: "searches"}
_MAX_DIFFERENCES = 4
"""Differences between settings that a message lists."""

_VECTOR_COLUMNS, _NULLABLE_STRINGS = ("curve", "x"), ("failure", "tail")


class Store(Database):
    """An open store: `Store.open` to write, `Store.read` to read. Use it in a `with` statement."""

    def find(
        self,
        name: str,
        kind: str,
        settings: Mapping[str, Any],
        grammar: Mapping[str, Any],
        displayed: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
    ) -> Experiment | None:
        """Return the experiment to resume, by its name; `None` if there is none.

        The grammar is for the message only: the settings contain its fingerprint, which must be the same.

        Args:
            name: The name.
            kind: The kind of experiment.
            settings: The settings, as they are stored.
            grammar: The grammar.
            displayed: Converts settings for the message.

        Raises:
            StoreError: The stored experiment has other settings; the message lists the differences.
        """
        known = {experiment.name: experiment for experiment in self.experiments(None)}
        if name in known:
            stored = replace(known[name], settings=dict(displayed(known[name].settings)))
            _check_same_settings(stored, kind, displayed(json.loads(json.dumps(settings))), grammar)
        return known.get(name)

    def add_experiment(
        self, name: str, kind: str, settings: Mapping[str, Any], grammar: Mapping[str, Any]
    ) -> Experiment:
        """Add a new experiment; its name must not be in the store."""
        row = (name, kind, json.dumps(settings), json.dumps(grammar), _now())
        with self._transaction():
            self._connection.execute(
                "INSERT INTO experiment (name, kind, settings, grammar, begun) VALUES (?, ?, ?, ?, ?)", row
            )
        return self.experiment(name, kind)

    def add_runs(self, experiment: Experiment, runs: Iterable[Run]) -> None:
        """Add and commit runs."""
        rows = [(experiment.id, *_as_row(run)) for run in runs]
        with self._transaction():
            self._connection.executemany(f"INSERT INTO run VALUES ({', '.join('?' * len(rows[0]))})", rows)

    def add_heuristics(self, heuristics: Iterable[Heuristic]) -> None:
        """Add heuristics that are not stored yet; required before their runs."""
        rows = [(heuristic.id, heuristic.to_json()) for heuristic in heuristics]
        with self._transaction():
            self._connection.executemany("INSERT OR IGNORE INTO heuristic VALUES (?, ?)", rows)

    def add_generation(self, experiment: Experiment, generation: int, best_first: Sequence[str]) -> None:
        """Add the ranking of a complete generation; an identical one may be stored already.

        Raises:
            StoreError: The stored ranking differs, for instance because another version of the package wrote it.
        """
        known = self.members(experiment).get(generation)
        if known == list(best_first):
            return
        if known is not None:
            raise StoreError(
                f"the stored evolution {experiment.name!r} cannot be resumed",
                f"generation {generation} has another result now",
                "Undo changes of the objective, use the version of the package that wrote it, or choose another name",
            )
        rows = [(experiment.id, generation, rank, heuristic) for rank, heuristic in enumerate(best_first)]
        with self._transaction():
            self._connection.executemany("INSERT INTO member VALUES (?, ?, ?, ?)", rows)

    def add_assessed_runs(self, runs: Iterable[AssessedRun]) -> None:
        """Add and commit assessed runs."""
        rows = [
            tuple(_to_column(field.name, getattr(run, field.name)) for field in fields(AssessedRun)) for run in runs
        ]
        text = f"INSERT OR REPLACE INTO assessed ({_ASSESSED}) VALUES ({', '.join('?' * len(fields(AssessedRun)))})"
        with self._transaction():
            self._connection.executemany(text, rows)

    def add_search(self, name: str, settings: Mapping[str, Any], prior: Sequence[Evaluation]) -> Experiment:
        """Add a search with its prior runs, in one transaction; its name must not be in the store."""
        row = (name, SEARCH, json.dumps(settings), "{}", _now())
        with self._transaction():
            text = "INSERT INTO experiment (name, kind, settings, grammar, begun) VALUES (?, ?, ?, ?, ?)"
            number = self._connection.execute(text, row).lastrowid
            self._insert_evaluations(int(number or 0), prior)
        return self.experiment(name, SEARCH)

    def add_evaluations(self, experiment: Experiment, evaluations: Sequence[Evaluation]) -> None:
        """Add and commit runs of a model."""
        with self._transaction():
            self._insert_evaluations(experiment.id, evaluations)

    def _insert_evaluations(self, number: int, evaluations: Sequence[Evaluation]) -> None:
        names = [field.name for field in fields(Evaluation)]
        rows = [(number, *(_to_column(name, getattr(each, name)) for name in names)) for each in evaluations]
        text = f"INSERT INTO evaluation (experiment, {_EVALUATION}) VALUES (?, {', '.join('?' * len(names))})"
        self._connection.executemany(text, rows)

    def delete_evaluation(self, experiment: Experiment, part: str, number: int) -> None:
        """Delete a failed run of a model that ended its search, so that it is repeated when the search resumes."""
        with self._transaction():
            text = "DELETE FROM evaluation WHERE experiment = ? AND part = ? AND number = ?"
            self._connection.execute(text, (experiment.id, part, number))

    def update_settings(self, experiment: Experiment, settings: Mapping[str, Any]) -> None:
        """Replace the settings of an experiment, after the user has confirmed that its runs are still valid."""
        with self._transaction():
            text = "UPDATE experiment SET settings = ? WHERE id = ?"
            self._connection.execute(text, (json.dumps(settings), experiment.id))

    def delete_search(self, experiment: Experiment) -> None:
        """Delete a search and all its runs: of a model that failed at every point."""
        with self._transaction():
            for table, column in (("evaluation", "experiment"), ("experiment", "id")):
                self._connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (experiment.id,))

    def mark_finished(self, experiment: Experiment, champion: str | None = None) -> None:
        """Mark an experiment as finished, with its champion."""
        with self._transaction():
            self._connection.execute(
                "UPDATE experiment SET champion = ?, ended = ? WHERE id = ?", (champion, _now(), experiment.id)
            )

    def experiments(self, kind: str | None = EVOLUTION) -> list[Experiment]:
        """Return all experiments of a kind, or of any kind, the oldest first."""
        if self._new:
            return []
        every = self._records(Experiment, "FROM experiment ORDER BY id")
        return [experiment for experiment in every if kind in (None, experiment.kind)]

    def experiment(self, name: str, kind: str = EVOLUTION) -> Experiment:
        """Return one experiment by its name."""
        known = {experiment.name: experiment for experiment in self.experiments(kind)}
        if name not in known:
            raise UnknownNameError(kind, name, known, f"robustforge runs {self.path}")
        return known[name]

    def select(self, name: str | None, kind: str = EVOLUTION) -> Experiment:
        """Return an experiment by its name; without a name, the only one of its kind."""
        every = self.experiments(kind)
        if name is not None or len(every) == 1:
            return self.experiment(name or every[0].name, kind)
        if every:
            fact = f"{self.path} has: {', '.join(experiment.name for experiment in every)}"
            raise StoreError(f"there are several {_PLURALS[kind]}", fact, "Choose one by --name")
        command = "solve" if kind == SEARCH else "evolve"
        raise StoreError(f"there is no {kind} in {self.path}", fix=f"Start one by `{command}`")

    def runs(self, experiment: Experiment) -> list[Run]:
        """Return all runs of an experiment, sorted by key."""
        text = "FROM run WHERE experiment = ? ORDER BY generation, problem, heuristic, repeat"
        return self._records(Run, text, experiment.id)

    def count_runs(self, experiment: Experiment) -> tuple[int, int]:
        """Return the number of runs of an experiment, and the number of failed ones."""
        rows = self._rows("SELECT count(*), count(failure) FROM run WHERE experiment = ?", experiment.id)
        runs, failures = next(rows)
        return int(runs), int(failures)

    def members(self, experiment: Experiment) -> dict[int, list[str]]:
        """Return the heuristics of each complete generation, by id, best first."""
        found: dict[int, list[str]] = {}
        text = "SELECT generation, standing, heuristic FROM member WHERE experiment = ? ORDER BY generation, standing"
        for generation, standing, heuristic in self._rows(text, experiment.id):
            best_first = found.setdefault(generation, [])
            known = isinstance(generation, int) and generation >= FINAL and isinstance(heuristic, str)
            if not known or standing != len(best_first):
                raise damaged_store_error(
                    self.path, f"member {standing!r} of generation {generation!r} of {experiment.name!r}"
                )
            best_first.append(heuristic)
        return found

    def assessed_runs(self) -> list[AssessedRun]:
        """Return all assessed runs, sorted by key."""
        if not self._has(1):
            return []
        return self._records(AssessedRun, "FROM assessed ORDER BY problem, budget, samples, contestant, repeat")

    def evaluations(self, experiment: Experiment) -> list[Evaluation]:
        """Return all runs of the model of a search, by part and number."""
        if not self._has(2):
            return []
        return self._records(Evaluation, "FROM evaluation WHERE experiment = ? ORDER BY part, number", experiment.id)

    def heuristics(self, experiment: Experiment) -> dict[str, Heuristic]:
        """Return all heuristics of an experiment by id, each validated."""
        text = "SELECT id, json FROM heuristic WHERE id IN (SELECT heuristic FROM member WHERE experiment = ?)"
        return {id: self._heuristic(id, json) for id, json in self._rows(text, experiment.id)}

    def heuristic(self, id: str) -> Heuristic:
        """Return a heuristic by its id, validated."""
        for (text,) in self._rows("SELECT json FROM heuristic WHERE id = ?", id):
            return self._heuristic(id, text)
        raise StoreError(f"there is no heuristic {id} in {self.path}")

    def _heuristic(self, id: Any, text: Any) -> Heuristic:
        """Return a heuristic from its JSON, and check that the id is its hash."""
        if not isinstance(text, str):
            raise damaged_store_error(self.path, f"heuristic {id!r} is not a string")
        try:
            found = Heuristic.from_json(text)
        except HeuristicError as error:
            raise damaged_store_error(self.path, f"heuristic {id!r}: {error.rule}; {error.fact}") from error
        if found.id != id:
            raise damaged_store_error(self.path, f"heuristic {id!r} was edited: its id is {found.id} now")
        return found

    def _records(self, kind: type[R], text: str, *values: Any) -> list[R]:
        """Return the records of a query that is given without its columns."""
        columns = ", ".join(COLUMNS.get(field.name, field.name) for field in fields(kind))
        return [decode_row(kind, self.path, row) for row in self._rows(f"SELECT {columns} {text}", *values)]


def _check_same_settings(known: Experiment, kind: str, settings: Mapping[str, Any], grammar: Mapping[str, Any]) -> None:
    """Raise if the settings differ, with the differences; the version of the package may differ."""
    if kind != known.kind:
        raise StoreError(
            f"the name {known.name!r} is already used in this store",
            f"it is a stored {known.kind}",
            "Choose another name",
        )
    before, now = (
        _flatten({key: value for key, value in each.items() if key != "version"}) for each in (known.settings, settings)
    )
    both = {key: (before.get(key), now.get(key)) for key in {**before, **now} if before.get(key) != now.get(key)}
    if both:
        if "grammar" in both:
            both["grammar"] = (_describe_grammar(known.grammar), _describe_grammar(grammar))
        facts = [_difference(key, one, other) for key, (one, other) in both.items()]
        changed = any(_is_file(key) for key in both)
        fix = "Restore the file" if changed else "Use the same settings"
        more = [f"and {len(facts) - _MAX_DIFFERENCES} more"] if len(facts) > _MAX_DIFFERENCES else []
        raise StoreError(
            f"the stored {known.kind} {known.name!r} has other settings",
            "; ".join([*facts[:_MAX_DIFFERENCES], *more]),
            f"{fix} to resume it, or choose another name",
        )


_TEMPLATE = "model.templates."


def _is_file(key: str) -> bool:
    """Whether a setting is the fingerprint of a file."""
    return key.startswith(_TEMPLATE) or key == "data"


def _difference(key: str, before: Any, now: Any) -> str:
    """Return how a setting differs; for a file, its fingerprint would be meaningless to a user."""
    if not _is_file(key):
        return f"{key} is {_short(before)} in the store, {_short(now)} now"
    name = f"the template {key.removeprefix(_TEMPLATE)}" if key != "data" else "the file that `data` names"
    if before is None or now is None:
        return f"{name} {'did not exist' if before is None else 'existed'} when it was started"
    return f"{name} has changed since it was started"


def _flatten(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings with dotted keys, such as "variables.R1.bounds"."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        nested = isinstance(value, dict) and value
        found.update(_flatten(value, f"{prefix}{key}.") if nested else {f"{prefix}{key}": value})
    return found


def _describe_grammar(grammar: Mapping[str, Any]) -> Any:
    restrictions, name = grammar.get("restrictions"), present_name(grammar)
    return {"name": name, **restrictions} if restrictions else name


def _as_row(run: Run) -> tuple[Any, ...]:
    return (*astuple(run)[:-1], run.failure or None)


def _to_column(name: str, value: Any) -> Any:
    if name in _VECTOR_COLUMNS:
        return np.asarray(value, "<f8").tobytes()
    return (value or None) if name in _NULLABLE_STRINGS else value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
