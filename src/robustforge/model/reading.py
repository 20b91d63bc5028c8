"""How a result is read: from standard output or a file, by its last line, a pattern or a key."""

from __future__ import annotations

import contextlib
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustforge.execution.deaths import words
from robustforge.model import matching
from robustforge.model.process import INTERRUPTED, KEPT, Ended
from robustforge.model.runs import Runs

LARGEST = 16_000_000
"""Bytes that a result's file may have."""
LONGEST = 10_000
"""Characters that a number may have; the longest that programs write, all digits of the smallest one, has a tenth."""
PATIENCE = 10.0
"""Seconds of processor time that a pattern may take."""

_FORTRAN = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))[dD]([+-]?\d+)")
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

    def value(self, folder: Path, ended: Ended, runs: Runs) -> float:
        """Read the result of a run.

        Args:
            folder: The run's own.
            ended: What it printed.
            runs: Who ends the reading should the search end.

        Raises:
            NoResult: If there is none that is a number or +inf.
        """
        text = _content(folder, self.file) if self.file else ended.out
        cut = ended.cut and not self.file
        if self.pattern:
            value = self._matched(text, cut, runs)
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

    def _matched(self, text: str, cut: bool, runs: Runs) -> float:
        """The number that the last match of the pattern holds."""
        match = self._last_match(text, runs)
        if match is None:
            where = f"the last {KEPT // 2**20} MiB of its output" if cut else self._place
            raise NoResult(f"the pattern {self.pattern!r} does not match {where}")
        value = number(match)
        if value is None:
            raise NoResult(f"what the pattern {self.pattern!r} matches is no number: {_short(repr(match))}")
        return value

    def _last_match(self, text: str, runs: Runs) -> str | None:
        """What the last match of the pattern holds, found by a helper that can be ended."""
        try:
            helper = runs.helper(matching.ARGUMENTS)
        except OSError as error:
            raise NoResult(f"the pattern {self.pattern!r} cannot be looked for: {error.strerror}") from None
        if helper is None:
            raise NoResult(INTERRUPTED)
        assert helper.stdin is not None
        assert helper.stdout is not None
        try:
            found = matching.ask(helper.stdin.fileno(), helper.stdout.fileno(), self.pattern, text, PATIENCE)
        except (EOFError, OSError):
            raise NoResult(self._why_unread(runs.dismiss(helper), runs.killed)) from None
        except BaseException:  # Ctrl-C, in the middle of an answer
            runs.dismiss(helper)
            raise
        runs.keep(helper)
        return found

    def _why_unread(self, code: int, interrupted: bool) -> str:
        """Why a helper has ended, by its return code."""
        if interrupted:
            return INTERRUPTED
        if code == matching.LATE:
            why = f"takes more than {PATIENCE:g} s on {self._place}; one repetition inside another, as in (a+)+, can"
            return f"the pattern {self.pattern!r} {why}"
        return f"the pattern {self.pattern!r} cannot be looked for in {self._place} ({words(code)})"

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
            raise NoResult(f"{self._place} {_instead(line)}: {_short(repr(line))}")
        return value


def _instead(line: str) -> str:
    """What a last line is that is no number."""
    count = sum(number(part) is not None for part in re.split(r"[\s,;]+", line[:LONGEST]))
    if count < 2:
        return "has no number on the last line"
    return f"has {count} numbers on the last line, which must be one number alone; use `result.pattern` to choose one"


def number(text: str) -> float | None:
    """A number as programs write them, also Fortran's 1.0D-03; `None` if it is none, or has more than `LONGEST` signs.

    Args:
        text: What may be a number, blanks around it aside.

    Example:
        >>> number("1.5D-03"), number("Infinity"), number("3 V")
        (0.0015, inf, None)
    """
    text = text.strip()
    if len(text) > LONGEST:
        return None
    fortran = _FORTRAN.fullmatch(text)
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
