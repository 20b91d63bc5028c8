"""Velocity clamp: a limit on how far a particle may go in one coordinate. Not in the paper; an extension."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from numba import int64

from robustforge.core.compiler import compiled
from robustforge.core.component import Component, Range
from robustforge.core.state import State


class Clamp(Component, slot=True):
    """What limits a velocity.

    Kernels: `limit(s, j)` changes the velocity of agent `j` in place.
    """

    verbs: ClassVar[Mapping[str, tuple[Any, ...]]] = {"limit": (int64,)}
    limit: ClassVar[Any]


@compiled
def _leave(s: State, j: int) -> None:
    pass


@compiled
def _limit_by_width(s: State, j: int) -> None:
    v, lower, upper, fraction = s.v[j], s.lower, s.upper, s.clamp[0].fraction
    for i in range(v.size):
        most = fraction * (upper[i] - lower[i])
        v[i] = min(max(v[i], -most), most)


@dataclass(frozen=True)
class NoClamp(Clamp):
    """Velocities are as the rule gives them, as in the paper."""

    title: ClassVar[str] = "None"
    limit: ClassVar[Any] = staticmethod(_leave)

    def words(self) -> str:
        return "velocities are not limited"


@dataclass(frozen=True)
class WidthClamp(Clamp):
    """No coordinate of a velocity exceeds a share of the box width."""

    title: ClassVar[str] = "Width"
    source: ClassVar[str] = "Eberhart and Shi 2000"
    extension: ClassVar[bool] = True
    fraction: Annotated[float, Range(0.005, 0.5, log=True), "largest step in a coordinate, as a share of the box width"]
    limit: ClassVar[Any] = staticmethod(_limit_by_width)

    def words(self) -> str:
        return f"no coordinate moves by more than {self.fraction:.3g} of the box width"
