"""What comes of one run of a user's model: a value, or the reason why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass

TAIL = 2000
"""Characters of what a failed run printed that are kept: its last words."""


@dataclass(frozen=True)
class Outcome:
    """One run of a model.

    Attributes:
        value: What the model says, in the user's own sense; NaN after a failure. +inf is a value, and means infeasible.
        failure: Why there is no value, in one line; empty if there is one.
        tail: The last of what a failed run printed.
        seconds: How long it took.
    """

    value: float = math.nan
    failure: str = ""
    tail: str = ""
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether there is no value."""
        return bool(self.failure)
