"""The lock file beside a store: it makes a writer the only one from the start, also before there is a store.

The operating system locks it; it is free as soon as its process ends, however it ends, and a file that is left behind
locks nothing. It is not on the store itself, see `guard`, which decides once there is one.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

from robustforge.errors import StoreError
from robustforge.store.guard import locked


class Lock:
    """The writer's lock on a store, held from the start until `free`.

    Args:
        path: The store.

    Raises:
        StoreError: Another process has it, or there can be none.
    """

    def __init__(self, path: str) -> None:
        self._store, self._path = path, f"{path}-lock"
        try:
            self._descriptor = self._taken()
        except BlockingIOError as error:
            raise locked(path, _owner(self._path)) from error
        except OSError as error:
            fix = "Name a file in a folder of your own"
            raise StoreError("a store must be writable", f"{path} is not: {error.strerror}", fix) from error

    @staticmethod
    def is_held(path: str) -> bool:
        """Whether somebody writes to a store."""
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
            taken = self._taken()
        except OSError:
            return False
        os.close(self._descriptor)
        self._descriptor = taken
        return True

    def free(self) -> None:
        """Let others write."""
        if self._is_current(self._descriptor):
            os.unlink(self._path)
        os.close(self._descriptor)

    def _taken(self) -> int:
        """Return a descriptor of the lock file that holds the lock.

        Raises:
            BlockingIOError: Another process has it.
            OSError: There can be no such file.
        """
        while True:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_current(descriptor):
                    with suppress(OSError):  # it is only for the message of whoever is refused
                        os.ftruncate(descriptor, 0)
                        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # its last owner removed it in the meantime

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self._path))
        except OSError:
            return False


def _owner(path: str) -> str:
    """Return which process has a lock, as the end of a sentence, if its file says so."""
    try:
        with open(path, "rb") as file:
            text = file.read(20).decode("ascii")
    except (OSError, UnicodeDecodeError):
        return ""
    return f" (pid {text})" if text.isdecimal() else ""
