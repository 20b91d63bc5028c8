"""A model behind a command line: a program that is run once per design, in a folder of its own."""

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
from robustforge.model import placeholders
from robustforge.model.outcome import Outcome
from robustforge.model.process import execute
from robustforge.model.reading import NoResult, Reading
from robustforge.model.runs import Runs

_STDIN = "stdin.json"
"""The file in the run's folder from which the values come on standard input, if no other file has them."""


KEPT = 10
"""Folders of failed runs that stay."""

RUNNING = ".running"
"""The end of the name of a folder whose run is under way."""


@dataclass(frozen=True)
class Command:
    """A program, how values reach it, and how its result is read. See `mistakes.check` for what makes a good one.

    In arguments and templates `{name}` stands for the value of a variable, `{name:.6e}` for that in a format, `{dir}`
    for the run's own folder and `{here}` for `here`. In an argument `{{` and `}}` are braces; in a template all braces
    are that belong to no placeholder.

    Attributes:
        arguments: The program and its arguments; no shell sees them.
        here: The folder of the problem file; a program by a relative path with a slash is looked for there.
        templates: Files below `here` that each run gets in its folder, filled.
        json: A file in the run's folder that gets the values as JSON; empty for none.
        stdin: What comes on standard input: "json" for the values, or a file like those of `templates`; else nothing.
        reading: Where the result is.
        time_limit: Seconds that a run may take.
        folder: Where the folders of runs are, and stay for the first runs that fail; by default all are temporary.
        keep: Whether those of all runs stay there.

    Example:
        >>> Command(("echo", "{R1}"), Path("/")).run({"R1": 50.0}, 1).value
        50.0
    """

    arguments: tuple[str, ...]
    here: Path
    templates: tuple[str, ...] = ()
    json: str = ""
    stdin: str = ""
    reading: Reading = field(default_factory=Reading)
    time_limit: float | None = None
    folder: Path | None = None
    keep: bool = False

    def run(self, values: Mapping[str, float], number: int, runs: Runs | None = None) -> Outcome:
        """Run the model once; threads may do so at the same time.

        A run that somebody kills is made once more: the system does so when memory is short.

        Args:
            values: Those of the variables.
            number: What the run's folder is called if it is kept.
            runs: Where the model is listed while it runs; by default in a list for all that name none.

        Returns:
            What came of it; "interrupted" is its failure if `runs` was killed.

        Raises:
            ModelError: There is no room for a run, or a template is gone: no fault of the design.
        """
        begin = time.monotonic()
        runs = _RUNS if runs is None else runs
        outcome, killed = self._attempt(values, number, runs)
        if killed:
            outcome, _ = self._attempt(values, number, runs)
        return replace(outcome, seconds=time.monotonic() - begin)

    @property
    def files(self) -> tuple[str, ...]:
        """The templates, and that of standard input if it is another."""
        own = self.stdin not in ("", "json", *self.templates)
        return (*self.templates, self.stdin) if own else self.templates

    def _attempt(self, values: Mapping[str, float], number: int, runs: Runs) -> tuple[Outcome, bool]:
        """Run the model in a fresh folder; also returns whether somebody killed it."""
        folder, failed = self._new_folder(number), True
        try:
            outcome, killed = self._run_in(folder, values, runs)
            failed = outcome.failed and not killed
            return outcome, killed
        finally:
            self._tidy(folder, failed and not runs.killed)

    def _run_in(self, folder: Path, values: Mapping[str, float], runs: Runs) -> tuple[Outcome, bool]:
        with _prepared():
            stdin = self._furnish(folder, values)
        ended = execute(self._filled(values, folder), folder, stdin, self.time_limit, runs)
        if ended.failure:
            return Outcome(failure=ended.failure, tail=ended.tail), ended.killed
        try:
            return Outcome(self.reading.value(folder, ended, runs)), False
        except NoResult as reason:
            return Outcome(failure=str(reason), tail=ended.tail), False

    def _new_folder(self, number: int) -> Path:
        """Make a new, empty folder: what an earlier run left must not be taken for the result of this one."""
        with _prepared():
            if self.folder is None:
                return Path(tempfile.mkdtemp(prefix="robustforge-"))
            return _new_folder(Path(os.path.abspath(self.folder)), f"{number:06d}", RUNNING)

    def _tidy(self, folder: Path, failed: bool) -> None:
        """Remove the folder of a run, unless it is to stay."""
        if self.folder is not None and (self.keep or (failed and _count(folder.parent) < KEPT)):
            with contextlib.suppress(OSError):
                folder.replace(_new_folder(folder.parent, folder.name.removesuffix(RUNNING)))
            return
        with contextlib.suppress(RecursionError):
            shutil.rmtree(folder, ignore_errors=True)

    def _furnish(self, folder: Path, values: Mapping[str, float]) -> Path | None:
        """Put into the folder what the model finds there; returns the file for standard input."""
        words = self._words(values, folder)
        for form in self._forms:
            form.write(folder, words)
        name = self.json or (_STDIN if self.stdin == "json" else "")
        if name:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({variable: float(value) for variable, value in values.items()}))
        if not self.stdin:
            return None
        return folder / (name if self.stdin == "json" else Path(self.stdin).name)

    def _filled(self, values: Mapping[str, float], folder: Path) -> list[str]:
        """The program and its arguments for a run."""
        words = self._words(values, folder)
        program, *others = (placeholders.fill(text, words) for text in self._texts)
        if "/" in program:  # the working directory is the run's folder
            program = os.path.join(os.path.abspath(self.here), program)
        return [program, *others]

    def _words(self, values: Mapping[str, float], folder: Path) -> dict[str, float | str]:
        return {**values, "dir": str(folder), "here": os.path.abspath(self.here)}

    @cached_property
    def _texts(self) -> list[placeholders.Text]:
        return [placeholders.argument(text) for text in self.arguments]

    @cached_property
    def _forms(self) -> list[_Form]:
        """The templates as they are at the first run: the same for all that follow."""
        return [_Form.read(self.here / name) for name in self.files]


@dataclass(frozen=True)
class _Form:
    """A template file."""

    name: str
    text: placeholders.Text
    executable: bool

    @classmethod
    def read(cls, path: Path) -> _Form:
        return cls(path.name, placeholders.template(path.read_bytes().decode()), bool(path.stat().st_mode & 0o100))

    def write(self, folder: Path, words: Mapping[str, float | str]) -> None:
        """Put a filled copy into a folder."""
        path = folder / self.name
        path.write_bytes(placeholders.fill(self.text, words).encode())
        if self.executable:
            path.chmod(0o700)


@contextlib.contextmanager
def _prepared() -> Iterator[None]:
    try:
        yield
    except (OSError, UnicodeError) as error:
        fix = "Make room, or put the files back, and give the same command again; what was stored is safe"
        raise ModelError("a run must have a folder with its files", f"it cannot: {error}", fix) from error


def _count(folder: Path) -> int:
    """Return how many folders of runs that have ended are in a folder."""
    with contextlib.suppress(OSError):
        return sum(not name.endswith(RUNNING) for name in os.listdir(folder))
    return 0


def _new_folder(parent: Path, name: str, mark: str = "") -> Path:
    """Make a folder that was not there, by another name if need be."""
    for again in itertools.count(1):
        folder = parent / (f"{name}{mark}" if again == 1 else f"{name}-{again}{mark}")
        parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError


def remove_left(parent: Path) -> None:
    """Remove the folders of runs that were under way when their search was killed."""
    for folder in parent.glob(f"*{RUNNING}"):
        shutil.rmtree(folder, ignore_errors=True)


_RUNS = Runs()
