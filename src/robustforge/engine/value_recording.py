"""The values of a batch: recorded in the history, and reported to the inner searches; failed points are tried again."""

from __future__ import annotations

import numpy as np

from robustforge.components.inner_search import InnerForm
from robustforge.core.agents import copy
from robustforge.core.compiler import call, compiled, inlined
from robustforge.core.history import remember
from robustforge.core.state import FAILED, INFEASIBLE, RAISE, SEARCHING, SELECTING_PHASE, STOPPED
from robustforge.engine.engine_state import EngineState


@compiled
def record_values(s: EngineState) -> None:
    """Record the values of the batch and report them to the inner searches; failed points may be tried again."""
    t = s.counters[0]
    size, kept = t.batch_size, 0
    for b in range(size):
        j, row, tried = s.batch_agent[b], s.batch_row[b], s.batch_attempt[b]
        value = s.batch_f[b]
        failed = np.isnan(value) or value == -np.inf
        t.infeasible += 1 if failed or value == np.inf else 0
        if failed:
            value = np.inf if t.on_failure == INFEASIBLE else np.nan
            t.failures += 1
            if t.first_failure < 0:
                t.first_failure = t.spent
            if tried < t.retries and t.final_requested == 0 and _reserve_one(s):
                remember(s, b, np.nan)
                _copy_entry(s, b, kept)
                s.batch_attempt[kept] = tried + 1
                kept += 1
                continue
            if t.on_failure == RAISE and t.ending != FAILED:
                t.ending = FAILED
                t.fatal_failure = t.spent
        remember(s, b, value)
        if t.final_requested == 0:
            s.pending[j] -= 1
            _report(s, j, row, value)
    t.batch_size = 0 if t.ending == FAILED else kept
    t.evaluated = 0


@inlined
def _reserve_one(s: EngineState) -> bool:
    """Take one evaluation for another attempt: a free one, or one of the last agent that has some left."""
    t = s.counters[0]
    if t.unallocated > 0:
        t.unallocated -= 1
        return True
    if t.phase == SELECTING_PHASE and t.reserve > 0:
        t.reserve -= 1
        return True
    for back in range(t.agents):
        j = t.agents - 1 - back
        if s.status[j] == SEARCHING and s.allocated[j] - s.taken[j] - s.pending[j] > 0:
            s.allocated[j] -= 1
            return True
    return False


@inlined
def _copy_entry(s: EngineState, source: int, target: int) -> None:
    copy(s.batch_y[source], s.batch_y[target])
    copy(s.batch_x[source], s.batch_x[target])
    s.batch_agent[target] = s.batch_agent[source]
    s.batch_row[target] = s.batch_row[source]


@inlined
def _report(s: EngineState, j: int, row: int, value: float) -> None:
    """Report a value to the inner search of agent `j`, which may stop it."""
    t = s.counters[0]
    inner: InnerForm = s.inner[0]
    s.taken[j] += 1
    if t.nominal == 0:
        call(inner.report, s, j, row, value)
    if value > s.worst[j]:
        s.worst[j] = value
    if t.stopping == 1 and s.status[j] == SEARCHING and value > s.stop_above[j]:
        s.status[j] = STOPPED
