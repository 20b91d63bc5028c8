"""`reproduce`: the paper's study, one case after the other, each written to the results folder when it is complete.

Evolutions in the results folder and runs in the store are not repeated, so that an interrupted study resumes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustforge.analysis import results_folder
from robustforge.analysis.loader import record_of
from robustforge.assessment import assess
from robustforge.contestants import Contestant, as_contestant
from robustforge.contestants.lookup import CONTROLS, HeuristicContestant
from robustforge.errors import StoreError
from robustforge.evolution import Evolution, evolve
from robustforge.evolution.api import make_settings
from robustforge.representation import Heuristic
from robustforge.robust_problem import Problem
from robustforge.store import AssessedRun, Store
from robustforge.study.cases import DIMENSIONS, GENERAL, Case, champions, comparators, originals, variants
from robustforge.study.scales import FORMER_SCALES, Scale, scale_of

CONTROLS_ON_VARIANTS = 3
"""Number of controls that also run on variants."""

Log = Callable[[str], Any]
Callback = Callable[[Evolution], Any]


@dataclass(frozen=True)
class Part:
    """An assessment of the study.

    Attributes:
        folder: Where it is written in the results folder; several parts may share one.
        contestants: The contestants.
        problems: The problems.
        runs: Runs of each contestant on each problem.
        samples: Points sampled around each design.
        seed: Seed of the runs.
    """

    folder: str
    contestants: tuple[Contestant, ...]
    problems: tuple[Problem, ...]
    runs: int
    samples: int
    seed: int = 1


def reproduce(
    scale: str = "letter",
    store: str | Path = "paper.db",
    results: str | Path | None = None,
    *,
    workers: int | None = None,
    log: Log = print,
    callback: Callback | None = None,
) -> Path:
    """Run the paper's study, or resume it.

    Args:
        scale: "smoke" (a minute or two, as a test), "letter" (a day or two; the paper's experiment), "tuned" (hours;
            settings that were tuned until the champions reached the paper's figures) or "paper" (a day or two; the
            paper's operators, with the default interpretation).
        store: A file that stores every run.
        results: The results folder, by default docs/results/SCALE; evolutions that it contains are not repeated.
        workers: Number of local cores.
        log: Called with a line about each step.
        callback: Called with an `Evolution` after each of its generations.

    Returns:
        The results folder.

    Raises:
        StoreError: The folder contains a case with other settings.
    """
    folder = Path("docs", "results", FORMER_SCALES.get(scale, scale)) if results is None else Path(results)
    _Study(scale_of(scale), Path(store), folder, workers, log, callback).run()
    return folder


class _Study:
    def __init__(
        self, scale: Scale, store: Path, results: Path, workers: int | None, log: Log, callback: Callback | None
    ) -> None:
        self._scale, self._store, self._results = scale, store, results
        self._workers, self._log, self._callback = workers, log, callback
        self._champions: dict[Case, Heuristic] = {}
        self._controls = tuple(as_contestant(name) for name in CONTROLS)

    def run(self) -> None:
        """Evolve and assess the champions: those of 30 variables first, then those of 100."""
        if self._results.exists() and not self._results.is_dir():
            raise StoreError("results must be a folder", f"{self._results} is a file", "Name a folder with --results")
        self._results.mkdir(parents=True, exist_ok=True)  # fails now, not after hours
        self._restore_runs()
        for dimension in DIMENSIONS:
            for case in (*champions(), *comparators()):
                if case.dimension == dimension:
                    self._champions[case] = self._champion(case)
            self._assess_champions(dimension)

    def _assess_champions(self, dimension: int) -> None:
        """Assess the champions of a dimension and their comparators with an increasing number of runs."""
        last = 0
        for stage in self._scale.stages:
            for part in self._parts(dimension):
                if part.runs > last:
                    self._assess(part, min(stage, part.runs))
            last = stage

    def _champion(self, case: Case) -> Heuristic:
        """Return the champion of a case: of its second stage, if it has one."""
        champion = self._evolve(case.name, case, self._scale.settings(case))
        if case.name not in self._scale.second_stages:
            return champion
        first = results_folder.read_evolution(self._results / case.name)
        return self._evolve(case.second_stage, case, self._scale.second_stage(case, first))

    def _evolve(self, name: str, case: Case, settings: dict[str, Any]) -> Heuristic:
        """Return the champion of an evolution: from the results folder, or by running it and writing it there."""
        folder, grammar = self._results / name, self._scale.grammar(case)
        if (folder / results_folder.EVOLUTION).exists():
            return self._published(folder, Evolution(name, case.problems, make_settings(settings), grammar))
        self._log(f"{name}: evolving")
        options: dict[str, Any] = {"store": self._store, "workers": self._workers, "callback": self._callback}
        evolution = evolve(case.problems, grammar=grammar, name=name, **options, **settings)
        with Store.read(self._store) as store:
            results_folder.write_evolution(record_of(store, store.experiment(name)), folder)
        self._log(f"{name}: written to {folder}")
        return evolution.champion

    def _published(self, folder: Path, evolution: Evolution) -> Heuristic:
        """Return a champion from the results folder, if it was evolved with the same settings."""
        record = results_folder.read_evolution(folder)
        different = different_settings(evolution, record.settings)
        if different or record.champion is None:
            reason = f"has different settings: {', '.join(different)}" if different else "is not finished"
            fix = "Name another folder with --results, or the scale of this one"
            raise StoreError("results must have the same scale", f"the evolution in {folder} {reason}", fix)
        return record.champion

    def _restore_runs(self) -> None:
        """Add assessed runs of the results folder to the store, unless it has them."""
        published = [
            run
            for path in sorted(self._results.rglob(results_folder.ASSESSED))
            for run in results_folder.read_assessed(path)
        ]
        with Store.open(self._store) as store:
            stored = {run.key for run in store.assessed_runs()}
            missing = [run for run in published if run.key not in stored]
            if missing:
                store.add_assessed_runs(missing)

    def _parts(self, dimension: int) -> Iterator[Part]:
        """Yield all assessments: the champions as in the paper, all contestants side by side, and the variants."""
        scale = self._scale
        for case in champions():
            if case.dimension == dimension:
                yield Part(case.name, (self._contestant(case),), case.problems, scale.runs, scale.samples)
        yield from self._comparison_parts(dimension)
        general = self._contestant(Case(dimension, GENERAL))
        folder, problems = f"{dimension}d/variants", variants(dimension, scale.variant_seeds)
        controls, runs = self._controls[:CONTROLS_ON_VARIANTS], -(-scale.comparison_runs // 4)
        yield Part(folder, (general,), problems, scale.variant_runs, scale.comparison_samples)
        yield Part(folder, controls, problems, runs, scale.comparison_samples)

    def _comparison_parts(self, dimension: int) -> Iterator[Part]:
        """Yield the comparison of champions, comparators and controls on the original problems."""
        scale, folder = self._scale, f"{dimension}d/comparison"
        numbers = scale.comparison_runs, scale.comparison_samples, scale.comparison_seed
        general = self._contestant(Case(dimension, GENERAL))
        others = [
            self._contestant(case, budget)
            for case in comparators()
            for budget in scale.comparator_budgets
            if case.dimension == dimension
        ]
        yield Part(folder, (general, *others), originals(dimension), *numbers)
        for case in champions():
            if case.dimension == dimension and case.target != GENERAL:
                yield Part(folder, (self._contestant(case),), case.problems, *numbers)
        yield Part(folder, self._controls, originals(dimension), *numbers)

    def _contestant(self, case: Case, budget: int | None = None) -> Contestant:
        name = case.contestant(self._scale.champion_family)
        champion = self._champions[case]
        named = name if budget is None else f"{name}@{budget}"
        return HeuristicContestant(named, champion, budget=budget, identity=champion.id, fixed=True)

    def _assess(self, part: Part, runs: int) -> None:
        names = ", ".join(each.name for each in part.contestants)
        where = part.problems[0].name if len(part.problems) == 1 else f"{len(part.problems)} problems"
        scale = self._scale
        options: dict[str, Any] = {"store": self._store, "workers": self._workers, "attack": scale.attack}
        options |= {"samples": part.samples, "budget": scale.budget, "seed": part.seed}
        self._log(f"{part.folder}: {runs} runs of {names} on {where}, worst of {part.samples:,}")
        self._write(part.folder, assess(part.contestants, part.problems, runs=runs, **options).runs)

    def _write(self, folder: str, runs: Sequence[AssessedRun]) -> None:
        """Write assessed runs to their folder, together with those of the same contestants that it contains."""
        path = self._results / folder / results_folder.ASSESSED
        ids = {each.id for each in self._controls} | {champion.id for champion in self._champions.values()}
        written = [
            run for run in (results_folder.read_assessed(path) if path.exists() else []) if run.contestant in ids
        ]
        merged = {run.key: run for run in (*written, *runs)}
        if {key: run.value for key, run in merged.items()} != {run.key: run.value for run in written}:
            results_folder.write_assessed(merged.values(), self._results / folder)


def different_settings(evolution: Evolution, stored: Mapping[str, Any]) -> list[str]:
    """Return the settings of an evolution that differ from stored ones, the version of the package aside."""
    expected = json.loads(json.dumps(evolution.stored_settings()))
    keys = dict.fromkeys([*expected, *stored])
    return [key for key in keys if key != "version" and stored.get(key) != expected.get(key)]
