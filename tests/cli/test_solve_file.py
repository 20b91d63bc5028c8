"""`solve` of a problem file: designs, options, failures, stores and folders."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
from cli_runner import as_json, run
from spring_problem import (
    AWK,
    HEAD,
    SHELL,
    SIMPLE,
    SOME_FAIL,
    problem,
    rows,
    timeless,
    values_of,
    worth,
)

from robustforge.formatting import at_precision
from robustforge.simulator.problem_file import read_problem_file
from robustforge.store import SEARCH, SOLVE, VERIFY, Store

pytestmark = pytest.mark.usefixtures("folder")


def test_payload_of_a_design(folder):
    record = as_json("solve", "spring.toml", "-o", "answer.json")
    assert json.loads(Path("answer.json").read_text()) == record
    design = {each["name"]: each["value"] for each in record["variables"]}
    assert record["design"] == design
    assert record["nominal"] == worth(**design)
    assert record["worst"] == worth(**record["worst_point"]) >= record["nominal"]
    assert (record["success"], record["runs"], record["failures"], record["store"]) == (True, 40, 0, "spring.db")
    width, load, turns = record["variables"]
    assert (width["unit"], width["tolerance"], load["tolerance"], turns["tolerance"]) == (
        "[mm]", "±0.2", "+5%/-2%", "exact",
    )  # fmt: skip
    assert load["built"] == pytest.approx([0.98 * load["value"], 1.05 * load["value"]])
    assert turns["built"] == [turns["value"]] * 2
    stored = rows("spring.db")
    assert [number for number, *_ in stored] == list(range(40))
    assert sorted(os.listdir(folder)) == [
        "answer.json", "lab.toml", "model.awk", "spring.db", "spring.toml",
    ]  # fmt: skip


def test_view_of_a_design_and_a_second_solve(monkeypatch):
    problem("spring", model=SHELL, script=values_of("echo >> $4/log"))
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("solve", "spring.toml").stdout
    record = as_json("solve", "spring.toml")
    for each in record["variables"]:
        assert at_precision(each["value"], each["built"][1] - each["built"][0]) in shown
        assert each["unit"] in shown
        assert each["tolerance"] in shown
    worst = at_precision(record["worst"], record["worst"] - record["nominal"], 4)
    for words in ("Robust design of spring", worst, "of a budget of 40", "rpso", "verify spring.toml"):
        assert words in shown
    assert max(map(len, shown.splitlines())) <= 80
    again = run("solve", "spring.toml")
    assert again.stdout == shown
    assert len(Path("log").read_text()) == 40
    Path("model.sh").write_text("exit 1")
    assert timeless(as_json("solve", "spring.toml", "--accept-changes")) == timeless(record)


def test_options_override_the_file(folder):
    options = ["--budget", "30", "--seed", "5", "--heuristic", "rpso+dd", "--name", "other", "--on-failure", "unknown"]
    where = ["--store", "mine.db", "--workers", "2"]
    record = as_json("solve", "spring.toml", *options, *where)
    assert (record["budget"], record["seed"], record["heuristic_name"], record["name"]) == (30, 5, "rpso+dd", "other")
    head = 'name = "other"\nbudget = 30\nseed = 5\nheuristic = "rpso+dd"\non_failure = "unknown"\n'
    problem("same", head)
    assert timeless(as_json("solve", "same.toml")) == timeless(record)
    with Store.read("mine.db") as store:
        assert [(e.name, e.settings["on_failure"]) for e in store.experiments(SEARCH)] == [("other", "unknown")]
    assert not (folder / "spring.db").exists()


@pytest.mark.parametrize("workers", ["1", "3"])
def test_a_function_gives_the_same_result(workers):
    Path("springs.py").write_text(
        "print('noise')\ndef worth(width, load, turns):\n    return "
        "(width - 1) * (width - 1) + (load - 10) * (load - 10) / 100 + (turns - 2) * (turns - 2)\n"
    )
    problem("function", 'name = "spring"\n' + HEAD, '[model]\nfunction = "springs:worth"\n')
    record = as_json("solve", "function.toml", "--workers", workers)
    assert timeless(record) == timeless(as_json("solve", "spring.toml"))


def test_maximise():
    Path("model.awk").write_text(AWK.replace("(a - 1) * (a - 1)", "-(a - 1) * (a - 1)").replace("+ (", "- ("))
    problem("spring", 'goal = "maximise"\n' + HEAD)
    record = as_json("solve", "spring.toml")
    assert record["worst"] <= record["nominal"] <= 0
    assert "lowest value found within the tolerances" in run("solve", "spring.toml").stdout
    verified = as_json("verify", "spring.toml", "--budget", "20")
    assert verified["worst"] <= verified["found_by_search"] == record["worst"]


def test_idle_workers_are_noted():
    ended = run("solve", "spring.toml", "--workers", "50")
    assert "note: this heuristic evaluates at most" in ended.stderr
    assert "of 50 workers are idle" in ended.stderr
    record = as_json("check", "spring.toml")
    problem("spring", model=SIMPLE + f"workers = {record['max_parallel'] + 1}\n")
    assert "1 of 21 workers" in " ".join(run("check", "spring.toml").stdout.split())


def test_a_model_that_always_fails():
    problem("spring", model=SHELL, script=values_of("[ -e $4/broken ] && { echo no licence >&2; exit 4; }"))
    Path("broken").touch()
    for _ in range(2):  # nothing is left, so that it begins anew
        ended = run("solve", "spring.toml", code=1)
        assert ended.stdout == ""
        assert "\nerror: all of the first 10 runs of the model failed" in ended.stderr
        for words in ("exit code 4", "no licence", "robustforge check"):
            assert words in ended.stderr
    Path("broken").unlink()
    record = as_json("solve", "spring.toml")
    assert (record["runs"], record["failures"]) == (40, 0)
    problem("undisturbed", 'name = "spring"\n' + HEAD)
    assert timeless(as_json("solve", "undisturbed.toml")) == timeless(record)


def test_failures_are_stored_with_their_reason():
    problem("spring", model=SHELL, script=values_of(SOME_FAIL))
    ended = run("solve", "spring.toml")
    failures = [row for row in rows("spring.db") if row[3]]
    assert failures
    assert all(failure == "exit code 5" and 3 <= x[2] < 4 for _, x, _, failure in failures)
    assert f"{len(failures)} of them failed" in ended.stdout
    assert as_json("solve", "spring.toml")["failures"] == len(failures)


def test_under_raise_the_first_failure_ends_the_search():
    problem("spring", model=SHELL, script=values_of("[ -e $4/broken ] && " + SOME_FAIL))
    Path("broken").touch()
    solve = ["solve", "spring.toml", "--on-failure", "raise"]
    for _ in range(2):
        said = run(*solve, code=1).stderr
        assert 'on_failure = "raise" ends the search' in said
        assert "too many turns" in said
    assert 0 < len(rows("spring.db")) < 40
    Path("broken").unlink()
    ended = run(*solve)
    assert ": resumed, " in ended.stderr
    assert as_json("solve", "spring.toml", "--on-failure", "raise")["failures"] == 0


def test_under_raise_with_retries_the_search_resumes():
    head = 'on_failure = "raise"\nretries = 1\n' + HEAD
    problem("spring", head, SHELL, values_of("[ -e $4/broken ] && " + SOME_FAIL))
    Path("broken").touch()
    assert "too many turns" in run("solve", "spring.toml", code=1).stderr
    Path("broken").unlink()
    run("solve", "spring.toml")


def test_digits_of_the_view():
    solved = as_json("solve", "spring.toml")
    shown = run("solve", "spring.toml").stdout
    for each in solved["variables"]:
        low, high = each["built"]
        row = next(line for line in shown.splitlines() if line.split()[:1] == [each["name"]])
        text = row.split()[1]
        assert float(text.replace(",", "")) == pytest.approx(each["value"], abs=0.01 * (high - low) or 1e-5)
        assert len(text.partition(".")[2]) <= (3 if low < high else 6)
        assert "." not in text or text[-1] != "0"


def test_runs_of_a_search_are_data_of_another(folder):
    as_json("solve", "spring.toml")
    as_json("verify", "spring.toml", "--budget", "10")
    assert run("runs", "spring.db", "--csv", "earlier.csv").stderr.endswith(
        "  earlier.csv: 50 runs written, 0 failed runs left out\n"
    )
    with open("earlier.csv", newline="") as file:
        told = [tuple(map(float, row.values())) for row in csv.DictReader(file)]
    assert [row[-1] for row in told] == [row[2] for part in (SOLVE, VERIFY) for row in rows("spring.db", part=part)]
    assert all(worth(*row[:-1]) == row[-1] for row in told)
    problem("longer", head=f'data = "earlier.csv"\n{HEAD}')
    assert as_json("check", "longer.toml")["earlier"] == 50
    assert as_json("solve", "longer.toml", "--store", "spring.db")["runs"] == 40
    said = run("runs", "spring.db", "--csv", "all.csv", code=2).stderr
    assert "spring.db has: spring, longer. Choose one by --name." in said
    run("runs", "spring.db", "--csv", "all.csv", "--name", "longer")
    assert len(Path("all.csv").read_text().split()) == 91  # those that it was given, too


def test_other_settings_under_the_same_name_are_refused():
    run("solve", "spring.toml")
    said = run("solve", "spring.toml", "--seed", "2", code=2).stderr
    assert "seed is 1 in the store, 2 now" in said
    assert "another name" in said
    assert as_json("solve", "spring.toml", "--seed", "2", "--name", "second")["seed"] == 2


def test_a_changed_template_is_named():
    deck = '[model]\ncommand = ["awk", "-f", "{dir}/deck.awk"]\ntemplates = ["deck.awk"]\n'
    problem("spring", model=deck)
    Path("deck.awk").write_text("BEGIN { print {width} + {load} + {turns} }")
    run("solve", "spring.toml")
    Path("deck.awk").write_text("BEGIN { print {width} + {load} + {turns} + 1 }")
    for command in ("solve", "verify"):
        said = run(command, "spring.toml", code=2).stderr
        assert "search 'spring' was started; deck.awk has changed" in said


def test_changed_data_are_named():
    problem("spring", HEAD + 'data = "d.csv"\n')
    Path("d.csv").write_text("width,load,turns,value\n1,10,2,0\n")
    run("solve", "spring.toml")
    Path("d.csv").write_text("width,load,turns,value\n1,10,2,1\n")
    assert "the file that `data` names has changed since it was started" in run("solve", "spring.toml", code=2).stderr


def test_a_changed_model_is_refused():
    problem("spring", model=SHELL, script=values_of(""))
    before = timeless(as_json("solve", "spring.toml"))
    Path("model.sh").write_text(values_of("echo another"))
    for command in (["solve"], ["verify"], ["verify", "--budget", "3", "--json"], ["ask"]):
        said = run(*command[:1], "spring.toml", *command[1:], code=2).stderr
        assert "search 'spring' was started; model.sh has changed" in said
    assert rows("spring.db", part=VERIFY) == []
    accepted = timeless(as_json("solve", "spring.toml", "--accept-changes"))
    assert accepted == before
    as_json("verify", "spring.toml", "--budget", "3")


def test_the_design_is_printed_if_it_cannot_be_saved():
    ended = run("solve", "spring.toml", "-o", "/dev/full", code=1)
    assert "worst value found" in ended.stdout
    assert "No space left" in ended.stderr
    assert len(rows("spring.db")) == 40


TEMPLATED = """\
[model]
command = ["sh", "deck.sh"]
templates = ["deck.sh"]
"""


def test_keep_folders():
    Path("deck.sh").write_text("echo {width} {load} {turns} > seen; echo 1\n")
    problem("spring", model=TEMPLATED)
    run("solve", "spring.toml", "--keep-folders", "--workers", "2", "--store", "kept.db")
    runs = sorted(os.listdir("kept.db-runs"))
    assert runs == [f"{number:06d}" for number in range(40)]
    variables = read_problem_file("spring.toml").variables
    for number, x, *_ in rows("kept.db"):
        seen = Path("kept.db-runs", f"{number:06d}", "seen").read_text().split()
        assert seen == list(map(repr, variables.decode(np.array(x)).values()))


def test_only_the_first_failed_folders_are_kept():
    problem("spring", 'on_failure = "unknown"\n' + HEAD, SHELL, values_of("case $2 in 1*|2*|3*|4*) exit 6;; esac"))
    run("solve", "spring.toml")
    failed = [number for number, *_, failure in rows("spring.db") if failure]
    kept = sorted(map(int, os.listdir("spring.db-runs")))
    assert len(failed) > 10
    assert kept == failed[:10]


def test_no_folder_is_kept_after_success(folder):
    problem("spring", model=SHELL, script=values_of("echo > $5/rubbish"))
    run("solve", "spring.toml", "--workers", "2")
    run("verify", "spring.toml", "--budget", "10")
    assert sorted(os.listdir(folder)) == ["lab.toml", "model.awk", "model.sh", "spring.db", "spring.toml"]


def test_a_small_search_whose_model_always_fails():
    problem("spring", HEAD.replace("40", "8"), SHELL, values_of("[ -e $4/broken ] && exit 4"))
    Path("broken").touch()
    run("solve", "spring.toml", code=1)
    Path("broken").unlink()
    assert as_json("solve", "spring.toml")["success"]


def test_the_hint_names_the_search():
    assert "verify spring.toml --name other" in " ".join(run("solve", "spring.toml", "--name", "other").stdout.split())


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_read_only_folder(folder):
    (folder / "locked").mkdir(mode=0o500)
    said = run("solve", "spring.toml", "--store", "locked/spring.db", code=2).stderr
    assert "a store must be writable" in said


@pytest.mark.parametrize("command", ["solve", "verify", "ask"])
def test_a_store_must_be_a_file(command):
    os.mkfifo("pipe")
    assert "pipe is a named pipe" in run(command, "spring.toml", "--store", "pipe", code=2).stderr
    assert "/dev/null is a device" in run(command, "spring.toml", "--store", "/dev/null", code=2).stderr
