"""Compiles the package's kernels with Numba, once per machine and per version of the sources.

`compiled`, `inlined` and `both_ways` are the only decorators in use. The first two put machine code into one folder per
*fingerprint* of the sources, since Numba by itself does not see an edit in a callee of another file; so no edit ever
meets stale code, and a read-only install works. Components are called by their address (`call`), so that each is
compiled by itself, once.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.core import cgutils
from numba.core.typing import signature
from numba.extending import intrinsic, register_jitable

F = TypeVar("F", bound=Callable[..., Any])

_logger = logging.getLogger(__name__)

PACKAGES_WITH_KERNELS = ("core", "components", "engine", "robust_problem", "verification")
"""The packages whose modules decide compiled code."""

_KEPT_FOLDERS = 16
_USED = "used"
"""The file in a folder of machine code whose time is that of its last use, and which its users have locked."""


def compiled(function: F) -> F:
    """Return `function` compiled: without the GIL, cached on disk, division as in NumPy."""
    return _njit(function, inline="never")


def inlined(function: F) -> F:
    """Return `function` for use inside compiled functions, into whose body it is copied.

    Numba optimises every compiled function together with all that it calls, so that a deep tree of functions is
    optimised over and over. Functions called from one place only should be inlined.
    """
    return _njit(function, inline="always")


def both_ways(function: F) -> F:
    """Make a plain Python function that compiled code can call, too."""
    return cast(F, register_jitable(nogil=True, error_model="numpy")(function))


def _njit(function: F, inline: str) -> F:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    try:
        return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy", inline=inline)(function))
    finally:
        numba.config.CACHE_DIR = before


@intrinsic
def call(typing_context: Any, address: Any, *arguments: Any) -> Any:
    """Call the kernel at an address; it takes the arguments with exactly their types, and returns nothing.

    An exception in it reaches the caller, as with an ordinary call.
    """

    plain = tuple(types.unliteral(argument) for argument in arguments)

    def generate(context: Any, builder: Any, made: Any, values: Any) -> Any:
        function = context.call_conv.get_function_type(types.none, plain)
        pointer = builder.inttoptr(values[0], function.as_pointer())
        given = cgutils.unpack_tuple(builder, values[1], len(plain))
        status, _ = context.call_conv.call_function(builder, pointer, types.none, plain, given)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return signature(types.none, types.int64, types.StarArgTuple.from_types(plain)), generate


@dataclass(frozen=True)
class Routine:
    """A kernel that others call by an address in a state field of its own, so that it is not compiled into each.

    Attributes:
        field: The field of the state that holds the address.
        kernel: The kernel.
        arguments: The types of its arguments after the state.
    """

    field: str
    kernel: Any
    arguments: tuple[Any, ...]

    def __post_init__(self) -> None:
        ROUTINES.append(self)


ROUTINES: list[Routine] = []
"""All routines, for compiling everything beforehand."""


def address(kernel: Callable[..., Any], argument_types: tuple[Any, ...]) -> int:
    """Return where a kernel's machine code for these argument types is, compiling or loading it if necessary."""
    return _address(kernel, types.none(*argument_types))


@cache
def _address(kernel: Any, made: Any) -> int:
    with compiling(kernel):
        result = kernel.get_compile_result(made)
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


@contextmanager
def compiling(kernel: Any) -> Iterator[None]:
    """Announce, once per process, that compiling takes a while if this kernel was never compiled on this machine."""
    if not is_compiled(kernel):
        announce()
    yield
    _stamp(kernel).touch()


def is_compiled(kernel: Any) -> bool:
    """Whether the kernel was compiled before, for this fingerprint."""
    return _stamp(kernel).exists()


def _stamp(kernel: Any) -> Path:
    function = kernel.py_func
    return cache_folder() / f"{function.__module__}.{function.__qualname__}.compiled"


@cache
def announce() -> None:
    """Announce that compiling takes a while; once per process.

    It is logged where the program handles the log messages of the package, as the command line does, and printed on
    stderr elsewhere, unless `ROBUSTFORGE_QUIET` is set.
    """
    text = "compiling components that are used for the first time (some seconds, once)"
    if _is_logged():
        _logger.info(text)
    elif not os.environ.get("ROBUSTFORGE_QUIET"):
        print(f"robustforge: {text}.", file=sys.stderr, flush=True)


def _is_logged() -> bool:
    """Whether messages reach a handler: one of the package's logger, or one of the program's that takes this level."""
    own, root = logging.getLogger("robustforge").handlers, logging.getLogger().handlers
    is_own = any(not isinstance(handler, logging.NullHandler) for handler in own)
    return is_own or (bool(root) and _logger.isEnabledFor(logging.INFO))


@cache
def cache_folder() -> Path:
    """Return the folder of this fingerprint's machine code, in the user's cache folder (or in `ROBUSTFORGE_CACHE`).

    Where that cannot be written, a folder of this process only.
    """
    folder = _user_cache() / "kernels" / fingerprint()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            _mark_used(folder)
            return folder
    except OSError:
        return Path(tempfile.mkdtemp(prefix="robustforge-"))


@cache
def fingerprint() -> str:
    """Return a hash of the modules that decide compiled code, of their folder, and of what compiles them.

    These are all modules of the packages with kernels: a kernel may contain a constant or a memory layout of another
    module. Numba keeps machine code by the path of its source, so that another copy of the package cannot use it.
    """
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256(f"{numba.__version__} {sys.version} {package}".encode())
    for path in sorted(path for name in PACKAGES_WITH_KERNELS for path in (package / name).rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _mark_used(folder: Path) -> None:
    """Mark a folder as used as long as this process runs; delete the least recently used ones."""
    used = folder / _USED
    is_new = not used.exists()
    lock = os.open(used, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)  # open, and so locked, until the process ends
    fcntl.flock(lock, fcntl.LOCK_SH)
    os.utime(used)
    if is_new:
        _delete_unused(folder)


def _delete_unused(own: Path) -> None:
    """Delete the machine code of all but the last few fingerprints that were used, but none that a process uses."""
    folders = [path for path in own.parent.iterdir() if re.fullmatch("[0-9a-f]{16}", path.name)]
    folders.sort(key=_last_use, reverse=True)
    for folder in folders[_KEPT_FOLDERS:]:
        if folder != own and not _in_use(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _last_use(folder: Path) -> float:
    """Return when a folder was last used; by its own time stamp, where an older version made it."""
    for path in (folder / _USED, folder):
        with suppress(OSError):
            return path.stat().st_mtime
    return 0.0


def _in_use(folder: Path) -> bool:
    """Whether any running process has marked the folder."""
    try:
        lock = os.open(folder / _USED, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def _user_cache() -> Path:
    chosen = os.environ.get("ROBUSTFORGE_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "robustforge"
