"""`solve` of a test problem."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import pytest
from cli_runner import LONG, LONG_BUDGET, SOLVE_SPHERE, as_json, read_terminal, run, spawn

import robustforge as rf
from robustforge.cli import options


def test_solve_agrees_with_minimize():
    record = as_json(*SOLVE_SPHERE)
    result = rf.minimize(rf.problem("sphere", 3), budget=300, rng=1)
    assert record["x"] == result.x.tolist()
    assert record["worst_x"] == result.worst_x.tolist()
    for key in ("fun", "nominal_fun", "estimate", "nfev", "nit", "success", "message"):
        assert record[key] == getattr(result, key)
    assert rf.Heuristic.from_json(json.dumps(record["heuristic"])) == result.heuristic
    assert record["problem"] == {
        "name": "sphere", "dimension": 3, "variant": "original", "variant_seed": None, "outside": "evaluate",
    }  # fmt: skip
    assert record["seed"] == 1


def test_view_agrees_with_json():
    record, shown = as_json(*SOLVE_SPHERE), run(*SOLVE_SPHERE).stdout
    for key in ("fun", "nominal_fun", "estimate"):
        assert f"{record[key]:,.6g}" in shown
    assert "300" in shown
    assert "default/10d/emulator" in shown
    assert record["message"] in " ".join(shown.split())


def test_a_random_seed_is_printed_and_reproduces_the_result():
    drawn = as_json(*SOLVE_SPHERE[:-2])
    again = as_json(*SOLVE_SPHERE[:-1], str(drawn["seed"]))
    assert {**drawn, "seconds": 0} == {**again, "seconds": 0}


def test_all_options_reach_the_search(tmp_path):
    chosen = tmp_path / "mine.json"
    rf.heuristic("rpso+leh").save(chosen)
    options = ["--variant", "shifted", "--variant-seed", "3", "--out-of-bounds", "clip", "--on-failure", "unknown"]
    record = as_json(*SOLVE_SPHERE, *options, "--heuristic", str(chosen))
    problem = rf.problem("sphere", 3, "shifted", 3, out_of_bounds="clip")
    assert record["fun"] == rf.minimize(problem, budget=300, heuristic="rpso+leh", rng=1, on_failure="unknown").fun
    assert record["problem"]["variant_seed"] == 3


def test_an_engineering_problem_has_its_own_dimension():
    record = as_json("solve", "spring", "--budget", "60", "--seed", "1")
    assert record["problem"]["dimension"] == 3
    assert record["fun"] == rf.minimize(rf.problem("spring"), budget=60, rng=1).fun
    assert "spring has 3" in run("solve", "spring", "--dimension", "4", "--budget", "60", code=2).stderr


def test_saved_and_printed_results_agree(tmp_path):
    path = tmp_path / "result.json"
    record = as_json(*SOLVE_SPHERE, "-o", str(path))
    assert json.loads(path.read_text()) == record
    assert str(path) in run(*SOLVE_SPHERE, "-o", str(path)).stdout.replace("\n", "")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("not json", "a heuristic must be JSON"),
        ("[]", "must be a JSON object"),
        ("{}", 'must have "format"'),
        ('{"format": "robustforge-heuristic/1"}', "must have a field 'outer'"),
    ],
)
def test_an_invalid_heuristic_file(text, rule, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert rule in run("solve", "sphere", "--heuristic", str(path), code=2).stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk here")
def test_the_result_is_printed_if_it_cannot_be_saved():
    ended = run(*SOLVE_SPHERE, "-o", "/dev/full", code=1)
    assert "worst value found" in ended.stdout
    assert "Saved" not in ended.stdout
    assert "No space left" in ended.stderr


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_ctrl_c_prints_the_best_so_far(extra):
    process = spawn(*LONG, *extra, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr.readline() == "ready\n"
    assert "solve rastrigin-30d: started" in process.stderr.readline()
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    shown, said = process.communicate(timeout=30)
    assert process.returncode == options.INTERRUPTED, said
    ended, last = said.splitlines()
    assert "solve rastrigin-30d: interrupted after " in ended
    assert last == "interrupted: this is the best design so far"
    if extra:
        record = json.loads(shown)
        assert 0 < record["nfev"] < LONG_BUDGET
        assert not record["success"]
        assert record["message"].startswith("interrupted")
        assert len(record["x"]) == 30
    else:
        assert "worst value found" in shown


def test_ctrl_c_on_a_terminal_prints_the_best_so_far():
    ours, theirs = pty.openpty()
    process = spawn(*LONG, "--json", stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    assert "solving" in read_terminal(ours, rf"[1-9]\d*/{LONG_BUDGET}", 60)
    process.send_signal(signal.SIGINT)
    assert "interrupted: this is the best design so far" in read_terminal(ours, "interrupted: .*\n", 30)
    shown, _ = process.communicate(timeout=30)
    os.close(ours)
    assert process.returncode == options.INTERRUPTED
    assert 0 < json.loads(shown)["nfev"] < LONG_BUDGET


def test_the_result_is_the_same_on_a_terminal():
    ours, theirs = pty.openpty()
    process = spawn(*SOLVE_SPHERE, "--json", stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown, _ = process.communicate(timeout=60)
    os.close(ours)
    assert {**json.loads(shown), "seconds": 0} == {**as_json(*SOLVE_SPHERE), "seconds": 0}
