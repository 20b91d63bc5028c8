"""The state that the engine uses: the records of the components that it calls itself."""

from __future__ import annotations

from robustforge.components.final_selection import FinalState
from robustforge.components.relocation import RelocationState
from robustforge.components.second_stage import SecondStageState
from robustforge.components.separability import SeparabilityState


class EngineState(FinalState, RelocationState, SeparabilityState, SecondStageState):
    """The parts of the state with these records."""
