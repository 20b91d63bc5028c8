"""Progress off a terminal: dated lines on stderr, each flushed at once: the log of a killed job says how far it came.

A line when the work starts, when it ends, at moments that matter, and whenever there was none for half a minute. Time
decides only what is printed; results go to stdout.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from robustforge.cli.frame import say
from robustforge.cli.layout import duration

INTERVAL = 30.0
"""Seconds after which there is another line, if nothing else was printed."""

Say = Callable[[str], None]


def on_terminal() -> bool:
    """Whether somebody is watching."""
    return sys.stderr.isatty()


@contextmanager
def lines(what: str, status: Callable[[], str] = lambda: "") -> Iterator[Say]:
    """Print dated lines while some work goes on.

    Args:
        what: The work, as the head of each line.
        status: Returns how far it is; called from another thread, so it must only look.

    Yields:
        What prints a further line.
    """
    log = _Log(what, status)
    log.say(_joined("started", status()))
    log.start()
    ending = "done"
    try:
        yield log.say
    except KeyboardInterrupt:
        ending = "interrupted"
        raise
    except BaseException:
        ending = "failed"
        raise
    finally:
        log.stop()
        log.say(_joined(f"{ending} after {log.time_taken()}", status()))


class _Log:
    """Prints lines, and one by itself whenever there was none for a while."""

    def __init__(self, what: str, status: Callable[[], str]) -> None:
        self._what, self._status = what, status
        self._started = self._last = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep_on, name="robustforge-log", daemon=True)

    def start(self) -> None:
        """Begin to print by itself."""
        self._thread.start()

    def stop(self) -> None:
        """Print no more by itself."""
        self._over.set()
        self._thread.join()

    def say(self, text: str) -> None:
        """Print a line now; a log that cannot be written ends no work."""
        self._last = time.monotonic()
        date = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        with contextlib.suppress(OSError, ValueError):
            say(f"{date}  {self._what}: {text}", err=True)  # which flushes

    def time_taken(self) -> str:
        """Return how long the work has taken so far."""
        return duration(time.monotonic() - self._started)

    def _keep_on(self) -> None:
        while not self._over.wait(max(self._last + INTERVAL - time.monotonic(), 0.01)):
            if time.monotonic() >= self._last + INTERVAL:
                self.say(_joined(self._look(), f"{self.time_taken()} so far"))

    def _look(self) -> str:
        with contextlib.suppress(RuntimeError):  # what is looked at changes at this moment
            return self._status()
        return ""


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)
