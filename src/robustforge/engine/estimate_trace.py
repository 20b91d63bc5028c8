"""Replays a search on values that were evaluated before, to trace how its estimate of the robust value developed.

A search stores no estimates. But a search with the same settings and seed asks for the same points if it gets the
same values, so the optimiser can be run again without a single evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from robustforge.errors import ObjectiveError

if TYPE_CHECKING:
    from robustforge.engine.optimizer import Optimizer

CHECKPOINTS = 60
"""Points of a trace, at most."""


def trace_estimates(
    search: Optimizer,
    values: Mapping[int, float],
    points: npt.NDArray[np.float64] | None = None,
    checkpoints: int = CHECKPOINTS,
) -> list[tuple[int, float]]:
    """Return the number of evaluations and the estimate after them, at checkpoints of a search.

    Args:
        search: The search before its first evaluation, from `Optimizer.restart`.
        values: The values by id.
        points: The points by id (k, n), if they are known: where the search asks for another one, the trace ends.
        checkpoints: Points of the trace, at most.
    """
    left, trace, due = dict(values), [], 0.0
    while left:
        batch = search.ask()
        ids = [number for number in batch.ids.tolist() if number in left]
        asked = {number: x for number, x in batch if points is not None}
        if not ids or any(not np.array_equal(asked[number], points[number]) for number in ids if points is not None):
            break
        try:
            search.tell(ids, [left.pop(number) for number in ids])
        except ObjectiveError:  # a failed evaluation ended the search
            break
        done = len(values) - len(left)
        if done >= due or not left:
            trace.append((done, float(search.result().estimate)))
            due = done + len(values) / checkpoints
    return trace
