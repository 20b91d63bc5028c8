"""Regression search: a local model of all that was seen nearby says where the middle goes.

The candidates of an iteration lie on a shell around the middle, in directions at right angles to each other. A linear
model with a curvature is fitted to the candidates so far, the near ones first; the middle goes to the model's minimum,
if that is not too far. The radius of the shell shrinks with the budget, down to about that of the uncertainty set:
there, the shell is itself a sample of how bad a design can get.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from robustforge.components import middle, surface
from robustforge.components.middle import Restart, Returned, WithMiddle
from robustforge.components.outer import Outer, Steps
from robustforge.components.surface import DIAGONAL, ISOTROPIC, LARGE, LARGEST_WINDOW, MOST_WINDOWS
from robustforge.core.compiler import call, compiled, inlined
from robustforge.core.component import Range
from robustforge.core.elementary import power
from robustforge.core.random import normal, uniform
from robustforge.core.state import Plan, State, copy


@inlined
def _shrink(s: State) -> None:
    """Set the radius of the shell along each variable, from a share of its range down to the uncertainty set."""
    p = s.outer[0]
    middle.end_radius(s, p.end)
    far = power(middle.progress(s), p.exponent)
    for i in range(s.radius.size):
        first = max(p.first * (s.upper[i] - s.lower[i]), s.radius[i])
        if first > 0.0:
            s.radius[i] = first * power(s.radius[i] / first, far)


@compiled
def draw_directions(s: State, count: int) -> None:
    """Write random unit vectors to the velocities of the agents, at right angles to each other as far as possible."""
    v, rng = s.v, s.rng
    n = v.shape[1]
    for j in range(count):
        row = v[j]
        for i in range(n):
            row[i] = normal(rng)
        for other in range(j - j % n, j):
            known, dot = v[other], 0.0
            for i in range(n):
                dot += row[i] * known[i]
            for i in range(n):
                row[i] -= dot * known[i]
        square = 0.0
        for i in range(n):
            square += row[i] * row[i]
        length = math.sqrt(square)
        for i in range(n):
            row[i] /= length


@compiled
def put_candidate(s: State, j: int, reach: float) -> None:
    """Put agent `j` into its direction from the middle, so many radii away, reflected where candidates may not go.

    Cut off there instead, a wide shell would be all corners, which say nothing of where its middle is.
    """
    x, v, centre, radius, lower, upper, margin = s.x[j], s.v[j], s.middle, s.radius, s.lower, s.upper, s.margin
    for i in range(x.size):
        low, high = lower[i] - margin[i], upper[i] + margin[i]
        place = centre[i] + reach * radius[i] * v[i]
        if place < low:
            place = 2.0 * low - place
        elif place > high:
            place = 2.0 * high - place
        x[i] = min(max(place, low), high)


@compiled
def _place_shell(s: State) -> None:
    t, p = s.tally[0], s.outer[0]
    _shrink(s)
    draw_directions(s, t.agents)
    shell = math.sqrt(float(t.dimension))
    copy(s.middle, s.x[0])
    for j in range(1, t.agents):
        if p.mirrored > 0.0 and j % 2 == 0:
            for i in range(t.dimension):
                s.v[j, i] = -s.v[j - 1, i]
        put_candidate(s, j, shell * (1.0 + p.jitter * (2.0 * uniform(s.rng) - 1.0)))


@compiled
def _start_regression(s: State) -> None:
    t = s.tally[0]
    middle.begin(s)
    surface.forget(s)
    known = t.spent - (t.allowance - t.free)
    for k in range(known):
        if s.values[k] < np.inf:
            surface.remember(s, s.points[k], s.values[k])
    _place_shell(s)


@compiled
def _learn_by_regression(s: State) -> None:
    if s.outer[0].windows > 1.0:
        call(s.routines[0].judge, s)
    for j in range(s.tally[0].agents):
        if middle.is_counted(s, j):
            surface.remember(s, s.x[j], s.worst[j])
    if s.archived[0] > 1 and surface.fit(s):
        _step(s)
    middle.settle(s)
    if middle.is_over(s):
        middle.end(s)
        middle.begin(s)
        surface.forget(s)


@compiled
def _move_on_shell(s: State) -> None:
    _place_shell(s)


@inlined
def _step(s: State) -> None:
    """Move the middle to the model's minimum, or as far towards it as the trust region allows."""
    p, n = s.outer[0], s.tally[0].dimension
    root = math.sqrt(float(n))
    longest = p.step * root
    slope, way, square = s.solution, s.feature[0], 0.0
    for i in range(n):
        curvature = slope[n + 1 + i] if p.model == DIAGONAL else slope[n + 1] / root
        gradient = slope[1 + i]
        if p.model == DIAGONAL:
            move = gradient / curvature if curvature > 0.0 else gradient * np.inf
            way[i] = max(-longest, min(longest, move)) if gradient != 0.0 else 0.0
        else:
            way[i] = gradient / curvature if curvature > 0.0 else gradient
        square += way[i] * way[i]
    if square == 0.0:
        return
    length = math.sqrt(square)
    uncapped = p.model == ISOTROPIC and not slope[n + 1] > 0.0
    factor = longest / length if uncapped or length > longest else 1.0
    for i in range(n):
        moved = s.middle[i] - factor * way[i] * s.radius[i]
        s.middle[i] = min(max(moved, s.lower[i]), s.upper[i])


@dataclass(frozen=True)
class RegressionSearch(WithMiddle, Outer):
    """Candidates on a shell, a local model of them, and a step to its minimum; the shell shrinks with the budget."""

    title: ClassVar[str] = "Regression search"
    source: ClassVar[str] = "response surfaces: Box and Wilson 1951; trust regions: Conn, Gould and Toint 2000"
    extension: ClassVar[bool] = True
    group: Annotated[int, Range(4, 60), "candidates of an iteration, the middle among them"]
    model: Annotated[Literal["isotropic", "diagonal"], "one curvature for all directions, or one for each variable"]
    window: Annotated[float, Range(1.5, LARGEST_WINDOW), "candidates that the model is fitted to, per variable"]
    weight: Annotated[float, Range(1.2, 5.0), "distance at which a candidate counts half, in radii"]
    ridge: Annotated[float, Range(1e-4, 0.3, log=True), "pull of the coefficients towards 0"]
    jitter: Annotated[float, Range(0.0, 0.4), "how much the radius varies"]
    mirrored: Annotated[bool, "whether candidates come in opposite pairs"]
    step: Annotated[float, Range(0.1, 2.0), "longest step, in radii"]
    first: Annotated[float, Range(0.15, 1.0), "first radius along a variable, as a share of its range"]
    end: Annotated[float, Range(0.3, 2.0), "last radius, in units of the uncertainty set's"]
    exponent: Annotated[float, Range(0.5, 1.5), "of the share of the budget spent, in the shrinking of the radius"]
    restart: Restart
    returned: Returned
    windows: Annotated[int, Range(1, MOST_WINDOWS), "windows that compete, each twice as long as the last"] = 1
    start: ClassVar[Any] = staticmethod(_start_regression)
    learn: ClassVar[Any] = staticmethod(_learn_by_regression)
    move: ClassVar[Any] = staticmethod(_move_on_shell)

    @property
    def agents(self) -> int:
        return self.group

    @property
    def leaves_box(self) -> bool:
        return True

    def routines(self, dimension: int) -> tuple[str, ...]:
        return (*(["judge"] if self.windows > 1 else []), *(["fit_iteratively"] if dimension >= LARGE else []))

    def room(self, plan: Plan) -> Mapping[str, int]:
        n = plan.dimension
        size = 2 * n + 1 if self.model == "diagonal" else n + 2
        longest = int(self.window * 2 ** (self.windows - 1) * n)
        most = plan.known + plan.budget  # more candidates than that there never are
        return {"middles": n, "archive": min(longest, most) + self.group, "matrix": size, "windows": self.windows}

    @property
    def steps(self) -> Steps:
        curvature = "a curvature for each variable" if self.model == "diagonal" else "one curvature for all directions"
        opposite = "; every other x_j lies opposite to the one before" if self.mirrored else ""
        return Steps(
            (f"m := {self.restart.again}",),
            (
                f"q := share of the budget spent; r := from {self.first:.3g} of the width of X to {self.end:.3g} Gamma "
                f"(/ sqrt n for a ball), geometrically, by q^{self.exponent:.3g}, along each variable",
                f"x_1 := m; {self.group - 1} further x_j on the shell of radius r sqrt n around m, in random "
                f"directions at right angles, each radius varied by up to {100 * self.jitter:.2g}%{opposite}; "
                "reflected at the edge of X, or if they are only samples, of where a design in X can come to be",
            ),
            (
                f"fit a linear model with {curvature} to the last {self._memory} n candidates, with weights "
                f"1 / (1 + (distance / {self.weight:.3g} r)^4) and a ridge of {self.ridge:.2g}{self._choice}",
                f"m := its minimum, at most {self.step:.3g} radii away and in X",
                f"x* := {self.returned.words()}".replace(" is returned", ""),
            ),
        )

    def words(self) -> str:
        curvature = "a curvature for each variable" if self.model == "diagonal" else "one curvature"
        pairs = ", in opposite pairs" if self.mirrored else ""
        return (
            f"{self.group} candidates on a shell around a middle{pairs}; a linear model with {curvature} of the last "
            f"{self._memory} candidates per variable{self._choice} says where the middle goes, at most "
            f"{self.step:.2g} radii; the shell shrinks with the budget from {self.first:.2g} of the range to "
            f"{self.end:.2g} uncertainty sets"
        )

    @property
    def _memory(self) -> str:
        return " or ".join(f"{self.window * 2**k:.3g}" for k in range(self.windows))

    @property
    def _choice(self) -> str:
        return ", whichever foretold the last candidates best," if self.windows > 1 else ""
