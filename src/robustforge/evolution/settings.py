"""The settings of an evolution: everything but the problems and the grammar that decides what comes out."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, get_args

from robustforge.engine.optimizer import OnFailure
from robustforge.errors import EvolutionError, UnknownNameError
from robustforge.heuristic import Heuristic, heuristic

DEFAULT_GRAMMAR = "extended"
"""What heuristics are bred from if nobody says."""

RACE_LEVEL = 0.05

Criterion = Literal["ranks", "sizes"]
Method = Literal["breed", "race"]

MOST_SAMPLES = 1_000_000
"""More points of a re-estimate would not fit into the memory of a worker."""


@dataclass(frozen=True)
class Settings:
    """How heuristics are bred.

    Attributes:
        population: Heuristics in a generation.
        first: Random heuristics of the first generation, of which the best are bred from; 0 for no more than later.
        start: Heuristics that the first generation has beside the random ones, by name, path or as such.
        generations: Populations that are evaluated, the first, random one included.
        repeats: Runs of each heuristic on each problem, in each generation.
        budget: Evaluations of a run.
        tournament: Heuristics that are drawn to choose a parent.
        elites: Best heuristics that survive unchanged.
        mutation: Chance that a child is mutated.
        refinement: Chance that a third of a child's numbers are shifted a little; the paper knows no such step.
        samples: Points of the re-estimate at the returned design.
        finalists: Best heuristics of the last generation that are compared once more.
        final_repeats: Runs of each finalist on each problem, on fresh seeds.
        race: Level of the test that ends the repeats of heuristics that are clearly worse; 0 for no race, `True` for
            one at 5%.
        fresh: Whether the shift and rotation of a variant are drawn anew for each repeat of each generation, the same
            for all heuristics; otherwise they are those of the problem's own seed.
        criterion: By what heuristics are compared over several problems: "ranks", as in the paper, or "sizes", how
            much worse than the best they are on average, in units of how much worse the median is.
        goals: What to reach on each of several problems, in their order; then heuristics are compared by how much of
            them they lose on average: half of a goal that is missed by the margin, more of one missed by more. Being
            better counts, too, up to half the margin.
        margin: That miss, as a share of the goal.
        tie: Differences that are none in the comparison over several problems, as a share of the way from the best to
            the median of the first generation.
        method: "breed", by genetic programming, or "race": many random heuristics, the better half of which gets
            twice the repeats, and so on.
        on_failure: What a failed evaluation of the objective means, as in `minimize`.
        seed: Decides everything.
    """

    population: int = 50
    first: int = 0
    start: tuple[Heuristic, ...] = ()
    generations: int = 40
    repeats: int = 20
    budget: int = 2000
    tournament: int = 3
    elites: int = 2
    mutation: float = 0.3
    refinement: float = 0.0
    samples: int = 10_000
    finalists: int = 5
    final_repeats: int = 100
    race: float = 0.0
    fresh: bool = False
    criterion: Criterion = "ranks"
    goals: tuple[float, ...] = ()
    margin: float = 0.1
    tie: float = 0.0
    method: Method = "breed"
    on_failure: OnFailure = "raise"
    seed: int = 1

    def __post_init__(self) -> None:
        if self.race is True:
            object.__setattr__(self, "race", RACE_LEVEL)
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
                raise EvolutionError(f"{name} must be an integer of at least {least}", f"got {value!r}")
            object.__setattr__(self, name, int(value))
        if self.samples > MOST_SAMPLES:
            raise EvolutionError(f"samples must be at most {MOST_SAMPLES:,}", f"got {self.samples:,}", "10,000 will do")
        if self.population <= self.elites:
            raise EvolutionError(
                "the population must be larger than the number of elites",
                f"got a population of {self.population} and {self.elites} elites",
                "Enlarge the population, or lower the elites",
            )
        known: Any = (self.start,) if isinstance(self.start, (str, Path, Heuristic)) else self.start
        start = dict.fromkeys(each if isinstance(each, Heuristic) else heuristic(each) for each in known)
        object.__setattr__(self, "start", tuple(start))
        if len(self.start) > self.first_size:
            raise EvolutionError(
                "the first generation must have room for what it starts with",
                f"got {len(self.start)} heuristics and a first generation of {self.first_size}",
                "Enlarge it, or start with fewer",
            )
        if self.method == "breed" and 0 < self.first < self.population:
            raise EvolutionError(
                "the first generation must not be smaller than the others",
                f"got {self.first} and a population of {self.population}",
                "Enlarge it, or leave it out",
            )
        for name, most in (("mutation", 1.0), ("refinement", 1.0), ("race", 0.5), ("tie", 1.0)):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0.0 <= value <= most:
                raise EvolutionError(f"{name} must be a number from 0 to {most:g}", f"got {value!r}")
            object.__setattr__(self, name, float(value))
        object.__setattr__(self, "goals", self._checked_goals())
        if not isinstance(self.margin, (int, float)) or isinstance(self.margin, bool) or not 0.0 < self.margin <= 1.0:
            raise EvolutionError("margin must be a number above 0 and at most 1", f"got {self.margin!r}")
        if not isinstance(self.fresh, bool):
            raise EvolutionError("fresh must be True or False", f"got {self.fresh!r}")
        words = (("on_failure", OnFailure), ("criterion", Criterion), ("method", Method))
        for name, allowed in words:
            if getattr(self, name) not in get_args(allowed):
                given = str(getattr(self, name))
                raise UnknownNameError(f"choice for `{name}`", given, get_args(allowed), "robustforge evolve --help")

    def _checked_goals(self) -> tuple[float, ...]:
        try:
            goals = tuple(float(goal) for goal in self.goals)
        except (TypeError, ValueError) as error:
            raise EvolutionError("goals must be numbers, one for each problem", f"got {self.goals!r}") from error
        if not all(isfinite(goal) and goal != 0 for goal in goals):
            fix = "Add a constant to an objective whose goal is 0"
            raise EvolutionError("goals must be finite and not 0, as misses are shares of them", f"got {goals}", fix)
        if goals and (self.criterion != "ranks" or self.tie):
            fact = f"got criterion {self.criterion!r} and tie {self.tie:g} beside goals"
            raise EvolutionError("with goals, it is they that count", fact, "Leave out one or the other")
        return goals

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data, those that came later only where they change something."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["start"], plain["goals"] = [each.id for each in self.start], list(self.goals)
        return {name: value for name, value in plain.items() if name not in _LATER or value != _LATER[name]}

    @property
    def first_size(self) -> int:
        """Heuristics of the first generation."""
        return self.first or self.population

    def most_runs(self, problems: int) -> int:
        """Return how many runs an evolution makes; with a race, at most."""
        last = min(self.finalists, self.size(self.generations - 1)) * self.final_repeats
        return problems * (sum(self.size(k) * self.repeats_of(k) for k in range(self.generations)) + last)

    def size(self, generation: int) -> int:
        """Return how many heuristics a generation has: by halving, half of the one before."""
        if self.method == "race":
            return min(self.first_size, max(self.finalists, self.first_size >> generation))
        return self.population if generation else self.first_size

    def repeats_of(self, generation: int) -> int:
        """Return the runs of each heuristic on each problem in a generation: by halving, twice those of the one before.

        So that the last has `repeats`.
        """
        if self.method == "race":
            return max(1, self.repeats >> (self.generations - 1 - generation))
        return self.repeats


_LATER = {
    "first": 0,
    "start": [],
    "refinement": 0.0,
    "fresh": False,
    "criterion": "ranks",
    "goals": [],
    "margin": 0.1,
    "tie": 0.0,
    "method": "breed",
}
"""Settings that came after the first stores: left out where they change nothing, so that those can be gone on with."""

_LEAST = {
    "population": 2,
    "first": 0,
    "generations": 1,
    "repeats": 1,
    "budget": 10,
    "tournament": 1,
    "elites": 0,
    "samples": 1,
    "finalists": 1,
    "final_repeats": 1,
    "seed": 0,
}
