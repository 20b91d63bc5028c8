"""Guards the database file that a writer has open: locks a byte of it, and detects deletion and replacement.

The byte is beyond those that SQLite locks. The lock belongs to the open file description on systems that have such
locks (Linux), so neither a deleted lock file nor another path to the same file admits a second writer, and it is
released when its process ends.

Closing any descriptor of a file drops all POSIX locks that the process has on it, those of SQLite included. So a
descriptor is closed only after the last connection of this process to the file.
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
"""Device and inode, which identify a file."""

_FIRST_LOCK_BYTE = 0x40000000
_SHARED = (_FIRST_LOCK_BYTE + 2, 510)
_WRITER = (_FIRST_LOCK_BYTE + 512, 1)
"""Byte ranges of a database file without data, as offset and length: SQLite's shared locks, and the writer's lock."""

_HEADER = 100
"""Bytes of a database's header, which contains a change counter and the number of pages."""

_SET = getattr(fcntl, "F_OFD_SETLK", None)
_MUTEX = threading.RLock()
_connections: Counter[Identity] = Counter()
_guarded: set[Identity] = set()
_pending: defaultdict[Identity, list[int]] = defaultdict(list)


def identity(path: str) -> Identity | None:
    """Return the identity of the file at a path; `None` if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def register_connection(file: Identity) -> None:
    """Register a connection of this process to a file."""
    with _MUTEX:
        _connections[file] += 1


def unregister_connection(file: Identity) -> None:
    """Unregister a connection; after the last one, the pending descriptors are closed."""
    with _MUTEX:
        _connections[file] -= 1
        if not _connections[file]:
            del _connections[file]
            for descriptor in _pending.pop(file, ()):
                os.close(descriptor)


def store_locked_error(path: str, owner: str = "") -> StoreError:
    """Return the error of a second writer; `owner` is the first, as " (pid 123)"."""
    return StoreError(
        f"another process has locked the store{owner}",
        f"{path} can have one writer at a time",
        "Wait for it to end, or name another file; `robustforge runs` shows its progress",
    )


class FileGuard:
    """The guard of a database file, which is created if it does not exist. Release it after the SQLite connection.

    Args:
        path: The file, with symbolic links resolved.

    Attributes:
        file: Its identity.
        is_locked: Whether a byte of it is locked, which excludes a second writer.

    Raises:
        StoreError: Another process has the file locked.
        OSError: It cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self._path, self.is_locked = path, False
        self._size, self._header = 0, b""
        self._wal_identities: dict[str, Identity | None] = {}
        with _MUTEX:
            if identity(path) in _guarded:  # opening and closing it again would drop SQLite's locks
                raise store_locked_error(path)
            self._descriptor = _opened(path)
            found = os.fstat(self._descriptor)
            self.file = found.st_dev, found.st_ino
            try:
                self._lock(found.st_size)
            except BaseException:
                _pending[self.file].append(self._descriptor)
                register_connection(self.file)
                unregister_connection(self.file)
                raise
            _guarded.add(self.file)

    def _lock(self, size: int) -> None:
        try:
            self.is_locked = _set_lock(self._descriptor, fcntl.F_WRLCK, _WRITER)
        except OSError as error:
            raise store_locked_error(self._path) from error
        if not size:
            for name in self._wal_files():  # leftovers of a deleted file, which SQLite would use
                with suppress(OSError):
                    os.unlink(name)

    def record_state(self, in_wal: bool) -> None:
        """Record the state of the file, after the writer has changed it.

        Args:
            in_wal: Whether commits go to the write-ahead log, so that only a checkpoint changes the file.
        """
        self._size = os.fstat(self._descriptor).st_size
        self._header = os.pread(self._descriptor, _HEADER, 0) if in_wal else b""
        self._wal_identities = {name: identity(name) for name in self._wal_files()} if in_wal else {}

    def describe_change(self) -> str:
        """Return how the file was changed by another process, as a predicate; empty if it was not."""
        found = identity(self._path)
        if found is None:
            return "was deleted"
        if found != self.file:
            return "was replaced by another file"
        if os.fstat(self._descriptor).st_size < self._size:
            return "was truncated"
        if self._header and os.pread(self._descriptor, _HEADER, 0) != self._header:
            return "was overwritten"
        missing = [name for name, recorded in self._wal_identities.items() if identity(name) != recorded]
        return f"lost {missing[0]}, which was deleted" if missing else ""

    def detach(self) -> bool:
        """Make SQLite close the file without changing the files at its path; return whether it will.

        The last connection to close writes the log into the database and deletes files by their names, which may
        belong to another database by now. It does neither while another process holds a shared lock.
        """
        for name, recorded in self._wal_identities.items():
            if recorded is not None and identity(name) == recorded:
                with suppress(OSError):
                    os.unlink(name)
        try:
            return _set_lock(self._descriptor, fcntl.F_RDLCK, _SHARED)
        except OSError:  # another process reads it, which has the same effect
            return True

    def release(self) -> None:
        """Release the lock. The descriptor is closed with the last connection of this process."""
        with _MUTEX:
            _guarded.discard(self.file)
            for byte_range in (_WRITER, _SHARED):
                _set_lock(self._descriptor, fcntl.F_UNLCK, byte_range)
            _pending[self.file].append(self._descriptor)

    def _wal_files(self) -> tuple[str, str]:
        return f"{self._path}-wal", f"{self._path}-shm"


def _opened(path: str) -> int:
    """Open a file to lock it; a read-only file is opened to detect changes."""
    flags = os.O_CREAT | os.O_NONBLOCK
    try:
        return os.open(path, os.O_RDWR | flags, 0o644)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def _set_lock(descriptor: int, kind: int, byte_range: tuple[int, int]) -> bool:
    """Lock or unlock a range of a file; return whether the file system supports it.

    Raises:
        BlockingIOError: Another process has it locked.
    """
    if _SET is None:
        return False
    try:
        fcntl.fcntl(descriptor, _SET, struct.pack("hhqqi", kind, os.SEEK_SET, *byte_range, 0))
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise
        return False  # no such locks on this file system, or a read-only descriptor
    return True
