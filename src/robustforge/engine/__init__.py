"""The search engine: `minimize`, `Optimizer`, the compiled state machine, and results."""

from robustforge.engine.api import minimize
from robustforge.engine.optimizer import Batch, Optimizer
from robustforge.engine.result import History, RobustResult

__all__ = ["Batch", "History", "Optimizer", "RobustResult", "minimize"]
