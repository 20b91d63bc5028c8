"""Where evidence comes from: a store, also one that is being written to, or a folder of published results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from robustforge.analysis import archive
from robustforge.analysis.evidence import Bred, Evidence, Outcome, check_assessed, check_settings
from robustforge.evolution.fitness import Floats, order, scaled
from robustforge.heuristic import Heuristic
from robustforge.store import FINAL, Experiment, Run, Store, damage
from robustforge.store.lock import Lock


def read_evidence(path: str | Path, names: Sequence[str] = ()) -> Evidence:
    """Return what a store or a folder of results holds; a writer is not disturbed.

    Args:
        path: A store, or a folder that `reproduce` filled.
        names: The evolutions that are wanted; all, if none is named.

    Raises:
        StoreError: It is neither, or it is damaged; the message says what to do.
    """
    if Path(path).is_dir():
        return archive.read(Path(path), names)
    with Store.read(path) as store, damage(str(path)):
        chosen = [store.experiment(name) for name in dict.fromkeys(names)] or store.experiments()
        outcomes = tuple(outcome_of(store, experiment) for experiment in chosen if experiment.kind == "evolution")
        return Evidence(str(path), outcomes, check_assessed(store.assessed()), Lock.is_held(store.path))


def outcome_of(store: Store, experiment: Experiment) -> Outcome:
    """Return what an evolution in a store has come to."""
    check_settings(experiment.settings)
    members, heuristics = store.members(experiment), store.heuristics(experiment)
    runs = store.runs(experiment)  # last: of a generation that is complete by now, all are there
    generations = sorted(number for number in members if number != FINAL)
    champion = experiment.champion or (members[generations[-1]][0] if generations else None)
    return Outcome(
        name=experiment.name,
        problems=tuple(problem["name"] for problem in experiment.settings["problems"]),
        settings=experiment.settings,
        grammar={key: experiment.grammar.get(key) for key in ("name", "restrictions", "fingerprint")},
        bred=_bred(experiment, runs, {number: members[number] for number in generations}, heuristics),
        fitness=_fitness(experiment, runs, [members[number] for number in generations]),
        champion=heuristics[champion] if champion else None,
        finished=experiment.champion is not None,
        runs=len(runs),
        failures=sum(bool(run.failure) for run in runs),
        seconds=sum(run.seconds for run in runs),
        begun=experiment.begun,
        ended=experiment.ended,
    )


def _bred(
    experiment: Experiment,
    runs: Sequence[Run],
    members: Mapping[int, Sequence[str]],
    heuristics: Mapping[str, Heuristic],
) -> tuple[Bred, ...]:
    """Return each heuristic of the complete generations once, with the means of all its runs, best first."""
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
    return tuple(
        Bred(heuristics[ids[k]], first[ids[k]], len(values[ids[k]][0]), tuple(means[k].tolist())) for k in order(means)
    )


def _fitness(
    experiment: Experiment, runs: Sequence[Run], generations: Sequence[Sequence[str]]
) -> tuple[tuple[float, float], ...]:
    """Return best and median of each generation, as `Evolution.best_and_median` does."""
    count = len(experiment.settings["problems"])
    values: dict[tuple[int, str], list[list[float]]] = defaultdict(lambda: [[] for _ in range(count)])
    for run in runs:
        values[run.generation, run.heuristic][run.problem].append(np.inf if run.failure else run.value)
    found, start = [], np.empty((0, count))
    for number, ids in enumerate(generations):
        means: Floats = np.array([[np.mean(column) for column in values[number, id]] for id in ids])
        start = means if number == 0 else start
        fitness = scaled(means, start)
        repeats = np.array([len(values[number, id][0]) for id in ids])
        found.append((float(fitness[0]), float(np.median(fitness[repeats == repeats.max()]))))
    return tuple(found)
