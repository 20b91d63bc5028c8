"""Trials: what a worker does. Runs of heuristics on one problem, each followed by an independent re-estimate.

A trial is a function of its arguments alone: the seed of a run comes from (seed, generation, problem, repeat), the
points of the re-estimate from (seed, generation, problem). So all heuristics of a generation meet the same numbers,
and it does not matter who runs what, where and in which order.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robustforge.core.random import stream
from robustforge.engine import minimize
from robustforge.evolution.settings import Settings
from robustforge.execution.deaths import described
from robustforge.heuristic import Heuristic
from robustforge.problem import Problem
from robustforge.store import Run, RunKey
from robustforge.verification.drawing import draw_offsets
from robustforge.verification.neighbourhood import Floats, Neighbourhood

_RUN, _OFFSETS, _BREEDING = range(3)  # what a stream is for


@dataclass(frozen=True)
class Trial:
    """A run that is to be made: a heuristic, and the key it will be stored under."""

    heuristic: Heuristic
    run: Run

    @property
    def group(self) -> int:
        """Its problem: runs on one problem may be made together."""
        return self.run.problem

    @property
    def key(self) -> RunKey:
        """What tells it from all others."""
        return self.run.key

    def failed(self, reason: str) -> Run:
        """Return the run if its worker dies of it."""
        return replace(self.run, failure=reason)


def trial(settings: Settings, heuristic: Heuristic, id: str, generation: int, problem: int, repeat: int) -> Trial:
    """Return the trial of a heuristic with its seed, which is the same for all heuristics."""
    return Trial(heuristic, Run(generation, problem, id, repeat, run_seed(settings, generation, problem, repeat)))


def run_seed(settings: Settings, generation: int, problem: int, repeat: int) -> int:
    """Return what decides the search of a trial; 53 bits, so that JSON carries it exactly."""
    words = _sequence(_RUN, settings.seed, generation, problem, repeat).generate_state(1, np.uint64)
    return int(words[0]) >> 11


def breeding_generator(settings: Settings, generation: int) -> np.random.Generator:
    """Return what decides who is in a generation."""
    return np.random.default_rng(_sequence(_BREEDING, settings.seed, generation))


def run_trials(problem: Problem, settings: Settings, trials: Sequence[Trial]) -> list[Run]:
    """Make runs on one problem, all of the same generation, and return them with their values."""
    first = trials[0].run
    sequence = _sequence(_OFFSETS, settings.seed, first.generation, first.problem)
    offsets = draw_offsets(problem, settings.samples, stream(sequence))
    return [_made(problem, settings, each, offsets) for each in trials]


def _made(problem: Problem, settings: Settings, each: Trial, offsets: Floats) -> Run:
    started = time.perf_counter()
    try:
        if settings.fresh:
            problem = problem.instance(each.run.seed)
        found = minimize(
            problem,
            budget=settings.budget,
            heuristic=each.heuristic,
            rng=each.run.seed,
            on_failure=settings.on_failure,
        )
        value = Neighbourhood(problem, found.x).worst_at(offsets, settings.on_failure)
    except MemoryError:  # what is left in this process is not to be relied on
        raise
    except (Exception, SystemExit) as error:
        return replace(each.run, failure=described(error), seconds=time.perf_counter() - started)
    return replace(
        each.run,
        value=value,
        estimate=found.estimate,
        nfev=found.nfev,
        work=found.work,
        relocations=found.relocations,
        seconds=time.perf_counter() - started,
    )


def _sequence(purpose: int, seed: int, generation: int, *numbers: int) -> np.random.SeedSequence:
    return np.random.SeedSequence([seed, generation + 1, *numbers], spawn_key=(purpose,))  # FINAL is -1
