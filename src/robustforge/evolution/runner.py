"""Runs an evolution: generations of heuristics, each evaluated, ranked and varied into the next (paper, Section 4).

The members of a generation follow from the seed and from the values of the generation before. A resumed evolution is
therefore replayed from the start, and only the runs that are not in the store are made.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from robustforge._version import __version__
from robustforge.errors import ObjectiveError, StoreError
from robustforge.evolution.evolution import Evolution, Generation
from robustforge.evolution.fitness import Floats, Ranking, race_survivors, ranking
from robustforge.evolution.operators import initial_population, next_generation
from robustforge.evolution.settings import from_stored
from robustforge.evolution.trial import Trial, make_trial, run_seed, run_trials, variation_rng
from robustforge.formatting import whole_duration
from robustforge.representation import Heuristic
from robustforge.scheduling import Backend, Scheduler
from robustforge.store import EVOLUTION, FINAL, Experiment, Run, Store
from robustforge.store.stored_records import damaged_store_error

_logger = logging.getLogger(__name__)

PROBE_RUNS = 20
"""Runs to start with; if all of them fail, the objective is at fault."""

RACE_STAGES = 4
"""Stages into which a race divides the repeats: after each but the last, clearly worse heuristics are eliminated."""


class EvolutionRunner:
    """Runs an evolution on a backend and stores its runs.

    Args:
        evolution: The evolution; its generations and progress are updated in place.
        store: Stores every run.
        backend: Executes runs.
        on_progress: Called with the evolution at the start and whenever runs complete.
    """

    def __init__(
        self,
        evolution: Evolution,
        store: Store,
        backend: Backend,
        on_progress: Callable[[Evolution], Any] | None = None,
    ) -> None:
        self._evolution, self._store, self._on_progress = evolution, store, on_progress
        self._scheduler: Scheduler[Trial, Run] = Scheduler(backend, self._call)
        self._settings, self._n_problems = evolution.settings, len(evolution.problems)
        settings, grammar = evolution.stored_settings(), evolution.grammar.to_dict()
        self._experiment = store.find(evolution.name, EVOLUTION, settings, grammar, displayed=from_stored)
        stored = self._stored_runs(self._experiment) if self._experiment else []
        self._runs = {run.key: run for run in stored}
        self._completed = Counter(run.generation for run in stored)
        self._unstored_heuristics: Sequence[Heuristic] = ()
        self._failed_probes: list[Run] = []
        evolution.failure_reasons.update(run.failure for run in stored if run.failure)
        evolution.progress.stored_runs = len(self._runs)
        evolution.progress.started = time.monotonic()

    def run(self, callback: Callable[[Evolution], Any] | None) -> None:
        """Run all generations, then compare the finalists.

        Args:
            callback: Called with the evolution after each generation; it may raise `StopIteration` to stop.
        """
        self._report_progress()
        evolution, settings = self._evolution, self._settings
        if evolution.progress.stored_runs:
            stored = f"{evolution.progress.stored_runs:,}"
            _logger.info("evolve %s: resumed, %s runs are stored", evolution.name, stored)
        self._check_objectives()
        for number in range(settings.generations):
            before = evolution.progress.new_runs
            generation = self._evaluate(number, self._population(number), settings.repeats_of(number))
            evolution.generations.append(generation)
            if evolution.progress.new_runs > before:
                _log_generation(evolution)
            if callback is not None:
                try:
                    callback(evolution)
                except StopIteration:
                    return
        finalists = evolution.population[: settings.finalists]
        evolution.final = self._evaluate(FINAL, finalists, settings.final_repeats)
        if self._stored_experiment.ended is None:
            self._store.mark_finished(self._stored_experiment, evolution.champion.id)

    def _population(self, number: int) -> Sequence[Heuristic]:
        """Return the heuristics of a generation: random, the better half of the last one, or its offspring."""
        settings, grammar = self._settings, self._evolution.grammar
        rng = variation_rng(settings, number)
        if number == 0:
            return initial_population(settings, grammar, rng)
        if settings.method == "halving":
            return self._evolution.population[: settings.size_of(number)]
        return next_generation(self._evolution.population[: settings.population], settings, grammar, rng)

    def _stored_runs(self, experiment: Experiment) -> list[Run]:
        """Return the runs in the store, after checking that their seeds match their numbers."""
        runs, seeds = self._store.runs(experiment), {}
        for run in runs:
            key = run.generation, run.problem, run.repeat
            if key not in seeds:
                seeds[key] = run_seed(self._settings, *key)
            if run.seed != seeds[key] or run.problem >= self._n_problems:
                raise damaged_store_error(
                    self._store.path, f"the seed of run {run.key} is {run.seed}, not {seeds[key]}"
                )
        return runs

    def _call(self, trials: list[Trial]) -> tuple[Any, ...]:
        return run_trials, self._evolution.problems[trials[0].group], self._settings, trials

    def _check_objectives(self) -> None:
        """Repeat one stored run on each problem, and refuse to resume if its value differs.

        Test problems are checked only if another version of the package started the evolution.
        """
        same_version = self._experiment is None or self._experiment.settings.get("version") == __version__
        first = {run.problem: run for run in reversed(self._runs.values()) if not run.failure}
        for number, stored in first.items():
            problem = self._evolution.problems[number]
            if same_version and problem.is_test_problem:
                continue
            repeated: list[Run] = []
            heuristic = self._store.heuristic(stored.heuristic)
            key = stored.heuristic, stored.generation, number, stored.repeat
            self._scheduler.run([make_trial(self._settings, heuristic, *key)], repeated.extend)
            if not repeated[0].failure and repeated[0].value != stored.value:
                raise StoreError(
                    "a resumed evolution must have the same objective",
                    f"a stored run on {problem.name!r} gave {stored.value:.9g}, and gives {repeated[0].value:.9g} now",
                    "If the objective or the package was changed, start again under another name; if the objective "
                    "draws random numbers, fix their seed",
                )

    def _evaluate(self, number: int, population: Sequence[Heuristic], repeats: int) -> Generation:
        """Run a population, in stages if it is a race, and rank it."""
        ids = [heuristic.id for heuristic in population]
        self._unstored_heuristics = population
        progress = self._evolution.progress
        progress.generation, progress.completed = number, self._completed[number]
        progress.total = len(population) * repeats * self._n_problems
        racing = np.arange(len(population))
        repeats_made, eliminated = np.zeros(len(population), np.intp), []
        for stage in self._stages(number, repeats):
            self._run_heuristics(number, [(population[int(k)], ids[int(k)]) for k in racing], range(stage))
            repeats_made[racing] = stage
            if stage < repeats:
                survives = race_survivors(self._values(number, [ids[k] for k in racing], stage), *self._race)
                eliminated.append(racing[~survives])
                self._skip(int((~survives).sum()) * (repeats - stage) * self._n_problems)
                racing = racing[survives]
        means = np.array([self._means(number, id, int(made)) for id, made in zip(ids, repeats_made, strict=True)])
        best_first = self._ranking(means, [group for group in (racing, *eliminated[::-1]) if group.size])
        self._store.add_generation(self._stored_experiment, number, [ids[k] for k in best_first])
        ranked = tuple(population[int(k)] for k in best_first)
        return Generation(number, ranked, means[best_first], repeats_made[best_first])

    def _stages(self, number: int, repeats: int) -> list[int]:
        """Return the repeats made by the end of each stage of a race; without a race there is one stage."""
        if self._settings.race_level == 0 or number == FINAL:
            return [repeats]
        return sorted({-(-repeats * stage // RACE_STAGES) for stage in range(1, RACE_STAGES + 1)})

    def _ranking(self, means: Floats, groups: Sequence[Ranking]) -> Ranking:
        """Return the indices of heuristics, best first: by the stage they reached, then by their means."""
        settings, generations = self._settings, self._evolution.generations
        parts = [
            group[
                ranking(
                    means[group],
                    by_regret=settings.criterion == "regret",
                    tie_threshold=settings.tie_threshold,
                    first_means=generations[0].means if generations else None,
                    goals=settings.goals,
                    goal_margin=settings.goal_margin,
                )
            ]
            for group in groups
        ]
        best_first = np.concatenate(parts)
        complete = np.isfinite(means[best_first]).all(axis=1)
        return np.concatenate([best_first[complete], best_first[~complete]])  # failures are last, also in a race

    @property
    def _stored_experiment(self) -> Experiment:
        """The experiment in the store; created with the first runs, so that a failing call leaves nothing behind."""
        if self._experiment is None:
            evolution = self._evolution
            grammar = evolution.grammar.to_dict()
            self._experiment = self._store.add_experiment(
                evolution.name, EVOLUTION, evolution.stored_settings(), grammar
            )
        return self._experiment

    @property
    def _race(self) -> tuple[float, int]:
        """Significance level and minimum number of survivors."""
        return self._settings.race_level, max(self._settings.elites, self._settings.finalists)

    def _run_heuristics(self, number: int, heuristics: Sequence[tuple[Heuristic, str]], repeats: range) -> None:
        """Make all runs of these heuristics that are not in the store."""
        missing: list[Trial] = [
            make_trial(self._settings, heuristic, id, number, problem, repeat)
            for problem in range(self._n_problems)
            for repeat in repeats
            for heuristic, id in heuristics
            if (number, problem, id, repeat) not in self._runs
        ]
        if not self._runs:  # the same few first, on any backend: do all of them fail?
            self._scheduler.run(missing[:PROBE_RUNS], self._add)
            if self._failed_probes:
                raise _all_failed(self._failed_probes)
            missing = missing[PROBE_RUNS:]
        self._scheduler.run(missing, self._add)

    def _add(self, runs: list[Run]) -> None:
        """Store completed runs, then count them.

        As long as every run has failed, the objective rather than a heuristic may be at fault, and nothing is stored.
        """
        if not self._runs:
            self._failed_probes += runs
            if all(run.failure for run in self._failed_probes):
                return
            runs, self._failed_probes = self._failed_probes, []
        if self._unstored_heuristics:
            self._store.add_heuristics(self._unstored_heuristics)
            self._unstored_heuristics = ()
        self._store.add_runs(self._stored_experiment, runs)
        self._runs.update((run.key, run) for run in runs)
        self._completed[runs[0].generation] += len(runs)
        evolution, progress = self._evolution, self._evolution.progress
        if not progress.new_runs:  # the rate counts from here, less the duration of these runs
            progress.started = time.monotonic() - sum(run.seconds for run in runs)
        evolution.failure_reasons.update(run.failure for run in runs if run.failure)
        progress.completed = self._completed[runs[0].generation]
        progress.new_runs += len(runs)
        self._report_progress()

    def _report_progress(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self._evolution)

    def _skip(self, runs: int) -> None:
        """Subtract runs that a race makes unnecessary."""
        self._evolution.progress.total -= runs
        self._evolution.progress.max_runs -= runs

    def _means(self, number: int, id: str, repeats: int) -> Floats:
        values = self._values(number, [id], repeats).reshape(self._n_problems, repeats)
        return np.asarray(values.mean(axis=1))

    def _values(self, number: int, ids: Sequence[str], repeats: int) -> Floats:
        """Return the values of heuristics (heuristics, problems * repeats); +inf for a failure."""
        blocks = [(problem, repeat) for problem in range(self._n_problems) for repeat in range(repeats)]
        runs = [[self._runs[number, problem, id, repeat] for problem, repeat in blocks] for id in ids]
        return np.array([[np.inf if run.failure else run.value for run in row] for row in runs])


def _log_generation(evolution: Evolution) -> None:
    """Log the last generation: its best and median fitness, and the speed."""
    last, progress = evolution.generations[-1], evolution.progress
    best, median = evolution.best_and_median(last)
    stage = f"generation {last.number + 1} of {evolution.settings.generations}"
    speed = f"{progress.rate:.0f} runs/s, {whole_duration(progress.seconds_left)} left"
    _logger.info("evolve %s: %s, best %.6g, median %.6g, %s", evolution.name, stage, best, median, speed)
    description = "; ".join(last.population[0].describe(evolution.settings.budget).removeprefix("- ").split("\n- "))
    _logger.debug("evolve %s: best heuristic %s: %s", evolution.name, last.population[0].id, description)


def _all_failed(runs: Sequence[Run]) -> ObjectiveError:
    reason, count = Counter(run.failure for run in runs).most_common(1)[0]
    return ObjectiveError(
        "an objective must not fail in every run",
        f"all of the first {len(runs)} runs failed, {count} of them with: {reason}",
        "Nothing was stored; fix the objective and give the same command again",
    )
