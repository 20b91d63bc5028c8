"""Placeholders: exact numbers, formats, and literal braces."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustforge.simulator.placeholders import (
    Placeholder,
    fill,
    is_float_format,
    names_in,
    parse_argument,
    parse_template,
    placeholders_in,
)

VALUES = {"R1": 1 / 3, "C_2": -5e-12, "dir": "/runs/1", "here": "/home/me"}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{R1}", "0.3333333333333333"),
        ("--r={R1:.3e},{C_2:g}", "--r=3.333e-01,-5e-12"),
        ("{R1:>8.2f}|{R1: .1f}", "    0.33| 0.3"),
        ("{here}/bin", "/home/me/bin"),
        ("{{R1}}", "{R1}"),
        ("{{{R1:.1f}}}", "{0.3}"),
        ("", ""),
        ("plain; $HOME `ls`", "plain; $HOME `ls`"),
    ],
)
def test_fill_an_argument(text, filled):
    assert fill(parse_argument(text), VALUES) == filled


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("R1 a b {R1:.2f}\n", "R1 a b 0.33\n"),
        (".meas {foo} {a+b} { R1 } {{}} {", ".meas {foo} {a+b} { R1 } {{}} {"),
        ('{"R1": {R1}, "x": {"y": 1}}', '{"R1": 0.3333333333333333, "x": {"y": 1}}'),
        ("{R1: 2.0}", "{R1: 2.0}"),  # a map in YAML
        ("{{R1:.1f}}", "{0.3}"),
        ("${dir}/x\r\n", "$/runs/1/x\r\n"),
    ],
)
def test_fill_a_template(text, filled):
    assert fill(parse_template(text), VALUES) == filled


def test_attributes_and_items_are_not_accessed():
    for text in ("{R1.__class__}", "{R1!r}", "{R1[0]}", "{0}", "{}"):
        assert fill(parse_argument(text), VALUES) == text
        assert fill(parse_template(text), VALUES) == text


def test_unknown_placeholders_are_listed():
    assert list(placeholders_in(parse_argument("{R9:.2e} {"))) == [
        Placeholder("{R9:.2e}", "R9", ".2e"),
        Placeholder("{", ""),
    ]
    assert names_in([parse_argument("{a}{b:g}{{c}}"), parse_template("{d} { e }")]) == {"a", "b", "d"}


@pytest.mark.parametrize("spec", ["", ".6e", ".4g", "12.4f", "+.3E", "08.3f", ",", "%", " .3f", "z.1f"])
def test_valid_formats(spec):
    assert is_float_format(spec)


@pytest.mark.parametrize("spec", ["d", "x", "s", ".6q", "foo", ".", "999999999", ".12345f"])
def test_invalid_formats(spec):
    assert not is_float_format(spec)


@given(st.floats(allow_nan=False))
def test_numbers_are_exact(value):
    assert float(fill(parse_argument("{x}"), {"x": value})) == value


@given(st.text(alphabet="{}R1:.e a"))
def test_any_string_can_be_parsed(text):
    assert fill(parse_template(text), {}) == text
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert fill(parse_argument(doubled), {"R1": math.pi}) == text
