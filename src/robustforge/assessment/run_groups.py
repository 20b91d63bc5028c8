"""Assessed runs, grouped by problem and contestant, with a distinct label for each group."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from robustforge.store import AssessedRun

Floats = npt.NDArray[np.float64]
Measure = Literal["value", "attacked", "nominal"]
"""The value by which runs are compared: the sampled, attacked or nominal value."""

Groups = dict[tuple[str, str], list[AssessedRun]]
"""Runs by the labels of their problem and their contestant."""

_Key = tuple[str, int, int]
"""A contestant: its id, its budget and the number of samples."""


def group_runs(runs: Sequence[AssessedRun]) -> Groups:
    """Return runs by problem and contestant, in their order.

    A contestant is identified by its id, its budget and the number of samples. Its label is its last name, followed by
    the budget, the samples or the start of its id if several have the same name.
    """
    preferred: dict[tuple[_Key, str, int], AssessedRun] = {}
    for run in sorted(runs, key=lambda run: run.attack):  # a run with an attack replaces the one without
        preferred[_key(run), run.problem, run.seed] = run
    kept = [run for run in runs if preferred[_key(run), run.problem, run.seed] is run]
    names = {_key(run): run.name for run in kept}
    labels = _distinct_labels(list(names), [list(names.values()), *_SUFFIXES])
    texts = list(dict.fromkeys(run.problem for run in kept))
    suffixes = [[_problem_name(text) for text in texts], _out_of_bounds_suffix, _number_suffix(texts)]
    problems = _distinct_labels(texts, suffixes)
    groups: Groups = defaultdict(list)
    for run in kept:
        groups[problems[run.problem], labels[_key(run)]].append(run)
    return dict(groups)


def measured(runs: Sequence[AssessedRun], measure: Measure) -> Floats:
    """Return one number per run; +inf for a failed run."""
    return np.array([np.inf if run.failure else getattr(run, measure) for run in runs])


def quartiles(values: Floats) -> Floats:
    """Return the quartiles; the nearest value to each if some values are infinite."""
    return np.asarray(np.percentile(values, (25, 50, 75), method="linear" if np.isfinite(values).all() else "nearest"))


def _key(run: AssessedRun) -> _Key:
    return run.contestant, run.budget, run.samples


_SUFFIXES: list[Callable[[_Key], str]] = [
    lambda key: f"@{key[1]}",
    lambda key: f" ({key[2]:,} samples)",
    lambda key: f" {key[0][:6]}",
]


def _distinct_labels(items: list[Any], parts: list[Any]) -> dict[Any, str]:
    """Return a label for each item: the first part, and suffixes where several items would share it.

    A suffix that is the same for all items with a label does not distinguish them, and is left out.
    """
    labels = dict(zip(items, parts[0], strict=True))
    for suffix in parts[1:]:
        sharing = defaultdict(list)
        for item, label in labels.items():
            sharing[label].append(item)
        for label, same in sharing.items():
            if len({suffix(item) for item in same}) > 1:
                labels.update((item, label.removesuffix(suffix(item)) + suffix(item)) for item in same)
    return labels


def _problem_name(text: str) -> str:
    return str(json.loads(text)["name"])


def _out_of_bounds_suffix(text: str) -> str:
    return f" ({json.loads(text).get('outside', '')})"  # the persistent key of the out-of-bounds policy


def _number_suffix(texts: Iterable[str]) -> Callable[[str], str]:
    numbers = {text: f" #{number}" for number, text in enumerate(texts, 1)}
    return numbers.__getitem__
