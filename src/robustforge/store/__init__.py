"""Every run kept: an SQLite file with one writer, and readers that never block it."""

from robustforge.store.records import FINAL, Experiment, Run, RunKey
from robustforge.store.store import Store

__all__ = ["FINAL", "Experiment", "Run", "RunKey", "Store"]
