"""The commands as a whole: help, errors and exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from typing import get_args

import numpy as np
import pytest
from cli_runner import SOLVE_SPHERE, run

import robustforge as rf
from robustforge import cli
from robustforge.cli import options
from robustforge.cli.payloads.json_text import to_json
from robustforge.engine.optimizer import OnFailure
from robustforge.errors import ObjectiveError
from robustforge.robust_problem.problem import OutOfBounds, Variant


@pytest.mark.parametrize("command", [[], *([name] for name in cli.main.list_commands(None))])
def test_help_has_an_example(command):
    shown = run(*command, "--help").stdout
    assert "Example" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_version():
    assert rf.__version__ in run("--version").stdout


def test_help_does_not_import_numba():
    code = (
        "import sys; from robustforge.cli import main; main(['--help'], standalone_mode=False); "
        "sys.exit(any(name in sys.modules for name in ('numba', 'numpy', 'scipy', 'rich')))"
    )
    times, bare = [], []
    for _ in range(10):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import click"], check=True)
        bare.append(time.perf_counter() - started)
        started = time.perf_counter()
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        times.append(time.perf_counter() - started)
        assert ended.returncode == 0, ended.stderr
        assert "solve" in ended.stdout
    assert min(times) < max(0.3, 3.0 * min(bare))  # 0.1 s on a quiet machine; by what click takes on a busy one


def test_choices_agree_with_the_library():
    assert get_args(Variant) == options.VARIANTS
    assert get_args(OutOfBounds) == options.OUT_OF_BOUNDS
    assert get_args(OnFailure) == options.ON_FAILURE


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["solve", "rastrigni"], "did you mean 'rastrigin'"),
        (["solve", "sphere", "--dimension", "0"], "dimension of at least 1"),
        (["solve", "rosenbrock", "--dimension", "1"], "dimension of at least 2"),
        (["solve", "sphere", "--dimension", "-3"], "dimension of at least 1"),
        (["solve", "sphere", "--dimension", "two"], "not a valid integer"),
        (["solve", "sphere", "--budget", "1"], "`budget` must be an integer of at least 3"),
        (["solve", "sphere", "--budget", str(10**15)], "must fit into memory"),
        (["solve", "sphere", "--dimension", str(10**30)], "not enough memory"),
        (["solve", "sphere", "--seed", "-1"], "is not in the range x>=0"),
        (["solve", "sphere", "--heuristic", "rpso+d"], "did you mean 'rpso+dd'"),
        (["solve", "sphere", "--heuristic", "nowhere.json"], "a heuristic must be a readable file"),
        (["solve", "sphere", "--variant", "shifted"], "needs a seed"),
        (["solve", "sphere", "--variant-seed", "3"], "requires a shifted or rotated"),
        (["solve", "sphere", "--variant", "bent", "--variant-seed", "3"], "'bent' is not one of"),
        (["solve", "sphere", "--out-of-bounds", "inside"], "'inside' is not one of"),
        (["solve", "sphere", "-o", "no/such/folder/result.json"], "folder that exists"),
        (["solve"], "missing argument"),
        (["slove", "sphere"], "no such command"),
        (["heuristics", "rpso"], "unexpected extra argument"),
        (["show", "rspo"], "did you mean 'rpso'"),
        (["show", "nowhere.json"], "a heuristic must be a readable file"),
        (["show", "rpso", "--budget", "2"], "is not in the range x>=3"),
        (["show", "rpso", "-o", "no/such/folder/mine.json"], "folder that exists"),
        (["grammar", "papr"], "did you mean 'paper'"),
        (["grammar", "--only", "ring"], "--only must have the form NAME=VALUE; got 'ring'"),
        (["grammar", "--only", "network="], "--only must have the form NAME=VALUE"),
        (["grammar", "--only", "netwrk=ring"], "did you mean 'network'"),
        (["grammar", "--only", "network=ring,sphere"], " 'sphere'"),
        (["grammar", "--without", "everything"], " 'everything'"),
        (["grammar", "--fix", "swarm_size"], "--fix must have the form NAME=VALUE"),
        (["grammar", "--fix", "swarm_size=1"], "an integer from 2 to 50"),
        (["grammar", "--fix", "swarm_size=20", "--fix", "swarm_size=3"], "swarm_size is fixed twice"),
        (["grammar", "--fix", "c1=1"], "'c1' matches several fields"),
        (["components", "netwrk"], "did you mean 'network'"),
        (["verify", "nowhere.json"], "cannot read the result"),
        (["verify", "."], "cannot read the result"),
        (["verify", "sphere"], "no design given for sphere"),
        (["verify", "result.json", "--dimension", "3"], "has its own problem"),
        (["verify", "rastrigni", "--x", "20"], "did you mean 'rastrigin'"),
        (["verify", "sphere", "--x", "20,twenty"], "--x must be finite numbers"),
        (["verify", "sphere", "--x", "nan"], "--x must be finite numbers"),
        (["verify", "sphere", "--x", "1,2", "--dimension", "3"], "got 2 for 3 variables"),
        (["verify", "sphere", "--x", "1", "--dimension", "0"], "dimension of at least 1"),
    ],
)
def test_an_invalid_call_is_explained_and_exits_with_2(arguments, rule):
    ended = run(*arguments, code=2)
    assert rule in " ".join(ended.stderr.lower().split()) if rule.islower() else rule in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize("name", ["nothing", "foo", "quadratic"])
def test_a_name_that_resembles_none_gets_no_suggestion(name):
    message = run("solve", name, code=2).stderr
    assert f"unknown problem {name!r}. `robustforge problems` lists all." in message
    assert "did you mean" not in message


def test_an_error_is_one_line():
    assert re.fullmatch(r"error: [^\n]+\n", run("solve", "rastrigni", code=2).stderr)


def test_a_failed_objective_exits_with_1(monkeypatch):
    def fail(*arguments, **options):
        raise ObjectiveError("the objective must return a number", "it returned\nNaN")

    monkeypatch.setattr(rf, "minimize", fail)
    *_, last = run(*SOLVE_SPHERE, code=1).stderr.splitlines()
    assert last == "error: the objective must return a number; it returned NaN."


@pytest.mark.parametrize("command", ["components", "components --json", "heuristics", "show rpso", "grammar"])
def test_a_closed_pipe_ends_quietly(command):
    line = f"{sys.executable} -c 'from robustforge.cli import main; main()' {command} | head -n 1"
    ended = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert len(ended.stdout.splitlines()) == 1
    assert ended.stderr == ""


@pytest.mark.parametrize(
    "command",
    [
        ["problems"],
        ["heuristics"],
        ["show", "rpso+dd+leh"],
        ["components"],
        ["help"],
        ["grammar"],
        ["grammar", "extended"],
        SOLVE_SPHERE,
    ],
)
def test_views_fit_80_columns(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, run(*command).stdout.splitlines())) <= 80


def test_numbers_that_are_not_finite_are_null():
    text = to_json({"fun": np.inf, "worst_x": [np.nan, 1.0], "nested": {"estimate": -np.inf}})
    assert json.loads(text) == {"fun": None, "worst_x": [None, 1.0], "nested": {"estimate": None}}
