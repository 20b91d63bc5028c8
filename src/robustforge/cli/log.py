"""Messages and progress on stderr: the log handler, and periodic status lines of long commands.

Off a terminal each line has a date, and there is one whenever there was none for half a minute: the log of a job that
was killed shows how far it came. Time decides only what is printed; results go to stdout.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from robustforge.errors import escaped

INTERVAL = 30.0
"""Seconds after which there is another line, if nothing else was printed."""

PACKAGE = "robustforge"
_SHOWN_BY_VIEWS = tuple(f"{PACKAGE}.{part}" for part in ("assessment", "cli.progress", "evolution", "solver"))
"""Loggers whose progress a bar or a live view shows as well."""

_progress = logging.getLogger(f"{PACKAGE}.cli.progress")


class StderrHandler(logging.Handler):
    """Writes each record as a line on stderr, dated off a terminal; control characters are escaped.

    Attributes:
        last: When the last line was written (`time.monotonic`).
        behind_view: Whether a bar or a live view shows the progress, so that lines about it are left out.
    """

    def __init__(self) -> None:
        super().__init__()
        self.last, self.behind_view = time.monotonic(), False

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, flushed at once; a log that cannot be written does not end the work."""
        if self.behind_view and record.levelno == logging.INFO and record.name.startswith(_SHOWN_BY_VIEWS):
            return
        self.last = time.monotonic()
        date = "" if on_terminal() else f"{datetime.now().astimezone().isoformat(sep=' ', timespec='seconds')}  "
        with contextlib.suppress(OSError, ValueError):
            print(escaped(date + self.format(record)), file=sys.stderr, flush=True)  # a live view redirects it


@contextmanager
def on_stderr() -> Iterator[None]:
    """Show messages of the package on stderr: progress and warnings, unless an option asks for more or less."""
    logger, handler = logging.getLogger(PACKAGE), StderrHandler()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def on_terminal() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr.isatty()


def shows_views() -> bool:
    """Whether bars and live views are to be shown: on a terminal, unless `--quiet` was given."""
    return on_terminal() and _progress.isEnabledFor(logging.INFO)


@contextmanager
def behind_view() -> Iterator[None]:
    """Leave out lines about progress while a bar or a live view shows it."""
    handlers = _handlers()
    for handler in handlers:
        handler.behind_view = True
    try:
        yield
    finally:
        for handler in handlers:
            handler.behind_view = False


@contextmanager
def progress_lines(what: str, status: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Log the start and the end of some work, and its status whenever nothing was logged for a while.

    Args:
        what: The work, as the head of each line.
        status: Returns how far it is; called from another thread, so it must only read.
    """
    watch = _Heartbeat(what, status)
    _progress.info("%s: %s", what, _joined("started", status()))
    watch.start()
    ending = "done"
    try:
        yield
    except KeyboardInterrupt:
        ending = "interrupted"
        raise
    except BaseException:
        ending = "failed"
        raise
    finally:
        watch.stop()
        _progress.info("%s: %s", what, _joined(f"{ending} after {watch.time_taken()}", status()))


class _Heartbeat:
    """Logs the status of some work whenever nothing was logged for a while."""

    def __init__(self, what: str, status: Callable[[], str]) -> None:
        self._what, self._status = what, status
        self._started = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="robustforge-log", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._over.set()
        self._thread.join()

    def time_taken(self) -> str:
        """Return how long the work has taken so far."""
        from robustforge.formatting import whole_duration

        return whole_duration(time.monotonic() - self._started)

    def _run(self) -> None:
        while not self._over.wait(max(self._last() + INTERVAL - time.monotonic(), 0.01)):
            if time.monotonic() >= self._last() + INTERVAL:
                _progress.info("%s: %s", self._what, _joined(self._read(), f"{self.time_taken()} so far"))

    def _last(self) -> float:
        return max((handler.last for handler in _handlers()), default=time.monotonic())

    def _read(self) -> str:
        with contextlib.suppress(RuntimeError):  # the status changes at this moment
            return self._status()
        return ""


def _handlers() -> list[StderrHandler]:
    return [handler for handler in logging.getLogger(PACKAGE).handlers if isinstance(handler, StderrHandler)]


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)
