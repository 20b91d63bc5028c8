"""Guards the database file that a writer has open: locks a byte of it, and notices if it is no longer the same file.

The byte lies beyond those that SQLite locks. The lock belongs to the open file description, where the system has such
locks (Linux), so neither a deleted lock file nor another path to the same file lets a second writer in, and it is free
as soon as its process ends.

To close any descriptor of a file drops all POSIX locks that the process has on it, those of SQLite included. So a
descriptor is closed only once no connection of this process to the file is left.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import threading
from collections import Counter, defaultdict
from contextlib import suppress

from robustforge.errors import StoreError

Identity = tuple[int, int]
"""Device and inode: what tells a file from all others."""

_FIRST_LOCK_BYTE = 0x40000000
_SHARED = (_FIRST_LOCK_BYTE + 2, 510)
_WRITER = (_FIRST_LOCK_BYTE + 512, 1)
"""Ranges of a database file, as offset and length: SQLite's shared locks, and ours behind them. No data is there."""

_HEADER = 100
"""Bytes of a database's header, among them a counter of changes and the number of pages."""

_SET = getattr(fcntl, "F_OFD_SETLK", None)
_MUTEX = threading.RLock()
_connections: Counter[Identity] = Counter()
_guarded: set[Identity] = set()
_waiting: defaultdict[Identity, list[int]] = defaultdict(list)


def identity(path: str) -> Identity | None:
    """Return what file a path leads to; `None` if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def connected(file: Identity) -> None:
    """Take note of a connection of this process to a file."""
    with _MUTEX:
        _connections[file] += 1


def disconnected(file: Identity) -> None:
    """Take note of the end of a connection; after the last one, descriptors that wait for it are closed."""
    with _MUTEX:
        _connections[file] -= 1
        if not _connections[file]:
            del _connections[file]
            for descriptor in _waiting.pop(file, ()):
                os.close(descriptor)


def locked(path: str, who: str = "") -> StoreError:
    """Return the error of a second writer."""
    return StoreError(
        "a store has one writer at a time",
        f"another process has {path} locked{who}",
        "Wait for it to end, or name another file; `robustforge runs` shows how far it is",
    )


class Guard:
    """The guard of a database file, which is made if it does not exist. Release it after SQLite has let the file go.

    Args:
        path: The file; symbolic links must have been followed.

    Attributes:
        file: What file it is.
        is_locked: Whether a byte of it is locked, so that there is no second writer.

    Raises:
        StoreError: Another writer has the file.
        OSError: It cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self._path, self.is_locked = path, False
        self._size, self._header = 0, b""
        self._beside: dict[str, Identity | None] = {}
        with _MUTEX:
            if identity(path) in _guarded:  # to open and close it once more would drop SQLite's locks
                raise locked(path)
            self._descriptor = _opened(path)
            found = os.fstat(self._descriptor)
            self.file = found.st_dev, found.st_ino
            try:
                self._lock(found.st_size)
            except BaseException:
                _waiting[self.file].append(self._descriptor)
                connected(self.file)
                disconnected(self.file)
                raise
            _guarded.add(self.file)

    def _lock(self, size: int) -> None:
        try:
            self.is_locked = _set_lock(self._descriptor, fcntl.F_WRLCK, _WRITER)
        except OSError as error:
            raise locked(self._path) from error
        if not size:
            for name in self._names():  # left behind by a file that was deleted; SQLite would take them for this one's
                with suppress(OSError):
                    os.unlink(name)

    def mark(self, in_wal: bool) -> None:
        """Take note of how the file is now, after the writer itself has changed it.

        Args:
            in_wal: Whether commits go to the write-ahead log, so that only a checkpoint changes the file.
        """
        self._size = os.fstat(self._descriptor).st_size
        self._header = os.pread(self._descriptor, _HEADER, 0) if in_wal else b""
        self._beside = {name: identity(name) for name in self._names()} if in_wal else {}

    def trouble(self) -> str:
        """Return what has become of the file, as the end of a sentence; nothing if it is as it was."""
        found = identity(self._path)
        if found is None:
            return "was deleted"
        if found != self.file:
            return "was replaced by another file"
        if os.fstat(self._descriptor).st_size < self._size:
            return "was truncated"
        if self._header and os.pread(self._descriptor, _HEADER, 0) != self._header:
            return "was overwritten"
        lost = [name for name, known in self._beside.items() if identity(name) != known]
        return f"lost {lost[0]}, which was deleted" if lost else ""

    def forsake(self) -> bool:
        """Let SQLite close the file without touching what lies at its path now; return whether it will.

        The last to close a database writes the log into it and deletes files by their names, which may by now be
        those of another database. It does neither while somebody else holds a shared lock.
        """
        for name, known in self._beside.items():
            if known is not None and identity(name) == known:
                with suppress(OSError):
                    os.unlink(name)
        try:
            return _set_lock(self._descriptor, fcntl.F_RDLCK, _SHARED)
        except OSError:  # somebody is reading: that does as well
            return True

    def release(self) -> None:
        """Let others write. The descriptor is closed with the last connection of this process."""
        with _MUTEX:
            _guarded.discard(self.file)
            for part in (_WRITER, _SHARED):
                _set_lock(self._descriptor, fcntl.F_UNLCK, part)
            _waiting[self.file].append(self._descriptor)

    def _names(self) -> tuple[str, str]:
        return f"{self._path}-wal", f"{self._path}-shm"


def _opened(path: str) -> int:
    """Open a file for locks; one that is read-only can at least be watched."""
    flags = os.O_CREAT | os.O_NONBLOCK
    try:
        return os.open(path, os.O_RDWR | flags, 0o644)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def _set_lock(descriptor: int, kind: int, part: tuple[int, int]) -> bool:
    """Lock a part of a file, or free it; return whether there are such locks.

    Raises:
        BlockingIOError: Somebody else has it.
    """
    if _SET is None:
        return False
    try:
        fcntl.fcntl(descriptor, _SET, struct.pack("hhqqi", kind, os.SEEK_SET, *part, 0))
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise
        return False  # the file system has no locks, or the descriptor is read-only
    return True
