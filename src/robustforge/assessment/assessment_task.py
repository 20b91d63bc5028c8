"""The tasks of an assessment: a contestant runs, and the design that it returns is sampled and attacked.

An assessed run is a function of its arguments alone. The search and the samples follow from its seed, which is the same
for all contestants, so that they face the same random numbers; where and when it runs does not matter.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from robustforge.contestants import Contestant, SearchResult
from robustforge.core.random import stream
from robustforge.execution.worker_errors import describe_error
from robustforge.robust_problem import Problem
from robustforge.store import CHECKPOINTS, AssessedRun, AssessedRunKey
from robustforge.verification import verify
from robustforge.verification.neighbourhood import Neighbourhood
from robustforge.verification.sampling import sample_offsets

Floats = npt.NDArray[np.float64]

_SAMPLES_PER_CURVE_SAMPLE = 100

_RUN, _SAMPLE, _CURVE = 3, 0, 1  # purposes of random streams; 0 to 2 of the first kind belong to evolutions


@dataclass(frozen=True)
class AssessmentTask:
    """A run to be made and assessed.

    Attributes:
        contestant: The contestant.
        run: The run as it will be stored, without its values.
        group: Number of the problem and contestant; runs of one group have about the same duration.
    """

    contestant: Contestant
    run: AssessedRun
    group: int

    @property
    def key(self) -> AssessedRunKey:
        """Identifies the task."""
        return self.run.key

    def failed(self, reason: str) -> AssessedRun:
        """Return the run of a task that killed its worker."""
        return replace(self.run, failure=reason)


def run_seed(seed: int, repeat: int) -> int:
    """Return the seed of a repeat; 53 bits, so that JSON represents it exactly."""
    words = np.random.SeedSequence([seed, repeat], spawn_key=(_RUN,)).generate_state(1, np.uint64)
    return int(words[0]) >> 11


def run_tasks(problem: Problem, tasks: Sequence[AssessmentTask]) -> list[AssessedRun]:
    """Make runs on one problem, and assess the returned designs."""
    return [_run_task(problem, task) for task in tasks]


def _run_task(problem: Problem, task: AssessmentTask) -> AssessedRun:
    started, run = time.perf_counter(), task.run
    try:
        checkpoints = [max(1, round(fraction * run.budget)) for fraction in CHECKPOINTS]
        result = task.contestant.run(problem, run.budget, run.seed, checkpoints)
        samples = np.random.SeedSequence(run.seed, spawn_key=(_SAMPLE,))
        verification = verify(problem, result.x, run.samples, samples, attack=run.attack, cores=1)
        curve = _curve(problem, result, run)
    except MemoryError:  # the state of this process can no longer be trusted
        raise
    except (Exception, SystemExit) as error:
        return replace(run, failure=describe_error(error), seconds=time.perf_counter() - started)
    return replace(
        run,
        value=verification.sampled.fun,
        attacked=verification.attacked.fun if verification.attacked else np.nan,
        nominal=verification.nominal_fun,
        nfev=result.nfev,
        curve=curve,
        x=tuple(result.x.tolist()),
        seconds=time.perf_counter() - started,
    )


def curve_samples(samples: int) -> int:
    """Return the samples for each point of the anytime curve, given those for the returned design."""
    return max(samples // _SAMPLES_PER_CURVE_SAMPLE, 1)


def _curve(problem: Problem, result: SearchResult, run: AssessedRun) -> tuple[float, ...]:
    """Return the sampled worst case of the incumbent design at each checkpoint."""
    count = curve_samples(run.samples)
    offsets = sample_offsets(problem, count, stream(np.random.SeedSequence(run.seed, spawn_key=(_CURVE,))))
    values: dict[bytes, float] = {}  # by design, which often stays the same for several checkpoints
    for design in result.checkpoint_designs:
        if design is not None and design.tobytes() not in values:
            values[design.tobytes()] = Neighbourhood(problem, design, cores=1).worst_at(offsets, "raise")
    return tuple(np.nan if design is None else values[design.tobytes()] for design in result.checkpoint_designs)
