"""What the study has come to, as tables: means beside the paper's, tests, variants, and the components.

Every figure comes from a folder of results that `reproduce` filled, wholly or in part: what is not there yet is left
out, or is `None`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from robustforge.analysis import Outcome, archive, pooled
from robustforge.analysis.components import COMPONENTS, best_components, cross_table, proportions
from robustforge.analysis.effects import decomposition
from robustforge.assessment.comparison import comparison, measured, summaries
from robustforge.heuristic import Heuristic
from robustforge.problem import problems
from robustforge.store import Assessed
from robustforge.study.cases import DIMENSIONS, GENERAL, VARIANTS, Case, champions
from robustforge.study.published import published
from robustforge.tables import Record, Table

Reached = dict[tuple[str, str], Record]
"""Summaries by problem, as its plain name, and contestant."""


def plain_name(problem: str) -> str:
    """Return the name of a test problem without its dimension and its variant.

    Example:
        >>> plain_name("multipeak-f1-30d-shifted-3")
        'multipeak-f1'
    """
    return re.sub(r"-\d+d.*", "", problem)


def bred(results: Path, case: Case) -> Heuristic | None:
    """Return the champion of a case that is in the results: that of its sequel, if it has one."""
    folders = [results / name for name in (case.sequel, case.name)]
    return next((archive.read_outcome(each).champion for each in folders if (each / archive.EVOLUTION).exists()), None)


def means(results: Path) -> Table:
    """Return champions, comparators, limits and the centre beside the paper's means, a row for each of those.

    `met` says whether a champion is at most 2% and 0.005 above the paper's, `below` whether it is below it. The
    comparator is the best on the problem, in the general case the best on all of them.
    """
    alone = {case: _reached(results / case.name) for case in champions()}
    sides = {dimension: _reached(results / _comparison(dimension)) for dimension in DIMENSIONS}
    limits = {(row["problem"], row["dimension"]): row for row in published("limits")}
    table = Table()
    for row in published("paper_means"):
        problem, case = row["problem"], Case(int(row["dimension"]), _target(row))
        side, limit = sides[case.dimension], limits[problem, row["dimension"]]
        ours = alone[case].get((problem, case.contestant))
        rivals = {name: found["mean"] for (where, name), found in _comparators(side).items() if where == problem}
        best = _best_overall(side) if case.target == GENERAL else min(rivals, key=rivals.__getitem__, default="")
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
                "comparator_mean": rivals.get(best),
                "paper_comparator": float(row["comparator_5000"]),
                "centre": side[problem, "centre"]["mean"] if (problem, "centre") in side else None,
                "robust_optimum": float(limit["true_robust_optimum"]),
                "estimate_limit": float(limit["estimator_limit_1e6"]),
            }
        )
    return table


def tests(results: Path) -> Table:
    """Return champions tested against comparators and controls, on equal runs and samples."""
    return Table(
        {"dimension": dimension, **row}
        for dimension in DIMENSIONS
        for row in comparison(_assessed(results / _comparison(dimension))).cells
    )


def variants(results: Path) -> Table:
    """Return the general champions and the controls on the variants, means over the seeds."""
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
    """Return the tables on components, by name, with the paper's proportions beside ours; comparators are left out."""
    shares, crossed, main, together, best = Table(), Table(), Table(), Table(), Table()
    for (dimension,), found in pooled(_bred(results)).items():
        shares += [{"dimension": dimension, **row} for row in _beside_the_papers(proportions(found), dimension)]
        crossed += [{"dimension": dimension, **row} for row in cross_table(found, "inner", "extent")]
        effects, pairs = decomposition(found)
        main += [{"dimension": dimension, **row} for row in effects]
        together += [{"dimension": dimension, **row} for row in pairs]
        best += best_components(found)
    return {"proportions": shares, "cross": crossed, "effects": main, "pairs": together, "best": best}


def _comparison(dimension: int) -> str:
    return f"{dimension}d/comparison"


def _target(row: Mapping[str, str]) -> str:
    return row["problem"] if row["case"] == "individual" else GENERAL


def _assessed(folder: Path) -> list[Assessed]:
    """Return the runs in a folder, those of champions first, whenever they were made."""
    path = folder / archive.ASSESSED
    runs = archive.read_assessed(path) if path.exists() else []
    return sorted(runs, key=lambda run: not run.name.startswith("champion/"))


def _reached(folder: Path) -> Reached:
    return {(plain_name(row["problem"]), row["contestant"]): row for row in summaries(_assessed(folder))}


def _comparators(side: Reached) -> Reached:
    return {key: found for key, found in side.items() if "comparator" in key[1]}


def _best_overall(side: Reached) -> str:
    """Return the comparator with the best average rank; nothing if there is none."""
    names = sorted({name for _, name in _comparators(side)})
    where = sorted({problem for problem, _ in side})
    ranks = {
        name: sum(
            sum(side[problem, other]["mean"] < side[problem, name]["mean"] for other in names) for problem in where
        )
        for name in names
    }
    return min(names, key=ranks.__getitem__, default="")


def _bred(results: Path) -> list[Outcome]:
    """Return what was bred, each with its champion; the heuristics are those of the first evolutions."""
    cases = [case for case in champions() if (results / case.name / archive.EVOLUTION).exists()]
    return [replace(archive.read_outcome(results / case.name), champion=bred(results, case)) for case in cases]


def _beside_the_papers(rows: Table, dimension: int) -> Table:
    paper = {(row["component"], row["alternative"]): row for row in published("component_proportions")}
    table = Table()
    for row in rows:
        theirs = paper.get((COMPONENTS[row["component"]], row["alternative"]), {})
        beside = {f"paper_{key}": _share(theirs.get(f"{key}_{dimension}d_pct")) for key in ("all", "top_third")}
        table.append({**row, **beside})
    return table


def _share(percent: str | None) -> float | None:
    return float(percent) / 100 if percent else None
