"""Trials: the tasks of an evolution. Each is a run of a heuristic on a problem, followed by an independent re-estimate.

A trial is a function of its arguments alone. The seed of a run follows from (seed, generation, problem, repeat), the
sampled points of the re-estimate from (seed, generation, problem). So all heuristics of a generation face the same
random numbers, and the result does not depend on where and in which order trials run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robustforge.core.random import stream
from robustforge.engine import minimize
from robustforge.evolution.settings import Settings
from robustforge.execution.worker_errors import describe_error
from robustforge.representation import Heuristic
from robustforge.robust_problem import Problem
from robustforge.store import Run, RunKey
from robustforge.verification.neighbourhood import Floats, Neighbourhood
from robustforge.verification.sampling import sample_offsets

_RUN, _OFFSETS, _VARIATION = range(3)  # purposes of random streams


@dataclass(frozen=True)
class Trial:
    """A run to be made.

    Attributes:
        heuristic: The heuristic.
        run: The run as it will be stored, without its values.
    """

    heuristic: Heuristic
    run: Run

    @property
    def group(self) -> int:
        """Index of the problem; trials on one problem may share a chunk."""
        return self.run.problem

    @property
    def key(self) -> RunKey:
        """Identifies the trial."""
        return self.run.key

    def failed(self, reason: str) -> Run:
        """Return the run of a trial that killed its worker."""
        return replace(self.run, failure=reason)


def make_trial(settings: Settings, heuristic: Heuristic, id: str, generation: int, problem: int, repeat: int) -> Trial:
    """Return the trial of a heuristic; its seed is the same for all heuristics."""
    return Trial(heuristic, Run(generation, problem, id, repeat, run_seed(settings, generation, problem, repeat)))


def run_seed(settings: Settings, generation: int, problem: int, repeat: int) -> int:
    """Return the seed of a trial; 53 bits, so that JSON represents it exactly."""
    words = _sequence(_RUN, settings.seed, generation, problem, repeat).generate_state(1, np.uint64)
    return int(words[0]) >> 11


def variation_rng(settings: Settings, generation: int) -> np.random.Generator:
    """Return the generator for selection, crossover and mutation that create a generation."""
    return np.random.default_rng(_sequence(_VARIATION, settings.seed, generation))


def run_trials(problem: Problem, settings: Settings, trials: Sequence[Trial]) -> list[Run]:
    """Run trials of one generation on one problem, and return the runs with their values."""
    first = trials[0].run
    sequence = _sequence(_OFFSETS, settings.seed, first.generation, first.problem)
    offsets = sample_offsets(problem, settings.samples, stream(sequence))
    return [_run_trial(problem, settings, trial, offsets) for trial in trials]


def _run_trial(problem: Problem, settings: Settings, trial: Trial, offsets: Floats) -> Run:
    started = time.perf_counter()
    try:
        if settings.resample_instances:
            problem = problem.instance(trial.run.seed)
        result = minimize(
            problem,
            budget=settings.budget,
            heuristic=trial.heuristic,
            rng=trial.run.seed,
            on_failure=settings.on_failure,
        )
        value = Neighbourhood(problem, result.x).worst_at(offsets, settings.on_failure)
    except MemoryError:  # the state of this process can no longer be trusted
        raise
    except (Exception, SystemExit) as error:
        return replace(trial.run, failure=describe_error(error), seconds=time.perf_counter() - started)
    return replace(
        trial.run,
        value=value,
        estimate=result.estimate,
        nfev=result.nfev,
        work=result.work,
        relocations=result.relocations,
        seconds=time.perf_counter() - started,
    )


def _sequence(purpose: int, seed: int, generation: int, *numbers: int) -> np.random.SeedSequence:
    return np.random.SeedSequence([seed, generation + 1, *numbers], spawn_key=(purpose,))  # FINAL is -1
