"""The memory of a run: the slots that kernels look up, all arrays that components declare, and a state upon them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from robustforge.components import (
    Baseline,
    Clamp,
    Final,
    InnerForm,
    Mutation,
    Network,
    Outer,
    Relocation,
    Restart,
    Returned,
    Structure,
    axes,
    coordinate,
    descent,
    gradient,
    inner,
    middle,
    network,
    relocation,
    strategy,
    surface,
)
from robustforge.components.descent import DescentDirections
from robustforge.core.compiler import address
from robustforge.core.component import Component, record
from robustforge.core.state import MACHINE_FIELDS, Plan, StateField
from robustforge.core.state_type import Layout, StateTable, StateType, layout_of

SLOTS: dict[str, Any] = {
    "outer": Outer,
    "network": Network,
    "baseline": Baseline,
    "mutation": Mutation,
    "clamp": Clamp,
    "descent": DescentDirections,
    "relocation": Relocation,
    "inner": InnerForm,
    "restart": Restart,
    "returned": Returned,
    "structure": Structure,
    "other": Outer,
    "final": Final,
    "check": InnerForm,
}
"""The slots whose component a kernel looks up, by the name of their record in the state."""

FIELDS = (
    *MACHINE_FIELDS,
    *(StateField(name, record(slot), lambda p: (1,)) for name, slot in SLOTS.items()),
    *network.STATE_FIELDS,
    *descent.STATE_FIELDS,
    *relocation.STATE_FIELDS,
    *inner.STATE_FIELDS,
    *middle.STATE_FIELDS,
    *surface.STATE_FIELDS,
    *strategy.STATE_FIELDS,
    *gradient.STATE_FIELDS,
    *axes.STATE_FIELDS,
    *coordinate.STATE_FIELDS,
)

STATE = StateType(FIELDS)


def allocate(plan: Plan) -> StateTable:
    """Return a state whose arrays are zero, in the sizes of a plan."""
    return StateTable(STATE, _layout(plan))


@lru_cache(maxsize=64)
def _layout(plan: Plan) -> Layout:
    return layout_of(FIELDS, plan)


def kernel_address(slot: type[Component], component: type[Component], verb: str) -> int:
    """Return the address of a component's kernel."""
    return address(getattr(component, verb), (STATE, *slot.verbs[verb]))
