"""The examples run, and show what they say."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"

needs_ngspice = pytest.mark.skipif(shutil.which("ngspice") is None, reason="ngspice is not installed")


def run(*arguments, folder, code=0):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def test_a_python_objective(tmp_path):
    lines = run(EXAMPLES / "python_objective.py", folder=tmp_path).splitlines()
    nominal, found, attacked = (float(line.split()[-1]) for line in (lines[1], lines[2].split(" by ")[0], lines[2]))
    assert nominal <= found <= attacked


def test_ask_and_tell(tmp_path):
    assert run(EXAMPLES / "ask_and_tell.py", folder=tmp_path).startswith("300 measurements on ")


def test_a_family(tmp_path):
    text = run(EXAMPLES / "family.py", "--generations", "2", folder=tmp_path)
    assert [line.split()[0] for line in text.splitlines()] == ["evolved", "default"]


def test_a_cluster(tmp_path):
    pytest.importorskip("distributed")
    assert "the same without a cluster: True" in run(EXAMPLES / "cluster.py", folder=tmp_path)


@pytest.fixture
def filter_folder(tmp_path):
    return Path(shutil.copytree(EXAMPLES / "filter", tmp_path / "filter"))


@needs_ngspice
def test_the_simulator_agrees_with_the_formula(filter_folder):
    code = (
        "import numpy as np, robustforge as rf, ladder\n"
        "file = rf.read_problem_file('filter.toml')\n"
        "for x in np.random.default_rng(1).uniform(*ladder.BOUNDS.T, (5, 6)):\n"
        "    assert abs(file.problem(np.exp(x)) - ladder.deviation(np.exp(x))) < 1e-3\n"
    )
    run("-c", code, folder=filter_folder)


@needs_ngspice
def test_the_filter_from_end_to_end(filter_folder):
    cli = ("-m", "robustforge.cli")
    assert "worst_deviation" not in run(*cli, "check", "filter.toml", folder=filter_folder)
    for name, output in (("filter", "robust"), ("nominal", "nominal")):
        run(*cli, "solve", f"{name}.toml", "--budget", "60", "-o", f"{output}.json", folder=filter_folder)
        assert json.loads((filter_folder / f"{output}.json").read_text())["runs"] == 60
    assert "20 further runs" in run(*cli, "verify", "filter.toml", "--budget", "20", folder=filter_folder)
    text = run("bands.py", "nominal.json", "robust.json", folder=filter_folder)
    assert [line.split()[0] for line in text.splitlines()] == ["design", "nominal", "robust", "the"]
    assert (filter_folder / "bands.svg").stat().st_size > 10_000
    run(*cli, "report", "filter.db", "-o", "filter.html", folder=filter_folder)
