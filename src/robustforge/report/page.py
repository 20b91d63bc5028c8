"""What goes onto the page, as plain data: one record with a section for everything that there is data for.

The template lays it out and decides nothing; whatever needs counting or choosing is done here and in the modules of
the sections.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from robustforge import __version__
from robustforge.analysis import Evidence
from robustforge.assessment.assessed import curve_samples
from robustforge.report import design_page, evolutions, landscapes, parts, results
from robustforge.report.designs import Design
from robustforge.report.words import count, duration, listed, moment
from robustforge.tables import Record

CONTENTS = {
    "runs": "What was run",
    "fitness": "Fitness by generation",
    "champions": "Champions",
    "results": "Results",
    "anytime": "Anytime curves",
    "components": "Components",
    "landscapes": "Landscapes",
    "reading": "How to read this",
}
"""The sections in their order, after those of single searches; each is on the page if there is something in it."""


def page(evidence: Evidence, designs: Sequence[Design] = ()) -> Record:
    """Return the page as plain data; figures are SVG."""
    is_alone = _is_alone(evidence, designs)
    searches = [design_page.design_record(k, design, evidence.where) for k, design in enumerate(designs)]
    fields = results.fields(evidence)
    sections: Record = {
        "runs": evolutions.run_rows(evidence),
        "fitness": evolutions.fitness_figures(evidence.outcomes),
        "champions": evolutions.champions(evidence),
        "results": [results.results(field) for field in fields],
        "anytime": [
            {
                "heading": f"{count(field.size, 'variable')}, worst of {count(curve_samples(field.samples), 'sample')}",
                "figures": figures,
            }
            for field in fields
            if (figures := results.curves(field))
        ],
        "components": parts.components(evidence),
        "landscapes": [landscapes.landscape_record(each) for each in landscapes.functions_in(_problems(evidence))],
    }
    sections["reading"] = bool(sections["runs"] or sections["results"])
    return {
        "title": designs[0].name if is_alone else Path(evidence.where).name or "results",
        "where": evidence.where,
        "version": __version__,
        "summary": _summary(evidence, designs),
        "notice": _notice(evidence, designs),
        "contents": [
            *design_page.contents(searches, is_alone),
            *((key, title) for key, title in CONTENTS.items() if sections[key]),
        ],
        "designs": searches,
        "is_alone": is_alone,
        "commands": evolutions.commands(evidence),
        "champion_table": parts.champion_table(evidence.outcomes),
        **sections,
    }


def chosen(evidence: Evidence) -> Evidence:
    """Return the evidence with those assessed runs alone that are on problems of its evolutions."""
    problems = {name for outcome in evidence.outcomes for name in outcome.problems}
    return replace(evidence, assessed=tuple(run for run in evidence.assessed if run.problem_name in problems))


def _summary(evidence: Evidence, designs: Sequence[Design]) -> list[Record]:
    """Return the few facts at the top of the page."""
    outcomes = evidence.outcomes
    facts = []
    if outcomes:
        heuristics, runs = sum(len(each.bred) for each in outcomes), sum(each.runs for each in outcomes)
        facts = [
            ("evolutions", f"{len(outcomes):,}"),
            ("distinct heuristics", f"{heuristics:,}"),
            ("runs", f"{runs:,}"),
            ("core time", duration(sum(each.seconds for each in outcomes))),
            ("begun", f"{moment(min(each.begun for each in outcomes))} UTC"),
        ]
    if evidence.assessed:
        facts.append(("assessed runs", f"{len(evidence.assessed):,}"))
    if len(designs) > 1 or (designs and facts):
        facts.append(("searches", f"{len(designs):,}"))
        facts.append(("runs of their models", f"{sum(len(design.runs) for design in designs):,}"))
    return [{"name": name, "value": value} for name, value in facts]


def _notice(evidence: Evidence, designs: Sequence[Design]) -> Record:
    """Return the state of it all, in words: empty, finished, running, waiting or interrupted."""
    if not evidence.outcomes and not evidence.assessed and not designs:
        return {"kind": "empty", "text": "There is nothing in it yet: no search, no evolution, and no assessed run."}
    if _is_alone(evidence, designs):
        return design_page.notice(designs[0])
    open_ones = [outcome.name for outcome in evidence.outcomes if not outcome.finished]
    open_ones += [design.name for design in designs if design.state != "finished"]
    so_far = "The page shows what was complete when it was made; make it again for more."
    if open_ones and evidence.running:
        return {"kind": "running", "text": f"Not finished: {_names(open_ones)} at work. {so_far}"}
    if open_ones:
        again = "The command that began it goes on where it stopped."
        return {"kind": "interrupted", "text": f"Not finished: {_names(open_ones)} interrupted. {again}"}
    if evidence.running:
        return {"kind": "running", "text": f"Something is being written to it at the moment. {so_far}"}
    return _finished([design for design in designs if design.verdict.kind != "confirmed"])


def _finished(doubtful: Sequence[Design]) -> Record:
    """Return the notice of a page whose searches have ended; it is a warning if an attack found one far too good."""
    refuted = [design.name for design in doubtful if design.verdict.kind == "warning"]
    if refuted:
        names = listed(refuted) if len(refuted) <= 3 else f"{len(refuted):,} of the searches"
        return {"kind": "warning", "text": f"Finished. An attack found a much worse value than the search: {names}."}
    return {"kind": "neutral" if doubtful else "finished", "text": "Finished."}


def _is_alone(evidence: Evidence, designs: Sequence[Design]) -> bool:
    """Whether the page is about one search and nothing else."""
    return len(designs) == 1 and not evidence.outcomes and not evidence.assessed


def _names(names: list[str]) -> str:
    verb = "is" if len(names) == 1 else "are"
    return f"{listed(names) if len(names) <= 3 else f'{len(names):,} of them'} {verb}"


def _problems(evidence: Evidence) -> list[str]:
    bred = [name for outcome in evidence.outcomes for name in outcome.problems]
    return [*bred, *(str(json.loads(problem)["name"]) for problem in {run.problem for run in evidence.assessed})]
