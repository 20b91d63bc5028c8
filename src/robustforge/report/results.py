"""Contestants on the page: box plots, the table of means with its tests, the numbers of each problem, and curves.

Problems of as many variables stand together, as in the paper, and are compared and corrected together. Champions that
were bred for one problem each, and ran on that one alone, share a column.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from robustforge.analysis import Evidence
from robustforge.analysis.evidence import standing
from robustforge.assessment.comparison import Comparison, anytime, comparison, grouped, measured, summaries
from robustforge.report import figures
from robustforge.report.drawing import LINES
from robustforge.report.figures import Line
from robustforge.report.words import chance, count, number, with_error
from robustforge.store import Assessed
from robustforge.tables import Record

OWN_CHAMPION = "bred for it"

_CONTROL = re.compile(r"centre$|random$|cma-es")
_STRONG = 3
"""Colours that bred heuristics take, one after the other."""


@dataclass(frozen=True)
class Field:
    """The contestants on problems of as many variables, their designs worth the worst of as many samples.

    Attributes:
        size: How many variables.
        samples: How many samples: the worst of more is worse, so these are never mixed.
        runs: Their assessed runs.
        kinds: For each label, what it is: "bred", "comparator" or "control".
    """

    size: int
    samples: int
    runs: tuple[Assessed, ...]
    kinds: Mapping[str, str]


def fields(evidence: Evidence) -> list[Field]:
    """Return the assessed runs by the number of variables and of samples."""
    bred = {outcome.champion.id for outcome in evidence.outcomes if outcome.champion is not None}
    alike: dict[tuple[int, int], list[Assessed]] = defaultdict(list)
    for run in sorted(evidence.assessed, key=lambda run: standing(run.problem_name)):
        alike[int(json.loads(run.problem).get("dimension", 0)), run.samples].append(run)
    return [_field(*numbers, _merged(runs, evidence), bred) for numbers, runs in sorted(alike.items())]


def results(field: Field) -> Record:
    """Return the results of a field: figures, the table of means, ranks, and the numbers of each problem."""
    compared, rows = comparison(field.runs), summaries(field.runs)
    return {
        "size": field.size,
        "key": f"{field.size}-{field.samples}",
        "heading": f"{count(field.size, 'variable')}, worst of {field.samples:,} samples",
        "contestants": [{"name": name, "kind": field.kinds[name]} for name in compared.contestants],
        "figures": [_boxes(field, compared, problem) for problem in compared.problems],
        "means": _means(compared),
        "ranks": _ranks(field, compared),
        "problems": [_numbers(field, compared, problem, rows) for problem in compared.problems],
        "runs": f"{len(field.runs):,}",
        "has_bred": "bred" in field.kinds.values(),
        "has_own": OWN_CHAMPION in field.kinds,
        "samples": " or ".join(f"{samples:,}" for samples in sorted({run.samples for run in field.runs})),
        "attacked": any(run.attack for run in field.runs),
    }


def curves(field: Field) -> list[Record]:
    """Return the anytime curves of a field, a figure per problem that has some."""
    rows = [row for row in anytime(field.runs) if math.isfinite(row["mean"])]
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    return [_curve(field, problem, [row for row in rows if row["problem"] == problem]) for problem in problems]


def _field(size: int, samples: int, runs: Sequence[Assessed], bred: set[str]) -> Field:
    kinds = {label: _kind(group[0], bred) for (_, label), group in grouped(runs).items()}
    return Field(size, samples, tuple(runs), kinds)


def _kind(run: Assessed, bred: set[str]) -> str:
    """Say what a contestant is; who is no heuristic of ours came from outside, to compare with."""
    if run.contestant in bred or run.contestant == OWN_CHAMPION:
        return "bred"
    return "control" if _CONTROL.match(run.contestant) else "comparator"


def _merged(runs: Sequence[Assessed], evidence: Evidence) -> list[Assessed]:
    """Give one name to champions that were bred for one problem each, if they ran on nothing else and are several."""
    homes = {
        outcome.champion.id: outcome.problems[0]
        for outcome in evidence.outcomes
        if outcome.champion is not None and len(outcome.problems) == 1
    }
    places: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        places[run.contestant].add(run.problem_name)
    own = {id for id, home in homes.items() if places.get(id) == {home}}
    if len({homes[id] for id in own}) < 2 or len(own) > len({homes[id] for id in own}):
        return list(runs)
    return [replace(run, name=OWN_CHAMPION, contestant=OWN_CHAMPION) if run.contestant in own else run for run in runs]


def _lines(field: Field, labels: Sequence[str], strong: set[str]) -> list[Line]:
    """Give colours to contestants: to those that were bred, else to the first few; controls are muted and dashed."""
    coloured = [label for label in labels if field.kinds[label] == "bred"][:_STRONG]
    coloured = coloured or [label for label in labels if field.kinds[label] != "control"][:_STRONG]
    return [
        Line(
            label,
            LINES[coloured.index(label)]
            if label in coloured
            else "soft"
            if field.kinds[label] != "control"
            else "muted",
            is_dashed=field.kinds[label] == "control",
            is_strong=label in strong,
        )
        for label in labels
    ]


def _boxes(field: Field, compared: Comparison, problem: str) -> Record:
    cells = sorted((row for row in compared.cells if row["problem"] == problem), key=lambda row: row["mean"])
    groups = grouped(field.runs)
    values = {row["contestant"]: measured(groups[problem, row["contestant"]], "value") for row in cells}
    tied = {row["contestant"] for row in cells if row["is_tied"]}
    lines = _lines(field, [row["contestant"] for row in cells], tied)
    best = next(row for row in cells if row["is_best"])
    others = len(tied) - 1
    caption = f"Best: {best['contestant']}, {number(best['mean'])} in the mean of {count(best['runs'], 'run')}"
    caption += f"; {count(others, 'other')} not distinguishable from it." if others else "; all others are worse."
    svg = figures.boxes(
        f"box-{field.size}-{field.samples}-{_slug(problem)}",
        f"Results on {problem}. {caption}",
        lines,
        values,
        _MEASURE,
    )
    return {"title": problem, "svg": svg, "caption": caption if len(cells) > 1 else caption.split(";")[0] + "."}


def _curve(field: Field, problem: str, rows: Sequence[Record]) -> Record:
    last = {row["contestant"]: row["mean"] for row in rows}
    labels = sorted(last, key=lambda label: last[label])
    lines = _lines(field, labels, set())
    coloured = [line.name for line in lines if line.role in LINES]
    lines = [replace(line, is_strong=line.name in coloured) for line in lines]
    caption = f"Lowest at the end: {labels[0]}, {number(last[labels[0]])}."
    key = f"anytime-{field.size}-{field.samples}-{_slug(problem)}"
    svg = figures.anytime(key, f"Anytime curves on {problem}. {caption}", lines, rows, _MEASURE)
    return {"title": problem, "svg": svg, "caption": caption}


def _means(compared: Comparison) -> list[Record]:
    """Return a row per problem with a cell per contestant."""
    found = {(row["problem"], row["contestant"]): row for row in compared.cells}
    return [
        {"problem": problem, "cells": [_cell(found.get((problem, label))) for label in compared.contestants]}
        for problem in compared.problems
    ]


def _cell(row: Record | None) -> Record:
    if row is None:
        return {"text": "", "is_tied": False, "is_best": False}
    return {"text": number(row["mean"]), "is_tied": row["is_tied"], "is_best": row["is_best"]}


def _ranks(field: Field, compared: Comparison) -> list[Record]:
    ran = defaultdict(set)
    for row in compared.cells:
        ran[row["contestant"]].add(row["problem"])
    rows = sorted(compared.ranks, key=lambda row: (row["average_rank"] != row["average_rank"], row["average_rank"]))
    return [
        {
            "name": row["contestant"],
            "kind": field.kinds[row["contestant"]],
            "rank": number(row["average_rank"], 3),
            "shared": row["problems"],
            "best": row["best_on"],
            "tied": row["tied_on"],
            "ran": len(ran[row["contestant"]]),
        }
        for row in rows
    ]


def _numbers(field: Field, compared: Comparison, problem: str, rows: Sequence[Record]) -> Record:
    """Return all there is to say about a problem: what was reached, as designed and in the worst case, and tests."""
    tests = {row["contestant"]: row for row in compared.cells if row["problem"] == problem}
    own = sorted((row for row in rows if row["problem"] == problem), key=lambda row: tests[row["contestant"]]["mean"])
    return {
        "problem": problem,
        "rows": [
            {
                "name": row["contestant"],
                "kind": field.kinds[row["contestant"]],
                "budget": f"{row['budget']:,}",
                "runs": f"{row['runs']:,}" + (f" ({row['failures']:,} failed)" if row["failures"] else ""),
                "nominal": number(row["nominal"]),
                "mean": with_error(row["mean"], row["se"]),
                "attacked": with_error(row["attacked"], row["attacked_se"]),
                "quartiles": [number(row[key]) for key in ("q1", "median", "q3")],
                "p": "" if test["is_best"] else chance(test["p"]),
                "p_holm": "" if test["is_best"] else chance(test["p_holm"]),
                "a12": "" if test["is_best"] else f"{test['a12']:.2f}",
                "is_best": test["is_best"],
                "is_tied": test["is_tied"],
            }
            for row in own
            for test in (tests[row["contestant"]],)
        ],
    }


def _slug(name: str) -> str:
    """Return a name as a part of an id."""
    return "".join(each if each.isascii() and each.isalnum() else f"-{ord(each):x}-" for each in name)


_MEASURE = "worst case of the design"
