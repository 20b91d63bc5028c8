"""The state of a search: named arrays that Python and the compiled kernels share.

The state is declared in parts. A part is a class whose annotations give each array its element type, its shape in the
sizes of a `Plan`, and its meaning. This module declares what every search has: the engine's counters, the space, the
history, the agents and the batch. A component that needs memory of its own declares a further part in its own module,
and its kernels take that class: mypy reads the same declarations as `core.state_type`, which makes one compiled type of
all of them.

Inside, space is scaled so that the uncertainty set is the unit ball (or the unit box) around 0: every kernel computes
in units of Gamma.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
from numba import from_dtype, types

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
Coarse = npt.NDArray[np.float32]
Words = npt.NDArray[np.uint64]
Array = npt.NDArray[Any]
_ELEMENT_TYPES = {Floats: np.float64, Integers: np.int64, Booleans: np.bool_, Coarse: np.float32, Words: np.uint64}

BLOCK = 256
"""History points that are filtered together; the coarse copy is padded to a multiple of it."""


class Status(IntEnum):
    """State of an agent in an iteration."""

    OUTSIDE = 0  # outside the bounds: not evaluated
    SKIPPED = 1  # the history shows a worse point nearby: not evaluated
    NO_BUDGET = 2  # no evaluations are left for it
    SEARCHING = 3  # its inner search is under way
    STOPPED = 4  # its inner search was stopped early
    PARTIAL = 5  # its inner search had fewer evaluations than the inner budget
    DONE = 6  # its inner search is complete


class Phase(IntEnum):
    """Phase of a run."""

    TESTING = 0  # the separability test
    STARTING = 1  # about to start the outer search
    SEARCHING = 2  # the outer search
    SELECTING = 3  # the final selection


class Ending(IntEnum):
    """Why a run ended."""

    RUNNING = 0
    BUDGET_SPENT = 1
    SPACE_COVERED = 2  # no empty hypersphere of the size of the uncertainty set is left
    NO_CANDIDATE = 3  # nothing can be evaluated anywhere
    FAILED = 4  # the objective failed, and failures are errors


class FailurePolicy(IntEnum):
    """Policy for failed evaluations."""

    RAISE = 0
    INFEASIBLE = 1
    UNKNOWN = 2


# The same as integers, for kernels: an enumeration would make them slower to compile.
OUTSIDE, SKIPPED, NO_BUDGET, SEARCHING, STOPPED, PARTIAL, DONE = map(int, Status)
TESTING_PHASE, STARTING_PHASE, SEARCHING_PHASE, SELECTING_PHASE = map(int, Phase)
RUNNING, BUDGET_SPENT, SPACE_COVERED, NO_CANDIDATE, FAILED = map(int, Ending)
RAISE, INFEASIBLE, UNKNOWN = map(int, FailurePolicy)

STAGNATION_LIMIT = 50
"""Turns of all agents in a row without an evaluation after which a swarm is reinitialised."""

R = TypeVar("R")
C = TypeVar("C")


class Record(Generic[R]):
    """An array of one record; `R` is a class whose annotations are its fields, `int` or `float`."""

    def __getitem__(self, index: int) -> R: ...  # type: ignore[empty-body]


class SlotRecord(Generic[C]):
    """The record of a slot: the parameters and kernel addresses of the component that is used there.

    A kernel binds it to the class that it was written for, `p: Ring = s.network[0]`, so that mypy checks what it reads.
    """

    def __getitem__(self, index: int) -> Any: ...

    def __setitem__(self, index: int, value: Any) -> None: ...


@dataclass(frozen=True)
class Plan:
    """The sizes that decide how much memory a run needs.

    Attributes:
        dimension: Variables.
        uncertain: Variables with a tolerance.
        budget: Evaluations in all.
        agents: Candidates that are processed together, at most.
        inner_budget: Evaluations of a complete inner search.
        prior: Prior evaluations, which cost no budget.
        sizes: What components need beyond that, by the names that the shapes of their arrays use.
    """

    dimension: int = 1
    uncertain: int = 1
    budget: int = 1
    agents: int = 1
    inner_budget: int = 1
    prior: int = 0
    sizes: tuple[tuple[str, int], ...] = ()

    def size(self, name: str) -> int:
        """Return a size by name; 0 for one that no component of the run needs."""
        found = getattr(self, name, None)
        return int(found) if found is not None else dict(self.sizes).get(name, 0)

    @property
    def certain(self) -> int:
        """Variables without a tolerance."""
        return self.dimension - self.uncertain

    @property
    def history(self) -> int:
        """Points that the history can hold."""
        return self.prior + self.budget

    @property
    def padded_history(self) -> int:
        """The same, rounded up to whole blocks."""
        return -(-self.history // BLOCK) * BLOCK

    @property
    def coarse_history(self) -> int:
        """The same, and some more: otherwise rows of the coarse copy would share lines of the CPU's cache."""
        return self.padded_history + 16

    @property
    def batch(self) -> int:
        """Points that can be pending at once."""
        return self.agents * max(1, self.size("inner_members"))

    @property
    def inner_rows(self) -> int:
        """Points that the inner searches of all agents hold together."""
        return self.agents * self.size("inner_members")


class Shape:
    """The shape of an array: numbers, and names of sizes of a `Plan`."""

    def __init__(self, *sizes: int | str) -> None:
        self.sizes = sizes

    def of(self, plan: Plan) -> tuple[int, ...]:
        """Return the shape in the sizes of a plan."""
        return tuple(size if isinstance(size, int) else plan.size(size) for size in self.sizes)


ONE = Shape(1)


@dataclass(frozen=True)
class StateField:
    """An array of the state.

    Attributes:
        name: Its name.
        owner: The part that declares it.
        dtype: Its element type; a record of a slot has the slot's class here until the slots are complete.
        shape: Its shape.
        meaning: What it holds.
    """

    name: str
    owner: type[StatePart]
    dtype: Any
    shape: Shape
    meaning: str

    @property
    def numba_type(self) -> types.Array:
        """The compiled type: a C-ordered array."""
        return types.Array(from_dtype(np.dtype(self.dtype)), len(self.shape.sizes), "C")


class StatePart:
    """The root of the classes that declare arrays of the state."""

    @classmethod
    def declared(cls) -> Iterator[StateField]:
        """Yield the arrays that this class declares itself."""
        hints = get_type_hints(cls, include_extras=True)
        for name in inspect.get_annotations(cls):
            kind, shape, meaning = get_args(hints[name])
            yield StateField(name, cls, _element_type(kind), shape, meaning)


def state_parts() -> Iterator[type[StatePart]]:
    """Yield all classes that declare arrays, each once, in the order of their definition."""
    waiting, found = [StatePart], dict[type[StatePart], None]()
    while waiting:
        for part in waiting.pop(0).__subclasses__():
            if part not in found:
                found[part] = None
                waiting.append(part)
    return iter(found)


def record_type(record: type) -> np.dtype[Any]:
    """Return the element type of a record that a class declares by its annotations."""
    kinds = {int: np.int64, float: np.float64}
    return np.dtype([(name, kinds[kind]) for name, kind in get_type_hints(record).items()], align=True)


def _element_type(kind: Any) -> Any:
    """Return the NumPy type of an array's elements; of a slot's record, the slot."""
    if get_origin(kind) is Record:
        return record_type(get_args(kind)[0])
    if get_origin(kind) is SlotRecord:
        return get_args(kind)[0]
    return _ELEMENT_TYPES[kind]


class Counters:
    """The numbers of the engine."""

    dimension: int  # variables
    is_box: int  # the uncertainty set is a box (maximum norm) and not a ball (Euclidean norm)
    clip: int  # points are kept within the bounds: clipped, or, with shrunken bounds, against rounding
    phase: int  # a `Phase`
    agents: int  # candidates of the present iteration
    first_agent: int  # the first of those that move and search in this iteration
    end_agent: int  # the one after the last of them
    outer_agents: int  # candidates of the outer search
    inner_budget: int  # evaluations of a complete inner search
    outer_inner_budget: int  # the same, in the outer search
    nominal: int  # candidates are evaluated as they are, whatever the inner search
    outer_nominal: int  # the same, in the outer search
    replaced: int  # the separability test has replaced the outer search
    handover: int  # free evaluations at which the second stage takes over; -1 if there is none
    handed_over: int  # it has
    second_agents: int  # its candidates
    asynchronous: int  # agents move one after the other, and not all in each iteration
    budget: int  # evaluations in all
    spent: int  # evaluations so far, prior evaluations included
    outer_budget: int  # evaluations of the outer search, separability test included
    reserve: int  # evaluations of the final selection
    unallocated: int  # evaluations that are not allocated to an agent yet
    batch_size: int  # pending points
    evaluated: int  # how many of them a compiled objective has evaluated
    retries: int  # further attempts at a failed point
    on_failure: int  # a `FailurePolicy`
    failures: int  # failed evaluations
    infeasible: int  # evaluations that failed, or whose value is +inf
    first_failure: int  # index of the first of them in the history, or -1
    fatal_failure: int  # index of the failure that ended the run, or -1
    iteration: int  # iterations so far
    updated: int  # the outer search has used the values of this iteration
    final_requested: int  # the last evaluation, f at the returned design, is pending or done
    ending: int  # an `Ending`
    has_incumbent: int  # there is an incumbent: a point with a robust value
    stagnant: int  # turns of single agents in a row without an evaluation
    skip_nothing: int  # after a reinitialisation no agent is skipped
    neighbour_count: int  # points that the last query for neighbours found
    examined: int  # history points older than the newest ones that queries have examined
    distances: int  # distances computed for relocations
    distance_limit: int  # limit of `distances`
    relocations: int  # relocations so far
    pause: int  # return to Python after every iteration
    n_dorm: int  # nDorm of the paper: a bad neighbour in the history makes an inner search unnecessary
    n_pbest: int  # nPBest of the paper: values are raised to the worst neighbour in the history
    stopping: int  # inner searches end early


class MachineState(StatePart):
    """The engine: its counters, its random stream, and the kernel that several others call."""

    counters: Annotated[Record[Counters], ONE, "the numbers of the engine"]
    rng: Annotated[Words, Shape(4), "the random stream"]
    find_neighbours_kernel: Annotated[Integers, ONE, "address of `history.find_neighbours`"]


class SpaceState(StatePart):
    """The space: the scaled bounds, and the way back to the user's units. Written at the start only."""

    lower: Annotated[Floats, Shape("dimension"), "lower bounds of designs"]
    upper: Annotated[Floats, Shape("dimension"), "upper bounds of designs"]
    margin: Annotated[Floats, Shape("dimension"), "how far outside the bounds a candidate may be"]
    scale: Annotated[Floats, Shape("dimension"), "user's units per unit of scaled space"]
    centre: Annotated[Floats, Shape("dimension"), "the user's coordinates of the scaled origin"]
    offset: Annotated[Floats, Shape("dimension"), "what is subtracted from a candidate to get its design"]
    user_lower: Annotated[Floats, Shape("dimension"), "lower bounds in the user's units"]
    user_upper: Annotated[Floats, Shape("dimension"), "upper bounds in the user's units"]
    variables: Annotated[Integers, Shape("dimension"), "all variables: 0, 1, ..."]
    uncertain: Annotated[Integers, Shape("uncertain"), "variables with a tolerance"]
    certain: Annotated[Integers, Shape("certain"), "variables without a tolerance"]
    initial_speed: Annotated[Floats, Shape("dimension"), "largest initial velocity along each variable"]


class HistoryState(StatePart):
    """The history: every point evaluated, with its value. Written by `history.remember`."""

    history_y: Annotated[Floats, Shape("history", "dimension"), "the points, scaled"]
    history_x: Annotated[Floats, Shape("history", "dimension"), "the points, in the user's units"]
    history_f: Annotated[Floats, Shape("history"), "their values; NaN if unknown, +inf if infeasible"]
    history_coarse: Annotated[Coarse, Shape("dimension", "coarse_history"), "the scaled points, one row per variable"]
    coarse_slack: Annotated[Coarse, ONE, "rounding error of a squared distance between coarse points"]
    squared_radius: Annotated[Floats, ONE, "largest squared distance of a neighbour: 1, and the rounding error"]
    neighbours: Annotated[Integers, Shape("history"), "indices that the last query for neighbours found"]


class AgentState(StatePart):
    """The agents: candidates, their inner searches, and the incumbent."""

    x: Annotated[Floats, Shape("agents", "dimension"), "positions"]
    velocity: Annotated[Floats, Shape("agents", "dimension"), "velocities"]
    has_best: Annotated[Booleans, Shape("agents"), "whether there is a personal best"]
    best_x: Annotated[Floats, Shape("agents", "dimension"), "personal best positions"]
    best_f: Annotated[Floats, Shape("agents"), "their robust values; +inf if there is none"]
    stop_above: Annotated[Floats, Shape("agents"), "value above which an inner search is stopped early"]
    incumbent_x: Annotated[Floats, Shape("dimension"), "the design that would be returned"]
    incumbent_f: Annotated[Floats, ONE, "its robust value"]
    status: Annotated[Integers, Shape("agents"), "a `Status` each"]
    idle: Annotated[Integers, Shape("agents"), "iterations in a row without an inner search"]
    worst: Annotated[Floats, Shape("agents"), "largest value of the present inner search"]
    taken: Annotated[Integers, Shape("agents"), "evaluations of the present inner search so far"]
    allocated: Annotated[Integers, Shape("agents"), "evaluations that it may have"]
    pending: Annotated[Integers, Shape("agents"), "evaluations of it that are pending"]


class BatchState(StatePart):
    """The batch: pending points. Written by `inner_search.put` and the engine."""

    batch_y: Annotated[Floats, Shape("batch", "dimension"), "the points, scaled"]
    batch_x: Annotated[Floats, Shape("batch", "dimension"), "the points, in the user's units"]
    batch_f: Annotated[Floats, Shape("batch"), "their values, once they are reported"]
    batch_agent: Annotated[Integers, Shape("batch"), "whose inner search they belong to"]
    batch_row: Annotated[Integers, Shape("batch"), "which member of that search they are"]
    batch_attempt: Annotated[Integers, Shape("batch"), "attempts at the point before this one"]


class State(MachineState, SpaceState, HistoryState, AgentState, BatchState):
    """The state that every kernel may read. (Slots' records and components' own arrays are in further classes.)"""


def set_tolerances(arrays: Mapping[str, Array]) -> None:
    """Set how far rounding can move a squared distance, in float32 and in float64, from the size of the scaled box."""
    size = max(float(np.abs(arrays["lower"]).max()), float(np.abs(arrays["upper"]).max())) + 2.0
    count = arrays["uncertain"].size
    error = size * 2.0**-22  # of a coordinate difference in float32
    arrays["coarse_slack"][0] = 1e-4 + count * 2.0**-22 + 2 * error * math.sqrt(count) + count * error * error
    arrays["squared_radius"][0] = 1.0 + 1e-9 + size * 2.0**-50 * math.sqrt(count)
