"""The outcome of one run of a user's model: a value, or the reason of its failure."""

from __future__ import annotations

import math
from dataclasses import dataclass

MAX_TAIL_LENGTH = 2000
"""Characters of a failed run's output that are kept: the last ones."""


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of one run of a model.

    Attributes:
        value: The model's value, as the model returns it; NaN after a failure. +inf is a value and means infeasible.
        failure: The reason why there is no value, in one line; empty if there is a value.
        tail: The last characters of a failed run's output.
        seconds: Run time.
    """

    value: float = math.nan
    failure: str = ""
    tail: str = ""
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether the run has no value."""
        return bool(self.failure)
