"""The source files of a model and their fingerprints, by which a change between two commands is detected.

Of a function, these are the module and everything that it imports from the folder of the problem file; of a command,
the program, the arguments that name files in that folder, and everything that such a Python script imports from its
own folder. Imports are parsed from the source and nothing is run, so imports by a computed name are not found.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from robustforge.simulator import placeholders
from robustforge.simulator.command_checks import is_file
from robustforge.simulator.command_model import CommandModel
from robustforge.simulator.function_model import FunctionModel

_DIGITS = 16
"""Hexadecimal digits of a fingerprint."""


def fingerprints(model: CommandModel | FunctionModel) -> dict[str, str]:
    """Return the fingerprint of each source file of a model, by its path below the problem file's folder.

    An installed module has its own name as key. Templates are not included.
    """
    files = _function_files(model) if isinstance(model, FunctionModel) else _command_files(model)
    return {name: fingerprint(path) for name, path in sorted(files.items())}


def fingerprint(path: Path) -> str:
    """Return the fingerprint of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:_DIGITS]


def _function_files(function: FunctionModel) -> dict[str, Path]:
    module, folder = function.target.partition(":")[0], Path(os.path.abspath(function.problem_folder))
    local = list(_resolve_module(module, folder))
    if local:
        return _by_relative_path(_with_imports(local, folder), folder)
    source = _installed_module(module)
    return {} if source is None else {module: source}


def _command_files(command: CommandModel) -> dict[str, Path]:
    folder = Path(os.path.abspath(command.problem_folder))
    found: dict[str, Path] = {}
    for i, text in enumerate(command.arguments):
        path = _file_in_argument(text, folder, is_program=i == 0)
        if path is not None:
            found |= _by_relative_path(_with_imports([path], path.parent), folder)
    return found


def _file_in_argument(text: str, folder: Path, is_program: bool) -> Path | None:
    """Return the file that an argument names by `{here}/...`, or the program by any path with a slash."""
    parts = placeholders.parse_argument(text)
    last = parts[-1] if parts else ""
    before = parts[-2] if len(parts) > 1 else None
    if not isinstance(last, str) or "/" not in last:
        return None
    if isinstance(before, placeholders.Placeholder) and before.name == "here" and last.startswith("/"):
        path = Path(f"{folder}{last}")
    elif is_program and before is None:
        path = folder / last
    else:
        return None
    path = Path(os.path.normpath(path))
    return path if path.is_relative_to(folder) and is_file(path) else None


def _with_imports(files: Iterable[Path], root: Path) -> set[Path]:
    """Return files and everything that Python sources among them import from a folder, directly or indirectly."""
    pending, found = list(files), set[Path]()
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending += _imported_files(path, root) if path.suffix == ".py" else ()
    return found


def _imported_files(path: Path, root: Path) -> Iterator[Path]:
    """Yield the files below a folder that a source imports; none if it is not valid Python."""
    try:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            for each in node.names:
                yield from _resolve_module(each.name, root)
        elif isinstance(node, ast.ImportFrom):
            base = path.parents[node.level - 1] if 0 < node.level <= len(path.parents) else root
            if base.is_relative_to(root):
                stem = f"{node.module}." if node.module else ""
                for each in node.names:
                    yield from _resolve_module(f"{stem}{each.name}", base)
                yield from _resolve_module(node.module or "__init__", base)


def _resolve_module(module: str, root: Path) -> Iterator[Path]:
    """Yield the sources of a module and of the packages that contain it, if they are below a folder."""
    folder = root
    for part in module.split("."):
        folder = folder / part
        for path in (folder / "__init__.py", folder.with_name(f"{part}.py")):
            if is_file(path):
                yield path
                break


def _installed_module(module: str) -> Path | None:
    """Return the file of an installed module, without importing it; `None` if there is none."""
    spec: Any = None
    names = module.split(".")
    for depth in range(1, len(names) + 1):
        locations = None if spec is None else spec.submodule_search_locations
        if depth > 1 and locations is None:
            return None
        name = ".".join(names[:depth])
        spec = next((found for finder in sys.meta_path if (found := finder.find_spec(name, locations))), None)
        if spec is None:
            return None
    path = Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None
    return path if path is not None and is_file(path) else None


def _by_relative_path(paths: Iterable[Path], folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in paths if path.is_relative_to(folder)}
