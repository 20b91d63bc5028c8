"""Every run kept: an SQLite file with one writer, and readers that never block it."""

from robustforge.store.records import CHECKPOINTS, FINAL, Assessed, AssessedKey, Experiment, Run, RunKey
from robustforge.store.store import Store

__all__ = ["CHECKPOINTS", "FINAL", "Assessed", "AssessedKey", "Experiment", "Run", "RunKey", "Store"]
