"""Stores: SQLite files that keep every run, with one writer and readers that never block it."""

from robustforge.store.store import Store
from robustforge.store.stored_records import (
    CHECKPOINTS,
    EVOLUTION,
    FINAL,
    PRIOR,
    SEARCH,
    SOLVE,
    VERIFY,
    AssessedRun,
    AssessedRunKey,
    Evaluation,
    Experiment,
    Run,
    RunKey,
    reporting_damage,
)

__all__ = [
    "CHECKPOINTS",
    "EVOLUTION",
    "FINAL",
    "PRIOR",
    "SEARCH",
    "SOLVE",
    "VERIFY",
    "AssessedRun",
    "AssessedRunKey",
    "Evaluation",
    "Experiment",
    "Run",
    "RunKey",
    "Store",
    "reporting_damage",
]
