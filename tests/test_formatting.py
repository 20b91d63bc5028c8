"""Numbers for people have the digits that matter, and no others; on terminals and on the page alike."""

from __future__ import annotations

import math

import numpy as np
import pytest

from robustforge.cli import layout
from robustforge.formatting import percent, significant, spread, within
from robustforge.report import words

NUMBERS = [
    (0.00599, 5, "0.00599"),
    (0.0059900312, 5, "0.00599"),
    (0.5, 4, "0.5"),
    (1200.0, 6, "1,200"),
    (1234567.0, 4, "1,234,567"),
    (999.96, 4, "1,000"),
    (0.00001234, 4, "0.00001234"),
    (1e-7, 4, "1e-07"),
    (2.5e12, 4, "2.5e+12"),
    (0.0, 4, "0"),
]


@pytest.mark.parametrize(("value", "digits", "text"), NUMBERS)
def test_screens_and_pages_write_the_same_digits(value, digits, text):
    assert significant(value, digits) == layout.number(value, digits) == text
    assert words.number(value, digits) == text.replace("-", "−")
    if value:
        assert layout.number(-value, digits) == f"-{text}"
        assert words.number(-value, digits) == f"−{text.replace('-', '−')}"


def test_what_is_not_finite_has_a_name():
    assert [layout.number(each) for each in (math.nan, math.inf, -math.inf)] == ["unknown", "infinite", "-infinite"]
    assert [words.number(each) for each in (math.nan, math.inf, -math.inf)] == ["–", "infinite", "−infinite"]


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (0.0059900312, 0.000599, "0.00599"),
        (0.0060067716, 0.0006007, "0.006007"),
        (22.00812345, 0.8, "22.008"),
        (0.489182, 0.1, "0.489"),
        (0.489182, 0.539182 - 0.439182, "0.489"),
        (4681.2499, 936.2, "4,681"),
        (0.00002, 0.4, "0"),
        (100.0000000123, 1e-9, "100.0000000123"),
        (3.14159265, 0.0, "3.14159"),
        (3.14159265, math.inf, "3.14159"),
        (0.0, 0.1, "0"),
    ],
)
def test_a_variable_has_the_digits_of_its_tolerance(value, width, text):
    assert within(value, width) == text


def test_rounding_costs_less_than_a_hundredth_of_the_width():
    rng = np.random.default_rng(1)
    values, widths = rng.normal(size=500) * 10.0 ** rng.integers(-4, 6, 500), 10 ** rng.uniform(-5, 5, 500)
    for value, width in zip(values, widths, strict=True):
        text = within(value, width)
        assert abs(float(text.replace(",", "")) - value) <= 0.01 * width
        assert "." not in text or text[-1] != "0"


def test_results_have_four_digits_however_far_apart_they_are():
    assert [within(each, spread(0.0203512, 49.7), 4) for each in (0.0203512, 49.7)] == ["0.02035", "49.7"]
    assert [within(each, 0.0002, 4) for each in (1000.0001, 1000.0003)] == ["1,000.0001", "1,000.0003"]
    assert spread(math.nan, 1.0, math.inf, 3.0) == 2.0
    assert spread(math.nan) == 0


def test_a_small_share_is_not_nothing():
    assert [percent(each) for each in (0.0, 0.001, 0.31, 5.0)] == ["0%", "<1%", "31%", "500%"]
