"""Assessments and comparisons."""

from __future__ import annotations

import math

from rich.console import RenderableType

from robustforge.cli.terminal import (
    Text,
    columns,
    number,
    show,
    title,
)
from robustforge.formatting import count
from robustforge.tables import Record

_DIGITS = 4
"""Significant digits of the numbers in the tables."""

_MEASURES = {"value": "worst of the samples", "attacked": "attacked worst case"}


def show_assessment(payload: Record) -> None:
    """Print the values of each contestant on each problem."""
    parts: list[RenderableType] = []
    attacked = _is_attacked(payload)
    for name in dict.fromkeys(row["contestant"] for row in payload["summaries"]):
        rows = [row for row in payload["summaries"] if row["contestant"] == name]
        first = rows[0]
        parts += [title(f"{name}: {count(first['runs'], 'run')} of {first['budget']:,} evaluations"), ""]
        table = columns("problem", "mean", "+-", "quartiles", "nominal", *(["attacked"] if attacked else []))
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
    samples = payload["summaries"][0]["samples"]
    note = f"Mean and quartiles of the worst of {samples:,} samples around each design, a lower bound; +-: one "
    note += "standard error."
    note += " Attacked: mean of the worst values that attacks found." if attacked else ""
    show(*parts, *_failures(payload), Text(note, style="dim"))


def show_comparison(payload: Record) -> None:
    """Print a comparison of the contestants on each problem, with the tests."""
    parts: list[RenderableType] = []
    summaries = {(row["problem"], row["contestant"]): row for row in payload["summaries"]}
    problems = dict.fromkeys(row["problem"] for row in payload["cells"])
    other = {"sampled": "mean"} if payload["measure"] == "attacked" else {"attacked": "attacked"}
    beside = other if _is_attacked(payload) else {}
    for problem in problems:
        rows = [row for row in payload["cells"] if row["problem"] == problem]
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
        parts += [_ranks(payload), ""]
    note = f"By {_MEASURES[payload['measure']]}, best first. * and bold: the best, and those not significantly "
    note += "different by Wilcoxon's rank-sum test at the 5% level (p; Holm: corrected for all tests here). A12: "
    note += "probability that a run of the best is better."
    show(*parts, *_failures(payload), Text(note, style="dim"))


def _ranks(payload: Record) -> RenderableType:
    table = columns("over all problems", "average rank", "best on", "best or tied on")
    for row in sorted(payload["ranks"], key=lambda row: row["average_rank"]):
        table.add_row(row["contestant"], f"{row['average_rank']:.2f}", str(row["best_on"]), str(row["tied_on"]))
    return table


def _failures(payload: Record) -> list[RenderableType]:
    if not payload["failures"]:
        return []
    return [Text(f"{count(payload['failures'], 'run')} failed; the first: {payload['reason']}"), ""]


def _is_attacked(payload: Record) -> bool:
    return not all(math.isnan(row["attacked"]) for row in payload["summaries"])


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"
