"""Mutation: a random change to some coordinates of a particle's next position (Section 4.2.3 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from numba import int64

from robustforge.core.compiler import compiled
from robustforge.core.component import Component, Range
from robustforge.core.random import normal, uniform
from robustforge.core.state import State

Probability = Annotated[float, Range(0.0, 0.5), "chance that a particle mutates in an iteration"]
Amplitude = Annotated[float, Range(0.005, 0.5, log=True), "size of the change, as a share of the box width"]


class Mutation(Component, slot=True):
    """What happens to a position after the move.

    Kernels: `mutate(s, j)` changes the position of agent `j` in place.
    """

    verbs: ClassVar[Mapping[str, tuple[Any, ...]]] = {"mutate": (int64,)}
    mutate: ClassVar[Any]


@compiled
def _leave(s: State, j: int) -> None:
    pass


@compiled
def _shift_uniformly(s: State, j: int) -> None:
    x, lower, upper, rng, p = s.x[j], s.lower, s.upper, s.rng, s.mutation[0]
    if uniform(rng) >= p.probability:
        return
    chance = 2.0 * s.readings[0].mutated_dimensions * uniform(rng) / x.size  # U(0, 1/n)
    for i in range(x.size):
        if uniform(rng) < chance:
            x[i] += p.amplitude * (upper[i] - lower[i]) * (2.0 * uniform(rng) - 1.0)


@compiled
def _shift_normally(s: State, j: int) -> None:
    x, lower, upper, rng, p = s.x[j], s.lower, s.upper, s.rng, s.mutation[0]
    if uniform(rng) >= p.probability:
        return
    chance = 2.0 * s.readings[0].mutated_dimensions * uniform(rng) / x.size  # U(0, 1/n)
    for i in range(x.size):
        if uniform(rng) < chance:
            x[i] += p.amplitude * (upper[i] - lower[i]) * normal(rng)


@dataclass(frozen=True)
class NoMutation(Mutation):
    """Positions stay as the velocity left them."""

    title: ClassVar[str] = "None"
    mutate: ClassVar[Any] = staticmethod(_leave)

    def words(self) -> str:
        return "no mutation"


@dataclass(frozen=True)
class UniformMutation(Mutation):
    """A mutated coordinate changes by a uniform amount."""

    title: ClassVar[str] = "Uniform"
    source: ClassVar[str] = "Miranda and Prudencio 2017"
    probability: Probability
    amplitude: Amplitude
    mutate: ClassVar[Any] = staticmethod(_shift_uniformly)

    def words(self) -> str:
        return (
            f"with probability {self.probability:.3g} a particle has about half a coordinate shifted uniformly "
            f"by up to {self.amplitude:.3g} of the box width"
        )


@dataclass(frozen=True)
class GaussianMutation(Mutation):
    """A mutated coordinate changes by a normal amount."""

    title: ClassVar[str] = "Gaussian"
    source: ClassVar[str] = "Miranda and Prudencio 2017"
    probability: Probability
    amplitude: Amplitude
    mutate: ClassVar[Any] = staticmethod(_shift_normally)

    def words(self) -> str:
        return (
            f"with probability {self.probability:.3g} a particle has about half a coordinate shifted normally "
            f"with a deviation of {self.amplitude:.3g} of the box width"
        )
