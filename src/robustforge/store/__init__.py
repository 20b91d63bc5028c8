"""Every run kept: an SQLite file with one writer, and readers that never block it."""

from robustforge.store.records import (
    CHECKPOINTS,
    EVOLUTION,
    FINAL,
    KNOWN,
    SEARCH,
    SOLVE,
    VERIFY,
    Assessed,
    AssessedKey,
    Evaluation,
    Experiment,
    Run,
    RunKey,
    damage,
)
from robustforge.store.store import Store

__all__ = [
    "CHECKPOINTS",
    "EVOLUTION",
    "FINAL",
    "KNOWN",
    "SEARCH",
    "SOLVE",
    "VERIFY",
    "Assessed",
    "AssessedKey",
    "Evaluation",
    "Experiment",
    "Run",
    "RunKey",
    "Store",
    "damage",
]
