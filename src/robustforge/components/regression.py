"""Regression search: a local model of all that was seen nearby says where the middle goes.

The candidates of an iteration lie on a shell around the middle, in directions at right angles to each other. A linear
model with a curvature is fitted to the candidates so far, the near ones first; the middle goes to the model's minimum,
if that is not too far. The radius of the shell shrinks with the budget, down to about that of the uncertainty set:
there, the shell is itself a sample of how bad a design can get.

How many candidates a model should remember depends on the objective, and on how far the search has come: ripples ask
for many, bends for few. So several windows may compete: who foretold the last candidates best says where the middle
goes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from robustforge.components import middle
from robustforge.components.middle import Restart, Returned, WithMiddle
from robustforge.components.outer import Outer, Steps
from robustforge.core.compiler import compiled, inlined
from robustforge.core.component import Range
from robustforge.core.random import normal, uniform
from robustforge.core.state import Array, Floats, Plan, State, StateField, copy

ISOTROPIC, DIAGONAL = range(2)

LARGEST_WINDOW = 7
"""Candidates that the model is fitted to at most, per variable."""

MOST_WINDOWS = 3
"""Windows that compete at most, each twice as long as the one before."""

_KEPT = 0.7
"""Weight of what was known of a model's errors before, when it has foretold further candidates."""

AT_ONCE = 4
"""Candidates that `_add`, which is written out for so many, adds to the normal equations in one pass over them."""

STATE_FIELDS = (
    StateField("archive_x", np.float64, lambda p: (p.archive, p.dimension)),
    StateField("archive", np.float64, lambda p: (p.archive,)),
    StateField("archived", np.int64, lambda p: (1,)),
    StateField("matrix", np.float64, lambda p: (p.matrix, p.matrix)),
    StateField("solution", np.float64, lambda p: (p.matrix,)),
    StateField("normal", np.float64, lambda p: (p.matrix, p.matrix)),
    StateField("models", np.float64, lambda p: (p.windows, p.matrix)),
    StateField("error", np.float64, lambda p: (p.windows,)),
    StateField("modelled", np.float64, lambda p: (2, p.middles if p.windows else 0)),
    StateField("feature", np.float64, lambda p: (AT_ONCE, p.matrix)),
    StateField("weight", np.float64, lambda p: (AT_ONCE if p.matrix else 0,)),
    StateField("target", np.float64, lambda p: (AT_ONCE if p.matrix else 0,)),
)


@inlined
def _shrink(s: State) -> None:
    """Set the radius of the shell along each variable, from a share of its range down to the uncertainty set."""
    p = s.outer[0]
    middle.end_radius(s, p.end)
    far = middle.progress(s) ** p.exponent
    for i in range(s.radius.size):
        first = max(p.first * (s.upper[i] - s.lower[i]), s.radius[i])
        if first > 0.0:
            s.radius[i] = first * (s.radius[i] / first) ** far


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
    _forget(s)
    known = t.spent - (t.allowance - t.free)
    for k in range(known):
        if s.values[k] < np.inf:
            _archive(s, s.points[k], s.values[k])
    _place_shell(s)


@inlined
def _archive(s: State, x: Floats, value: float) -> None:
    row = s.archived[0] % s.archive.size
    copy(x, s.archive_x[row])
    s.archive[row] = value
    s.archived[0] += 1


@inlined
def _forget(s: State) -> None:
    s.archived[0] = 0
    s.error[:] = 0.0
    s.models[:] = 0.0


@compiled
def _learn_by_regression(s: State) -> None:
    if s.outer[0].windows > 1.0:
        _judge(s)
    for j in range(s.tally[0].agents):
        if middle.is_counted(s, j):
            _archive(s, s.x[j], s.worst[j])
    if s.archived[0] > 1 and fit(s):
        _step(s)
    middle.settle(s)
    if middle.is_over(s):
        middle.end(s)
        middle.begin(s)
        _forget(s)


@compiled
def _move_on_shell(s: State) -> None:
    _place_shell(s)


@inlined
def fit(s: State) -> bool:
    """Fit the models by weighted least squares; coefficients of the best are in `s.solution`. False if there is none.

    In units of the radius and of the range of the values, so that the ridge means the same everywhere. Infeasible
    candidates count as the worst of the others. A longer window goes on with the sums of the shorter ones.
    """
    p, n = s.outer[0], s.tally[0].dimension
    total, windows = s.archived[0], s.models.shape[0]
    low, high = np.inf, -np.inf
    for k in range(total - _remembered(s, windows - 1), total):
        value = s.archive[k % s.archive.size]
        low = min(low, value)
        if value < np.inf:
            high = max(high, value)
    if not low < high:
        return False
    size = 2 * n + 1 if p.model == DIAGONAL else n + 2
    s.matrix[:] = 0.0
    s.solution[:] = 0.0
    weights, newer = 0.0, total
    for window in range(windows):
        older = total - _remembered(s, window)
        for k in range(older, newer, AT_ONCE):
            for m in range(AT_ONCE):
                s.weight[m] = 0.0
                if k + m < newer:
                    _observe(s, m, (k + m) % s.archive.size, low, high)
                weights += s.weight[m]
            _add(s, size)
        newer = older
        if not _solve_for(s, window, weights, size):
            return False
    copy(s.models[_best_window(s)], s.solution)
    if windows > 1:
        s.models[:] *= high - low
        copy(s.middle, s.modelled[0])
        copy(s.radius, s.modelled[1])
    return True


@inlined
def _solve_for(s: State, window: int, weights: float, size: int) -> bool:
    """Write the coefficients of a window's model, by the sums so far, to `s.models`; False if there are none."""
    p, n = s.outer[0], s.tally[0].dimension
    for i in range(size):
        copy(s.matrix[i], s.normal[i])
    for i in range(1, n + 1):
        s.normal[i, i] += p.ridge * weights
    s.normal[0, 0] += 1e-9 * weights
    for i in range(n + 1, size):
        s.normal[i, i] += (p.ridge if p.model == DIAGONAL else 1e-6) * weights
    copy(s.solution, s.models[window])
    return solve(s.normal, s.models[window], size)


@inlined
def _remembered(s: State, window: int) -> int:
    """Return how many of the last candidates a window holds."""
    longest = s.outer[0].window * 2**window * s.tally[0].dimension
    return min(s.archived[0], int(min(float(s.archive.size), longest)))


@inlined
def _best_window(s: State) -> int:
    best = 0
    for window in range(1, s.error.size):
        if s.error[window] < s.error[best]:
            best = window
    return best


@compiled
def _judge(s: State) -> None:
    """Note how well the model of each window, which does not know them, tells the new candidates on the shell apart.

    Errors are in units of the spread of the candidates' values: 1 is as good as no model.
    """
    t = s.tally[0]
    total, square, count = 0.0, 0.0, 0
    for j in range(1, t.agents):
        if middle.is_counted(s, j) and s.worst[j] < np.inf:
            total += s.worst[j]
            square += s.worst[j] * s.worst[j]
            count += 1
    spread = square - total * total / max(count, 1)
    if count < 2 or s.archived[0] < 2 or not spread > 1e-12 * square:
        return
    for window in range(s.error.size):
        total, square = 0.0, 0.0
        for j in range(1, t.agents):
            if middle.is_counted(s, j) and s.worst[j] < np.inf:
                gap = s.worst[j] - _foretold(s, window, s.x[j])
                total += gap
                square += gap * gap
        s.error[window] = _KEPT * s.error[window] + (1.0 - _KEPT) * (square - total * total / count) / spread


@inlined
def _foretold(s: State, window: int, x: Floats) -> float:
    """Return what the model of a window, as it was when it was fitted, says of a point, up to a constant."""
    p, n = s.outer[0], x.size
    model, centre, radius = s.models[window], s.modelled[0], s.modelled[1]
    value, square = 0.0, 0.0
    for i in range(n):
        u = 0.0
        if radius[i] > 0.0:
            u = (x[i] - centre[i]) / radius[i]
        value += model[1 + i] * u
        if p.model == DIAGONAL:
            value += model[1 + n + i] * 0.5 * u * u
        square += u * u
    if p.model == ISOTROPIC:
        value += model[n + 1] * 0.5 * square / math.sqrt(float(n))
    return value


@compiled
def _observe(s: State, m: int, row: int, low: float, high: float) -> None:
    """Write a candidate of the archive as observation `m`: features, weight, and its value as a share of the range."""
    p, n = s.outer[0], s.tally[0].dimension
    feature, x, square = s.feature[m], s.archive_x[row], 0.0
    feature[0] = 1.0
    for i in range(n):
        u = 0.0
        if s.radius[i] > 0.0:
            u = (x[i] - s.middle[i]) / s.radius[i]
        feature[1 + i] = u
        square += u * u
        if p.model == DIAGONAL:
            feature[1 + n + i] = 0.5 * u * u
    if p.model == ISOTROPIC:
        feature[n + 1] = 0.5 * square / math.sqrt(float(n))
    gap = square / (n * p.weight * p.weight)
    s.weight[m] = 1.0 / (1.0 + gap * gap)
    s.target[m] = (min(s.archive[row], high) - low) / (high - low)


@compiled
def _add(s: State, size: int) -> None:
    """Add the weighted observations to the normal equations, of which the upper triangle is kept.

    Along slices that begin where the row does, the loop over them is compiled to twice as fast a one.
    """
    one, two, three, four = s.feature[0], s.feature[1], s.feature[2], s.feature[3]
    for i in range(size):
        a, b, c, d = s.weight[0] * one[i], s.weight[1] * two[i], s.weight[2] * three[i], s.weight[3] * four[i]
        s.solution[i] = s.solution[i] + a * s.target[0] + b * s.target[1] + c * s.target[2] + d * s.target[3]
        row, p, q, r, u = s.matrix[i, i:size], one[i:size], two[i:size], three[i:size], four[i:size]
        for k in range(row.size):
            row[k] = row[k] + a * p[k] + b * q[k] + c * r[k] + d * u[k]


@compiled
def solve(matrix: Array, solution: Floats, size: int) -> bool:
    """Solve a symmetric positive definite system in place, by its upper triangle; False if it is not definite."""
    for k in range(size):
        pivot = matrix[k, k:size]
        if not pivot[0] > 0.0:
            return False
        root = math.sqrt(pivot[0])
        for i in range(pivot.size):
            pivot[i] /= root
        solution[k] /= root
        for i in range(1, pivot.size):
            row, rest, factor = matrix[k + i, k + i : size], pivot[i:], pivot[i]
            solution[k + i] -= factor * solution[k]
            for m in range(row.size):
                row[m] -= factor * rest[m]
    for k in range(size - 1, -1, -1):
        row, total = matrix[k], solution[k]
        for i in range(k + 1, size):
            total -= row[i] * solution[i]
        solution[k] = total / row[k]
    return True


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

    def room(self, plan: Plan) -> Mapping[str, int]:
        n = plan.dimension
        size = 2 * n + 1 if self.model == "diagonal" else n + 2
        longest = int(self.window * 2 ** (self.windows - 1) * n)
        return {"middles": n, "archive": longest + self.group, "matrix": size, "windows": self.windows}

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
