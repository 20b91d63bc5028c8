"""The lock file of a store, which makes a process the only writer even before the store exists.

The operating system releases the lock when the process ends for any reason, so a leftover file locks nothing. Once the
store exists, `file_guard` locks the store itself, too.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

from robustforge.errors import StoreError
from robustforge.store.file_guard import store_locked_error


class LockFile:
    """The writer's lock on a store, held until `release`.

    Args:
        path: The store.

    Raises:
        StoreError: Another process has the lock, or the lock file cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._store, self._path = path, f"{path}-lock"
        try:
            self._descriptor = self._acquire()
        except BlockingIOError as error:
            raise store_locked_error(path, _owner(self._path)) from error
        except OSError as error:
            fix = "Name a file in a writable folder"
            raise StoreError("a store must be writable", f"{path} is not: {error.strerror}", fix) from error

    @staticmethod
    def is_held(path: str) -> bool:
        """Whether a process has a store open to write."""
        try:
            descriptor = os.open(f"{os.path.realpath(path)}-lock", os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except OSError:
            return True
        finally:
            os.close(descriptor)

    def renew(self) -> bool:
        """Take the lock again if its file was deleted; return whether it is held."""
        if self._is_current(self._descriptor):
            return True
        try:
            descriptor = self._acquire()
        except OSError:
            return False
        os.close(self._descriptor)
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Release the lock and remove its file."""
        if self._is_current(self._descriptor):
            os.unlink(self._path)
        os.close(self._descriptor)

    def _acquire(self) -> int:
        """Return a descriptor of the lock file that holds the lock.

        Raises:
            BlockingIOError: Another process has it.
            OSError: The file cannot be opened.
        """
        while True:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_current(descriptor):
                    with suppress(OSError):  # only for the message of another writer
                        os.ftruncate(descriptor, 0)
                        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # its previous owner has removed it

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self._path))
        except OSError:
            return False


def _owner(path: str) -> str:
    """Return the process that holds a lock, as " (pid 123)"; empty if unknown."""
    try:
        with open(path, "rb") as file:
            text = file.read(20).decode("ascii")
    except (OSError, UnicodeDecodeError):
        return ""
    return f" (pid {text})" if text.isdecimal() else ""
