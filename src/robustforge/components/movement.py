"""Movement and capability: what the swarm can do beyond its baseline velocity (Section 4.2.5 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from robustforge.components.baseline import Baseline
from robustforge.components.clamp import Clamp, NoClamp
from robustforge.components.descent import DescentDirections
from robustforge.components.relocation import Relocation
from robustforge.core.component import Component


class Movement(Component, slot=True):
    """Which of descent directions and relocation of dormant particles are in use."""

    @property
    def directions(self) -> DescentDirections | None:
        """The descent component, if it is in use."""
        return getattr(self, "descent", None)

    @property
    def rescue(self) -> Relocation | None:
        """What becomes of dormant particles, if anything."""
        return getattr(self, "relocation", None)


@dataclass(frozen=True)
class PlainMovement(Movement):
    """The baseline velocity alone."""

    title: ClassVar[str] = "{}"


@dataclass(frozen=True)
class DescentMovement(Movement):
    """The velocity has a descent component."""

    title: ClassVar[str] = "DD"
    descent: DescentDirections


@dataclass(frozen=True)
class RelocatingMovement(Movement):
    """Dormant particles are relocated."""

    title: ClassVar[str] = "LEH"
    relocation: Relocation


@dataclass(frozen=True)
class FullMovement(Movement):
    """The velocity has a descent component, and dormant particles are relocated."""

    title: ClassVar[str] = "DD+LEH"
    descent: DescentDirections
    relocation: Relocation


@dataclass(frozen=True)
class Capability(Component):
    """How particles move: a velocity rule, and what is added to it."""

    title: ClassVar[str] = "Capability"
    baseline: Baseline
    movement: Movement
    clamp: Clamp = NoClamp()  # noqa: RUF009 - frozen, and the neutral choice
