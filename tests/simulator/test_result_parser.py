"""Parsing results: all notations of a number, and a message for everything else."""

from __future__ import annotations

import json
import math
import time

import pytest

from robustforge.simulator import result_parser
from robustforge.simulator.process_registry import ProcessRegistry
from robustforge.simulator.result_parser import MAX_FILE_BYTES, ResultParseError, ResultParser, parse_number
from robustforge.simulator.subprocess_run import CompletedRun

REGISTRY = ProcessRegistry()


def parse(folder, text, **how) -> float:
    """Parse a result on standard output, or in the file."""
    if how.get("file"):
        (folder / how["file"]).write_text(text)
        text = "elsewhere"
    return ResultParser(**how).parse(folder, CompletedRun(stdout=text), REGISTRY)


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
def test_notations_of_a_number(text, value):
    assert parse_number(text) == value


def test_the_last_line_is_the_result(tmp_path):
    assert parse(tmp_path, "iteration 1\nloss\n 3.25 \r\n\n  \n") == 3.25
    assert parse(tmp_path, "10%\r50%\r4.5") == 4.5
    assert parse(tmp_path, "7", file="out.txt") == 7


def test_the_last_match_of_a_pattern(tmp_path):
    text = "loss = 3\nfoo\nloss = 1.5D+01 dB\nbar\n"
    assert parse(tmp_path, text, pattern=r"^loss = (\S+)") == 15
    assert parse(tmp_path, text, pattern=r"^loss = (\S+)", file="log") == 15


def test_a_key_of_json(tmp_path):
    text = json.dumps({"loss": {"worst": 2, "best": "inf"}, "peaks": [1.5, {"at": 4}], "odd": math.inf})
    for key, value in {
        "loss.worst": 2,
        "loss.best": math.inf,
        "peaks.0": 1.5,
        "peaks.-1.at": 4,
        "odd": math.inf,
    }.items():
        assert parse(tmp_path, text, key=key) == value
        assert parse(tmp_path, f"\ufeff{text}", key=key, file="out.json") == value


@pytest.mark.parametrize(
    ("text", "how", "reason"),
    [
        ("a\nxyz\n\n", {}, "the output has no number on the last line: 'xyz'"),
        ("xyz", {"file": "out"}, "out has no number on the last line: 'xyz'"),
        (
            "1.5 2e3",
            {},
            "the output has 2 numbers on the last line, which must be one number alone; use "
            "`result.pattern` to choose one: '1.5 2e3'",
        ),
        ("3 V", {}, "the output has no number on the last line: '3 V'"),
        ("x" * 200, {}, f"the output has no number on the last line: '{'x' * 76}..."),
        (" \n", {}, "the output is empty"),
        ("", {"file": "out"}, "out is empty"),
        ("nan", {}, "the result is NaN"),
        ("-inf", {}, "the result is -inf"),
        ("loss 3", {"pattern": "gain (.*)"}, "the pattern 'gain (.*)' does not match the output"),
        ("loss 3", {"pattern": "gain (.*)", "file": "o"}, "the pattern 'gain (.*)' does not match o"),
        ("loss 3 V", {"pattern": "loss (.*)"}, "the pattern 'loss (.*)' matches '3 V', which is not a number"),
        ("loss", {"pattern": "loss(x)?"}, "the pattern 'loss(x)?' matches '', which is not a number"),
        ("{}", {"key": "a.b"}, "the output has no key 'a.b'"),
        ('{"a": 3}', {"key": "a.b", "file": "out.json"}, "out.json has no key 'a.b'"),
        ("[1, 2]", {"key": "2"}, "the output has no key '2'"),
        ("[1, 2]", {"key": "x"}, "the output has no key 'x'"),
        ('{"a": {"b": "x"}}', {"key": "a.b"}, "a.b: expected a number, got 'x'"),
        ('{"a": true}', {"key": "a"}, "a: expected a number, got true"),
        ('{"a": null}', {"key": "a"}, "a: expected a number, got null"),
        ('{"a": [1]}', {"key": "a"}, "a: expected a number, got [1]"),
        (f'{{"a": 1{"0" * 400}}}', {"key": "a"}, f"a: expected a number, got 1{'0' * 76}..."),
        ('{"a": NaN}', {"key": "a"}, "the result is NaN"),
        ('{"a": -1e999}', {"key": "a"}, "the result is -inf"),
        ("a: 1", {"key": "a"}, "the output is not JSON (Expecting value: line 1 column 1 (char 0))"),
    ],
)
def test_results_that_cannot_be_parsed(tmp_path, text, how, reason):
    with pytest.raises(ResultParseError) as caught:
        parse(tmp_path, text, **how)
    assert str(caught.value) == reason


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 10_000])
def test_hostile_json(tmp_path, text):
    with pytest.raises(ResultParseError, match=r"^out is not JSON \("):
        parse(tmp_path, text, key="a", file="out")


def test_a_file_that_cannot_be_read(tmp_path):
    import os

    with pytest.raises(ResultParseError, match=r"^there is no file out\.json$"):
        ResultParser("out.json").parse(tmp_path, CompletedRun(), REGISTRY)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ResultParseError, match="there is no file pipe"):
        ResultParser("pipe").parse(tmp_path, CompletedRun(), REGISTRY)
    with (tmp_path / "large").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(ResultParseError, match="large is larger than 16 MB"):
        ResultParser("large").parse(tmp_path, CompletedRun(), REGISTRY)


def test_truncated_output_is_reported(tmp_path):
    with pytest.raises(ResultParseError, match="larger than 1 MiB, too large for JSON"):
        ResultParser(key="a").parse(tmp_path, CompletedRun(stdout="1}", truncated=True), REGISTRY)
    with pytest.raises(ResultParseError, match="does not match the last 1 MiB of the output"):
        ResultParser(pattern="(x)").parse(tmp_path, CompletedRun(stdout="1}", truncated=True), REGISTRY)


@pytest.mark.parametrize(
    "text",
    ["1" * 300_000, "1" * 300_000 + "d", "." * 300_000, "1 " * 150_000 + "x", " " * 300_000 + "x", "-" * 300_000],
)
def test_long_output_is_parsed_quickly(tmp_path, text):
    start = time.perf_counter()
    with pytest.raises(ResultParseError, match="on the last line"):
        parse(tmp_path, text)
    assert parse_number(text) is None
    assert time.perf_counter() - start < 5


def test_all_digits_of_the_smallest_float():
    assert parse_number(f"{5e-324:.1100f}") == 5e-324


@pytest.mark.parametrize("form", ["{}", "-{}.", "{}.{}", "{}e{}", "{}d{}", "{}.{}d{}x"])
def test_the_time_of_a_number_is_linear_in_its_length(form, monkeypatch):
    monkeypatch.setattr(result_parser, "MAX_NUMBER_LENGTH", 10**9)
    start = time.perf_counter()
    parse_number(form.replace("{}", "1" * 200_000))
    assert time.perf_counter() - start < 5


def test_a_pattern_that_takes_too_long_is_a_failure_and_the_next_one_works(tmp_path, monkeypatch):
    monkeypatch.setattr(result_parser, "PATTERN_SECONDS", 0.2)
    start = time.perf_counter()
    with pytest.raises(ResultParseError, match=r"^the pattern '\(\?:a\+\)\+\(b\)' takes more than 0.2 s on the output"):
        parse(tmp_path, "a" * 46, pattern="(?:a+)+(b)")
    assert time.perf_counter() - start < 30
    assert parse(tmp_path, "a = 3", pattern="a = (.)") == 3


def test_the_helper_serves_several_requests(tmp_path):
    with ProcessRegistry() as registry:
        for k in range(5):
            assert ResultParser(pattern="a = (.)").parse(tmp_path, CompletedRun(stdout=f"a = {k}"), registry) == k
        helper = registry.acquire_helper(())
        assert helper is not None
        helper.kill()
        registry.release_helper(helper)
        with pytest.raises(ResultParseError, match="cannot be matched on the output"):
            ResultParser(pattern="a = (.)").parse(tmp_path, CompletedRun(stdout="a = 1"), registry)
        assert ResultParser(pattern="a = (.)").parse(tmp_path, CompletedRun(stdout="a = 1"), registry) == 1
        helper = registry.acquire_helper(())
        registry.release_helper(helper)
    assert helper.returncode is not None
    with pytest.raises(ResultParseError, match=r"^interrupted$"):
        ResultParser(pattern="a = (.)").parse(tmp_path, CompletedRun(stdout="a = 1"), registry)


def test_a_large_match_is_truncated(tmp_path):
    with pytest.raises(ResultParseError, match="which is not a number"):
        parse(tmp_path, "1" * 15_000_000, pattern="(.*)", file="out")
