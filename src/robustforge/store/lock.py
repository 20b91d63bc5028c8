"""The lock that makes a writer the only one: a file beside the store, locked by the operating system.

It is not on the store itself: to close any other descriptor of that file would drop SQLite's own locks on it. The lock
is free as soon as its process ends, however it ends; a file that is left behind locks nothing.
"""

from __future__ import annotations

import fcntl
import os

from robustforge.errors import StoreError


class Lock:
    """The writer's lock on a store, held from the start until `free`.

    Args:
        path: The store.

    Raises:
        StoreError: Somebody else has it, or there can be none.
    """

    def __init__(self, path: str) -> None:
        self._path = f"{path}-lock"
        while True:
            try:
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError as error:
                fix = "Name a file in a folder of your own"
                raise StoreError("a store must be writable", f"{path} is not: {error.strerror}", fix) from error
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(self._descriptor)
                raise StoreError(
                    "a store has one writer at a time",
                    f"somebody else is writing to {path}",
                    "Wait for it to end, or name another file; `robustforge runs` shows how far it is",
                ) from error
            if self._is_current():
                return
            os.close(self._descriptor)  # its last owner removed it in the meantime

    @staticmethod
    def is_held(path: str) -> bool:
        """Whether somebody writes to a store."""
        try:
            descriptor = os.open(f"{path}-lock", os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except OSError:
            return True
        finally:
            os.close(descriptor)

    def free(self) -> None:
        """Let others write."""
        os.unlink(self._path)
        os.close(self._descriptor)

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(self._path))
        except FileNotFoundError:
            return False
