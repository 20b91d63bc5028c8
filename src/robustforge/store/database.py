"""The SQLite database of a store, in WAL mode: its format version, its single writer and its readers.

Locks on a file next to the database and on the database itself ensure a single writer; they are released when its
process ends. Readers open the store read-only and see all commits, also while it is written. At every commit the writer
checks that the file is still the one that it opened; otherwise it copies the content to a file next to it.
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
from robustforge.store import file_guard
from robustforge.store.file_guard import FileGuard, Identity
from robustforge.store.lock_file import LockFile
from robustforge.store.recovery_copy import write_recovery_copy
from robustforge.store.stored_records import damaged_store_error

APPLICATION_ID = 0x52465247  # "RFRG"
VERSION = 3
_FOLDER = Path(__file__).parent
_SCHEMA = "schema.sql"
_UPGRADES = {1: "assessed.sql", 2: "evaluation.sql"}
"""The tables that each older version lacks; a writer adds them, a reader takes them for empty."""

_NEW_STORE_FIX = "Name another file; `solve FILE.toml`, `evolve` and `assess` create a new one"
_OTHER_STORE_FIX = "Name a store of robustforge; `solve FILE.toml`, `evolve` and `assess` create one"
_READ_MODES = ("mode=rw", "mode=ro", "immutable=1")
"""Modes in which a reader tries to open a store. None of them writes to it, but the first removes the files that SQLite
creates for readers, the second works without permission for that, the third on a read-only disk."""

_MAX_LOG_BYTES = 4_000_000
"""Size of the write-ahead log at which its content is written into the database."""

_CACHE_BYTES = 1 << 26
"""Bytes of a database that are kept in memory."""

_KINDS = (
    (stat.S_ISREG, "a file"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)
_WRITE_ERRORS = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY)


class Database:
    """An open database: `open` returns a writer, `read` a reader. Use it in a `with` statement.

    Args:
        target: The file or URI that SQLite connects to.
        path: The path, for messages.
        lock: The writer's lock; `None` for a reader.
        durable: Whether commits survive a power cut, and not only the end of the process.
    """

    def __init__(self, target: str, path: str, lock: LockFile | None = None, durable: bool = False) -> None:
        self._target, self.path, self._lock, self._durable = target, path, lock, durable
        self._new, self._writing, self._version, self._in_wal = True, False, 0, False
        self._opened: sqlite3.Connection | None = None
        self._guard: FileGuard | None = None
        self._file: Identity | None = None
        self._lost: StoreLostError | None = None

    @property
    def _connection(self) -> sqlite3.Connection:
        """The SQLite connection, opened when it is first needed, since connecting creates the file."""
        if self._lost is not None:
            raise self._lost
        if self._opened is None:
            with self._translate_errors():
                self._connect()
        assert self._opened is not None
        return self._opened

    def _connect(self) -> None:
        if self._lock is not None:
            try:
                self._guard = FileGuard(self.path)
            except OSError as error:
                raise _not_writable(self.path, str(error.strerror)) from error
        self._file = self._guard.file if self._guard else file_guard.identity(self.path)
        if self._file is not None:
            file_guard.register_connection(self._file)
        options: Any = {"timeout": 30, "isolation_level": None, "uri": self._target.startswith("file:")}
        self._opened = sqlite3.connect(self._target, **options)

    @classmethod
    def open(cls, path: str | Path | None, durable: bool = False) -> Self:
        """Open a store to write; `None` is one in memory. The file does not change until something is stored.

        Args:
            path: The file.
            durable: Whether commits survive a power cut, which takes some milliseconds more each time.

        Raises:
            StoreError: The file is not a store of this version, or another process has it locked.
        """
        if path is None:
            return cls(":memory:", "memory")
        where, kind = _resolve(path)
        if not Path(where).parent.is_dir():
            raise StoreError(f"the folder of {path} does not exist", fix="Create the folder first")
        if kind not in ("", "a file"):
            raise StoreError("a store must be a file", f"{path} is {kind}", _NEW_STORE_FIX)
        made = cls(where, where, LockFile(where), durable)
        try:
            if kind:
                with made._translate_errors():
                    made._new = made._is_new()
        except BaseException:
            made.close()
            raise
        return made

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Open a store to read; a writer is not blocked, and its later commits are visible to later calls.

        Raises:
            StoreError: The file does not exist, or is not a store of this version.
        """
        where, kind = _resolve(path)
        if kind != "a file":
            fix = "`solve FILE.toml`, `evolve` and `assess` create one"
            raise StoreError(f"{path} is {kind}, not a store" if kind else f"there is no store {path}", fix=fix)
        for mode in _READ_MODES:
            made = cls(f"{Path(where).as_uri()}?{mode}", where)
            try:
                made._check_readable()
                return made
            except StoreFullError as error:
                made.close()
                if mode == _READ_MODES[-1] or _has_content(f"{where}-wal"):
                    raise StoreError("a store must be readable", error.fact, "Copy it to a writable folder") from error
            except BaseException:
                made.close()
                raise
        raise AssertionError("unreachable: the last mode returns or raises")

    def close(self) -> None:
        """Write the log into the database, close it and release the locks.

        Raises:
            StoreLostError: The file was deleted, replaced or overwritten.
        """
        try:
            if self._opened is not None:
                with self._translate_errors():
                    self._check_file()
                    self._opened.close()  # the last connection checkpoints, and removes the log
        finally:
            self._release()

    def _release(self) -> None:
        """Release all locks, and drop the connection."""
        if self._guard is not None:
            self._guard.release()
        if self._file is not None:
            file_guard.unregister_connection(self._file)
        if self._lock is not None:
            self._lock.release()
        self._opened = self._guard = self._file = self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, text: str, *values: Any) -> Iterator[Any]:
        with self._translate_errors():
            return iter(self._connection.execute(text, values).fetchall())

    def _has(self, version: int) -> bool:
        """Whether the file has the tables added after a version; a writer may add them while it is open."""
        return not self._new and int(next(self._rows("PRAGMA user_version"))[0]) > version

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._translate_errors():
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
            self._check_writable()
            self._checkpoint()

    def _check_writable(self) -> None:
        """Raise if the file was changed, or if another process may write to it."""
        self._check_file()
        if self._lock is None or self._lock.renew() or (self._guard is not None and self._guard.is_locked):
            return
        raise StoreWriteError(
            "another process has locked the store now",
            f"the lock file of {self.path} was deleted",
            "Wait for the other process to end, and repeat the command",
        )

    def _check_file(self) -> None:
        """Raise if the file was deleted, replaced or overwritten."""
        if self._guard is not None and self._writing and (change := self._guard.describe_change()):
            self._lost = self._recover(change)
            raise self._lost

    def _recover(self, change: str) -> StoreLostError:
        """Write a recovery copy of a lost file from the open connection, close it, and return the error."""
        assert self._opened is not None
        assert self._guard is not None
        copy = write_recovery_copy(self._opened, self.path)
        if self._guard.detach():
            self._opened.close()
        else:
            _LOST_CONNECTIONS.append(self._opened)
        self._opened = None
        fix = "Restore it from a backup, or start again" if copy is None else (
            f"All stored runs are in {copy}: move it to {self.path} and repeat the command"
        )  # fmt: skip
        error = StoreLostError(f"{self.path} {change}", "a store must not be changed while it is written", fix)
        error.recovery_copy = copy
        return error

    def _checkpoint(self) -> None:
        """Write a long log into the database; done here, so that the guard can record the new state."""
        if self._guard is None or not self._in_wal or os.stat(f"{self.path}-wal").st_size < _MAX_LOG_BYTES:
            return
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._guard.record_state(self._in_wal)

    def _check_readable(self) -> None:
        with self._translate_errors():
            self._connection.execute("PRAGMA query_only = 1")
            self._new = self._is_new()
        if self._new:
            raise StoreError(f"the store {self.path} is empty", fix=_NEW_STORE_FIX)

    def _is_new(self) -> bool:
        """Whether the file is empty; raise if it is not a store of a known version."""
        application, version, pages = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version", "page_count")
        )
        if pages == 0:
            return True
        if application != APPLICATION_ID:
            raise StoreError(f"{self.path} is the database of another program", fix=_OTHER_STORE_FIX)
        if version != VERSION and version not in _UPGRADES:
            raise StoreError(
                f"a store must have at most version {VERSION}",
                f"{self.path} has version {version}",
                "Use the robustforge that wrote it, or name another file",
            )
        self._check_schema()
        self._version = version
        return False

    def _check_schema(self) -> None:
        """Refuse a file with anything but tables and indices: views and triggers would be executed."""
        self._connection.execute("PRAGMA trusted_schema = OFF")
        found = self._connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
        for kind, name, text in found:
            if kind not in ("table", "index") or str(text).upper().startswith("CREATE VIRTUAL"):
                raise damaged_store_error(self.path, f"its schema has the {kind} {name!r}, which no store has")

    def _prepare(self) -> None:
        """Create the missing tables in one transaction, and set WAL mode, so that readers are not blocked."""
        missing = [name for version, name in _UPGRADES.items() if version >= self._version]
        if self._new:
            missing.insert(0, _SCHEMA)
        if missing:
            head = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
            tables = "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in missing)
            self._connection.executescript(f"BEGIN; {head} {tables} COMMIT;")
            self._new, self._version = False, VERSION
        mode = self._connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        for setting in ("wal_autocheckpoint = 0", "journal_size_limit = 0"):
            self._connection.execute(f"PRAGMA {setting}")
        self._connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
        self._check_and_cache()
        self._in_wal, self._writing = str(mode).lower() == "wal", True
        if self._guard is not None:
            self._guard.record_state(self._in_wal)

    def _check_and_cache(self) -> None:
        """Refuse a damaged file, and keep a small one in memory, so that it can be recovered if it is truncated."""
        self._connection.execute("SELECT count(*) FROM experiment").fetchone()  # opens the log
        if self._guard is not None and os.stat(self.path).st_size <= _CACHE_BYTES:
            self._connection.execute(f"PRAGMA cache_size = -{_CACHE_BYTES // 1024}")
            found = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise damaged_store_error(self.path, found)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Translate errors of SQLite into store errors; first of all report that the file was changed."""
        try:
            yield
        except RobustforgeError:
            raise
        except (sqlite3.Error, UnicodeError, OverflowError, MemoryError, OSError) as error:
            if self._opened is not None:
                self._check_file()
            raise _store_error(self.path, error) from error


_LOST_CONNECTIONS: list[sqlite3.Connection] = []
"""Connections to lost files that cannot be closed without changing the files that are at their paths now."""


def _store_error(path: str, error: Exception) -> StoreError:
    """Return the store error for an error of SQLite or of the operating system."""
    code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        return StoreError("a store must be an SQLite file", f"{path} is not", _OTHER_STORE_FIX)
    if code in _WRITE_ERRORS or code == sqlite3.SQLITE_CANTOPEN or isinstance(error, OSError):
        return _not_writable(path, str(error))
    if isinstance(error, UnicodeEncodeError):
        return StoreError("a name must be valid Unicode", f"got {error.object!r}", "Choose another name")
    fact = "SQLite's message is not valid Unicode" if isinstance(error, UnicodeError) else str(error)
    return damaged_store_error(path, fact or type(error).__name__)


def _not_writable(path: str, reason: str) -> StoreFullError:
    return StoreFullError(
        f"writing to {path} failed: {reason}",
        "a store needs a writable file and free disk space",
        "All stored runs are safe; free disk space and repeat the command",
    )


def _resolve(path: str | Path) -> tuple[str, str]:
    """Return the path with links resolved, and the kind of file: "a file", "a folder", ...; empty if missing."""
    try:
        where = os.path.realpath(path)
        mode = os.stat(where).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return where, ""
    except (OSError, ValueError, TypeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"{str(path)!r} cannot be opened: {reason}", fix=_NEW_STORE_FIX) from error
    return where, next((name for test, name in _KINDS if test(mode)), "a device")


def _has_content(path: str) -> bool:
    return Path(path).exists() and Path(path).stat().st_size > 0
