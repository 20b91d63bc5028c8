"""Loads a `Dataset` from a store, also while it is being written, or from a results folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from robustforge.analysis import results_folder
from robustforge.analysis.dataset import (
    Dataset,
    EvolutionRecord,
    EvolvedHeuristic,
    check_assessed,
    check_grammar,
    check_settings,
)
from robustforge.evolution.fitness import Floats, normalised_fitness, ranking
from robustforge.representation import Heuristic
from robustforge.store import FINAL, Experiment, Run, Store, reporting_damage
from robustforge.store.lock_file import LockFile
from robustforge.store.stored_records import damaged_store_error


def read_dataset(path: str | Path, names: Sequence[str] = ()) -> Dataset:
    """Return the contents of a store or a results folder; a process that writes to it is not disturbed.

    Args:
        path: A store, or a folder written by `reproduce`.
        names: Names of the evolutions; by default all.

    Raises:
        StoreError: It is neither, or it is damaged.
    """
    if Path(path).is_dir():
        return results_folder.read(Path(path), names)
    with Store.read(path) as store, reporting_damage(str(path)):
        chosen = [store.experiment(name) for name in dict.fromkeys(names)] or store.experiments()
        evolutions = tuple(record_of(store, experiment) for experiment in chosen if experiment.kind == "evolution")
        return Dataset(str(path), evolutions, check_assessed(store.assessed_runs()), LockFile.is_held(store.path))


def record_of(store: Store, experiment: Experiment) -> EvolutionRecord:
    """Return the record of an evolution in a store."""
    check_settings(experiment.settings)
    check_grammar(experiment.grammar)
    members, heuristics = store.members(experiment), store.heuristics(experiment)
    runs = store.runs(experiment)  # read last, so that all runs of the complete generations are included
    generations = sorted(number for number in members if number != FINAL)
    champion = experiment.champion or (members[generations[-1]][0] if generations else None)
    complete = {number: members[number] for number in generations}
    return EvolutionRecord(
        name=experiment.name,
        problems=tuple(problem["name"] for problem in experiment.settings["problems"]),
        settings=experiment.settings,
        grammar={key: experiment.grammar.get(key) for key in ("name", "restrictions", "fingerprint")},
        heuristics=_evolved_heuristics(experiment, runs, complete, heuristics),
        fitness=_fitness(store.path, experiment, runs, list(complete.values())),
        champion=heuristics[champion] if champion else None,
        finished=experiment.champion is not None,
        runs=len(runs),
        failures=sum(bool(run.failure) for run in runs),
        seconds=sum(run.seconds for run in runs),
        started=experiment.started,
        ended=experiment.ended,
    )


def _evolved_heuristics(
    experiment: Experiment,
    runs: Sequence[Run],
    members: Mapping[int, Sequence[str]],
    heuristics: Mapping[str, Heuristic],
) -> tuple[EvolvedHeuristic, ...]:
    """Return the distinct heuristics of the complete generations, with the means of all their runs, best first."""
    first: dict[str, int] = {}
    for generation, ids in members.items():
        for id in ids:
            first.setdefault(id, generation)
    values: dict[str, list[list[float]]] = defaultdict(lambda: [[] for _ in experiment.settings["problems"]])
    for run in runs:
        values[run.heuristic][run.problem].append(np.inf if run.failure else run.value)
    ids = [id for id in first if all(values[id])]
    if not ids:
        return ()
    means = np.array([[np.mean(column) for column in values[id]] for id in ids])
    best_first = [(ids[k], tuple(means[k].tolist())) for k in ranking(means)]
    return tuple(EvolvedHeuristic(heuristics[id], first[id], len(values[id][0]), own) for id, own in best_first)


def _fitness(
    path: str, experiment: Experiment, runs: Sequence[Run], generations: Sequence[Sequence[str]]
) -> tuple[tuple[float, float], ...]:
    """Return best and median fitness of each generation, as `Evolution.best_and_median` does."""
    count = len(experiment.settings["problems"])
    values: dict[tuple[int, str], list[list[float]]] = defaultdict(lambda: [[] for _ in range(count)])
    for run in runs:
        values[run.generation, run.heuristic][run.problem].append(np.inf if run.failure else run.value)
    pairs, first_means = [], np.empty((0, count))
    if any(not column for number, ids in enumerate(generations) for id in ids for column in values[number, id]):
        raise damaged_store_error(path, f"a generation of {experiment.name!r} has heuristics without runs")
    for number, ids in enumerate(generations):
        means: Floats = np.array([[np.mean(column) for column in values[number, id]] for id in ids])
        first_means = means if number == 0 else first_means
        fitness = normalised_fitness(means, first_means)
        repeats = np.array([len(values[number, id][0]) for id in ids])
        pairs.append((float(fitness[0]), float(np.median(fitness[repeats == repeats.max()]))))
    return tuple(pairs)
