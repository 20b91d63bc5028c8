"""The file behind a store: an SQLite database in WAL mode, with its version, its one writer and its readers.

There is one writer, by a lock on a file beside it, which dies with its process; readers open the store read-only and
see what is committed, also while a run goes on.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from robustforge.errors import StoreError, StoreFullError
from robustforge.store.lock import Lock

APPLICATION = 0x52465247  # "RFRG": says whose file this is
VERSION = 3
_FOLDER = Path(__file__).parent
_SCHEMA = "schema.sql"
_UPGRADES = {1: "assessed.sql", 2: "evaluation.sql"}
"""What each older version lacks; a writer adds it, a reader takes it for empty."""

_NEW = "Name another file; `solve FILE.toml`, `evolve` and `assess` begin one that does not exist yet"
_OTHER = "Name a store of robustforge; `solve FILE.toml`, `evolve` and `assess` begin one"
_WAYS_TO_READ = ("mode=rw", "mode=ro", "immutable=1")
"""How a reader opens a store: nothing is written in any case, but the first tidies up the files beside it that SQLite
makes for readers, the second does without that right, the third without a disk that can be written."""

_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY)


class Database:
    """A file that is open: by `open` to write, by `read` to read. Use it in a `with` statement.

    Args:
        target: What SQLite connects to.
        path: Where it is, for messages.
        lock: The writer's lock, if it is one.
        durable: Whether what is stored must survive a power cut, and not only the end of the process.
    """

    def __init__(self, target: str, path: str, lock: Lock | None = None, durable: bool = False) -> None:
        self._target, self.path, self._lock, self._durable = target, path, lock, durable
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
    def open(cls, path: str | Path | None, durable: bool = False) -> Self:
        """Open a store to write; `None` is one in memory. Nothing in it changes until something is stored.

        Args:
            path: The file.
            durable: Whether what is stored must survive a power cut: some milliseconds more each time.

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
        made = cls(where, where, Lock(where), durable)
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
            fix = "`solve FILE.toml`, `evolve` and `assess` make one"
            raise StoreError("a store must be a file that exists", f"there is no {path}", fix)
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

    def _rows(self, text: str, *values: Any) -> Iterator[Any]:
        with _told(self.path):
            return iter(self._connection.execute(text, values).fetchall())

    def _has(self, version: int) -> bool:
        """Whether the file has what was added after a version; a writer may have done so since we opened it."""
        return not self._new and int(next(self._rows("PRAGMA user_version"))[0]) > version

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
        self._connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
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
