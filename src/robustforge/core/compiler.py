"""Compiles the package's kernels with Numba, once per machine and per version of the sources.

`compiled` is the only decorator in use. It puts machine code into one folder per *fingerprint* of the package's
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
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

_KEPT_FOLDERS = 4


def compiled(function: F) -> F:
    """Return `function` compiled: without the interpreter's lock, cached on disk, division as in NumPy."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    try:
        return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
    finally:
        numba.config.CACHE_DIR = before


def dispatcher(kernels: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Return a compiled `dispatch(code, *args)` that calls the kernel number `code`.

    A recursive closure: the head if the code is 0, else the rest with one less. It compiles to a jump, so a slot
    needs no list of its components written by hand.
    """
    head = kernels[0]
    if len(kernels) == 1:

        def last(code: int, *args: Any) -> Any:
            return head(*args)

        return compiled(last)
    rest = dispatcher(kernels[1:])

    def dispatch(code: int, *args: Any) -> Any:
        if code == 0:
            return head(*args)
        return rest(code - 1, *args)

    return compiled(dispatch)


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
    """Return a hash of the package's sources and of what compiles them."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    package = Path(__file__).resolve().parent.parent
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
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
