"""Assessed runs in the format of IOHprofiler, which IOHanalyzer and iohinspector read.

Each contestant has a folder, with a JSON file for each problem and a data file with the anytime curves of its runs.
`raw_y` is the sampled worst case of the recommended design after a number of evaluations.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from robustforge.assessment.run_groups import group_runs
from robustforge.errors import AssessmentError
from robustforge.store import CHECKPOINTS, AssessedRun

VERSION = "0.3.5"
"""The version of the format."""

SUITE = "robustforge"
_COLUMNS = "evaluations raw_y"


def write_iohprofiler(runs: Sequence[AssessedRun], folder: str | Path) -> list[Path]:
    """Write assessed runs in the format of IOHprofiler, and return the JSON files.

    Args:
        runs: The runs. Failed ones, and those without an anytime curve, are left out.
        folder: The folder, which is created; files in it are overwritten.

    Raises:
        AssessmentError: No run has an anytime curve.
    """
    groups = group_runs([run for run in runs if not run.failure and _curve(run)])
    if not groups:
        raise AssessmentError(
            "runs with an anytime curve are needed", "no run has an anytime curve", "Assess a contestant first"
        )
    numbers = {problem: number for number, problem in enumerate(dict.fromkeys(name for name, _ in groups), 1)}
    folders = _folder_names([contestant for _, contestant in groups])
    return [
        _write_problem(Path(folder) / folders[contestant], contestant, numbers[problem], problem, group)
        for (problem, contestant), group in groups.items()
    ]


def _write_problem(folder: Path, contestant: str, number: int, problem: str, runs: Sequence[AssessedRun]) -> Path:
    """Write the runs of a contestant on a problem: the data file, then the JSON file that refers to it."""
    title = f"f{number}_{_file_name(problem)}"
    dimension = int(json.loads(runs[0].problem)["dimension"])
    data = Path(f"data_{title}") / f"IOHprofiler_f{number}_DIM{dimension}.dat"
    (folder / data).parent.mkdir(parents=True, exist_ok=True)
    (folder / data).write_text("".join(_data_lines(runs)), encoding="utf-8")
    record = {
        "version": VERSION,
        "suite": SUITE,
        "function_id": number,
        "function_name": problem,
        "maximization": False,
        "algorithm": {"name": contestant, "info": f"budget {runs[0].budget}, {runs[0].samples} samples"},
        "attributes": _COLUMNS.split(),
        "scenarios": [{"dimension": dimension, "path": data.as_posix(), "runs": [_run_record(run) for run in runs]}],
    }
    path = folder / f"IOHprofiler_{title}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return path


def _run_record(run: AssessedRun) -> dict[str, Any]:
    evaluations, value = min(_curve(run), key=lambda point: point[1])
    best = {"evals": evaluations, "y": value, "x": list(run.x)}
    return {"instance": run.repeat + 1, "evals": run.nfev, "best": best}


def _data_lines(runs: Sequence[AssessedRun]) -> Iterator[str]:
    """Yield the lines of a data file; each run starts with the header and a row of evaluation 1, as the format demands.

    There is no design after one evaluation: the row has the value of the first one.
    """
    for run in runs:
        curve = _curve(run)
        yield f"{_COLUMNS}\n"
        rows = curve if curve[0][0] == 1 else [(1, curve[0][1]), *curve]
        yield from (f"{evaluations} {value!r}\n" for evaluations, value in rows)


def _curve(run: AssessedRun) -> list[tuple[int, float]]:
    """Return numbers of evaluations and finite values of the anytime curve."""
    pairs = zip(CHECKPOINTS, run.curve, strict=False)
    return [(max(1, round(fraction * run.budget)), value) for fraction, value in pairs if math.isfinite(value)]


def _folder_names(contestants: Sequence[str]) -> dict[str, str]:
    """Return a distinct folder name for each contestant."""
    sharing: dict[str, list[str]] = defaultdict(list)
    for contestant in dict.fromkeys(contestants):
        sharing[_file_name(contestant)].append(contestant)
    return {
        contestant: name if position == 0 else f"{name}-{position + 1}"
        for name, same in sharing.items()
        for position, contestant in enumerate(same)
    }


def _file_name(text: str) -> str:
    """Return a text with nothing but letters, digits, dots, plus and minus signs."""
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", text).strip("-.") or "unnamed"
