"""Runs commands for the tests: in this process, or in one of their own."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time

from click.testing import CliRunner

from robustforge import cli
from robustforge.cli.terminal import WIDTH

SOLVE_SPHERE = ["solve", "sphere", "--dimension", "3", "--budget", "300", "--seed", "1"]
LONG_BUDGET = 4_000_000  # evaluations that take far longer than a test waits, also on a fast machine
LONG = ["solve", "rastrigin", "--heuristic", "rpso+dd", "--budget", str(LONG_BUDGET), "--seed", "1"]
DATED = r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d  "
INTERRUPTIBLE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from robustforge.cli import main; main()"
)


def run(*arguments, code=0, stdin=None, narrow=False):
    """Run a command in this process, and check its exit code; a narrow one must fit 80 columns."""
    runner = CliRunner(env={"COLUMNS": str(WIDTH)} if narrow else None)
    ended = runner.invoke(cli.main, [str(each) for each in arguments], input=stdin)
    assert ended.exit_code == code, ended.output
    assert "Traceback" not in ended.output
    assert ended.exception is None or isinstance(ended.exception, SystemExit)
    if narrow and "--json" not in arguments:
        assert all(len(line) <= WIDTH for line in ended.stdout.splitlines())
    return ended


def as_json(*arguments, **options):
    """Run a command with `--json`; return its payload."""
    return strict(run(*arguments, "--json", **options).stdout)


def strict(text):
    """Return the payload in a JSON string without NaN or Infinity, which are not JSON."""

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def flat(text):
    """Return a text with single blanks only."""
    return " ".join(text.split())


def spawn(*arguments, **options):
    """Start a command in a process of its own, which prints "ready" on stderr once the engine is compiled."""
    code = (
        "import sys; from robustforge.engine import kernels; from robustforge.cli import main; "
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "kernels.prepare_all(); print('ready', file=sys.stderr, flush=True); main()"
    )
    environment = {**os.environ, "ROBUSTFORGE_QUIET": "1"}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment, text=True, **options)


def read_terminal(handle, until, seconds):
    """Return the output of a terminal until it matches a pattern, or until it is closed."""
    shown, end = "", time.monotonic() + seconds
    while time.monotonic() < end and not re.search(until, shown):
        if select.select([handle], [], [], 0.1)[0]:
            try:
                shown += os.read(handle, 4096).decode(errors="replace")
            except OSError:
                break
    return shown
