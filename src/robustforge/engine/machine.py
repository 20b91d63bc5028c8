"""The ask/tell machine: Algorithm 1 of the paper, turned inside out so that it never calls the objective.

`advance` takes in the values of the last batch, goes on until it needs values again, writes the next batch and returns
its size. A compiled objective loops around it in machine code (`run`), a Python one in Python, `ask` and `tell` expose
it: one code, bitwise the same answers in every mode.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robustforge.components.inner import propose_itself
from robustforge.core.compiler import call, compiled, inlined
from robustforge.core.history import neighbours, remember, worst_of
from robustforge.core.state import (
    BEGINNING,
    BUDGET_SPENT,
    CHECKING,
    DONE,
    FAILED,
    GOING,
    INFEASIBLE,
    NOWHERE,
    OUTSIDE,
    PARTIAL,
    RAISE,
    RUNNING,
    SEARCHING,
    SKIPPED,
    STOPPED,
    TESTING,
    WAITING,
    State,
    copy,
    fresh_velocity,
    is_finite,
    is_inside,
    random_point,
    random_position,
)

OVER, PAUSED, UNFINISHED, UNLINKED = 0, -1, -2, -3
"""What `advance` and `run` return when nothing waits: the run is over, has paused after an iteration, can go on, or can
go on once the outer search that begins is linked: its kernels compiled, and their addresses in the state."""

MOST_WORK = 10_000_000
"""Distances after which `run` comes back, so that Ctrl-C is heard: some 50 ms."""

BARREN_LIMIT = 50
"""Turns that everybody has in a row without an evaluation before all are scattered anew."""


@compiled
def advance(s: State) -> int:
    """Go on until values are needed: return the size of the batch, or OVER, PAUSED or UNLINKED."""
    t = s.tally[0]
    _take_in(s)
    while True:
        if t.ending == FAILED:
            return OVER
        if t.closing == 1:
            return t.batch
        if _propose(s) > 0:
            return t.batch
        if t.learnt == 0:
            _learn(s)
            t.learnt = 1
            if t.pause == 1:
                return PAUSED
        if t.free == 0 and t.ending == RUNNING:
            t.ending = BUDGET_SPENT
        if t.ending != RUNNING and t.reserve > 0:
            if t.found == 1:
                _check(s)
                continue
            t.free, t.reserve, t.ending = t.reserve, 0, RUNNING  # nothing to check: go on searching
        if t.phase == BEGINNING and s.outer[0].start == 0 and t.ending == RUNNING:
            return UNLINKED
        if t.ending == RUNNING:
            _next_iteration(s)
        if t.ending != RUNNING:
            _close(s)


@inlined
def _learn(s: State) -> None:
    """Have what the searches of this iteration found taken in by whoever began them."""
    phase = s.tally[0].phase
    if phase == TESTING:
        call(s.structure[0].judge, s)
    elif phase == CHECKING:
        call(s.final[0].decide, s)
    else:
        call(s.outer[0].learn, s)


@inlined
def _check(s: State) -> None:
    """Have the outcome compared with others by what is kept back of the budget, and all that is left of the rest."""
    t = s.tally[0]
    t.phase = CHECKING
    t.free += t.reserve
    t.reserve = 0
    t.nominal = 0
    t.stopping = 0
    s.inner[0] = s.check[0]
    call(s.final[0].gather, s)
    t.iteration += 1
    t.learnt = 0
    for j in range(t.agents):
        s.status[j] = SEARCHING
        s.worst[j] = -np.inf
        s.taken[j] = 0
        s.held[j] = 0
        s.planned[j] = t.extent + (1 if j < t.free - t.extent * t.agents else 0)
    t.free = 0


@compiled
def run(s: State, advance: Any, objective: Any, data: Any, evaluations: int) -> int:
    """Advance with a compiled objective for about so many evaluations, or as much other work; return why it came back.

    `advance` comes as an argument, that is by its address, so that it is not compiled again as a part of this.
    """
    t = s.tally[0]
    until = t.spent + evaluations
    work_until = t.work + min(20_000 * evaluations, MOST_WORK)
    examined_until = t.examined + MOST_WORK
    iteration_until = t.iteration + 4 * evaluations
    x = np.empty(t.dimension)  # the objective gets a copy, which it may change
    while t.spent < until and t.work < work_until and t.examined < examined_until and t.iteration < iteration_until:
        size = advance(s)
        if size <= 0:
            return size
        t.evaluated = 0  # how many of the batch, should the objective raise
        for b in range(size):
            copy(s.batch_x[b], x)
            s.batch_value[b] = objective(x, data)
            t.evaluated = b + 1
    return UNFINISHED


@compiled
def _take_in(s: State) -> None:
    """Record the values of the batch, hand them to the inner searches, and keep back what is to be tried again."""
    t = s.tally[0]
    size, kept = t.batch, 0
    for b in range(size):
        j, row, tried = s.batch_agent[b], s.batch_row[b], s.batch_try[b]
        value = s.batch_value[b]
        failed = np.isnan(value) or value == -np.inf
        if failed:
            value = np.inf if t.on_failure == INFEASIBLE else np.nan
            t.failures += 1
            if t.first_failure < 0:
                t.first_failure = t.spent
            if tried < t.retries and t.closing == 0 and _can_spare_one(s):
                remember(s, b, np.nan)
                _copy_entry(s, b, kept)
                s.batch_try[kept] = tried + 1
                kept += 1
                continue
            if t.on_failure == RAISE and t.ending != FAILED:
                t.ending = FAILED
                t.fatal = t.spent
        remember(s, b, value)
        if t.closing == 0:
            s.held[j] -= 1
            _count(s, j, row, value)
    t.batch = 0 if t.ending == FAILED else kept
    t.evaluated = 0


@inlined
def _can_spare_one(s: State) -> bool:
    """Take one evaluation for another attempt: a free one, or one promised to the last agent that has some left."""
    t = s.tally[0]
    if t.free > 0:
        t.free -= 1
        return True
    for back in range(t.agents):
        j = t.agents - 1 - back
        if s.status[j] == SEARCHING and s.planned[j] - s.taken[j] - s.held[j] > 0:
            s.planned[j] -= 1
            return True
    return False


@inlined
def _copy_entry(s: State, source: int, target: int) -> None:
    copy(s.batch_y[source], s.batch_y[target])
    copy(s.batch_x[source], s.batch_x[target])
    s.batch_agent[target] = s.batch_agent[source]
    s.batch_row[target] = s.batch_row[source]


@inlined
def _count(s: State, j: int, row: int, value: float) -> None:
    """Give a value to the inner search of agent `j`, which it may complete or stop."""
    t = s.tally[0]
    s.taken[j] += 1
    if t.nominal == 0:
        call(s.inner[0].absorb, s, j, row, value)
    if value > s.worst[j]:
        s.worst[j] = value
    if t.stopping == 1 and s.status[j] == SEARCHING and s.placed[j] and value > s.best[j]:
        s.status[j] = STOPPED


@compiled
def _propose(s: State) -> int:
    """Let every search that is under way put its next points into the batch; return the size of the batch."""
    t = s.tally[0]
    first = t.batch
    for j in range(t.agents):
        if s.status[j] < SEARCHING or s.held[j] > 0:
            continue
        room = s.planned[j] - s.taken[j]
        if s.status[j] == STOPPED:
            t.free += room  # what an early end saved
            s.planned[j] = s.taken[j]
        elif s.status[j] == SEARCHING:
            if room == 0:
                s.status[j] = DONE if s.taken[j] == t.extent else PARTIAL
                continue
            before = t.batch
            if t.nominal == 1:
                propose_itself(s, j, room)
            else:
                call(s.inner[0].propose, s, j, room)
            s.held[j] = t.batch - before
    for b in range(first, t.batch):
        _place(s, b, t.clip == 1)
    return t.batch


@inlined
def _place(s: State, b: int, clip: bool) -> None:
    """Write the batch's point `b` in the user's units, clipped to the box or not."""
    y, x, scale, centre, lower, upper = s.batch_y[b], s.batch_x[b], s.scale, s.centre, s.raw_lower, s.raw_upper
    for i in range(x.size):
        x[i] = y[i] * scale[i] + centre[i]
        if clip and not (lower[i] <= x[i] <= upper[i]):
            x[i] = min(max(x[i], lower[i]), upper[i])
            y[i] = (x[i] - centre[i]) / scale[i]


@compiled
def _next_iteration(s: State) -> None:
    """Move the agents whose turn it is, and begin their searches; scatter all if nobody has had anything to evaluate
    for long.

    At the start, and after a scattering, it is everybody's turn, whatever the order.
    """
    t = s.tally[0]
    everyone = True
    if t.phase == TESTING:
        t.nominal = 1
        t.extent = 1
        call(s.structure[0].probe, s)
        copy(s.x[0], s.incumbent_x)
    elif t.phase == BEGINNING:
        t.phase = GOING
        t.agents = t.group
        t.extent = t.points
        t.nominal = t.as_is
        call(s.outer[0].start, s)
        copy(s.x[0], s.incumbent_x)  # to have something to return, should no search ever be completed
    elif t.barren >= BARREN_LIMIT * t.agents:
        for j in range(t.agents):
            random_position(s, j)
            fresh_velocity(s, j)
            s.idle[j] = 0
        t.barren = 0
        t.forced = 1
    else:
        everyone = s.outer[0].order == 0.0
        if not everyone:
            t.first = t.last % t.agents
            t.last = t.first + 1
        call(s.outer[0].move, s)
    if t.ending != RUNNING:
        return
    if everyone:
        t.first = 0
        t.last = t.agents
    t.iteration += 1
    t.learnt = 0
    anyone = _begin_searches(s)
    t.barren = 0 if anyone else t.barren + t.last - t.first
    if t.forced == 1 and not anyone:
        t.ending = NOWHERE
    t.forced = 0


@compiled
def _begin_searches(s: State) -> bool:
    """Decide who searches, and promise each search its evaluations, in the order of the agents; return if anyone does.

    Only as many searches begin as can be completed; what is left of the budget goes to one more, which does not count
    as completed.
    """
    t = s.tally[0]
    anyone = False
    for j in range(t.first, t.last):
        if not is_finite(s.x[j]):  # after values so far apart that their differences overflow
            random_position(s, j)
            fresh_velocity(s, j)
        s.status[j] = _standing(s, j)
        s.worst[j] = -np.inf
        s.taken[j] = 0
        s.held[j] = 0
        s.planned[j] = 0
        if s.status[j] != SEARCHING:
            if s.status[j] == SKIPPED or s.readings[0].outside_is_idle > 0:
                s.idle[j] += 1
            continue
        s.idle[j] = 0
        s.planned[j] = min(t.extent, t.free)
        t.free -= s.planned[j]
        if s.planned[j] == 0:
            s.status[j] = WAITING
        else:
            anyone = True
    return anyone


@inlined
def _standing(s: State, j: int) -> int:
    """Say whether agent `j` is outside the box, need not search since the history says enough, or will search."""
    t = s.tally[0]
    if not is_inside(s, j):
        return OUTSIDE
    if t.n_dorm == 1 and s.relocation[0].used > 0 and s.placed[j] and t.forced == 0:
        found = neighbours(s, s.x[j])
        if worst_of(s, found) > s.best[j]:
            return SKIPPED
    return SEARCHING


@inlined
def _close(s: State) -> None:
    """Ask for the last evaluation: f at the design that will be returned. Once it is there, the batch is empty."""
    t = s.tally[0]
    t.batch = 0
    if t.closing == 0:
        if not is_finite(s.incumbent_x):
            random_point(s, s.incumbent_x)
        for i in range(t.dimension):
            s.batch_y[0, i] = s.incumbent_x[i] - s.offset[i]
        s.batch_agent[0] = 0
        s.batch_try[0] = 0
        _place(s, 0, True)
        t.batch = 1
        t.closing = 1


@compiled
def find_near(s: State, y: Any) -> int:
    """Write the indices of all history points in the set around scaled `y` to `s.near`; return how many there are."""
    call(s.routines[0].neighbours, s, y, 0)
    return s.tally[0].near
