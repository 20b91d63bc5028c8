"""The ask/tell machine: Algorithm 1 of the paper as a state machine that never calls the objective.

`advance` takes the values of the last batch, continues until it needs further values, writes the next batch and returns
its size. A compiled objective loops around it in machine code (`run`), a Python one in Python, and `ask` and `tell`
expose it: one implementation, with the same bits in every mode.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robustforge.components.final_selection import Final
from robustforge.components.inner_search import InnerForm, propose_candidate
from robustforge.components.outer import Outer
from robustforge.components.relocation import Relocation
from robustforge.components.separability import Separability
from robustforge.core.agents import copy, draw_velocity, is_finite, is_inside, random_point, random_position
from robustforge.core.compiler import call, compiled, inlined
from robustforge.core.history import neighbours, worst_of
from robustforge.core.interpretation import Interpretation
from robustforge.core.state import (
    BUDGET_SPENT,
    DONE,
    FAILED,
    NO_BUDGET,
    NO_CANDIDATE,
    OUTSIDE,
    PARTIAL,
    RUNNING,
    SEARCHING,
    SEARCHING_PHASE,
    SELECTING_PHASE,
    SKIPPED,
    STAGNATION_LIMIT,
    STARTING_PHASE,
    STOPPED,
    TESTING_PHASE,
)
from robustforge.engine.engine_state import EngineState
from robustforge.engine.value_recording import record_values

OVER, PAUSED, UNFINISHED, UNLINKED = 0, -1, -2, -3
"""Return values of `advance` and `run` when no point is pending: the run is over, has paused after an iteration, can
continue, or can continue once the next component is linked: its kernels compiled, and their addresses in the state."""

CRASH_RATE = 50
"""The search ends earlier, for the final selection, where more than one evaluation in so many has failed."""

MAX_WORK = 10_000_000
"""Distances after which `run` returns, so that Ctrl-C is noticed: some 50 ms."""


@compiled
def advance(s: EngineState) -> int:
    """Advance until values are needed: return the size of the batch, or OVER, PAUSED or UNLINKED."""
    t = s.counters[0]
    record_values(s)
    while True:
        if t.ending == FAILED:
            return OVER
        if t.final_requested == 1:
            return t.batch_size
        if _propose(s) > 0:
            return t.batch_size
        if t.updated == 0:
            _update(s)
            t.updated = 1
            if t.pause == 1:
                return PAUSED
        if t.ending == RUNNING and (t.unallocated == 0 or _is_needed_for_crashes(s)):
            t.ending = BUDGET_SPENT
        if t.ending != RUNNING and t.reserve > 0:
            final: Final = s.final[0]
            if t.has_incumbent == 1 or final.works_alone > 0:
                if final.gather == 0:
                    return UNLINKED
                _select(s)
                continue
            t.unallocated, t.reserve, t.ending = t.reserve, 0, RUNNING  # nothing to select from: continue the search
        if t.unallocated <= t.handover and t.phase == SEARCHING_PHASE and t.ending == RUNNING:
            _hand_over(s)
        if t.phase == STARTING_PHASE and t.ending == RUNNING and not _is_linked(s):
            return UNLINKED
        if t.ending == RUNNING:
            _next_iteration(s)
        if t.ending != RUNNING:
            _request_final_evaluation(s)


@inlined
def _is_linked(s: EngineState) -> bool:
    """Whether the kernels of the outer search are compiled, and their addresses in the state."""
    outer: Outer = s.outer[0]
    return outer.start != 0


@inlined
def _hand_over(s: EngineState) -> None:
    """Have the second stage take over from the outer search, unless that has been replaced by one for sums."""
    t = s.counters[0]
    t.handover = -1
    if t.replaced == 0:
        s.outer[0] = s.second_search[0]
        t.handed_over = 1
        t.outer_agents = t.second_agents
        t.outer_inner_budget = 1
        t.outer_nominal = 1
        t.asynchronous = 0
        t.phase = STARTING_PHASE


@inlined
def _is_needed_for_crashes(s: EngineState) -> bool:
    """Whether what is left of the budget is needed by the final selection, because evaluations have failed."""
    t = s.counters[0]
    final: Final = s.final[0]
    is_due = t.unallocated + t.reserve <= final.crash_reserve and t.reserve > 0
    return is_due and CRASH_RATE * t.infeasible > t.spent and t.phase == SEARCHING_PHASE


@inlined
def _update(s: EngineState) -> None:
    """Have the component that placed this iteration's candidates use their values."""
    phase = s.counters[0].phase
    outer: Outer = s.outer[0]
    separability: Separability = s.separability[0]
    final: Final = s.final[0]
    if phase == TESTING_PHASE:
        call(separability.decide, s)
    elif phase == SELECTING_PHASE:
        call(final.decide, s)
    else:
        call(outer.update, s)  # `outer.update` is the kernel in `type(heuristic.outer).update`


@inlined
def _select(s: EngineState) -> None:
    """Start or continue the final selection, with the reserved evaluations and all that are left.

    It may put back a part of them to the reserve, for the next time.
    """
    t = s.counters[0]
    final: Final = s.final[0]
    t.phase = SELECTING_PHASE
    t.unallocated += t.reserve
    t.reserve = 0
    t.nominal = 0
    t.stopping = 0
    s.inner[0] = s.final_inner[0]
    call(final.gather, s)
    t.iteration += 1
    t.updated = 0
    for j in range(t.agents):
        s.status[j] = SEARCHING
        s.worst[j] = -np.inf
        s.taken[j] = 0
        s.pending[j] = 0
        s.allocated[j] = t.inner_budget + (1 if j < t.unallocated - t.inner_budget * t.agents else 0)
    t.unallocated = 0


@compiled
def run(s: EngineState, advance: Any, objective: Any, data: Any, evaluations: int) -> int:
    """Advance with a compiled objective for about `evaluations` evaluations, or equivalent work; return why it ended.

    `advance` is passed as an argument and called by its address, so that it is not compiled again into this function.
    """
    t = s.counters[0]
    until = t.spent + evaluations
    work_until = t.distances + min(20_000 * evaluations, MAX_WORK)
    examined_until = t.examined + MAX_WORK
    iteration_until = t.iteration + 4 * evaluations
    x = np.empty(t.dimension)  # the objective gets a copy, which it may change
    while (
        t.spent < until and t.distances < work_until and t.examined < examined_until and t.iteration < iteration_until
    ):
        size = advance(s)
        if size <= 0:
            return size
        t.evaluated = 0  # how many of the batch, should the objective raise
        for b in range(size):
            copy(s.batch_x[b], x)
            s.batch_f[b] = objective(x, data)
            t.evaluated = b + 1
    return UNFINISHED


@compiled
def _propose(s: EngineState) -> int:
    """Have every inner search that is under way propose its next points; return the size of the batch."""
    t = s.counters[0]
    inner: InnerForm = s.inner[0]
    first = t.batch_size
    for j in range(t.agents):
        if s.status[j] < SEARCHING or s.pending[j] > 0:
            continue
        left = s.allocated[j] - s.taken[j]
        if s.status[j] == STOPPED:
            t.unallocated += left  # saved by stopping early
            s.allocated[j] = s.taken[j]
        elif s.status[j] == SEARCHING:
            if left == 0:
                s.status[j] = DONE if s.taken[j] == t.inner_budget else PARTIAL
                continue
            before = t.batch_size
            if t.nominal == 1:
                propose_candidate(s, j, left)
            else:
                call(inner.propose, s, j, left)
            s.pending[j] = t.batch_size - before
    for b in range(first, t.batch_size):
        _convert_point(s, b, t.clip == 1)
    return t.batch_size


@inlined
def _convert_point(s: EngineState, b: int, clip: bool) -> None:
    """Write the batch's point `b` in the user's units, clipped to the box or not."""
    y, x, scale, centre, lower, upper = s.batch_y[b], s.batch_x[b], s.scale, s.centre, s.user_lower, s.user_upper
    for i in range(x.size):
        x[i] = y[i] * scale[i] + centre[i]
        if clip and not (lower[i] <= x[i] <= upper[i]):
            x[i] = min(max(x[i], lower[i]), upper[i])
            y[i] = (x[i] - centre[i]) / scale[i]


@compiled
def _next_iteration(s: EngineState) -> None:
    """Move the agents whose turn it is, and start their inner searches; reinitialise all agents after stagnation.

    At the start, and after a reinitialisation, it is the turn of all agents, also of an asynchronous swarm.
    """
    t = s.counters[0]
    outer: Outer = s.outer[0]
    separability: Separability = s.separability[0]
    all_agents = True
    if t.phase == TESTING_PHASE:
        t.nominal = 1
        t.inner_budget = 1
        call(separability.sample, s)
        copy(s.x[0], s.incumbent_x)
    elif t.phase == STARTING_PHASE:
        t.phase = SEARCHING_PHASE
        t.agents = t.outer_agents
        t.inner_budget = t.outer_inner_budget
        t.nominal = t.outer_nominal
        call(outer.start, s)
        if t.has_incumbent == 0:
            copy(s.x[0], s.incumbent_x)  # to return something if no inner search is ever completed
    elif t.stagnant >= STAGNATION_LIMIT * t.agents:
        for j in range(t.agents):
            random_position(s, j)
            draw_velocity(s, j)
            s.idle[j] = 0
        t.stagnant = 0
        t.skip_nothing = 1
    else:
        all_agents = t.asynchronous == 0
        if not all_agents:
            t.first_agent = t.end_agent % t.agents
            t.end_agent = t.first_agent + 1
        call(outer.move, s)
    if t.ending != RUNNING:
        return
    if all_agents:
        t.first_agent = 0
        t.end_agent = t.agents
    t.iteration += 1
    t.updated = 0
    any_search = _start_searches(s)
    t.stagnant = 0 if any_search else t.stagnant + t.end_agent - t.first_agent
    if t.skip_nothing == 1 and not any_search:
        t.ending = NO_CANDIDATE
    t.skip_nothing = 0


@compiled
def _start_searches(s: EngineState) -> bool:
    """Decide which agents search, and allocate evaluations to them in order; return whether any agent searches.

    Only as many inner searches start as can be completed; what is left of the budget goes to one more, which does not
    count as completed.
    """
    t = s.counters[0]
    rules: Interpretation = s.interpretation[0]
    any_search = False
    for j in range(t.first_agent, t.end_agent):
        if not is_finite(s.x[j]):  # after values so far apart that their differences overflow
            random_position(s, j)
            draw_velocity(s, j)
        s.status[j] = _initial_status(s, j)
        s.worst[j] = -np.inf
        s.taken[j] = 0
        s.pending[j] = 0
        s.allocated[j] = 0
        if s.status[j] != SEARCHING:
            if s.status[j] == SKIPPED or rules.outside_is_idle > 0:
                s.idle[j] += 1
            continue
        s.idle[j] = 0
        s.allocated[j] = min(t.inner_budget, t.unallocated)
        t.unallocated -= s.allocated[j]
        if s.allocated[j] == 0:
            s.status[j] = NO_BUDGET
        else:
            any_search = True
    return any_search


@inlined
def _initial_status(s: EngineState, j: int) -> int:
    """Return whether agent `j` is outside the bounds, skipped because of a worse neighbour, or searches."""
    t = s.counters[0]
    relocation: Relocation = s.relocation[0]
    if not is_inside(s, j):
        return OUTSIDE
    if t.n_dorm == 1 and relocation.used > 0 and s.has_best[j] and t.skip_nothing == 0:
        found = neighbours(s, s.x[j])
        if worst_of(s, found) > s.best_f[j]:
            return SKIPPED
    return SEARCHING


@inlined
def _request_final_evaluation(s: EngineState) -> None:
    """Request the last evaluation: f at the design that will be returned. After it, the batch is empty."""
    t = s.counters[0]
    t.batch_size = 0
    if t.final_requested == 0:
        if not is_finite(s.incumbent_x):
            random_point(s, s.incumbent_x)
        for i in range(t.dimension):
            s.batch_y[0, i] = s.incumbent_x[i] - s.offset[i]
        s.batch_agent[0] = 0
        s.batch_attempt[0] = 0
        _convert_point(s, 0, True)
        t.batch_size = 1
        t.final_requested = 1


@compiled
def find_near(s: EngineState, y: Any) -> int:
    """Write the indices of all neighbours of a scaled point to `s.neighbours`; return how many there are."""
    call(s.find_neighbours_kernel[0], s, y, 0)
    return s.counters[0].neighbour_count
