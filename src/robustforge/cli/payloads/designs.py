"""The payloads of `check`, `solve` and `verify` for problem files: the plan, the design and its worst case."""

from __future__ import annotations

from dataclasses import asdict

from robustforge.cli.payloads.catalogue import preset_name
from robustforge.engine import Optimizer
from robustforge.engine.optimizer import resolve_heuristic
from robustforge.simulator.prior_runs import read_prior_runs
from robustforge.simulator.problem_file import ProblemFile
from robustforge.simulator.worker_pool import model_workers
from robustforge.solver import (
    AttackResult,
    StoredSearch,
    judge_attack,
    judge_search,
    resolve_file_heuristic,
    solution_from_result,
)
from robustforge.tables import Record

DESIGN_FORMAT = "robustforge-design/1"


def design_payload(search: StoredSearch, store: str, seconds: float) -> Record:
    """Return the design that a search found."""
    file, answer = search.file, solution_from_result(search.file, search.result())
    return {
        "format": DESIGN_FORMAT,
        "name": file.name,
        "goal": file.goal,
        "variables": [
            {
                "name": each.name,
                "unit": each.unit,
                "value": answer.design[each.name],
                "tolerance": str(each.tolerance),
                "built": list(each.built_range(answer.design[each.name])),
            }
            for each in file.variables.members
        ],
        "tolerances": file.variables.kind,
        **asdict(answer),
        "verdict": asdict(judge_search(answer, file.model is not None)),
        "budget": file.budget,
        "seed": file.seed,
        "heuristic_name": heuristic_name(file),
        "max_parallel": search.optimizer.max_batch,
        "store": store,
        "seconds": seconds,
    }


def verified_payload(file: ProblemFile, found: AttackResult, store: str, budget: int) -> Record:
    """Return the outcome of an attack, and what it implies for the search; the most influential variables first."""
    slopes = dict(sorted(found.slopes.items(), key=lambda item: -abs(item[1])))
    point = {each.name: each.built_range(found.worst_point[each.name]) for each in file.variables.members}
    widths = {name: high - low for name, (low, high) in point.items()}
    rest = {
        "units": units(file),
        "widths": widths,
        "budget": budget,
        "store": store,
        "verdict": asdict(judge_attack(found)),
    }
    return {"name": file.name, "goal": file.goal, **asdict(found), "slopes": slopes, **rest}


def plan_payload(file: ProblemFile) -> Record:
    """Return the plan of a search, after running the model once at the centre of the bounds."""
    heuristic = resolve_file_heuristic(file)
    search = Optimizer(file.scaled_problem, budget=file.budget, heuristic=heuristic, rng=file.seed)
    earlier = len(read_prior_runs(file.data, file.variables)) if file.data else 0
    trial = _trial(file)
    most = min(file.workers, search.max_batch)
    return {
        "name": file.name,
        "goal": file.goal,
        "variables": file.to_dict()["variables"],
        "tolerances": file.variables.kind,
        "budget": file.budget,
        "heuristic_name": heuristic_name(file),
        "on_failure": file.on_failure,
        "workers": file.workers,
        "max_parallel": search.max_batch,
        "earlier": earlier,
        "trial": trial,
        "seconds": trial["seconds"] * file.budget / most if trial else None,
    }


def _trial(file: ProblemFile) -> Record | None:
    """Run the model once at the centre of the bounds, as the search scales them."""
    if file.model is None:
        return None
    low, high = file.scaled_problem.design_box
    point = file.variables.decode((low + high) / 2)
    with model_workers(file.model, 1) as submit:
        outcome = submit(point, 0).result()
    return {"point": point, **asdict(outcome)}


def units(file: ProblemFile) -> dict[str, str]:
    """Return the unit of each variable; an empty string for none."""
    return {each.name: each.unit for each in file.variables.members}


def heuristic_name(file: ProblemFile) -> str:
    """Return the name of the heuristic of a problem file."""
    return file.heuristic or preset_name(resolve_heuristic(None, file.scaled_problem, file.budget)) or "custom"
