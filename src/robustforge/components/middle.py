"""Searches with a middle: one point around which candidates are placed, moved by what they are worth.

What they share is here: the middle and its averages, the share of the budget that a start has (`Restart`), and what is
returned (`Returned`). A search calls `begin`, then after each iteration `settle`, and asks `progress` for how far the
present start has come: radii follow the budget and not the clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from robustforge.core.compiler import call, compiled
from robustforge.core.component import Component, Range
from robustforge.core.history import neighbours, worst_of
from robustforge.core.state import DONE, PARTIAL, State, StateField, copy, fill, in_box, random_point

MIDDLE, AVERAGE, BEST, EARLIER = range(4)
"""What a search with a middle keeps: the middle, its average, the best candidate, the best of the starts before."""

MOST_STARTS, _TRIES = 4, 16

_EXACT_END = 1e-3
"""Least radius along a variable without a tolerance, as a share of its range."""

START = np.dtype(
    [
        (name, np.float64)
        for name in (
            "number",  # starts so far
            "begun",  # evaluations spent before the present one
            "until",  # and when it ends
            "averaged",  # middles in the average
        )
    ],
    align=True,
)

STATE_FIELDS = (
    StateField("present", START, lambda p: (1,)),
    StateField("middle", np.float64, lambda p: (p.middles,)),
    StateField("radius", np.float64, lambda p: (p.middles,)),
    StateField("middle_sum", np.float64, lambda p: (p.middles,)),
    StateField("kept_x", np.float64, lambda p: (4, p.middles)),
    StateField("kept", np.float64, lambda p: (4,)),
    StateField("earlier_x", np.float64, lambda p: (MOST_STARTS, p.middles)),
)


class Restart(Component, slot=True):
    """How often a search begins anew, each time with an equal share of the budget.

    Kernels: `place(s)` writes where the next start is to `s.middle`.
    """

    verbs: ClassVar[Mapping[str, tuple[Any, ...]]] = {"place": ()}
    place: ClassVar[Any]

    @property
    def again(self) -> str:
        """Where the middle is put, for a listing."""
        return "uniform in X"


class Returned(Component, slot=True):
    """What a search with a middle returns.

    Kernels: `choose(s)` says which of the kept points it is, by making it the incumbent.
    """

    verbs: ClassVar[Mapping[str, tuple[Any, ...]]] = {"choose": ()}
    choose: ClassVar[Any]


class WithMiddle:
    """What outer searches with a middle have in common; their own fields come before these two."""

    restart: Restart
    returned: Returned

    @property
    def parts(self) -> Mapping[str, Component | None]:
        """How it begins anew, and what it returns."""
        return {"restart": self.restart, "returned": self.returned}

    @property
    def offers_candidates(self) -> bool:
        """Never: what is returned is another component."""
        return False


@compiled
def spent_so_far(s: State) -> float:
    """Return how many evaluations were promised to candidates so far."""
    return float(s.tally[0].allowance - s.tally[0].free)


@compiled
def progress(s: State) -> float:
    """Return how far the present start has come, from 0 to 1."""
    m = s.present[0]
    return min(1.0, (spent_so_far(s) - m.begun) / max(1.0, m.until - m.begun))


@compiled
def begin(s: State) -> None:
    """Begin a start: choose its middle, and give it its share of what is left."""
    t, m = s.tally[0], s.present[0]
    left = max(1.0, s.restart[0].starts - m.number)
    m.begun = spent_so_far(s)
    m.until = m.begun + (t.allowance - m.begun) / left
    m.averaged = 0.0
    fill(s.middle_sum, 0.0)
    s.kept[MIDDLE], s.kept[AVERAGE], s.kept[BEST] = np.inf, np.inf, np.inf
    if m.number == 0:
        s.kept[EARLIER] = np.inf
        if not _best_known(s):
            _anywhere(s)
    else:
        call(s.restart[0].place, s)
    copy(s.middle, s.kept_x[BEST])  # until there is a candidate that may be returned
    m.number += 1.0


@compiled
def end_radius(s: State, share: float) -> None:
    """Write to `s.radius` how far a shell reaches along each variable that is `share` of the uncertainty set."""
    fill(s.radius, 0.0)
    for i in s.active:
        s.radius[i] = share if s.tally[0].is_box == 1 else share / math.sqrt(float(s.active.size))
    for i in s.exact:
        s.radius[i] = _EXACT_END * (s.upper[i] - s.lower[i])


@compiled
def is_over(s: State) -> bool:
    """Whether the present start has had its share, and there is another one."""
    m = s.present[0]
    return m.number < s.restart[0].starts and spent_so_far(s) >= m.until


@compiled
def is_counted(s: State, j: int) -> bool:
    """Whether the inner search of agent `j` gave a value to learn from."""
    return (s.status[j] == DONE or s.status[j] == PARTIAL) and s.worst[j] > -np.inf


@compiled
def settle(s: State) -> None:
    """Take note of the middle, and of what the candidates of this iteration are worth; say what would be returned.

    The middle is worth the average of its candidates: each of them alone would be a matter of luck.
    """
    t, m = s.tally[0], s.present[0]
    total, count = 0.0, 0
    for j in range(t.agents):
        if is_counted(s, j):
            if s.worst[j] < s.kept[BEST] and in_box(s, s.x[j]):
                s.kept[BEST] = s.worst[j]
                copy(s.x[j], s.kept_x[BEST])
            if s.worst[j] < np.inf:
                total += s.worst[j]
                count += 1
    if count == 0:
        if t.found == 0 and s.kept[EARLIER] == np.inf:
            copy(s.middle, s.incumbent_x)
        return
    value = total / count
    s.kept[MIDDLE], s.kept[AVERAGE] = value, value
    copy(s.middle, s.kept_x[MIDDLE])
    if progress(s) >= 1.0 - s.returned[0].share:
        m.averaged += 1.0
        for i in range(s.middle.size):
            s.middle_sum[i] += s.middle[i]
            s.kept_x[AVERAGE, i] = s.middle_sum[i] / m.averaged
    else:
        copy(s.middle, s.kept_x[AVERAGE])
    t.found = 1
    if s.kept[EARLIER] <= value:
        _take(s, EARLIER)
    else:
        call(s.returned[0].choose, s)


@compiled
def end(s: State) -> None:
    """End the present start: what it came to is kept if it is the best so far."""
    m = s.present[0]
    copy(s.middle, s.earlier_x[int(m.number) - 1])
    if s.kept[MIDDLE] < s.kept[EARLIER]:
        s.kept[EARLIER] = s.kept[MIDDLE]
        copy(s.incumbent_x, s.kept_x[EARLIER])


@compiled
def _take(s: State, row: int) -> None:
    """Make a kept point the incumbent; its value is raised to the worst of the history nearby."""
    copy(s.kept_x[row], s.incumbent_x)
    s.incumbent[0] = max(s.kept[row], worst_of(s, neighbours(s, s.incumbent_x)))


@compiled
def _anywhere(s: State) -> None:
    random_point(s, s.middle)


@compiled
def _best_known(s: State) -> bool:
    """Begin at the best point that was evaluated before the run, if there is one in the box."""
    t = s.tally[0]
    known = t.spent - (t.allowance - t.free)
    best = -1
    for k in range(known):
        if s.values[k] < np.inf and (best < 0 or s.values[k] < s.values[best]) and in_box(s, s.points[k]):
            best = k
    if best >= 0:
        copy(s.points[best], s.middle)
    return best >= 0


@compiled
def _place_afar(s: State) -> None:
    """Of several random points, take the one furthest from where the starts before ended."""
    furthest = -1.0
    middle, tried = s.middle, s.middle_sum
    for _ in range(_TRIES):
        random_point(s, tried)
        nearest = np.inf
        for k in range(int(s.present[0].number)):
            square = 0.0
            for i in range(tried.size):
                gap = tried[i] - s.earlier_x[k, i]
                square += gap * gap
            nearest = min(nearest, square)
        if nearest > furthest:
            furthest = nearest
            copy(tried, middle)
    fill(s.middle_sum, 0.0)


@compiled
def _choose_middle(s: State) -> None:
    _take(s, MIDDLE)


@compiled
def _choose_average(s: State) -> None:
    _take(s, AVERAGE)


@compiled
def _choose_best(s: State) -> None:
    _take(s, BEST)


@dataclass(frozen=True)
class NoRestart(Restart):
    """One start, with the whole budget."""

    title: ClassVar[str] = "None"
    extension: ClassVar[bool] = True
    place: ClassVar[Any] = staticmethod(_anywhere)

    def resolved(self, plan: Any) -> Mapping[str, float]:
        return {"starts": 1.0}

    def words(self) -> str:
        return "it begins once, anywhere in the box"


Starts = Annotated[int, Range(2, MOST_STARTS), "starts, each with an equal share of the budget"]


@dataclass(frozen=True)
class RandomRestart(Restart):
    """Several starts, each anywhere in the box."""

    title: ClassVar[str] = "Random"
    extension: ClassVar[bool] = True
    starts: Starts
    place: ClassVar[Any] = staticmethod(_anywhere)

    @property
    def again(self) -> str:
        return f"uniform in X, and again so after every 1/{self.starts} of the budget"

    def words(self) -> str:
        return f"it begins {self.starts} times, anywhere in the box"


@dataclass(frozen=True)
class FarRestart(Restart):
    """Several starts, each far from where the ones before ended."""

    title: ClassVar[str] = "Far"
    extension: ClassVar[bool] = True
    starts: Starts
    place: ClassVar[Any] = staticmethod(_place_afar)

    @property
    def again(self) -> str:
        return f"uniform in X, and after every 1/{self.starts} of the budget again, far from where it was"

    def words(self) -> str:
        return f"it begins {self.starts} times, each far from where the ones before ended"


@dataclass(frozen=True)
class ReturnMiddle(Returned):
    """The middle where it is in the end."""

    title: ClassVar[str] = "Mean"
    extension: ClassVar[bool] = True
    choose: ClassVar[Any] = staticmethod(_choose_middle)

    def words(self) -> str:
        return "its last middle is returned"


@dataclass(frozen=True)
class ReturnAverage(Returned):
    """The average of the middles of the last iterations."""

    title: ClassVar[str] = "Averaged mean"
    extension: ClassVar[bool] = True
    share: Annotated[float, Range(0.02, 0.2), "of the budget, over whose end the middle is averaged"]
    choose: ClassVar[Any] = staticmethod(_choose_average)

    def words(self) -> str:
        return f"the average of its middles over the last {100 * self.share:.2g}% of the budget is returned"


@dataclass(frozen=True)
class ReturnBest(Returned):
    """The candidate with the lowest value."""

    title: ClassVar[str] = "Best candidate"
    extension: ClassVar[bool] = True
    choose: ClassVar[Any] = staticmethod(_choose_best)

    def words(self) -> str:
        return "the candidate with the lowest value is returned"
