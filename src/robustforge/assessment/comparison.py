"""From assessed runs to tables: what each contestant reaches, who is best, and who cannot be told from the best.

As in the paper's results, a contestant is *tied* with the best of a problem, which has the lowest mean, if Wilcoxon's
rank-sum test at 95% does not show it to be worse; the p-value corrected by Holm's rule, for all comparisons of the
table, stands beside it. A run that failed counts as +inf everywhere.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from robustforge.assessment.statistics import LEVEL, a12, holm, mean_ranks, rank_sum, standard_error
from robustforge.errors import AssessmentError, UnknownNameError
from robustforge.store import CHECKPOINTS, Assessed
from robustforge.tables import Record, Table

Floats = npt.NDArray[np.float64]
Measure = Literal["value", "attacked", "nominal"]
Who = tuple[str, int, int]
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
        ranks: One row per contestant: `average_rank` over the problems that all took part in, `best_on` and `tied_on`
            of those that several took part in.
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
    """Compare contestants on problems, each with the one whose mean is best there.

    Raises:
        AssessmentError: They were not attacked, and that is what is to be compared.
    """
    if measure not in get_args(Measure):
        raise UnknownNameError("measure", str(measure), get_args(Measure), "robustforge compare --help")
    if measure == "attacked" and any(np.isnan(run.attacked) for run in runs if not run.failure):
        fix = "Assess with the attack, or compare by the worst of the samples"
        raise AssessmentError(
            "to compare attacked worst cases, all designs must have been attacked", "some were not", fix
        )
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
    """Return how the worst case of the design at hand falls with the evaluations: mean and quartiles.

    Of the runs that have a design by then; one whose worst case is infinite makes the mean infinite.
    """
    rows = Table()
    for (problem, label), group in grouped(runs).items():
        curves = np.array([run.curve for run in group if len(run.curve) == len(CHECKPOINTS)])
        for place, share in enumerate(CHECKPOINTS):
            known = curves[:, place][~np.isnan(curves[:, place])] if len(curves) else np.empty(0)
            if known.size:
                low, _, high = _quartiles(known)
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

    A contestant is somebody with a budget and a number of samples. Its label is what it was called last, with what
    tells it from another one of the same name: the budget, the samples, or the beginning of its id.
    """
    chosen: dict[tuple[Who, str, int], Assessed] = {}
    for run in sorted(runs, key=lambda run: run.attack):  # of a run with and without attack, the one with it
        chosen[_who(run), run.problem, run.seed] = run
    kept = [run for run in runs if chosen[_who(run), run.problem, run.seed] is run]
    names = {_who(run): run.name for run in kept}
    labels = _told_apart(list(names), [list(names.values()), *_DIFFERENCES])
    places = list(dict.fromkeys(run.problem for run in kept))
    problems = _told_apart(places, [[_problem_name(text) for text in places], _outside, _numbered(places)])
    found: Groups = defaultdict(list)
    for run in kept:
        found[problems[run.problem], labels[_who(run)]].append(run)
    return dict(found)


def _who(run: Assessed) -> Who:
    return run.contestant, run.budget, run.samples


_DIFFERENCES: list[Callable[[Who], str]] = [
    lambda who: f"@{who[1]}",
    lambda who: f" ({who[2]:,} samples)",
    lambda who: f" {who[0][:6]}",
]


def _told_apart(items: list[Any], parts: list[Any]) -> dict[Any, str]:
    """Return a label for each item: the first part, and further ones where several items would share it.

    A part that is the same for all that share a label does not tell them apart, and is left out.
    """
    labels = dict(zip(items, parts[0], strict=True))
    for part in parts[1:]:
        sharing = defaultdict(list)
        for item, label in labels.items():
            sharing[label].append(item)
        for label, alike in sharing.items():
            if len({part(item) for item in alike}) > 1:
                labels.update((item, label.removesuffix(part(item)) + part(item)) for item in alike)
    return labels


def _problem_name(text: str) -> str:
    return str(json.loads(text)["name"])


def _outside(text: str) -> str:
    return f" ({json.loads(text).get('outside', '')})"


def _numbered(places: Iterable[str]) -> Callable[[str], str]:
    numbers = {text: f" #{number}" for number, text in enumerate(places, 1)}
    return numbers.__getitem__


def measured(runs: Sequence[Assessed], measure: Measure) -> Floats:
    """Return one number per run; +inf for a run that failed."""
    return np.array([np.inf if run.failure else getattr(run, measure) for run in runs])


def _summary(problem: str, label: str, group: Sequence[Assessed]) -> Record:
    values, attacked = measured(group, "value"), measured(group, "attacked")
    low, middle, high = _quartiles(values)
    return {
        "problem": problem,
        "contestant": label,
        "budget": group[0].budget,
        "samples": group[0].samples,
        "runs": len(group),
        "failures": sum(bool(run.failure) for run in group),
        "mean": _mean(values),
        "se": standard_error(values),
        "q1": float(low),
        "median": float(middle),
        "q3": float(high),
        "least": float(values.min()),
        "most": float(values.max()),
        "attacked": _mean(attacked),
        "attacked_se": standard_error(attacked),
        "nominal": _mean(measured(group, "nominal")),
    }


def _quartiles(values: Floats) -> Floats:
    """Return the quartiles; among values of which some are infinite, the nearest value to each."""
    return np.asarray(np.percentile(values, (25, 50, 75), method="linear" if np.isfinite(values).all() else "nearest"))


def _mean(values: Floats) -> float:
    return float(values.mean())


def _cells(problem: str, samples: dict[str, Floats]) -> list[Record]:
    """Return a row per contestant on one problem, each tested against the best."""
    means = {label: _mean(values) for label, values in samples.items()}
    best = min(samples, key=lambda label: (means[label], *_trouble(samples[label])))
    rows = []
    for label, values in samples.items():
        p = 1.0 if label == best else rank_sum(samples[best], values)
        chance = 0.5 if label == best else a12(samples[best], values)
        rows.append(
            {
                "problem": problem,
                "contestant": label,
                "runs": len(values),
                "mean": means[label],
                "median": float(_quartiles(values)[1]),
                "p": p,
                "p_holm": 1.0,
                "a12": chance,
                "is_best": label == best,
                "is_tied": label == best or p >= LEVEL or chance <= 0.5,
            }
        )
    return rows


def _trouble(values: Floats) -> tuple[float, float]:
    """Tell means that are infinite apart: how many of the values are, and the mean of the others."""
    finite = values[np.isfinite(values)]
    return 1.0 - finite.size / values.size, float(finite.mean()) if finite.size else np.inf


def _ranks(problems: Sequence[str], contestants: Sequence[str], cells: Sequence[Record]) -> Table:
    """Return the average rank of each contestant by mean, over the problems on which all of them ran."""
    means = {(row["problem"], row["contestant"]): row["mean"] for row in cells}
    shared = [problem for problem in problems if all((problem, label) in means for label in contestants)]
    table = np.array([[means[problem, label] for problem in shared] for label in contestants])
    ranks = mean_ranks(table) if shared else np.full(len(contestants), np.nan)
    entrants = Counter(row["problem"] for row in cells)
    contested = [row for row in cells if entrants[row["problem"]] > 1]
    return Table(
        {
            "contestant": label,
            "average_rank": float(ranks[k]),
            "problems": len(shared),
            "best_on": sum(row["is_best"] for row in contested if row["contestant"] == label),
            "tied_on": sum(row["is_tied"] for row in contested if row["contestant"] == label),
        }
        for k, label in enumerate(contestants)
    )
