"""Mutation: a random change to some coordinates of a particle's next position (Section 4.2.3 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from numba import int64

from robustforge.core.compiler import compiled, inlined
from robustforge.core.component import Component, Constant, Range
from robustforge.core.interpretation import Interpretation, InterpretationState
from robustforge.core.random import Stream, normal, uniform
from robustforge.core.state import ONE, SlotRecord

Probability = Annotated[float, Range(0.0, 0.5), "probability that a particle is mutated in an iteration"]
Amplitude = Annotated[
    float,
    Range(0.005, 0.5, log=True),
    Constant(0.1),
    "size of the change, as a fraction of the range; 0.1 in the grammar of the paper",
]


class Mutation(Component, slot=True):
    """The mutation of a position after the move.

    Kernels: `mutate(s, j)` changes the position of particle `j` in place.
    """

    label: ClassVar[str] = "Form of mutation"
    kernels: ClassVar[Mapping[str, tuple[Any, ...]]] = {"mutate": (int64,)}
    mutate: ClassVar[Any]


class MutationState(InterpretationState):
    """The record of the mutation."""

    mutation: Annotated[SlotRecord[Mutation], ONE, "the mutation"]


@compiled
def _keep_position(s: MutationState, j: int) -> None:
    pass


@inlined
def _mutate(s: MutationState, j: int, probability: float, amplitude: float, draw: Callable[[Stream], float]) -> None:
    """Change coordinates of a particle by draws from a distribution, scaled by the ranges of the variables."""
    rules: Interpretation = s.interpretation[0]
    x, lower, upper, rng = s.x[j], s.lower, s.upper, s.rng
    if uniform(rng) >= probability:
        return
    per_coordinate = 2.0 * rules.mutated_dimensions * uniform(rng) / x.size  # U(0, 1/n)
    for i in range(x.size):
        if uniform(rng) < per_coordinate:
            x[i] += amplitude * (upper[i] - lower[i]) * draw(rng)


@inlined
def _symmetric_uniform(rng: Stream) -> float:
    """Return a uniform number from -1 to 1."""
    return 2.0 * uniform(rng) - 1.0


@compiled
def _mutate_uniformly(s: MutationState, j: int) -> None:
    p: UniformMutation = s.mutation[0]
    _mutate(s, j, p.probability, p.amplitude, _symmetric_uniform)


@compiled
def _mutate_normally(s: MutationState, j: int) -> None:
    p: GaussianMutation = s.mutation[0]
    _mutate(s, j, p.probability, p.amplitude, normal)


@dataclass(frozen=True)
class NoMutation(Mutation):
    """Positions are not mutated."""

    title: ClassVar[str] = "None"
    mutate: ClassVar[Any] = staticmethod(_keep_position)

    def describe(self) -> str:
        return "no mutation"

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return []


@dataclass(frozen=True)
class _ScaledMutation:
    """The parameters of a mutation by draws from a distribution, and what it does in words.

    Class attributes:
        change: How a mutated coordinate changes, before the amplitude.
        distribution: The distribution of the draws.
    """

    probability: Probability
    amplitude: Amplitude
    source: ClassVar[str] = "Miranda and Prudencio 2017"
    change: ClassVar[str]
    distribution: ClassVar[str]

    def describe(self) -> str:
        return (
            f"mutation with probability {self.probability:.3g}: a few coordinates change {self.change} "
            f"{self.amplitude:.3g} of their range"
        )

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        largest = 2.0 * facts["interpretation"].mutated_dimensions
        return [
            f"with probability {self.probability:.3g}: c := U(0, {largest:g}/n), and each coordinate of x_j moves, "
            f"with probability c, by {self.amplitude:.3g} {self.distribution} of the width of X"
        ]


@dataclass(frozen=True)
class UniformMutation(_ScaledMutation, Mutation):
    """A mutated coordinate changes by a uniform amount."""

    title: ClassVar[str] = "Uniform"
    change: ClassVar[str] = "uniformly, by up to"
    distribution: ClassVar[str] = "U(-1, 1)"
    mutate: ClassVar[Any] = staticmethod(_mutate_uniformly)


@dataclass(frozen=True)
class GaussianMutation(_ScaledMutation, Mutation):
    """A mutated coordinate changes by a normal amount."""

    title: ClassVar[str] = "Gaussian"
    change: ClassVar[str] = "normally, with a standard deviation of"
    distribution: ClassVar[str] = "N(0, 1)"
    mutate: ClassVar[Any] = staticmethod(_mutate_normally)
