"""A model that is an importable Python function of the variables; it runs in supervised processes."""

from __future__ import annotations

import importlib
import math
import sys
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustforge.execution.process_pool import SupervisedPool
from robustforge.execution.worker_errors import TimeLimitExceeded, WorkerDied, WorkerError, describe_error
from robustforge.robust_problem.objective_value import NoNumberError, as_number
from robustforge.simulator.run_outcome import MAX_TAIL_LENGTH, RunOutcome


@dataclass(frozen=True)
class FunctionModel:
    """A function that is called with the values of the variables as keyword arguments.

    Attributes:
        target: "module:name".
        problem_folder: The folder of the problem file, searched first for the module.
        time_limit: Seconds after which a call is stopped.
    """

    target: str
    problem_folder: Path
    time_limit: float | None = None

    def run(self, values: Mapping[str, float], pool: SupervisedPool) -> RunOutcome:
        """Call the function once, in a process of the pool; thread-safe.

        A call whose process is killed from outside is repeated once: the system kills processes when memory is short.
        """
        start = time.monotonic()
        outcome = self._attempt(values, pool)
        if outcome is None:
            outcome = self._attempt(values, pool) or RunOutcome(failure="the process died (signal SIGKILL)")
        return RunOutcome(outcome.value, outcome.failure, outcome.tail, time.monotonic() - start)

    def call(self, values: Mapping[str, float]) -> RunOutcome:
        """Call the function once, in this process, without a time limit."""
        try:
            return _to_outcome(call_function(self.target, str(self.problem_folder), values))
        except Exception as error:
            return RunOutcome(failure=describe_error(error))

    def _attempt(self, values: Mapping[str, float], pool: SupervisedPool) -> RunOutcome | None:
        """Call the function in the pool; return `None` if its process was killed from outside."""
        future: Future[float] = pool.submit(call_function, self.target, str(self.problem_folder), dict(values))
        try:
            return _to_outcome(future.result())
        except TimeLimitExceeded as error:
            return RunOutcome(failure=error.reason)
        except WorkerDied as error:
            killed = "SIGKILL" in error.reason or "SIGTERM" in error.reason
            return None if killed else RunOutcome(failure=error.reason)
        except WorkerError as error:
            return RunOutcome(failure=error.reason)
        except Exception as error:
            traceback = "\n".join(getattr(error, "__notes__", ()))
            tail = traceback.encode(errors="backslashreplace").decode()[-MAX_TAIL_LENGTH:]
            return RunOutcome(failure=describe_error(error), tail=tail)


def load_function(target: str, folder: str) -> Any:
    """Import the function "module:name", from a folder or from the installed packages.

    Raises:
        Exception: Any exception of the import, or an ImportError.
    """
    module, _, name = target.partition(":")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    function: Any = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    if not callable(function):
        raise ImportError(f"{target} is not a function")
    return function


def call_function(target: str, folder: str, values: Mapping[str, float]) -> Any:
    """Import and call the function; executed by a worker."""
    return load_function(target, folder)(**values)


def _to_outcome(value: Any) -> RunOutcome:
    """Return the outcome for a function's return value; see `as_number` for the accepted types."""
    try:
        number = as_number(value)
    except NoNumberError as error:
        return RunOutcome(failure=f"it returned {error.reason}")
    if math.isnan(number) or number == -math.inf:
        return RunOutcome(failure="the result is NaN" if math.isnan(number) else "the result is -inf")
    return RunOutcome(number)
