"""`assess` and `compare`: tables, options and interruptions."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import signal
import subprocess
import sys
from functools import partial

import pytest
from cli_runner import INTERRUPTIBLE, flat, strict
from cli_runner import run as run_command

import robustforge as rf
from robustforge.errors import StoreFullError
from robustforge.store import Store

run = partial(run_command, narrow=True)
SMALL = "--dimension 3 --runs 6 --samples 200 --budget 150".split()  # noqa: SIM905


BOTH = ["--problems", "sphere,rastrigin", *SMALL]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "runs.db"
    run("assess", "rpso+dd", "random", "centre", *BOTH, "--store", path)
    return path


@pytest.fixture
def store(kept, tmp_path):
    """A store that holds all that the tests ask for, so that nothing is run."""
    return shutil.copy(kept, tmp_path / "runs.db")


def test_view_of_an_assessment(store):
    ended = run("assess", "rpso+dd", "centre", *BOTH, "--store", store)
    assert "rpso+dd: 6 runs of 150 evaluations" in ended.stdout
    assert "centre: 6 runs of 150 evaluations" in ended.stdout
    assert "worst of 200 samples" in flat(ended.stdout)
    found = rf.assess("rpso+dd", rf.problem("sphere", 3), runs=6, samples=200, budget=150, store=store).summaries()[0]
    (line, _) = (line for line in ended.stdout.splitlines() if line.startswith("sphere-3d"))
    assert f"{found['mean']:,.4g}" in line
    assert f"{found['attacked']:,.4g}" in line
    assert [line[27:] for line in ended.stderr.splitlines()] == ["assess: started", "assess: done after 0 s"]


def test_progress_is_logged(tmp_path):
    ended = run("assess", "centre", *BOTH, "--no-attack", "--store", tmp_path / "s.db")
    assert re.fullmatch(r"20.{23}  assess: done after \d+ s, 12 of 12 runs", ended.stderr.splitlines()[-1])
    assert "left" in ended.stderr
    assert "ttacked" not in ended.stdout
    assert "unknown" not in ended.stdout


def test_view_of_a_comparison(store):
    text = run("compare", "rpso+dd", "random", "centre", *BOTH, "--store", store).stdout
    compared = rf.compare(
        ["rpso+dd", "random", "centre"],
        [rf.problem("sphere", 3), rf.problem("rastrigin", 3)],
        runs=6, samples=200, budget=150, store=store,
    )  # fmt: skip
    for problem in compared.problems:
        block = text[text.index(problem) :].splitlines()[2:5]
        means = {row["contestant"]: row["mean"] for row in compared.cells if row["problem"] == problem}
        assert [line.split()[0] for line in block] == sorted(means, key=means.get)  # the best first
        assert len(block[0].split()) < len(block[1].split())  # it is not tested against itself
    assert "over all problems" in text
    assert "Wilcoxon's rank-sum test at the 5% level" in flat(text)
    alone = run("compare", "rpso+dd", "centre", "--problems", "sphere", *SMALL, "--store", store).stdout
    assert "over all problems" not in alone


def test_view_of_a_comparison_by_attacks(store):
    text = run("compare", "rpso+dd", "random", *BOTH, "--store", store, "--by", "attacked").stdout
    (head, *_) = (line.split() for line in text.splitlines() if "median" in line)
    assert head == ["contestant", "runs", "mean", "median", "sampled", "p", "Holm", "A12"]
    mean, sampled = (float(text.split("random", 2)[1].split()[place].replace(",", "")) for place in (1, 3))
    assert sampled < mean


def test_the_singular(tmp_path):
    calm = ("--runs", "1", "--store", tmp_path / "s.db", "--no-attack", "--samples", "50", "--budget", "50")
    text = run("assess", "random", "--problems", "sphere", "--dimension", "2", *calm).stdout
    assert text.startswith("random: 1 run of 50 evaluations")


def test_payload_of_an_assessment(store):
    record = strict(run("assess", "rpso+dd", "random", *BOTH, "--store", store, "--json").stdout)
    assert record["format"] == "robustforge-assessment/1"
    assert (record["runs"], record["new_runs"], record["failures"], record["reason"]) == (24, 0, 0, None)
    assert record["store"] == str(store)
    assert [(row["problem"], row["contestant"]) for row in record["summaries"]] == [
        (problem, name) for problem in ("sphere-3d", "rastrigin-3d") for name in ("rpso+dd", "random")
    ]
    assert {row["evaluations"] for row in record["anytime"]} <= {round(share * 1.5) for share in range(5, 101, 5)}


def test_payload_of_a_comparison(store):
    record = strict(run("compare", "rpso+dd", "centre", *BOTH, "--by", "attacked", "--store", store, "--json").stdout)
    assert record["format"] == "robustforge-comparison/1"
    assert record["measure"] == "attacked"
    assert sum(row["is_best"] for row in record["cells"]) == 2
    assert [row["contestant"] for row in record["ranks"]] == ["rpso+dd", "centre"]
    attacked = {(row["problem"], row["contestant"]): row["attacked"] for row in record["summaries"]}
    assert all(row["mean"] == attacked[row["problem"], row["contestant"]] for row in record["cells"])


def test_unknown_values_are_null(tmp_path):
    given = ["--problems", "sphere", "--dimension", 3, "--runs", 1, "--samples", 10, "--no-attack"]
    record = strict(run("assess", "centre", *given, "--store", tmp_path / "s.db", "--json").stdout)
    assert record["summaries"][0]["attacked"] is None
    assert record["summaries"][0]["se"] is None


def test_csv(store, tmp_path):
    run("assess", "rpso+dd", *BOTH, "--store", store, "--csv", tmp_path / "a.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    assert [row["problem"] for row in rows] == ["sphere-3d", "rastrigin-3d"]
    assert float(rows[0]["mean"]) <= float(rows[0]["attacked"])
    run("compare", "rpso+dd", "centre", *BOTH, "--store", store, "--csv", tmp_path / "c.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "c.csv").read_text())))
    assert [row["is_best"] for row in rows].count("True") == 2


def test_stored_runs_are_not_repeated(store):
    record = strict(run("assess", "centre", *BOTH, "--runs", 8, "--store", store, "--json").stdout)
    assert (record["runs"], record["new_runs"]) == (16, 4)


def test_a_file_as_a_contestant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rf.heuristic("rpso").save("mine.json")
    text = run("compare", "mine.json@200", "centre", "--problems", "sphere", *SMALL, "--no-attack").stdout
    assert "mine@200" in text
    assert os.path.exists("runs.db")  # the default


MODELS = """
import robustforge as rf
from numba import njit


def cost(x):
    return float(((x - 0.5) ** 2).sum())


@njit
def refused(x):
    if x[0] > -9.0:
        raise RuntimeError("no licence")
    return x[0]


single = rf.Problem(cost, [(-1, 1)] * 3, rf.Ball(0.1), name="cost")
hopeless = rf.Problem(refused, [(-1, 1)] * 3, rf.Ball(0.1), name="hopeless")
"""


@pytest.fixture
def models(tmp_path, monkeypatch):
    (tmp_path / "assessedmodels.py").write_text(MODELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    sys.modules.pop("assessedmodels", None)


def test_an_objective_that_always_fails_exits_with_1(models):
    few = ["--runs", 2, "--samples", 10, "--budget", 50, "--workers", 1]
    ended = run("compare", "random", "rpso", "--objective", "assessedmodels:hopeless", *few, code=1)
    assert "no licence" in flat(ended.output)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rpsoo"], "did you mean 'rpso'"),
        (["rpso@1"], "at least 3"),
        (["none.json"], "none.json"),
        (["rpso", "rpso"], "'rpso' occurs twice"),
        (["rpso", "--problems", "spere"], "did you mean 'sphere'"),
        (["rpso", "--problems", "sphere,sphere"], "twice"),
        (["rpso", "--problems", ""], "no problem given"),
        (["rpso", "--objective", "assessedmodels:single"], "got both"),
        (["rpso", "--dimension", "-1"], "at least"),
        (["rpso", "--samples", "0"], "--samples"),
        (["rpso", "--runs", "0"], "--runs"),
        (["rpso", "--budget", "2"], "--budget"),
        (["rpso", "--time-limit", "-1"], "positive"),
        (["rpso", "--store", "no/such/runs.db"], "folder"),
        (["rpso", "--variant", "shifted"], "--variant-seed"),
        ([], "CONTESTANTS"),
    ],
)
@pytest.mark.parametrize("command", ["assess", "compare"])
def test_an_invalid_call_is_explained_and_stores_nothing(models, command, arguments, words):
    before = sorted(os.listdir("."))
    ended = run(command, "--problems", "sphere", *SMALL, *arguments, code=2)
    assert words in flat(ended.stderr)
    assert [name for name in sorted(os.listdir(".")) if name != "__pycache__"] == before


def test_a_dimension_of_0_is_refused(tmp_path):
    run("assess", "centre", *BOTH, "--dimension", "0", "--no-attack", "--store", tmp_path / "s.db", code=2)


def test_unknown_measures_are_refused():
    assert "'value', 'attacked'" in run("compare", "rpso", *BOTH, "--by", "luck", code=2).stderr


def test_a_folder_that_does_not_exist_is_refused_before_the_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = run("assess", "centre", *BOTH, "--no-attack", "--csv", "no/such/a.csv", code=2)
    assert "folder that exists" in ended.stderr
    assert os.listdir(tmp_path) == []


def test_a_comparison_by_attacks_needs_attacks(tmp_path):
    run("compare", "centre", "random", *BOTH, "--no-attack", "--by", "attacked", "--store", tmp_path / "s.db", code=2)


def test_a_full_disk_exits_with_1(tmp_path, monkeypatch):
    def full(self, runs):
        raise StoreFullError("writing failed", "the disk is full", "Free disk space")

    monkeypatch.setattr(Store, "add_assessed_runs", full)
    assert "Free disk space" in run("assess", "centre", *BOTH, "--store", tmp_path / "s.db", code=1).stderr


def test_the_same_command_resumes_after_ctrl_c(tmp_path):
    path = tmp_path / "s.db"
    given = ["assess", "rpso", "--problems", "sphere", "--dimension", "10", "--no-attack", "--store", str(path)]
    command = [sys.executable, "-c", INTERRUPTIBLE, *given, "--runs", "100", "--workers", "1"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "assess: started" in child.stderr.readline()
    assert "of 100 runs" in child.stderr.readline()
    child.send_signal(signal.SIGINT)
    out, errors = child.communicate(timeout=60)
    assert child.returncode == 130
    assert f"completed runs are stored in {path}; the same command resumes" in errors
    assert "Traceback" not in errors
    assert out == ""
    assert os.listdir(tmp_path) == ["s.db"]
    with Store.read(path) as store:
        assert 10 <= len(store.assessed_runs()) < 100
    assert strict(run(*given, "--runs", 10, "--json").stdout)["new_runs"] == 0


def test_ctrl_c_before_the_first_run(tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("robustforge.assessment.api.AssessmentRunner", interrupted)
    assert "no run was completed" in run("assess", "rpso", *BOTH, code=130).stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("command", ["assess", "compare"])
def test_completed_runs_are_printed_if_the_store_is_lost(tmp_path, monkeypatch, command):
    path, whole = tmp_path / "s.db", Store.add_assessed_runs

    def losing(self, runs):
        whole(self, runs)
        if path.exists() and len(self.assessed_runs()) >= 6:
            path.unlink()

    monkeypatch.setattr(Store, "add_assessed_runs", losing)
    given = [command, "rpso", "random", *BOTH, "--no-attack", "--workers", 1, "--store", path]
    ended = run(*given, code=1)
    assert "rpso" in ended.stdout
    assert "was deleted" in ended.stderr
    assert "s.db-recovered" in ended.stderr
    monkeypatch.undo()
    with Store.read(tmp_path / "s.db-recovered") as store:
        assert len(store.assessed_runs()) >= 6


def test_iohprofiler(tmp_path):
    folder = tmp_path / "ioh"
    run("assess", "rpso", "--problems", "sphere", *SMALL, "--store", tmp_path / "r.db", "--iohprofiler", folder)
    found = [path.relative_to(folder).as_posix() for path in folder.rglob("*.json")]
    assert found == ["rpso/IOHprofiler_f1_sphere-3d.json"]
