"""Files that version 0.1.0 wrote stay readable: one of each kind, in `tests/data/0.1.0`."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import robustforge as rf

DATA = Path(__file__).parent / "data" / "0.1.0"
CHAMPION = "246ba16bedf5b8c9"
SETTINGS = {"population": 6, "generations": 3, "repeats": 2, "budget": 120, "samples": 200}
SETTINGS |= {"finalists": 2, "final_repeats": 3}


@pytest.fixture
def folder(tmp_path):
    """A copy of the files: opening a store to write brings its tables up to date."""
    return Path(shutil.copytree(DATA, tmp_path / "0.1.0"))


def command(*arguments, cwd, code=0):
    """Run the command line; return what it prints on standard output."""
    ended = subprocess.run(
        [sys.executable, "-m", "robustforge", *arguments], cwd=cwd, capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended.stdout


def model(x):
    return float(sum((x - 1.0) ** 2) + abs(x[0] * x[1]))


def test_a_heuristic_file_is_read():
    assert rf.heuristic(str(DATA / "heuristic.json")).id == CHAMPION


@pytest.mark.parametrize("line", (DATA / "heuristics.jsonl").read_text().splitlines(), ids=lambda line: line[7:23])
def test_all_components_of_heuristics_are_read_and_keep_their_identity(line):
    stored = json.loads(line)
    assert rf.Heuristic.from_json(json.dumps(stored["heuristic"])).id == stored["id"]


def test_a_saved_search_is_read_and_resumes():
    search = rf.Optimizer.load(DATA / "search.json")
    assert search.nfev == 30
    assert search.fingerprint == "6e320a826b945ebb4c19d17525af71e53d7afa950b46302924385af340c65565"
    assert search.ask().ids.tolist() == list(range(30, 40))
    while batch := search.ask():
        for number, x in batch:
            search.tell(number, model(x))
    result = search.result()
    assert result.x.tolist() == [0.5056974394169216, 0.6469877142426925, 1.8432039883291371]
    assert result.fun == result.nominal_fun == 1.4071256916554868


def test_a_saved_search_whose_points_have_other_bits_now_is_refused():
    with pytest.raises(rf.RobustforgeError, match="version that saved it"):
        rf.Optimizer.load(DATA / "search-ball.json")


def test_a_result_is_verified(folder):
    found = json.loads(command("verify", "result.json", "--samples", "1000", "--json", cwd=folder))
    assert found["nominal_fun"] == 0.041812269105678805
    assert found["x"] == [19.81389504634189, 19.947775464828087, 20.066706920598012]


def test_the_list_of_a_store(folder):
    found = json.loads(command("runs", "runs.db", "--json", cwd=folder))
    text = command("runs", "runs.db", cwd=folder)
    assert "first" in text and "divider" in text and "rpso+dd" in text  # noqa: PT018
    assert "first" in json.dumps(found)


def test_the_champion_of_a_stored_evolution(folder):
    command("champion", "runs.db", "--name", "first", "-o", "champion.json", cwd=folder)
    assert rf.heuristic(str(folder / "champion.json")).id == CHAMPION


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # its settings have their former names
def test_a_stored_evolution_of_other_bits_is_not_resumed_and_stays_as_it_is(folder):
    problems = [rf.problem("sphere", 3), rf.problem("ackley", 3)]
    before = command("champion", "runs.db", "--json", cwd=folder)
    with pytest.raises(rf.RobustforgeError, match="'first'"):
        rf.evolve(problems, store=folder / "runs.db", name="first", seed=5, refinement=0.2, **SETTINGS)
    assert command("champion", "runs.db", "--json", cwd=folder) == before


def test_stored_runs_of_contestants_are_used_again(folder):
    found = rf.assess(
        ["rpso+dd", "random"],
        rf.problem("sphere", 3),
        runs=2,
        samples=500,
        budget=120,
        seed=2,
        store=folder / "runs.db",
    )
    assert sorted(run.value for run in found.runs) == [
        2.706679937221831,
        3.920152089422354,
        5.137846256545307,
        6.083444467735177,
    ]


def test_the_components_of_a_stored_evolution_are_analysed(folder):
    assert "first" in command("analyse", "runs.db", cwd=folder)


def test_a_report_of_a_whole_store(folder):
    command("report", "runs.db", "-o", "report.html", cwd=folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    for name in ("first", "divider", "rpso+dd", "R1", "7,302"):
        assert name in page, name


def test_a_finished_search_is_read_and_verified(folder):
    command("runs", "runs.db", "--csv", "divider.csv", "--name", "divider", cwd=folder)
    rows = list(csv.DictReader((folder / "divider.csv").read_text().splitlines()))
    assert len(rows) == 80
    assert rows[59]["value"] == "0.10118945472179802"
    found = json.loads(command("verify", "divider.toml", "--store", "runs.db", "--budget", "20", "--json", cwd=folder))
    assert found["nominal"] == pytest.approx(0.101189, rel=1e-5)
    assert found["worst"] == pytest.approx(0.160127, rel=1e-5)


def test_a_search_of_other_bits_is_refused_and_its_runs_are_prior_runs_of_another(folder):
    arguments = ("solve", "divider.toml", "--store", "regression.db", "--heuristic", "champion/10d/few")
    ended = subprocess.run(
        [sys.executable, "-m", "robustforge", *arguments], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 2
    assert "the stored search 'divider' cannot be replayed" in ended.stderr
    assert "60 of 60" in command("runs", "regression.db", cwd=folder)
    command("runs", "regression.db", "--csv", "prior.csv", cwd=folder)
    (folder / "next.toml").write_text('data = "prior.csv"\n' + (folder / "divider.toml").read_text())
    found = json.loads(command("solve", "next.toml", "--name", "next", "--json", cwd=folder))
    assert (found["runs"], found["found"]) == (60, True)


def test_an_interrupted_search_resumes(folder):
    arguments = ("solve", "half.toml", "--store", "half.db", "--heuristic", "rpso+dd", "--json")
    found = json.loads(command(*arguments, cwd=folder))
    assert found["runs"] == 40
