"""The process: generations of heuristics, each run, ranked and bred from the last (Section 4 of the paper).

Who is in a generation follows from the seed and from the values of the generation before, so a run that was
interrupted is gone through again from the start, and only what the store does not hold is run.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from robustforge._version import __version__
from robustforge.errors import ObjectiveError, StoreError
from robustforge.evolution.evolution import Evolution, Generation
from robustforge.evolution.fitness import Floats, Order, order, survivors
from robustforge.evolution.operators import breed, first_population
from robustforge.evolution.trial import Trial, breeding_generator, run_seed, run_trials, trial
from robustforge.heuristic import Heuristic
from robustforge.store import EVOLUTION, FINAL, Experiment, Run, Store
from robustforge.store.records import damaged
from robustforge.workshop import Crew, Workshop

PROBES = 20
"""The first runs of all; if none of them succeeds, it is the objective that fails."""

LAPS = 4
"""Into how many parts a race divides the repeats: after each but the last, the clearly worse drop out."""


class Process:
    """An evolution at work, with its store and its crew; `Evolution` is what is left of it."""

    def __init__(self, evolution: Evolution, store: Store, crew: Crew) -> None:
        self._evolution, self._store = evolution, store
        self._workshop: Workshop[Trial, Run] = Workshop(crew, self._order)
        self._settings, self._count = evolution.settings, len(evolution.problems)
        self._experiment = store.find(evolution.name, EVOLUTION, described(evolution), evolution.grammar.to_dict())
        stored = self._stored(self._experiment) if self._experiment else []
        self._runs = {run.key: run for run in stored}
        self._done = Counter(run.generation for run in stored)
        self._newcomers: Sequence[Heuristic] = ()
        self._doubtful: list[Run] = []
        evolution.reasons.update(run.failure for run in stored if run.failure)
        evolution.progress.found = len(self._runs)
        evolution.progress.started = time.monotonic()

    def run(self, callback: Callable[[Evolution], Any] | None) -> None:
        """Go through all generations, then compare the finalists."""
        self._check_objectives()
        evolution, settings = self._evolution, self._settings
        for number in range(settings.generations):
            rng = breeding_generator(settings, number)
            population: Sequence[Heuristic]
            if number == 0:
                population = first_population(settings, evolution.grammar, rng)
            elif settings.method == "race":
                population = evolution.population[: settings.size(number)]
            else:
                population = breed(evolution.population[: settings.population], settings, evolution.grammar, rng)
            evolution.generations.append(self._ranked(number, population, settings.repeats_of(number)))
            if callback is not None:
                try:
                    callback(evolution)
                except StopIteration:
                    return
        finalists = evolution.population[: settings.finalists]
        evolution.final = self._ranked(FINAL, finalists, settings.final_repeats)
        if self._begun.ended is None:
            self._store.end(self._begun, evolution.champion.id)

    def _stored(self, experiment: Experiment) -> list[Run]:
        """Return the runs in the store; their seeds follow from their numbers, which shows whether these are intact."""
        runs, seeds = self._store.runs(experiment), {}
        for run in runs:
            key = run.generation, run.problem, run.repeat
            if key not in seeds:
                seeds[key] = run_seed(self._settings, *key)
            if run.seed != seeds[key] or run.problem >= self._count:
                raise damaged(self._store.path, f"the seed of run {run.key} is {run.seed}, not {seeds[key]}")
        return runs

    def _order(self, trials: list[Trial]) -> tuple[Any, ...]:
        return run_trials, self._evolution.problems[trials[0].group], self._settings, trials

    def _check_objectives(self) -> None:
        """Make a stored run again on each problem, and refuse to go on if it comes out differently.

        A test problem needs that only if another version of the package began the evolution.
        """
        same = self._experiment is None or self._experiment.settings.get("version") == __version__
        first = {run.problem: run for run in reversed(self._runs.values()) if not run.failure}
        for number, known in first.items():
            if same and self._evolution.problems[number].is_test_problem:
                continue
            again: list[Run] = []
            heuristic = self._store.heuristic(known.heuristic)
            key = known.heuristic, known.generation, number, known.repeat
            self._workshop.make([trial(self._settings, heuristic, *key)], again.extend)
            if not again[0].failure and again[0].value != known.value:
                raise StoreError(
                    "a run goes on with the objective that it began with",
                    f"a stored run on {self._evolution.problems[number].name!r} gave {known.value:.9g}, and gives "
                    f"{again[0].value:.9g} now",
                    "If it was changed, or the package was, begin anew under another name; if it draws random numbers, "
                    "fix their seed",
                )

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
        groups = [group for group in (running, *behind[::-1]) if group.size]
        best_first = np.concatenate([group[self._best_first(means[group])] for group in groups])
        whole = np.isfinite(means[best_first]).all(axis=1)
        best_first = np.concatenate([best_first[whole], best_first[~whole]])  # failures are last, also of a race
        made = Generation(number, tuple(population[int(k)] for k in best_first), means[best_first], places[best_first])
        self._store.add_generation(self._begun, number, [ids[k] for k in best_first])
        return made

    def _best_first(self, means: Floats) -> Order:
        """Rank heuristics by their means, as the settings say."""
        settings, generations = self._settings, self._evolution.generations
        first = generations[0].means if generations else None
        by_size = settings.criterion == "sizes"
        return order(means, by_size, settings.tie, first, settings.goals, settings.margin)

    @property
    def _begun(self) -> Experiment:
        """The experiment in the store; begun with its first runs, so that a call that fails leaves nothing behind."""
        if self._experiment is None:
            evolution = self._evolution
            grammar = evolution.grammar.to_dict()
            self._experiment = self._store.begin(evolution.name, EVOLUTION, described(evolution), grammar)
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
        if not self._runs:  # the same few first, whoever makes them: do all of them fail?
            self._workshop.make(wanted[:PROBES], self._keep)
            if self._doubtful:
                raise _all_failed(self._doubtful)
            wanted = wanted[PROBES:]
        self._workshop.make(wanted, self._keep)

    def _keep(self, runs: list[Run]) -> None:
        """Store runs that are done; after that, they count.

        As long as every run has failed, it may be the objective and not a heuristic that fails: nothing is stored.
        """
        if not self._runs:
            self._doubtful += runs
            if all(run.failure for run in self._doubtful):
                return
            runs, self._doubtful = self._doubtful, []
        if self._newcomers:
            self._store.add_heuristics(self._newcomers)
            self._newcomers = ()
        self._store.add(self._begun, runs)
        self._runs.update((run.key, run) for run in runs)
        self._done[runs[0].generation] += len(runs)
        evolution, progress = self._evolution, self._evolution.progress
        if not progress.made:  # the rate counts from here, less what these took
            progress.started = time.monotonic() - sum(run.seconds for run in runs)
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
        "version": __version__,
    }
