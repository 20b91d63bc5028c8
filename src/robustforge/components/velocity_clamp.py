"""Velocity clamp: a limit on each coordinate of a velocity. An extension of the paper's grammar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from numba import int64

from robustforge.core.compiler import compiled
from robustforge.core.component import Component, Range
from robustforge.core.state import ONE, SlotRecord, State


class Clamp(Component, slot=True):
    """The velocity clamp.

    Kernels: `limit_velocity(s, j)` changes the velocity of particle `j` in place.
    """

    label: ClassVar[str] = "Velocity clamp"
    kernels: ClassVar[Mapping[str, tuple[Any, ...]]] = {"limit_velocity": (int64,)}
    limit_velocity: ClassVar[Any]


class ClampState(State):
    """The record of the velocity clamp."""

    clamp: Annotated[SlotRecord[Clamp], ONE, "the velocity clamp"]


@compiled
def _keep_velocity(s: ClampState, j: int) -> None:
    pass


@compiled
def _limit_by_range(s: ClampState, j: int) -> None:
    p: RangeClamp = s.clamp[0]
    v, lower, upper = s.velocity[j], s.lower, s.upper
    for i in range(v.size):
        most = p.fraction * (upper[i] - lower[i])
        v[i] = min(max(v[i], -most), most)


@dataclass(frozen=True)
class NoClamp(Clamp):
    """Velocities are not limited, as in the paper."""

    title: ClassVar[str] = "None"
    limit_velocity: ClassVar[Any] = staticmethod(_keep_velocity)

    def describe(self) -> str:
        return "velocities are not limited"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return []


@dataclass(frozen=True)
class RangeClamp(Clamp):
    """No coordinate of a velocity exceeds a fraction of the variable's range."""

    title: ClassVar[str] = "Range"
    former_title: ClassVar[str] = "Width"
    source: ClassVar[str] = "Eberhart and Shi 2000"
    extension: ClassVar[bool] = True
    fraction: Annotated[float, Range(0.005, 0.5, log=True), "largest step along a variable, as a fraction of its range"]
    limit_velocity: ClassVar[Any] = staticmethod(_limit_by_range)

    def describe(self) -> str:
        return f"velocities are limited to {self.fraction:.3g} of the range of each variable"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return [f"limit each coordinate of v_j to +-{self.fraction:.3g} of the width of X"]
