"""The file behind a store: an SQLite database in WAL mode, with its version, its one writer and its readers.

There is one writer, by locks on a file beside it and on the database itself, which die with its process; readers open
the store read-only and see what is committed, also while a run goes on. At every commit the writer checks that the file
is still the one that it opened; if it is not, all of its content is copied to a file beside it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from robustforge.errors import RobustforgeError, StoreError, StoreFullError, StoreLostError, StoreWriteError
from robustforge.store import guard
from robustforge.store.guard import Guard, Identity
from robustforge.store.lock import Lock
from robustforge.store.records import damaged
from robustforge.store.rescue import rescued

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

_LONGEST_LOG = 4_000_000
"""Bytes of the write-ahead log after which its content is written into the database."""

_CACHE = 1 << 26
"""Bytes of a database that are kept in memory."""

_KINDS = (
    (stat.S_ISREG, "a file"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)
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
        self._new, self._writing, self._version, self._in_wal = True, False, 0, False
        self._opened: sqlite3.Connection | None = None
        self._guard: Guard | None = None
        self._file: Identity | None = None
        self._lost: StoreLostError | None = None

    @property
    def _connection(self) -> sqlite3.Connection:
        """The SQLite connection, made when it is first needed: to connect to a file that is not there makes it."""
        if self._lost is not None:
            raise self._lost
        if self._opened is None:
            with self._told():
                self._connect()
        assert self._opened is not None
        return self._opened

    def _connect(self) -> None:
        if self._lock is not None:
            try:
                self._guard = Guard(self.path)
            except OSError as error:
                raise _not_writable(self.path, str(error.strerror)) from error
        self._file = self._guard.file if self._guard else guard.identity(self.path)
        if self._file is not None:
            guard.connected(self._file)
        options: Any = {"timeout": 30, "isolation_level": None, "uri": self._target.startswith("file:")}
        self._opened = sqlite3.connect(self._target, **options)

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
        where, kind = _place(path)
        if not Path(where).parent.is_dir():
            raise StoreError("a store must be in a folder that exists", f"got {path}", "Create the folder first")
        if kind not in ("", "a file"):
            raise StoreError("a store must be a file", f"{path} is {kind}", _NEW)
        made = cls(where, where, Lock(where), durable)
        try:
            if kind:
                with made._told():
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
        where, kind = _place(path)
        if kind != "a file":
            fix = "`solve FILE.toml`, `evolve` and `assess` make one"
            fact = f"{path} is {kind}" if kind else f"there is no {path}"
            raise StoreError("a store must be a file that exists", fact, fix)
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
        """Bring everything into the one file, close it and free the lock.

        Raises:
            StoreLostError: What was stored is not in the file any more.
        """
        try:
            if self._opened is not None:
                with self._told():
                    self._check_file()
                    self._opened.close()  # the last to leave checkpoints and cleans up
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Free all locks, and forget the connection."""
        if self._guard is not None:
            self._guard.release()
        if self._file is not None:
            guard.disconnected(self._file)
        if self._lock is not None:
            self._lock.free()
        self._opened = self._guard = self._file = self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, text: str, *values: Any) -> Iterator[Any]:
        with self._told():
            return iter(self._connection.execute(text, values).fetchall())

    def _has(self, version: int) -> bool:
        """Whether the file has what was added after a version; a writer may have done so since we opened it."""
        return not self._new and int(next(self._rows("PRAGMA user_version"))[0]) > version

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._told():
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
            self._check_kept()
            self._checkpoint()

    def _check_kept(self) -> None:
        """Raise if the file at the path is not the one that is written to, or if somebody else may write to it."""
        self._check_file()
        if self._lock is None or self._lock.renew() or (self._guard is not None and self._guard.is_locked):
            return
        raise StoreWriteError(
            "a store has one writer at a time",
            f"the lock file of {self.path} was deleted, and another process has the store locked now",
            "Wait for it to end, and give the same command again",
        )

    def _check_file(self) -> None:
        """Raise if the file at the path is not the one that is written to."""
        if self._guard is not None and self._writing and (trouble := self._guard.trouble()):
            self._lost = self._abandoned(trouble)
            raise self._lost

    def _abandoned(self, trouble: str) -> StoreLostError:
        """Copy the content of a file that was lost, which SQLite still has, close it, and return the error."""
        assert self._opened is not None
        assert self._guard is not None
        copy = rescued(self._opened, self.path)
        if self._guard.forsake():
            self._opened.close()
        else:
            _ABANDONED.append(self._opened)
        self._opened = None
        fix = "Restore it from a backup, or begin anew" if copy is None else (
            f"Everything that was stored is in {copy}: move it to {self.path} and give the same command again"
        )  # fmt: skip
        fact = f"{self.path} {trouble}"
        error = StoreLostError("a store must stay in its place while it is written to", fact, fix)
        error.rescued = copy
        return error

    def _checkpoint(self) -> None:
        """Write the log into the database once it is long; it is done here so that the guard knows of it."""
        if self._guard is None or not self._in_wal or os.stat(f"{self.path}-wal").st_size < _LONGEST_LOG:
            return
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._guard.mark(self._in_wal)

    def _check_readable(self) -> None:
        with self._told():
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
        mode = self._connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        for setting in ("wal_autocheckpoint = 0", "journal_size_limit = 0"):
            self._connection.execute(f"PRAGMA {setting}")
        self._connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
        self._read_all()
        self._in_wal, self._writing = str(mode).lower() == "wal", True
        if self._guard is not None:
            self._guard.mark(self._in_wal)

    def _read_all(self) -> None:
        """Refuse to write to a damaged file, and keep one that is not large in memory: it can be truncated any time."""
        self._connection.execute("SELECT count(*) FROM experiment").fetchone()  # opens the log
        if self._guard is not None and os.stat(self.path).st_size <= _CACHE:
            self._connection.execute(f"PRAGMA cache_size = -{_CACHE // 1024}")
            found = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise damaged(self.path, found)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn SQLite's errors into sentences; that a file is gone explains any of them."""
        try:
            yield
        except RobustforgeError:
            raise
        except (sqlite3.Error, UnicodeError, OverflowError, MemoryError, OSError) as error:
            if self._opened is not None:
                self._check_file()
            raise _sentence(self.path, error) from error


_ABANDONED: list[sqlite3.Connection] = []
"""Connections to files that were lost, which cannot be closed without harm to what lies at their paths now."""


def _sentence(path: str, error: Exception) -> StoreError:
    """Return the sentence for an error of SQLite."""
    code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        return StoreError("a store must be an SQLite file", f"{path} is something else", _OTHER)
    if code in _FULL or code == sqlite3.SQLITE_CANTOPEN or isinstance(error, OSError):
        return _not_writable(path, str(error))
    if isinstance(error, UnicodeEncodeError):
        return StoreError(
            "what is stored must be text", f"{error.object!r} is not valid Unicode", "Choose another name"
        )
    fact = "SQLite's own message is no text" if isinstance(error, UnicodeError) else str(error)
    return damaged(path, fact or type(error).__name__)


def _not_writable(path: str, reason: str) -> StoreFullError:
    return StoreFullError(
        "a store must be on a disk with room to write",
        f"writing to {path} failed: {reason}",
        "What was stored is safe; make room and give the same command again",
    )


def _place(path: str | Path) -> tuple[str, str]:
    """Return where a store is, links followed, and what is there: "a file", something else, or nothing."""
    try:
        where = os.path.realpath(path)
        mode = os.stat(where).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return where, ""
    except (OSError, ValueError, TypeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StoreError("a store must be a file within reach", f"{str(path)!r} is not: {reason}", _NEW) from error
    return where, next((name for test, name in _KINDS if test(mode)), "a device")


def _has_content(path: str) -> bool:
    return Path(path).exists() and Path(path).stat().st_size > 0
