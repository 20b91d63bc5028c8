"""Does it: the compiled ask/tell machine, and the ways to run and to verify with it."""

from robustforge.engine.minimize import minimize
from robustforge.engine.optimizer import Batch, Optimizer
from robustforge.engine.result import History

__all__ = ["Batch", "History", "Optimizer", "minimize"]
