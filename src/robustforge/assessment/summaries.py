"""Summary tables of assessed runs: statistics per problem and contestant, and anytime curves.

A failed run counts as +inf.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robustforge.assessment.run_groups import group_runs, measured, quartiles
from robustforge.assessment.statistics import standard_error
from robustforge.store import CHECKPOINTS, AssessedRun
from robustforge.tables import Record, Table


def summaries(runs: Sequence[AssessedRun]) -> Table:
    """Return statistics per problem and contestant: mean, standard error, quartiles, attacked and nominal means."""
    return Table(_summary(problem, label, group) for (problem, label), group in group_runs(runs).items())


def anytime(runs: Sequence[AssessedRun]) -> Table:
    """Return mean and quartiles of the incumbent's sampled worst case against the number of evaluations.

    Runs without a design at a checkpoint are left out; an infinite worst case makes the mean infinite.
    """
    rows = Table()
    for (problem, label), group in group_runs(runs).items():
        curves = np.array([run.curve for run in group if len(run.curve) == len(CHECKPOINTS)])
        for k, fraction in enumerate(CHECKPOINTS):
            values = curves[:, k][~np.isnan(curves[:, k])] if len(curves) else np.empty(0)
            if values.size:
                low, _, high = quartiles(values)
                rows.append(
                    {
                        "problem": problem,
                        "contestant": label,
                        "evaluations": round(fraction * group[0].budget),
                        "mean": float(values.mean()),
                        "q1": float(low),
                        "q3": float(high),
                        "runs": int(values.size),
                    }
                )
    return rows


def _summary(problem: str, label: str, group: Sequence[AssessedRun]) -> Record:
    values, attacked = measured(group, "value"), measured(group, "attacked")
    q1, median, q3 = quartiles(values)
    return {
        "problem": problem,
        "contestant": label,
        "budget": group[0].budget,
        "samples": group[0].samples,
        "runs": len(group),
        "failures": sum(bool(run.failure) for run in group),
        "mean": float(values.mean()),
        "se": standard_error(values),
        "q1": float(q1),
        "median": float(median),
        "q3": float(q3),
        "min": float(values.min()),
        "max": float(values.max()),
        "attacked": float(attacked.mean()),
        "attacked_se": standard_error(attacked),
        "nominal": float(measured(group, "nominal").mean()),
    }
