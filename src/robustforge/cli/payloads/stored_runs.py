"""The payload of `runs`: the content of a store, and the runs of a search as CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence

import numpy as np

from robustforge.analysis.dataset import check_settings
from robustforge.simulator.prior_runs import VALUE_COLUMN
from robustforge.solver import stored_problem
from robustforge.store import FINAL, SEARCH, SOLVE, VERIFY, AssessedRun, Experiment, Store, reporting_damage
from robustforge.store.lock_file import LockFile
from robustforge.tables import Record


def run_rows(path: str) -> list[Record]:
    """Return the content of a store: evolutions and searches with their progress, and assessments."""
    with Store.read(path) as store, reporting_damage(store.path):
        held = LockFile.is_held(store.path)
        evolved = [_run_row(store, experiment, held) for experiment in store.experiments()]
        searched = [_search_row(store, experiment, held) for experiment in store.experiments(SEARCH)]
        return [*evolved, *searched, *_assessed_rows(store.assessed_runs())]


def write_runs(path: str, name: str | None, output: str) -> tuple[int, int]:
    """Write the successful runs of a search as CSV, for `data` of a problem file.

    Returns:
        The numbers of successful and of failed runs.
    """
    with Store.read(path) as store, reporting_damage(store.path):
        experiment = store.select(name, SEARCH)
        variables, rows = stored_problem(store, experiment).variables, store.evaluations(experiment)
        written = [[*variables.decode(np.array(row.x)).values(), row.value] for row in rows if not row.failure]
    with open(output, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*variables.names, VALUE_COLUMN])
        for row in written:
            writer.writerow(map(repr, row))
    return len(written), len(rows) - len(written)


def _run_row(store: Store, experiment: Experiment, writing: bool) -> Record:
    settings = experiment.settings
    check_settings(settings)
    check_counts(settings, "generations", "seed")
    generations = [number for number in store.members(experiment) if number != FINAL]
    runs, failures = store.count_runs(experiment)
    return {
        "name": experiment.name,
        "kind": experiment.kind,
        "problems": [problem["name"] for problem in settings["problems"]],
        "generation": len(generations),
        "generations": settings["generations"],
        "finished": experiment.champion is not None,
        "state": "finished" if experiment.champion else "running" if writing else "interrupted",
        "runs": runs,
        "failures": failures,
        "champion": experiment.champion,
        "seed": settings["seed"],
        "grammar": experiment.grammar["name"],
        "fingerprint": experiment.grammar["fingerprint"],
        "started": experiment.started,
        "ended": experiment.ended,
        "settings": settings,
    }


def _search_row(store: Store, experiment: Experiment, held: bool) -> Record:
    """Return the progress of a search for a design."""
    check_counts(experiment.settings, "budget", "seed")
    rows = store.evaluations(experiment)
    return {
        "kind": SEARCH,
        "name": experiment.name,
        "variables": len(experiment.settings["variables"]),
        "runs": sum(row.part == SOLVE for row in rows),
        "budget": experiment.settings["budget"],
        "verified": sum(row.part == VERIFY for row in rows),
        "failures": sum(bool(row.failure) for row in rows),
        "state": _search_state(experiment, held),
        "started": experiment.started,
        "ended": experiment.ended,
    }


def _search_state(experiment: Experiment, held: bool) -> str:
    if experiment.ended:
        return "finished"
    return "running" if held else "interrupted" if experiment.settings["model"] else "waiting for values"


def _assessed_rows(runs: Sequence[AssessedRun]) -> list[Record]:
    groups: dict[tuple[str, int, int], list[AssessedRun]] = {}
    for run in runs:
        groups.setdefault((run.name, run.budget, run.samples), []).append(run)
    return [
        {
            "name": name,
            "kind": "assessment",
            "problems": list(dict.fromkeys(run.problem_name for run in group)),
            "budget": budget,
            "samples": samples,
            "runs": len(group),
            "failures": sum(bool(run.failure) for run in group),
        }
        for (name, budget, samples), group in groups.items()
    ]


def check_counts(settings: Record, *names: str) -> None:
    """Raise `ValueError` if settings that must be counts are not."""
    for name in names:
        if not isinstance(settings[name], int) or settings[name] < 0:
            raise ValueError(f"the settings' {name} is {settings[name]!r}")
