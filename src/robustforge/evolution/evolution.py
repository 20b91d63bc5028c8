"""The evolution: generations of heuristics, each run, ranked and bred from the last (Section 4 of the paper).

Who is in a generation follows from the seed and from the values of the generation before, so a run that was
interrupted is gone through again from the start, and only what the store does not hold is run.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.errors import ObjectiveError
from robustforge.evolution.fitness import Floats, order, survivors
from robustforge.evolution.operators import breed, first_population
from robustforge.evolution.settings import Settings
from robustforge.evolution.trial import Trial, breeding_generator, trial
from robustforge.evolution.workshop import Workshop
from robustforge.heuristic import Grammar, Heuristic
from robustforge.problem import Problem
from robustforge.store import FINAL, Experiment, Run, Store

KIND = "evolution"

MOST_DOUBTFUL = 20
"""How many runs may fail before the first that does not."""

LAPS = 4
"""Into how many parts a race divides the repeats: after each but the last, the clearly worse drop out."""


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
        self.generations: list[Generation] = []
        self.final: Generation | None = None
        self.progress = Progress(expected=settings.most_runs(len(self.problems)))
        self.reasons: Counter[str] = Counter()

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
        if len(self.problems) == 1:
            return generation.means[:, 0]
        best, span = self._scale
        return np.asarray(((generation.means - best) / span).mean(axis=1))

    def best_and_median(self, generation: Generation) -> tuple[float, float]:
        """Return the fitness of the first in a generation, and the median of those that got all their runs."""
        fitness = self.fitness(generation)
        return float(fitness[0]), float(np.median(fitness[generation.repeats == generation.repeats.max()]))

    @cached_property
    def _scale(self) -> tuple[Floats, Floats]:
        """Best and span to the median of the first generation on each problem, of those who have a mean there."""
        means = self.generations[0].means
        columns = [column[np.isfinite(column)] if np.isfinite(column).any() else np.zeros(1) for column in means.T]
        best = np.array([column.min() for column in columns])
        span = np.array([np.median(column) for column in columns]) - best
        return best, np.where(span > 0, span, 1.0)

    def run(self, store: Store, workshop: Workshop, callback: Callable[[Evolution], Any] | None = None) -> None:
        """Breed until the end, and store every run; what the store has of it is not run again.

        Args:
            store: Where the runs are kept.
            workshop: Who makes them.
            callback: Called after each generation; it may raise `StopIteration` to stop for now.
        """
        Process(self, store, workshop).run(callback)


class Process:
    """An evolution at work, with its store and its workshop; `Evolution` is what is left of it."""

    def __init__(self, evolution: Evolution, store: Store, workshop: Workshop) -> None:
        self._evolution, self._store, self._workshop = evolution, store, workshop
        self._settings, self._count = evolution.settings, len(evolution.problems)
        self._experiment = store.find(evolution.name, KIND, described(evolution))
        stored = store.runs(self._experiment) if self._experiment else []
        self._runs = {run.key: run for run in stored}
        self._done = Counter(run.generation for run in stored)
        self._newcomers: Sequence[Heuristic] = ()
        self._doubtful: list[Run] = []
        evolution.reasons.update(run.failure for run in stored if run.failure)
        evolution.progress.found = len(self._runs)
        evolution.progress.started = time.monotonic()

    def run(self, callback: Callable[[Evolution], Any] | None) -> None:
        """Go through all generations, then compare the finalists."""
        evolution, settings = self._evolution, self._settings
        for number in range(settings.generations):
            rng = breeding_generator(settings, number)
            if number == 0:
                population = first_population(settings.population, evolution.grammar, rng)
            else:
                population = breed(evolution.population, settings, evolution.grammar, rng)
            evolution.generations.append(self._ranked(number, population, settings.repeats))
            if callback is not None:
                try:
                    callback(evolution)
                except StopIteration:
                    return
        finalists = evolution.population[: settings.finalists]
        evolution.final = self._ranked(FINAL, finalists, settings.final_repeats)
        if self._begun.ended is None:
            self._store.end(self._begun, evolution.champion.id)

    def _ranked(self, number: int, population: Sequence[Heuristic], repeats: int) -> Generation:
        """Run a population, the survivors of each lap of a race further than the others, and rank it."""
        ids = [heuristic.id for heuristic in population]
        self._newcomers = population
        progress = self._evolution.progress
        progress.generation, progress.done = number, self._done[number]
        progress.wanted = len(population) * repeats * self._count
        racing = self._settings.race > 0 and number != FINAL
        laps = sorted({-(-repeats * lap // LAPS) for lap in range(1, LAPS + 1)}) if racing else [repeats]
        running, places, behind = np.arange(len(population)), np.zeros(len(population), np.intp), []
        for lap in laps:
            self._run(number, [(population[int(k)], ids[int(k)]) for k in running], range(lap))
            places[running] = lap
            if lap < repeats:
                stay = survivors(self._values(number, [ids[k] for k in running], lap), *self._rule)
                behind.append(running[~stay])
                self._skip(int((~stay).sum()) * (repeats - lap) * self._count)
                running = running[stay]
        means = np.array([self._means(number, id, int(lap)) for id, lap in zip(ids, places, strict=True)])
        best_first = np.concatenate([group[order(means[group])] for group in (running, *behind[::-1]) if group.size])
        whole = np.isfinite(means[best_first]).all(axis=1)
        best_first = np.concatenate([best_first[whole], best_first[~whole]])  # failures are last, also of a race
        made = Generation(number, tuple(population[int(k)] for k in best_first), means[best_first], places[best_first])
        self._store.add_generation(self._begun, number, [ids[k] for k in best_first])
        return made

    @property
    def _begun(self) -> Experiment:
        """The experiment in the store; begun with its first runs, so that a call that fails leaves nothing behind."""
        if self._experiment is None:
            evolution = self._evolution
            grammar = evolution.grammar.to_dict()
            self._experiment = self._store.begin(evolution.name, KIND, described(evolution), grammar)
        return self._experiment

    @property
    def _rule(self) -> tuple[float, int]:
        return self._settings.race, max(self._settings.elites, self._settings.finalists)

    def _run(self, number: int, heuristics: Sequence[tuple[Heuristic, str]], repeats: range) -> None:
        """Make all runs of these heuristics that are not known yet."""
        wanted: list[Trial] = [
            trial(self._settings, heuristic, id, number, problem, repeat)
            for problem in range(self._count)
            for repeat in repeats
            for heuristic, id in heuristics
            if (number, problem, id, repeat) not in self._runs
        ]
        self._workshop.make(wanted, self._keep)
        if self._doubtful:
            raise _all_failed(self._doubtful)

    def _keep(self, runs: list[Run]) -> None:
        """Store runs that are done; after that, they count.

        As long as every run has failed, it is the objective and not a heuristic that fails: nothing is stored, and
        after a while it is said.
        """
        if not self._runs:
            self._doubtful += runs
            if not all(run.failure for run in self._doubtful):
                runs, self._doubtful = self._doubtful, []
            elif len(self._doubtful) < MOST_DOUBTFUL:
                return
            else:
                raise _all_failed(self._doubtful)
        if self._newcomers:
            self._store.add_heuristics(self._newcomers)
            self._newcomers = ()
        self._store.add(self._begun, runs)
        self._runs.update((run.key, run) for run in runs)
        self._done[runs[0].generation] += len(runs)
        evolution, progress = self._evolution, self._evolution.progress
        evolution.reasons.update(run.failure for run in runs if run.failure)
        progress.done = self._done[runs[0].generation]
        progress.made += len(runs)

    def _skip(self, runs: int) -> None:
        """Take note of runs that a race makes unnecessary."""
        self._evolution.progress.wanted -= runs
        self._evolution.progress.expected -= runs

    def _means(self, number: int, id: str, repeats: int) -> Floats:
        values = self._values(number, [id], repeats).reshape(self._count, repeats)
        return np.asarray(values.mean(axis=1))

    def _values(self, number: int, ids: Sequence[str], repeats: int) -> Floats:
        """Return the values of some heuristics, a row each, problem by problem; a failure is +inf."""
        keys = [(problem, repeat) for problem in range(self._count) for repeat in range(repeats)]
        found = [[self._runs[number, problem, id, repeat] for problem, repeat in keys] for id in ids]
        return np.array([[np.inf if run.failure else run.value for run in row] for row in found])


def _all_failed(runs: Sequence[Run]) -> ObjectiveError:
    reason, count = Counter(run.failure for run in runs).most_common(1)[0]
    return ObjectiveError(
        "an objective must succeed now and then",
        f"all of the first {len(runs)} runs failed, {count} of them with: {reason}",
        "Nothing was stored; mend the objective and give the same command again",
    )


def described(evolution: Evolution) -> dict[str, Any]:
    """Return all that decides the outcome of an evolution, as plain data."""
    return {
        "problems": [problem.to_dict() for problem in evolution.problems],
        **evolution.settings.to_dict(),
        "grammar": evolution.grammar.fingerprint,
        "version": version("robustforge"),
    }
