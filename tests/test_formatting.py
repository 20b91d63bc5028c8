"""Text for people: numbers have the digits that matter, the same on terminals and pages; times and names are short."""

from __future__ import annotations

import math

import numpy as np
import pytest

from robustforge.cli import terminal
from robustforge.formatting import (
    at_precision,
    date_and_time,
    duration,
    elapsed_seconds,
    finite_range,
    join_names,
    mean_and_error,
    number,
    p_value,
    percent,
    shorten,
    significant,
)

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
def test_terminals_and_pages_show_the_same_digits(value, digits, text):
    assert significant(value, digits) == terminal.number(value, digits) == text
    assert number(value, digits) == text.replace("-", "−")
    if value:
        assert terminal.number(-value, digits) == f"-{text}"
        assert number(-value, digits) == f"−{text.replace('-', '−')}"


def test_values_that_are_not_finite_have_words():
    assert [terminal.number(each) for each in (math.nan, math.inf, -math.inf)] == ["unknown", "infinite", "-infinite"]
    assert [number(each) for each in (math.nan, math.inf, -math.inf)] == ["–", "infinite", "−infinite"]


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
def test_a_variable_has_the_digits_that_its_tolerance_needs(value, width, text):
    assert at_precision(value, width) == text


def test_the_rounding_error_is_below_a_hundredth_of_the_width():
    rng = np.random.default_rng(1)
    values, widths = rng.normal(size=500) * 10.0 ** rng.integers(-4, 6, 500), 10 ** rng.uniform(-5, 5, 500)
    for value, width in zip(values, widths, strict=True):
        text = at_precision(value, width)
        assert abs(float(text.replace(",", "")) - value) <= 0.01 * width
        assert "." not in text or text[-1] != "0"


def test_results_have_at_least_four_digits():
    assert [at_precision(each, finite_range(0.0203512, 49.7), 4) for each in (0.0203512, 49.7)] == ["0.02035", "49.7"]
    assert [at_precision(each, 0.0002, 4) for each in (1000.0001, 1000.0003)] == ["1,000.0001", "1,000.0003"]
    assert finite_range(math.nan, 1.0, math.inf, 3.0) == 2.0
    assert finite_range(math.nan) == 0


def test_numbers_and_times_are_short():
    assert mean_and_error(12.3456, 0.0123) == "12.346 ± 0.012"
    assert mean_and_error(12.3456, math.nan) == "12.35"
    assert [p_value(p) for p in (0.5, 0.04321, 0.00042, 1e-9, None)] == ["0.50", "0.043", "0.0004", "< 0.0001", "–"]
    assert [duration(each) for each in (2.34, 59.7, 3600, 125)] == ["2.3 s", "1:00 min", "1:00 h", "2:05 min"]


def test_time_stamps_may_be_missing_or_damaged():
    stamps = ("2026-11-16T02:30:30+00:00", "2026-11-16T02:32:07+00:00")
    assert [date_and_time(each) for each in (stamps[0], None, "soon")] == ["2026-11-16 02:30", "–", "soon"]
    assert elapsed_seconds(*stamps) == 97
    assert elapsed_seconds(stamps[0], None) is None


def test_names_are_shortened_and_joined():
    assert shorten("comparator/30d/rpso@5000", 12) == "rpso@5000"
    assert shorten("a\x1bb\nc") == "a b c"
    assert [join_names(each) for each in ([], ["a"], ["a", "b"])] == ["", "a", "a and b"]


def test_a_small_fraction_is_not_rounded_to_zero():
    assert [percent(each) for each in (0.0, 0.001, 0.31, 5.0)] == ["0%", "<1%", "31%", "500%"]
