"""Reading results: every way in which programs write a number, and a sentence for every way in which they do not."""

from __future__ import annotations

import json
import math
import time

import pytest

from robustforge.model import reading
from robustforge.model.process import Ended
from robustforge.model.reading import LARGEST, NoResult, Reading, number
from robustforge.model.runs import Runs

_RUNS = Runs()


def reads(folder, text, **how) -> float:
    """What a reading makes of a text, on standard output or in the file."""
    if how.get("file"):
        (folder / how["file"]).write_text(text)
        text = "elsewhere"
    return Reading(**how).value(folder, Ended(out=text), _RUNS)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", 1.5),
        (" -2e3 \n", -2000.0),
        ("1.0D-03", 1e-3),
        ("-.5d+2", -50.0),
        ("inf", math.inf),
        ("Infinity", math.inf),
        ("", None),
        ("3 V", None),
        ("D-03", None),
        ("0x10", None),
        ("1.0D", None),
    ],
)
def test_a_number(text, value):
    assert number(text) == value


def test_the_last_line(tmp_path):
    assert reads(tmp_path, "iteration 1\nloss\n 3.25 \r\n\n  \n") == 3.25
    assert reads(tmp_path, "10%\r50%\r4.5") == 4.5
    assert reads(tmp_path, "7", file="out.txt") == 7


def test_the_last_match_of_a_pattern(tmp_path):
    text = "loss = 3\nfoo\nloss = 1.5D+01 dB\nbar\n"
    assert reads(tmp_path, text, pattern=r"^loss = (\S+)") == 15
    assert reads(tmp_path, text, pattern=r"^loss = (\S+)", file="log") == 15


def test_a_key_of_json(tmp_path):
    text = json.dumps({"loss": {"worst": 2, "best": "inf"}, "peaks": [1.5, {"at": 4}], "odd": math.inf})
    for key, value in {
        "loss.worst": 2,
        "loss.best": math.inf,
        "peaks.0": 1.5,
        "peaks.-1.at": 4,
        "odd": math.inf,
    }.items():
        assert reads(tmp_path, text, key=key) == value
        assert reads(tmp_path, f"\ufeff{text}", key=key, file="out.json") == value


@pytest.mark.parametrize(
    ("text", "how", "reason"),
    [
        ("a\nxyz\n\n", {}, "its output has no number on the last line: 'xyz'"),
        ("xyz", {"file": "out"}, "out has no number on the last line: 'xyz'"),
        (
            "1.5 2e3",
            {},
            "its output has 2 numbers on the last line, which must be one number alone; use "
            "`result.pattern` to choose one: '1.5 2e3'",
        ),
        ("3 V", {}, "its output has no number on the last line: '3 V'"),
        ("x" * 200, {}, f"its output has no number on the last line: '{'x' * 76}..."),
        (" \n", {}, "its output is empty"),
        ("", {"file": "out"}, "out is empty"),
        ("nan", {}, "the result is NaN"),
        ("-inf", {}, "the result is -inf"),
        ("loss 3", {"pattern": "gain (.*)"}, "the pattern 'gain (.*)' does not match its output"),
        ("loss 3", {"pattern": "gain (.*)", "file": "o"}, "the pattern 'gain (.*)' does not match o"),
        ("loss 3 V", {"pattern": "loss (.*)"}, "what the pattern 'loss (.*)' matches is no number: '3 V'"),
        ("loss", {"pattern": "loss(x)?"}, "what the pattern 'loss(x)?' matches is no number: ''"),
        ("{}", {"key": "a.b"}, "its output has no key 'a.b'"),
        ('{"a": 3}', {"key": "a.b", "file": "out.json"}, "out.json has no key 'a.b'"),
        ("[1, 2]", {"key": "2"}, "its output has no key '2'"),
        ("[1, 2]", {"key": "x"}, "its output has no key 'x'"),
        ('{"a": {"b": "x"}}', {"key": "a.b"}, "a.b is not a number but 'x'"),
        ('{"a": true}', {"key": "a"}, "a is not a number but true"),
        ('{"a": null}', {"key": "a"}, "a is not a number but null"),
        ('{"a": [1]}', {"key": "a"}, "a is not a number but [1]"),
        (f'{{"a": 1{"0" * 400}}}', {"key": "a"}, f"a is not a number but 1{'0' * 76}..."),
        ('{"a": NaN}', {"key": "a"}, "the result is NaN"),
        ('{"a": -1e999}', {"key": "a"}, "the result is -inf"),
        ("a: 1", {"key": "a"}, "its output is no JSON (Expecting value: line 1 column 1 (char 0))"),
    ],
)
def test_no_result(tmp_path, text, how, reason):
    with pytest.raises(NoResult) as caught:
        reads(tmp_path, text, **how)
    assert str(caught.value) == reason


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 10_000])
def test_json_that_is_a_trap(tmp_path, text):
    with pytest.raises(NoResult, match=r"^out is no JSON \("):
        reads(tmp_path, text, key="a", file="out")


def test_a_file_that_cannot_be_read(tmp_path):
    import os

    with pytest.raises(NoResult, match=r"^there is no file out\.json$"):
        Reading("out.json").value(tmp_path, Ended(), _RUNS)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NoResult, match="there is no file pipe"):
        Reading("pipe").value(tmp_path, Ended(), _RUNS)
    with (tmp_path / "large").open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(NoResult, match="large is larger than 16 MB"):
        Reading("large").value(tmp_path, Ended(), _RUNS)


def test_what_was_cut_off_is_said_to_be(tmp_path):
    with pytest.raises(NoResult, match="larger than 1 MiB, too large for JSON"):
        Reading(key="a").value(tmp_path, Ended(out="1}", cut=True), _RUNS)
    with pytest.raises(NoResult, match="does not match the last 1 MiB of its output"):
        Reading(pattern="(x)").value(tmp_path, Ended(out="1}", cut=True), _RUNS)


@pytest.mark.parametrize(
    "text",
    ["1" * 300_000, "1" * 300_000 + "d", "." * 300_000, "1 " * 150_000 + "x", " " * 300_000 + "x", "-" * 300_000],
)
def test_output_of_any_length_is_read_in_no_time(tmp_path, text):
    begin = time.perf_counter()
    with pytest.raises(NoResult, match="on the last line"):
        reads(tmp_path, text)
    assert number(text) is None
    assert time.perf_counter() - begin < 5


def test_all_digits_of_the_smallest_number():
    assert number(f"{5e-324:.1100f}") == 5e-324


@pytest.mark.parametrize("form", ["{}", "-{}.", "{}.{}", "{}e{}", "{}d{}", "{}.{}d{}x"])
def test_numbers_take_time_that_grows_with_their_length(form, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST", 10**9)
    begin = time.perf_counter()
    number(form.replace("{}", "1" * 200_000))
    assert time.perf_counter() - begin < 5


def test_a_pattern_that_takes_too_long_is_a_failure_and_the_next_one_works(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "PATIENCE", 0.2)
    begin = time.perf_counter()
    with pytest.raises(NoResult, match=r"^the pattern '\(\?:a\+\)\+\(b\)' takes more than 0.2 s on its output"):
        reads(tmp_path, "a" * 46, pattern="(?:a+)+(b)")
    assert time.perf_counter() - begin < 30
    assert reads(tmp_path, "a = 3", pattern="a = (.)") == 3


def test_the_helper_that_matches_stays_for_the_next_text(tmp_path):
    with Runs() as runs:
        for k in range(5):
            assert Reading(pattern="a = (.)").value(tmp_path, Ended(out=f"a = {k}"), runs) == k
        helper = runs.helper(())
        assert helper is not None
        helper.kill()  # as somebody might
        runs.keep(helper)
        with pytest.raises(NoResult, match="cannot be looked for in its output"):
            Reading(pattern="a = (.)").value(tmp_path, Ended(out="a = 1"), runs)
        assert Reading(pattern="a = (.)").value(tmp_path, Ended(out="a = 1"), runs) == 1
        helper = runs.helper(())
        runs.keep(helper)
    assert helper.returncode is not None
    with pytest.raises(NoResult, match=r"^interrupted$"):
        Reading(pattern="a = (.)").value(tmp_path, Ended(out="a = 1"), runs)


def test_a_large_match_is_cut(tmp_path):
    with pytest.raises(NoResult, match="matches is no number"):
        reads(tmp_path, "1" * 15_000_000, pattern="(.*)", file="out")
