"""`reproduce`: the whole study, one case after the other, each written to a folder of results as it ends.

What the folder holds is not run again, and what the store holds is not run again either, so it goes on wherever it
stopped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustforge.analysis import archive
from robustforge.analysis.sources import outcome_of
from robustforge.assessment import assess
from robustforge.contestants import Contestant, as_contestant
from robustforge.contestants.names import CONTROLS, HeuristicContestant
from robustforge.errors import StoreError
from robustforge.evolution import Evolution
from robustforge.evolution.entry import carry_out, make_settings
from robustforge.evolution.process import described
from robustforge.heuristic import Heuristic
from robustforge.problem import Problem
from robustforge.store import Store
from robustforge.study.cases import DIMENSIONS, GENERAL, Case, champions, comparators, originals, variants
from robustforge.study.scales import Scale, scale_of

ON_VARIANTS = 3
"""How many of the controls also run on variants."""


Announce = Callable[[str], Any]
Watch = Callable[[Any], Any]


@dataclass(frozen=True)
class Part:
    """An assessment of the study.

    Attributes:
        folder: Where it goes, in the folder of results; several parts may share one.
        contestants: Who.
        problems: On what.
        runs: How many of each.
        samples: Points around each design.
        seed: Decides the runs.
    """

    folder: str
    contestants: tuple[Contestant, ...]
    problems: tuple[Problem, ...]
    runs: int
    samples: int
    seed: int = 1


COMPARISON_SEED = 2
"""Whoever is compared makes runs of its own: it was by those with the first seed that cases were bred again."""


def reproduce(
    scale: str = "small",
    store: str | Path = "paper.db",
    results: str | Path = "docs/results",
    *,
    workers: int | None = None,
    announce: Announce = print,
    watch: Watch | None = None,
) -> None:
    """Do the paper's study again, or go on with it.

    Args:
        scale: "smoke" (a minute, to see it work), "small" (hours) or "paper" (a day).
        store: A file that keeps every run.
        results: A folder for what comes out; an evolution that is there is not run again.
        workers: How many cores of this machine.
        announce: Called with a line about what is done next.
        watch: Called with an `Evolution` after each of its generations.

    Raises:
        StoreError: The folder holds a case that was run with other settings.
    """
    _Study(scale_of(scale), Path(store), Path(results), workers, announce, watch).run()


class _Study:
    def __init__(
        self, scale: Scale, store: Path, results: Path, workers: int | None, announce: Announce, watch: Watch | None
    ) -> None:
        self._scale, self._store, self._results = scale, store, results
        self._workers, self._announce, self._watch = workers, announce, watch
        self._bred: dict[Case, Heuristic] = {}
        self._controls = tuple(as_contestant(name) for name in CONTROLS)

    def run(self) -> None:
        """Breed everything, then assess it, more and more thoroughly."""
        if self._results.exists() and not self._results.is_dir():
            raise StoreError("results go to a folder", f"{self._results} is a file", "Name a folder with --results")
        self._results.mkdir(parents=True, exist_ok=True)  # what cannot be had is missed now, and not after hours
        for case in (*champions(), *comparators()):
            self._bred[case] = self._champion(case)
        self._recall()
        last = 0
        for stage in self._scale.stages:
            for part in self._parts():
                if part.runs > last:
                    self._assess(part, min(stage, part.runs))
            last = stage

    def _champion(self, case: Case) -> Heuristic:
        """Return what was bred for a case, by its sequel if it has one."""
        champion = self._bred_by(case.name, case, self._scale.settings(case))
        if case.name not in self._scale.sequels:
            return champion
        first = archive.read_outcome(self._results / case.name)
        return self._bred_by(case.sequel, case, self._scale.sequel(case, first))

    def _bred_by(self, name: str, case: Case, settings: dict[str, Any]) -> Heuristic:
        """Return the champion of an evolution: from the results, or bred now and written there."""
        folder = self._results / name
        evolution = Evolution(name, case.problems, make_settings(settings), self._scale.grammar(case))
        if (folder / archive.EVOLUTION).exists():
            return self._published(folder, evolution)
        self._announce(f"{name}: breeding")
        carry_out(evolution, self._store, None, self._workers, None, self._watch)
        with Store.read(self._store) as kept:
            archive.write_outcome(outcome_of(kept, kept.experiment(name)), folder)
        self._announce(f"{name}: written to {folder}")
        return evolution.champion

    def _published(self, folder: Path, evolution: Evolution) -> Heuristic:
        """Return a champion from the results, if it was bred with the settings that are asked for."""
        outcome = archive.read_outcome(folder)
        wanted = json.loads(json.dumps(described(evolution)))
        keys = dict.fromkeys([*wanted, *outcome.settings])
        differ = [key for key in keys if key != "version" and outcome.settings.get(key) != wanted.get(key)]
        if differ or outcome.champion is None:
            fact = f"{folder} was made with another {', '.join(differ) or 'state: it is not finished'}"
            fix = "Name another folder with --results, or the scale that it was made with"
            raise StoreError("results must have been made at the same scale", fact, fix)
        return outcome.champion

    def _recall(self) -> None:
        """Put assessed runs that are in the results, and not in the store, into the store."""
        published = [
            run for path in sorted(self._results.rglob(archive.ASSESSED)) for run in archive.read_assessed(path)
        ]
        with Store.open(self._store) as kept:
            known = {run.key for run in kept.assessed()}
            missing = [run for run in published if run.key not in known]
            if missing:
                kept.add_assessed(missing)

    def _parts(self) -> Iterator[Part]:
        """Yield all assessments: the champions as in the paper, everybody side by side, and the variants."""
        scale = self._scale
        for case in champions():
            yield Part(case.name, (self._contestant(case),), case.problems, scale.runs, scale.samples)
        controls = self._controls
        for dimension in DIMENSIONS:
            general = self._contestant(Case(dimension, GENERAL))
            rivals = [
                self._contestant(case, scale.rival_budget) for case in comparators() if case.dimension == dimension
            ]
            folder, side, samples = f"{dimension}d/comparison", scale.side_runs, scale.side_samples
            yield Part(folder, (general, *rivals), originals(dimension), side, samples, COMPARISON_SEED)
            for case in champions():
                if case.dimension == dimension and case.target != GENERAL:
                    yield Part(folder, (self._contestant(case),), case.problems, side, samples, COMPARISON_SEED)
            yield Part(folder, controls, originals(dimension), side, samples, COMPARISON_SEED)
            moved, folder = variants(dimension, scale.seeds), f"{dimension}d/variants"
            yield Part(folder, (general,), moved, scale.variant_runs, samples)
            yield Part(folder, controls[:ON_VARIANTS], moved, -(-side // 4), samples)

    def _contestant(self, case: Case, budget: int | None = None) -> Contestant:
        name = case.contestant if budget is None else f"{case.contestant}@{budget}"
        bred = self._bred[case]
        return HeuristicContestant(name, bred, budget=budget, identity=bred.id, fixed=True)

    def _assess(self, part: Part, runs: int) -> None:
        names = ", ".join(each.name for each in part.contestants)
        where = part.problems[0].name if len(part.problems) == 1 else f"{len(part.problems)} problems"
        scale = self._scale
        options: dict[str, Any] = {"store": self._store, "workers": self._workers, "attack": scale.attack}
        options |= {"samples": part.samples, "budget": scale.budget, "seed": part.seed}
        self._announce(f"{part.folder}: {runs} runs of {names} on {where}, worst of {part.samples:,}")
        found = assess(part.contestants, part.problems, runs=runs, **options)
        self._write(part.folder, found.runs)

    def _write(self, folder: str, runs: Sequence[Any]) -> None:
        """Write assessed runs to their folder, together with those of the same contestants that are there."""
        path = self._results / folder / archive.ASSESSED
        known = {each.id for each in self._controls} | {heuristic.id for heuristic in self._bred.values()}
        before = [run for run in (archive.read_assessed(path) if path.exists() else []) if run.contestant in known]
        every = {run.key: run for run in (*before, *runs)}
        if {key: run.value for key, run in every.items()} != {run.key: run.value for run in before}:
            archive.write_assessed(every.values(), self._results / folder)
