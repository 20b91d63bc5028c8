"""The orphan guard: a small process that survives a killed search and then kills the models that still run.

It is started as a file, `python -I -S orphan_guard.py`, with a pipe as standard input, and imports almost nothing. A
line "?MARK" announces a model whose environment has `ROBUSTFORGE_RUN=MARK`, "+1234" adds process group 1234 and "-1234"
removes it. End of file means that the process at the other end of the pipe is gone.
"""

from __future__ import annotations

import os
import signal
import time

MARK_VARIABLE = "ROBUSTFORGE_RUN"
"""The environment variable that identifies a model whose process group was not announced in time."""

_READ_INTERVAL = 0.1
"""Seconds between reads: waking up for each line would take time from short models."""
_RETRY_DELAYS = (0.0, 0.02, 0.1, 0.4)
"""Seconds before each search for an announced model: it may still be starting."""


def main() -> None:
    """Track process groups until the pipe closes, then kill those that remain."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups, mark = remaining_groups(0)
    for group in groups:
        kill_group(group)
    for delay in _RETRY_DELAYS if mark else ():
        time.sleep(delay)
        for group in groups_with_mark(mark):
            kill_group(group)


def remaining_groups(pipe: int) -> tuple[set[int], str]:
    """Read a pipe to its end, and return the process groups that remain.

    Args:
        pipe: The descriptor to read from.

    Returns:
        The groups, and the mark of an announced model that has no group yet; empty if there is none.
    """
    groups: set[int] = set()
    mark, rest = "", b""
    while chunk := os.read(pipe, 65536):
        time.sleep(_READ_INTERVAL)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in map(bytes.decode, lines):
            if line.startswith("?"):
                mark = line[1:]
            elif line.startswith("+"):
                mark = ""  # models start one at a time
                groups.add(int(line))
            else:
                groups.discard(-int(line))
    return groups, mark


def groups_with_mark(mark: str) -> set[int]:
    """Return the process groups with a mark in their environment, on systems with `/proc`.

    Args:
        mark: The value of the environment variable.
    """
    entry, found = f"{MARK_VARIABLE}={mark}".encode(), set()
    for name in filter(str.isdecimal, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if entry in file.read().split(b"\0"):
                    found.add(os.getpgid(int(name)))
        except OSError:  # it has ended, or belongs to another user
            pass
    return found


def kill_group(group: int) -> None:
    """Kill all processes of a process group.

    Args:
        group: Its number.
    """
    try:  # noqa: SIM105  # contextlib is not worth its import here
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # all have ended, or are zombies
        pass


if __name__ == "__main__":
    main()
