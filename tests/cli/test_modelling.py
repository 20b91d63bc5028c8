"""A user's own model through the command line: check, solve, verify, ask and tell, and whatever may come between."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import sqlite3
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from test_cli import as_json, run

from processes import gone, text_of
from robustforge import cli
from robustforge.formatting import within
from robustforge.model.problem_file import read_problem_file
from robustforge.search import Search
from robustforge.store import SEARCH, SOLVE, VERIFY, Store

HEAD = """\
budget = 40
heuristic = "rpso"
"""
VARIABLES = """\
[variables]
width = { bounds = [-2, 3], tolerance = 0.2, unit = "[mm]" }
load = { bounds = [1, 100], tolerance = "+5%/-2%", unit = "kN" }
turns = { bounds = [0, 4], tolerance = 0 }
"""
SHELL = """\
[model]
command = ["sh", "{here}/model.sh", "{width}", "{load}", "{turns}", "{here}", "{dir}"]
"""
SIMPLE = """\
[model]
command = ["awk", "-v", "a={width}", "-v", "b={load}", "-v", "c={turns}", "-f", "{here}/model.awk"]
"""
AWK = 'BEGIN { printf "%.17g\\n", (a - 1) * (a - 1) + (b - 10) * (b - 10) / 100 + (c - 2) * (c - 2) }\n'


def worth(width, load, turns):
    """What the model says, to the bit."""
    return (width - 1) * (width - 1) + (load - 10) * (load - 10) / 100 + (turns - 2) * (turns - 2)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder to be in, with a problem file whose model is awk, and one without a model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # so that what is left behind is seen
    (tmp_path / "model.awk").write_text(AWK)
    problem("spring")
    problem("lab", model="")
    return tmp_path


def problem(name, head=HEAD, model=SIMPLE, script=None):
    """Write a problem file, and the script of its model."""
    Path(f"{name}.toml").write_text(head + VARIABLES + model)
    if script is not None:
        Path("model.sh").write_text(textwrap.dedent(script))
    return f"{name}.toml"


def values_of(script):
    """A script that does something before it says what the model says."""
    return f"{textwrap.dedent(script)}\nawk -v a=$1 -v b=$2 -v c=$3 -f $4/model.awk\n"


def rows(store, name="spring", part=SOLVE):
    with Store.read(store) as kept:
        found = kept.evaluations(kept.experiment(name, SEARCH))
    return [(row.number, row.x, row.value, row.failure) for row in found if row.part == part]


def timeless(record):
    return {key: value for key, value in record.items() if key not in ("seconds", "store")}


def until_stored(count, part=SOLVE, seconds=30.0):
    """Wait for so many rows; a run that has ended is not stored yet."""
    end = time.monotonic() + seconds
    while len(rows("spring.db", part=part)) < count and time.monotonic() < end:
        time.sleep(0.01)


# --- check


def test_check_shows_the_plan_and_stores_nothing(folder):
    before = sorted(os.listdir(folder))
    shown = run("check", "spring.toml").stdout
    for words in ("spring: the plan", "width", "-2 to 3", "[mm]", "±0.2", "kN", "+5%/-2%", "exact", "rpso", "40 runs"):
        assert words in shown
    assert "0.25 in the middle of the bounds" in shown
    assert "robustforge solve spring.toml begins" in shown
    assert max(map(len, shown.splitlines())) <= 80
    record = as_json("check", "spring.toml")
    assert record["variables"]["load"] == {"bounds": [1.0, 100.0], "tolerance": "+5%/-2%", "unit": "kN"}
    assert record["trial"]["point"] == pytest.approx({"width": 0.5, "load": 10, "turns": 2})
    assert record["trial"]["value"] == pytest.approx(0.25)
    assert (record["trial"]["failure"], record["trial"]["tail"]) == ("", "")
    assert (record["budget"], record["heuristic_name"], record["workers"]) == (40, "rpso", 1)
    assert sorted(os.listdir(folder)) == before


def test_check_of_a_model_that_fails_shows_its_last_words(folder):
    problem("spring", model=SHELL, script="echo some output; echo [/no] licence for $1 >&2; exit 3")
    ended = run("check", "spring.toml", code=1)
    assert "failed in the middle of the bounds: exit code 3" in " ".join(ended.stdout.split())
    assert "The last that the model said" in ended.stdout
    assert "[/no] licence for 0.5" in ended.stdout
    assert "begins" not in ended.stdout
    record = as_json("check", "spring.toml", code=1)
    assert (record["trial"]["value"], record["trial"]["failure"]) == (None, "exit code 3")
    assert record["trial"]["tail"] == "[/no] licence for 0.5"
    assert sorted(os.listdir(folder)) == ["lab.toml", "model.awk", "model.sh", "spring.toml"]


def test_check_without_a_model():
    assert "robustforge ask lab.toml shows what to try" in run("check", "lab.toml").stdout
    assert as_json("check", "lab.toml")["trial"] is None


def test_check_of_a_file_with_mistakes_tells_them_in_lines():
    Path("bad.toml").write_text('goal = "x"\nbudget = 1\n' + VARIABLES)
    for command in ("check", "solve", "verify", "ask"):
        said = run(command, "bad.toml", code=2).stderr
        assert said.startswith("error: bad.toml has 2 mistakes\n  line 1: `goal`")
        assert "\n  line 2: `budget` must be" in said


# --- solve


def test_solve_shows_the_design_and_json_has_all_of_it(folder):
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


def test_the_screen_and_a_second_solve_which_runs_nothing(monkeypatch):
    problem("spring", model=SHELL, script=values_of("echo >> $4/log"))
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("solve", "spring.toml").stdout
    record = as_json("solve", "spring.toml")
    for each in record["variables"]:
        assert within(each["value"], each["built"][1] - each["built"][0]) in shown
        assert each["unit"] in shown
        assert each["tolerance"] in shown
    worst = within(record["worst"], record["worst"] - record["nominal"], 4)
    for words in ("Robust design of spring", worst, "of 40 allowed", "rpso", "verify spring.toml"):
        assert words in shown
    assert max(map(len, shown.splitlines())) <= 80
    again = run("solve", "spring.toml")
    assert again.stdout == shown
    assert len(Path("log").read_text()) == 40
    Path("model.sh").write_text("exit 1")
    assert timeless(as_json("solve", "spring.toml", "--accept-changes")) == timeless(record)


def test_options_count_more_than_the_file(folder):
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
def test_a_function_gives_the_same_answer(workers):
    Path("springs.py").write_text(
        "print('noise')\ndef worth(width, load, turns):\n    return "
        "(width - 1) * (width - 1) + (load - 10) * (load - 10) / 100 + (turns - 2) * (turns - 2)\n"
    )
    problem("function", 'name = "spring"\n' + HEAD, '[model]\nfunction = "springs:worth"\n')
    record = as_json("solve", "function.toml", "--workers", workers)
    assert timeless(record) == timeless(as_json("solve", "spring.toml"))


def test_maximise_is_told_the_right_way_round():
    Path("model.awk").write_text(AWK.replace("(a - 1) * (a - 1)", "-(a - 1) * (a - 1)").replace("+ (", "- ("))
    problem("spring", 'goal = "maximise"\n' + HEAD)
    record = as_json("solve", "spring.toml")
    assert record["worst"] <= record["nominal"] <= 0
    assert "the lowest found within the tolerances" in run("solve", "spring.toml").stdout
    verified = as_json("verify", "spring.toml", "--budget", "20")
    assert verified["worst"] <= verified["known"] == record["worst"]


def test_more_workers_than_runs_at_a_time_get_a_note():
    ended = run("solve", "spring.toml", "--workers", "50")
    assert "note: this heuristic waits for at most" in ended.stderr
    assert "of 50 workers will have nothing to do" in ended.stderr
    record = as_json("check", "spring.toml")
    problem("spring", model=SIMPLE + f"workers = {record['in_flight'] + 1}\n")
    assert "1 of 21 workers" in " ".join(run("check", "spring.toml").stdout.split())


# --- models that fail


def test_a_model_that_always_fails_ends_in_a_sentence_and_works_once_it_is_mended():
    problem("spring", model=SHELL, script=values_of("[ -e $4/broken ] && { echo no licence >&2; exit 4; }"))
    Path("broken").touch()
    for _ in range(2):  # nothing is left, so that it begins anew
        ended = run("solve", "spring.toml", code=1)
        assert ended.stdout == ""
        assert "\nerror: a model must have a value somewhere; all of its first 10 runs failed" in ended.stderr
        for words in ("exit code 4", "no licence", "robustforge check"):
            assert words in ended.stderr
    Path("broken").unlink()
    record = as_json("solve", "spring.toml")
    assert (record["runs"], record["failures"]) == (40, 0)
    problem("undisturbed", 'name = "spring"\n' + HEAD)
    assert timeless(as_json("solve", "undisturbed.toml")) == timeless(record)


SOME = "case $3 in 3*) echo too many turns >&2; exit 5;; esac"


def test_some_failures_are_told_and_kept_with_their_reason():
    problem("spring", model=SHELL, script=values_of(SOME))
    ended = run("solve", "spring.toml")
    failures = [row for row in rows("spring.db") if row[3]]
    assert failures
    assert all(failure == "exit code 5" and 3 <= x[2] < 4 for _, x, _, failure in failures)
    assert f"{len(failures)} of them without a value" in ended.stdout
    assert as_json("solve", "spring.toml")["failures"] == len(failures)


def test_under_raise_the_first_failure_ends_it_and_the_mended_model_goes_on():
    problem("spring", model=SHELL, script=values_of("[ -e $4/broken ] && " + SOME))
    Path("broken").touch()
    solve = ["solve", "spring.toml", "--on-failure", "raise"]
    for _ in range(2):
        said = run(*solve, code=1).stderr
        assert 'under on_failure = "raise" every run of the model must have a value' in said
        assert "too many turns" in said
    assert 0 < len(rows("spring.db")) < 40
    Path("broken").unlink()
    ended = run(*solve)
    assert "going on; " in ended.stderr
    assert as_json("solve", "spring.toml", "--on-failure", "raise")["failures"] == 0


def test_under_raise_with_retries_the_mended_model_goes_on():
    head = 'on_failure = "raise"\nretries = 1\n' + HEAD
    problem("spring", head, SHELL, values_of("[ -e $4/broken ] && " + SOME))
    Path("broken").touch()
    assert "too many turns" in run("solve", "spring.toml", code=1).stderr
    Path("broken").unlink()
    run("solve", "spring.toml")


# --- verify


def test_verify_spends_further_runs_and_goes_on():
    problem("spring", model=SHELL, script=values_of("echo >> $4/log"))
    solved = as_json("solve", "spring.toml")
    first = as_json("verify", "spring.toml", "--budget", "15")
    assert (first["nominal"], first["known"], first["runs"]) == (solved["nominal"], solved["worst"], 15)
    assert first["worst"] == worth(**first["worst_point"]) >= first["known"]
    assert len(Path("log").read_text()) == 55
    assert as_json("verify", "spring.toml", "--budget", "15") == first  # nothing is run again
    assert len(Path("log").read_text()) == 55
    more = as_json("verify", "spring.toml", "--budget", "40", "--workers", "2")
    assert len(Path("log").read_text()) == 40 + more["runs"]
    assert more["worst"] >= first["worst"]
    assert len(rows("spring.db", part=VERIFY)) == more["runs"]
    shown = run("verify", "spring.toml", "--budget", "40").stdout
    worst = within(more["worst"], more["worst"] - more["nominal"], 4)
    for words in ("nominal", "known", "attacked", worst, "What drives it", "width", "load"):
        assert words in shown
    for each in more["worst_point"]:
        bounds = next(one["built"] for one in solved["variables"] if one["name"] == each)
        assert bounds[0] - 1e-9 <= more["worst_point"][each] <= bounds[1] + 1e-9
    assert timeless(as_json("solve", "spring.toml")) == timeless(solved)


@pytest.mark.parametrize(("value", "kind"), [("0", "confirmed"), ("1e3", "warning"), ("inf", "warning")])
def test_verify_warns_of_a_design_that_an_attack_found_much_worse(value, kind):
    problem("spring", model=SHELL, script=values_of("[ -e $4/changed ] && { cat $4/changed; exit; }"))
    known = as_json("solve", "spring.toml")["worst"]
    Path("changed").write_text(f"{value}\n")
    record = as_json("verify", "spring.toml", "--budget", "10")
    assert record["verdict"]["kind"] == kind
    shown = " ".join(run("verify", "spring.toml", "--budget", "10").stdout.split())
    assert record["verdict"]["text"] in shown
    assert ("Warning: The attack found" in shown) == (kind == "warning")
    assert known < 1e3


def test_screens_have_the_digits_that_matter():
    solved = as_json("solve", "spring.toml")
    shown = run("solve", "spring.toml").stdout
    for each in solved["variables"]:
        low, high = each["built"]
        row = next(line for line in shown.splitlines() if line.split()[:1] == [each["name"]])
        text = row.split()[1]
        assert float(text.replace(",", "")) == pytest.approx(each["value"], abs=0.01 * (high - low) or 1e-5)
        assert len(text.partition(".")[2]) <= (3 if low < high else 6)
        assert "." not in text or text[-1] != "0"


@pytest.mark.parametrize("option", [["--budget", "30"], ["--seed", "5"], ["--heuristic", "rpso+dd"]])
def test_verify_after_a_solve_with_options(option):
    solved = as_json("solve", "spring.toml", *option)
    assert as_json("verify", "spring.toml", "--budget", "10")["known"] == solved["worst"]


def test_verify_of_a_name_that_is_not_there_leaves_nothing():
    run("solve", "spring.toml")
    run("verify", "spring.toml", "--name", "other", code=2)
    with Store.read("spring.db") as store:
        assert [experiment.name for experiment in store.experiments(SEARCH)] == ["spring"]


# --- ask and tell


def filled(path, value=worth, only=None):
    """Fill in the values of a CSV file that `ask` wrote; returns how many."""
    with open(path, newline="") as file:
        found = list(csv.DictReader(file))
    for row in found[:only]:
        row["value"] = repr(value(**{key: float(row[key]) for key in ("width", "load", "turns")}))
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, ["id", "width", "load", "turns", "value"])
        writer.writeheader()
        writer.writerows(found)
    return len(found[:only])


def test_runs_are_handed_on_to_another_search(folder):
    as_json("solve", "spring.toml")
    as_json("verify", "spring.toml", "--budget", "10")
    assert run("runs", "spring.db", "--csv", "earlier.csv").stderr == (
        "50 runs are in earlier.csv; 0 that failed are left out\n"
    )
    with open("earlier.csv", newline="") as file:
        told = [tuple(map(float, row.values())) for row in csv.DictReader(file)]
    assert [row[-1] for row in told] == [row[2] for part in (SOLVE, VERIFY) for row in rows("spring.db", part=part)]
    assert all(worth(*row[:-1]) == row[-1] for row in told)
    problem("longer", head=f'data = "earlier.csv"\n{HEAD}')
    assert as_json("check", "longer.toml")["earlier"] == 50
    assert as_json("solve", "longer.toml", "--store", "spring.db")["runs"] == 40
    said = run("runs", "spring.db", "--csv", "all.csv", code=2).stderr
    assert "spring.db has: spring, longer. Add --name." in said
    run("runs", "spring.db", "--csv", "all.csv", "--name", "longer")
    assert len(Path("all.csv").read_text().split()) == 91  # those that it was given, too


def test_a_waiting_search_and_a_saved_design_are_told_apart_from_others(folder):
    run("ask", "lab.toml")
    assert as_json("runs", "lab.db")[0]["state"] == "waiting for values"
    assert "width ([mm])" in " ".join(run("ask", "lab.toml").stdout.split())
    as_json("solve", "spring.toml", "-o", "answer.json")
    said = run("verify", "answer.json", code=2).stderr
    assert "the design of a problem file is verified by running its model; answer.json is one. Give the file" in said


def test_asked_and_told_by_csv_until_it_is_over_is_solved(folder):
    shown = run("ask", "lab.toml").stdout
    assert "points wait, 0 of 40 runs are there" in shown
    assert "robustforge tell lab.toml 0 VALUE" in shown
    told, only = 0, 3
    while as_json("ask", "lab.toml", "-o", "points.csv")["points"]:
        count = filled("points.csv", only=only)
        record = as_json("tell", "lab.toml", "points.csv", "-o", "told.json")
        assert json.loads(Path("told.json").read_text()) == record
        told += count
        assert (record["told"], record["runs"], record["over"]) == (count, told, told == 40)
        only = None
    assert told == 40
    assert Path("points.csv").read_text().split() == ["id,value"]
    assert "The search is over: 40 runs are in lab.db" in run("ask", "lab.toml").stdout
    solved = as_json("solve", "spring.toml", "--name", "lab")
    assert timeless(record["answer"]) == timeless(solved)
    assert rows("lab.db", "lab") == rows("spring.db", "lab")


def test_asked_and_told_one_by_one():
    points = as_json("ask", "lab.toml")["points"]
    assert as_json("ask", "lab.toml")["points"] == points
    assert list(points[0]) == ["id", "width", "load", "turns"]
    ended = run("tell", "lab.toml", "2", "12.5")
    assert ended.stdout.startswith(f"1 value taken in; 1 of 40 runs are there, {len(points) - 1} points wait.")
    run("tell", "lab.toml", "0", "1.5D+01")  # as Fortran writes it
    run("tell", "lab.toml", "1", "inf")
    record = as_json("tell", "lab.toml", "3", "failed")
    assert [point["id"] for point in record["points"]] == list(range(4, len(points)))
    assert [(number, value) for number, _, value, failure in rows("lab.db", "lab") if not failure] == [
        (0, 15.0), (1, float("inf")), (2, 12.5),
    ]  # fmt: skip
    assert [(number, failure) for number, *_, failure in rows("lab.db", "lab") if failure] == [
        (3, "told that it failed")
    ]
    assert {key: type(value) for key, value in points[0].items()} == {
        "id": int, "width": float, "load": float, "turns": float,
    }  # fmt: skip


def test_what_is_told_last_shows_the_design():
    problem("lab", HEAD.replace("40", "20"), "")
    while as_json("ask", "lab.toml", "-o", "points.csv")["points"]:
        filled("points.csv")
        shown = run("tell", "lab.toml", "points.csv").stdout
    assert "Robust design of lab" in shown
    assert "the budget is spent" in shown
    assert "robustforge verify" not in shown  # it would refuse
    assert "robustforge report lab.db shows all. There is no model" in " ".join(shown.split())


def test_a_worst_value_that_is_the_nominal_one_is_said_to_be():
    problem("lab", HEAD.replace("40", "20"), "")
    while as_json("ask", "lab.toml", "-o", "points.csv")["points"]:
        filled("points.csv", value=lambda **_: 1.0)
        ended = run("tell", "lab.toml", "points.csv")
    shown = " ".join(ended.stdout.split())
    assert "worst value known 1 its own: nothing worse is known nominal value 1 if it is built" in shown


def test_csv_with_a_byte_order_mark_blank_values_and_the_word_failed():
    run("ask", "lab.toml", "-o", "points.csv")
    text = "\ufeffid,value,remark\r\n0, 1.5 ,x\r\n1,,\r\n2,FAILED,\r\n 3 ,inf\r\n"
    Path("points.csv").write_bytes(text.encode())
    assert as_json("tell", "lab.toml", "points.csv")["told"] == 3
    assert [number for number, *_ in rows("lab.db", "lab")] == [0, 2, 3]


def test_under_raise_a_point_that_failed_waits_again():
    problem("lab", HEAD + 'on_failure = "raise"\n', "")
    run("ask", "lab.toml", "-o", "points.csv")
    filled("points.csv")
    text = Path("points.csv").read_text().split("\n")
    Path("points.csv").write_text("\n".join([text[0], text[1].rpartition(",")[0] + ",failed", *text[2:]]))
    said = run("tell", "lab.toml", "points.csv", code=1).stderr
    assert "every run of the model must have a value; run 0 has none: told that it failed" in said
    assert as_json("ask", "lab.toml")["points"][0]["id"] == 0


# --- wrong calls


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["solve", "spring.toml", "--dimension", "3"], "--dimension belongs to test problems"),
        (["solve", "spring.toml", "--variant", "shifted"], "--variant belongs to test problems"),
        (["solve", "spring.toml", "--variant-seed", "3"], "--variant-seed belongs to test problems"),
        (["solve", "spring.toml", "--outside", "clip"], "--outside belongs to test problems"),
        (["solve", "sphere", "--store", "x.db"], "--store belongs to problem files"),
        (["solve", "sphere", "--name", "x"], "--name belongs to problem files"),
        (["solve", "sphere", "--workers", "2"], "--workers belongs to problem files"),
        (["solve", "sphere", "--keep"], "--keep belongs to problem files"),
        (["verify", "spring.toml", "--samples", "10"], "--samples belongs to test problems"),
        (["verify", "spring.toml", "--seed", "10"], "--seed belongs to test problems"),
        (["verify", "spring.toml", "--dimension", "10"], "--dimension belongs to test problems"),
        (["verify", "sphere", "--x", "1", "--budget", "10"], "--budget belongs to problem files"),
        (["verify", "sphere", "--x", "1", "--store", "x.db"], "--store belongs to problem files"),
        (["verify", "sphere", "--x", "1", "--workers", "2"], "--workers belongs to problem files"),
        (["solve", "none.toml"], "a problem file must be readable"),
        (["check", "none.toml"], "a problem file must be readable"),
        (["solve", "lab.toml"], "a problem that is to be solved must have a model; lab.toml has none"),
        (["verify", "lab.toml"], "a problem that is to be solved must have a model; lab.toml has none"),
        (["verify", "spring.toml"], "only a search that came to a design can be verified; there is no spring.db"),
        (["solve", "spring.toml", "--budget", "2"], "`budget` must be an integer of at least 3"),
        (["solve", "spring.toml", "--seed", "-1"], "is not in the range x>=0"),
        (["solve", "spring.toml", "--workers", "0"], "is not in the range x>=1"),
        (["solve", "spring.toml", "--heuristic", "rpsoo"], "Did you mean 'rpso'"),
        (["solve", "spring.toml", "--heuristic", "none.json"], "a heuristic must be a readable file"),
        (["solve", "spring.toml", "--on-failure", "ignore"], "'ignore' is not one of"),
        (["solve", "spring.toml", "-o", "no/such/answer.json"], "--output must be in a folder that exists"),
        (["solve", "spring.toml", "--store", "no/such.db"], "a store must be in a folder that exists"),
        (["solve", "spring.toml", "--store", "."], "a store must be a file"),
        (["solve", "spring.toml", "--store", "model.awk"], "a store must be an SQLite file"),
        (["solve", "spring.toml", "--store", "/proc/x.db"], "a store must be writable"),
        (["ask", "lab.toml", "--store", "no/such.db"], "a store must be in a folder that exists"),
        (["tell", "lab.toml", "99", "1.5"], "a value must be for a point that waits; 99 does not"),
        (["tell", "lab.toml", "0", "garbage"], 'a value must be a number, or the word "failed"; the value has \'garb'),
        (["tell", "lab.toml", "0", "nan"], "a value must be a number"),
        (["tell", "lab.toml", "0", ""], "a value must be a number"),
        (["tell", "lab.toml", "x", "1.5"], "a value must come with the id of its point; got 'x'"),
        (["tell", "lab.toml", "0"], "an id must come with a value; 0 came without. Write: tell FILE 0 0.52"),
        (["tell", "lab.toml", "none.csv"], "values must be in a CSV file; none.csv: "),
        (["tell", "lab.toml", "."], "values must be in a CSV file; .: "),
        (["tell", "lab.toml"], "Missing argument 'ID|CSV'"),
        (["tell", "lab.toml", "columns.csv"], "with the columns id and value; columns.csv has id, val"),
        (["tell", "lab.toml", "long.csv"], "an id must be a number; line 2 of long.csv has '999"),
        (["tell", "lab.toml", "9" * 5001, "1"], "a value must come with the id of its point; got '999"),
        (["tell", "lab.toml", "9" * 5001], "an id must come with a value; 999"),
        (["tell", "lab.toml", "0", "9" * 120_000], "a value must be a number"),
        (["tell", "lab.toml", "ids.csv"], "an id must be a number; line 3 of ids.csv has 'x'"),
        (["tell", "lab.toml", "values.csv"], "line 2 of values.csv has 'x'"),
        (["tell", "lab.toml", "bytes.csv"], "values must be in a CSV file; bytes.csv: "),
        (["tell", "lab.toml", "0", "1", "-o", "no/such/answer.json"], "--output must be in a folder that exists"),
    ],
)
def test_a_wrong_call_is_told_in_a_sentence_and_leaves_nothing(folder, arguments, words):
    Path("columns.csv").write_text("id,val\n0,1\n")
    Path("long.csv").write_text(f"id,value\n{'9' * 5001},1\n")
    Path("ids.csv").write_text("id,value\n0,1\nx,1\n")
    Path("values.csv").write_text("id,value\n0,x\n")
    Path("bytes.csv").write_bytes(b"id,value\n0,\xff\n")
    before = sorted(os.listdir(folder))
    ended = run(*arguments, code=2)
    assert words in " ".join(ended.stderr.split())
    assert ended.stdout == ""
    made = sorted(set(os.listdir(folder)) - set(before))
    assert made in ([], ["lab.db"])
    if made:
        assert rows("lab.db", "lab") == []


def test_an_id_is_told_once():
    run("tell", "lab.toml", "0", "1.5")
    ended = run("tell", "lab.toml", "0", "1.5")
    assert ended.stderr == "note: 1 told before with the same value; skipped\n"
    assert ended.stdout.startswith("0 values taken in; 1 of 40 runs")
    said = run("tell", "lab.toml", "0", "2.5", code=2).stderr
    assert "a value is told once; this says 2.5 for 0, which was told 1.5." in said
    assert "says failed for 0, which was told 1.5" in run("tell", "lab.toml", "0", "failed", code=2).stderr
    assert [value for *_, value, _ in rows("lab.db", "lab")] == [1.5]


def test_a_sheet_is_filled_bit_by_bit():
    run("ask", "lab.toml", "-o", "points.csv")
    Path("points.csv").write_text("id,value\n0,1.5\n1,\n2,failed\n")
    assert as_json("tell", "lab.toml", "points.csv")["told"] == 2
    Path("points.csv").write_text("id,value\n0,1.50\n1,inf\n2,failed\n3,7\n")
    ended = run("tell", "lab.toml", "points.csv")
    assert ended.stderr == "note: 2 told before with the same value; skipped\n"
    assert "2 values taken in; 4 of 40 runs" in ended.stdout
    Path("points.csv").write_text("id,value\n4,1\n3,8\n")
    said = " ".join(run("tell", "lab.toml", "points.csv", code=2).stderr.split())
    assert "a value is told once; line 3 of points.csv says 8.0 for 3, which was told 7.0." in said
    Path("points.csv").write_text("id,value\n4,1\n99,8\n")
    assert "99, line 3 of points.csv, does not" in run("tell", "lab.toml", "points.csv", code=2).stderr
    assert [number for number, *_ in rows("lab.db", "lab")] == [0, 1, 2, 3]


def test_other_settings_under_the_same_name_are_refused():
    run("solve", "spring.toml")
    said = run("solve", "spring.toml", "--seed", "2", code=2).stderr
    assert "seed is 1, not 2" in said
    assert "another name" in said
    assert as_json("solve", "spring.toml", "--seed", "2", "--name", "second")["seed"] == 2


def test_a_template_that_has_changed_is_named():
    deck = '[model]\ncommand = ["awk", "-f", "{dir}/deck.awk"]\ntemplates = ["deck.awk"]\n'
    problem("spring", model=deck)
    Path("deck.awk").write_text("BEGIN { print {width} + {load} + {turns} }")
    run("solve", "spring.toml")
    Path("deck.awk").write_text("BEGIN { print {width} + {load} + {turns} + 1 }")
    for command in ("solve", "verify"):
        said = run(command, "spring.toml", code=2).stderr
        assert "since 'spring' began, deck.awk has changed" in said


def test_earlier_data_that_have_changed_are_named():
    problem("spring", HEAD + 'data = "d.csv"\n')
    Path("d.csv").write_text("width,load,turns,value\n1,10,2,0\n")
    run("solve", "spring.toml")
    Path("d.csv").write_text("width,load,turns,value\n1,10,2,1\n")
    assert "the file that `data` names has changed since it began" in run("solve", "spring.toml", code=2).stderr


def test_a_model_that_has_changed_is_noticed():
    problem("spring", model=SHELL, script=values_of(""))
    before = timeless(as_json("solve", "spring.toml"))
    Path("model.sh").write_text(values_of("echo another"))
    for command in (["solve"], ["verify"], ["verify", "--budget", "3", "--json"], ["ask"]):
        said = run(*command[:1], "spring.toml", *command[1:], code=2).stderr
        assert "since 'spring' began, model.sh has changed" in said
    assert rows("spring.db", part=VERIFY) == []
    accepted = timeless(as_json("solve", "spring.toml", "--accept-changes"))
    assert accepted == before
    as_json("verify", "spring.toml", "--budget", "3")


def test_verify_of_a_search_that_is_not_over():
    with Store.open("spring.db") as store:
        Search.open(read_problem_file("spring.toml"), store)
    said = run("verify", "spring.toml", code=2).stderr
    assert "only a search that has come to a design can be verified; 'spring' has not" in said


def test_an_output_that_cannot_be_written_does_not_take_the_answer_along():
    ended = run("solve", "spring.toml", "-o", "/dev/full", code=1)
    assert "worst value known" in ended.stdout
    assert "No space left" in ended.stderr
    assert len(rows("spring.db")) == 40


# --- folders of runs


TEMPLATED = """\
[model]
command = ["sh", "deck.sh"]
templates = ["deck.sh"]
"""


def test_keep_keeps_the_folder_of_every_run_beside_the_store():
    Path("deck.sh").write_text("echo {width} {load} {turns} > seen; echo 1\n")
    problem("spring", model=TEMPLATED)
    run("solve", "spring.toml", "--keep", "--workers", "2", "--store", "kept.db")
    runs = sorted(os.listdir("kept.db-runs"))
    assert runs == [f"{number:06d}" for number in range(40)]
    variables = read_problem_file("spring.toml").variables
    for number, x, *_ in rows("kept.db"):
        seen = Path("kept.db-runs", f"{number:06d}", "seen").read_text().split()
        assert seen == list(map(repr, variables.decode(np.array(x)).values()))


def test_without_keep_only_some_of_those_that_failed_stay():
    problem("spring", 'on_failure = "unknown"\n' + HEAD, SHELL, values_of("case $2 in 1*|2*|3*|4*) exit 6;; esac"))
    run("solve", "spring.toml")
    failed = [number for number, *_, failure in rows("spring.db") if failure]
    kept = sorted(map(int, os.listdir("spring.db-runs")))
    assert len(failed) > 10
    assert kept == failed[:10]


def test_without_keep_nothing_stays_after_success(folder):
    problem("spring", model=SHELL, script=values_of("echo > $5/rubbish"))
    run("solve", "spring.toml", "--workers", "2")
    run("verify", "spring.toml", "--budget", "10")
    assert sorted(os.listdir(folder)) == ["lab.toml", "model.awk", "model.sh", "spring.db", "spring.toml"]


# --- Ctrl-C and its like

SLOW = """
if [ -e $4/slow ] && [ $(wc -l < $4/log) -ge $(cat $4/slow) ]; then
    sleep 60 &
    echo $$ $! >> $4/pids
    wait
fi
awk -v a=$1 -v b=$2 -v c=$3 -f $4/model.awk
echo $5 >> $4/log
"""


def ended(forks, pid, number=0):
    """Send a command a signal, if one is given, and wait; returns its exit code, and what it printed."""
    if number:
        os.kill(pid, number)
    code = forks.wait()
    shown, said = (Path(name).read_text() for name in ("stdout", "stderr"))
    for name in ("stdout", "stderr"):
        Path(name).unlink()
    assert "Traceback" not in said
    return code, shown, said


@pytest.fixture
def slow(folder, forks):
    """A model that hangs after so many runs, and the answer of one that does not."""
    problem("quick", 'name = "spring"\n' + HEAD)
    problem("spring", model=SHELL, script=SLOW)
    Path("log").touch()

    def begin(runs, *arguments, **how):
        Path("slow").write_text(str(runs))
        Path("pids").unlink(missing_ok=True)
        pid = forks.start(*(arguments or ("solve", "spring.toml")), **how)
        return lambda number=0: ended(forks, pid, number)

    return begin


@pytest.mark.parametrize(
    ("number", "options"), [(signal.SIGINT, []), (signal.SIGTERM, ["--json"]), (signal.SIGINT, ["--workers", "2"])]
)
def test_a_signal_ends_it_with_the_best_so_far_and_the_same_command_goes_on(folder, slow, number, options):
    end = slow(30, "solve", "spring.toml", *options, "-o", "answer.json")
    pids = text_of(folder / "pids", 1 + ("--workers" in options)).split()
    until_stored(30)
    said = run("solve", "spring.toml", code=2).stderr  # a second one at the same time
    assert "a store has one writer at a time; another process has" in said
    code, shown, said = end(number)
    assert code == cli.INTERRUPTED, said
    done = len(rows("spring.db"))
    assert done == 30 or ("--workers" in options and done == 31)
    assert said.endswith(f"\ninterrupted: {done} runs are in spring.db; the same command goes on from there\n")
    assert re.search(rf"solve spring: interrupted after \d s, {done} of 40 runs", said)
    assert all(map(gone, pids))
    partial = json.loads(Path("answer.json").read_text())
    assert (partial["runs"], partial["success"]) == (done, False)
    assert set(partial["design"]) == {"width", "load", "turns"}
    if "--json" in options:
        assert json.loads(shown) == partial
    else:
        assert not partial["found"]  # no inner search is complete yet
        assert shown.startswith("There is no design yet")
    Path("slow").unlink()
    again = run("solve", "spring.toml")
    assert f"going on; {done} of 40 runs are in the store" in again.stderr
    assert len(Path("log").read_text().split()) == 40  # none was run twice
    whole = as_json("solve", "quick.toml")
    assert timeless(as_json("solve", "spring.toml")) == timeless(whole)
    assert rows("spring.db") == rows("quick.db")
    left = {"answer.json", "lab.toml", "log", "model.awk", "model.sh", "pids", "quick.db", "quick.toml", "spring.db"}
    assert set(os.listdir(folder)) == left | {"spring.toml"}


DATED = r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d  "


def test_the_log_of_a_job_that_is_killed_says_how_far_it_came(folder, slow):
    end = slow(3)
    text_of(folder / "pids")
    until_stored(3)
    assert re.fullmatch(DATED + r"solve spring: started, 0 of 40 runs\n", Path("stderr").read_text())
    code, shown, said = end(signal.SIGKILL)
    assert (code != 0, shown) == (True, "")
    assert said.count("\n") == 1
    Path("slow").unlink()
    ended = run("solve", "spring.toml")
    first, last = [line for line in ended.stderr.splitlines() if re.match(DATED, line)]
    assert re.fullmatch(DATED + "solve spring: started, 3 of 40 runs", first)
    assert re.fullmatch(DATED + r"solve spring: done after \d+ s, 40 of 40 runs", last)


@pytest.mark.parametrize("command", ["solve", "verify"])
def test_there_is_a_line_now_and_then_while_a_model_runs(monkeypatch, command):
    problem("spring", model=SHELL, script=values_of('case $3 in 3*) exit 5;; esac\n[ -e "$4/slow" ] && sleep 0.3'))
    if command == "verify":
        run("solve", "spring.toml")
    Path("slow").touch()
    monkeypatch.setattr("robustforge.cli.log.INTERVAL", 0.1)
    ended = run(
        command, "spring.toml", "--budget", "6", *(["--name", "second"] if command == "solve" else []), "--json"
    )
    json.loads(ended.stdout)
    lines = [line for line in ended.stderr.splitlines() if re.match(DATED, line)]
    assert sum(bool(re.search(r": [1-5] of 6 runs, .*\d+ s left, \d+ s so far$", line)) for line in lines) >= 5
    if command == "solve":
        assert sum("has failed, the first one without a value" in line for line in lines) <= 1


def test_ctrl_c_before_there_is_any_design(folder, slow):
    end = slow(2, "solve", "spring.toml", "--json")
    pids = text_of(folder / "pids").split()
    until_stored(2)
    code, shown, _ = end(signal.SIGINT)
    assert code == cli.INTERRUPTED
    assert all(map(gone, pids))
    record = json.loads(shown, parse_constant=pytest.fail)
    assert (record["runs"], record["success"], record["nominal"]) == (2, False, None)
    assert "no inner search was completed" in record["message"]
    Path("slow").unlink()
    assert timeless(as_json("solve", "spring.toml")) == timeless(as_json("solve", "quick.toml"))


def test_ctrl_c_during_verify_and_check(folder, slow):
    as_json("solve", "spring.toml")
    for command in (["verify", "spring.toml", "--budget", "20"], ["check", "spring.toml"]):
        end = slow(45 if command[0] == "verify" else 0, *command)
        pids = text_of(folder / "pids").split()
        until_stored(5, VERIFY)
        code, shown, said = end(signal.SIGINT)
        assert code == cli.INTERRUPTED
        assert shown == ""
        assert said.splitlines()[-1].startswith("interrupted: ")
        assert all(map(gone, pids))
    Path("slow").unlink()
    assert len(rows("spring.db", part=VERIFY)) == 5
    verified = as_json("verify", "spring.toml", "--budget", "20")
    as_json("solve", "quick.toml")
    assert as_json("verify", "quick.toml", "--budget", "20") == {**verified, "store": "quick.db"}
    assert len(Path("log").read_text().split()) == 60


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["solve", "check"])
def test_a_signal_is_heard_while_a_pattern_takes_for_ever(folder, forks, command, number):
    script = "echo $5 >> $4/log; echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    problem("spring", model=SHELL + 'result.pattern = "(?:a+)+(b)"\n', script=script)
    pid = forks.start(command, "spring.toml")
    text_of(folder / "log")
    time.sleep(0.5)
    code, _, said = ended(forks, pid, number)
    assert code == cli.INTERRUPTED  # a pattern that came to its end would make it 1
    assert "\ninterrupted: " in f"\n{said}"


def test_output_that_is_a_trap_is_a_failed_run(folder):
    trap = "[ -e $4/trap ] && { head -c 300000 /dev/zero | tr '\\000' 1; exit; }"
    problem("spring", model=SHELL, script=values_of(trap))
    Path("trap").touch()
    shown = run("check", "spring.toml", code=1).stdout
    assert "its output has no number on the last line: '1111" in " ".join(shown.split())


# --- stores that cannot be written


def test_a_disk_that_fills_up_is_told_in_a_sentence_and_it_goes_on_once_there_is_room(folder, slow):
    code, shown, said = slow(999, limit=130_000)()
    assert code == 1
    assert shown.startswith("There is no design yet")
    assert "\nerror: a store must be on a disk with room to write; writing to " in said
    assert said.count("\n") == 3
    before = rows("spring.db")
    assert 0 < len(before) < 40
    assert timeless(as_json("solve", "spring.toml")) == timeless(as_json("solve", "quick.toml"))
    assert rows("spring.db")[: len(before)] == before


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_is_read_only(folder):
    (folder / "locked").mkdir(mode=0o500)
    said = run("solve", "spring.toml", "--store", "locked/spring.db", code=2).stderr
    assert "a store must be writable" in said


# --- what was found to be wrong


def test_a_negative_value_can_be_told():
    run("tell", "lab.toml", "0", "-1.5")
    assert [value for *_, value, _ in rows("lab.db", "lab")] == [-1.5]


def test_verify_of_a_file_with_a_design_names_the_option():
    assert "--x belongs to test problems" in run("verify", "spring.toml", "--x", "1", code=2).stderr


def test_a_line_of_garbage_is_no_csv():
    Path("garbage.csv").write_text("hello\n")
    assert "columns id and value" in run("tell", "lab.toml", "garbage.csv", code=2).stderr


def test_a_csv_is_taken_in_whole_or_not_at_all():
    Path("points.csv").write_text("id,value\n0,1\n0,2\n")
    run("tell", "lab.toml", "points.csv", code=2)
    Path("points.csv").write_text("id,value\n0,1\n1,2\n")
    run("tell", "lab.toml", "points.csv")


def test_a_small_search_whose_model_always_fails_works_once_it_is_mended():
    problem("spring", HEAD.replace("40", "8"), SHELL, values_of("[ -e $4/broken ] && exit 4"))
    Path("broken").touch()
    run("solve", "spring.toml", code=1)
    Path("broken").unlink()
    assert as_json("solve", "spring.toml")["success"]


def test_the_hint_names_the_search_that_was_solved():
    assert "verify spring.toml --name other" in " ".join(run("solve", "spring.toml", "--name", "other").stdout.split())


# --- the store is lost, or its disk is full, in the middle of the work

AT_THE_END = """
echo x >> $4/log
[ $(wc -l < $4/log) -eq $(cat $4/when) ] && {}
"""


def losing(how, when):
    """A model that does something to the store at one of its runs, and one that does not."""
    head = HEAD.replace("rpso", "rpso+dd")  # which has a design after 20 runs
    problem("quick", 'name = "spring"\n' + head)
    problem("spring", head, model=SHELL, script=values_of(AT_THE_END.format(how)))
    Path("when").write_text(str(when))
    Path("log").unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("how", "fact"),
    [
        ("rm $4/spring.db", "was deleted"),
        ("mv $4/spring.db $4/moved.db", "was deleted"),
        ("echo other > $4/other && mv $4/other $4/spring.db", "was replaced"),
        (": > $4/spring.db", "was truncated"),
    ],
)
@pytest.mark.parametrize("when", [38, 40])
def test_a_store_that_is_lost_does_not_take_the_design_along(how, fact, when):
    losing(how, when)
    ended = run("solve", "spring.toml", "-o", "design.json", code=1)
    assert ended.stdout.startswith("Robust design of spring")
    assert fact in ended.stderr
    assert "spring.db-rescued" in ended.stderr
    record = json.loads(Path("design.json").read_text())
    assert record["found"]
    assert when - 1 <= record["runs"] == len(rows("spring.db-rescued")) <= when  # the model may be a run ahead
    os.replace("spring.db-rescued", "spring.db")
    assert timeless(as_json("solve", "spring.toml")) == timeless(as_json("solve", "quick.toml"))
    assert len(Path("log").read_text().split()) <= 41  # nothing that was stored is run twice


def test_a_store_that_is_lost_does_not_take_the_worst_case_along():
    losing("rm $4/spring.db", 60)
    run("solve", "spring.toml")
    ended = run("verify", "spring.toml", "--budget", "30", code=1)
    assert "the worst within the tolerances" in ended.stdout
    assert "was deleted" in ended.stderr
    assert len(rows("spring.db-rescued", part=VERIFY)) in (19, 20)  # the model may be a run ahead of the store
    os.replace("spring.db-rescued", "spring.db")
    run("solve", "quick.toml")
    found = as_json("verify", "quick.toml", "--budget", "30")
    assert timeless(as_json("verify", "spring.toml", "--budget", "30")) == timeless(found)


@pytest.mark.parametrize("command", ["solve", "verify"])
@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("database or disk is full", sqlite3.SQLITE_FULL),
        ("attempt to write a readonly database", sqlite3.SQLITE_READONLY),
        ("disk I/O error", sqlite3.SQLITE_IOERR),
    ],
)
def test_a_disk_that_fails_does_not_take_the_design_along(monkeypatch, command, message, code):
    whole, count = Store._insert_evaluations, 0
    if command == "verify":
        run("solve", "spring.toml")

    def full(self, number, evaluations):
        nonlocal count
        count += len(evaluations)
        if count == (39 if command == "solve" else 12):
            error = sqlite3.OperationalError(message)
            error.sqlite_errorcode = code
            raise error
        whole(self, number, evaluations)

    monkeypatch.setattr(Store, "_insert_evaluations", full)
    budget = ["--budget", "20"] if command == "verify" else []
    ended = run(command, "spring.toml", *budget, code=1)
    assert ("Robust design" if command == "solve" else "the worst within the tolerances") in ended.stdout
    assert message in ended.stderr
    assert "What was stored is safe" in ended.stderr
    run(command, "spring.toml", *budget)
    assert len(rows("spring.db")) == 40


def test_a_deleted_lock_file_changes_nothing():
    losing("rm $4/spring.db-lock", 20)
    assert timeless(as_json("solve", "spring.toml")) == timeless(as_json("solve", "quick.toml"))
    assert not Path("spring.db-lock").exists()


@pytest.mark.parametrize("command", ["solve", "verify", "ask"])
def test_a_store_must_be_a_file(command):
    os.mkfifo("pipe")
    assert "pipe is a named pipe" in run(command, "spring.toml", "--store", "pipe", code=2).stderr
    assert "/dev/null is a device" in run(command, "spring.toml", "--store", "/dev/null", code=2).stderr
