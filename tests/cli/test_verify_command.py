"""`verify` of a saved result, and of a design of a test problem."""

from __future__ import annotations

import json

import pytest
from cli_runner import SOLVE_SPHERE, as_json, run

from robustforge.cli.payloads.results import RESULT_FORMAT


def test_solve_then_verify(tmp_path):
    path = tmp_path / "result.json"
    solved = as_json(*SOLVE_SPHERE, "--variant", "shifted-rotated", "--variant-seed", "2", "-o", str(path))
    checked = as_json("verify", str(path), "--samples", "2000")
    assert checked["problem"] == solved["problem"]
    assert checked["x"] == solved["x"]
    assert checked["found_by_search"]["fun"] == solved["fun"]
    assert checked["nominal_fun"] == pytest.approx(solved["nominal_fun"])
    assert max(checked["sampled"]["fun"], checked["attacked"]["fun"]) >= checked["nominal_fun"]
    assert checked["attacked"]["fun"] >= max(checked["found_by_search"]["fun"], checked["sampled"]["fun"])
    assert checked == as_json("verify", "-", "--samples", "2000", stdin=path.read_text())
    shown = run("verify", str(path), "--samples", "2000").stdout
    for part in ("nominal", "found", "sampled", "attacked"):
        assert part in shown


@pytest.mark.parametrize(("worst", "known"), [([20.6, 20.8], 1.0), ([20.5, 21.0], None), ([20.6], None), ("far", None)])
def test_the_worst_point_of_a_result_is_evaluated_again(tmp_path, worst, known):
    path = tmp_path / "result.json"
    record = as_json("solve", "sphere", "--dimension", "2", "--budget", "50")
    path.write_text(json.dumps({**record, "x": [20.0, 20.0], "fun": 1e9, "worst_x": worst}))
    checked = as_json("verify", str(path), "--samples", "10")
    assert checked["attacked"]["fun"] == pytest.approx(1.0)
    assert checked["attacked"]["fun"] >= (known or 0.0)


def test_verify_any_design():
    all_same = as_json("verify", "sphere", "--dimension", "4", "--x", "20", "--samples", "1000")
    assert all_same == as_json("verify", "sphere", "--x", "20,20,20,20", "--samples", "1000")
    assert all_same["found_by_search"] is None
    assert all_same["attacked"]["fun"] == pytest.approx(1.0, rel=1e-3)
    assert len(as_json("verify", "branke", "--x", "-6", "--samples", "100")["x"]) == 30
    assert len(as_json("verify", "egg-crate", "--x", "1", "--samples", "100")["x"]) == 2


def result_text(**changes):
    spec = {"name": "sphere", "dimension": 2, "variant": "original", "variant_seed": None, "outside": "evaluate"}
    whole = {"format": RESULT_FORMAT, "problem": spec, "x": [20.0, 20.0], "fun": 1.0}
    return json.dumps({key: value for key, value in {**whole, **changes}.items() if value is not ...})


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[1, 2]", 'expected "format"'),
        (result_text(format="robustforge-heuristic/1"), 'expected "format"'),
        (result_text(problem=...), "`problem` of the standard input must be an object; it is missing"),
        (
            result_text(problem={"name": "sphere"}),
            "`dimension` of the problem in the standard input must be an integer",
        ),
        (result_text(x="20,20"), "`x` of the standard input must be a list"),
        (result_text(x=[20.0]), "one finite number for each of the 2 variables"),
        (result_text(x=[20.0, None]), "one finite number for each of the 2 variables"),
        (result_text(x=[20.0, 10**400]), "one finite number for each of the 2 variables"),
        (result_text(x=[20.0, True]), "one finite number for each of the 2 variables"),
    ],
)
def test_an_invalid_result_file(text, rule):
    assert rule in run("verify", "-", code=2, stdin=text).stderr


def test_a_binary_result_file(tmp_path):
    path = tmp_path / "result.json"
    path.write_bytes(b"\xff\xfe\x00")
    assert "not a text file" in run("verify", str(path), code=2).stderr
