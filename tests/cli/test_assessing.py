"""Assessing at the command line: what people see, what programs read, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

import robustforge as rf
from robustforge import cli
from robustforge.analysis import archive, read_evidence
from robustforge.cli.layout import WIDTH
from robustforge.errors import StoreFullError
from robustforge.store import Store

SMALL = "--dimension 3 --runs 6 --samples 200 --budget 150".split()  # noqa: SIM905
BOTH = ["--problems", "sphere,rastrigin", *SMALL]


def run(*arguments, code=0):
    ended = CliRunner(env={"COLUMNS": str(WIDTH)}).invoke(cli.main, [str(each) for each in arguments])
    assert ended.exit_code == code, ended.output
    assert "Traceback" not in ended.output
    assert ended.exception is None or isinstance(ended.exception, SystemExit)
    assert all(len(line) <= WIDTH for line in ended.stdout.splitlines()) or "--json" in arguments
    return ended


def flat(text):
    return " ".join(text.split())


def strict(text):
    """The record in a JSON text; NaN and Infinity are no JSON."""

    def refuse(word):
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "runs.db"
    run("assess", "rpso+dd", "random", "centre", *BOTH, "--store", path)
    return path


@pytest.fixture
def store(kept, tmp_path):
    """A store that holds all that the tests ask for, so that nothing is run."""
    return shutil.copy(kept, tmp_path / "runs.db")


def test_an_assessment_on_the_screen(store):
    ended = run("assess", "rpso+dd", "centre", *BOTH, "--store", store)
    assert "rpso+dd: 6 runs of 150 evaluations" in ended.stdout
    assert "centre: 6 runs of 150 evaluations" in ended.stdout
    assert "worst of 200 samples" in flat(ended.stdout)
    found = rf.assess("rpso+dd", rf.problem("sphere", 3), runs=6, samples=200, budget=150, store=store).summaries()[0]
    (line, _) = (line for line in ended.stdout.splitlines() if line.startswith("sphere-3d"))
    assert f"{found['mean']:,.4g}" in line
    assert f"{found['attacked']:,.4g}" in line
    assert [line[27:] for line in ended.stderr.splitlines()] == ["assess: started", "assess: done after 0 s"]


def test_the_runs_are_counted_while_they_are_made(tmp_path):
    ended = run("assess", "centre", *BOTH, "--no-attack", "--store", tmp_path / "s.db")
    assert re.fullmatch(r"20.{23}  assess: done after \d+ s, 12 of 12 runs", ended.stderr.splitlines()[-1])
    assert "left" in ended.stderr
    assert "ttacked" not in ended.stdout
    assert "unknown" not in ended.stdout


def test_a_comparison_on_the_screen(store):
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
    assert "Wilcoxon's rank-sum test at 95%" in flat(text)
    alone = run("compare", "rpso+dd", "centre", "--problems", "sphere", *SMALL, "--store", store).stdout
    assert "over all problems" not in alone


def test_a_comparison_by_attacks_has_the_samples_beside_them(store):
    text = run("compare", "rpso+dd", "random", *BOTH, "--store", store, "--by", "attacked").stdout
    (head, *_) = (line.split() for line in text.splitlines() if "median" in line)
    assert head == ["contestant", "runs", "mean", "median", "sampled", "p", "Holm", "A12"]
    mean, sampled = (float(text.split("random", 2)[1].split()[place].replace(",", "")) for place in (1, 3))
    assert sampled < mean


def test_one_run_is_a_run(tmp_path):
    calm = ("--runs", "1", "--store", tmp_path / "s.db", "--no-attack", "--samples", "50", "--budget", "50")
    text = run("assess", "random", "--problems", "sphere", "--dimension", "2", *calm).stdout
    assert text.startswith("random: 1 run of 50 evaluations")


def test_an_assessment_for_programs(store):
    record = strict(run("assess", "rpso+dd", "random", *BOTH, "--store", store, "--json").stdout)
    assert record["format"] == "robustforge-assessment/1"
    assert (record["runs"], record["new_runs"], record["failures"], record["reason"]) == (24, 0, 0, None)
    assert record["store"] == str(store)
    assert [(row["problem"], row["contestant"]) for row in record["summaries"]] == [
        (problem, name) for problem in ("sphere-3d", "rastrigin-3d") for name in ("rpso+dd", "random")
    ]
    assert {row["evaluations"] for row in record["anytime"]} <= {round(share * 1.5) for share in range(5, 101, 5)}


def test_a_comparison_for_programs(store):
    record = strict(run("compare", "rpso+dd", "centre", *BOTH, "--by", "attacked", "--store", store, "--json").stdout)
    assert record["format"] == "robustforge-comparison/1"
    assert record["measure"] == "attacked"
    assert sum(row["is_best"] for row in record["cells"]) == 2
    assert [row["contestant"] for row in record["ranks"]] == ["rpso+dd", "centre"]
    attacked = {(row["problem"], row["contestant"]): row["attacked"] for row in record["summaries"]}
    assert all(row["mean"] == attacked[row["problem"], row["contestant"]] for row in record["cells"])


def test_what_is_unknown_is_null(tmp_path):
    given = ["--problems", "sphere", "--dimension", 3, "--runs", 1, "--samples", 10, "--no-attack"]
    record = strict(run("assess", "centre", *given, "--store", tmp_path / "s.db", "--json").stdout)
    assert record["summaries"][0]["attacked"] is None
    assert record["summaries"][0]["se"] is None


def test_as_csv(store, tmp_path):
    run("assess", "rpso+dd", *BOTH, "--store", store, "--csv", tmp_path / "a.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    assert [row["problem"] for row in rows] == ["sphere-3d", "rastrigin-3d"]
    assert float(rows[0]["mean"]) <= float(rows[0]["attacked"])
    run("compare", "rpso+dd", "centre", *BOTH, "--store", store, "--csv", tmp_path / "c.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "c.csv").read_text())))
    assert [row["is_best"] for row in rows].count("True") == 2


def test_what_is_in_the_store_is_not_run_again_and_more_is_added(store):
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


def test_an_objective_that_always_fails_is_a_failure(models):
    few = ["--runs", 2, "--samples", 10, "--budget", 50, "--workers", 1]
    ended = run("compare", "random", "rpso", "--objective", "assessedmodels:hopeless", *few, code=1)
    assert "no licence" in flat(ended.output)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rpsoo"], "Did you mean 'rpso'"),
        (["rpso@1"], "at least 3"),
        (["none.json"], "none.json"),
        (["rpso", "rpso"], "'rpso' is there twice"),
        (["rpso", "--problems", "spere"], "Did you mean 'sphere'"),
        (["rpso", "--problems", "sphere,sphere"], "twice"),
        (["rpso", "--problems", ""], "none was named"),
        (["rpso", "--objective", "assessedmodels:single"], "both were given"),
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
def test_a_wrong_call_gets_a_sentence_and_leaves_nothing_behind(models, command, arguments, words):
    before = sorted(os.listdir("."))
    ended = run(command, "--problems", "sphere", *SMALL, *arguments, code=2)
    assert words in flat(ended.stderr)
    assert [name for name in sorted(os.listdir(".")) if name != "__pycache__"] == before


def test_no_variables_are_no_problem(tmp_path):
    run("assess", "centre", *BOTH, "--dimension", "0", "--no-attack", "--store", tmp_path / "s.db", code=2)


def test_other_words_than_the_measures_are_refused():
    assert "'value', 'attacked'" in run("compare", "rpso", *BOTH, "--by", "luck", code=2).stderr


def test_a_table_that_cannot_be_written_is_refused_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = run("assess", "centre", *BOTH, "--no-attack", "--csv", "no/such/a.csv", code=2)
    assert "folder that exists" in ended.stderr
    assert os.listdir(tmp_path) == []


def test_a_comparison_by_attacks_needs_attacks(tmp_path):
    run("compare", "centre", "random", *BOTH, "--no-attack", "--by", "attacked", "--store", tmp_path / "s.db", code=2)


def test_a_full_disk_is_a_failure_not_a_wrong_call(tmp_path, monkeypatch):
    def full(self, runs):
        raise StoreFullError("a store must be on a disk with room to write", "it is full", "Make room")

    monkeypatch.setattr(Store, "add_assessed", full)
    assert "Make room" in run("assess", "centre", *BOTH, "--store", tmp_path / "s.db", code=1).stderr


INTERRUPTIBLE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from robustforge.cli import main; main()"
)


def test_ctrl_c_keeps_everything_and_the_same_command_goes_on(tmp_path):
    path = tmp_path / "s.db"
    given = ["assess", "rpso", "--problems", "sphere", "--dimension", "10", "--no-attack", "--store", str(path)]
    command = [sys.executable, "-c", INTERRUPTIBLE, *given, "--runs", "100", "--workers", "1"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "assess: started" in child.stderr.readline()
    assert "of 100 runs" in child.stderr.readline()
    child.send_signal(signal.SIGINT)
    out, errors = child.communicate(timeout=60)
    assert child.returncode == 130
    assert f"what was run is in {path}; the same command goes on from there" in errors
    assert "Traceback" not in errors
    assert out == ""
    assert os.listdir(tmp_path) == ["s.db"]
    with Store.read(path) as store:
        assert 10 <= len(store.assessed()) < 100
    assert strict(run(*given, "--runs", 10, "--json").stdout)["new_runs"] == 0


def test_ctrl_c_before_anything_was_run_says_so(tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rf.assessment.entry, "Process", interrupted)
    assert "nothing was run yet" in run("assess", "rpso", *BOTH, code=130).stderr
    assert os.listdir(tmp_path) == []


def test_the_study_is_carried_out_as_asked(tmp_path, monkeypatch):
    asked = []

    def carry_out(scale, store, results, *, workers, announce, watch):
        asked.append((scale, store, results, workers))
        announce("30d/sphere: breeding")

    monkeypatch.setattr("robustforge.study.reproduce", carry_out)
    ended = run("reproduce", "--scale", "smoke", "--store", "s.db", "--results", "r", "--workers", 1)
    assert asked == [("smoke", "s.db", "r", 1)]
    assert ended.stdout.splitlines() == ["done: robustforge report r puts it onto a page"]
    lines = ["started", "30d/sphere: breeding", "done after 0 s, 30d/sphere: breeding"]
    assert [line[27:] for line in ended.stderr.splitlines()] == [f"reproduce: {line}" for line in lines]
    assert "'smoke', 'small', 'paper'" in run("reproduce", "--scale", "tiny", code=2).stderr


def test_a_study_that_is_interrupted_says_how_to_go_on(tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("robustforge.study.reproduce", interrupted)
    ended = run("reproduce", "--store", "s.db", code=130)
    assert "what was run is in s.db; the same command goes on from there" in ended.stderr


def test_results_of_another_scale_are_a_wrong_call(tmp_path):
    folder = tmp_path / "results" / "30d" / "rastrigin"
    rf.evolve(
        rf.problem("rastrigin", 30), name="30d/rastrigin", store=tmp_path / "s.db",
        population=3, generations=1, repeats=1, budget=50, samples=10, final_repeats=1, seed=9,
    )  # fmt: skip
    archive.write_outcome(read_evidence(tmp_path / "s.db").outcomes[0], folder)
    ended = run(
        "reproduce", "--scale", "smoke", "--store", tmp_path / "n.db", "--results", tmp_path / "results", code=2
    )
    assert "same scale" in ended.stderr
    assert not (tmp_path / "n.db").exists()


@pytest.mark.parametrize("command", ["assess", "compare"])
def test_a_store_that_is_lost_does_not_take_what_was_found_along(tmp_path, monkeypatch, command):
    path, whole = tmp_path / "s.db", Store.add_assessed

    def losing(self, runs):
        whole(self, runs)
        if path.exists() and len(self.assessed()) >= 6:
            path.unlink()

    monkeypatch.setattr(Store, "add_assessed", losing)
    given = [command, "rpso", "random", *BOTH, "--no-attack", "--workers", 1, "--store", path]
    ended = run(*given, code=1)
    assert "rpso" in ended.stdout
    assert "was deleted" in ended.stderr
    assert "s.db-rescued" in ended.stderr
    monkeypatch.undo()
    with Store.read(tmp_path / "s.db-rescued") as store:
        assert len(store.assessed()) >= 6
