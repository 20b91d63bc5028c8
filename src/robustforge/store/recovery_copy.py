"""Copies the content of a database whose file was deleted or replaced, from the open SQLite connection."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing, suppress
from itertools import count
from pathlib import Path


def write_recovery_copy(connection: sqlite3.Connection, path: str) -> str | None:
    """Copy a database to a new file next to the lost one, or else to the folder for temporary files.

    Args:
        connection: The connection to the lost file.
        path: Its path.

    Returns:
        The path of the copy; `None` if none could be written, or if it is incomplete.
    """
    for folder in (os.path.dirname(path), tempfile.gettempdir()):
        try:
            copy = _new_file(os.path.join(folder, f"{os.path.basename(path)}-recovered"))
        except OSError:
            continue
        if _copy_is_complete(connection, copy):
            return copy
        for name in (copy, f"{copy}-journal", f"{copy}-wal", f"{copy}-shm"):
            with suppress(OSError):
                os.unlink(name)
    return None


def _new_file(name: str) -> str:
    """Make an empty file with this name, or with a number appended to it."""
    for number in count(1):
        path = name if number == 1 else f"{name}-{number}"
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644))
            return path
    raise AssertionError("unreachable")


def _copy_is_complete(connection: sqlite3.Connection, copy: str) -> bool:
    """Copy a database; return whether the copy passes an integrity check."""
    try:
        with closing(sqlite3.connect(copy)) as made:
            connection.backup(made)
        with closing(sqlite3.connect(f"{Path(copy).as_uri()}?mode=rw", uri=True)) as made:
            made.execute("SELECT count(*) FROM experiment").fetchone()
            return bool(made.execute("PRAGMA integrity_check").fetchone()[0] == "ok")
    except (sqlite3.Error, UnicodeError, MemoryError):
        return False
