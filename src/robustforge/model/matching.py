"""A user's regular expression, matched in a process of its own: one that takes too long can be ended there.

Python's `re` holds the interpreter up while it matches, for ever if a pattern backtracks badly, and hears no signal.
The helper is started as a file, `python -I -S matching.py`, imports next to nothing, and stays for the next text. It
counts its own processor time, so that whether a pattern takes too long does not depend on what else a machine does.
"""

from __future__ import annotations

import os
import re
import signal
import struct
import sys

HEAD = "<dQQ"
"""A request: seconds of processor time, bytes of the pattern, bytes of the text; then both, in UTF-8."""
NO_MATCH = 2**64 - 1
"""The answer where nothing matches; otherwise how many bytes follow."""
LONGEST = 20_000
"""Characters of a match that are handed out: more than any number has."""
LATE = -signal.SIGVTALRM
"""The return code of a helper whose time was up."""

ARGUMENTS = (sys.executable, "-I", "-S", __file__)


def main() -> None:
    """Answer requests until there are no more."""
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    while head := _read(0, struct.calcsize(HEAD)):
        seconds, *sizes = struct.unpack(HEAD, head)
        pattern, text = (_read(0, size).decode() for size in sizes)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        match = last(pattern, text)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        answer = b"" if match is None else match.encode()
        _write(1, struct.pack("<Q", NO_MATCH if match is None else len(answer)) + answer)


def last(pattern: str, text: str) -> str | None:
    """What the group of the last match holds; `None` if there is no match.

    Args:
        pattern: A regular expression with one group.
        text: The text.
    """
    match = None
    for match in re.finditer(pattern, text, re.MULTILINE):  # noqa: B007
        pass
    return None if match is None else (match[1] or "")[:LONGEST]


def ask(request: int, answer: int, pattern: str, text: str, seconds: float) -> str | None:
    """Have a helper match a text, and wait for it.

    Args:
        request: Its standard input.
        answer: Its standard output.
        pattern: A regular expression with one group.
        text: The text.
        seconds: Processor time after which it ends itself.

    Raises:
        EOFError: It has ended without an answer.
        OSError: It has ended before.
    """
    parts = pattern.encode(), text.encode()
    _write(request, struct.pack(HEAD, seconds, *map(len, parts)) + b"".join(parts))
    head = _read(answer, 8)
    if not head:
        raise EOFError
    (size,) = struct.unpack("<Q", head)
    return None if size == NO_MATCH else _read(answer, size).decode()


def _read(descriptor: int, size: int) -> bytes:
    """So many bytes; none at the end of the pipe."""
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
