"""Restart: how often a mean-based search starts, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.core.agents import copy, random_point
from robustforge.core.compiler import compiled
from robustforge.core.component import Component, Range
from robustforge.core.state import ONE, Floats, Plan, Record, Shape, SlotRecord, State

MAX_STARTS, _TRIALS = 4, 16


class Restart(Component, slot=True):
    """How often a search starts, each time with an equal part of the budget.

    Kernels: `place_mean(s)` writes the mean of the next start to `s.mean`.
    """

    label: ClassVar[str] = "Restart"
    kernels: ClassVar[Mapping[str, tuple[Any, ...]]] = {"place_mean": ()}
    place_mean: ClassVar[Any]

    @property
    def initial_mean(self) -> str:
        """Where the mean starts, for pseudocode."""
        return "uniform in X"


class Start:
    """The present start of a mean-based search."""

    number: float  # starts so far, this one included
    first: float  # evaluations that were spent before it
    last: float  # evaluations of the whole search at which it ends
    averaged: float  # means in the average


class RestartState(State):
    """The mean, and the starts."""

    restart: Annotated[SlotRecord[Restart], ONE, "the restarts"]
    start: Annotated[Record[Start], ONE, "the present start"]
    mean: Annotated[Floats, Shape("mean"), "the mean"]
    previous_x: Annotated[Floats, Shape("starts", "mean"), "the last mean of each start before"]
    restart_trial: Annotated[Floats, Shape("mean"), "a point that is considered for the next start"]


@compiled
def _place_at_random(s: RestartState) -> None:
    random_point(s, s.mean)


@compiled
def _place_far_away(s: RestartState) -> None:
    """Of several random points, take the one furthest from the last means of the starts before."""
    furthest = -1.0
    mean, trial = s.mean, s.restart_trial
    for _ in range(_TRIALS):
        random_point(s, trial)
        nearest = np.inf
        for k in range(int(s.start[0].number)):
            square = 0.0
            for i in range(trial.size):
                difference = trial[i] - s.previous_x[k, i]
                square += difference * difference
            nearest = min(nearest, square)
        if nearest > furthest:
            furthest = nearest
            copy(trial, mean)


@dataclass(frozen=True)
class NoRestart(Restart):
    """One start, with the whole budget."""

    title: ClassVar[str] = "None"
    extension: ClassVar[bool] = True
    place_mean: ClassVar[Any] = staticmethod(_place_at_random)

    def parameters(self, plan: Plan) -> Mapping[str, float]:
        return {"starts": 1.0}

    def describe(self) -> str:
        return "one start, at a random point"


@dataclass(frozen=True)
class _SeveralStarts:
    """The number of starts, and what several starts do in words.

    Class attributes:
        where: Where the starts are.
        next_mean: The same of those after the first, for pseudocode.
    """

    starts: Annotated[int, Range(2, MAX_STARTS), "starts, each with an equal part of the budget"]
    extension: ClassVar[bool] = True
    where: ClassVar[str]
    next_mean: ClassVar[str]

    @property
    def initial_mean(self) -> str:
        return f"uniform in X{self.next_mean.format(self)}"

    def describe(self) -> str:
        return f"{self.starts} starts, each {self.where}"


@dataclass(frozen=True)
class RandomRestart(_SeveralStarts, Restart):
    """Several starts, each at a random point."""

    title: ClassVar[str] = "Random"
    where: ClassVar[str] = "at a random point"
    next_mean: ClassVar[str] = ", and again after every 1/{0.starts} of the budget"
    place_mean: ClassVar[Any] = staticmethod(_place_at_random)


@dataclass(frozen=True)
class FarRestart(_SeveralStarts, Restart):
    """Several starts, each far from where the previous ones ended."""

    title: ClassVar[str] = "Far"
    where: ClassVar[str] = "far from where the previous ones ended"
    next_mean: ClassVar[str] = "; after every 1/{0.starts} of the budget, far from its previous values"
    place_mean: ClassVar[Any] = staticmethod(_place_far_away)
