"""The files that a model is made from, and fingerprints of them, so that a change between two commands is noticed.

Of a function, they are the module's source and all that it imports from the folder of the problem file; of a command,
the program and the arguments that name files in that folder, and what such a Python script imports from beside it.
Imports are read from the source: nothing is run, so what a module imports by a computed name is not seen.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from robustforge.model import placeholders
from robustforge.model.command import Command
from robustforge.model.function import Function
from robustforge.model.mistakes import is_file

_DIGITS = 16
"""Of a fingerprint."""


def fingerprints(model: Command | Function) -> dict[str, str]:
    """Return the fingerprint of each file that a model is made from, by its path below the problem file's folder.

    The module of a function that lies elsewhere goes by its own name. Templates are not among them.
    """
    files = _of_function(model) if isinstance(model, Function) else _of_command(model)
    return {name: fingerprint(path) for name, path in sorted(files.items())}


def fingerprint(path: Path) -> str:
    """Return the fingerprint of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:_DIGITS]


def _of_function(function: Function) -> dict[str, Path]:
    module, here = function.target.partition(":")[0], Path(os.path.abspath(function.here))
    beside = list(_resolved(module, here))
    if beside:
        return _named(_with_imports(beside, here), here)
    source = _installed(module)
    return {} if source is None else {module: source}


def _of_command(command: Command) -> dict[str, Path]:
    here = Path(os.path.abspath(command.here))
    found: dict[str, Path] = {}
    for place, text in enumerate(command.arguments):
        path = _file_in(text, here, is_program=place == 0)
        if path is not None:
            found |= _named(_with_imports([path], path.parent), here)
    return found


def _file_in(text: str, here: Path, is_program: bool) -> Path | None:
    """Return the file below a folder that an argument names: `{here}/...`, or of the program any path with a slash."""
    parts = placeholders.argument(text)
    last = parts[-1] if parts else ""
    before = parts[-2] if len(parts) > 1 else None
    if not isinstance(last, str) or "/" not in last:
        return None
    if isinstance(before, placeholders.Slot) and before.name == "here" and last.startswith("/"):
        path = Path(f"{here}{last}")
    elif is_program and before is None:
        path = here / last
    else:
        return None
    path = Path(os.path.normpath(path))
    return path if path.is_relative_to(here) and is_file(path) else None


def _with_imports(files: Iterable[Path], root: Path) -> set[Path]:
    """Return files together with all that Python sources among them import from a folder, directly or not."""
    waiting, found = list(files), set[Path]()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imported(path, root) if path.suffix == ".py" else ()
    return found


def _imported(path: Path, root: Path) -> Iterator[Path]:
    """Yield the files below a folder that a source imports; none if it is no Python."""
    try:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            for each in node.names:
                yield from _resolved(each.name, root)
        elif isinstance(node, ast.ImportFrom):
            base = path.parents[node.level - 1] if 0 < node.level <= len(path.parents) else root
            if base.is_relative_to(root):
                stem = f"{node.module}." if node.module else ""
                for each in node.names:
                    yield from _resolved(f"{stem}{each.name}", base)
                yield from _resolved(node.module or "__init__", base)


def _resolved(module: str, root: Path) -> Iterator[Path]:
    """Yield the sources of a module and of the packages that it is in, as far as they lie below a folder."""
    place = root
    for part in module.split("."):
        place = place / part
        for path in (place / "__init__.py", place.with_name(f"{part}.py")):
            if is_file(path):
                yield path
                break


def _installed(module: str) -> Path | None:
    """Return the file of a module that is installed, without importing anything; `None` if there is none."""
    spec: Any = None
    names = module.split(".")
    for depth in range(1, len(names) + 1):
        where = None if spec is None else spec.submodule_search_locations
        if depth > 1 and where is None:
            return None
        name = ".".join(names[:depth])
        spec = next((found for finder in sys.meta_path if (found := finder.find_spec(name, where))), None)
        if spec is None:
            return None
    path = Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None
    return path if path is not None and is_file(path) else None


def _named(paths: Iterable[Path], here: Path) -> dict[str, Path]:
    return {path.relative_to(here).as_posix(): path for path in paths if path.is_relative_to(here)}
