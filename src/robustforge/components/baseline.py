"""Baseline: how a particle's velocity follows from its own best and its guide's ((Inertia) and (Constriction))."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from numba import int64

from robustforge.core.compiler import compiled, inlined
from robustforge.core.component import Component, Range
from robustforge.core.random import uniform
from robustforge.core.state import State
from robustforge.errors import HeuristicError


class Baseline(Component, slot=True):
    """The velocity rule.

    Kernels: `steer(s, j)` changes the velocity of agent `j` in place.
    """

    verbs: ClassVar[Mapping[str, tuple[Any, ...]]] = {"steer": (int64,)}
    steer: ClassVar[Any]


@inlined
def _pull(s: State, j: int, keep: float, c1: float, c2: float) -> None:
    """v = keep v + c1 r1 (own best - x) + c2 r2 (guide's best - x), coordinate by coordinate."""
    guide = s.guide[j]
    own, shared = (c1 if s.placed[j] else 0.0), (c2 if s.placed[guide] else 0.0)
    x, v, best, better, rng = s.x[j], s.v[j], s.best_x[j], s.best_x[guide], s.rng
    for i in range(x.size):
        pull = own * uniform(rng) * (best[i] - x[i])
        v[i] = keep * v[i] + pull + shared * uniform(rng) * (better[i] - x[i])


@compiled
def _steer_by_inertia(s: State, j: int) -> None:
    p = s.baseline[0]
    _pull(s, j, p.omega, p.c1, p.c2)


@compiled
def _steer_by_constriction(s: State, j: int) -> None:
    p = s.baseline[0]
    phi = p.c1 + p.c2
    chi = 2.0 / abs(2.0 - phi - math.sqrt(phi * phi - 4.0 * phi))
    _pull(s, j, chi, chi * p.c1, chi * p.c2)


@dataclass(frozen=True)
class Inertia(Baseline):
    """The velocity is damped by a factor and drawn to both bests."""

    title: ClassVar[str] = "Inertia"
    source: ClassVar[str] = "Shi and Eberhart 1998"
    c1: Annotated[float, Range(0.0, 2.0), "pull towards the particle's own best"]
    c2: Annotated[float, Range(0.0, 2.0), "pull towards the best of its network"]
    omega: Annotated[float, Range(0.0, 1.0), "share of the velocity that is kept"]
    steer: ClassVar[Any] = staticmethod(_steer_by_inertia)

    def words(self) -> str:
        return (
            f"velocity: {self.omega:.3g} of the last, plus a pull of {self.c1:.3g} to the own best "
            f"and {self.c2:.3g} to the shared best"
        )


@dataclass(frozen=True)
class Constriction(Baseline):
    """Velocity and pulls are multiplied by one factor that follows from C1 + C2 > 4."""

    title: ClassVar[str] = "Constriction"
    source: ClassVar[str] = "Clerc and Kennedy 2002"
    c1: Annotated[float, Range(1.0, 4.0), "pull towards the particle's own best"]
    c2: Annotated[float, Range(1.0, 4.0), "pull towards the best of its network"]
    steer: ClassVar[Any] = staticmethod(_steer_by_constriction)

    def check(self) -> None:
        if self.c1 + self.c2 <= 4.0:
            raise HeuristicError(
                "c1 + c2 of Constriction must be above 4, else nothing is damped",
                f"got {self.c1:g} + {self.c2:g} = {self.c1 + self.c2:g}",
                "Raise one of them",
            )

    def words(self) -> str:
        return (
            f"velocity: constricted, with a pull of {self.c1:.3g} to the own best and {self.c2:.3g} to the shared best"
        )
