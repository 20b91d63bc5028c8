"""What outlives a search that is killed: a tiny process that then ends the models under way.

It is started as a file, `python -I -S guard.py`, with a pipe as standard input, and imports next to nothing. A line
"?MARK" says that a model is about to start whose environment has `ROBUSTFORGE_RUN=MARK`, "+1234" that it runs in
process group 1234, "-1234" that it has ended. The pipe's end of file says that whoever wrote these lines is gone.
"""

from __future__ import annotations

import os
import signal
import time

VARIABLE = "ROBUSTFORGE_RUN"
"""The environment variable by which a model is known whose group nobody had time to tell."""

_NAP = 0.1
"""Seconds between reads: waking for each line would take time from short models."""
_PAUSES = (0.0, 0.02, 0.1, 0.4)
"""Seconds before each look for a model that was about to start: it may not have come that far yet."""


def main() -> None:
    """Keep the list until the writer is gone, then kill what is still on it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups, mark = left(0)
    for group in groups:
        end_group(group)
    for pause in _PAUSES if mark else ():
        time.sleep(pause)
        for group in marked(mark):
            end_group(group)


def left(pipe: int) -> tuple[set[int], str]:
    """What is on the list when a pipe comes to its end.

    Args:
        pipe: The descriptor to read from.

    Returns:
        The groups, and the mark of a model that was about to start; empty if there was none.
    """
    groups: set[int] = set()
    mark, rest = "", b""
    while chunk := os.read(pipe, 65536):
        time.sleep(_NAP)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in map(bytes.decode, lines):
            if line.startswith("?"):
                mark = line[1:]
            elif line.startswith("+"):
                mark = ""  # one starts at a time
                groups.add(int(line))
            else:
                groups.discard(-int(line))
    return groups, mark


def marked(mark: str) -> set[int]:
    """The process groups of those who carry a mark, where the system tells.

    Args:
        mark: The value of their environment variable.
    """
    entry, found = f"{VARIABLE}={mark}".encode(), set()
    for name in filter(str.isdecimal, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if entry in file.read().split(b"\0"):
                    found.add(os.getpgid(int(name)))
        except OSError:  # it is gone, or somebody else's
            pass
    return found


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
