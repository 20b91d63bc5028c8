"""A running evolution on stderr: a live view on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table

from robustforge.cli import log
from robustforge.cli.terminal import Screen, Text, bullets, number
from robustforge.evolution import Evolution
from robustforge.formatting import whole_duration
from robustforge.store import FINAL

_BARS = "▁▂▃▄▅▆▇█"
_MAX_CURVE_LENGTH = 48

_logger = logging.getLogger(f"{log.PACKAGE}.cli.progress")


@contextmanager
def watching(name: str) -> Iterator[Callable[[Evolution], Any]]:
    """Show an evolution on stderr while it runs; yields `on_progress` of `rf.evolve`."""
    view = EvolutionView(name)
    if not log.shows_views():
        with log.progress_lines(f"evolve {name}", view.status):
            yield view.update
        return
    with log.behind_view(), Live(view, console=Screen(stderr=True), refresh_per_second=4, transient=True):
        yield view.update


class StudyProgress:
    """The progress of the study: each step is logged, and the last one is its status."""

    def __init__(self) -> None:
        self._step = ""

    def announce(self, step: str) -> None:
        """Log the next step."""
        self._step = step
        _logger.info("reproduce: %s", step)

    def status(self) -> str:
        """Return the last step."""
        return self._step


class EvolutionView:
    """Live view of a running evolution on a terminal; drawn from its progress, several times a second."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._evolution: Evolution | None = None

    def update(self, evolution: Evolution) -> None:
        """Take the evolution; its progress changes in place."""
        self._evolution = evolution

    def status(self) -> str:
        """Return the progress within the generation, in one line."""
        evolution = self._evolution
        if evolution is None or not evolution.progress.total:
            return ""
        progress = evolution.progress
        parts = ["finalists" if _is_final(evolution) else f"generation {_position(evolution)}"]
        parts.append(f"{progress.completed:,} of {progress.total:,} runs")
        if evolution.failures:
            parts.append(f"{evolution.failures:,} failed")
        return ", ".join(parts if not progress.new_runs else [*parts, f"{whole_duration(progress.seconds_left)} left"])

    def __rich__(self) -> RenderableType:
        title = Text(f"Evolving {self._name}", style="bold")
        if self._evolution is None:
            return Group(title, "", Padding("starting", (0, 0, 0, 2)))
        parts: list[RenderableType] = [title, "", Padding(_facts(self._evolution), (0, 0, 0, 2))]
        if self._evolution.generations:
            parts += ["", Padding(_best_heuristic(self._evolution), (0, 0, 0, 2))]
        return Group(*parts)


def _facts(evolution: Evolution) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=11, style="dim")
    grid.add_column()
    grid.add_row("comparison" if _is_final(evolution) else "generation", _stage(evolution))
    if evolution.generations:
        best, median = evolution.best_and_median(evolution.generations[-1])
        grid.add_row("best", Text.assemble((number(best), "bold"), f"   median {number(median)}"))
        if len(evolution.problems) > 1:
            grid.add_row("", Text("0: best, 1: median of the first generation", style="dim"))
        curve = [evolution.best_and_median(generation)[0] for generation in evolution.generations]
        grid.add_row("", Text(f"{bars(curve[-_MAX_CURVE_LENGTH:])}  by generation", style="dim"))
    grid.add_row("speed", _speed(evolution))
    if evolution.failures:
        reason = evolution.failure_reasons.most_common(1)[0][0]
        grid.add_row("failed", Text(f"{evolution.failures:,} runs: {reason}"))  # a reason may look like markup
    return grid


def _is_final(evolution: Evolution) -> bool:
    return evolution.progress.generation == FINAL


def _position(evolution: Evolution) -> str:
    return f"{evolution.progress.generation + 1} of {evolution.settings.generations}"


def _stage(evolution: Evolution) -> RenderableType:
    progress, row = evolution.progress, Table.grid(padding=(0, 2, 0, 0))
    bar = ProgressBar(total=max(progress.total, 1), completed=progress.completed, width=30, complete_style="bold")
    stage = "finalists" if _is_final(evolution) else _position(evolution)
    row.add_row(stage, bar, f"{progress.completed:,} of {progress.total:,} runs")
    return row


def _speed(evolution: Evolution) -> str:
    progress = evolution.progress
    return (
        f"{progress.rate:.0f} runs/s, {whole_duration(progress.seconds_left)} left" if progress.new_runs else "starting"
    )


def _best_heuristic(evolution: Evolution) -> RenderableType:
    best = evolution.generations[-1].population[0]
    description = bullets(best.describe(evolution.settings.budget), overflow="ellipsis", no_wrap=True)
    return Group(Text("best heuristic of the last generation", style="dim"), description)


def bars(values: list[float]) -> str:
    """Return numbers as bars of different heights; those that are not finite have the greatest height."""
    finite = [value for value in values if np.isfinite(value)]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    steps = len(_BARS) - 1
    heights = (steps if not np.isfinite(v) else round(steps * (v - low) / (high - low or 1.0)) for v in values)
    return "".join(_BARS[height] for height in heights)
