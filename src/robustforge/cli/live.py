"""An evolution as it goes on: a view that stays in place on a terminal, dated lines elsewhere."""

from __future__ import annotations

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
from robustforge.cli.layout import Screen, Text, duration, number
from robustforge.evolution import Evolution, Generation
from robustforge.store import FINAL

_BARS = "▁▂▃▄▅▆▇█"
_WIDEST_CURVE = 48


@contextmanager
def watching(evolution: Evolution) -> Iterator[Callable[[Evolution], Any]]:
    """Show an evolution on stderr while it is bred; yields what is to be called after each generation."""
    if not log.on_terminal():
        with log.lines(f"evolve {evolution.name}", lambda: stage_line(evolution)) as say:
            yield Lines(say)
        return
    with Live(View(evolution), console=Screen(stderr=True), refresh_per_second=4, transient=True):
        yield lambda going: None


class Lines:
    """Prints a line per generation, but for those that were in the store already."""

    def __init__(self, say: log.Say) -> None:
        self._say, self._made, self._name = say, 0, ""

    def __call__(self, evolution: Evolution) -> None:
        progress = evolution.progress
        if evolution.name != self._name:
            self._name, self._made = evolution.name, 0
        if progress.made == self._made:
            return
        if self._made == 0 and progress.found:
            self._say(f"going on; {progress.found:,} runs are in the store")
        self._made = progress.made
        self._say(generation_line(evolution))


def stage_line(evolution: Evolution) -> str:
    """Return how far an evolution is, in one line."""
    progress = evolution.progress
    if not progress.wanted:
        return ""
    stage = "finalists" if progress.generation == FINAL else f"generation {progress.generation + 1}"
    parts = [f"{stage} of {evolution.settings.generations}" if progress.generation != FINAL else stage]
    parts.append(f"{progress.done:,} of {progress.wanted:,} runs")
    if evolution.failures:
        parts.append(f"{evolution.failures:,} failed")
    return ", ".join(parts if not progress.made else [*parts, f"{duration(progress.seconds_left)} left"])


def generation_line(evolution: Evolution) -> str:
    """Return the last generation in one line."""
    last = evolution.generations[-1]
    best, median = evolution.best_and_median(last)
    parts = [
        f"generation {last.number + 1}/{evolution.settings.generations}",
        f"best {number(best)}",
        f"median {number(median)}",
    ]
    progress = evolution.progress
    return "  ".join([*parts, f"{progress.rate:.0f} runs/s", f"{duration(progress.seconds_left)} left"])


class View:
    """What a terminal shows of an evolution; drawn anew four times a second from its progress."""

    def __init__(self, evolution: Evolution) -> None:
        self._evolution = evolution

    def __rich__(self) -> RenderableType:
        evolution = self._evolution
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=11, style="dim")
        grid.add_column()
        grid.add_row(*self._stage())
        if evolution.generations:
            best, median = evolution.best_and_median(evolution.generations[-1])
            scale = "" if len(evolution.problems) == 1 else "   (0: best, 1: median of the first)"
            figures = Text.assemble((number(best), "bold"), f"   median {number(median)}", (scale, "dim"))
            grid.add_row("best", figures)
            grid.add_row("", self._curve())
        grid.add_row("speed", self._speed())
        if evolution.failures:
            reason = evolution.reasons.most_common(1)[0][0]
            grid.add_row("failed", Text(f"{evolution.failures:,} runs: {reason}"))  # a reason may look like markup
        parts: list[RenderableType] = [
            Text(f"Breeding {evolution.name}", style="bold"),
            "",
            Padding(grid, (0, 0, 0, 2)),
        ]
        if evolution.generations:
            parts += ["", Padding(self._heuristic(evolution.generations[-1]), (0, 0, 0, 2))]
        return Group(*parts)

    def _stage(self) -> tuple[str, RenderableType]:
        evolution, progress = self._evolution, self._evolution.progress
        final = progress.generation == FINAL
        number_of = "finalists" if final else f"{progress.generation + 1} of {evolution.settings.generations}"
        row = Table.grid(padding=(0, 2, 0, 0))
        bar = ProgressBar(total=max(progress.wanted, 1), completed=progress.done, width=30, complete_style="bold")
        row.add_row(number_of, bar, f"{progress.done:,} of {progress.wanted:,} runs")
        return ("last round" if final else "generation"), row

    def _curve(self) -> RenderableType:
        """Return the best of each generation as a row of bars."""
        best = [self._evolution.best_and_median(generation)[0] for generation in self._evolution.generations]
        return Text(f"{bars(best[-_WIDEST_CURVE:])}  by generation", style="dim")

    def _speed(self) -> str:
        progress = self._evolution.progress
        if not progress.made:
            return "starting"
        return f"{progress.rate:.0f} runs a second, {duration(progress.seconds_left)} left"

    def _heuristic(self, last: Generation) -> RenderableType:
        lines = Table.grid(padding=(0, 1, 0, 0))
        lines.add_row("", Text("best of the last generation", style="dim"))
        for line in last.population[0].describe(self._evolution.settings.budget).splitlines():
            lines.add_row("-", Text(line.removeprefix("- "), overflow="ellipsis", no_wrap=True))
        return lines


def bars(values: list[float]) -> str:
    """Return numbers as bars of different height; what is not finite as the highest."""
    finite = [value for value in values if np.isfinite(value)]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    steps = len(_BARS) - 1
    heights = (steps if not np.isfinite(v) else round(steps * (v - low) / (high - low or 1.0)) for v in values)
    return "".join(_BARS[height] for height in heights)
