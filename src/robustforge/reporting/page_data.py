"""The page as plain data: one record, with a section for each subject that there is data on.

The template only lays it out; all counting and selecting is done here and in the modules of the sections.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from robustforge import __version__
from robustforge.analysis import Dataset
from robustforge.assessment.assessment_task import curve_samples
from robustforge.formatting import count, date_and_time, duration, join_names
from robustforge.reporting import (
    assessment_sections,
    component_sections,
    evolution_sections,
    landscapes,
    search_sections,
)
from robustforge.reporting.search_data import SearchData
from robustforge.tables import Record

CONTENTS = {
    "runs": "Evolutions",
    "fitness": "Fitness by generation",
    "champions": "Champions",
    "results": "Results",
    "anytime": "Anytime curves",
    "components": "Components",
    "landscapes": "Landscapes",
    "reading": "How to read this report",
}
"""The sections after those of single searches, in their order; empty ones are left out."""


def page(dataset: Dataset, searches: Sequence[SearchData] = ()) -> Record:
    """Return the page as plain data; figures are SVG."""
    is_alone = _is_alone(dataset, searches)
    records = [search_sections.search_record(k, search, dataset.path) for k, search in enumerate(searches)]
    groups = assessment_sections.result_groups(dataset)
    sections: Record = {
        "runs": evolution_sections.run_rows(dataset),
        "fitness": evolution_sections.fitness_figures(dataset.evolutions),
        "champions": evolution_sections.champions(dataset),
        "results": [assessment_sections.results(group) for group in groups],
        "anytime": [
            {
                "heading": f"{count(group.dimension, 'variable')}, "
                f"worst of {count(curve_samples(group.samples), 'sample')}",
                "figures": figures,
            }
            for group in groups
            if (figures := assessment_sections.anytime_figures(group))
        ],
        "components": component_sections.components(dataset),
        "landscapes": [landscapes.landscape_record(each) for each in landscapes.functions_in(_problems(dataset))],
    }
    sections["reading"] = bool(sections["runs"] or sections["results"])
    return {
        "title": searches[0].name if is_alone else Path(dataset.path).name or "results",
        "where": dataset.path,
        "version": __version__,
        "summary": _summary(dataset, searches),
        "notice": _notice(dataset, searches),
        "contents": [
            *search_sections.contents(records, is_alone),
            *((key, title) for key, title in CONTENTS.items() if sections[key]),
        ],
        "searches": records,
        "is_alone": is_alone,
        "commands": evolution_sections.commands(dataset),
        "champion_table": component_sections.champion_table(dataset.evolutions),
        **sections,
    }


def selected(dataset: Dataset) -> Dataset:
    """Return a dataset with only those assessed runs that are on problems of its evolutions."""
    problems = {name for evolution in dataset.evolutions for name in evolution.problems}
    return replace(dataset, assessed_runs=tuple(run for run in dataset.assessed_runs if run.problem_name in problems))


def _summary(dataset: Dataset, searches: Sequence[SearchData]) -> list[Record]:
    """Return the numbers at the top of the page."""
    evolutions = dataset.evolutions
    facts = []
    if evolutions:
        heuristics, runs = sum(len(each.heuristics) for each in evolutions), sum(each.runs for each in evolutions)
        facts = [
            ("evolutions", f"{len(evolutions):,}"),
            ("distinct heuristics", f"{heuristics:,}"),
            ("runs", f"{runs:,}"),
            ("core time", duration(sum(each.seconds for each in evolutions))),
            ("started", f"{date_and_time(min(each.started for each in evolutions))} UTC"),
        ]
    if dataset.assessed_runs:
        facts.append(("assessed runs", f"{len(dataset.assessed_runs):,}"))
    if len(searches) > 1 or (searches and facts):
        facts.append(("searches", f"{len(searches):,}"))
        facts.append(("runs of their models", f"{sum(len(search.runs) for search in searches):,}"))
    return [{"name": name, "value": value} for name, value in facts]


def _notice(dataset: Dataset, searches: Sequence[SearchData]) -> Record:
    """Return the state of everything on the page as a sentence, with the kind of its frame."""
    if not dataset.evolutions and not dataset.assessed_runs and not searches:
        return {"kind": "empty", "text": "Empty: no searches, evolutions or assessed runs."}
    if _is_alone(dataset, searches):
        return search_sections.notice(searches[0])
    unfinished = [evolution.name for evolution in dataset.evolutions if not evolution.finished]
    unfinished += [search.name for search in searches if search.state != "finished"]
    snapshot = "The page shows what was completed when it was written."
    if unfinished and dataset.running:
        return {"kind": "running", "text": f"Not finished: {_names(unfinished)} running. {snapshot}"}
    if unfinished:
        resume = "The command that started a run resumes it."
        return {"kind": "interrupted", "text": f"Not finished: {_names(unfinished)} interrupted. {resume}"}
    if dataset.running:
        return {"kind": "running", "text": f"A process is writing to the store. {snapshot}"}
    return _finished([search for search in searches if search.verdict.kind != "confirmed"])


def _finished(unconfirmed: Sequence[SearchData]) -> Record:
    """Return the notice of a finished page: a warning if an attack found a much worse value than a search."""
    warned = [search.name for search in unconfirmed if search.verdict.kind == "warning"]
    if warned:
        names = join_names(warned) if len(warned) <= 3 else f"{len(warned):,} of the searches"
        return {"kind": "warning", "text": f"Finished. An attack found a much worse value than the search: {names}."}
    return {"kind": "neutral" if unconfirmed else "finished", "text": "Finished."}


def _is_alone(dataset: Dataset, searches: Sequence[SearchData]) -> bool:
    """Whether the page is about one search and nothing else."""
    return len(searches) == 1 and not dataset.evolutions and not dataset.assessed_runs


def _names(names: list[str]) -> str:
    verb = "is" if len(names) == 1 else "are"
    return f"{join_names(names) if len(names) <= 3 else f'{len(names):,} of them'} {verb}"


def _problems(dataset: Dataset) -> list[str]:
    evolved = [name for evolution in dataset.evolutions for name in evolution.problems]
    return [*evolved, *(str(json.loads(problem)["name"]) for problem in {run.problem for run in dataset.assessed_runs})]
