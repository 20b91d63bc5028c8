"""The format of IOHprofiler: its required keys, its data files, and iohinspector where it is installed."""

from __future__ import annotations

import json

import numpy as np
import pytest

import robustforge as rf
from robustforge.assessment.iohprofiler import write_iohprofiler
from robustforge.errors import AssessmentError
from robustforge.store import AssessedRun

KEYS = {"version", "suite", "function_id", "function_name", "maximization", "algorithm", "attributes", "scenarios"}


@pytest.fixture(scope="module")
def assessment():
    problems = [rf.problem("sphere", 2), rf.problem("ackley", 3)]
    return rf.assess(["rpso", "random"], problems, runs=3, samples=200, budget=100, attack=False)


def tables(path):
    """The runs of a data file, as arrays of evaluations and values."""
    header, *parts = path.read_text().split("evaluations raw_y\n")
    assert header == ""
    return [np.array([line.split() for line in part.splitlines()], float) for part in parts]


def test_files_agree_with_the_runs(assessment, tmp_path):
    files = assessment.to_iohprofiler(tmp_path / "new" / "folder")
    assert len(files) == 4
    rows = {(row["problem"], row["contestant"]): row for row in assessment.summaries()}
    for path in files:
        record = json.loads(path.read_text())
        assert set(record) >= KEYS
        assert record["maximization"] is False
        (scenario,) = record["scenarios"]
        runs = tables(path.parent / scenario["path"])
        own = [
            run
            for run in assessment.runs
            if json.loads(run.problem)["name"] == record["function_name"] and run.name == record["algorithm"]["name"]
        ]
        assert len(own) == len(runs) == len(scenario["runs"]) == 3
        assert rows[record["function_name"], record["algorithm"]["name"]]["runs"] == 3
        for run, table, entry in zip(own, runs, scenario["runs"], strict=True):
            assert table[[0, -1], 0].tolist() == [1, 100]
            assert (np.diff(table[:, 0]) > 0).all()
            assert table[-1, 1] == run.curve[-1]
            assert entry["best"]["y"] == table[:, 1].min()
            assert len(entry["best"]["x"]) == scenario["dimension"]
    assert len({json.loads(path.read_text())["function_id"] for path in files}) == 2


def test_names_are_safe_and_distinct(tmp_path):
    base = {"problem": json.dumps({"name": "../a b", "dimension": 1}), "budget": 10, "samples": 5, "attack": False}
    runs = [
        AssessedRun(f"id{k}", name, seed=1, repeat=0, curve=(1.0,) * 11, x=(0.0,), nfev=10, **base)
        for k, name in enumerate(["a/b", "a b", "../.."])
    ]
    files = write_iohprofiler(runs, tmp_path)
    assert sorted(path.parent.name for path in files) == ["a-b", "a-b-2", "unnamed"]
    assert all(path.is_relative_to(tmp_path) for path in files)
    assert {json.loads(path.read_text())["algorithm"]["name"] for path in files} == {"a/b", "a b", "../.."}


def test_runs_without_a_curve_are_refused(tmp_path):
    with pytest.raises(AssessmentError, match="anytime curve"):
        write_iohprofiler([AssessedRun("id", "a", "{}", 10, 5, False, 1, 0, failure="crash")], tmp_path)


def test_iohinspector_reads_it(assessment, tmp_path):
    iohinspector = pytest.importorskip("iohinspector")
    assessment.to_iohprofiler(tmp_path)
    manager = iohinspector.DataManager()
    manager.add_folder(str(tmp_path))
    assert manager.overview.shape[0] == 12
    loaded = manager.load(monotonic=True, include_meta_data=True)
    assert set(loaded["algorithm_name"]) == {"rpso", "random"}
    assert set(loaded["function_name"]) == {
        run["name"] for run in map(json.loads, (r.problem for r in assessment.runs))
    }
