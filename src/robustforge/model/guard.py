"""What outlives a search that is killed: a tiny process that then ends the models under way.

It is started as a file, `python -I -S guard.py`, with a pipe as standard input, and imports next to nothing. A line
"+1234" says that a model runs in process group 1234, "-1234" that it has ended; the pipe's end of file says that
whoever wrote these lines is gone.
"""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Keep the list until the writer is gone, then kill the groups that are still on it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for group in left(0):
        end_group(group)


def left(pipe: int) -> set[int]:
    """The groups on the list when a pipe comes to its end.

    Args:
        pipe: The descriptor to read from.
    """
    groups: set[int] = set()
    rest = b""
    while chunk := os.read(pipe, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            (groups.add if line.startswith(b"+") else groups.discard)(int(line[1:]))
    return groups


def end_group(group: int) -> None:
    """Kill a process group, whatever is left of it.

    Args:
        group: Its number.
    """
    try:  # noqa: SIM105  # contextlib is not worth its import here
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # all of them are gone, or are zombies
        pass


if __name__ == "__main__":
    main()
