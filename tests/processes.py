"""What tests of processes share: whether one is alive, files that one writes, and commands that start at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path


def alive(pid: int | str) -> bool:
    """Whether a process runs; one that nobody has reaped yet is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pid: int | str, seconds: float = 3.0) -> bool:
    """Whether a process is dead, after a while at the latest."""
    end = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not alive(pid)


def text_of(path: Path, lines: int = 1, seconds: float = 30.0) -> str:
    """What a file holds, once it holds so many lines."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if path.exists() and (text := path.read_text()).endswith("\n") and text.count("\n") >= lines:
            return text
        time.sleep(0.01)
    raise AssertionError(f"{path} has no {lines} lines after {seconds} s")


FORKING = """
import json, os, resource, signal, sys
from robustforge.cli import main
from robustforge.engine import kernels
from robustforge.cli.commands import problem_file, solve, verify
from robustforge.cli.payloads import designs
from robustforge.cli.views import design_view

kernels.prepare_all()
signal.signal(signal.SIGINT, signal.default_int_handler)
for line in sys.stdin:
    order = json.loads(line)
    if child := os.fork():
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    os.chdir(order["folder"])
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    if order["limit"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["limit"],) * 2)
    main(order["arguments"])
"""


class Forks:
    """Commands in processes of their own that need not import anything first: forks of one that did.

    What they print is in the files `stdout` and `stderr` of the folder that they are started in.
    """

    def __init__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([sys.executable, "-c", FORKING], **pipes)

    def start(self, *arguments, folder: Path | None = None, limit: int = 0) -> int:
        """Start a command, if need be with a limit on the size of its files; returns its process id."""
        order = {"arguments": list(map(str, arguments)), "folder": str(folder or os.getcwd()), "limit": limit}
        print(json.dumps(order), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def wait(self) -> int:
        """Wait for the command that was started last; returns its exit code."""
        return int(self.process.stdout.readline())

    def close(self) -> None:
        """End the process that forks."""
        self.process.stdin.close()
        assert self.process.wait(30) == 0
        self.process.stdout.close()
