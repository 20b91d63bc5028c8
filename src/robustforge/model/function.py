"""A model that is an importable Python function of the variables, by name; it runs in processes that are watched."""

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

from robustforge.execution.deaths import OutOfTime, WorkerDied, WorkerError, described
from robustforge.execution.pool import SupervisedPool
from robustforge.model.outcome import TAIL, Outcome
from robustforge.problem.number import NoNumberError, as_number


@dataclass(frozen=True)
class Function:
    """A function that is called with the values of the variables as keyword arguments.

    Attributes:
        target: "module:name".
        here: The folder of the problem file, where the module is looked for first.
        time_limit: Seconds that a call may take.
    """

    target: str
    here: Path
    time_limit: float | None = None

    def run(self, values: Mapping[str, float], pool: SupervisedPool) -> Outcome:
        """Call the function once, in a process of the pool; threads may do so at the same time.

        A call whose process somebody kills is made once more: the system does so when memory is short.
        """
        begin = time.monotonic()
        outcome = self._attempt(values, pool)
        if outcome is None:
            outcome = self._attempt(values, pool) or Outcome(failure="the process died (signal SIGKILL)")
        return Outcome(outcome.value, outcome.failure, outcome.tail, time.monotonic() - begin)

    def call(self, values: Mapping[str, float]) -> Outcome:
        """Call the function once, in this process, without a limit."""
        try:
            return _judged(call(self.target, str(self.here), values))
        except Exception as error:
            return Outcome(failure=described(error))

    def _attempt(self, values: Mapping[str, float], pool: SupervisedPool) -> Outcome | None:
        future: Future[float] = pool.submit(call, self.target, str(self.here), dict(values))
        try:
            return _judged(future.result())
        except OutOfTime as error:
            return Outcome(failure=error.reason)
        except WorkerDied as error:
            killed = "SIGKILL" in error.reason or "SIGTERM" in error.reason
            return None if killed else Outcome(failure=error.reason)
        except WorkerError as error:
            return Outcome(failure=error.reason)
        except Exception as error:
            story = "\n".join(getattr(error, "__notes__", ()))
            return Outcome(failure=described(error), tail=story.encode(errors="backslashreplace").decode()[-TAIL:])


def load(target: str, here: str) -> Any:
    """Return the function behind "module:name", from a folder or from what is installed.

    Raises:
        Exception: Whatever importing it raises, or an ImportError.
    """
    module, _, name = target.partition(":")
    if here not in sys.path:
        sys.path.insert(0, here)
    function: Any = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    if not callable(function):
        raise ImportError(f"{target} is not a function")
    return function


def call(target: str, here: str, values: Mapping[str, float]) -> Any:
    """Call the function; what a worker does."""
    return load(target, here)(**values)


def _judged(value: Any) -> Outcome:
    """Return what a function returned as an outcome; see `as_number` for what counts."""
    try:
        number = as_number(value)
    except NoNumberError as error:
        return Outcome(failure=f"it returned {error.reason}")
    if math.isnan(number) or number == -math.inf:
        return Outcome(failure="the result is NaN" if math.isnan(number) else "the result is -inf")
    return Outcome(number)
