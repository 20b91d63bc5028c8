"""A TOML file read entry by entry; every mistake is noted with its line, so that all of them are told at once."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robustforge.errors import ProblemFileError, closest

LARGEST = 1_000_000
"""Bytes that a problem file may have."""

PARTS = 100
"""Parts that a dotted key may have: the time that `tomllib` takes for one grows with their square."""
UNKNOWN = 20
"""Unknown entries of a table that are told one by one."""

_ENTRY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")
_TOKEN = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'|\s+|.""")
_PLACE = re.compile(r"\[\d+\]$")


@dataclass
class Sheet:
    """What a TOML file holds, and what is wrong with it.

    Attributes:
        path: The file.
        data: Its content.
        lines: Where each entry is.
        mistakes: What was found to be wrong so far, a sentence each, with the line.
    """

    path: Path
    data: dict[str, Any]
    lines: dict[tuple[str, ...], int]
    mistakes: list[tuple[int, str]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Sheet:
        """Read a file.

        Raises:
            ProblemFileError: It cannot be read, or is no TOML.
        """
        try:
            if path.stat().st_size > LARGEST:
                raise ProblemFileError("a problem file must have at most 1 MB", f"{path} has more")
            text = path.read_bytes().decode("utf-8-sig")
        except OSError as error:
            fix = "Name a problem file (.toml), or a test problem; `robustforge problems` lists those"
            raise ProblemFileError("a problem file must be readable", f"{path}: {error.strerror}", fix) from error
        except UnicodeDecodeError as error:
            raise ProblemFileError("a problem file must be text in UTF-8", f"{path} is not") from error
        for number, line in enumerate(text.split("\n"), 1):
            if line.count(".") >= PARTS and _most_parts(line) > PARTS:
                raise ProblemFileError(f"{path.name}, line {number}: a key must have at most {PARTS} parts")
        try:
            data = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # the former also for an integer of 5000 digits
            fix = "`robustforge help models` has examples; texts are in quotes, lists in brackets"
            raise ProblemFileError("a problem file must be TOML", f"{path.name}: {error}", fix) from error
        return cls(path, data, _lines(text))

    def wrong(self, where: str, rule: str, fact: str = "", fix: str = "") -> None:
        """Note a mistake.

        Args:
            where: The entry, as "variables.R1.tolerance" or "model.command[2]".
            rule: What must hold.
            fact: What was found instead.
            fix: What to do about it.
        """
        self.mistakes.append((self.line(where), str(ProblemFileError(rule, fact, fix))))

    def line(self, where: str) -> int:
        """Return the line of an entry, or of the nearest one around it; 0 if there is none."""
        keys = tuple(_PLACE.sub("", key) for key in where.split("."))
        found = 0
        for size in range(1, len(keys) + 1):
            if keys[:size] not in self.lines:
                break
            found = self.lines[keys[:size]]
        return found

    def finish(self) -> None:
        """Raise if there are mistakes.

        Raises:
            ProblemFileError: With all of them.
        """
        if self.mistakes:
            found = sorted(set(self.mistakes))
            raise ProblemFileError.of_mistakes(self.path.name, found)

    def get(self, where: str) -> Any:
        """Return what an entry holds; `None` if it is not there."""
        found: Any = self.data
        for key in where.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def only(self, where: str, allowed: Collection[str]) -> dict[str, Any]:
        """Return a table, whose other entries are mistakes; an empty one if it is not there or is none."""
        table = self.get(where) if where else self.data
        if table is None:
            return {}
        if not isinstance(table, dict):
            self.wrong(where, f"`{where}` must be a table", f"it is {short(table)}", f"Write [{where}]")
            return {}
        unknown = [key for key in table if key not in allowed]
        rule = f"an entry {f'in [{where}]' if where else 'at the top of the file'} must be one that exists"
        for key in unknown[:UNKNOWN]:
            close = closest(key, allowed, cutoff=0.6)
            fix = f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(sorted(allowed))}"
            self.wrong(f"{where}.{key}" if where else key, rule, shortened(key), fix)
        if len(unknown) > UNKNOWN:
            self.wrong(where, rule, f"there are {len(unknown) - UNKNOWN} more that do not")
        return table

    def text(self, where: str, default: str, choices: Sequence[str] = ()) -> str:
        """Return a text, one of some choices if there are any."""
        found = self.get(where)
        if found is None:
            return default
        if choices and found not in choices:
            words = " or ".join(f'"{choice}"' for choice in choices)
            self.wrong(where, f"`{_last(where)}` must be {words}", f"it is {short(found)}")
            return default
        if not isinstance(found, str) or not found:
            self.wrong(where, f"`{_last(where)}` must be a text", f"it is {short(found)}", "Put it in quotes")
            return default
        return found

    def texts(self, where: str) -> tuple[str, ...]:
        """Return a list of texts."""
        found = self.get(where)
        if found is None:
            return ()
        if not isinstance(found, list) or not all(isinstance(each, str) and each for each in found):
            fix = f'Write for instance {_last(where)} = ["one", "two"]'
            self.wrong(where, f"`{_last(where)}` must be a list of texts", f"it is {short(found)}", fix)
            return ()
        return tuple(found)

    def integer(self, where: str, default: int, least: int) -> int:
        """Return an integer."""
        found = self.get(where)
        if found is None:
            return default
        if not isinstance(found, int) or isinstance(found, bool) or not least <= found < 2**63:
            self.wrong(where, f"`{_last(where)}` must be an integer of at least {least}", f"it is {short(found)}")
            return default
        return found

    def positive(self, where: str) -> float | None:
        """Return a positive number, or `None` if there is none."""
        found = self.get(where)
        if found is None or (is_number(found) and found > 0):
            return None if found is None else float(found)
        self.wrong(where, f"`{_last(where)}` must be a positive number", f"it is {short(found)}")
        return None


def is_number(value: Any) -> bool:
    """Whether a value of TOML is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _last(where: str) -> str:
    return where.rpartition(".")[2]


def short(value: Any) -> str:
    """Return a value of TOML as a message shows it."""
    try:
        return shortened(repr(value))
    except ValueError:  # it has an integer of more digits than Python writes; a hexadecimal one can
        return "an integer of thousands of digits"


def shortened(text: str) -> str:
    """Return the beginning of a text that may be long."""
    return text if len(text) <= 60 else text[:57] + "..."


def _lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the line of each entry and table that stands at the beginning of one."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), 1):
        if header := _header(line):
            table = _keys(header)
            for size in range(1, len(table) + 1):
                found.setdefault(table[:size], number)
        elif entry := _ENTRY.match(line):
            keys = (*table, *_keys(entry[1]))
            for size in range(len(table) + 1, len(keys) + 1):
                found.setdefault(keys[:size], number)
    return found


def _header(line: str) -> str:
    """Return what stands between the brackets of a table's header; nothing if the line is none."""
    line = line.strip()
    name, bracket, rest = line.lstrip("[").partition("]")
    rest = rest.lstrip("]").lstrip()
    is_header = line.startswith("[") and bracket and "[" not in name and (not rest or rest.startswith("#"))
    return name.strip() if is_header else ""


def _most_parts(line: str) -> int:
    """Return how many parts the longest dotted key of a line has."""
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


def _keys(text: str) -> tuple[str, ...]:
    return tuple(key.strip("\"'") for key in _KEY.findall(text))
