"""The payloads of `evolve` and `champion`: an evolution, and the champion of a stored one."""

from __future__ import annotations

import json

import numpy as np

from robustforge.analysis.dataset import check_settings
from robustforge.cli.payloads.stored_runs import check_counts
from robustforge.errors import StoreError
from robustforge.evolution import Evolution
from robustforge.representation import Heuristic
from robustforge.store import FINAL, Experiment, Store, reporting_damage
from robustforge.tables import Record

EVOLUTION_FORMAT = "robustforge-evolution/1"


def evolution_payload(evolution: Evolution, store: str) -> Record:
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
            "all_finite": all(np.isfinite(mean) for mean in evolution.champion_means.values()),
            "heuristic": json.loads(champion.to_json()),
        },
        "runs": evolution.progress.stored_runs + evolution.progress.new_runs,
        "new_runs": evolution.progress.new_runs,
        "failures": evolution.failures,
        "reasons": dict(evolution.failure_reasons.most_common()),
    }


def champion_payload(path: str, name: str | None) -> tuple[Record, Heuristic]:
    """Return the champion of a stored evolution, as plain data and as a heuristic.

    For an unfinished evolution, it is the best heuristic of the last complete generation.
    """
    with Store.read(path) as store, reporting_damage(store.path):
        experiment = store.select(name)
        check_settings(experiment.settings)
        check_counts(experiment.settings, "generations")
        members = store.members(experiment)
        if not members:
            fix = "Wait, or resume it with the command that started it"
            raise StoreError(f"the evolution {experiment.name!r} has no complete generation yet", fix=fix)
        stage = FINAL if experiment.champion else max(members)
        best = experiment.champion or members[stage][0]
        heuristic = store.heuristic(best)
        payload = {
            "name": experiment.name,
            "finished": experiment.champion is not None,
            "generation": None if stage == FINAL else stage + 1,
            "generations": experiment.settings["generations"],
            "id": best,
            "means": _means(store, experiment, stage, best),
            "budget": experiment.settings["budget"],
            "heuristic": json.loads(heuristic.to_json()),
        }
        return payload, heuristic


def _means(store: Store, experiment: Experiment, stage: int, id: str) -> list[Record]:
    """Return the mean value of a heuristic on each problem, and the number of runs."""
    values: dict[int, list[float]] = {}
    for run in store.runs(experiment):
        if run.generation == stage and run.heuristic == id:
            values.setdefault(run.problem, []).append(np.inf if run.failure else run.value)
    names = [problem["name"] for problem in experiment.settings["problems"]]
    return [{"problem": names[k], "mean": float(np.mean(found)), "runs": len(found)} for k, found in values.items()]
