"""What `evolve`, `runs` and `champion` do and hand out: an evolution as plain data, a store's experiments likewise."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import robustforge as rf
from robustforge.analysis.evidence import check_settings
from robustforge.cli import records
from robustforge.cli.frame import VARIANTS
from robustforge.cli.listings import Record
from robustforge.cli.objectives import DEFAULT_DIMENSION, load_problems
from robustforge.errors import EvolutionError, ProblemError, StoreError
from robustforge.evolution import Evolution
from robustforge.evolution.entry import carry_out, default_name, make_settings
from robustforge.execution import connect
from robustforge.heuristic import Grammar, Heuristic
from robustforge.problem import Problem, as_problems
from robustforge.store import FINAL, SEARCH, SOLVE, VERIFY, Assessed, Experiment, Store, damage
from robustforge.store.lock import Lock

EVOLUTION_FORMAT = "robustforge-evolution/1"

ALL = "all"


def chosen_problems(
    names: Sequence[str], objective: str | None, given: Mapping[str, Any], variants: str | None = None
) -> tuple[Problem, ...]:
    """Return the problems of an evolution: test problems by name, or those behind `--objective`.

    Args:
        names: Test problems; "all" for all ten.
        objective: A module and a name in it.
        given: The options of a problem; `dimension` is `None` where nobody said.
        variants: Several variants with commas between them, or "all"; then each problem is there in each of them.
    """
    if objective is not None:
        if names:
            raise EvolutionError("problems come by name or by --objective", "both were given", "Leave one out")
        if given["variant"] != "original" or given["outside"] != "evaluate" or variants:
            fact = "--variant or --outside was given with --objective"
            raise EvolutionError("variants and policies are for test problems", fact, "Set them in your Problem")
        return as_problems(load_problems(objective, given["dimension"]))
    if not names:
        raise ProblemError("a problem is needed", "none was named", "Name one, e.g. rastrigin, or all")
    spelled = rf.problems() if tuple(names) == (ALL,) else names
    spec = {**given, "dimension": DEFAULT_DIMENSION if given["dimension"] is None else given["dimension"]}
    if variants is None:
        return as_problems([records.build_problem({"name": name, **spec}) for name in spelled])
    if given["variant"] != "original":
        raise ProblemError("variants come by --variant or by --variants", "both were given", "Leave one out")
    kinds = VARIANTS if variants == ALL else [part.strip() for part in variants.split(",")]
    seed = 1 if given["variant_seed"] is None else given["variant_seed"]
    seeds = {kind: None if kind == "original" else seed for kind in kinds}
    specs = [{"name": name, **spec, "variant": kind, "variant_seed": seeds[kind]} for kind in kinds for name in spelled]
    return as_problems([records.build_problem(each) for each in specs])


def new_evolution(name: str | None, problems: tuple[Problem, ...], grammar: Grammar, settings: Record) -> Evolution:
    """Return an evolution that has not begun."""
    return Evolution(
        name or default_name([problem.name for problem in problems]), problems, make_settings(settings), grammar
    )


def bred(
    evolution: Evolution,
    store: str,
    workers: int | None,
    dask: str | None,
    time_limit: float | None,
    callback: Callable[[Evolution], Any],
) -> None:
    """Breed, with everything kept in a store: on this machine, or on the workers of a Dask scheduler."""
    if dask is not None and (workers is not None or time_limit is not None):
        rule = "--workers and --time-limit are for processes of this machine"
        raise EvolutionError(rule, "--dask was given as well", "Leave one of them out")
    with _cluster(dask) as executor:
        carry_out(evolution, store, executor, workers, time_limit, callback)


@contextmanager
def _cluster(address: str | None) -> Iterator[Any]:
    if address is None:
        yield None
        return
    with connect(address) as executor:
        yield executor


def evolution_record(evolution: Evolution, store: str) -> Record:
    """Return an evolution as plain data."""
    fitness = [evolution.best_and_median(generation) for generation in evolution.generations]
    champion, latest = evolution.champion, evolution.final or evolution.generations[-1]
    return {
        "format": EVOLUTION_FORMAT,
        "name": evolution.name,
        "store": store,
        "finished": evolution.finished,
        "problems": [problem.to_dict() for problem in evolution.problems],
        "own_problems": not all(problem.is_test_problem for problem in evolution.problems),
        "settings": evolution.settings.to_dict(),
        "grammar": {"name": evolution.grammar.name, "fingerprint": evolution.grammar.fingerprint},
        "generations": [{"number": k + 1, "best": best, "median": median} for k, (best, median) in enumerate(fitness)],
        "champion": {
            "id": champion.id,
            "means": [
                {"problem": name, "mean": mean, "runs": int(latest.repeats[0])}
                for name, mean in evolution.champion_means.items()
            ],
            "works": all(np.isfinite(mean) for mean in evolution.champion_means.values()),
            "heuristic": json.loads(champion.to_json()),
        },
        "runs": evolution.progress.found + evolution.progress.made,
        "new_runs": evolution.progress.made,
        "failures": evolution.failures,
        "reasons": dict(evolution.reasons.most_common()),
    }


def run_rows(path: str) -> list[Record]:
    """Return what a store holds: evolutions and searches and how far they are, and who was assessed in it."""
    with Store.read(path) as store, damage(store.path):
        held = Lock.is_held(store.path)
        bred = [_run_row(store, experiment, held) for experiment in store.experiments()]
        searched = [_search_row(store, experiment, held) for experiment in store.experiments(SEARCH)]
        return [*bred, *searched, *_assessed_rows(store.assessed())]


def _search_row(store: Store, experiment: Experiment, held: bool) -> Record:
    """Return how far a search for a design is."""
    _check_counts(experiment.settings, "budget", "seed")
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
        "begun": experiment.begun,
        "ended": experiment.ended,
    }


def _check_counts(settings: Record, *names: str) -> None:
    """Raise `ValueError` if settings of a store that are shown are no counts."""
    for name in names:
        if not isinstance(settings[name], int) or settings[name] < 0:
            raise ValueError(f"the settings' {name} is {settings[name]!r}")


def _search_state(experiment: Experiment, held: bool) -> str:
    if experiment.ended:
        return "finished"
    return "running" if held else "interrupted" if experiment.settings["model"] else "waiting for values"


def champion_record(path: str, name: str | None) -> tuple[Record, Heuristic]:
    """Return the champion of an evolution in a store, as plain data and as such.

    Of one that is not finished, it is the best of its last complete generation.
    """
    with Store.read(path) as store, damage(store.path):
        experiment = store.chosen(name)
        check_settings(experiment.settings)
        _check_counts(experiment.settings, "generations")
        members = store.members(experiment)
        if not members:
            raise StoreError(
                "an evolution must have a complete generation before there is a best heuristic",
                f"{experiment.name!r} has none yet",
                "Wait, or give the command that began it again",
            )
        stage = FINAL if experiment.champion else max(members)
        best = experiment.champion or members[stage][0]
        heuristic = store.heuristic(best)
        record = {
            "name": experiment.name,
            "finished": experiment.champion is not None,
            "generation": None if stage == FINAL else stage + 1,
            "generations": experiment.settings["generations"],
            "id": best,
            "means": _means(store, experiment, stage, best),
            "budget": experiment.settings["budget"],
            "heuristic": json.loads(heuristic.to_json()),
        }
        return record, heuristic


def _means(store: Store, experiment: Experiment, stage: int, id: str) -> list[Record]:
    """Return the mean of a heuristic on each problem, and of how many runs."""
    values: dict[int, list[float]] = {}
    for run in store.runs(experiment):
        if run.generation == stage and run.heuristic == id:
            values.setdefault(run.problem, []).append(np.inf if run.failure else run.value)
    names = [problem["name"] for problem in experiment.settings["problems"]]
    return [{"problem": names[k], "mean": float(np.mean(found)), "runs": len(found)} for k, found in values.items()]


def _assessed_rows(runs: Sequence[Assessed]) -> list[Record]:
    groups: dict[tuple[str, int, int], list[Assessed]] = {}
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


def _run_row(store: Store, experiment: Experiment, writing: bool) -> Record:
    settings = experiment.settings
    check_settings(settings)
    _check_counts(settings, "generations", "seed")
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
        "begun": experiment.begun,
        "ended": experiment.ended,
        "settings": settings,
    }
