"""Reads a TOML file key by key; validation errors are collected with their lines and reported together."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robustforge.errors import ProblemFileError, closest, did_you_mean

MAX_FILE_BYTES = 1_000_000
"""Bytes that a problem file may have."""
MAX_KEY_PARTS = 100
"""Parts that a dotted key may have: the time that `tomllib` takes for one grows with the square of their number."""
MAX_UNKNOWN_KEYS = 20
"""Unknown keys of a table that are reported one by one."""

_ENTRY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")
_TOKEN = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'|\s+|.""")
_INDEX = re.compile(r"\[\d+\]$")


@dataclass
class TomlReader:
    """The content of a TOML file, and its validation errors so far.

    Attributes:
        path: The file.
        data: Its content.
        lines: The line of each key.
        errors: Line and message of each validation error.
    """

    path: Path
    data: dict[str, Any]
    lines: dict[tuple[str, ...], int]
    errors: list[tuple[int, str]] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path) -> TomlReader:
        """Read a file.

        Raises:
            ProblemFileError: It cannot be read, or is not TOML.
        """
        text = _read_text(path)
        for number, line in enumerate(text.split("\n"), 1):
            if line.count(".") >= MAX_KEY_PARTS and _max_key_parts(line) > MAX_KEY_PARTS:
                raise ProblemFileError(f"{path.name}, line {number}: a key must have at most {MAX_KEY_PARTS} parts")
        try:
            data = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # the former also for an integer of 5000 digits
            fix = "`robustforge help problem-file` has examples; strings are in quotes, lists in brackets"
            raise ProblemFileError("a problem file must be TOML", f"{path.name}: {error}", fix) from error
        return cls(path, data, _line_numbers(text))

    def add_error(self, key: str, rule: str, fact: str = "", fix: str = "") -> None:
        """Add a validation error.

        Args:
            key: The key, as "variables.R1.tolerance" or "model.command[2]".
            rule: The condition that is violated.
            fact: What was found instead.
            fix: What to do.
        """
        self.errors.append((self.line(key), str(ProblemFileError(rule, fact, fix))))

    def line(self, key: str) -> int:
        """Return the line of a key, or of the innermost table around it that has one; 0 if there is none."""
        keys = tuple(_INDEX.sub("", part) for part in key.split("."))
        found = 0
        for size in range(1, len(keys) + 1):
            if keys[:size] not in self.lines:
                break
            found = self.lines[keys[:size]]
        return found

    def raise_errors(self) -> None:
        """Raise if there are validation errors.

        Raises:
            ProblemFileError: With all of them.
        """
        if self.errors:
            raise ProblemFileError.from_errors(self.path.name, sorted(set(self.errors)))

    def get(self, key: str) -> Any:
        """Return the value of a key; `None` if it is missing."""
        found: Any = self.data
        for part in key.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        return found

    def check_keys(self, key: str, known: Collection[str]) -> None:
        """Add an error for each unknown key of a table, or if it is not a table; "" is the top of the file."""
        table = self.get(key) if key else self.data
        if table is None:
            return
        if not isinstance(table, dict):
            self.add_error(key, f"`{key}` must be a table", f"got {shortened_repr(table)}", f"Write [{key}]")
            return
        unknown = [each for each in table if each not in known]
        place = f"in [{key}]" if key else "at the top of the file"
        for each in unknown[:MAX_UNKNOWN_KEYS]:
            close = closest(each, known)
            fix = "" if close else f"Known keys: {', '.join(sorted(known))}"
            where = f"{key}.{each}" if key else each
            self.add_error(where, f"unknown key {shortened(each)!r} {place}", did_you_mean(close), fix)
        if len(unknown) > MAX_UNKNOWN_KEYS:
            self.add_error(key, f"{len(unknown) - MAX_UNKNOWN_KEYS} more unknown keys {place}")

    def string(self, key: str, default: str, choices: Sequence[str] = ()) -> str:
        """Return a string, one of `choices` if there are any."""
        found = self.get(key)
        if found is None:
            return default
        if choices and found not in choices:
            expected = " or ".join(f'"{choice}"' for choice in choices)
            self.add_error(key, f"`{_last_part(key)}` must be {expected}", f"got {shortened_repr(found)}")
            return default
        if not isinstance(found, str) or not found:
            rule = f"`{_last_part(key)}` must be a string"
            self.add_error(key, rule, f"got {shortened_repr(found)}", "Put it in quotes")
            return default
        return found

    def strings(self, key: str) -> tuple[str, ...]:
        """Return a list of strings."""
        found = self.get(key)
        if found is None:
            return ()
        if not isinstance(found, list) or not all(isinstance(each, str) and each for each in found):
            rule, fix = f"`{_last_part(key)}` must be a list of strings", f'Write {_last_part(key)} = ["one", "two"]'
            self.add_error(key, rule, f"got {shortened_repr(found)}", fix)
            return ()
        return tuple(found)

    def integer(self, key: str, default: int, minimum: int) -> int:
        """Return an integer of at least `minimum`."""
        found = self.get(key)
        if found is None:
            return default
        if not isinstance(found, int) or isinstance(found, bool) or not minimum <= found < 2**63:
            rule = f"`{_last_part(key)}` must be an integer of at least {minimum}"
            self.add_error(key, rule, f"got {shortened_repr(found)}")
            return default
        return found

    def positive_number(self, key: str) -> float | None:
        """Return a positive number; `None` if the key is missing."""
        found = self.get(key)
        if found is None or (is_number(found) and found > 0):
            return None if found is None else float(found)
        self.add_error(key, f"`{_last_part(key)}` must be a positive number", f"got {shortened_repr(found)}")
        return None


def is_number(value: Any) -> bool:
    """Whether a TOML value is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def shortened_repr(value: Any) -> str:
    """Return the `repr` of a TOML value, shortened for a message."""
    try:
        return shortened(repr(value))
    except ValueError:  # an integer with more digits than Python prints, written in hexadecimal
        return "an integer of thousands of digits"


def shortened(text: str) -> str:
    """Return the first characters of a string that may be long."""
    return text if len(text) <= 60 else text[:57] + "..."


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ProblemFileError("a problem file must have at most 1 MB", f"{path} has more")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        fix = "Name a problem file (.toml), or a test problem; `robustforge problems` lists them"
        raise ProblemFileError("a problem file must be readable", f"{path}: {error.strerror}", fix) from error
    except UnicodeDecodeError as error:
        raise ProblemFileError("a problem file must be text in UTF-8", f"{path} is not") from error


def _last_part(key: str) -> str:
    return key.rpartition(".")[2]


def _line_numbers(text: str) -> dict[tuple[str, ...], int]:
    """Return the line of each key and each table that starts a line."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), 1):
        if header := _table_header(line):
            table = _split_key(header)
            for size in range(1, len(table) + 1):
                found.setdefault(table[:size], number)
        elif entry := _ENTRY.match(line):
            keys = (*table, *_split_key(entry[1]))
            for size in range(len(table) + 1, len(keys) + 1):
                found.setdefault(keys[:size], number)
    return found


def _table_header(line: str) -> str:
    """Return the name in the header of a table; empty for other lines."""
    line = line.strip()
    name, bracket, rest = line.lstrip("[").partition("]")
    rest = rest.lstrip("]").lstrip()
    is_header = line.startswith("[") and bracket and "[" not in name and (not rest or rest.startswith("#"))
    return name.strip() if is_header else ""


def _max_key_parts(line: str) -> int:
    """Return the number of parts of the longest dotted key in a line."""
    most = parts = 0
    dot = False
    for token in _TOKEN.findall(line):
        if token == ".":
            dot = True
        elif not token.isspace():
            parts = parts + 1 if dot and parts else 1
            dot = False
            most = max(most, parts)
    return most


def _split_key(text: str) -> tuple[str, ...]:
    return tuple(key.strip("\"'") for key in _KEY.findall(text))
