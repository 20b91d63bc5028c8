"""What an evolution is: its generations, what came out of them, and how far it is. `process.py` carries one out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robustforge.errors import EvolutionError
from robustforge.evolution.fitness import Floats, scaled
from robustforge.evolution.settings import Settings
from robustforge.heuristic import Grammar, Heuristic
from robustforge.problem import Problem


@dataclass(frozen=True, eq=False)
class Generation:
    """A population that has been run and ranked.

    Attributes:
        number: 0 for the first, `FINAL` for the comparison of the finalists.
        population: The heuristics, best first.
        means: The mean value of each on each problem (population, problems); +inf after a failure.
        repeats: How many runs on each problem each got (population,): fewer than all if it dropped out of a race.
    """

    number: int
    population: tuple[Heuristic, ...]
    means: Floats
    repeats: npt.NDArray[np.intp]


@dataclass
class Progress:
    """How far an evolution is, for whoever watches.

    Attributes:
        generation: The one at work; `FINAL` at the end.
        done: Its runs that are done.
        wanted: Its runs in all, as far as is known.
        made: Runs made since this process went on with it.
        found: Runs that were in the store before.
        expected: Runs of the whole evolution, at most.
        started: When this process went on with it (`time.monotonic`).
    """

    generation: int = 0
    done: int = 0
    wanted: int = 0
    made: int = 0
    found: int = 0
    expected: int = 0
    started: float = 0.0

    @property
    def rate(self) -> float:
        """Runs per second of this process; 0 until there was one."""
        elapsed = time.monotonic() - self.started
        return self.made / elapsed if elapsed > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """How long it will take at this rate; `None` until there is one."""
        return (self.expected - self.found - self.made) / self.rate if self.made else None


class Evolution:
    """An evolution of heuristics: what came out, and how it got there.

    Args:
        name: Its name in the store.
        problems: What the heuristics are bred for.
        settings: How.
        grammar: From which they are derived.

    Attributes:
        generations: The complete generations, in order.
        final: The comparison of the finalists on fresh seeds; `None` until it is done.
        progress: How far it is.
        reasons: Why runs failed, and how many for that reason.
    """

    def __init__(self, name: str, problems: Sequence[Problem], settings: Settings, grammar: Grammar) -> None:
        self.name, self.problems, self.settings, self.grammar = name, tuple(problems), settings, grammar
        for known in settings.start:
            if not grammar.holds(known):
                fact = f"this {known.outer.title}, id {known.id}, cannot be derived"
                fix = "Restrict the grammar less: `robustforge grammar` shows its rules and ranges"
                raise EvolutionError("what an evolution starts with must be of its grammar", fact, fix)
        if settings.goals and not 1 < len(self.problems) == len(settings.goals):
            fact = f"got {len(settings.goals)} for {', '.join(problem.name for problem in self.problems)}"
            fix = "Give them in this order; with a single problem, its mean is all that counts"
            raise EvolutionError("goals are for several problems, one for each", fact, fix)
        self.generations: list[Generation] = []
        self.final: Generation | None = None
        self.progress = Progress(expected=settings.most_runs(len(self.problems)))
        self.reasons: Counter[str] = Counter()

    def __repr__(self) -> str:
        state = "finished" if self.finished else "not finished"
        best = f", champion {self.champion.id}" if self.generations else ""
        done = f"{len(self.generations)} of {self.settings.generations} generations"
        return f"<Evolution {self.name!r}: {state}, {done}, {self.failures} runs failed{best}>"

    @property
    def failures(self) -> int:
        """How many runs failed."""
        return self.reasons.total()

    @property
    def finished(self) -> bool:
        """Whether the champion has been chosen."""
        return self.final is not None

    @property
    def champion(self) -> Heuristic:
        """The best of the finalists; until the end, the best of the last complete generation."""
        return self._latest.population[0]

    @property
    def population(self) -> tuple[Heuristic, ...]:
        """The last complete generation, best first."""
        return self.generations[-1].population

    @property
    def champion_means(self) -> dict[str, float]:
        """The champion's mean on each problem, by name."""
        names = [problem.name for problem in self.problems]
        return dict(zip(names, self._latest.means[0].tolist(), strict=True))

    @property
    def _latest(self) -> Generation:
        return self.final or self.generations[-1]

    def fitness(self, generation: Generation) -> Floats:
        """Return one figure for each heuristic of a generation, comparable between generations; lower is better.

        On one problem it is the mean. On several it is how far a heuristic is, on average over the problems, on the
        way from the best (0) to the median (1) of the first generation on each; below 0 is better than all of them.
        After a failure it is +inf.
        """
        return scaled(generation.means, self.generations[0].means)

    def best_and_median(self, generation: Generation) -> tuple[float, float]:
        """Return the fitness of the first in a generation, and the median of those that got all their runs."""
        fitness = self.fitness(generation)
        return float(fitness[0]), float(np.median(fitness[generation.repeats == generation.repeats.max()]))
