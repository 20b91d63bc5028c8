"""The store: an SQLite file in WAL mode that holds experiments, heuristics and every single run.

There is one writer, by a lock on a file beside it, which dies with its process; readers open the store read-only and
see what is committed, also while a run goes on. What `add` has returned from is there after the process is killed at
any moment. Heuristics are stored as JSON and checked when they are read; nothing stored is ever executed.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np

from robustforge.errors import StoreError, StoreFullError, UnknownNameError
from robustforge.heuristic import Heuristic
from robustforge.store.lock import Lock
from robustforge.store.records import Assessed, Experiment, Run

APPLICATION = 0x52465247  # "RFRG": says whose file this is
VERSION = 2
_FOLDER = Path(__file__).parent
_SCHEMA = "schema.sql"
_UPGRADES = {1: "assessed.sql"}
"""What each older version lacks; a writer adds it, a reader takes it for empty."""

_NEW = "Name another file, or one that does not exist yet"
_OTHER = "Name a store of robustforge, or to begin one a file that does not exist yet"
_WAYS_TO_READ = ("mode=rw", "mode=ro", "immutable=1")
"""How a reader opens a store: nothing is written in any case, but the first tidies up the files beside it that SQLite
makes for readers, the second does without that right, the third without a disk that can be written."""

_ASSESSED = ", ".join(field.name for field in fields(Assessed))
_VECTORS = ("curve", "x")

_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY)


class Store:
    """A store that is open: `Store.open` to write, `Store.read` to read. Use it in a `with` statement.

    Args:
        target: What SQLite connects to.
        path: Where it is, for messages.
        lock: The writer's lock, if it is one.
    """

    def __init__(self, target: str, path: str, lock: Lock | None = None) -> None:
        self._target, self.path, self._lock = target, path, lock
        self._new, self._writing, self._version = True, False, 0
        self._opened: sqlite3.Connection | None = None

    @property
    def _connection(self) -> sqlite3.Connection:
        """The SQLite connection, made when it is first needed: to connect to a file that is not there makes it."""
        if self._opened is None:
            with _told(self.path):
                options: Any = {"timeout": 30, "isolation_level": None, "uri": self._target.startswith("file:")}
                self._opened = sqlite3.connect(self._target, **options)
        return self._opened

    @classmethod
    def open(cls, path: str | Path | None) -> Self:
        """Open a store to write; `None` is one in memory. Nothing in it changes until something is stored.

        Raises:
            StoreError: The file is no store of this version, or somebody else writes to it.
        """
        if path is None:
            return cls(":memory:", "memory")
        where = str(Path(path).absolute())
        if not Path(where).parent.is_dir():
            raise StoreError("a store must be in a folder that exists", f"got {path}", "Create the folder first")
        if Path(where).is_dir():
            raise StoreError("a store must be a file", f"{path} is a folder", _NEW)
        made = cls(where, where, Lock(where))
        try:
            if Path(where).exists():
                with _told(where):
                    made._new = made._is_new()
        except BaseException:
            made.close()
            raise
        return made

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Open a store to read; a writer is not disturbed, and what it commits later is seen by later calls.

        Raises:
            StoreError: There is no store, or it is none of this version.
        """
        where = str(Path(path).absolute())
        if not Path(where).is_file():
            raise StoreError("a store must be a file that exists", f"there is no {path}", "`evolve --store` makes one")
        for mode in _WAYS_TO_READ:
            made = cls(f"{Path(where).as_uri()}?{mode}", where)
            try:
                made._check_readable()
                return made
            except StoreFullError as error:
                made.close()
                if mode == _WAYS_TO_READ[-1] or _has_content(f"{where}-wal"):
                    raise StoreError(
                        "a store must be readable", error.fact, "Copy it to a place of your own"
                    ) from error
            except BaseException:
                made.close()
                raise
        raise AssertionError("the last way returns or raises")

    def close(self) -> None:
        """Bring everything into the one file, close it and free the lock."""
        try:
            if self._opened is not None:
                self._opened.close()  # the last to leave checkpoints and cleans up
        finally:
            if self._lock is not None:
                self._lock.free()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def find(self, name: str, kind: str, settings: Mapping[str, Any], grammar: Mapping[str, Any]) -> Experiment | None:
        """Return the experiment of a name to go on with, or `None` if there is none.

        The grammar is for the message alone: what must be the same of it is its fingerprint, in the settings.

        Raises:
            StoreError: There is one of this name with other settings; the message says which.
        """
        known = {experiment.name: experiment for experiment in self.experiments()}
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
        return self.experiment(name)

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

    def end(self, experiment: Experiment, champion: str) -> None:
        """Mark an experiment as ended, and say what came out."""
        with self._transaction():
            self._connection.execute(
                "UPDATE experiment SET champion = ?, ended = ? WHERE id = ?", (champion, _now(), experiment.id)
            )

    def experiments(self) -> list[Experiment]:
        """Return all experiments, the oldest first."""
        if self._new:
            return []
        rows = self._rows(
            "SELECT id, name, kind, settings, grammar, champion, begun, ended FROM experiment ORDER BY id"
        )
        return [Experiment(*(_from_json(value, k) for k, value in enumerate(row))) for row in rows]

    def experiment(self, name: str) -> Experiment:
        """Return one experiment by its name."""
        known = {experiment.name: experiment for experiment in self.experiments()}
        if name not in known:
            raise UnknownNameError("run in this store", name, known, f"robustforge runs {self.path}")
        return known[name]

    def runs(self, experiment: Experiment) -> list[Run]:
        """Return all runs of an experiment, sorted by key."""
        columns = ", ".join(field.name for field in fields(Run))
        order = "generation, problem, heuristic, repeat"
        rows = self._rows(f"SELECT {columns} FROM run WHERE experiment = ? ORDER BY {order}", experiment.id)
        return [
            Run(*(_from_column(field.name, value) for field, value in zip(fields(Run), row, strict=True)))
            for row in rows
        ]

    def count_runs(self, experiment: Experiment) -> tuple[int, int]:
        """Return how many runs an experiment has, and how many of them failed."""
        rows = self._rows("SELECT count(*), count(failure) FROM run WHERE experiment = ?", experiment.id)
        runs, failures = next(rows)
        return int(runs), int(failures)

    def members(self, experiment: Experiment) -> dict[int, list[str]]:
        """Return the ids of who was in each complete generation, best first."""
        found: dict[int, list[str]] = {}
        text = "SELECT generation, heuristic FROM member WHERE experiment = ? ORDER BY generation, standing"
        for generation, heuristic in self._rows(text, experiment.id):
            found.setdefault(generation, []).append(heuristic)
        return found

    def assessed(self) -> list[Assessed]:
        """Return all assessed runs, sorted by key."""
        if self._new or next(self._rows("PRAGMA user_version"))[0] < VERSION:  # a writer may have added it by now
            return []
        rows = self._rows(f"SELECT {_ASSESSED} FROM assessed ORDER BY problem, budget, samples, contestant, repeat")
        return [
            Assessed(*(_from_column(field.name, value) for field, value in zip(fields(Assessed), row, strict=True)))
            for row in rows
        ]

    def heuristics(self, experiment: Experiment) -> dict[str, Heuristic]:
        """Return all heuristics of an experiment by id, each checked against the grammar."""
        text = "SELECT id, json FROM heuristic WHERE id IN (SELECT heuristic FROM member WHERE experiment = ?)"
        return {id: Heuristic.from_json(json) for id, json in self._rows(text, experiment.id)}

    def heuristic(self, id: str) -> Heuristic:
        """Return a heuristic by its id, checked against the grammar."""
        for (text,) in self._rows("SELECT json FROM heuristic WHERE id = ?", id):
            return Heuristic.from_json(text)
        raise StoreError("a heuristic must be in the store", f"{self.path} has none with the id {id}")

    def _rows(self, text: str, *values: Any) -> Iterator[Any]:
        with _told(self.path):
            return iter(self._connection.execute(text, values).fetchall())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with _told(self.path):
            if not self._writing:
                self._prepare()
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _check_readable(self) -> None:
        with _told(self.path):
            self._connection.execute("PRAGMA query_only = 1")
            self._new = self._is_new()
        if self._new:
            raise StoreError("a store must hold something", f"{self.path} is empty", _NEW)

    def _is_new(self) -> bool:
        """Whether nothing is in the file yet; raise if it is not ours."""
        application, version, pages = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version", "page_count")
        )
        if pages == 0:
            return True
        if application != APPLICATION:
            raise StoreError("a store must be one of robustforge", f"{self.path} belongs to another program", _OTHER)
        if version != VERSION and version not in _UPGRADES:
            raise StoreError(
                f"a store must have at most version {VERSION}",
                f"{self.path} has version {version}",
                "Use the robustforge that wrote it, or name another file",
            )
        self._version = version
        return False

    def _prepare(self) -> None:
        """Make the tables that are missing, all at once, and let readers read while this one writes."""
        missing = [name for version, name in _UPGRADES.items() if version >= self._version]
        if self._new:
            missing.insert(0, _SCHEMA)
        if missing:
            head = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
            tables = "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in missing)
            self._connection.executescript(f"BEGIN; {head} {tables} COMMIT;")
            self._new, self._version = False, VERSION
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._writing = True


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Turn SQLite's errors into sentences."""
    try:
        yield
    except sqlite3.Error as error:
        code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
        if code == sqlite3.SQLITE_NOTADB:
            raise StoreError("a store must be an SQLite file", f"{path} is something else", _OTHER) from error
        if code in _FULL or code == sqlite3.SQLITE_CANTOPEN:
            raise StoreFullError(
                "a store must be on a disk with room to write",
                f"writing to {path} failed: {error}",
                "What was stored is safe; make room and give the same command again",
            ) from error
        raise StoreError("a store must be in order", f"{path} is not: {error}", _NEW) from error


def _has_content(path: str) -> bool:
    return Path(path).exists() and Path(path).stat().st_size > 0


def _check_same(known: Experiment, kind: str, settings: Mapping[str, Any], grammar: Mapping[str, Any]) -> None:
    """Refuse to go on with other settings, and say which differ."""
    if kind != known.kind:
        raise StoreError("a name stands for one thing", f"{known.name!r} is an {known.kind}", "Choose another name")
    every = dict.fromkeys([*known.settings, *settings])
    differ = [key for key in every if known.settings.get(key) != settings.get(key)]
    if differ:
        both = {key: (known.settings.get(key), settings.get(key)) for key in differ}
        if "grammar" in both:
            both["grammar"] = (_grammar_words(known.grammar), _grammar_words(grammar))
        facts = [f"{key} is {_short(one)}, not {_short(other)}" for key, (one, other) in both.items()]
        raise StoreError(
            f"a run goes on with the settings that it began with; those of {known.name!r} differ",
            "; ".join(facts),
            "Give the same settings to go on, or another name to begin anew",
        )


def _grammar_words(grammar: Mapping[str, Any]) -> Any:
    restrictions = grammar.get("restrictions")
    return {"name": grammar.get("name"), **restrictions} if restrictions else grammar.get("name")


def _as_row(run: Run) -> tuple[Any, ...]:
    return (*astuple(run)[:-1], run.failure or None)


def _from_column(name: str, value: Any) -> Any:
    if value is None:
        return "" if name == "failure" else math.nan
    if name in _VECTORS:
        return tuple(np.frombuffer(value, "<f8").tolist())
    return bool(value) if name == "attack" else value


def _to_column(name: str, value: Any) -> Any:
    if name in _VECTORS:
        return np.asarray(value, "<f8").tobytes()
    return (value or None) if name == "failure" else value


def _from_json(value: Any, column: int) -> Any:
    return json.loads(value) if column in (3, 4) else value  # settings and grammar


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
