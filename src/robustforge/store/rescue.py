"""Copies a database whose file was lost: SQLite still has it open, so nothing that was stored is lost."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing, suppress
from itertools import count
from pathlib import Path


def rescued(connection: sqlite3.Connection, path: str) -> str | None:
    """Copy everything to a new file beside the one that was lost, or else in the folder for temporary files.

    Args:
        connection: To the file that was lost.
        path: Where it was.

    Returns:
        The copy; `None` if there could be none, or if what could be copied is not whole.
    """
    for folder in (os.path.dirname(path), tempfile.gettempdir()):
        try:
            copy = _new_file(os.path.join(folder, f"{os.path.basename(path)}-rescued"))
        except OSError:
            continue
        if _is_whole_copy(connection, copy):
            return copy
        for name in (copy, f"{copy}-journal", f"{copy}-wal", f"{copy}-shm"):
            with suppress(OSError):
                os.unlink(name)
    return None


def _new_file(name: str) -> str:
    """Make an empty file of this name, or of this name with a number."""
    for number in count(1):
        path = name if number == 1 else f"{name}-{number}"
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644))
            return path
    raise AssertionError("some number is free")


def _is_whole_copy(connection: sqlite3.Connection, copy: str) -> bool:
    """Copy a database; return whether the copy is in order."""
    try:
        with closing(sqlite3.connect(copy)) as made:
            connection.backup(made)
        with closing(sqlite3.connect(f"{Path(copy).as_uri()}?mode=rw", uri=True)) as made:
            made.execute("SELECT count(*) FROM experiment").fetchone()
            return bool(made.execute("PRAGMA integrity_check").fetchone()[0] == "ok")
    except (sqlite3.Error, UnicodeError, MemoryError):
        return False
