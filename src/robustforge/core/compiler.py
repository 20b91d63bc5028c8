"""Compiles the package's kernels with Numba, once per machine and per version of the sources.

`compiled` and `inlined` are the only decorators in use. They put machine code into one folder per *fingerprint* of the
sources, since Numba by itself does not see an edit in a callee of another file; so no edit ever meets stale code, and
a read-only install works. Nothing is compiled on import: the first solve does it, and says so.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

_KEPT_FOLDERS = 4


def compiled(function: F) -> F:
    """Return `function` compiled: without the interpreter's lock, cached on disk, division as in NumPy."""
    return _njit(function, inline="never")


def inlined(function: F) -> F:
    """Return `function` for use inside compiled functions, into whose body it is copied.

    Numba optimises every compiled function together with all that it calls, so a tree of small functions is optimised
    over and over; copied into their callers, they are optimised once. It is the difference between 20 and 90 seconds.
    """
    return _njit(function, inline="always")


def dispatcher(kernels: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Return an inlined `dispatch(code, ...)` that calls the kernel number `code` with the other arguments.

    A recursive closure: the head if the code is 0, else the rest with one less. It compiles to a jump, so a slot
    needs no list of its components written by hand.
    """
    head = kernels[0]
    link = _LINKS[len(signature(head).parameters)]
    if len(kernels) == 1:
        return inlined(link(head, None))
    return inlined(link(head, dispatcher(kernels[1:])))


# One link of the chain for kernels of one to four arguments, since Numba does not inline *args.


def _link_1(head: Any, rest: Any) -> Any:
    if rest is None:
        return lambda code, a: head(a)
    return lambda code, a: head(a) if code == 0 else rest(code - 1, a)


def _link_2(head: Any, rest: Any) -> Any:
    if rest is None:
        return lambda code, a, b: head(a, b)
    return lambda code, a, b: head(a, b) if code == 0 else rest(code - 1, a, b)


def _link_3(head: Any, rest: Any) -> Any:
    if rest is None:
        return lambda code, a, b, c: head(a, b, c)
    return lambda code, a, b, c: head(a, b, c) if code == 0 else rest(code - 1, a, b, c)


def _link_4(head: Any, rest: Any) -> Any:
    if rest is None:
        return lambda code, a, b, c, d: head(a, b, c, d)
    return lambda code, a, b, c, d: head(a, b, c, d) if code == 0 else rest(code - 1, a, b, c, d)


_LINKS = {1: _link_1, 2: _link_2, 3: _link_3, 4: _link_4}


def _njit(function: F, inline: str) -> F:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    try:
        return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy", inline=inline)(function))
    finally:
        numba.config.CACHE_DIR = before


@cache
def cache_folder() -> Path:
    """Return the folder of this fingerprint's machine code, below the user's cache folder (or `ROBUSTFORGE_CACHE`)."""
    tried = (_user_cache(), Path(tempfile.gettempdir()) / f"robustforge-{os.environ.get('USER', 'user')}")
    for root in tried:
        folder = root / fingerprint()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return Path(tempfile.mkdtemp(prefix="robustforge-"))


@cache
def fingerprint() -> str:
    """Return a hash of the modules that have anything to do with compiled code, and of what compiles them."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    package = Path(__file__).resolve().parent.parent
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if b"core.compiler import" in source or path == Path(__file__).resolve():
            digest.update(path.relative_to(package).as_posix().encode())
            digest.update(source)
    return digest.hexdigest()[:16]


def announce_first_use() -> None:
    """Tell the user, once per fingerprint, that the engine is about to be compiled."""
    stamp = cache_folder() / "announced"
    if stamp.exists():
        return
    if not os.environ.get("ROBUSTFORGE_QUIET"):
        print("robustforge: compiling the engine for this machine, about 20 s, once.", file=sys.stderr, flush=True)
    _forget_old_folders()
    stamp.touch()


def _forget_old_folders() -> None:
    """Keep the machine code of the few fingerprints used last; each takes a few megabytes."""
    current = cache_folder()
    others = [folder for folder in current.parent.iterdir() if folder.is_dir() and folder != current]
    others.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in others[_KEPT_FOLDERS - 1 :]:
        shutil.rmtree(folder, ignore_errors=True)


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
