"""From assessed runs to tables: what each contestant reaches, who is best, and who cannot be told from the best.

As in the paper's results, a contestant is *tied* with the best of a problem if Wilcoxon's rank-sum test at 95% does not
tell them apart; the p-value corrected by Holm's rule, for all comparisons of the table, stands beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from robustforge.assessment.statistics import LEVEL, a12, holm, mean_ranks, rank_sum, standard_error
from robustforge.store import CHECKPOINTS, Assessed
from robustforge.tables import Record, Table

Floats = npt.NDArray[np.float64]
Measure = Literal["value", "attacked", "nominal"]
Groups = dict[tuple[str, str], list[Assessed]]


@dataclass(frozen=True)
class Comparison:
    """Contestants side by side on problems.

    Attributes:
        measure: What is compared: "value", the worst of the samples, or "attacked".
        problems: The problems' names, in the order in which they were given.
        contestants: The contestants' labels, likewise.
        cells: One row per problem and contestant: `runs`, `mean`, `median`, `p` against the best of the problem and
            `p_holm`, `a12` (the chance that a run of the best is below one of this), `is_best` and `is_tied`.
        ranks: One row per contestant: `average_rank` over the problems that all took part in, `best_on` and `tied_on`.
    """

    measure: Measure
    problems: tuple[str, ...]
    contestants: tuple[str, ...]
    cells: Table
    ranks: Table


def summaries(runs: Sequence[Assessed]) -> Table:
    """Return what each contestant reaches on each problem: mean, standard error, quartiles, attacked and nominal."""
    return Table(_summary(problem, label, group) for (problem, label), group in grouped(runs).items())


def comparison(runs: Sequence[Assessed], measure: Measure = "value") -> Comparison:
    """Compare contestants on problems, each with the one whose mean is best there."""
    groups = grouped(runs)
    problems = tuple(dict.fromkeys(problem for problem, _ in groups))
    contestants = tuple(dict.fromkeys(label for _, label in groups))
    values = {key: measured(group, measure) for key, group in groups.items()}
    cells: list[Record] = []
    for problem in problems:
        cells += _cells(problem, {label: values[problem, label] for label in contestants if (problem, label) in values})
    tested = [row for row in cells if not row["is_best"]]
    for row, corrected in zip(tested, holm([row["p"] for row in tested]), strict=True):
        row["p_holm"] = corrected
    return Comparison(measure, problems, contestants, Table(cells), _ranks(problems, contestants, cells))


def anytime(runs: Sequence[Assessed]) -> Table:
    """Return how the worst case of the design at hand falls with the evaluations: mean and quartiles."""
    rows = Table()
    for (problem, label), group in grouped(runs).items():
        curves = np.array([run.curve for run in group if len(run.curve) == len(CHECKPOINTS)])
        for place, share in enumerate(CHECKPOINTS):
            known = curves[:, place][np.isfinite(curves[:, place])] if len(curves) else np.empty(0)
            if known.size:
                low, high = np.percentile(known, (25, 75))
                rows.append(
                    {
                        "problem": problem,
                        "contestant": label,
                        "evaluations": round(share * group[0].budget),
                        "mean": float(known.mean()),
                        "q1": float(low),
                        "q3": float(high),
                        "runs": int(known.size),
                    }
                )
    return rows


def grouped(runs: Sequence[Assessed]) -> Groups:
    """Return runs by problem and by a label for each contestant, in the order in which they come.

    The label is the contestant's name. Who was called by several names has the last; where budget or samples differ
    among the runs of one name on one problem, they become part of the label.
    """
    names = {run.contestant: run.name for run in runs}
    kinds: dict[tuple[str, str], set[tuple[str, int, int]]] = defaultdict(set)
    for run in runs:
        kinds[run.problem, names[run.contestant]].add((run.contestant, run.budget, run.samples))
    budgets = [run.budget for run in runs]
    usual = max(set(budgets), key=lambda budget: (budgets.count(budget), -budget)) if budgets else 0
    found: Groups = defaultdict(list)
    for run in runs:
        several = kinds[run.problem, names[run.contestant]]
        found[run.problem_name, _label(run, names[run.contestant], several, usual)].append(run)
    return dict(found)


def measured(runs: Sequence[Assessed], measure: Measure) -> Floats:
    """Return one number per run; +inf for a run that failed."""
    return np.array([np.inf if run.failure else getattr(run, measure) for run in runs])


def _label(run: Assessed, name: str, several: set[tuple[str, int, int]], usual: int) -> str:
    label = name
    if run.budget != usual and not name.endswith(f"@{run.budget}"):
        label += f"@{run.budget}"
    alike = [kind for kind in several if kind[1] == run.budget]
    if len({samples for _, _, samples in alike}) > 1:
        label += f" ({run.samples:,} samples)"
    if len({contestant for contestant, _, _ in alike}) > 1:
        label += f" {run.contestant[:6]}"
    return label


def _summary(problem: str, label: str, group: Sequence[Assessed]) -> Record:
    fine = [run for run in group if not run.failure]
    values, attacked = measured(fine, "value"), measured(fine, "attacked")
    low, middle, high = np.percentile(values, (25, 50, 75)) if fine else (np.nan,) * 3
    return {
        "problem": problem,
        "contestant": label,
        "budget": group[0].budget,
        "samples": group[0].samples,
        "runs": len(group),
        "failures": len(group) - len(fine),
        "mean": _mean(values),
        "se": standard_error(values),
        "q1": float(low),
        "median": float(middle),
        "q3": float(high),
        "least": float(values.min()) if fine else np.nan,
        "most": float(values.max()) if fine else np.nan,
        "attacked": _mean(attacked),
        "attacked_se": standard_error(attacked),
        "nominal": _mean(measured(fine, "nominal")),
    }


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else float("nan")


def _cells(problem: str, samples: dict[str, Floats]) -> list[Record]:
    """Return a row per contestant on one problem, each tested against the best."""
    means = {label: _mean(values) for label, values in samples.items()}
    best = min(samples, key=lambda label: (not means[label] < np.inf, means[label]))
    rows = []
    for label, values in samples.items():
        p = 1.0 if label == best else rank_sum(samples[best], values)
        rows.append(
            {
                "problem": problem,
                "contestant": label,
                "runs": len(values),
                "mean": means[label],
                "median": float(np.median(values)),
                "p": p,
                "p_holm": 1.0,
                "a12": 0.5 if label == best else a12(samples[best], values),
                "is_best": label == best,
                "is_tied": label == best or p >= LEVEL,
            }
        )
    return rows


def _ranks(problems: Sequence[str], contestants: Sequence[str], cells: Sequence[Record]) -> Table:
    """Return the average rank of each contestant by mean, over the problems on which all of them ran."""
    means = {(row["problem"], row["contestant"]): row["mean"] for row in cells}
    shared = [problem for problem in problems if all((problem, label) in means for label in contestants)]
    table = np.array([[means[problem, label] for problem in shared] for label in contestants])
    ranks = mean_ranks(table) if shared else np.full(len(contestants), np.nan)
    return Table(
        {
            "contestant": label,
            "average_rank": float(ranks[k]),
            "problems": len(shared),
            "best_on": sum(row["is_best"] for row in cells if row["contestant"] == label),
            "tied_on": sum(row["is_tied"] for row in cells if row["contestant"] == label),
        }
        for k, label in enumerate(contestants)
    )
