"""`check`, `ask` and `tell` of a problem file, and calls that are refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from cli_runner import as_json, run
from spring_problem import (
    HEAD,
    SHELL,
    VARIABLES,
    filled,
    problem,
    rows,
    timeless,
    values_of,
)

pytestmark = pytest.mark.usefixtures("folder")


def test_check_shows_the_plan_and_stores_nothing(folder):
    before = sorted(os.listdir(folder))
    shown = run("check", "spring.toml").stdout
    for words in ("spring: plan", "width", "-2 to 3", "[mm]", "±0.2", "kN", "+5%/-2%", "exact", "rpso", "40 runs"):
        assert words in shown
    assert "0.25 at the centre of the bounds" in shown
    assert "To start: robustforge solve spring.toml" in shown
    assert max(map(len, shown.splitlines())) <= 80
    record = as_json("check", "spring.toml")
    assert record["variables"]["load"] == {"bounds": [1.0, 100.0], "tolerance": "+5%/-2%", "unit": "kN"}
    assert record["trial"]["point"] == pytest.approx({"width": 0.5, "load": 10, "turns": 2})
    assert record["trial"]["value"] == pytest.approx(0.25)
    assert (record["trial"]["failure"], record["trial"]["tail"]) == ("", "")
    assert (record["budget"], record["heuristic_name"], record["workers"]) == (40, "rpso", 1)
    assert sorted(os.listdir(folder)) == before


def test_check_of_a_failing_model_shows_its_last_output(folder):
    problem("spring", model=SHELL, script="echo some output; echo [/no] licence for $1 >&2; exit 3")
    ended = run("check", "spring.toml", code=1)
    assert "failed at the centre of the bounds: exit code 3" in " ".join(ended.stdout.split())
    assert "Last lines of output" in ended.stdout
    assert "[/no] licence for 0.5" in ended.stdout
    assert "To start" not in ended.stdout
    record = as_json("check", "spring.toml", code=1)
    assert (record["trial"]["value"], record["trial"]["failure"]) == (None, "exit code 3")
    assert record["trial"]["tail"] == "[/no] licence for 0.5"
    assert sorted(os.listdir(folder)) == ["lab.toml", "model.awk", "model.sh", "spring.toml"]


def test_check_without_a_model():
    assert "For the points to evaluate: robustforge ask lab.toml" in run("check", "lab.toml").stdout
    assert as_json("check", "lab.toml")["trial"] is None


def test_check_reports_all_errors_of_a_file():
    Path("bad.toml").write_text('goal = "x"\nbudget = 1\n' + VARIABLES)
    for command in ("check", "solve", "verify", "ask"):
        said = run(command, "bad.toml", code=2).stderr
        assert said.startswith("error: bad.toml has 2 errors\n  line 1: `goal`")
        assert "\n  line 2: `budget` must be" in said


def test_enormous_output_is_a_failed_run(folder):
    trap = "[ -e $4/trap ] && { head -c 300000 /dev/zero | tr '\\000' 1; exit; }"
    problem("spring", model=SHELL, script=values_of(trap))
    Path("trap").touch()
    shown = run("check", "spring.toml", code=1).stdout
    assert "the output has no number on the last line: '1111" in " ".join(shown.split())


def test_pending_searches_and_saved_designs_are_recognised(folder):
    run("ask", "lab.toml")
    assert as_json("runs", "lab.db")[0]["state"] == "waiting for values"
    assert "width ([mm])" in " ".join(run("ask", "lab.toml").stdout.split())
    as_json("solve", "spring.toml", "-o", "answer.json")
    said = run("verify", "answer.json", code=2).stderr
    assert "answer.json is the design of a problem file, which is verified by running its model. Pass the" in said


def test_ask_and_tell_by_csv_give_the_result_of_solve(folder):
    shown = run("ask", "lab.toml").stdout
    assert "points pending, 0 of 40 runs completed" in shown
    assert "robustforge tell lab.toml 0 VALUE" in shown
    told, only = 0, 3
    while as_json("ask", "lab.toml", "-o", "points.csv")["points"]:
        count = filled("points.csv", only=only)
        record = as_json("tell", "lab.toml", "points.csv", "-o", "told.json")
        assert json.loads(Path("told.json").read_text()) == record
        told += count
        assert (record["new_values"], record["runs"], record["finished"]) == (count, told, told == 40)
        only = None
    assert told == 40
    assert Path("points.csv").read_text().split() == ["id,value"]
    assert "The search is complete: 40 runs are stored in lab.db" in run("ask", "lab.toml").stdout
    solved = as_json("solve", "spring.toml", "--name", "lab")
    record["result"].pop("verdict"), solved.pop("verdict")  # only where a model is run, it recommends to attack further
    assert timeless(record["result"]) == timeless(solved)
    assert rows("lab.db", "lab") == rows("spring.db", "lab")


def test_ask_and_tell_single_points():
    points = as_json("ask", "lab.toml")["points"]
    assert as_json("ask", "lab.toml")["points"] == points
    assert list(points[0]) == ["id", "width", "load", "turns"]
    ended = run("tell", "lab.toml", "2", "12.5")
    assert ended.stdout.startswith(f"1 value stored; 1 of 40 runs completed, {len(points) - 1} points pending.")
    run("tell", "lab.toml", "0", "1.5D+01")  # as Fortran writes it
    run("tell", "lab.toml", "1", "inf")
    record = as_json("tell", "lab.toml", "3", "failed")
    assert [point["id"] for point in record["points"]] == list(range(4, len(points)))
    assert [(number, value) for number, _, value, failure in rows("lab.db", "lab") if not failure] == [
        (0, 15.0), (1, float("inf")), (2, 12.5),
    ]  # fmt: skip
    assert [(number, failure) for number, *_, failure in rows("lab.db", "lab") if failure] == [
        (3, "reported as failed")
    ]
    assert {key: type(value) for key, value in points[0].items()} == {
        "id": int, "width": float, "load": float, "turns": float,
    }  # fmt: skip


def test_the_last_value_shows_the_design():
    problem("lab", HEAD.replace("40", "20"), "")
    while as_json("ask", "lab.toml", "-o", "points.csv")["points"]:
        filled("points.csv")
        shown = run("tell", "lab.toml", "points.csv").stdout
    assert "Robust design of lab" in shown
    assert "the budget is exhausted" in shown
    assert "robustforge verify" not in shown  # it would refuse
    assert "For a report: robustforge report lab.db Without a model" in " ".join(shown.split())


def test_a_worst_value_equal_to_the_nominal_value():
    problem("lab", HEAD.replace("40", "20"), "")
    while as_json("ask", "lab.toml", "-o", "points.csv")["points"]:
        filled("points.csv", value=lambda **_: 1.0)
        ended = run("tell", "lab.toml", "points.csv")
    shown = " ".join(ended.stdout.split())
    assert "worst value found 1 nominal value: no worse value was found nominal value 1 if built" in shown


def test_csv_with_byte_order_mark_blanks_and_failures():
    run("ask", "lab.toml", "-o", "points.csv")
    text = "\ufeffid,value,remark\r\n0, 1.5 ,x\r\n1,,\r\n2,FAILED,\r\n 3 ,inf\r\n"
    Path("points.csv").write_bytes(text.encode())
    assert as_json("tell", "lab.toml", "points.csv")["new_values"] == 3
    assert [number for number, *_ in rows("lab.db", "lab")] == [0, 2, 3]


def test_under_raise_a_failed_point_stays_pending():
    problem("lab", HEAD + 'on_failure = "raise"\n', "")
    run("ask", "lab.toml", "-o", "points.csv")
    filled("points.csv")
    text = Path("points.csv").read_text().split("\n")
    Path("points.csv").write_text("\n".join([text[0], text[1].rpartition(",")[0] + ",failed", *text[2:]]))
    said = run("tell", "lab.toml", "points.csv", code=1).stderr
    assert "run 0 failed: reported as failed" in said
    assert as_json("ask", "lab.toml")["points"][0]["id"] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["solve", "spring.toml", "--dimension", "3"], "--dimension applies to test problems only"),
        (["solve", "spring.toml", "--variant", "shifted"], "--variant applies to test problems only"),
        (["solve", "spring.toml", "--variant-seed", "3"], "--variant-seed applies to test problems only"),
        (["solve", "spring.toml", "--out-of-bounds", "clip"], "--out-of-bounds applies to test problems only"),
        (["solve", "sphere", "--store", "x.db"], "--store applies to problem files only"),
        (["solve", "sphere", "--name", "x"], "--name applies to problem files only"),
        (["solve", "sphere", "--workers", "2"], "--workers applies to problem files only"),
        (["solve", "sphere", "--keep-folders"], "--keep-folders applies to problem files only"),
        (["verify", "spring.toml", "--samples", "10"], "--samples applies to test problems only"),
        (["verify", "spring.toml", "--seed", "10"], "--seed applies to test problems only"),
        (["verify", "spring.toml", "--dimension", "10"], "--dimension applies to test problems only"),
        (["verify", "sphere", "--x", "1", "--budget", "10"], "--budget applies to problem files only"),
        (["verify", "sphere", "--x", "1", "--store", "x.db"], "--store applies to problem files only"),
        (["verify", "sphere", "--x", "1", "--workers", "2"], "--workers applies to problem files only"),
        (["solve", "none.toml"], "a problem file must be readable"),
        (["check", "none.toml"], "a problem file must be readable"),
        (["solve", "lab.toml"], "lab.toml has no model to run"),
        (["verify", "lab.toml"], "lab.toml has no model to run"),
        (["verify", "spring.toml"], "there is no design to verify: spring.db does not exist"),
        (["solve", "spring.toml", "--budget", "2"], "`budget` must be an integer of at least 3"),
        (["solve", "spring.toml", "--seed", "-1"], "is not in the range x>=0"),
        (["solve", "spring.toml", "--workers", "0"], "is not in the range x>=1"),
        (["solve", "spring.toml", "--heuristic", "rpsoo"], "did you mean 'rpso'"),
        (["solve", "spring.toml", "--heuristic", "none.json"], "a heuristic must be a readable file"),
        (["solve", "spring.toml", "--on-failure", "ignore"], "'ignore' is not one of"),
        (["solve", "spring.toml", "-o", "no/such/answer.json"], "--output must be in a folder that exists"),
        (["solve", "spring.toml", "--store", "no/such.db"], "the folder of no/such.db does not exist"),
        (["solve", "spring.toml", "--store", "."], "a store must be a file"),
        (["solve", "spring.toml", "--store", "model.awk"], "a store must be an SQLite file"),
        (["solve", "spring.toml", "--store", "/proc/x.db"], "a store must be writable"),
        (["ask", "lab.toml", "--store", "no/such.db"], "the folder of no/such.db does not exist"),
        (["tell", "lab.toml", "99", "1.5"], "point 99 is not pending"),
        (["tell", "lab.toml", "0", "garbage"], 'expected a number or the word "failed"; the value has \'garb'),
        (["tell", "lab.toml", "0", "nan"], "expected a number"),
        (["tell", "lab.toml", "0", ""], "expected a number"),
        (["tell", "lab.toml", "x", "1.5"], "expected the id of a point; got 'x'"),
        (["tell", "lab.toml", "0"], "no value given for point 0. Write: tell FILE 0 0.52"),
        (["tell", "lab.toml", "none.csv"], "cannot read the CSV file of values; none.csv: "),
        (["tell", "lab.toml", "."], "cannot read the CSV file of values; .: "),
        (["tell", "lab.toml"], "Missing argument 'ID|CSV'"),
        (["tell", "lab.toml", "columns.csv"], "with the columns id and value; columns.csv has id, val"),
        (["tell", "lab.toml", "long.csv"], "expected a number as id; line 2 of long.csv has '999"),
        (["tell", "lab.toml", "9" * 5001, "1"], "expected the id of a point; got '999"),
        (["tell", "lab.toml", "9" * 5001], "no value given for point 999"),
        (["tell", "lab.toml", "0", "9" * 120_000], "expected a number"),
        (["tell", "lab.toml", "ids.csv"], "expected a number as id; line 3 of ids.csv has 'x'"),
        (["tell", "lab.toml", "values.csv"], "line 2 of values.csv has 'x'"),
        (["tell", "lab.toml", "bytes.csv"], "cannot read the CSV file of values; bytes.csv: "),
        (["tell", "lab.toml", "0", "1", "-o", "no/such/answer.json"], "--output must be in a folder that exists"),
    ],
)
def test_an_invalid_call_is_explained_and_stores_nothing(folder, arguments, words):
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


def test_a_value_is_reported_once():
    run("tell", "lab.toml", "0", "1.5")
    ended = run("tell", "lab.toml", "0", "1.5")
    assert ended.stderr.endswith("  note: 1 value skipped, reported before\n")
    assert ended.stdout.startswith("0 values stored; 1 of 40 runs")
    said = run("tell", "lab.toml", "0", "2.5", code=2).stderr
    assert "point 0 already has another value; 1.5 is stored, 2.5 is reported." in said
    assert "1.5 is stored, failed is reported" in run("tell", "lab.toml", "0", "failed", code=2).stderr
    assert [value for *_, value, _ in rows("lab.db", "lab")] == [1.5]


def test_a_csv_file_can_be_filled_in_steps():
    run("ask", "lab.toml", "-o", "points.csv")
    Path("points.csv").write_text("id,value\n0,1.5\n1,\n2,failed\n")
    assert as_json("tell", "lab.toml", "points.csv")["new_values"] == 2
    Path("points.csv").write_text("id,value\n0,1.50\n1,inf\n2,failed\n3,7\n")
    ended = run("tell", "lab.toml", "points.csv")
    assert ended.stderr.endswith("  note: 2 values skipped, reported before\n")
    assert "2 values stored; 4 of 40 runs" in ended.stdout
    Path("points.csv").write_text("id,value\n4,1\n3,8\n")
    said = " ".join(run("tell", "lab.toml", "points.csv", code=2).stderr.split())
    assert "line 3 of points.csv: point 3 already has another value; 7.0 is stored, 8.0 is reported." in said
    Path("points.csv").write_text("id,value\n4,1\n99,8\n")
    assert "line 3 of points.csv: point 99 is not pending" in run("tell", "lab.toml", "points.csv", code=2).stderr
    assert [number for number, *_ in rows("lab.db", "lab")] == [0, 1, 2, 3]


def test_a_negative_value():
    run("tell", "lab.toml", "0", "-1.5")
    assert [value for *_, value, _ in rows("lab.db", "lab")] == [-1.5]


def test_a_file_that_is_not_csv():
    Path("garbage.csv").write_text("hello\n")
    assert "columns id and value" in run("tell", "lab.toml", "garbage.csv", code=2).stderr


def test_a_csv_file_is_stored_completely_or_not_at_all():
    Path("points.csv").write_text("id,value\n0,1\n0,2\n")
    run("tell", "lab.toml", "points.csv", code=2)
    Path("points.csv").write_text("id,value\n0,1\n1,2\n")
    run("tell", "lab.toml", "points.csv")
