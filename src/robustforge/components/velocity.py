"""Velocity update of a particle: inertia weight, constriction, or two rules in one swarm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from numba import int64

from robustforge.components.network import NetworkState
from robustforge.core.compiler import compiled, inlined
from robustforge.core.component import Component, Range
from robustforge.core.random import uniform
from robustforge.core.state import ONE, SlotRecord
from robustforge.errors import HeuristicError


class Baseline(Component, slot=True):
    """The velocity update.

    Kernels: `update_velocity(s, j)` changes the velocity of particle `j` in place.
    """

    label: ClassVar[str] = "Form of baseline rPSO formula"
    kernels: ClassVar[Mapping[str, tuple[Any, ...]]] = {"update_velocity": (int64,)}
    update_velocity: ClassVar[Any]


class VelocityState(NetworkState):
    """The record of the velocity update."""

    baseline: Annotated[SlotRecord[Baseline], ONE, "the velocity update"]


@inlined
def _accelerate(s: VelocityState, j: int, omega: float, c1: float, c2: float) -> None:
    """v = omega v + c1 r1 (personal best - x) + c2 r2 (informant's best - x), coordinate by coordinate."""
    informant = s.informant[j]
    cognitive, social = (c1 if s.has_best[j] else 0.0), (c2 if s.has_best[informant] else 0.0)
    x, v, personal, shared, rng = s.x[j], s.velocity[j], s.best_x[j], s.best_x[informant], s.rng
    for i in range(x.size):
        pull = cognitive * uniform(rng) * (personal[i] - x[i])
        v[i] = omega * v[i] + pull + social * uniform(rng) * (shared[i] - x[i])


@compiled
def _update_by_inertia(s: VelocityState, j: int) -> None:
    p: Inertia = s.baseline[0]
    _accelerate(s, j, p.omega, p.c1, p.c2)


@compiled
def _update_by_constriction(s: VelocityState, j: int) -> None:
    p: Constriction = s.baseline[0]
    phi = p.c1 + p.c2
    chi = 2.0 / abs(2.0 - phi - math.sqrt(phi * phi - 4.0 * phi))
    _accelerate(s, j, chi, chi * p.c1, chi * p.c2)


@compiled
def _update_heterogeneous(s: VelocityState, j: int) -> None:
    p: Heterogeneous = s.baseline[0]
    if j < p.fraction * s.counters[0].outer_agents:
        _accelerate(s, j, p.second_omega, p.second_c1, p.second_c2)
    else:
        _accelerate(s, j, p.omega, p.c1, p.c2)


def _inertia_phrase(p: Inertia | Heterogeneous) -> str:
    return (
        f"velocity: inertia weight {p.omega:.3g}, acceleration {p.c1:.3g} towards the personal best and {p.c2:.3g} "
        "towards the informant's"
    )


def _rule(omega: float, c1: float, c2: float) -> str:
    return f"v_j := {omega:.3g} v_j + {c1:.3g} r1 (p_j - x_j) + {c2:.3g} r2 (g_j - x_j)"


@dataclass(frozen=True)
class Inertia(Baseline):
    """Inertia weight: a fraction of the velocity is kept, and both bests accelerate the particle."""

    title: ClassVar[str] = "Inertia"
    source: ClassVar[str] = "Shi and Eberhart 1998"
    c1: Annotated[float, Range(0.0, 2.0), "acceleration towards the personal best"]
    c2: Annotated[float, Range(0.0, 2.0), "acceleration towards the best of its network"]
    omega: Annotated[float, Range(0.0, 1.0), "inertia weight: fraction of the velocity that is kept"]
    update_velocity: ClassVar[Any] = staticmethod(_update_by_inertia)

    def describe(self) -> str:
        return _inertia_phrase(self)

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return [_rule(self.omega, self.c1, self.c2)]


@dataclass(frozen=True)
class Constriction(Baseline):
    """Constriction: velocity and accelerations are multiplied by one factor that follows from C1 + C2 > 4."""

    title: ClassVar[str] = "Constriction"
    source: ClassVar[str] = "Clerc and Kennedy 2002"
    c1: Annotated[float, Range(1.0, 4.0), "acceleration towards the personal best"]
    c2: Annotated[float, Range(1.0, 4.0), "acceleration towards the best of its network"]
    update_velocity: ClassVar[Any] = staticmethod(_update_by_constriction)

    def check(self) -> None:
        if self.c1 + self.c2 <= 4.0:
            raise HeuristicError(
                "c1 + c2 of Constriction must be above 4, otherwise nothing is damped",
                f"got {self.c1:g} + {self.c2:g} = {self.c1 + self.c2:g}",
                "Raise one of them",
            )

    def describe(self) -> str:
        return (
            f"velocity: constricted, acceleration {self.c1:.3g} towards the personal best and {self.c2:.3g} towards "
            "the informant's"
        )

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        phi = self.c1 + self.c2
        chi = 2.0 / abs(2.0 - phi - math.sqrt(phi * phi - 4.0 * phi))
        return [f"v_j := {chi:.3g} (v_j + {self.c1:.3g} r1 (p_j - x_j) + {self.c2:.3g} r2 (g_j - x_j))"]


@dataclass(frozen=True)
class Heterogeneous(Baseline):
    """A heterogeneous swarm: some particles have other accelerations and another inertia weight than the rest.

    With `second_c2` = 0 the particles of the second rule follow only their own best, with `second_c1` = 0 only that of
    their informant.
    """

    title: ClassVar[str] = "Heterogeneous"
    source: ClassVar[str] = "Engelbrecht 2010"
    extension: ClassVar[bool] = True
    rank: ClassVar[int] = 110
    c1: Annotated[float, Range(0.0, 2.0), "acceleration towards the personal best"]
    c2: Annotated[float, Range(0.0, 2.0), "acceleration towards the best of its network"]
    omega: Annotated[float, Range(0.0, 1.0), "inertia weight: fraction of the velocity that is kept"]
    fraction: Annotated[float, Range(0.0, 1.0), "fraction of the particles that follow the second rule"]
    second_c1: Annotated[float, Range(0.0, 2.0), "their acceleration towards the personal best"]
    second_c2: Annotated[float, Range(0.0, 2.0), "their acceleration towards the best of their network"]
    second_omega: Annotated[float, Range(0.0, 1.0), "their inertia weight"]
    update_velocity: ClassVar[Any] = staticmethod(_update_heterogeneous)

    def describe(self) -> str:
        return (
            f"{_inertia_phrase(self)}; for {100 * self.fraction:.2g}% of the particles inertia weight "
            f"{self.second_omega:.3g}, accelerations {self.second_c1:.3g} and {self.second_c2:.3g}"
        )

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        second = _rule(self.second_omega, self.second_c1, self.second_c2)
        return [
            f"if j is in the first {self.fraction:.3g} of the particles (as a fraction, rounded up): {second}",
            f"else: {_rule(self.omega, self.c1, self.c2)}",
        ]
