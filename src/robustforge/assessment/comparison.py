"""`Comparison`: contestants side by side on problems, with significance tests and average ranks.

As in the paper, a contestant is *tied* with the best one of a problem, which has the lowest mean, if it is not
significantly worse by Wilcoxon's rank-sum test at the 5% level. The p-value with Holm's correction for all tests of the
table is given beside it. A failed run counts as +inf.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from robustforge import notebook_html
from robustforge.assessment.run_groups import Floats, Measure, group_runs, measured, quartiles
from robustforge.assessment.statistics import LEVEL, a12, holm, mean_ranks, rank_sum
from robustforge.errors import AssessmentError, UnknownNameError
from robustforge.formatting import shorten
from robustforge.plotting import new_canvases
from robustforge.store import AssessedRun
from robustforge.tables import Record, Table

if TYPE_CHECKING:
    from robustforge.plotting.canvas import Canvas

MEASURES = {"value": "worst of the samples", "attacked": "attacked worst case", "nominal": "nominal value"}
"""Axis labels of the measures."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of `compare`: contestants side by side on problems.

    Attributes:
        measure: What is compared: "value" (the worst of the samples), "attacked" or "nominal".
        problems: Names of the problems, in the given order.
        contestants: Labels of the contestants, in the given order.
        cells: One row per problem and contestant: `runs`, `mean`, `median`, `p` against the best of the problem,
            `p_holm`, `a12` (the probability that a run of the best is below one of this contestant), `is_best` and
            `is_tied`.
        ranks: One row per contestant: `average_rank` over the problems on which all contestants ran, and the number of
            problems with several contestants on which it is best (`best_on`) or tied (`tied_on`).
        values: The values of the runs by problem and contestant; +inf for a failed run.
        assessment: The `Assessment` that is compared; `None` if the comparison was made from runs.
    """

    measure: Measure
    problems: tuple[str, ...]
    contestants: tuple[str, ...]
    cells: Table
    ranks: Table
    values: Mapping[tuple[str, str], Floats] = field(default_factory=dict, compare=False)
    assessment: Any = field(default=None, compare=False)

    def __repr__(self) -> str:
        return (
            f"<Comparison of {len(self.contestants)} contestants on {len(self.problems)} problems by {self.measure!r}>"
        )

    def _repr_html_(self) -> str:
        """Return the means as a notebook shows them: the best in bold with a star, in bold what is tied with it."""
        cells = {(row["problem"], row["contestant"]): row for row in self.cells}
        ranks = {row["contestant"]: row["average_rank"] for row in self.ranks}
        rows = [
            (problem, *(_marked(cells.get((problem, name))) for name in self.contestants)) for problem in self.problems
        ]
        rows.append(("average rank", *(round(ranks[name], 2) for name in self.contestants)))
        note = notebook_html.bullets(
            ["* lowest mean of the problem; in bold, not significantly different from it (rank-sum test, 5%)"]
        )
        return notebook_html.fragment(
            f"Mean over runs: {MEASURES[self.measure]}", notebook_html.table(("problem", *self.contestants), rows), note
        )

    def plot(self, problem: str | None = None, ax: Any = None) -> Any:
        """Draw a box plot of the runs of each contestant with Matplotlib, one plot per problem.

        Contestants in bold are not significantly different from the best one, which is at the top.

        Args:
            problem: The name of the problem to draw; all by default.
            ax: Matplotlib axes to draw on, for one problem; by default those of a new figure.

        Returns:
            The Matplotlib axes; an array of them for several problems.

        Raises:
            MissingExtraError: Matplotlib is not installed.
            UnknownNameError: There is no problem of this name.
        """
        if problem is not None and problem not in self.problems:
            raise UnknownNameError("problem of this comparison", problem, self.problems, "comparison.problems")
        problems = self.problems if problem is None else (problem,)
        if ax is not None and len(problems) > 1:
            fix = f"Pass problem={problems[0]!r}, or no `ax`"
            raise AssessmentError("one pair of axes shows one problem", f"there are {len(problems)} problems", fix)
        canvases = new_canvases(ax, len(problems), 0.9 + 0.3 * len(self.contestants))
        for canvas, name in zip(canvases, problems, strict=True):
            self._plot_problem(canvas, name)
        return canvases[0].axes if len(canvases) == 1 else np.array([canvas.axes for canvas in canvases])

    def _plot_problem(self, canvas: Canvas, problem: str) -> None:
        from robustforge.plotting import experiment_plots

        rows = sorted((row for row in self.cells if row["problem"] == problem), key=lambda row: row["mean"])
        names, tied = ([row["contestant"] for row in rows if row["is_tied"] or not only] for only in (False, True))
        values = {name: self.values[problem, name] for name in names}
        every = {each.name: each for each in experiment_plots.contenders(self.contestants, tied)}
        contenders = [every[name] for name in names]
        experiment_plots.box_plots(canvas, contenders, values, MEASURES[self.measure])
        canvas.axes.set_title(shorten(problem, 60))


def _marked(row: Record | None) -> object:
    """Return a mean, marked if it is the best of its problem or tied with it."""
    if row is None:
        return ""
    star = " *" if row["is_best"] else ""
    return notebook_html.strong(f"{notebook_html.text(row['mean'])}{star}") if row["is_tied"] else row["mean"]


def compare_runs(runs: Sequence[AssessedRun], measure: Measure = "value") -> Comparison:
    """Compare contestants on problems, each with the one that has the lowest mean.

    Raises:
        AssessmentError: `measure` is "attacked", and some designs were not attacked.
    """
    if measure not in get_args(Measure):
        raise UnknownNameError("measure", str(measure), get_args(Measure), "robustforge compare --help")
    if measure == "attacked" and any(np.isnan(run.attacked) for run in runs if not run.failure):
        rule = "to compare attacked worst cases, all designs must have been attacked"
        raise AssessmentError(rule, "some were not", "Assess with the attack, or compare by the worst of the samples")
    groups = group_runs(runs)
    problems = tuple(dict.fromkeys(problem for problem, _ in groups))
    contestants = tuple(dict.fromkeys(label for _, label in groups))
    values = {key: measured(group, measure) for key, group in groups.items()}
    cells: list[Record] = []
    for problem in problems:
        cells += _cells(problem, {label: values[problem, label] for label in contestants if (problem, label) in values})
    tested = [row for row in cells if not row["is_best"]]
    for row, corrected in zip(tested, holm([row["p"] for row in tested]), strict=True):
        row["p_holm"] = corrected
    return Comparison(measure, problems, contestants, Table(cells), _ranks(problems, contestants, cells), values)


def _cells(problem: str, samples: dict[str, Floats]) -> list[Record]:
    """Return a row per contestant on one problem, each tested against the best."""
    means = {label: float(values.mean()) for label, values in samples.items()}
    best = min(samples, key=lambda label: (means[label], *_tie_break(samples[label])))
    rows = []
    for label, values in samples.items():
        p = 1.0 if label == best else rank_sum(samples[best], values)
        probability = 0.5 if label == best else a12(samples[best], values)
        rows.append(
            {
                "problem": problem,
                "contestant": label,
                "runs": len(values),
                "mean": means[label],
                "median": float(quartiles(values)[1]),
                "p": p,
                "p_holm": 1.0,
                "a12": probability,
                "is_best": label == best,
                "is_tied": label == best or p >= LEVEL or probability <= 0.5,
            }
        )
    return rows


def _tie_break(values: Floats) -> tuple[float, float]:
    """Order infinite means by the fraction of infinite values, then by the mean of the finite ones."""
    finite = values[np.isfinite(values)]
    return 1.0 - finite.size / values.size, float(finite.mean()) if finite.size else np.inf


def _ranks(problems: Sequence[str], contestants: Sequence[str], cells: Sequence[Record]) -> Table:
    """Return the average rank of each contestant by mean, over the problems on which all contestants ran."""
    means = {(row["problem"], row["contestant"]): row["mean"] for row in cells}
    shared = [problem for problem in problems if all((problem, label) in means for label in contestants)]
    table = np.array([[means[problem, label] for problem in shared] for label in contestants])
    ranks = mean_ranks(table) if shared else np.full(len(contestants), np.nan)
    contestants_on = Counter(row["problem"] for row in cells)
    compared = [row for row in cells if contestants_on[row["problem"]] > 1]
    return Table(
        {
            "contestant": label,
            "average_rank": float(ranks[k]),
            "problems": len(shared),
            "best_on": sum(row["is_best"] for row in compared if row["contestant"] == label),
            "tied_on": sum(row["is_tied"] for row in compared if row["contestant"] == label),
        }
        for k, label in enumerate(contestants)
    )
