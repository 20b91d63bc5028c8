"""Tables of the study: means beside the paper's, significance tests, variants, and components.

All figures come from a results folder written by `reproduce`. Missing results are left out, or are `None`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from robustforge.analysis import EvolutionRecord, pooled, results_folder
from robustforge.analysis.component_tables import best_components, cross_table, deciles, proportions
from robustforge.analysis.effects import decomposition
from robustforge.analysis.features import COMPONENTS
from robustforge.assessment.comparison import compare_runs
from robustforge.assessment.run_groups import Floats, group_runs, measured
from robustforge.assessment.statistics import LEVEL, a12, mean_ranks, rank_sum
from robustforge.assessment.summaries import summaries
from robustforge.representation import Heuristic
from robustforge.robust_problem.problem import problems
from robustforge.store import AssessedRun
from robustforge.study.cases import DIMENSIONS, GENERAL, VARIANTS, Case, champions
from robustforge.study.published import published
from robustforge.study.scales import SCALES
from robustforge.tables import Record, Table

Summaries = dict[tuple[str, str], Record]
"""Summaries by the plain name of the problem, and contestant."""

BETTER, EQUAL, WORSE = "better", "equal", "worse"
"""Verdicts on a champion against a comparator."""


def plain_name(problem: str) -> str:
    """Return the name of a test problem without its dimension and its variant.

    Example:
        >>> plain_name("multipeak-f1-30d-shifted-3")
        'multipeak-f1'
    """
    return re.sub(r"-\d+d.*", "", problem)


def champion_of(results: Path, case: Case) -> Heuristic | None:
    """Return the champion of a case from the results: that of its second stage, if it has one."""
    folders = [results / name for name in (case.second_stage, case.name)]
    return next(
        (
            results_folder.read_evolution(each).champion
            for each in folders
            if (each / results_folder.EVOLUTION).exists()
        ),
        None,
    )


def means(results: Path) -> Table:
    """Return the means of champions, comparators and the centre, and limits, beside each mean of the paper.

    `met` is whether a champion's mean exceeds the paper's by at most 2% and 0.005, `below` whether it is lower. The
    comparator is the best on the problem, in the general case the best on all of them.
    """
    champion_summaries = {case: _champion_summaries(results / case.name) for case in champions()}
    comparisons = {dimension: _summaries(results / _comparison(dimension)) for dimension in DIMENSIONS}
    best_comparators = {dimension: _best_comparators(comparisons[dimension]) for dimension in DIMENSIONS}
    limits = {(row["problem"], row["dimension"]): row for row in published("limits")}
    table = Table()
    for row in published("paper_means"):
        problem, case = row["problem"], Case(int(row["dimension"]), _target(row))
        comparison, limit = comparisons[case.dimension], limits[problem, row["dimension"]]
        ours = champion_summaries[case].get(problem)
        best = best_comparators[case.dimension].get(case.target if case.target == GENERAL else problem, "")
        paper = float(row["gggp_2000"])
        bar = paper + 0.02 * abs(paper) + 0.005
        table.append(
            {
                "problem": problem,
                "dimension": case.dimension,
                "case": row["case"],
                "ours": ours and ours["mean"],
                "se": ours and ours["se"],
                "runs": ours["runs"] if ours else 0,
                "attacked": ours and ours["attacked"],
                "paper": paper,
                "bar": bar,
                "met": bool(ours and ours["mean"] <= bar),
                "below": bool(ours and ours["mean"] < paper),
                "comparator": best.removeprefix(f"comparator/{case.dimension}d/"),
                "comparator_mean": comparison[problem, best]["mean"] if (problem, best) in comparison else None,
                "paper_comparator": float(row["comparator_5000"]),
                "centre": comparison[problem, "centre"]["mean"] if (problem, "centre") in comparison else None,
                "robust_optimum": float(limit["true_robust_optimum"]),
                "estimate_limit": float(limit["estimator_limit_1e6"]),
            }
        )
    return table


def verdicts(results: Path) -> Table:
    """Return whether each champion is better than a comparator, equal or worse, beside the paper's verdict.

    As in the paper, the comparator of an individual case is the best on the problem, that of the general case the best
    on all problems, and "equal" is no significant difference by a rank-sum test at 95%. The runs are those of the
    comparison. The paper's verdict is on comparators with 5,000 evaluations.
    """
    table = Table()
    for dimension in DIMENSIONS:
        groups = group_runs(_assessed(results / _comparison(dimension)))
        values = {(plain_name(problem), name): measured(runs, "value") for (problem, name), runs in groups.items()}
        summed = _summaries(results / _comparison(dimension))
        for budget in sorted({row["budget"] for row in _comparators(summed).values()}):
            best = _best_comparators(summed, budget)
            for row in published("paper_means"):
                if int(row["dimension"]) == dimension and (line := _verdict(row, values, best)):
                    table.append({**line, "comparator_budget": budget})
    return table


def _verdict(row: Mapping[str, str], values: Mapping[tuple[str, str], Floats], best: Mapping[str, str]) -> Record:
    """Return the verdict on a case beside the paper's; empty if there are no runs."""
    problem, target = row["problem"], _target(row)
    names = [name for where, name in values if where == problem and re.fullmatch(rf".*/{re.escape(target)}", name)]
    comparator = best.get(target if target == GENERAL else problem)
    champion = next((name for name in names if is_champion(name)), None)
    if champion is None or (problem, comparator) not in values:
        return {}
    ours, theirs = values[problem, champion], values[problem, str(comparator)]
    p = rank_sum(ours, theirs)
    return {
        "problem": problem,
        "dimension": int(row["dimension"]),
        "case": row["case"],
        "champion_mean": float(ours.mean()),
        "comparator": comparator,
        "comparator_mean": float(theirs.mean()),
        "runs": min(len(ours), len(theirs)),
        "p": p,
        "a12": a12(ours, theirs),
        "verdict": EQUAL if p >= LEVEL else BETTER if a12(ours, theirs) > 0.5 else WORSE,
        "paper": float(row["gggp_2000"]),
        "paper_comparator": float(row["comparator_5000"]),
        "paper_verdict": row["verdict"],
    }


def case_deciles(results: Path) -> Table:
    """Return the proportion of each alternative in each decile of each evolution, from the best to the worst."""
    return Table(
        {"case": evolution.name, "component": component, **row}
        for evolution in _evolutions(results)
        for component in COMPONENTS
        for row in deciles([evolution], component)
    )


def tests(results: Path) -> Table:
    """Return tests of champions against comparators and controls, with equal runs and samples."""
    return Table(
        {"dimension": dimension, **row}
        for dimension in DIMENSIONS
        for row in compare_runs(_assessed(results / _comparison(dimension))).cells
    )


def variants(results: Path) -> Table:
    """Return the means of the general champions and the controls on the variants, over the seeds."""
    table = Table()
    for dimension in DIMENSIONS:
        runs = _assessed(results / f"{dimension}d/variants")
        for kind in VARIANTS:
            for problem in problems():
                named = re.compile(rf"{problem}-\d+d-{kind}-\d+")
                here = [run for run in runs if named.fullmatch(run.problem_name)]
                for name in dict.fromkeys(run.name for run in here):
                    own = [run for run in here if run.name == name]
                    table.append(
                        {
                            "dimension": dimension,
                            "variant": kind,
                            "problem": problem,
                            "contestant": name,
                            "runs": len(own),
                            "mean": float(measured(own, "value").mean()),
                            "attacked": float(measured(own, "attacked").mean()),
                        }
                    )
    return table


def components(results: Path) -> dict[str, Table]:
    """Return the tables on components by name, with the paper's proportions beside ours; without comparators."""
    fractions, crossed, main, together, best = Table(), Table(), Table(), Table(), Table()
    for (dimension,), found in pooled(_evolutions(results)).items():
        fractions += [{"dimension": dimension, **row} for row in _with_paper(proportions(found), dimension)]
        crossed += [{"dimension": dimension, **row} for row in cross_table(found, "inner", "extent")]
        effects, pairs = decomposition(found)
        main += [{"dimension": dimension, **row} for row in effects]
        together += [{"dimension": dimension, **row} for row in pairs]
        best += best_components(found)
    return {"proportions": fractions, "cross": crossed, "effects": main, "pairs": together, "best": best}


def _comparison(dimension: int) -> str:
    return f"{dimension}d/comparison"


def _target(row: Mapping[str, str]) -> str:
    return row["problem"] if row["case"] == "individual" else GENERAL


def _assessed(folder: Path) -> list[AssessedRun]:
    """Return the runs in a folder, those of champions first."""
    path = folder / results_folder.ASSESSED
    runs = results_folder.read_assessed(path) if path.exists() else []
    return sorted(runs, key=lambda run: not is_champion(run.name))


def is_champion(name: str) -> bool:
    """Return whether a contestant is a champion of the study."""
    return name.split("/")[0] in {scale.champion_family for scale in SCALES.values()}


def _summaries(folder: Path) -> Summaries:
    return {(plain_name(row["problem"]), row["contestant"]): row for row in summaries(_assessed(folder))}


def _champion_summaries(folder: Path) -> dict[str, Record]:
    """Return the summaries in the folder of a champion by the plain name of the problem."""
    return {problem: row for (problem, _), row in _summaries(folder).items()}


def _comparators(comparison: Summaries) -> Summaries:
    return {key: found for key, found in comparison.items() if "comparator" in key[1]}


def _best_comparators(comparison: Summaries, budget: int | None = None) -> dict[str, str]:
    """Return the best comparator on each problem, and the one with the best average rank on all as "general".

    Args:
        comparison: Summaries of the comparison.
        budget: The comparators' evaluations per run; by default the largest.
    """
    found = _comparators(comparison)
    largest = max((row["budget"] for row in found.values()), default=0)
    means = {key: row["mean"] for key, row in found.items() if row["budget"] == (budget or largest)}
    names = sorted({name for _, name in means})
    where = sorted({problem for problem, _ in means if all((problem, name) in means for name in names)})
    if not where:
        return {}
    ranks = mean_ranks(np.array([[means[problem, name] for problem in where] for name in names]))
    best = {problem: min(names, key=lambda name: means[problem, name]) for problem in where}
    return {**best, GENERAL: names[int(np.argmin(ranks))]}


def _evolutions(results: Path) -> list[EvolutionRecord]:
    """Return the evolutions of the champions; the heuristics are those of the first stage."""
    cases = [case for case in champions() if (results / case.name / results_folder.EVOLUTION).exists()]
    return [
        replace(results_folder.read_evolution(results / case.name), champion=champion_of(results, case))
        for case in cases
    ]


def _with_paper(rows: Table, dimension: int) -> Table:
    paper = {(row["component"], row["alternative"]): row for row in published("component_proportions")}
    table = Table()
    for row in rows:
        row_of_paper = paper.get((COMPONENTS[row["component"]], row["alternative"]), {})
        beside = {
            f"paper_{key}": _fraction(row_of_paper.get(f"{key}_{dimension}d_pct")) for key in ("all", "top_third")
        }
        table.append({**row, **beside})
    return table


def _fraction(percent: str | None) -> float | None:
    return float(percent) / 100 if percent else None
