"""What is wrong with a command before it ever runs: each mistake says where it is, and how to mend it."""

from __future__ import annotations

import itertools
import math
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from robustforge.errors import closest
from robustforge.model import placeholders
from robustforge.model.command import Command
from robustforge.model.placeholders import FOLDERS, Slot, Text
from robustforge.model.reading import Reading

LARGEST = 10_000_000
"""Bytes that a template may have."""


MOST = 100
"""Mistakes that are told."""
LONGEST = 10_000
"""Characters that a pattern may have."""


class Mistake(NamedTuple):
    """One thing that is wrong.

    Attributes:
        where: The entry of the problem file, for instance "command[2]" or "result.pattern".
        rule: What must hold.
        fact: What was found instead.
        fix: What to do about it.
    """

    where: str
    rule: str
    fact: str
    fix: str


def check(command: Command, names: Sequence[str]) -> list[Mistake]:
    """Look for all that would make every run of a command fail, or go wrong unseen.

    Args:
        command: The command.
        names: Those of the variables.

    Returns:
        The mistakes, in the order of the entries; none if all is well.
    """
    mistakes = itertools.chain(
        _of_names(names),
        _of_arguments(command, names),
        _of_files(command, names),
        _of_json(command),
        _of_reading(command.reading),
        _of_time_limit(command.time_limit),
    )
    return list(dict.fromkeys(itertools.islice(mistakes, MOST)))


def unused(command: Command, names: Sequence[str]) -> list[str]:
    """The variables that never reach the model: neither in an argument nor in a template nor as JSON.

    Args:
        command: The command.
        names: Those of the variables.
    """
    if command.json or command.stdin == "json":
        return []
    files = [_template(command.here / name) for name in command.files]
    texts = [placeholders.argument(text) for text in command.arguments]
    used = placeholders.names_in([*texts, *(text for text in files if not isinstance(text, str))])
    return [name for name in names if name not in used]


def _of_names(names: Sequence[str]) -> Iterator[Mistake]:
    for name in names:
        if name in FOLDERS:
            rule = f"a variable cannot be called {name!r}"
            yield Mistake("variables", rule, f"{{{name}}} stands for a folder", "Give it another name")


def _of_arguments(command: Command, names: Sequence[str]) -> Iterator[Mistake]:
    if not command.arguments or not command.arguments[0]:
        rule, fact = "a command must begin with a program", "there is none"
        yield Mistake("command", rule, fact, 'Write for instance ["./simulate", "{R1}"]')
        return
    texts = [placeholders.argument(text) for text in command.arguments]
    wrong = [list(_of_slots(f"command[{i}]", text, names)) for i, text in enumerate(texts)]
    for i, (text, mistakes) in enumerate(zip(texts, wrong, strict=True)):
        yield from mistakes
        if i == 0 and not mistakes and placeholders.names_in([text]) <= {"here"}:
            yield from _of_program(command, placeholders.fill(text, {"here": os.path.abspath(command.here)}))
        elif i > 0 and not placeholders.names_in([text]):
            yield from _of_lost_file(command, i, placeholders.fill(text, {}))


def _of_slots(where: str, text: Text, names: Sequence[str], foreign: bool = False) -> Iterator[Mistake]:
    """The mistakes of a text's placeholders; `foreign` allows unknown ones."""
    for slot in dict.fromkeys(placeholders.slots(text)):  # a template may make the same mistake on many lines
        if slot.name in FOLDERS:
            if slot.spec:
                rule = f"{{{slot.name}}} stands for a folder, which has no format"
                yield Mistake(where, rule, f"got {slot.text}", f"Write {{{slot.name}}}")
        elif slot.name in names:
            if not placeholders.is_format(slot.spec):
                rule = "a format must be one for a number, as Python has them"
                yield Mistake(where, rule, f"{slot.text} has {slot.spec!r}", f"Write for instance {{{slot.name}:.6e}}")
        elif not foreign:
            yield _unknown(where, slot, names)


def _unknown(where: str, slot: Slot, names: Sequence[str]) -> Mistake:
    if slot.text in ("{", "}"):
        rule = "a brace in an argument must belong to a placeholder"
        return Mistake(where, rule, f"there is a lone {slot.text}", f"Write {slot.text * 2} for a brace as such")
    close = closest(slot.name, [*FOLDERS, *names])
    hint = f"Did you mean {{{close[0]}}}? " if close else ""
    known = ", ".join(f"{{{name}}}" for name in (*names[:_SHOWN], *FOLDERS))
    more = " and so on" if len(names) > _SHOWN else ""
    fix = f"{hint}There are {known}{more}; {{{{ and }}}} are braces as such"
    return Mistake(where, "a placeholder must stand for a variable or a folder", f"nothing is called {slot.text}", fix)


_SHOWN = 8
"""Names that a message lists."""


def _of_program(command: Command, program: str) -> Iterator[Mistake]:
    rule, here = "a command must begin with a program that can be run", Path(os.path.abspath(command.here))
    if "/" not in program:
        if shutil.which(program) is None:
            fix = f"Write ./{program}" if is_file(here / program) else "Install it, or give its path"
            yield Mistake("command[0]", rule, f"{program!r} is not on the PATH", fix)
        return
    path = here / program
    if not is_file(path):
        yield Mistake("command[0]", rule, f"there is no file {path}", "Give its path, from the problem file's folder")
    elif any(path == here / name for name in command.files):
        rule = "a template is filled in the run's own folder"
        yield Mistake("command[0]", rule, f"{program} is the one with placeholders", f"Write {{dir}}/{path.name}")
    elif not os.access(path, os.X_OK):
        yield Mistake("command[0]", rule, f"{path} is not executable", f"`chmod +x {path}`, or name its interpreter")


def _of_lost_file(command: Command, i: int, text: str) -> Iterator[Mistake]:
    """A file that is meant to be read from `here`, and will not be found from the run's own folder."""
    option, equals, name = text.rpartition("=")
    ours = {*(Path(file).name for file in command.files), command.json, command.reading.file}
    if not name or name in ours or os.path.isabs(name) or not is_file(command.here / name):
        return
    rule = "each run has a folder of its own, in which a relative path finds nothing"
    if any(PurePosixPath(file) == PurePosixPath(name) for file in command.files):
        fix = f"Write {option}{equals}{Path(name).name}, where its filled copy is"
    else:
        fix = f"Write {option}{equals}{{here}}/{name}; if the model is to write it, move the one that is there away"
    yield Mistake(f"command[{i}]", rule, f"{name!r} is a file beside the problem file", fix)


def is_file(path: Path) -> bool:
    """Whether there is a file of this name, which may be none that a file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, say, to be one
        return False


def _of_files(command: Command, names: Sequence[str]) -> Iterator[Mistake]:
    """The mistakes of templates, that of standard input among them."""
    places = [f"templates[{i}]" for i in range(len(command.templates))]
    places += ["stdin"] * (len(command.files) - len(places))
    copies: set[str] = set()
    for where, name in zip(places, command.files, strict=True):
        if not _stays_inside(name):
            rule = "a template must be given by its path from the problem file's folder, without `..`"
            yield Mistake(where, rule, f"got {name!r}", "Move it there")
            continue
        text = _template(command.here / name)
        if isinstance(text, str):
            rule = f"a template must be a text file (UTF-8) of at most {LARGEST // 10**6} MB"
            yield Mistake(where, rule, f"{name} {text}", "Name a file that is")
        else:
            yield from _of_slots(where, text, names, foreign=True)
        if Path(name).name in copies:
            rule = "templates must have different names, for they share the run's folder"
            yield Mistake(where, rule, f"{Path(name).name} would be there twice", "Rename one")
        copies.add(Path(name).name)


def _template(path: Path) -> Text | str:
    """A template taken apart, or what is wrong with the file."""
    try:
        if not path.is_file():
            return "does not exist" if not path.exists() else "is no file"
        if path.stat().st_size > LARGEST:
            return f"has {path.stat().st_size / 10**6:.1f} MB"
        return placeholders.template(path.read_bytes().decode())
    except UnicodeDecodeError:
        return "is not UTF-8"
    except (OSError, ValueError) as error:
        return f"cannot be read ({error})"


def _of_json(command: Command) -> Iterator[Mistake]:
    if command.json and not _stays_inside(command.json):
        yield Mistake("json", _INSIDE, f"got {command.json!r}", 'Write for instance "values.json"')
    elif any(PurePosixPath(command.json) == PurePosixPath(Path(name).name) for name in command.files):
        fact = f"{command.json} is that of a template, too"
        yield Mistake("json", "the file for the values must have a name of its own", fact, "Rename one")


_INSIDE = "a file in the run's folder must be given by a relative path without `..`"


def _of_reading(reading: Reading) -> Iterator[Mistake]:
    if reading.file and not _stays_inside(reading.file):
        yield Mistake("result.file", _INSIDE, f"got {reading.file!r}", 'Write for instance "result.json"')
    if reading.pattern and reading.key:
        rule = "a result is found by a pattern in text or by a key in JSON"
        yield Mistake("result.key", rule, "both are given", "Leave one of them out")
    if len(reading.pattern) > LONGEST:
        fact = f"this one has {len(reading.pattern):,}"
        yield Mistake("result.pattern", f"a pattern must have at most {LONGEST:,} characters", fact, "Shorten it")
    elif reading.pattern:
        rule, fix = "a pattern must be a regular expression with one group", r'Write for instance "loss = (\\S+)"'
        try:
            groups = re.compile(reading.pattern, re.MULTILINE).groups
        except (re.error, OverflowError, RecursionError) as error:
            yield Mistake("result.pattern", rule, f"{reading.pattern!r} is none ({error})", fix)
        else:
            if groups != 1:
                yield Mistake("result.pattern", rule, f"{reading.pattern!r} has {groups or 'none'}", fix)


def _of_time_limit(limit: float | None) -> Iterator[Mistake]:
    if limit is not None and not 0 < limit < math.inf:
        yield Mistake("time_limit", "a time limit must be a positive number of seconds", f"got {limit!r}", "Raise it")


def _stays_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.name) and not path.is_absolute() and ".." not in path.parts and "\0" not in name
