"""`evolve`: runs, interruptions, options, and the live view."""

from __future__ import annotations

import html
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from cli_runner import run
from rich.console import Console

import robustforge as rf
from robustforge.cli.views.live_evolution import EvolutionView, bars
from robustforge.errors import StoreFullError
from robustforge.store import Store

SMALL = "--population 5 --generations 2 --repeats 2 --budget 200 --samples 100 --final-repeats 4".split()  # noqa: SIM905


SPHERE = ["evolve", "sphere", "--dimension", "4", *SMALL, "--name", "one", "--store"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "runs.db"
    run(*SPHERE, path)
    return path


def test_evolve_champion_show_and_solve(tmp_path):
    path, champion = tmp_path / "runs.db", tmp_path / "champion.json"
    first = run(*SPHERE, path)
    heads = ["started", "generation 1 of 2, best ", "generation 2 of 2, best ", "done after "]
    lines = [line for line in first.stderr.splitlines() if "evolve one" in line and not line.endswith(" so far")]
    assert all(f"  evolve one: {words}" in line for words, line in zip(heads, lines, strict=True))
    assert "one: finished" in first.stdout
    again = run(*SPHERE, path)
    assert "no new runs" in again.stdout
    assert "generation 1 of 2" not in again.output
    listed = run("runs", path).stdout
    assert "one" in listed
    assert "2 of 2" in listed
    assert "finished" in listed
    saved = run("champion", path, "--name", "one", "-o", champion).stdout
    assert f"Savedto{champion}" in "".join(saved.split())  # wherever a long path is wrapped
    bred = rf.heuristic(champion)
    assert run("show", champion).stdout.count(bred.id) == 1
    solved = json.loads(run("solve", "sphere", "--dimension", 4, "--heuristic", champion, "--json", "--seed", 1).stdout)
    assert solved["heuristic"] == json.loads(bred.to_json())


LIKE_MARKUP = ["[/x]", "[bold]x[/bold]", ":warning:", "<b>$x$ & [x"]


@pytest.fixture(scope="module")
def oddly_named(tmp_path_factory):
    path = tmp_path_factory.mktemp("odd") / "runs.db"
    for name in LIKE_MARKUP:
        assert f"{name}: finished" in run(*SPHERE, path, "--name", name).stdout
    return path


@pytest.mark.parametrize("name", LIKE_MARKUP)
def test_a_name_like_markup_is_printed_literally(oddly_named, name):
    assert any(line.startswith(f"{name} ") for line in run("runs", oddly_named).stdout.splitlines())
    assert f"{name}: champion" in run("champion", oddly_named, "--name", name).stdout
    analysed = run("analyse", oddly_named, "--name", name, "--no-effects").stdout
    assert f"evolution    {name}\n" in analysed
    assert any(line.startswith(f"  {name} ") for line in analysed.splitlines())
    assert f" '{name}?'" in run("analyse", oddly_named, "--name", f"{name}?", code=2).stderr


def test_names_like_markup_on_a_page(oddly_named, tmp_path):
    page = tmp_path / "report.html"
    run("report", oddly_named, "-o", page)
    text = html.unescape(page.read_text())
    assert all(text.count(name) > 3 for name in LIKE_MARKUP)
    assert "<b>$x" not in page.read_text()


def test_an_evolution_that_is_named_twice_counts_once(store):
    once = run("analyse", store, "--name", "one", "--json").stdout
    assert run("analyse", store, "--name", "one", "--name", "one", "--json").stdout == once


def test_payloads_of_evolve_runs_and_champion(tmp_path):
    ended = run(*SPHERE, tmp_path / "r.db", "--json", "-o", tmp_path / "c.json")
    record = json.loads(ended.stdout)
    assert "generation 1 of 2" in ended.stderr
    assert record["finished"]
    assert record["runs"] == record["new_runs"] == 5 * 2 * 2 + 5 * 4
    assert record["champion"]["heuristic"] == json.loads((tmp_path / "c.json").read_text())
    assert record["champion"]["means"][0]["runs"] == 4
    (listed,) = json.loads(run("runs", tmp_path / "r.db", "--json").stdout)
    assert listed["champion"] == record["champion"]["id"]
    assert listed["settings"]["population"] == 5
    assert listed["fingerprint"] == rf.grammar("extended").fingerprint
    taken = json.loads(run("champion", tmp_path / "r.db", "--json").stdout)
    assert taken["means"] == record["champion"]["means"]
    assert taken["finished"]


def test_the_paper_to_the_letter(tmp_path):
    run(*SPHERE, tmp_path / "r.db", "--grammar", "letter", "-o", tmp_path / "c.json")
    assert rf.grammar("letter").holds(rf.heuristic(tmp_path / "c.json"))
    assert "in the letter's interpretation" in re.sub(r"\s+", " ", run("champion", tmp_path / "r.db").stdout)


def test_several_problems_and_restrictions(tmp_path):
    restrictions = [
        "--only",
        "network=ring,global",
        "--without",
        "leh",
        "--fix",
        "swarm.swarm_size=10",
        "--only",
        "outer=swarm",
    ]
    record = json.loads(
        run(
            "evolve",
            "sphere",
            "ackley",
            "--dimension",
            3,
            *SMALL,
            *restrictions,
            "--json",
            "--store",
            tmp_path / "s.db",
        ).stdout
    )
    assert record["name"] == "sphere-3d-and-1-more"
    champion = rf.Heuristic.from_json(json.dumps(record["champion"]["heuristic"]))
    assert champion.outer.agents == 10
    assert champion.outer.network.title in ("Ring", "Global")
    assert [row["problem"] for row in record["champion"]["means"]] == ["sphere-3d", "ackley-3d"]


MODELS = """
import robustforge as rf


def cost(x):
    return float(((x - 0.5) ** 2).sum())


def family(dimension):
    return [rf.Problem(cost, [(-1, 1)] * dimension, rf.Ball(r), name=f"r{r}") for r in (0.1, 0.2)]


single = rf.problem("sphere", 3)
both = [rf.problem("sphere", 3), rf.problem("ackley", 3)]
nothing = 3


def broken(dimension):
    raise RuntimeError("no licence")


def refused(x):
    raise RuntimeError("no licence")


hopeless = rf.Problem(refused, [(-1, 1)] * 3, rf.Ball(0.1))
"""


@pytest.fixture
def models(tmp_path, monkeypatch):
    (tmp_path / "mymodels.py").write_text(MODELS)
    (tmp_path / "badmodels.py").write_text("import nowhere_at_all")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name in ("mymodels", "badmodels"):
        sys.modules.pop(name, None)


def test_objective(models):
    record = json.loads(run("evolve", "--objective", "mymodels:family", "--dimension", 3, *SMALL, "--json").stdout)
    assert [problem["name"] for problem in record["problems"]] == ["r0.1", "r0.2"]
    assert record["failures"] == 0
    record = json.loads(run("evolve", "--objective", "mymodels:both", *SMALL, "--json").stdout)
    assert [problem["dimension"] for problem in record["problems"]] == [3, 3]
    assert os.path.exists("runs.db")  # the default


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--objective", "mymodels"], "module:name"),
        (["--objective", "nomodels:x"], "importing 'nomodels' failed"),
        (["--objective", "badmodels:x"], "nowhere_at_all"),
        (["--objective", "mymodels:x"], "has no 'x'"),
        (["--objective", "mymodels:nothing"], "mymodels:nothing is 3"),
        (["--objective", "mymodels.py:family"], "Write mymodels:family"),
        (["--objective", "mymodels:broken", "--dimension", "3"], "no licence"),
        (["--objective", "mymodels:single", "--dimension", "4"], "3 variables, not 4"),
        (["--objective", "mymodels:single", "sphere"], "got both"),
        ([], "no problem given"),
        (["spere"], "did you mean 'sphere'"),
        (["sphere", "--population", "2"], "larger than the number of elites"),
        (["sphere", "--only", "network="], "--only"),
        (["sphere", "--grammar", "paper", "--without", "swarm"], "nothing is left"),
        (["sphere", "--without", "leh", "--only", "relocation=Random relocation"], "contradict"),
        (["sphere", "--fix", "swarm.swarm_size=1"], "from 2 to 50"),
        (["sphere", "--fix", "swarm.swarm_size=nan"], "from 2 to 50"),
        (["sphere", "--fix", "c3=1e400"], "from 0 to 3"),
        (["sphere", "--workers", "2", "--dask", "tcp://127.0.0.1:9"], "--workers"),
        (["--objective", "mymodels:single", "--variant", "shifted"], "Set them in your Problem"),
        (["sphere", "--samples", "2000000"], "at most 1,000,000"),
        (["sphere", "--grammar", "papers"], "'paper'"),
        (["sphere", "--time-limit", "-1"], "positive"),
        (["sphere", "--store", "no/such/runs.db"], "folder"),
        (["sphere", "--dask", "tcp://127.0.0.1:9"], "no scheduler answered"),
        (["sphere", "--dask", "nonsense"], "not a valid address"),
        (["sphere", "--variant", "shifted"], "--variant-seed"),
    ],
)
def test_an_invalid_call_is_explained_and_stores_nothing(models, arguments, words):
    before = sorted(os.listdir("."))
    ended = run("evolve", *SMALL, *arguments, code=2)
    assert words in ended.stderr.replace("\n", " ")
    assert [name for name in sorted(os.listdir(".")) if name != "__pycache__"] == before


def test_other_settings_are_refused(store):
    before = store.read_bytes()
    ended = run(*SPHERE, store, "--seed", "2", code=2)
    assert "seed is 1 in the store, 2 now" in ended.stderr
    assert store.read_bytes() == before


@pytest.mark.parametrize("command", ["evolve", "runs", "champion"])
def test_a_foreign_file_is_refused(tmp_path, command):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    arguments = [*SPHERE, path] if command == "evolve" else [command, path]
    assert "another program" in run(*arguments, code=2).stderr
    assert path.read_bytes() == before


def test_missing_stores_and_names(tmp_path, store):
    assert "there is no" in run("runs", tmp_path / "none.db", code=2).stderr
    assert "'two'" in run("champion", store, "--name", "two", code=2).stderr


def test_champion_needs_a_name_in_a_store_with_several_evolutions(tmp_path):
    for name in ("one", "two"):
        run(*SPHERE, tmp_path / "s.db", "--name", name)
    assert "has: one, two" in run("champion", tmp_path / "s.db", code=2).stderr


def test_champion_of_an_unfinished_evolution(tmp_path):
    def stop(evolution):
        raise StopIteration

    settings = {"population": 5, "generations": 3, "repeats": 2, "budget": 200, "samples": 100}
    stopped = rf.evolve(rf.problem("sphere", 3), store=tmp_path / "s.db", callback=stop, **settings)
    ended = run("champion", tmp_path / "s.db", "-o", tmp_path / "best.json")
    assert "best of generation 1 of 3" in ended.stdout
    assert rf.heuristic(tmp_path / "best.json") == stopped.champion
    assert "interrupted" in run("runs", tmp_path / "s.db").stdout
    with Store.open(tmp_path / "s.db"):
        assert "running" in run("runs", tmp_path / "s.db").stdout


def test_a_full_disk_exits_with_1(tmp_path, monkeypatch):
    def full(self, experiment, runs):
        raise StoreFullError("writing failed", "the disk is full", "Free disk space")

    monkeypatch.setattr(Store, "add_runs", full)
    assert "Free disk space" in run(*SPHERE, tmp_path / "s.db", code=1).stderr


def test_the_same_command_resumes_after_ctrl_c(tmp_path):
    long = [*SPHERE, tmp_path / "s.db", "--generations", "400", "--population", "20", "--repeats", "20"]
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from robustforge.cli import main; main()"
    )
    command = [sys.executable, "-c", code, *map(str, long)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "evolve one: started" in child.stderr.readline()
    assert "evolve one: generation 1 of 400" in child.stderr.readline()
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert child.returncode == 130
    assert "the same command resumes" in errors
    assert "Traceback" not in errors
    with Store.read(tmp_path / "s.db") as store:
        before = store.count_runs(store.experiment("one"))[0]
    assert before >= 400
    assert os.listdir(tmp_path) == ["s.db"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "evolve one: started" in child.stderr.readline()
    assert child.stderr.readline().endswith(f"evolve one: resumed, {before:,} runs are stored\n")
    assert "evolve one: generation " in child.stderr.readline()
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGINT)  # impatient
    _, errors = child.communicate(timeout=30)
    assert child.returncode == 130
    assert "Traceback" not in errors
    with Store.read(tmp_path / "s.db") as store:
        assert store.count_runs(store.experiment("one"))[0] > before


def test_an_objective_that_always_fails_exits_with_1(models):
    ended = run("evolve", "--objective", "mymodels:hopeless", *SMALL, "-o", "c.json", code=1)
    assert "no licence" in ended.stderr
    assert not os.path.exists("c.json")
    assert not os.path.exists("runs.db")


def test_the_live_view():
    problems = [rf.problem("sphere", 3), rf.problem("ackley", 3)]
    settings = {"population": 5, "generations": 2, "repeats": 2, "budget": 200, "samples": 100, "final_repeats": 3}
    shown = []

    def look(evolution):
        console = Console(width=80, record=True, file=io.StringIO())
        view = EvolutionView(evolution.name)
        view.update(evolution)
        console.print(view)
        shown.append(console.export_text())

    evolution = rf.evolve(problems, callback=look, **settings)
    look(evolution)
    assert "1 of 2" in shown[0]
    assert "20 of 20 runs" in shown[0]
    assert "2 of 2" in shown[1]
    assert "finalists" in shown[2]
    assert "runs/s" in shown[2]
    assert evolution.population[0].describe(200).splitlines()[0][2:40] in shown[2]
    assert max(len(line.rstrip()) for text in shown for line in text.splitlines()) <= 80
    evolution.name, evolution.failure_reasons["ValueError: [/no] :x:"] = "[/x] :x:", 3
    look(evolution)
    assert "Evolving [/x] :x:" in shown[-1]  # nothing is taken for markup
    assert "3 runs: ValueError: [/no] :x:" in shown[-1]


def test_bars():
    assert bars([3.0, 2.0, 1.0, float("inf")]) == "█▅▁█"
    assert bars([float("inf")]) == ""
    assert bars([1.0, 1.0]) == "▁▁"


def test_goals(tmp_path):
    store, page = tmp_path / "g.db", tmp_path / "g.html"
    given = ["evolve", "multipeak-f1", "sphere", "--dimension", 3, *SMALL, "--store", store]
    record = json.loads(run(*given, "--goals", "-0.5,12", "--goal-margin", "0.05", "--json").stdout)
    assert record["settings"]["goals"] == [-0.5, 12.0]
    assert record["settings"]["margin"] == 0.05
    run("report", store, "-o", page)
    assert "--goals=-0.5,12.0" in page.read_text().replace("<wbr>", "")
    told = run(*given, "--goals", "1,2,3", code=2)
    assert "got 3 for multipeak-f1-3d, sphere-3d" in told.stderr


def test_variants_and_resampled_instances(tmp_path):
    options = ["--variants", "shifted, shifted-rotated", "--resample-instances"]
    options += ["--criterion", "regret", "--tie-threshold", "0.01"]
    store = tmp_path / "v.db"
    record = json.loads(
        run("evolve", "sphere", "ackley", "--dimension", 3, *SMALL, *options, "--json", "--store", store).stdout
    )
    names = ["sphere-3d-shifted-1", "ackley-3d-shifted-1", "sphere-3d-shifted-rotated-1", "ackley-3d-shifted-rotated-1"]
    assert [each["name"] for each in record["problems"]] == names
    assert (record["settings"]["fresh"], record["settings"]["criterion"], record["settings"]["tie"]) == (
        *(True, "sizes"),
        0.01,
    )
    page = tmp_path / "v.html"
    run("report", store, "-o", page)
    text = " ".join(re.sub(r"<[^>]+>", "", page.read_text()).split())
    assert "--variants shifted,shifted-rotated" in text
    assert "--resample-instances" in text
    wrong = run("evolve", "sphere", "--variant", "shifted", "--variant-seed", 1, "--variants", "all", *SMALL, code=2)
    assert "variants are given by --variant or by --variants" in wrong.stderr
    assert "unknown variant 'moved'" in run("evolve", "sphere", "--variants", "moved", *SMALL, code=2).stderr


def test_successive_halving(tmp_path):
    options = ["--method", "halving", "--initial-population", 8, "--generations", 2, "--repeats", 2]
    record = json.loads(
        run("evolve", "sphere", "--dimension", 3, *SMALL, *options, "--json", "--store", tmp_path / "r.db").stdout
    )
    assert record["settings"]["method"] == "race"
    assert record["finished"]


def test_progress_within_a_generation_is_logged_regularly(tmp_path, monkeypatch):
    monkeypatch.setattr("robustforge.cli.log.INTERVAL", 0.02)
    ended = run(*SPHERE, tmp_path / "s.db", "--budget", "2000", "--samples", "10000", "--workers", "1", "--json")
    json.loads(ended.stdout)
    found = re.findall(r"evolve one: (?:generation [12] of 2|finalists), \d+ of \d+ runs.* so far\n", ended.stderr)
    assert len(found) >= 3


def test_the_best_so_far_is_printed_if_the_store_is_lost(tmp_path, monkeypatch):
    path, output = tmp_path / "s.db", tmp_path / "best.json"
    whole = Store.add_generation

    def losing(self, experiment, generation, best_first):
        whole(self, experiment, generation, best_first)
        if generation == 0:
            path.unlink()

    monkeypatch.setattr(Store, "add_generation", losing)
    ended = run(*SPHERE, path, "-o", output, code=1)
    assert "one: stopped after 1 of 2 generations" in ended.stdout
    assert "was deleted" in ended.stderr
    assert "s.db-recovered" in ended.stderr
    assert isinstance(rf.heuristic(output), rf.Heuristic)
    monkeypatch.undo()
    os.replace(tmp_path / "s.db-recovered", path)
    record = json.loads(run(*SPHERE, path, "--json").stdout)
    assert record["new_runs"] < record["runs"]
    undisturbed = json.loads(run(*SPHERE, tmp_path / "whole.db", "--json").stdout)
    assert (record["champion"], record["generations"]) == (undisturbed["champion"], undisturbed["generations"])
