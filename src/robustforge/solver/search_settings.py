"""The settings of a stored search: everything that determines its result, and the comparison when it is resumed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from robustforge.engine.optimizer import resolve_heuristic
from robustforge.errors import StoreError
from robustforge.representation import Heuristic
from robustforge.representation.heuristic_json import stored_form
from robustforge.representation.presets import former_default_name, heuristic
from robustforge.simulator.problem_file import ProblemFile
from robustforge.store import PRIOR, SEARCH, Experiment, Store

_FINGERPRINT_KEYS = ("templates", "files")
"""Keys of a model's settings that hold fingerprints of files."""


def search_settings(file: ProblemFile, chosen: Heuristic) -> dict[str, Any]:
    """Return the settings of a search, as plain data."""
    return {
        **file.to_dict(),
        "budget": file.budget,
        "seed": file.seed,
        "heuristic": stored_form(chosen),
        "on_failure": file.on_failure,
        "retries": file.retries,
        **({} if file.verify is None else {"verify": file.verify}),
        "data": hashlib.sha256(file.data.read_bytes()).hexdigest()[:16] if file.data else None,
    }


def resolve_file_heuristic(file: ProblemFile) -> Heuristic:
    """Return the heuristic of a problem file: by name, from a JSON file in its folder, or the default."""
    in_folder = file.path.parent / file.heuristic
    name = str(in_folder) if file.heuristic.endswith(".json") and in_folder.is_file() else file.heuristic
    return resolve_heuristic(name or None, file.scaled_problem, file.budget)


def heuristic_to_resume(file: ProblemFile, store: Store) -> Heuristic:
    """Return the heuristic of a problem file; of a stored search, the former default where it was started with that."""
    chosen = resolve_file_heuristic(file)
    stored = {experiment.name: experiment for experiment in store.experiments(SEARCH)}.get(file.name)
    if stored is None or file.heuristic or file.verify is not None:
        return chosen
    former = heuristic(former_default_name(file.scaled_problem.dimension, file.budget))
    return former if stored.settings.get("heuristic") == stored_form(former) else chosen


def stored_heuristic(experiment: Experiment) -> Heuristic:
    """Return the heuristic of a stored search."""
    return Heuristic.from_json(json.dumps(experiment.settings["heuristic"]))


def find_search(store: Store, name: str, settings: dict[str, Any], accept_changes: bool = False) -> Experiment | None:
    """Return the stored search to resume; `None` if there is none.

    Args:
        store: The store.
        name: The name of the search.
        settings: Its settings now.
        accept_changes: Whether the stored runs are still valid although files of the model have changed.

    Raises:
        StoreError: The stored search has other settings, or files of its model have changed.
    """
    stored = {experiment.name: experiment for experiment in store.experiments(SEARCH)}.get(name)
    if stored is None or not (stored.settings.get("model") and settings["model"]):
        return store.find(name, SEARCH, settings, {})
    before, now = stored.settings["model"], settings["model"]
    model = {key: value for key, value in now.items() if key not in _FINGERPRINT_KEYS}
    model |= {key: before[key] for key in _FINGERPRINT_KEYS if key in before}  # an older store may lack some
    store.find(name, SEARCH, {**settings, "model": model}, {})
    changes = _changed_files(before, now)
    if not changes:
        return stored
    if not accept_changes and any(row.part != PRIOR for row in store.evaluations(stored)):
        raise StoreError(
            f"the model has changed since the stored search {name!r} was started",
            " and ".join(changes),
            "Undo the change, or start a search with another --name. If the stored runs are still valid, add "
            "--accept-changes to `solve`; a file that the model writes belongs into {dir}",
        )
    store.update_settings(stored, settings)
    return store.experiment(name, SEARCH)


def _changed_files(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return the changes of a model's files; an older store may have no fingerprints of some."""
    changes = []
    for key in (each for each in _FINGERPRINT_KEYS if each in before):
        old, new = before[key], now.get(key, {})
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                verb = "is new" if name not in old else "is missing" if name not in new else "has changed"
                changes.append(f"{name} {verb}")
    return changes
