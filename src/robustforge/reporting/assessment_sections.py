"""The sections of contestants: box plots, the table of means with tests, the numbers of each problem, anytime curves.

Problems of the same dimension form a group, as in the paper: they are compared together, and p-values are corrected
within the group. Champions that were evolved for one problem each, and ran on it alone, share a column.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from robustforge.analysis import Dataset
from robustforge.analysis.dataset import problem_sort_key
from robustforge.assessment.comparison import Comparison, compare_runs
from robustforge.assessment.run_groups import group_runs, measured
from robustforge.assessment.summaries import anytime, summaries
from robustforge.formatting import count, mean_and_error, number, p_value
from robustforge.plotting.canvas import LINE_ROLES
from robustforge.plotting.experiment_plots import Contender
from robustforge.reporting import experiment_figures
from robustforge.store import AssessedRun
from robustforge.tables import Record

SPECIALIST = "evolved for it"
"""The common label of champions that were evolved for one problem each."""

_CONTROL = re.compile(r"centre$|random$|cma-es")
_MAX_COLOURED = 3
"""Contestants with a colour of their own, at most."""


@dataclass(frozen=True)
class ResultGroup:
    """Assessed runs that are compared: on problems of the same dimension, with the same number of samples.

    Attributes:
        dimension: The number of variables.
        samples: The number of samples: the worst of more is worse, so different numbers are not compared.
        runs: The assessed runs.
        kinds: The kind of each contestant by its label: "evolved", "comparator" or "control".
    """

    dimension: int
    samples: int
    runs: tuple[AssessedRun, ...]
    kinds: Mapping[str, str]


def result_groups(dataset: Dataset) -> list[ResultGroup]:
    """Return the assessed runs in groups of the same dimension and number of samples."""
    evolved = {evolution.champion.id for evolution in dataset.evolutions if evolution.champion is not None}
    groups: dict[tuple[int, int], list[AssessedRun]] = defaultdict(list)
    for run in sorted(dataset.assessed_runs, key=lambda run: problem_sort_key(run.problem_name)):
        groups[int(json.loads(run.problem).get("dimension", 0)), run.samples].append(run)
    return [_result_group(*key, _merged(runs, dataset), evolved) for key, runs in sorted(groups.items())]


def results(group: ResultGroup) -> Record:
    """Return the results of a group: figures, the table of means, ranks, and the numbers of each problem."""
    compared, rows = compare_runs(group.runs), summaries(group.runs)
    return {
        "size": group.dimension,
        "key": f"{group.dimension}-{group.samples}",
        "heading": f"{count(group.dimension, 'variable')}, worst of {group.samples:,} samples",
        "contestants": [{"name": name, "kind": group.kinds[name]} for name in compared.contestants],
        "figures": [_box_plot(group, compared, problem) for problem in compared.problems],
        "means": _means(compared),
        "ranks": _ranks(group, compared),
        "problems": [_numbers(group, compared, problem, rows) for problem in compared.problems],
        "runs": f"{len(group.runs):,}",
        "has_evolved": "evolved" in group.kinds.values(),
        "has_specialist": SPECIALIST in group.kinds,
        "samples": " or ".join(f"{samples:,}" for samples in sorted({run.samples for run in group.runs})),
        "attacked": any(run.attack for run in group.runs),
    }


def anytime_figures(group: ResultGroup) -> list[Record]:
    """Return the anytime curves of a group, a figure per problem."""
    rows = [row for row in anytime(group.runs) if math.isfinite(row["mean"])]
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    return [_curve(group, problem, [row for row in rows if row["problem"] == problem]) for problem in problems]


def _result_group(dimension: int, samples: int, runs: Sequence[AssessedRun], evolved: set[str]) -> ResultGroup:
    kinds = {label: _kind(own[0], evolved) for (_, label), own in group_runs(runs).items()}
    return ResultGroup(dimension, samples, tuple(runs), kinds)


def _kind(run: AssessedRun, evolved: set[str]) -> str:
    """Return the kind of a contestant; any other optimiser is a comparator."""
    if run.contestant in evolved or run.contestant == SPECIALIST:
        return "evolved"
    return "control" if _CONTROL.match(run.contestant) else "comparator"


def _merged(runs: Sequence[AssessedRun], dataset: Dataset) -> list[AssessedRun]:
    """Return runs with one common name for champions that were evolved for one problem each and ran on it alone."""
    evolved_for = {
        evolution.champion.id: evolution.problems[0]
        for evolution in dataset.evolutions
        if evolution.champion is not None and len(evolution.problems) == 1
    }
    assessed_on: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        assessed_on[run.contestant].add(run.problem_name)
    specialists = {id for id, problem in evolved_for.items() if assessed_on.get(id) == {problem}}
    problems = {evolved_for[id] for id in specialists}
    if len(problems) < 2 or len(specialists) > len(problems):
        return list(runs)
    return [
        replace(run, name=SPECIALIST, contestant=SPECIALIST) if run.contestant in specialists else run for run in runs
    ]


def _contenders(group: ResultGroup, labels: Sequence[str], strong: set[str]) -> list[Contender]:
    """Return contestants with colours for those that were evolved, else for the first few; controls are dashed."""
    coloured = [label for label in labels if group.kinds[label] == "evolved"][:_MAX_COLOURED]
    coloured = coloured or [label for label in labels if group.kinds[label] != "control"][:_MAX_COLOURED]
    return [
        Contender(
            label,
            LINE_ROLES[coloured.index(label)]
            if label in coloured
            else "soft"
            if group.kinds[label] != "control"
            else "muted",
            is_dashed=group.kinds[label] == "control",
            is_strong=label in strong,
        )
        for label in labels
    ]


def _box_plot(group: ResultGroup, compared: Comparison, problem: str) -> Record:
    cells = sorted((row for row in compared.cells if row["problem"] == problem), key=lambda row: row["mean"])
    groups = group_runs(group.runs)
    values = {row["contestant"]: measured(groups[problem, row["contestant"]], "value") for row in cells}
    tied = {row["contestant"] for row in cells if row["is_tied"]}
    contenders = _contenders(group, [row["contestant"] for row in cells], tied)
    best = next(row for row in cells if row["is_best"])
    others = len(tied) - 1
    caption = f"Best: {best['contestant']}, {number(best['mean'])} as the mean of {count(best['runs'], 'run')}"
    caption += f"; {count(others, 'other')} not significantly different." if others else "; all others are worse."
    svg = experiment_figures.box_plots(
        f"box-{group.dimension}-{group.samples}-{_slug(problem)}",
        f"Results on {problem}. {caption}",
        contenders,
        values,
        _MEASURE,
    )
    return {"title": problem, "svg": svg, "caption": caption if len(cells) > 1 else caption.split(";")[0] + "."}


def _curve(group: ResultGroup, problem: str, rows: Sequence[Record]) -> Record:
    last = {row["contestant"]: row["mean"] for row in rows}
    labels = sorted(last, key=lambda label: last[label])
    plain = _contenders(group, labels, set())
    contenders = [replace(each, is_strong=each.role in LINE_ROLES) for each in plain]
    caption = f"Lowest at the end: {labels[0]}, {number(last[labels[0]])}."
    key = f"anytime-{group.dimension}-{group.samples}-{_slug(problem)}"
    svg = experiment_figures.anytime(key, f"Anytime curves on {problem}. {caption}", contenders, rows, _MEASURE)
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


def _ranks(group: ResultGroup, compared: Comparison) -> list[Record]:
    ran = defaultdict(set)
    for row in compared.cells:
        ran[row["contestant"]].add(row["problem"])
    rows = sorted(compared.ranks, key=lambda row: (row["average_rank"] != row["average_rank"], row["average_rank"]))
    return [
        {
            "name": row["contestant"],
            "kind": group.kinds[row["contestant"]],
            "rank": number(row["average_rank"], 3),
            "shared": row["problems"],
            "best": row["best_on"],
            "tied": row["tied_on"],
            "ran": len(ran[row["contestant"]]),
        }
        for row in rows
    ]


def _numbers(group: ResultGroup, compared: Comparison, problem: str, rows: Sequence[Record]) -> Record:
    """Return the numbers of a problem: nominal values, worst cases and tests of each contestant."""
    tests = {row["contestant"]: row for row in compared.cells if row["problem"] == problem}
    own = sorted((row for row in rows if row["problem"] == problem), key=lambda row: tests[row["contestant"]]["mean"])
    return {
        "problem": problem,
        "rows": [
            {
                "name": row["contestant"],
                "kind": group.kinds[row["contestant"]],
                "budget": f"{row['budget']:,}",
                "runs": f"{row['runs']:,}" + (f" ({row['failures']:,} failed)" if row["failures"] else ""),
                "nominal": number(row["nominal"]),
                "mean": mean_and_error(row["mean"], row["se"]),
                "attacked": mean_and_error(row["attacked"], row["attacked_se"]),
                "quartiles": [number(row[key]) for key in ("q1", "median", "q3")],
                "p": "" if test["is_best"] else p_value(test["p"]),
                "p_holm": "" if test["is_best"] else p_value(test["p_holm"]),
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
