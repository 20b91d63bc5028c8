"""The command line as a user meets it: screens, JSON, wrong calls, pipes and Ctrl-C."""

from __future__ import annotations

import dataclasses
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from click.testing import CliRunner

import robustforge as rf
from robustforge import cli, components
from robustforge.cli import records
from robustforge.core.component import Component
from robustforge.engine.optimizer import OnFailure
from robustforge.errors import ObjectiveError
from robustforge.problem.problem import Outside, Variant

SOLVE = ["solve", "sphere", "--dimension", "3", "--budget", "300", "--seed", "1"]
LONG = ["solve", "rastrigin", "--heuristic", "rpso+dd", "--budget", "400000", "--seed", "1"]

needs_verify = pytest.mark.skipif(not hasattr(rf, "verify"), reason="rf.verify does not exist yet")


def run(*arguments, code=0, stdin=None):
    """Run a command in this process; whatever its end, there is no stack trace."""
    ended = CliRunner().invoke(cli.main, list(arguments), input=stdin)
    assert ended.exit_code == code, ended.output
    assert "Traceback" not in ended.output
    assert ended.exception is None or isinstance(ended.exception, SystemExit)
    return ended


def as_json(*arguments, **options):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(run(*arguments, "--json", **options).stdout, parse_constant=refuse)


def spawn(*arguments, **options):
    """Start a command in a process of its own; it says "ready" on stderr once the engine is compiled."""
    code = (
        "import sys; from robustforge.engine import compilation; from robustforge.cli import main; "
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "compilation.prepare_all(); print('ready', file=sys.stderr, flush=True); main()"
    )
    environment = {**os.environ, "ROBUSTFORGE_QUIET": "1"}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment, text=True, **options)


# --- the listings


def test_problems_lists_all_of_them():
    shown = run("problems").stdout
    every = [*rf.problems(), *rf.problems("held-out")]
    assert all(name in shown for name in every)
    assert [row["name"] for row in as_json("problems")] == every


def test_heuristics_lists_all_of_them():
    shown = run("heuristics").stdout
    assert all(name in shown for name in rf.heuristics())
    assert {row["name"]: row["id"] for row in as_json("heuristics")} == {
        name: rf.heuristic(name).id for name in rf.heuristics()
    }


def test_components_lists_every_component_class_and_every_field():
    rows = as_json("components")
    listed = {part["summary"]: part for row in rows for part in row["components"]}
    shown = run("components").stdout
    for name in components.__all__:
        cls = getattr(components, name)
        if isinstance(cls, type) and issubclass(cls, Component) and not cls.is_slot:
            part = listed[cls.summary()]
            assert part["beyond_paper"] == cls.extension
            assert part["source"] == cls.source
            assert [field["name"] for field in part["fields"]] == [field.name for field in dataclasses.fields(cls)]
            assert cls.title in shown


def test_components_come_slot_by_slot_and_fields_with_their_ranges():
    slots = [row["slot"] for row in as_json("components")]
    wanted = {
        "outer",
        "network",
        "baseline",
        "mutation",
        "movement",
        "descent",
        "relocation",
        "clamp",
        "inner form",
        "inner",
    }
    assert wanted <= set(slots)
    assert len(slots) == len(set(slots))
    (clamp,) = as_json("components", "clamp")
    fraction = clamp["components"][1]["fields"][0]
    assert (fraction["name"], fraction["range"]) == ("fraction", {"low": 0.005, "high": 0.5, "log": True})
    assert "Width +" in run("components", "clamp").stdout


@pytest.mark.parametrize("name", ["inner-form", "inner form", "form", "Inner_Form"])
def test_a_slot_may_be_spelt_in_several_ways(name):
    assert as_json("components", name)[0]["slot"] == "inner form"


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
        SOLVE,
    ],
)
def test_screens_fit_80_columns(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, run(*command).stdout.splitlines())) <= 80


# --- solve


def test_solve_answers_as_the_library_does():
    record = as_json(*SOLVE)
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


def test_the_screen_shows_what_the_json_holds():
    record, shown = as_json(*SOLVE), run(*SOLVE).stdout
    for key in ("fun", "nominal_fun", "estimate"):
        assert f"{record[key]:,.6g}" in shown
    assert "300" in shown
    assert "champion/10d/few" in shown
    assert record["message"] in shown


def test_same_seed_same_answer_and_a_drawn_seed_is_told():
    drawn = as_json(*SOLVE[:-2])
    again = as_json(*SOLVE[:-1], str(drawn["seed"]))
    assert {**drawn, "seconds": 0} == {**again, "seconds": 0}


def test_all_options_reach_the_search(tmp_path):
    chosen = tmp_path / "mine.json"
    rf.heuristic("rpso+leh").save(chosen)
    options = ["--variant", "shifted", "--variant-seed", "3", "--outside", "clip", "--on-failure", "unknown"]
    record = as_json(*SOLVE, *options, "--heuristic", str(chosen))
    problem = rf.problem("sphere", 3, "shifted", 3, outside="clip")
    assert record["fun"] == rf.minimize(problem, budget=300, heuristic="rpso+leh", rng=1, on_failure="unknown").fun
    assert record["problem"]["variant_seed"] == 3


def test_saved_and_printed_are_the_same(tmp_path):
    path = tmp_path / "result.json"
    record = as_json(*SOLVE, "-o", str(path))
    assert json.loads(path.read_text()) == record
    assert str(path) in run(*SOLVE, "-o", str(path)).stdout.replace("\n", "")


def test_numbers_that_are_not_finite_are_null():
    text = records.to_json({"fun": np.inf, "worst_x": [np.nan, 1.0], "nested": {"estimate": -np.inf}})
    assert json.loads(text) == {"fun": None, "worst_x": [None, 1.0], "nested": {"estimate": None}}


def test_choices_are_those_of_the_library():
    assert get_args(Variant) == cli.frame.VARIANTS
    assert get_args(Outside) == cli.frame.OUTSIDE
    assert get_args(OnFailure) == cli.frame.ON_FAILURE


# --- verify


@needs_verify
def test_solve_then_verify(tmp_path):
    path = tmp_path / "result.json"
    solved = as_json(*SOLVE, "--variant", "shifted-rotated", "--variant-seed", "2", "-o", str(path))
    checked = as_json("verify", str(path), "--samples", "2000")
    assert checked["problem"] == solved["problem"]
    assert checked["x"] == solved["x"]
    assert checked["known"]["fun"] == solved["fun"]
    assert checked["nominal_fun"] == pytest.approx(solved["nominal_fun"])
    assert max(checked["sampled"]["fun"], checked["attacked"]["fun"]) >= checked["nominal_fun"]
    assert checked["attacked"]["fun"] >= max(checked["known"]["fun"], checked["sampled"]["fun"])
    assert checked == as_json("verify", "-", "--samples", "2000", stdin=path.read_text())
    shown = run("verify", str(path), "--samples", "2000").stdout
    for part in ("nominal", "known", "sampled", "attacked"):
        assert part in shown


@needs_verify
@pytest.mark.parametrize(("worst", "known"), [([20.6, 20.8], 1.0), ([20.5, 21.0], None), ([20.6], None), ("far", None)])
def test_verify_starts_from_the_worst_point_of_a_result_but_does_not_believe_its_value(tmp_path, worst, known):
    path = tmp_path / "result.json"
    record = as_json("solve", "sphere", "--dimension", "2", "--budget", "50")
    path.write_text(json.dumps({**record, "x": [20.0, 20.0], "fun": 1e9, "worst_x": worst}))
    checked = as_json("verify", str(path), "--samples", "10")
    assert checked["attacked"]["fun"] == pytest.approx(1.0)
    assert checked["attacked"]["fun"] >= (known or 0.0)


@needs_verify
def test_verify_any_design():
    all_same = as_json("verify", "sphere", "--dimension", "4", "--x", "20", "--samples", "1000")
    assert all_same == as_json("verify", "sphere", "--x", "20,20,20,20", "--samples", "1000")
    assert all_same["known"] is None
    assert all_same["attacked"]["fun"] == pytest.approx(1.0, rel=1e-3)
    assert len(as_json("verify", "branke", "--x", "-6", "--samples", "100")["x"]) == 30


# --- wrong calls


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
        (["solve", "sphere", "--dimension", str(10**30)], "must fit into memory"),
        (["solve", "sphere", "--seed", "-1"], "is not in the range x>=0"),
        (["solve", "sphere", "--heuristic", "rpso+d"], "did you mean 'rpso+dd'"),
        (["solve", "sphere", "--heuristic", "nowhere.json"], "a heuristic must be a readable file"),
        (["solve", "sphere", "--variant", "shifted"], "must be drawn from a seed"),
        (["solve", "sphere", "--variant-seed", "3"], "a variant seed belongs to a variant"),
        (["solve", "sphere", "--variant", "bent", "--variant-seed", "3"], "'bent' is not one of"),
        (["solve", "sphere", "--outside", "inside"], "'inside' is not one of"),
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
        (["grammar", "--only", "network=ring,sphere"], "there is no 'sphere'"),
        (["grammar", "--without", "everything"], "there is no 'everything'"),
        (["grammar", "--fix", "group"], "--fix must have the form NAME=VALUE"),
        (["grammar", "--fix", "group=1"], "an integer from 2 to 50"),
        (["grammar", "--fix", "group=20", "--fix", "group=3"], "a field is fixed once"),
        (["grammar", "--fix", "c1=1"], "'c1' is several"),
        (["components", "netwrk"], "did you mean 'network'"),
        (["verify", "nowhere.json"], "a result must be a readable file"),
        (["verify", "."], "a result must be a readable file"),
        (["verify", "sphere"], "needs a design"),
        (["verify", "result.json", "--dimension", "3"], "brings its problem along"),
        (["verify", "rastrigni", "--x", "20"], "did you mean 'rastrigin'"),
        (["verify", "sphere", "--x", "20,twenty"], "--x must be finite numbers"),
        (["verify", "sphere", "--x", "nan"], "--x must be finite numbers"),
        (["verify", "sphere", "--x", "1,2", "--dimension", "3"], "got 2 for 3 variables"),
        (["verify", "sphere", "--x", "1", "--dimension", "0"], "dimension of at least 1"),
    ],
)
def test_a_wrong_call_gets_the_rule_and_exit_code_2(arguments, rule):
    ended = run(*arguments, code=2)
    assert rule in " ".join(ended.stderr.lower().split()) if rule.islower() else rule in ended.stderr
    assert ended.stdout == ""


def test_an_error_is_one_line():
    assert re.fullmatch(r"error: [^\n]+\n", run("solve", "rastrigni", code=2).stderr)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("not json", "a heuristic must be JSON"),
        ("[]", "must be a JSON object"),
        ("{}", 'must say "format"'),
        ('{"format": "robustforge-heuristic/1"}', "must have a field 'outer'"),
    ],
)
def test_a_bad_heuristic_file(text, rule, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert rule in run("solve", "sphere", "--heuristic", str(path), code=2).stderr


def result_text(**changes):
    spec = {"name": "sphere", "dimension": 2, "variant": "original", "variant_seed": None, "outside": "evaluate"}
    whole = {"format": records.RESULT_FORMAT, "problem": spec, "x": [20.0, 20.0], "fun": 1.0}
    return json.dumps({key: value for key, value in {**whole, **changes}.items() if value is not ...})


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "a result must be JSON"),
        ("[" * 100_000, "a result must be JSON"),
        ("[1, 2]", 'must say "format"'),
        (result_text(format="robustforge-heuristic/1"), 'must say "format"'),
        (result_text(problem=...), "`problem` of the standard input must be an object; it is missing"),
        (
            result_text(problem={"name": "sphere"}),
            "`dimension` of the problem in the standard input must be an integer",
        ),
        (result_text(x="20,20"), "`x` of the standard input must be a list"),
        (result_text(x=[20.0]), "one finite number for each of its 2 variables"),
        (result_text(x=[20.0, None]), "one finite number for each of its 2 variables"),
        (result_text(x=[20.0, 10**400]), "one finite number for each of its 2 variables"),
        (result_text(x=[20.0, True]), "one finite number for each of its 2 variables"),
    ],
)
def test_a_bad_result_file(text, rule):
    assert rule in run("verify", "-", code=2, stdin=text).stderr


def test_a_result_file_that_is_no_text(tmp_path):
    path = tmp_path / "result.json"
    path.write_bytes(b"\xff\xfe\x00")
    assert "a result must be a readable file" in run("verify", str(path), code=2).stderr


# --- how commands end


def test_a_failed_objective_is_exit_code_1(monkeypatch):
    def fail(*arguments, **options):
        raise ObjectiveError("the objective must return a number", "it returned\nNaN")

    monkeypatch.setattr(rf, "minimize", fail)
    *_, last = run(*SOLVE, code=1).stderr.splitlines()
    assert last == "error: the objective must return a number; it returned NaN."


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk here")
def test_a_full_disk_does_not_take_the_answer_along():
    ended = run(*SOLVE, "-o", "/dev/full", code=1)
    assert "worst value known" in ended.stdout
    assert "Saved" not in ended.stdout
    assert "No space left" in ended.stderr


@pytest.mark.parametrize("command", ["components", "components --json", "heuristics", "show rpso", "grammar"])
def test_a_closed_pipe_is_quiet(command):
    line = f"{sys.executable} -c 'from robustforge.cli import main; main()' {command} | head -n 1"
    ended = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert len(ended.stdout.splitlines()) == 1
    assert ended.stderr == ""


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_ctrl_c_prints_the_best_so_far(extra):
    process = spawn(*LONG, *extra, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr.readline() == "ready\n"
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    shown, said = process.communicate(timeout=30)
    assert process.returncode == cli.INTERRUPTED, said
    started, ended, last = said.splitlines()
    assert "solve rastrigin-30d: started" in started
    assert "solve rastrigin-30d: interrupted after " in ended
    assert last == "interrupted: this is the best so far"
    if extra:
        record = json.loads(shown)
        assert 0 < record["nfev"] < 400_000
        assert not record["success"]
        assert record["message"].startswith("interrupted")
        assert len(record["x"]) == 30
    else:
        assert "worst value known" in shown


def read_terminal(handle, until, seconds):
    """Return what a terminal shows until a pattern is in it, or until it is closed."""
    shown, end = "", time.monotonic() + seconds
    while time.monotonic() < end and not re.search(until, shown):
        if select.select([handle], [], [], 0.1)[0]:
            try:
                shown += os.read(handle, 4096).decode(errors="replace")
            except OSError:
                break
    return shown


def test_a_terminal_gets_a_bar_and_ctrl_c_the_best_so_far():
    ours, theirs = pty.openpty()
    process = spawn(*LONG, "--json", stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    assert "solving" in read_terminal(ours, r"[1-9]\d*/400000", 60)
    process.send_signal(signal.SIGINT)
    assert "interrupted: this is the best so far" in read_terminal(ours, "interrupted: .*\n", 30)
    shown, _ = process.communicate(timeout=30)
    os.close(ours)
    assert process.returncode == cli.INTERRUPTED
    assert 0 < json.loads(shown)["nfev"] < 400_000


def test_the_answer_is_the_same_on_a_terminal():
    ours, theirs = pty.openpty()
    process = spawn(*SOLVE, "--json", stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown, _ = process.communicate(timeout=60)
    os.close(ours)
    assert {**json.loads(shown), "seconds": 0} == {**as_json(*SOLVE), "seconds": 0}


# --- help


@pytest.mark.parametrize("command", [[], *([name] for name in cli.main.commands)])
def test_help_has_an_example(command):
    shown = run(*command, "--help").stdout
    assert "Example" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_version():
    assert rf.__version__ in run("--version").stdout


def test_help_answers_at_once_and_without_numba():
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


DOCS = Path(__file__).parent.parent.parent / "docs"


def test_help_lists_the_documents_and_prints_one():
    shown = run("help").stdout
    assert all(path.stem in shown for path in DOCS.glob("*.md"))
    assert run("help", "models").stdout == (DOCS / "models.md").read_text()


def test_help_on_a_command_is_that_of_the_command():
    assert run("help", "solve").stdout == CliRunner().invoke(cli.main, ["solve", "--help"], prog_name="main").stdout


def test_help_on_a_terminal_is_laid_out():
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PAGER": "cat", "COLUMNS": "80", "TERM": "xterm"}
    command = [sys.executable, "-m", "robustforge", "help", "models"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, env=environment)
    os.close(theirs)
    shown = read_terminal(ours, "Your own model(.|\n)*robustforge check beam.toml", 60)
    assert "```" not in shown
    while select.select([ours], [], [], 30)[0]:  # a terminal that nobody reads stops the command
        try:
            os.read(ours, 65536)
        except OSError:  # it is closed
            break
    assert process.wait(30) == 0
    os.close(ours)


def test_an_unknown_topic_gets_the_closest():
    assert "Did you mean 'models'" in run("help", "modles", code=2).stderr
