"""A model behind a command line: a program that runs once per design, in its own folder."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from robustforge.errors import ModelError
from robustforge.simulator import placeholders
from robustforge.simulator.process_registry import ProcessRegistry
from robustforge.simulator.result_parser import ResultParseError, ResultParser
from robustforge.simulator.run_outcome import RunOutcome
from robustforge.simulator.subprocess_run import run_subprocess

_STDIN_FILE = "stdin.json"
"""The file in the run's folder that is connected to standard input, unless the values are in another file."""

MAX_KEPT_FOLDERS = 10
"""Folders of failed runs that are kept."""

RUNNING_SUFFIX = ".running"
"""The suffix of the folder of a running process."""


@dataclass(frozen=True)
class CommandModel:
    """A program, how it receives the values, and how its result is parsed. `command_checks` validates one.

    In arguments and templates `{name}` is replaced by the value of a variable, `{name:.6e}` by the formatted value,
    `{dir}` by the run's folder and `{here}` by `problem_folder`. In an argument `{{` and `}}` are literal braces; in a
    template all braces that belong to no placeholder are literal.

    Attributes:
        arguments: The program and its arguments; they are not passed to a shell.
        problem_folder: The folder of the problem file; a relative program path with a slash starts there.
        templates: Files below `problem_folder` whose filled copies are in each run's folder.
        json_file: A file in the run's folder with the values as JSON; empty for none.
        stdin: Standard input: "json" for the values, or a file like those of `templates`; empty for none.
        result_parser: Where the result is, and its format.
        time_limit: Seconds after which a run is stopped.
        runs_folder: Where the folders of runs are, and stay for the first failed runs; by default they are temporary.
        keep_folders: Whether the folders of all runs stay.

    Example:
        >>> CommandModel(("echo", "{R1}"), Path("/")).run({"R1": 50.0}, 1).value
        50.0
    """

    arguments: tuple[str, ...]
    problem_folder: Path
    templates: tuple[str, ...] = ()
    json_file: str = ""
    stdin: str = ""
    result_parser: ResultParser = field(default_factory=ResultParser)
    time_limit: float | None = None
    runs_folder: Path | None = None
    keep_folders: bool = False

    def run(self, values: Mapping[str, float], number: int, registry: ProcessRegistry | None = None) -> RunOutcome:
        """Run the model once; thread-safe.

        A run that is killed from outside is repeated once: the system kills processes when memory is short.

        Args:
            values: Values of the variables.
            number: The name of the run's folder, if it is kept.
            registry: Where the process is registered; by default in a shared registry.

        Returns:
            The outcome; its failure is "interrupted" if `registry` was killed.

        Raises:
            ModelError: The run's folder cannot be written, or a template is missing: independent of the design.
        """
        start = time.monotonic()
        registry = _DEFAULT_REGISTRY if registry is None else registry
        outcome, killed = self._attempt(values, number, registry)
        if killed:
            outcome, _ = self._attempt(values, number, registry)
        return replace(outcome, seconds=time.monotonic() - start)

    @property
    def template_files(self) -> tuple[str, ...]:
        """The templates, and the one for standard input if it is not among them."""
        separate = self.stdin not in ("", "json", *self.templates)
        return (*self.templates, self.stdin) if separate else self.templates

    def _attempt(self, values: Mapping[str, float], number: int, registry: ProcessRegistry) -> tuple[RunOutcome, bool]:
        """Run the model in a new folder; also return whether it was killed from outside."""
        folder, failed = self._new_folder(number), True
        try:
            outcome, killed = self._run_in(folder, values, registry)
            failed = outcome.failed and not killed
            return outcome, killed
        finally:
            self._remove_or_keep(folder, failed and not registry.killed)

    def _run_in(self, folder: Path, values: Mapping[str, float], registry: ProcessRegistry) -> tuple[RunOutcome, bool]:
        with _translate_io_errors():
            stdin = self._write_inputs(folder, values)
        run = run_subprocess(self._command_line(values, folder), folder, stdin, self.time_limit, registry)
        if run.failure:
            return RunOutcome(failure=run.failure, tail=run.tail), run.killed
        try:
            return RunOutcome(self.result_parser.parse(folder, run, registry)), False
        except ResultParseError as error:
            return RunOutcome(failure=str(error), tail=run.tail), False

    def _new_folder(self, number: int) -> Path:
        """Make a new, empty folder: output of a previous run must not be taken for the result of this one."""
        with _translate_io_errors():
            if self.runs_folder is None:
                return Path(tempfile.mkdtemp(prefix="robustforge-"))
            return _new_folder(Path(os.path.abspath(self.runs_folder)), f"{number:06d}", RUNNING_SUFFIX)

    def _remove_or_keep(self, folder: Path, failed: bool) -> None:
        """Remove the folder of a run, or keep it without the suffix of a running process."""
        keep_failed = failed and _count_completed(folder.parent) < MAX_KEPT_FOLDERS
        if self.runs_folder is not None and (self.keep_folders or keep_failed):
            with contextlib.suppress(OSError):
                folder.replace(_new_folder(folder.parent, folder.name.removesuffix(RUNNING_SUFFIX)))
            return
        with contextlib.suppress(RecursionError):
            shutil.rmtree(folder, ignore_errors=True)

    def _write_inputs(self, folder: Path, values: Mapping[str, float]) -> Path | None:
        """Write the model's input files into the folder; return the file for standard input."""
        substitutions = self._substitutions(values, folder)
        for template in self._templates:
            template.write(folder, substitutions)
        name = self.json_file or (_STDIN_FILE if self.stdin == "json" else "")
        if name:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({variable: float(value) for variable, value in values.items()}))
        if not self.stdin:
            return None
        return folder / (name if self.stdin == "json" else Path(self.stdin).name)

    def _command_line(self, values: Mapping[str, float], folder: Path) -> list[str]:
        """Return the program and its arguments for a run."""
        substitutions = self._substitutions(values, folder)
        program, *others = (placeholders.fill(text, substitutions) for text in self._parsed_arguments)
        if "/" in program:  # relative to the problem file; the working directory is the run's folder
            program = os.path.join(os.path.abspath(self.problem_folder), program)
        return [program, *others]

    def _substitutions(self, values: Mapping[str, float], folder: Path) -> dict[str, float | str]:
        return {**values, "dir": str(folder), "here": os.path.abspath(self.problem_folder)}

    @cached_property
    def _parsed_arguments(self) -> list[placeholders.ParsedText]:
        return [placeholders.parse_argument(text) for text in self.arguments]

    @cached_property
    def _templates(self) -> list[_Template]:
        """The templates as they are at the first run: the same for all further runs."""
        return [_Template.read(self.problem_folder / name) for name in self.template_files]


@dataclass(frozen=True)
class _Template:
    """A template file."""

    name: str
    text: placeholders.ParsedText
    executable: bool

    @classmethod
    def read(cls, path: Path) -> _Template:
        text = placeholders.parse_template(path.read_bytes().decode())
        return cls(path.name, text, bool(path.stat().st_mode & 0o100))

    def write(self, folder: Path, substitutions: Mapping[str, float | str]) -> None:
        """Write a filled copy into a folder."""
        path = folder / self.name
        path.write_bytes(placeholders.fill(self.text, substitutions).encode())
        if self.executable:
            path.chmod(0o700)


@contextlib.contextmanager
def _translate_io_errors() -> Iterator[None]:
    """Raise a `ModelError` where a run's folder or its files cannot be written."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        fix = "Free disk space or restore the files, and repeat the command; all stored runs are safe"
        raise ModelError("a run needs a folder with its files", str(error), fix) from error


def _count_completed(folder: Path) -> int:
    """Return the number of folders of completed runs in a folder."""
    with contextlib.suppress(OSError):
        return sum(not name.endswith(RUNNING_SUFFIX) for name in os.listdir(folder))
    return 0


def _new_folder(parent: Path, name: str, suffix: str = "") -> Path:
    """Make a folder that did not exist, with a number appended if necessary."""
    for number in itertools.count(1):
        folder = parent / (f"{name}{suffix}" if number == 1 else f"{name}-{number}{suffix}")
        parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError


def remove_stale_folders(parent: Path) -> None:
    """Remove the folders of runs that were running when their search was killed."""
    for folder in parent.glob(f"*{RUNNING_SUFFIX}"):
        shutil.rmtree(folder, ignore_errors=True)


_DEFAULT_REGISTRY = ProcessRegistry()
