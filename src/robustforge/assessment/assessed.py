"""Assessments: what a worker does. A contestant runs, and the design that it returns is sampled and attacked.

An assessed run is a function of its arguments alone: the search and the samples follow from its seed, which is the same
for all contestants, so that they meet the same numbers; who makes it, where and when does not matter.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from robustforge.contestants import Contestant, Finish
from robustforge.core.random import stream
from robustforge.execution.deaths import described
from robustforge.problem import Problem
from robustforge.store import CHECKPOINTS, Assessed, AssessedKey
from robustforge.verification import verify
from robustforge.verification.drawing import draw_offsets
from robustforge.verification.neighbourhood import Neighbourhood

Floats = npt.NDArray[np.float64]

_CURVE_SHARE = 100

_RUN, _SAMPLE, _CURVE = 3, 0, 1  # what a stream is for; evolution has 0 to 2 of the first kind


@dataclass(frozen=True)
class Task:
    """A run that is to be made and assessed: who, and what it will be stored as.

    Attributes:
        contestant: Who runs.
        run: The run, without its values.
        group: Number of its problem and contestant: such runs take about equally long.
    """

    contestant: Contestant
    run: Assessed
    group: int

    @property
    def key(self) -> AssessedKey:
        """What tells it from all others."""
        return self.run.key

    def failed(self, reason: str) -> Assessed:
        """Return the run if its worker dies of it."""
        return replace(self.run, failure=reason)


def run_seed(seed: int, repeat: int) -> int:
    """Return what decides the search of a repeat; 53 bits, so that JSON carries it exactly."""
    words = np.random.SeedSequence([seed, repeat], spawn_key=(_RUN,)).generate_state(1, np.uint64)
    return int(words[0]) >> 11


def run_tasks(problem: Problem, tasks: Sequence[Task]) -> list[Assessed]:
    """Make runs on one problem, and assess the designs that come out."""
    return [_made(problem, task) for task in tasks]


def _made(problem: Problem, task: Task) -> Assessed:
    started, run = time.perf_counter(), task.run
    try:
        marks = [max(1, round(share * run.budget)) for share in CHECKPOINTS]
        found = task.contestant.run(problem, run.budget, run.seed, marks)
        samples = np.random.SeedSequence(run.seed, spawn_key=(_SAMPLE,))
        worth = verify(problem, found.x, run.samples, samples, attack=run.attack, cores=1)
        curve = _curve(problem, found, run)
    except MemoryError:  # what is left in this process is not to be relied on
        raise
    except (Exception, SystemExit) as error:
        return replace(run, failure=described(error), seconds=time.perf_counter() - started)
    return replace(
        run,
        value=worth.sampled.fun,
        attacked=worth.attacked.fun if worth.attacked else np.nan,
        nominal=worth.nominal_fun,
        nfev=found.nfev,
        curve=curve,
        x=tuple(found.x.tolist()),
        seconds=time.perf_counter() - started,
    )


def curve_samples(samples: int) -> int:
    """Return how many samples a point of the anytime curve is the worst of, for those of the re-estimate."""
    return max(samples // _CURVE_SHARE, 1)


def _curve(problem: Problem, found: Finish, run: Assessed) -> tuple[float, ...]:
    """Return the worst of a few points around the design at hand at each checkpoint."""
    count = curve_samples(run.samples)
    offsets = draw_offsets(problem, count, stream(np.random.SeedSequence(run.seed, spawn_key=(_CURVE,))))
    known: dict[bytes, float] = {}  # a design often stays the same for a while
    for design in found.designs:
        if design is not None and design.tobytes() not in known:
            known[design.tobytes()] = Neighbourhood(problem, design, cores=1).worst_at(offsets, "raise")
    return tuple(np.nan if design is None else known[design.tobytes()] for design in found.designs)
