"""What `assess` and `compare` hand out, as plain data and on a screen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import robustforge as rf
from robustforge.assessment import Assessment
from robustforge.assessment.comparison import Measure
from robustforge.cli import log
from robustforge.cli.layout import Screen, Text, columns, duration, number, show, title
from robustforge.cli.listings import Record
from robustforge.errors import ProblemError
from robustforge.tables import Table

ASSESSMENT_FORMAT = "robustforge-assessment/1"
COMPARISON_FORMAT = "robustforge-comparison/1"

_DIGITS = 4
"""Of the numbers in a table, of which many stand side by side."""

_MEASURES = {"value": "worst of the samples", "attacked": "attacked worst case"}


def assessed(what: str, contestants: Any, problems: Any, **options: Any) -> Assessment:
    """Assess, with a bar on a terminal and dated lines elsewhere.

    Args:
        what: The command, as the head of each line.
        contestants: Who.
        problems: On what.
        **options: As for `rf.assess`.
    """
    with _watching(what) as callback:
        return rf.assess(list(contestants), problems, callback=callback, **options)


@contextmanager
def _watching(what: str) -> Iterator[Any]:
    if not log.on_terminal():
        shown = _Lines()
        with log.lines(what, shown.status) as shown.say:
            yield shown
        return
    parts = (TextColumn("runs"), BarColumn(complete_style="bold"), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*parts, console=Screen(stderr=True), transient=True) as bar:
        task = bar.add_task("runs", total=None)
        yield lambda going: bar.update(task, total=going.wanted, completed=going.found + going.made)


class _Lines:
    """Prints a line whenever another tenth of the runs is done."""

    def __init__(self) -> None:
        self._tenth, self._status = 0, ""
        self.say: log.Say = lambda text: None

    def __call__(self, going: Any) -> None:
        done = going.found + going.made
        left = f", {duration(going.seconds_left)} left" if done < going.wanted else ""
        self._status = f"{done:,} of {going.wanted:,} runs{left}"
        tenth = 10 * done // going.wanted
        if tenth > self._tenth:
            self._tenth = tenth
            self.say(self._status)

    def status(self) -> str:
        """Return how far it is; nothing before the first run."""
        return self._status


def assessment_record(found: Assessment, store: str) -> Record:
    """Return an assessment as plain data."""
    return {
        "format": ASSESSMENT_FORMAT,
        **_head(found, store),
        "summaries": found.summaries(),
        "anytime": found.anytime(),
    }


def comparison_record(found: Assessment, measure: Measure, store: str) -> Record:
    """Return a comparison as plain data."""
    compared = found.comparison(measure)
    return {
        "format": COMPARISON_FORMAT,
        **_head(found, store),
        "measure": measure,
        "cells": compared.cells,
        "ranks": compared.ranks,
        "summaries": found.summaries(),
    }


def _head(found: Assessment, store: str) -> Record:
    reasons = [run.failure for run in found.runs if run.failure]
    return {
        "store": store,
        "runs": len(found.runs),
        "new_runs": found.new,
        "failures": len(reasons),
        "reason": reasons[0] if reasons else None,
    }


def check_csv(path: str | None) -> None:
    """Refuse a file in a folder that is not there, before the runs and not after them."""
    if path and not Path(path).absolute().parent.is_dir():
        raise ProblemError("--csv must be in a folder that exists", f"got {path}", "Create the folder first")


def save_csv(table: Table, path: str | None) -> None:
    """Write a table as CSV, if a file is named."""
    if path:
        Path(path).write_text(table.to_csv(), encoding="utf-8")


def show_assessment(record: Record) -> None:
    """Print what each contestant reaches on each problem."""
    parts: list[RenderableType] = []
    attacked = _is_attacked(record)
    for name in dict.fromkeys(row["contestant"] for row in record["summaries"]):
        rows = [row for row in record["summaries"] if row["contestant"] == name]
        first = rows[0]
        parts += [title(f"{name}: {_runs(first['runs'])} of {first['budget']:,} evaluations"), ""]
        table = columns("problem", "mean", "+-", "quartiles", "as designed", *(["attacked"] if attacked else []))
        for row in rows:
            spread = f"{number(row['q1'], _DIGITS)} to {number(row['q3'], _DIGITS)}"
            table.add_row(
                row["problem"],
                Text(number(row["mean"], _DIGITS), style="bold"),
                number(row["se"], 2),
                spread,
                number(row["nominal"], _DIGITS),
                *([number(row["attacked"], _DIGITS)] if attacked else []),
            )
        parts += [table, ""]
    samples = record["summaries"][0]["samples"]
    words = (
        f"Mean and quartiles of the worst of {samples:,} samples around each design, an estimate from below; +-: one "
    )
    words += "standard error."
    words += " Attacked: mean of the worst that a search around each design found." if attacked else ""
    show(*parts, *_troubles(record), Text(words, style="dim"))


def show_comparison(record: Record) -> None:
    """Print contestants side by side on each problem, with their tests."""
    parts: list[RenderableType] = []
    summaries = {(row["problem"], row["contestant"]): row for row in record["summaries"]}
    problems = dict.fromkeys(row["problem"] for row in record["cells"])
    other = {"sampled": "mean"} if record["measure"] == "attacked" else {"attacked": "attacked"}
    beside = other if _is_attacked(record) else {}
    for problem in problems:
        rows = [row for row in record["cells"] if row["problem"] == problem]
        table = columns("contestant", "runs", "mean", "median", *beside, "p", "Holm", "A12")
        for row in sorted(rows, key=lambda row: (row["mean"], not row["is_best"])):
            style = "bold" if row["is_tied"] else ""
            whole = summaries[problem, row["contestant"]]
            tests = ("", "", "") if row["is_best"] else (_p(row["p"]), _p(row["p_holm"]), f"{row['a12']:.2f}")
            values = (row["mean"], row["median"], *(whole[key] for key in beside.values()))
            name = f"{row['contestant']} *" if row["is_tied"] else row["contestant"]
            cells = (name, str(row["runs"]), *(number(value, _DIGITS) for value in values), *tests)
            table.add_row(*(Text(cell, style=style) for cell in cells))
        parts += [title(problem), table, ""]
    if len(problems) > 1:
        parts += [_ranks(record), ""]
    words = (
        f"By {_MEASURES[record['measure']]}, the best first; * and bold: the best, and who cannot be told from it by "
    )
    words += "Wilcoxon's rank-sum test at 95% (p; Holm: corrected for all tests here). A12: chance that a run of the "
    words += "best is better."
    show(*parts, *_troubles(record), Text(words, style="dim"))


def _ranks(record: Record) -> RenderableType:
    table = columns("over all problems", "average rank", "best on", "best or tied on")
    for row in sorted(record["ranks"], key=lambda row: row["average_rank"]):
        table.add_row(row["contestant"], f"{row['average_rank']:.2f}", str(row["best_on"]), str(row["tied_on"]))
    return table


def _troubles(record: Record) -> list[RenderableType]:
    if not record["failures"]:
        return []
    return [Text(f"{_runs(record['failures'])} failed, the first with: {record['reason']}"), ""]


def _runs(count: int) -> str:
    return f"{count:,} run{'' if count == 1 else 's'}"


def _is_attacked(record: Record) -> bool:
    return not all(math.isnan(row["attacked"]) for row in record["summaries"])


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"
