"""The state of a run: arrays only, shared between Python and the compiled kernels.

Space inside the engine is scaled so that the uncertainty set is the unit ball (or the unit box) around 0, and centred
on the box of the designs: every kernel speaks in units of Gamma. A component that needs memory of its own declares it
beside its kernels with `StateField`; `core.state_type` makes one compiled type of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import from_dtype, types

from robustforge.core.compiler import compiled
from robustforge.core.random import uniform

State = Any
"""What a kernel takes: the state, with the fields below as attributes. (Numba checks the types, not mypy.)"""

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

BLOCK = 256
"""History points that are filtered together; the coarse copy is padded to a multiple of it."""

# What an agent is doing in an iteration.
OUTSIDE, SKIPPED, WAITING, SEARCHING, STOPPED, PARTIAL, DONE = range(7)

# What a run is doing: testing for structure, about to begin its outer search, in it, checking what it came to.
TESTING, BEGINNING, GOING, CHECKING = range(4)

# Why a run ended.
RUNNING, BUDGET_SPENT, SPACE_EMPTY, NOWHERE, FAILED = range(5)

# What becomes of a failed evaluation.
RAISE, INFEASIBLE, UNKNOWN = range(3)

TALLY = np.dtype(
    [
        (name, np.int64)
        for name in (
            "dimension",  # variables
            "is_box",  # the set is a box (maximum norm) and not a ball (Euclidean norm)
            "clip",  # points are kept to the box: clipped, or, with a shrunken box, against rounding
            "phase",  # TESTING, BEGINNING, GOING or CHECKING
            "agents",
            "first",  # the first of those whose turn it is
            "last",  # the one after the last of them
            "group",  # how many agents the outer search has
            "extent",  # evaluations in a complete inner search
            "points",  # how many of them the outer search asks for
            "nominal",  # candidates are evaluated as they are, whatever the inner search
            "other",  # whether the search that the structure test stands for has taken over
            "as_is",  # whether the outer search wants that
            "budget",  # evaluations in all
            "spent",  # evaluations taken in
            "allowance",  # evaluations that the outer search may spend, structure test included
            "reserve",  # evaluations to check what it came to
            "free",  # evaluations of the search not promised to any agent
            "batch",  # points that wait for a value
            "evaluated",  # how many of them a compiled objective has got to
            "retries",  # further attempts at a failed point
            "on_failure",  # RAISE, INFEASIBLE or UNKNOWN
            "failures",
            "first_failure",  # its place in the history, or -1
            "fatal",  # the place of the failure that ended the run, or -1
            "iteration",
            "learnt",  # whether the searches of this iteration were learnt from
            "closing",  # the last evaluation, f at the returned point, is under way
            "ending",  # RUNNING, or why the search ended
            "found",  # whether there is an incumbent: a point with a robust value
            "barren",  # turns of single agents in a row without an evaluation
            "forced",  # after a scattering nobody is skipped
            "near",  # points that the last query for neighbours found
            "examined",  # points of the history older than the newest ones that queries have examined
            "work",  # distances computed for relocations
            "work_limit",
            "relocations",
            "pause",  # come back to Python after every iteration
            "n_dorm",
            "n_pbest",
            "stopping",
        )
    ],
    align=True,
)


@dataclass(frozen=True)
class Readings:
    """Where the paper can be read in more than one way: the reading taken. `benchmarks/readings.py` tries the others.

    Attributes:
        step_by_rho: The descent component has the length of (Rho) instead of Gamma.
        step_scale: Factor on the descent component: 1 in units of Gamma, 1/Gamma in units of x.
        direction_after_stop: A search that was stopped early still gives a descent direction.
        relocation_resets_best: A relocated particle forgets its personal best.
        outside_is_idle: An iteration outside the box counts towards dormancy.
        mutated_dimensions: Dimensions mutated on average: 0.5 as the paper's U(0, 1/n), 1 as its text says.
        first_speed_in_x: Initial velocities are U(0, 0.1) in units of x instead of Gamma.
    """

    step_by_rho: bool = False
    step_scale: float = 1.0
    direction_after_stop: bool = True
    relocation_resets_best: bool = False
    outside_is_idle: bool = True
    mutated_dimensions: float = 0.5
    first_speed_in_x: bool = False


ROUTINES = np.dtype(
    [(name, np.int64) for name in ("neighbours", "find_direction", "judge", "fit_iteratively")], align=True
)
"""Where the machine code is of what several kernels call: by its address, so that it is not compiled into each."""

READINGS = np.dtype([(field.name, np.float64) for field in fields(Readings)], align=True)


@dataclass(frozen=True)
class Plan:
    """The sizes that decide how much memory a run needs."""

    dimension: int = 1
    active: int = 1
    budget: int = 1
    agents: int = 1
    extent: int = 1
    members: int = 1
    high_cost: int = 1
    known: int = 0  # points that were evaluated before
    archive: int = 0  # candidates that an outer search remembers
    matrix: int = 0  # rows of its model
    windows: int = 0  # models that compete
    middles: int = 0  # variables of its middle: all, or 0 for a search without one
    axis: int = 0  # samples that it has room for along each axis

    @property
    def room(self) -> int:
        """Points that the history can hold."""
        return self.known + self.budget

    @property
    def batch(self) -> int:
        """Points that can wait for a value at once."""
        return self.agents * max(1, self.members)

    @property
    def padded(self) -> int:
        """The room of the history rounded up to whole blocks."""
        return -(-self.room // BLOCK) * BLOCK


@dataclass(frozen=True)
class StateField:
    """An array of the state: its name, its element type, and its shape as the plan decides it."""

    name: str
    dtype: Any
    shape: Callable[[Plan], tuple[int, ...]]

    @property
    def numba_type(self) -> types.Array:
        """The compiled type: a C-ordered array."""
        return types.Array(from_dtype(np.dtype(self.dtype)), len(self.shape(Plan())), "C")


_F, _I, _B = np.float64, np.int64, np.bool_

MACHINE_FIELDS = (
    StateField("tally", TALLY, lambda p: (1,)),
    StateField("readings", READINGS, lambda p: (1,)),
    StateField("routines", ROUTINES, lambda p: (1,)),
    StateField("rng", np.uint64, lambda p: (4,)),
    # the space: scaled box of the agents, and the way back to the user's units
    StateField("lower", _F, lambda p: (p.dimension,)),
    StateField("upper", _F, lambda p: (p.dimension,)),
    StateField("margin", _F, lambda p: (p.dimension,)),  # how far outside the box a candidate may lie
    StateField("scale", _F, lambda p: (p.dimension,)),
    StateField("centre", _F, lambda p: (p.dimension,)),
    StateField("offset", _F, lambda p: (p.dimension,)),
    StateField("raw_lower", _F, lambda p: (p.dimension,)),
    StateField("raw_upper", _F, lambda p: (p.dimension,)),
    StateField("every", _I, lambda p: (p.dimension,)),
    StateField("active", _I, lambda p: (p.active,)),
    StateField("exact", _I, lambda p: (p.dimension - p.active,)),
    StateField("first_speed", _F, lambda p: (p.dimension,)),
    # the history: every point evaluated, scaled and in the user's units; coarse is a float32 copy, a row per coordinate
    StateField("points", _F, lambda p: (p.room, p.dimension)),
    StateField("values", _F, lambda p: (p.room,)),
    StateField("coarse", np.float32, lambda p: (p.dimension, p.padded + 16)),  # else its rows share a line of the cache
    StateField("evaluated_x", _F, lambda p: (p.room, p.dimension)),
    StateField("slack", np.float32, lambda p: (1,)),
    StateField("edge", _F, lambda p: (1,)),
    StateField("near", _I, lambda p: (p.room,)),
    # the agents
    StateField("x", _F, lambda p: (p.agents, p.dimension)),
    StateField("v", _F, lambda p: (p.agents, p.dimension)),
    StateField("best_x", _F, lambda p: (p.agents, p.dimension)),
    StateField("best", _F, lambda p: (p.agents,)),
    StateField("placed", _B, lambda p: (p.agents,)),
    StateField("incumbent", _F, lambda p: (1,)),
    StateField("incumbent_x", _F, lambda p: (p.dimension,)),
    StateField("status", _I, lambda p: (p.agents,)),
    StateField("idle", _I, lambda p: (p.agents,)),
    StateField("worst", _F, lambda p: (p.agents,)),
    StateField("taken", _I, lambda p: (p.agents,)),
    StateField("planned", _I, lambda p: (p.agents,)),
    StateField("held", _I, lambda p: (p.agents,)),
    # the batch that waits for values
    StateField("batch_y", _F, lambda p: (p.batch, p.dimension)),
    StateField("batch_x", _F, lambda p: (p.batch, p.dimension)),
    StateField("batch_value", _F, lambda p: (p.batch,)),
    StateField("batch_agent", _I, lambda p: (p.batch,)),
    StateField("batch_row", _I, lambda p: (p.batch,)),
    StateField("batch_try", _I, lambda p: (p.batch,)),
)


def set_tolerances(arrays: Mapping[str, Array]) -> None:
    """Set how far rounding can move a squared distance, in float32 and in float64, from the size of the scaled box."""
    extent = max(float(np.abs(arrays["lower"]).max()), float(np.abs(arrays["upper"]).max())) + 2.0
    count = arrays["active"].size
    error = extent * 2.0**-22  # of a coordinate difference in float32
    arrays["slack"][0] = 1e-4 + count * 2.0**-22 + 2 * error * math.sqrt(count) + count * error * error
    arrays["edge"][0] = 1.0 + 1e-9 + extent * 2.0**-50 * math.sqrt(count)


@compiled
def random_point(s: State, out: Floats) -> None:
    """Write a random point of the box to `out`."""
    lower, upper, rng = s.lower, s.upper, s.rng
    for i in range(out.size):
        out[i] = lower[i] + uniform(rng) * (upper[i] - lower[i])


@compiled
def random_position(s: State, j: int) -> None:
    """Put agent `j` at a random point of the box."""
    random_point(s, s.x[j])


@compiled
def fresh_velocity(s: State, j: int) -> None:
    """Draw the velocity of agent `j` anew: U(0, 0.1) in units of Gamma, in each coordinate."""
    v, speed, rng = s.v[j], s.first_speed, s.rng
    for i in range(v.size):
        v[i] = speed[i] * uniform(rng)


@compiled
def in_box(s: State, y: Floats) -> bool:
    """Whether a point is in the box."""
    lower, upper = s.lower, s.upper
    inside = True
    for i in range(y.size):
        inside = inside and lower[i] <= y[i] <= upper[i]
    return inside


@compiled
def is_inside(s: State, j: int) -> bool:
    """Whether agent `j` is where it may be evaluated: in the box, or in its margin."""
    x, lower, upper, margin = s.x[j], s.lower, s.upper, s.margin
    inside = True
    for i in range(x.size):
        inside = inside and lower[i] - margin[i] <= x[i] <= upper[i] + margin[i]
    return inside


@compiled
def is_finite(y: Floats) -> bool:
    """Whether all coordinates are numbers."""
    total = 0.0
    for i in range(y.size):
        total += y[i] - y[i]  # 0, but NaN where the coordinate is infinite or NaN
    return total == 0.0


@compiled
def copy(source: Floats, target: Floats) -> None:
    """Copy a row. (A slice assignment would compile the message for rows of unequal length, too.)"""
    for i in range(target.size):
        target[i] = source[i]


@compiled
def fill(row: Array, value: float) -> None:
    """Set all of a row to a value. (A slice assignment would compile the message for unequal shapes, too.)"""
    for i in range(row.size):
        row[i] = value


@compiled
def offer(s: State, j: int, value: float) -> None:
    """Take the position of agent `j` with its robust value as its personal best, and as the incumbent, if better."""
    t = s.tally[0]
    if not s.placed[j] or value < s.best[j]:
        s.placed[j] = True
        s.best[j] = value
        copy(s.x[j], s.best_x[j])
    if t.found == 0 or value < s.incumbent[0]:
        t.found = 1
        s.incumbent[0] = value
        copy(s.x[j], s.incumbent_x)
