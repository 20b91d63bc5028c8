"""Matches a user's regular expression in a helper process, which can be ended if it takes too long.

Python's `re` blocks the interpreter while it matches, forever if a pattern backtracks badly, and signals are not
handled. The helper is started as a file, `python -I -S pattern_matching.py`, imports almost nothing, and serves several
requests. It limits its own processor time, so that a timeout does not depend on the load of the machine.
"""

from __future__ import annotations

import os
import re
import signal
import struct
import sys

REQUEST_HEADER = "<dQQ"
"""A request: seconds of processor time, bytes of the pattern, bytes of the string; then both, in UTF-8."""
NO_MATCH = 2**64 - 1
"""The answer if nothing matches; otherwise the number of bytes that follow."""
MAX_MATCH_LENGTH = 20_000
"""Characters of a match that are returned: more than any number has."""
TIMEOUT_RETURN_CODE = -signal.SIGVTALRM
"""The return code of a helper that exceeded its time limit."""

HELPER_COMMAND = (sys.executable, "-I", "-S", __file__)


def main() -> None:
    """Answer requests until standard input ends."""
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    while header := _read(0, struct.calcsize(REQUEST_HEADER)):
        seconds, *sizes = struct.unpack(REQUEST_HEADER, header)
        pattern, text = (_read(0, size).decode() for size in sizes)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        match = last_match(pattern, text)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        answer = b"" if match is None else match.encode()
        _write(1, struct.pack("<Q", NO_MATCH if match is None else len(answer)) + answer)


def last_match(pattern: str, text: str) -> str | None:
    """Return the group of the last match; `None` if nothing matches.

    Args:
        pattern: A regular expression with one group.
        text: The string to search.
    """
    match = None
    for match in re.finditer(pattern, text, re.MULTILINE):  # noqa: B007
        pass
    return None if match is None else (match[1] or "")[:MAX_MATCH_LENGTH]


def request_match(request: int, answer: int, pattern: str, text: str, seconds: float) -> str | None:
    """Have a helper match a pattern, and return its answer.

    Args:
        request: The helper's standard input.
        answer: Its standard output.
        pattern: A regular expression with one group.
        text: The string to search.
        seconds: Processor time after which the helper ends itself.

    Raises:
        EOFError: The helper ended without an answer.
        OSError: The helper had ended before.
    """
    parts = pattern.encode(), text.encode()
    _write(request, struct.pack(REQUEST_HEADER, seconds, *map(len, parts)) + b"".join(parts))
    header = _read(answer, 8)
    if not header:
        raise EOFError
    (size,) = struct.unpack("<Q", header)
    return None if size == NO_MATCH else _read(answer, size).decode()


def _read(descriptor: int, size: int) -> bytes:
    """Return exactly `size` bytes; none at the end of the pipe."""
    found = bytearray()
    while len(found) < size:
        chunk = os.read(descriptor, min(size - len(found), 2**20))
        if not chunk:
            return b""
        found += chunk
    return bytes(found)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


if __name__ == "__main__":
    main()
