"""The initial state of a run: from a problem, a heuristic, a budget and a seed to arrays before the first step."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.components import NoInnerSearch, Outer, SurfaceSampling
from robustforge.components.closing_attack import DEFAULT_ATTACK, ClosingAttack
from robustforge.components.separability import MIN_SAMPLES_PER_AXIS
from robustforge.core.component import Component, filled_record, parts
from robustforge.core.history import FIND_NEIGHBOURS
from robustforge.core.state import RUNNING, Array, Phase, Plan, set_tolerances
from robustforge.core.state_type import StateTable
from robustforge.engine import kernels, state_layout
from robustforge.engine.prior_evaluations import PriorEvaluations
from robustforge.engine.state_layout import SLOTS, kernel_address, record_name, routine_address
from robustforge.errors import ProblemError
from robustforge.representation import Heuristic
from robustforge.robust_problem import Problem

MAX_COUNT = 2**62
"""Upper limit of budgets and retries, so that counters fit into 64 bits."""


def checked_budget(budget: Any) -> int:
    """Return the budget as an int, or raise if it cannot be one."""
    if isinstance(budget, (int, np.integer)) and not isinstance(budget, bool) and budget >= 3:
        if budget >= MAX_COUNT:
            raise ProblemError("`budget` must fit into memory", "got 2**62 or more", "Lower the budget")
        return int(budget)
    raise ProblemError(
        "`budget` must be an integer of at least 3 (an inner search and f at the returned design)",
        f"got {budget!r}",
        "Pass the number of evaluations you can afford, for instance budget=2000",
    )


def checked_verify(verify: Any, budget: int) -> int | None:
    """Return the evaluations of the closing attack, `None` where the heuristic decides, or raise."""
    if verify is None:
        return None
    if isinstance(verify, (int, np.integer)) and not isinstance(verify, bool) and 0 <= verify < budget:
        return int(verify)
    raise ProblemError(
        "`verify` must be a number of evaluations below the budget, or None", f"got {verify!r}", "Pass e.g. verify=20"
    )


def with_attack(heuristic: Heuristic, verify: int | None) -> Heuristic:
    """Return a heuristic that can attack its design, if evaluations are given for this."""
    if not verify or isinstance(heuristic.final, ClosingAttack):
        return heuristic
    return heuristic.replace(final=DEFAULT_ATTACK)


def make_state(
    problem: Problem,
    heuristic: Heuristic,
    budget: int,
    seed: npt.NDArray[np.uint64],
    prior: PriorEvaluations,
    verify: int | None = None,
) -> StateTable:
    """Return the state of a run before its first step.

    Args:
        problem: The problem, as the search sees it.
        heuristic: The heuristic.
        budget: Evaluations in all.
        seed: The random stream.
        prior: The prior evaluations.
        verify: Evaluations of the closing attack; `None` if the heuristic decides.
    """
    plan = _plan(problem, heuristic, budget, len(prior))
    try:
        state = state_layout.allocate(plan)
    except (MemoryError, ValueError, OverflowError) as error:
        raise ProblemError(
            "the history of all evaluations must fit into memory",
            f"{budget:,} evaluations of {problem.dimension} variables do not",
            "Lower the budget",
        ) from error
    arrays = state.arrays
    _set_components(arrays, heuristic, plan)
    for name, number in _counters(problem, heuristic, plan, verify).items():
        arrays["counters"][name] = number
    if verify is not None:
        arrays["final"]["crash_reserve"] = verify
    _set_space(arrays, problem, _margin(problem, heuristic))
    arrays["initial_speed"][:] = 0.1 / problem.space.scale if heuristic.interpretation.first_speed_in_x else 0.1
    arrays["best_f"][:] = np.inf
    arrays["stop_above"][:] = np.inf
    arrays["outcome_f"][:] = np.inf
    arrays["rng"][:] = seed
    set_tolerances(arrays)
    _add_prior(arrays, prior)
    return state


def _set_space(arrays: dict[str, Array], problem: Problem, margin: float) -> None:
    space = problem.space
    for name in ("lower", "upper", "scale", "centre", "offset"):
        arrays[name][:] = getattr(space, name)
    arrays["user_lower"][:], arrays["user_upper"][:] = problem.lower, problem.upper
    arrays["variables"][:] = np.arange(problem.dimension)
    arrays["uncertain"][:] = problem.geometry.active
    arrays["certain"][:] = np.flatnonzero(~(problem.geometry.radii > 0))
    arrays["margin"][arrays["uncertain"]] = margin


def _margin(problem: Problem, heuristic: Heuristic) -> float:
    """Return how far outside the bounds candidates may be along each variable."""
    is_allowed = heuristic.outer.leaves_box and isinstance(heuristic.inner.form, NoInnerSearch)
    if not is_allowed or problem.out_of_bounds != "evaluate":
        return 0.0
    return 1.0 if problem.geometry.is_box else 1.0 / math.sqrt(max(1, problem.geometry.active.size))


def _add_prior(arrays: dict[str, Array], prior: PriorEvaluations) -> None:
    """Add prior evaluations to the history."""
    count = len(prior)
    arrays["history_x"][:count], arrays["history_f"][:count] = prior.x, prior.values
    arrays["history_y"][:count] = (prior.x - arrays["centre"]) / arrays["scale"]
    arrays["history_coarse"][:, :count] = arrays["history_y"][:count].T
    arrays["counters"]["spent"] = count


def _plan(problem: Problem, heuristic: Heuristic, budget: int, prior: int) -> Plan:
    outer = heuristic.outer
    inner_budget = 1 if outer.is_nominal else heuristic.inner_budget(budget)
    if budget < inner_budget + 1:
        raise ProblemError(
            "the budget must be enough for one inner search and f at the returned point",
            f"this heuristic needs {inner_budget} + 1 evaluations, the budget is {budget}",
            "Raise the budget",
        )
    uncertain = problem.geometry.active.size
    plan = Plan(problem.dimension, uncertain, budget, outer.agents, inner_budget, prior)
    sizes: dict[str, int] = {}
    for part in filter(None, _components(heuristic).values()):
        for name, size in part.sizes(plan).items():
            sizes[name] = max(size, sizes.get(name, 0))
    return replace(plan, agents=heuristic.agents, sizes=tuple(sorted(sizes.items())))


_FINAL_INNER = SurfaceSampling()
"""The inner search of the final selection."""


def _components(heuristic: Heuristic) -> dict[str, Component | None]:
    """Return the component of each record in the state; `None` where there is none."""
    found: dict[str, Component | None] = dict.fromkeys(SLOTS)
    found.update(_records(heuristic))
    found.update(_records(heuristic.outer))  # these precede the parts of its replacement
    has_test, has_final = bool(heuristic.separability.agents), bool(heuristic.final.agents)
    found.update(outer=heuristic.outer, inner=heuristic.inner.form, interpretation=heuristic.interpretation)
    found.update(
        separability=heuristic.separability if has_test else None,
        replacement=heuristic.separability.replacement if has_test else None,
        second_search=heuristic.second_stage.continuation,
        final=heuristic.final if has_final else None,
        final_inner=_FINAL_INNER if has_final else None,
    )
    return found


def _records(whole: Component) -> dict[str, Component]:
    """Return the components inside a component that kernels read, by the names of their records."""
    return {name: part for _, part in parts(whole) if (name := record_name(part)) is not None}


def _set_components(arrays: dict[str, Array], heuristic: Heuristic, plan: Plan) -> None:
    """Write the parameters of all components to their records, and the addresses of kernels that are compiled."""
    linked_later = ("outer", "replacement", "second_search", "final", "final_inner", *_records(heuristic.outer))
    for name, part in _components(heuristic).items():
        arrays[name][:] = filled_record(SLOTS[name], part, plan)
        for field, content in part.initial_arrays(plan).items() if part else ():
            arrays[field][:] = content
        if name not in linked_later:
            _link(arrays, name, part)
    arrays[FIND_NEIGHBOURS.field][0] = routine_address(FIND_NEIGHBOURS)
    if _is_linked(heuristic.final):
        _link_final(arrays, heuristic)
    replacement, second = heuristic.separability.replacement, heuristic.second_stage.continuation
    if _is_linked(heuristic.outer) and _is_linked(replacement) and _is_linked(second):
        link_next(arrays, heuristic)
        _link(arrays, "replacement", replacement)
        _link_search(arrays, "second_search", second)


def link_next(arrays: dict[str, Array], heuristic: Heuristic) -> None:
    """Compile the kernels of the search or the final selection that starts, and put their addresses into the state.

    Which search it is may depend on a separability test: the other one is not compiled.
    """
    if arrays["counters"]["ending"][0] != RUNNING:
        _link_final(arrays, heuristic)
    elif arrays["counters"]["replaced"][0] == 1:
        _link(arrays, "outer", heuristic.separability.replacement)
    elif arrays["counters"]["handed_over"][0] == 1:
        _link_search(arrays, "outer", heuristic.second_stage.continuation)
    else:
        _link_search(arrays, "outer", heuristic.outer)
        for name, part in _records(heuristic.outer).items():
            _link(arrays, name, part)


def needed_later(heuristic: Heuristic, dimension: int) -> list[str]:
    """Return the kernels that a search does not need at once, by the names that `kernels.compile_ahead` takes."""
    second, names = heuristic.second_stage.continuation, list[str]()
    for slot, part in (("final", heuristic.final if heuristic.final.agents else None), ("second_search", second)):
        if part is not None and not _is_linked(part):
            names += [f"{slot}.{type(part).__name__}.{kernel}" for kernel in SLOTS[slot].kernels]
    return names + [routine.field for routine in (second.routines(dimension) if second else ())]


def _link_final(arrays: dict[str, Array], heuristic: Heuristic) -> None:
    if heuristic.final.agents:
        kernels.wait_for_ahead()
        _link(arrays, "final", heuristic.final)
        _link(arrays, "final_inner", _FINAL_INNER)


def _link_search(arrays: dict[str, Array], name: str, search: Outer | None) -> None:
    """Link a search, and the kernels that its own kernels call by address."""
    if search is not None and search.costly:
        kernels.wait_for_ahead()
    _link(arrays, name, search)
    for routine in search.routines(arrays["lower"].size) if search else ():
        arrays[routine.field][0] = routine_address(routine)


_LINKED: set[Any] = set()
"""The searches and final selections that this process has compiled, or loaded."""


def _is_linked(part: Component | None) -> bool:
    return part is None or type(part) in _LINKED


def _link(arrays: dict[str, Array], name: str, part: Component | None) -> None:
    if part is not None:
        chosen: Any = type(part)
        if name in ("outer", "second_search", "final"):
            _LINKED.add(chosen)
        for kernel, address in _addresses(SLOTS[name], chosen):
            arrays[name][kernel] = address


@cache
def _addresses(slot: Any, component: Any) -> tuple[tuple[str, int], ...]:
    return tuple((kernel, kernel_address(slot, component, kernel)) for kernel in slot.kernels)


def _reserve(problem: Problem, heuristic: Heuristic, plan: Plan, verify: int | None) -> int:
    """Return the evaluations of the final selection: given, or what its parameters say, if the budget is enough."""
    most = plan.budget - 1 - plan.inner_budget
    if verify is None or not isinstance(heuristic.final, ClosingAttack):
        reserve = heuristic.final.reserve(plan.budget, plan.uncertain, bool(problem.geometry.is_box))
        return reserve if reserve <= most else 0
    if verify > most:
        raise ProblemError(
            "`verify` must leave evaluations for the search",
            f"of {plan.budget} evaluations, {verify} leave less than one inner search and f at the returned design",
            f"Pass at most {most}, or raise the budget",
        )
    return verify if plan.uncertain else 0


def _counters(problem: Problem, heuristic: Heuristic, plan: Plan, verify: int | None) -> dict[str, int]:
    """Return the counters that are not 0 at the start."""
    inner, reserve = heuristic.inner, _reserve(problem, heuristic, plan, verify)
    allowance = plan.budget - 1 - reserve
    separability, second = heuristic.separability, heuristic.second_stage
    needed = separability.agents + MIN_SAMPLES_PER_AXIS * plan.dimension
    is_tested = separability.replacement is not None and allowance >= needed
    return {
        "dimension": plan.dimension,
        "is_box": problem.geometry.is_box,
        "clip": problem.out_of_bounds != "evaluate",
        "phase": Phase.TESTING if is_tested else Phase.STARTING,
        "agents": heuristic.outer.agents,
        "outer_agents": heuristic.outer.agents,
        "asynchronous": heuristic.outer.is_asynchronous,
        "inner_budget": plan.inner_budget,
        "outer_inner_budget": plan.inner_budget,
        "outer_nominal": heuristic.outer.is_nominal,
        "handover": second.evaluations_left(plan.budget) - reserve if second.continuation else -1,
        "second_agents": second.continuation.agents if second.continuation else 0,
        "budget": plan.budget,
        "outer_budget": allowance,
        "reserve": reserve,
        "unallocated": allowance,
        "first_failure": -1,
        "fatal_failure": -1,
        "updated": 1,
        "distance_limit": heuristic.outer.distance_limit(plan.budget),
        "n_dorm": inner.n_dorm,
        "n_pbest": inner.n_pbest,
        "stopping": inner.stopping,
    }
