"""The layout of a state: the arrays that all components declare, the slots whose components kernels call, and memory.

Everything here is found in the declarations: a component or a slot that is added needs no change in this module.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import robustforge.components  # noqa: F401 - every module of components declares its arrays when it is imported
from robustforge.core.compiler import Routine, address
from robustforge.core.component import Component, record
from robustforge.core.state import Plan, StateField, state_parts
from robustforge.core.state_type import Layout, StateTable, StateType, layout_of

_DECLARED = [field for part in state_parts() for field in part.declared()]

assert len({field.name for field in _DECLARED}) == len(_DECLARED), "two parts declare an array of the same name"

SLOTS: dict[str, Any] = {
    field.name: field.dtype
    for field in _DECLARED
    if isinstance(field.dtype, type) and issubclass(field.dtype, Component)
}
"""The slots whose component a kernel reads, by the name of their record in the state."""

FIELDS: tuple[StateField, ...] = tuple(
    replace(field, dtype=record(field.dtype)) if field.name in SLOTS else field for field in _DECLARED
)

STATE = StateType(FIELDS)


def record_name(component: Component) -> str | None:
    """Return the name of the record that holds a component; `None` if kernels do not read it."""
    chosen: Any = type(component)
    return _record_name(chosen)


@cache
def _record_name(chosen: Any) -> str | None:
    kind = chosen.slot() or chosen
    return next((name for name, slot in SLOTS.items() if slot is kind), None)


def allocate(plan: Plan) -> StateTable:
    """Return a state whose arrays are zero, in the sizes of a plan."""
    return StateTable(STATE, _layout(plan))


@lru_cache(maxsize=64)
def _layout(plan: Plan) -> Layout:
    return layout_of(FIELDS, plan)


def kernel_address(slot: type[Component], component: type[Component], kernel: str) -> int:
    """Return the address of a component's kernel."""
    return address(getattr(component, kernel), (STATE, *slot.kernels[kernel]))


def routine_address(routine: Routine) -> int:
    """Return the address of a kernel that others call."""
    return address(routine.kernel, (STATE, *routine.arguments))
