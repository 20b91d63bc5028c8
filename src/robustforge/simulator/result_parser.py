"""Parses the result of a run: from standard output or a file, by its last line, a pattern or a JSON key."""

from __future__ import annotations

import contextlib
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustforge.execution.worker_errors import describe_exit
from robustforge.simulator import pattern_matching
from robustforge.simulator.process_registry import ProcessRegistry
from robustforge.simulator.subprocess_run import INTERRUPTED, MAX_OUTPUT_BYTES, CompletedRun

MAX_FILE_BYTES = 16_000_000
"""Bytes that a result file may have."""
MAX_NUMBER_LENGTH = 10_000
"""Characters that a number may have; all digits of the smallest float are a tenth of that."""
PATTERN_SECONDS = 10.0
"""Seconds of processor time that a pattern may take."""

_FORTRAN = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))[dD]([+-]?\d+)")
_MAX_QUOTED = 80
"""Characters of a model's output that a message quotes."""


class ResultParseError(Exception):
    """A result that is missing or is not a number; the message is one line."""


@dataclass(frozen=True)
class ResultParser:
    """Where a result is, and its format; with neither pattern nor key, the last line must be a number.

    Attributes:
        file: A file in the run's folder; empty for standard output.
        pattern: A regular expression with one group; `^` and `$` match at each line, and the last match is used.
        key: A dotted key into JSON, for instance "loss.worst" or "peaks.0".
    """

    file: str = ""
    pattern: str = ""
    key: str = ""

    def parse(self, folder: Path, run: CompletedRun, registry: ProcessRegistry) -> float:
        """Parse the result of a run.

        Args:
            folder: The run's folder.
            run: The run with its output.
            registry: Where the process that matches a pattern is registered.

        Raises:
            ResultParseError: There is no result that is a number or +inf.
        """
        text = _read_file(folder, self.file) if self.file else run.stdout
        truncated = run.truncated and not self.file
        if self.pattern:
            value = self._parse_pattern(text, truncated, registry)
        elif self.key:
            value = self._parse_json(text, truncated)
        else:
            value = self._parse_last_line(text)
        if math.isnan(value) or value == -math.inf:
            raise ResultParseError("the result is NaN" if math.isnan(value) else "the result is -inf")
        return value

    @property
    def _source(self) -> str:
        return self.file or "the output"

    def _parse_pattern(self, text: str, truncated: bool, registry: ProcessRegistry) -> float:
        """Return the number in the last match of the pattern."""
        match = self._last_match(text, registry)
        if match is None:
            where = f"the last {MAX_OUTPUT_BYTES // 2**20} MiB of the output" if truncated else self._source
            raise ResultParseError(f"the pattern {self.pattern!r} does not match {where}")
        value = parse_number(match)
        if value is None:
            raise ResultParseError(f"the pattern {self.pattern!r} matches {_short(repr(match))}, which is not a number")
        return value

    def _last_match(self, text: str, registry: ProcessRegistry) -> str | None:
        """Return the last match of the pattern, found by a helper process with a time limit."""
        try:
            helper = registry.acquire_helper(pattern_matching.HELPER_COMMAND)
        except OSError as error:
            raise ResultParseError(f"the pattern {self.pattern!r} cannot be matched: {error.strerror}") from None
        if helper is None:
            raise ResultParseError(INTERRUPTED)
        assert helper.stdin is not None
        assert helper.stdout is not None
        pipes = helper.stdin.fileno(), helper.stdout.fileno()
        try:
            found = pattern_matching.request_match(*pipes, self.pattern, text, PATTERN_SECONDS)
        except (EOFError, OSError):
            raise ResultParseError(self._helper_failure(registry.stop_helper(helper), registry.killed)) from None
        except BaseException:  # Ctrl-C, before the answer is complete
            registry.stop_helper(helper)
            raise
        registry.release_helper(helper)
        return found

    def _helper_failure(self, code: int, interrupted: bool) -> str:
        """Return the reason why the helper ended, from its return code."""
        if interrupted:
            return INTERRUPTED
        pattern = f"the pattern {self.pattern!r}"
        if code == pattern_matching.TIMEOUT_RETURN_CODE:
            limit = f"more than {PATTERN_SECONDS:g} s on {self._source}"
            return f"{pattern} takes {limit}; avoid nested repetition, as in (a+)+"
        return f"{pattern} cannot be matched on {self._source} ({describe_exit(code)})"

    def _parse_json(self, text: str, truncated: bool) -> float:
        """Return the number under the key."""
        if truncated:
            limit = f"{MAX_OUTPUT_BYTES // 2**20} MiB"
            raise ResultParseError(f"the output is larger than {limit}, too large for JSON; let it write a file")
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ResultParseError(f"{self._source} is not JSON ({error})") from None
        for step in self.key.split("."):
            try:
                found = found[int(step)] if isinstance(found, list) else found[step]
            except (LookupError, TypeError, ValueError):
                raise ResultParseError(f"{self._source} has no key {self.key!r}") from None
        return self._json_number(found)

    def _json_number(self, found: Any) -> float:
        """Return a number of JSON; also of a string, the only way to write infinity in JSON."""
        value = None
        if isinstance(found, str):
            value = parse_number(found)
        elif isinstance(found, int | float) and not isinstance(found, bool):
            with contextlib.suppress(OverflowError):
                value = float(found)
        if value is None:
            shown = repr(found) if isinstance(found, str) else json.dumps(found)
            raise ResultParseError(f"{self.key}: expected a number, got {_short(shown)}")
        return value

    def _parse_last_line(self, text: str) -> float:
        """Return the number on the last line that is not blank."""
        lines = text.rstrip().splitlines()
        if not lines:
            raise ResultParseError(f"{self._source} is empty")
        line = lines[-1].strip()
        value = parse_number(line)
        if value is None:
            raise ResultParseError(f"{self._source} {_last_line_error(line)}: {_short(repr(line))}")
        return value


def _last_line_error(line: str) -> str:
    """Return why a last line is not a number."""
    count = sum(parse_number(part) is not None for part in re.split(r"[\s,;]+", line[:MAX_NUMBER_LENGTH]))
    if count < 2:
        return "has no number on the last line"
    return f"has {count} numbers on the last line, which must be one number alone; use `result.pattern` to choose one"


def parse_number(text: str) -> float | None:
    """Return a number as programs print them, also Fortran's 1.0D-03.

    Args:
        text: The string; blanks around the number are ignored.

    Returns:
        The number; `None` if the string is not one, or is longer than `MAX_NUMBER_LENGTH`.

    Example:
        >>> parse_number("1.5D-03"), parse_number("Infinity"), parse_number("3 V")
        (0.0015, inf, None)
    """
    text = text.strip()
    if len(text) > MAX_NUMBER_LENGTH:
        return None
    fortran = _FORTRAN.fullmatch(text)
    try:
        return float(f"{fortran[1]}e{fortran[2]}" if fortran else text)
    except ValueError:
        return None


def _read_file(folder: Path, name: str) -> str:
    """Return the content of a result file."""
    path = folder / name
    if not path.is_file():  # reading a named pipe would block
        raise ResultParseError(f"there is no file {name}")
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ResultParseError(f"{name} is larger than {MAX_FILE_BYTES // 10**6} MB")
        return path.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError as error:
        raise ResultParseError(f"{name} cannot be read: {error.strerror}") from None


def _short(text: str) -> str:
    return text if len(text) <= _MAX_QUOTED else f"{text[: _MAX_QUOTED - 3]}..."
