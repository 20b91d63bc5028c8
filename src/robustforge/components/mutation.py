"""Mutation: a random change to some coordinates of a particle's next position (Section 4.2.3 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from numba import int64

from robustforge.core.compiler import compiled
from robustforge.core.component import Component, Constant, Range
from robustforge.core.interpretation import Interpretation, InterpretationState
from robustforge.core.random import normal, uniform
from robustforge.core.state import ONE, SlotRecord

Probability = Annotated[float, Range(0.0, 0.5), "probability that a particle is mutated in an iteration"]
Amplitude = Annotated[
    float,
    Range(0.005, 0.5, log=True),
    Constant(0.1),
    "size of the change, as a fraction of the range; 0.1 in the grammar of the paper",
]


_LINE = (
    "with probability {0.probability:.3g}: c := U(0, {2:g}/n), and each coordinate of x_j moves, with probability c, "
    "by {0.amplitude:.3g} {1} of the width of X"
)


class Mutation(Component, slot=True):
    """The mutation of a position after the move.

    Kernels: `mutate(s, j)` changes the position of particle `j` in place.
    """

    label: ClassVar[str] = "Form of mutation"
    kernels: ClassVar[Mapping[str, tuple[Any, ...]]] = {"mutate": (int64,)}
    mutate: ClassVar[Any]


def _line(mutation: Any, drawn: str, facts: Mapping[str, Any]) -> str:
    return _LINE.format(mutation, drawn, 2.0 * facts["interpretation"].mutated_dimensions)


class MutationState(InterpretationState):
    """The record of the mutation."""

    mutation: Annotated[SlotRecord[Mutation], ONE, "the mutation"]


@compiled
def _keep_position(s: MutationState, j: int) -> None:
    pass


@compiled
def _mutate_uniformly(s: MutationState, j: int) -> None:
    p: UniformMutation = s.mutation[0]
    rules: Interpretation = s.interpretation[0]
    x, lower, upper, rng = s.x[j], s.lower, s.upper, s.rng
    if uniform(rng) >= p.probability:
        return
    probability = 2.0 * rules.mutated_dimensions * uniform(rng) / x.size  # U(0, 1/n)
    for i in range(x.size):
        if uniform(rng) < probability:
            x[i] += p.amplitude * (upper[i] - lower[i]) * (2.0 * uniform(rng) - 1.0)


@compiled
def _mutate_normally(s: MutationState, j: int) -> None:
    p: GaussianMutation = s.mutation[0]
    rules: Interpretation = s.interpretation[0]
    x, lower, upper, rng = s.x[j], s.lower, s.upper, s.rng
    if uniform(rng) >= p.probability:
        return
    probability = 2.0 * rules.mutated_dimensions * uniform(rng) / x.size  # U(0, 1/n)
    for i in range(x.size):
        if uniform(rng) < probability:
            x[i] += p.amplitude * (upper[i] - lower[i]) * normal(rng)


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
class UniformMutation(Mutation):
    """A mutated coordinate changes by a uniform amount."""

    title: ClassVar[str] = "Uniform"
    source: ClassVar[str] = "Miranda and Prudencio 2017"
    probability: Probability
    amplitude: Amplitude
    mutate: ClassVar[Any] = staticmethod(_mutate_uniformly)

    def describe(self) -> str:
        return (
            f"mutation with probability {self.probability:.3g}: a few coordinates change uniformly, by up to "
            f"{self.amplitude:.3g} of their range"
        )

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return [_line(self, "U(-1, 1)", facts)]


@dataclass(frozen=True)
class GaussianMutation(Mutation):
    """A mutated coordinate changes by a normal amount."""

    title: ClassVar[str] = "Gaussian"
    source: ClassVar[str] = "Miranda and Prudencio 2017"
    probability: Probability
    amplitude: Amplitude
    mutate: ClassVar[Any] = staticmethod(_mutate_normally)

    def describe(self) -> str:
        return (
            f"mutation with probability {self.probability:.3g}: a few coordinates change normally, with a "
            f"standard deviation of {self.amplitude:.3g} of their range"
        )

    def pseudocode(self, facts: Mapping[str, Any]) -> Sequence[str]:
        return [_line(self, "N(0, 1)", facts)]
