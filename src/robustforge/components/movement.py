"""Movement: whether a swarm uses descent directions and relocation in addition to its velocity update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from robustforge.components.descent_directions import DescentDirections
from robustforge.components.relocation import Relocation
from robustforge.components.velocity import Baseline
from robustforge.components.velocity_clamp import Clamp, NoClamp
from robustforge.core.component import Component


class Movement(Component, slot=True):
    """Whether descent directions and the relocation of dormant particles are used."""

    label: ClassVar[str] = "Form of movement"

    @property
    def directions(self) -> DescentDirections | None:
        """The descent directions, if they are used."""
        return getattr(self, "descent", None)

    @property
    def relocates(self) -> Relocation | None:
        """The relocation of dormant particles, if it is used."""
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
    """How particles move: the velocity update, and what is added to it."""

    title: ClassVar[str] = "Capability"
    baseline: Baseline
    movement: Movement
    clamp: Clamp = NoClamp()  # noqa: RUF009 - frozen, and the neutral choice
