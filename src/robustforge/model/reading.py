"""How a result is read: from standard output or a file, by its last line, a pattern or a key."""

from __future__ import annotations

import contextlib
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustforge.model.process import KEPT, Ended

LARGEST = 16_000_000
"""Bytes that a result's file may have."""

_FORTRAN = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))[dD]([+-]?\d+)")
_SHOWN = 80
"""Characters of somebody else's text that a message quotes."""


class NoResult(Exception):  # noqa: N818
    """Why there is no value, in one line."""


@dataclass(frozen=True)
class Reading:
    """Where a result is, and how it is read; with neither pattern nor key, its last line must be a number.

    Attributes:
        file: A file in the run's folder; empty for standard output.
        pattern: A regular expression with one group; `^` and `$` are those of each line, and the last match counts.
        key: A dotted key into JSON, for instance "loss.worst" or "peaks.0".
    """

    file: str = ""
    pattern: str = ""
    key: str = ""

    def value(self, folder: Path, ended: Ended) -> float:
        """Read the result of a run.

        Args:
            folder: The run's own.
            ended: What it printed.

        Raises:
            NoResult: If there is none that is a number or +inf.
        """
        text = _content(folder, self.file) if self.file else ended.out
        cut = ended.cut and not self.file
        if self.pattern:
            value = self._matched(text, cut)
        elif self.key:
            value = self._looked_up(text, cut)
        else:
            value = self._last(text)
        if math.isnan(value) or value == -math.inf:
            raise NoResult("the result is NaN" if math.isnan(value) else "the result is -inf")
        return value

    @property
    def _place(self) -> str:
        return self.file or "its output"

    def _matched(self, text: str, cut: bool) -> float:
        """The number that the last match of the pattern holds."""
        match = None
        for match in re.finditer(self.pattern, text, re.MULTILINE):  # noqa: B007
            pass
        if match is None:
            where = f"the last {KEPT // 2**20} MiB of its output" if cut else self._place
            raise NoResult(f"the pattern {self.pattern!r} does not match {where}")
        value = number(match[1] or "")
        if value is None:
            raise NoResult(f"what the pattern {self.pattern!r} matches is no number: {_short(repr(match[1] or ''))}")
        return value

    def _looked_up(self, text: str, cut: bool) -> float:
        """The number under the key."""
        if cut:
            raise NoResult(f"its output is larger than {KEPT // 2**20} MiB, too large for JSON; let it write a file")
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise NoResult(f"{self._place} is no JSON ({error})") from None
        for step in self.key.split("."):
            try:
                found = found[int(step)] if isinstance(found, list) else found[step]
            except (LookupError, TypeError, ValueError):
                raise NoResult(f"{self._place} has no key {self.key!r}") from None
        return self._of_json(found)

    def _of_json(self, found: Any) -> float:
        """A number of JSON; as a string, too, for JSON has no other way to write infinity."""
        value = None
        if isinstance(found, str):
            value = number(found)
        elif isinstance(found, int | float) and not isinstance(found, bool):
            with contextlib.suppress(OverflowError):
                value = float(found)
        if value is None:
            shown = repr(found) if isinstance(found, str) else json.dumps(found)
            raise NoResult(f"{self.key} is not a number but {_short(shown)}")
        return value

    def _last(self, text: str) -> float:
        """The number on the last line that is not blank."""
        lines = text.rstrip().splitlines()
        if not lines:
            raise NoResult(f"{self._place} is empty")
        line = lines[-1].strip()
        value = number(line)
        if value is None:
            raise NoResult(f"{self._place} has no number on the last line: {_short(repr(line))}")
        return value


def number(text: str) -> float | None:
    """A number as programs write them, also Fortran's 1.0D-03; `None` if it is none.

    Args:
        text: What may be a number, blanks around it aside.

    Example:
        >>> number("1.5D-03"), number("Infinity"), number("3 V")
        (0.0015, inf, None)
    """
    fortran = _FORTRAN.fullmatch(text.strip())
    try:
        return float(f"{fortran[1]}e{fortran[2]}" if fortran else text)
    except ValueError:
        return None


def _content(folder: Path, name: str) -> str:
    """What a result's file holds."""
    path = folder / name
    if not path.is_file():  # a pipe by that name would block us
        raise NoResult(f"there is no file {name}")
    try:
        if path.stat().st_size > LARGEST:
            raise NoResult(f"{name} is larger than {LARGEST // 10**6} MB")
        return path.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError as error:
        raise NoResult(f"{name} cannot be read: {error.strerror}") from None


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
