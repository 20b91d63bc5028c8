"""Progress of commands on stderr: a bar or a spinner on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from robustforge.cli import log
from robustforge.cli.terminal import Screen
from robustforge.formatting import whole_duration

_logger = logging.getLogger(f"{log.PACKAGE}.cli.progress")


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Show a spinner with a text, on a terminal only."""
    with Screen(stderr=True).status(text) if log.shows_views() else nullcontext():
        yield


@contextmanager
def bar(label: str, total: int | None, completed: int = 0) -> Iterator[Callable[..., None]]:
    """Show a progress bar.

    Args:
        label: The text before the bar.
        total: The number of steps; `None` if it is not known yet.
        completed: The number of completed steps.

    Yields:
        A function of the number of completed steps; further arguments are the number of failures and a new total.
    """
    parts = (
        TextColumn(label),
        BarColumn(bar_width=30, complete_style="bold", finished_style="bold"),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]}"),
        TimeRemainingColumn(),
    )
    with log.behind_view(), Progress(*parts, console=Screen(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=total, completed=completed, failed="")

        def update(steps: int, failures: int = 0, total: int | None = total) -> None:
            shown.update(task, total=total, completed=steps, failed=f"{failures} failed" if failures else "")

        yield update


@contextmanager
def model_runs(what: str, total: int, completed: int = 0, failed: int = 0) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of the runs of a model.

    Args:
        what: The command and the search.
        total: The number of runs.
        completed: The number of completed runs.
        failed: The number of failed ones among them.

    Yields:
        A function of the numbers of completed and of failed runs.
    """
    if log.shows_views():
        with bar("runs", total, completed) as update:
            yield update
        return
    counts = _RunCounts(what, total, completed, failed)
    with log.progress_lines(what, counts.status):
        yield counts.update


@contextmanager
def assessment_runs(what: str) -> Iterator[Callable[[Any], None]]:
    """Show the progress of an assessment; yields the callback of `rf.assess`."""
    status = ""

    def keep(progress: Any) -> None:
        nonlocal status
        completed = progress.stored_runs + progress.new_runs
        left = f", {whole_duration(progress.seconds_left)} left" if completed < progress.total else ""
        status = f"{completed:,} of {progress.total:,} runs{left}"

    if not log.shows_views():
        with log.progress_lines(what, lambda: status):
            yield keep
        return
    with bar("runs", None) as update:
        yield lambda progress: update(progress.stored_runs + progress.new_runs, total=progress.total)


class _RunCounts:
    """The numbers of completed and failed runs of a model, for log lines."""

    def __init__(self, what: str, total: int, completed: int, failed: int) -> None:
        self._what, self._total, self._runs, self._failed = what, total, completed, failed
        self._first, self._started = completed, time.monotonic()

    def update(self, runs: int, failures: int = 0) -> None:
        """Set the numbers; the first failure is logged."""
        is_first_failure = failures and not self._failed
        self._runs, self._failed = runs, failures
        if is_first_failure:
            _logger.info("%s: a run failed, the first of this search, after %d runs", self._what, runs)
        _logger.debug("%s: %s", self._what, self.status())

    def status(self) -> str:
        """Return the progress."""
        text = f"{self._runs:,} of {self._total:,} runs"
        if self._failed:
            text += f", {self._failed:,} failed"
        made = self._runs - self._first
        if made and self._runs < self._total:
            left = (self._total - self._runs) * (time.monotonic() - self._started) / made
            text += f", {whole_duration(left)} left"
        return text
