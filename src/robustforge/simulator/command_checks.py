"""Validates a command before it runs: each validation error names its key in the problem file and the fix."""

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
from robustforge.simulator import placeholders
from robustforge.simulator.command_model import CommandModel
from robustforge.simulator.placeholders import FOLDERS, ParsedText, Placeholder
from robustforge.simulator.result_parser import ResultParser

MAX_TEMPLATE_BYTES = 10_000_000
"""Bytes that a template may have."""
MAX_PATTERN_LENGTH = 10_000
"""Characters that a pattern may have."""
MAX_ERRORS = 100
"""Validation errors that are reported."""

_MAX_LISTED_NAMES = 8
"""Names of variables that a message lists."""
_INSIDE_RULE = "a file in the run's folder must be given by a relative path without `..`"


class ValidationError(NamedTuple):
    """One validation error of a command.

    Attributes:
        key: The key in the problem file, for instance "command[2]" or "result.pattern".
        rule: The condition that is violated.
        fact: What was found instead.
        fix: What to do.
    """

    key: str
    rule: str
    fact: str
    fix: str


def validate_command(command: CommandModel, names: Sequence[str]) -> list[ValidationError]:
    """Return everything that would make all runs of a command fail, or use wrong values unnoticed.

    Args:
        command: The command.
        names: Names of the variables.

    Returns:
        The validation errors, in the order of the keys; empty if the command is valid.
    """
    errors = itertools.chain(
        _name_errors(names),
        _argument_errors(command, names),
        _template_errors(command, names),
        _json_errors(command),
        _result_errors(command.result_parser),
        _time_limit_errors(command.time_limit),
    )
    return list(dict.fromkeys(itertools.islice(errors, MAX_ERRORS)))


def unused_variables(command: CommandModel, names: Sequence[str]) -> list[str]:
    """Return the variables that occur in no argument and no template, unless all are passed as JSON.

    Args:
        command: The command.
        names: Names of the variables.
    """
    if command.json_file or command.stdin == "json":
        return []
    templates = [_read_template(command.problem_folder / name) for name in command.template_files]
    arguments = [placeholders.parse_argument(text) for text in command.arguments]
    used = placeholders.names_in([*arguments, *(text for text in templates if not isinstance(text, str))])
    return [name for name in names if name not in used]


def _name_errors(names: Sequence[str]) -> Iterator[ValidationError]:
    for name in names:
        if name in FOLDERS:
            rule = f"a variable cannot be called {name!r}"
            yield ValidationError("variables", rule, f"{{{name}}} is reserved for a folder", "Choose another name")


def _argument_errors(command: CommandModel, names: Sequence[str]) -> Iterator[ValidationError]:
    if not command.arguments or not command.arguments[0]:
        rule, fact = "a command must start with a program", "it is empty"
        yield ValidationError("command", rule, fact, 'Write for instance ["./simulate", "{R1}"]')
        return
    texts = [placeholders.parse_argument(text) for text in command.arguments]
    errors = [list(_placeholder_errors(f"command[{i}]", text, names)) for i, text in enumerate(texts)]
    for i, (text, own) in enumerate(zip(texts, errors, strict=True)):
        yield from own
        if i == 0 and not own and placeholders.names_in([text]) <= {"here"}:
            here = {"here": os.path.abspath(command.problem_folder)}
            yield from _program_errors(command, placeholders.fill(text, here))
        elif i > 0 and not placeholders.names_in([text]):
            yield from _relative_path_errors(command, i, placeholders.fill(text, {}))


def _placeholder_errors(
    key: str, text: ParsedText, names: Sequence[str], allow_unknown: bool = False
) -> Iterator[ValidationError]:
    """Yield the validation errors of the placeholders in a parsed string."""
    for placeholder in dict.fromkeys(placeholders.placeholders_in(text)):  # a template may repeat the same error
        name = placeholder.name
        if name in FOLDERS:
            if placeholder.spec:
                rule = f"{{{name}}} is reserved for a folder, which has no format"
                yield ValidationError(key, rule, f"got {placeholder.text}", f"Write {{{name}}}")
        elif name in names:
            if not placeholders.is_float_format(placeholder.spec):
                rule, fact = "a format must be one of Python's for a float", f"got {placeholder.text}"
                yield ValidationError(key, rule, fact, f"Write for instance {{{name}:.6e}}")
        elif not allow_unknown:
            yield _unknown_placeholder(key, placeholder, names)


def _unknown_placeholder(key: str, placeholder: Placeholder, names: Sequence[str]) -> ValidationError:
    text = placeholder.text
    if text in ("{", "}"):
        rule = "a brace in an argument must belong to a placeholder"
        return ValidationError(key, rule, f"found a single {text}", f"Write {text * 2} for a literal brace")
    close = closest(placeholder.name, [*FOLDERS, *names])
    question = f"did you mean {{{close[0]}}}?" if close else ""
    known = ", ".join(f"{{{name}}}" for name in (*names[:_MAX_LISTED_NAMES], *FOLDERS))
    more = " and so on" if len(names) > _MAX_LISTED_NAMES else ""
    fix = f"Known placeholders are {known}{more}; {{{{ and }}}} are literal braces"
    return ValidationError(key, f"unknown placeholder {text}", question, fix)


def _program_errors(command: CommandModel, program: str) -> Iterator[ValidationError]:
    rule, folder = "a command must start with an executable program", Path(os.path.abspath(command.problem_folder))
    if "/" not in program:
        if shutil.which(program) is None:
            fix = f"Write ./{program}" if is_file(folder / program) else "Install it, or give its path"
            yield ValidationError("command[0]", rule, f"{program!r} is not on the PATH", fix)
        return
    path = folder / program
    if not is_file(path):
        fix = "Give its path, relative to the problem file's folder"
        yield ValidationError("command[0]", rule, f"{path} does not exist", fix)
    elif any(path == folder / name for name in command.template_files):
        rule = "the filled copy of a template is in the run's folder"
        fix = f"Write {{dir}}/{path.name}"
        yield ValidationError("command[0]", rule, f"{program} is the template itself", fix)
    elif not os.access(path, os.X_OK):
        fix = f"`chmod +x {path}`, or name its interpreter"
        yield ValidationError("command[0]", rule, f"{path} is not executable", fix)


def _relative_path_errors(command: CommandModel, i: int, text: str) -> Iterator[ValidationError]:
    """Yield an error for a file of the problem file's folder whose relative path does not exist in the run's folder."""
    option, equals, name = text.rpartition("=")
    copies = {*(Path(file).name for file in command.template_files), command.json_file, command.result_parser.file}
    if not name or name in copies or os.path.isabs(name) or not is_file(command.problem_folder / name):
        return
    rule = "each run has its own folder, in which relative paths start"
    if any(PurePosixPath(file) == PurePosixPath(name) for file in command.template_files):
        fix = f"Write {option}{equals}{Path(name).name}, where its filled copy is"
    else:
        fix = f"Write {option}{equals}{{here}}/{name}; if the model writes this file, move the existing one away"
    yield ValidationError(f"command[{i}]", rule, f"{name!r} is a file in the folder of the problem file", fix)


def is_file(path: Path) -> bool:
    """Whether a file exists; also for names that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # for instance too long
        return False


def _template_errors(command: CommandModel, names: Sequence[str]) -> Iterator[ValidationError]:
    """Yield the validation errors of templates, including the one for standard input."""
    keys = [f"templates[{i}]" for i in range(len(command.templates))]
    keys += ["stdin"] * (len(command.template_files) - len(keys))
    copies: set[str] = set()
    for key, name in zip(keys, command.template_files, strict=True):
        if not _is_inside_folder(name):
            rule = "a template must be given by its path from the problem file's folder, without `..`"
            yield ValidationError(key, rule, f"got {name!r}", "Move it there")
            continue
        text = _read_template(command.problem_folder / name)
        if isinstance(text, str):
            rule = f"a template must be a text file (UTF-8) of at most {MAX_TEMPLATE_BYTES // 10**6} MB"
            yield ValidationError(key, rule, f"{name} {text}", "Name another file")
        else:
            yield from _placeholder_errors(key, text, names, allow_unknown=True)
        if Path(name).name in copies:
            rule = "templates need different file names, since all are copied to the run's folder"
            yield ValidationError(key, rule, f"{Path(name).name} occurs twice", "Rename one of them")
        copies.add(Path(name).name)


def _read_template(path: Path) -> ParsedText | str:
    """Return a parsed template, or the reason why it is invalid."""
    try:
        if not path.is_file():
            return "does not exist" if not path.exists() else "is not a file"
        if path.stat().st_size > MAX_TEMPLATE_BYTES:
            return f"has {path.stat().st_size / 10**6:.1f} MB"
        return placeholders.parse_template(path.read_bytes().decode())
    except UnicodeDecodeError:
        return "is not UTF-8"
    except (OSError, ValueError) as error:
        return f"cannot be read ({error})"


def _json_errors(command: CommandModel) -> Iterator[ValidationError]:
    name = command.json_file
    if name and not _is_inside_folder(name):
        yield ValidationError("json", _INSIDE_RULE, f"got {name!r}", 'Write for instance "values.json"')
    elif any(PurePosixPath(name) == PurePosixPath(Path(file).name) for file in command.template_files):
        rule = "the JSON file and the templates need different names"
        yield ValidationError("json", rule, f"{name} is also a template", "Rename one of them")


def _result_errors(parser: ResultParser) -> Iterator[ValidationError]:
    if parser.file and not _is_inside_folder(parser.file):
        yield ValidationError("result.file", _INSIDE_RULE, f"got {parser.file!r}", 'Write for instance "result.json"')
    if parser.pattern and parser.key:
        rule = "a result is parsed either by a pattern or by a JSON key"
        yield ValidationError("result.key", rule, "both are given", "Leave one of them out")
    if len(parser.pattern) > MAX_PATTERN_LENGTH:
        rule, fact = f"a pattern must have at most {MAX_PATTERN_LENGTH:,} characters", f"got {len(parser.pattern):,}"
        yield ValidationError("result.pattern", rule, fact, "Shorten it")
    elif parser.pattern:
        yield from _pattern_errors(parser.pattern)


def _pattern_errors(pattern: str) -> Iterator[ValidationError]:
    rule, fix = "a pattern must be a regular expression with one group", r'Write for instance "loss = (\\S+)"'
    try:
        groups = re.compile(pattern, re.MULTILINE).groups
    except (re.error, OverflowError, RecursionError) as error:
        yield ValidationError("result.pattern", rule, f"{pattern!r} is invalid ({error})", fix)
    else:
        if groups != 1:
            yield ValidationError("result.pattern", rule, f"{pattern!r} has {groups or 'no'} groups", fix)


def _time_limit_errors(limit: float | None) -> Iterator[ValidationError]:
    if limit is not None and not 0 < limit < math.inf:
        rule = "a time limit must be a positive number of seconds"
        yield ValidationError("time_limit", rule, f"got {limit!r}", "Increase it")


def _is_inside_folder(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.name) and not path.is_absolute() and ".." not in path.parts and "\0" not in name
