"""`Evolution`: generations, champion and progress of an evolution, filled in by `EvolutionRunner`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge import notebook_html
from robustforge._version import __version__
from robustforge.arguments import former_attribute
from robustforge.errors import EvolutionError
from robustforge.evolution.fitness import Floats, normalised_fitness
from robustforge.evolution.settings import Settings
from robustforge.plotting import new_canvas
from robustforge.representation import Grammar, Heuristic
from robustforge.robust_problem import Problem


@dataclass(frozen=True, eq=False)
class Generation:
    """An evaluated and ranked population.

    Attributes:
        number: 0 for the first, `FINAL` for the comparison of the finalists.
        population: The heuristics, best first.
        means: Mean value of each heuristic on each problem (population, problems); +inf after a failure.
        repeats: Runs of each heuristic on each problem (population,); fewer for those eliminated in a race.
    """

    number: int
    population: tuple[Heuristic, ...]
    means: Floats
    repeats: npt.NDArray[np.intp]


@dataclass
class Progress:
    """The progress of an evolution.

    Attributes:
        generation: Number of the current generation; `FINAL` for the finalists.
        completed: Completed runs of the current generation.
        total: All runs of the current generation; a race reduces them.
        new_runs: Runs made by this process.
        stored_runs: Runs that were in the store when this process started.
        max_runs: Runs of the whole evolution; a race reduces them.
        started: When this process started (`time.monotonic`).
    """

    generation: int = 0
    completed: int = 0
    total: int = 0
    new_runs: int = 0
    stored_runs: int = 0
    max_runs: int = 0
    started: float = 0.0

    done = former_attribute("done", "completed")
    wanted = former_attribute("wanted", "total")
    made = former_attribute("made", "new_runs")
    found = former_attribute("found", "stored_runs")
    expected = former_attribute("expected", "max_runs")

    @property
    def rate(self) -> float:
        """Runs per second of this process."""
        elapsed = time.monotonic() - self.started
        return self.new_runs / elapsed if elapsed > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds until the evolution is finished; `None` before the first run."""
        return (self.max_runs - self.stored_runs - self.new_runs) / self.rate if self.new_runs else None


class Evolution:
    """An evolution of heuristics, finished or not.

    Args:
        name: Name in the store.
        problems: The problems that heuristics are evolved for.
        settings: All other parameters.
        grammar: The grammar that heuristics are derived from.

    Attributes:
        generations: The complete generations, in order.
        final: The comparison of the finalists on new seeds; `None` until it is complete.
        progress: The progress.
        failure_reasons: Number of failed runs by reason.
    """

    reasons = former_attribute("reasons", "failure_reasons")

    def __init__(self, name: str, problems: Sequence[Problem], settings: Settings, grammar: Grammar) -> None:
        self.name, self.problems, self.settings, self.grammar = name, tuple(problems), settings, grammar
        for heuristic in settings.initial_heuristics:
            if not grammar.holds(heuristic):
                fact = f"it cannot derive {heuristic.id} ({heuristic.outer.title})"
                fix = "Relax the restrictions: `robustforge grammar` shows its rules and ranges"
                raise EvolutionError("initial heuristics must belong to the grammar", fact, fix)
        if settings.goals and not 1 < len(self.problems) == len(settings.goals):
            fact = f"got {len(settings.goals)} for {', '.join(problem.name for problem in self.problems)}"
            fix = "Give one for each problem, in this order; a single problem needs no goal, its mean decides"
            raise EvolutionError("goals are for several problems, one for each", fact, fix)
        self.generations: list[Generation] = []
        self.final: Generation | None = None
        self.progress = Progress(max_runs=settings.max_runs(len(self.problems)))
        self.failure_reasons: Counter[str] = Counter()

    def __repr__(self) -> str:
        state = "finished" if self.finished else "not finished"
        best = f", champion {self.champion.id}" if self.generations else ""
        done = f"{len(self.generations)} of {self.settings.generations} generations"
        return f"<Evolution {self.name!r}: {state}, {done}, {self.failures} failed runs{best}>"

    def _repr_html_(self) -> str:
        """Return the evolution as a notebook shows it: its settings, its champion, and a table of generations."""
        done = f"{len(self.generations)} of {self.settings.generations} generations"
        state = {
            "problems": ", ".join(problem.name for problem in self.problems),
            "state": f"{'finished' if self.finished else 'not finished'}, {done}, {self.failures} failed runs",
        }
        settings = ((field.name, getattr(self.settings, field.name)) for field in fields(self.settings))
        shown = {name: value for name, value in settings if value not in ((), 0)}
        parts = [notebook_html.facts(state), notebook_html.details("Settings", notebook_html.facts(shown))]
        if self.generations:
            means = {f"mean on {name}": mean for name, mean in self.champion_means.items()}
            pairs = enumerate(map(self.best_and_median, self.generations), 1)
            rows = ((number, best, median) for number, (best, median) in pairs)
            generations = notebook_html.table(("generation", "best fitness", "median fitness"), rows)
            champion = notebook_html.details("Champion", notebook_html.Html(self.champion._repr_html_()))
            parts += [notebook_html.facts(means), champion, notebook_html.details("Generations", generations)]
        return notebook_html.fragment(f"Evolution {self.name!r}", *parts)

    def plot(self, ax: Any = None) -> Any:
        """Draw the best and the median fitness of each generation with Matplotlib.

        Args:
            ax: Matplotlib axes to draw on; by default those of a new figure.

        Returns:
            The Matplotlib axes.

        Raises:
            MissingExtraError: Matplotlib is not installed.
        """
        if not self.generations:
            raise EvolutionError("an evolution can be plotted after its first generation", "none is complete")
        canvas = new_canvas(ax)
        from robustforge.plotting import experiment_plots

        measure = "scaled fitness" if len(self.problems) > 1 else "mean worst case"
        experiment_plots.fitness(canvas, [self.best_and_median(each) for each in self.generations], measure)
        return canvas.axes

    def stored_settings(self) -> dict[str, Any]:
        """Return everything that decides the result, as it is stored."""
        return {
            "problems": [problem.to_dict() for problem in self.problems],
            **self.settings.to_dict(),
            "grammar": self.grammar.fingerprint,
            "version": __version__,
        }

    @property
    def failures(self) -> int:
        """Number of failed runs."""
        return self.failure_reasons.total()

    @property
    def finished(self) -> bool:
        """Whether the champion has been chosen."""
        return self.final is not None

    @property
    def champion(self) -> Heuristic:
        """The best finalist; before the end, the best heuristic of the last complete generation."""
        return self._latest.population[0]

    @property
    def population(self) -> tuple[Heuristic, ...]:
        """The last complete generation, best first."""
        return self.generations[-1].population

    @property
    def champion_means(self) -> dict[str, float]:
        """Mean value of the champion on each problem, by name."""
        names = [problem.name for problem in self.problems]
        return dict(zip(names, self._latest.means[0].tolist(), strict=True))

    @property
    def _latest(self) -> Generation:
        return self.final or self.generations[-1]

    def fitness(self, generation: Generation) -> Floats:
        """Return the fitness of each heuristic of a generation, comparable between generations; lower is better.

        On one problem it is the mean. On several it is the mean position on the scale from the best (0) to the median
        (1) of the first generation on each problem, so negative if better than all of these. It is +inf after a
        failure.
        """
        return normalised_fitness(generation.means, self.generations[0].means)

    def best_and_median(self, generation: Generation) -> tuple[float, float]:
        """Return the fitness of the best heuristic of a generation, and the median of those with all their runs."""
        fitness = self.fitness(generation)
        return float(fitness[0]), float(np.median(fitness[generation.repeats == generation.repeats.max()]))
