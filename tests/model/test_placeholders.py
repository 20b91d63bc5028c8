"""Placeholders: numbers as exact as they are, formats as asked for, and nobody else's braces touched."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustforge.model.placeholders import Slot, argument, fill, is_format, names_in, slots, template

WORDS = {"R1": 1 / 3, "C_2": -5e-12, "dir": "/runs/1", "here": "/home/me"}


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
def test_an_argument(text, filled):
    assert fill(argument(text), WORDS) == filled


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
def test_a_template(text, filled):
    assert fill(template(text), WORDS) == filled


def test_no_way_into_the_objects_behind():
    for text in ("{R1.__class__}", "{R1!r}", "{R1[0]}", "{0}", "{}"):
        assert fill(argument(text), WORDS) == text
        assert fill(template(text), WORDS) == text


def test_unknown_slots_can_be_seen():
    assert list(slots(argument("{R9:.2e} {"))) == [Slot("{R9:.2e}", "R9", ".2e"), Slot("{", "")]
    assert names_in([argument("{a}{b:g}{{c}}"), template("{d} { e }")]) == {"a", "b", "d"}


@pytest.mark.parametrize("spec", ["", ".6e", ".4g", "12.4f", "+.3E", "08.3f", ",", "%", " .3f", "z.1f"])
def test_a_format(spec):
    assert is_format(spec)


@pytest.mark.parametrize("spec", ["d", "x", "s", ".6q", "foo", ".", "999999999", ".12345f"])
def test_no_format(spec):
    assert not is_format(spec)


@given(st.floats(allow_nan=False))
def test_a_number_survives(value):
    assert float(fill(argument("{x}"), {"x": value})) == value


@given(st.text(alphabet="{}R1:.e a"))
def test_any_text_can_be_taken_apart(text):
    assert fill(template(text), {}) == text
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert fill(argument(doubled), {"R1": math.pi}) == text
