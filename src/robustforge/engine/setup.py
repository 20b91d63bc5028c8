"""Sets a run up: from a problem, a heuristic, a budget and a seed to the arrays of a state before its first step."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.components import Itself, SurfaceSampling
from robustforge.components.descent import HIGH_COST_POINTS
from robustforge.components.structure import LEAST_SAMPLES
from robustforge.core.component import Component, filled_record
from robustforge.core.state import BEGINNING, TESTING, Array, Plan, Readings, set_tolerances
from robustforge.core.state_type import StateTable
from robustforge.engine import memory
from robustforge.engine.compilation import routine_address
from robustforge.engine.known import Known
from robustforge.errors import ProblemError
from robustforge.heuristic import Heuristic
from robustforge.problem import Problem

LARGEST = 2**62
"""Beyond every budget: what is counted must fit into 64 bits."""


def checked_budget(budget: Any) -> int:
    """Return the budget as an int, or raise if it cannot be one."""
    if isinstance(budget, (int, np.integer)) and not isinstance(budget, bool) and budget >= 3:
        if budget >= LARGEST:
            raise ProblemError("`budget` must fit into memory", "got 2**62 or more", "Pass what you can afford")
        return int(budget)
    raise ProblemError(
        "`budget` must be an integer of at least 3: an inner search, and f at the returned point",
        f"got {budget!r}",
        "Pass the number of evaluations you can afford, for instance budget=2000",
    )


def make_state(
    problem: Problem,
    heuristic: Heuristic,
    budget: int,
    seed: npt.NDArray[np.uint64],
    readings: Readings,
    known: Known,
) -> StateTable:
    """Return the state of a run before its first step."""
    plan = _plan(problem, heuristic, budget, len(known))
    try:
        state = memory.allocate(plan)
    except (MemoryError, ValueError, OverflowError) as error:
        raise ProblemError(
            "the history of all evaluations must fit into memory",
            f"{budget:,} evaluations of {problem.dimension} variables do not",
            "Lower the budget",
        ) from error
    arrays = state.arrays
    for name, part in _parts(heuristic).items():
        arrays[name][:] = filled_record(memory.SLOTS[name], part, plan)
        if name not in ("outer", "other", *heuristic.outer.parts):
            _link(arrays, name, part)
    if _is_linked(heuristic.outer) and _is_linked(heuristic.structure.other):
        link_outer(arrays, heuristic)
        _link(arrays, "other", heuristic.structure.other)
    arrays["routines"]["neighbours"] = routine_address("neighbours")
    for name, number in _numbers(problem, heuristic, plan).items():
        arrays["tally"][name] = number
    for field in fields(Readings):
        arrays["readings"][field.name] = getattr(readings, field.name)
    space = problem.space
    for name in ("lower", "upper", "scale", "centre", "offset"):
        arrays[name][:] = getattr(space, name)
    arrays["raw_lower"][:], arrays["raw_upper"][:] = problem.lower, problem.upper
    arrays["every"][:] = np.arange(problem.dimension)
    arrays["active"][:] = problem.geometry.active
    arrays["exact"][:] = np.flatnonzero(~(problem.geometry.radii > 0))
    arrays["margin"][arrays["active"]] = _margin(problem, heuristic)
    arrays["first_speed"][:] = 0.1 / space.scale if readings.first_speed_in_x else 0.1
    arrays["best"][:] = np.inf
    arrays["kept"][:] = np.inf
    arrays["rng"][:] = seed
    set_tolerances(arrays)
    _remember(arrays, known)
    return state


def _margin(problem: Problem, heuristic: Heuristic) -> float:
    """Return how far outside the box candidates may lie along each variable, where designs may come to be."""
    is_allowed = heuristic.outer.leaves_box and isinstance(heuristic.inner.form, Itself)
    if not is_allowed or problem.outside != "evaluate":
        return 0.0
    return 1.0 if problem.geometry.is_box else 1.0 / math.sqrt(max(1, problem.geometry.active.size))


def _remember(arrays: dict[str, Array], known: Known) -> None:
    """Put what was evaluated before into the history."""
    count = len(known)
    arrays["evaluated_x"][:count], arrays["values"][:count] = known.x, known.values
    arrays["points"][:count] = (known.x - arrays["centre"]) / arrays["scale"]
    arrays["coarse"][:, :count] = arrays["points"][:count].T
    arrays["tally"]["spent"] = count


def _plan(problem: Problem, heuristic: Heuristic, budget: int, known: int) -> Plan:
    outer, inner = heuristic.outer, heuristic.inner
    extent = _extent(heuristic, budget)
    if budget < extent + 1:
        raise ProblemError(
            "the budget must be enough for one inner search and f at the returned point",
            f"this heuristic needs {extent} + 1 evaluations, the budget is {budget}",
            "Raise the budget",
        )
    high_cost = min(HIGH_COST_POINTS, known + budget) if outer.uses_directions else 0
    active = problem.geometry.active.size
    plan = Plan(problem.dimension, active, budget, outer.agents, extent, members=0, high_cost=high_cost, known=known)
    forms = (inner.form, *([_CHECK] if heuristic.final.agents else []))
    members = max(form.members(plan) for form in forms)
    rooms = [outer.room(plan), *([other.room(plan)] if (other := heuristic.structure.other) else [])]
    return replace(plan, agents=heuristic.agents, members=members, **{k: v for room in rooms for k, v in room.items()})


def _extent(heuristic: Heuristic, budget: int) -> int:
    """Return the evaluations of a complete inner search."""
    return 1 if heuristic.outer.is_nominal else heuristic.inner.points(budget, heuristic.outer.agents)


_CHECK = SurfaceSampling()
"""How the finalists of a search are sampled."""


def _parts(heuristic: Heuristic) -> dict[str, Component | None]:
    """Return which component stands in each slot of the machine; `None` where there is none."""
    parts: dict[str, Component | None] = dict.fromkeys(memory.SLOTS)
    parts.update(heuristic.outer.parts)
    parts.update(outer=heuristic.outer, inner=heuristic.inner.form)
    if heuristic.structure.agents:
        parts.update(structure=heuristic.structure, other=heuristic.structure.other)
    if heuristic.final.agents:
        parts.update(final=heuristic.final, check=_CHECK)
    return parts


def link_outer(arrays: dict[str, Array], heuristic: Heuristic) -> None:
    """Compile the kernels of the outer search that begins, and of its parts, and put their addresses into the state.

    Which search it is may depend on a structure test: the other one is not compiled.
    """
    if arrays["tally"]["other"][0] == 1:
        _link(arrays, "outer", heuristic.structure.other)
        return
    for name, part in {"outer": heuristic.outer, **heuristic.outer.parts}.items():
        _link(arrays, name, part)
    for name in heuristic.outer.routines(arrays["lower"].size):
        arrays["routines"][name] = routine_address(name)


_LINKED: set[Any] = set()
"""The outer searches that this process has compiled, or loaded."""


def _is_linked(outer: Component | None) -> bool:
    return outer is None or type(outer) in _LINKED


def _link(arrays: dict[str, Array], name: str, part: Component | None) -> None:
    if part is not None:
        chosen: Any = type(part)
        if name == "outer":
            _LINKED.add(chosen)
        for verb, address in _addresses(memory.SLOTS[name], chosen):
            arrays[name][verb] = address


@cache
def _addresses(slot: Any, component: Any) -> tuple[tuple[str, int], ...]:
    return tuple((verb, memory.kernel_address(slot, component, verb)) for verb in slot.verbs)


def _numbers(problem: Problem, heuristic: Heuristic, plan: Plan) -> dict[str, int]:
    inner, reserve = heuristic.inner, heuristic.final.reserve(plan.budget)
    if plan.budget - 1 - reserve < plan.extent:
        reserve = 0
    allowance = plan.budget - 1 - reserve
    structure = heuristic.structure
    tests = structure.other is not None and allowance >= structure.agents + LEAST_SAMPLES * plan.dimension
    return {
        "dimension": plan.dimension,
        "is_box": problem.geometry.is_box,
        "clip": problem.outside != "evaluate",
        "phase": TESTING if tests else BEGINNING,
        "agents": heuristic.outer.agents,
        "group": heuristic.outer.agents,
        "extent": plan.extent,
        "points": plan.extent,
        "as_is": heuristic.outer.is_nominal,
        "budget": plan.budget,
        "allowance": allowance,
        "reserve": reserve,
        "free": allowance,
        "first_failure": -1,
        "fatal": -1,
        "learnt": 1,
        "work_limit": heuristic.outer.work_limit(plan.budget),
        "n_dorm": inner.n_dorm,
        "n_pbest": inner.n_pbest,
        "stopping": inner.stopping,
    }
