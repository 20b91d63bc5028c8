"""Variables: tolerances as strings, and the scaling for the search."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import robustforge as rf
from robustforge.simulator.variables import Tolerance, Variable, Variables


@pytest.mark.parametrize(
    ("given", "expected", "string"),
    [
        (0.5, Tolerance(0.5, 0.5), "±0.5"),
        (0, Tolerance(0, 0), "exact"),
        ("5%", Tolerance(5, 5, True), "±5%"),
        (" ± 5 % ", Tolerance(5, 5, True), "±5%"),
        ("+-0.1", Tolerance(0.1, 0.1), "±0.1"),
        ("+/-0.1", Tolerance(0.1, 0.1), "±0.1"),
        ("1e-3", Tolerance(0.001, 0.001), "±0.001"),
        ("+5/-1", Tolerance(1, 5), "+5/-1"),
        ("+5%/-1%", Tolerance(1, 5, True), "+5%/-1%"),
        ("+ .5 % / - 10 %", Tolerance(10, 0.5, True), "+0.5%/-10%"),
        ("+0/-2%", Tolerance(2, 0, True), "+0%/-2%"),
        ("0%", Tolerance(0, 0, True), "exact"),
        ("exact", Tolerance(0, 0), "exact"),
        (1 / 3, Tolerance(1 / 3, 1 / 3), "±0.3333333333333333"),
    ],
)
def test_valid_tolerances(given, expected, string):
    assert Tolerance.parse(given) == expected
    assert str(expected) == string
    assert str(Tolerance.parse(string)) == string
    assert Tolerance.parse(string) == expected or expected.exact


@pytest.mark.parametrize(
    "given",
    ["", "five", "exactly", "5%%", "-5", -1, math.nan, math.inf, True, None, [5], "+5%/-1", "-1/+5", "1e999", "5 %  x"],
)
def test_invalid_tolerances(given):
    assert Tolerance.parse(given) is None


@given(st.text(max_size=20))
def test_any_string_is_a_tolerance_or_none(text):
    found = Tolerance.parse(text)
    assert found is None or (0 <= found.down < math.inf and 0 <= found.up < math.inf)


def test_percent_is_searched_on_a_log_scale():
    variables = Variables(
        (
            Variable("R", 1e3, 1e5, Tolerance(5, 5, True), "ohm"),
            Variable("T", -10, 80, Tolerance(1, 2), "degC"),
            Variable("n", 1, 4, Tolerance(0, 0, True)),
        )
    )
    assert variables.bounds == [(math.log(1e3), math.log(1e5)), (-10, 80), (1, 4)]
    assert isinstance(variables.uncertainty, rf.Box)
    assert variables.uncertainty.lower == pytest.approx([-math.log(0.95), 1, 0])
    assert variables.uncertainty.upper == pytest.approx([math.log(1.05), 2, 0])
    point = {"R": 4700.0, "T": 20.0, "n": 3.0}
    assert variables.decode(variables.encode(point)) == point
    low, high = variables.members[0].built_range(4700.0)
    assert (low, high) == (pytest.approx(4465), pytest.approx(4935))
    scaled = variables.encode(point)[0] + np.array(variables.uncertainty.upper)[0]
    assert variables.members[0].decode(scaled) == pytest.approx(4935)


@given(st.floats(1e-15, 1e15), st.floats(0.1, 50), st.floats(0, 50))
def test_the_built_range_is_the_scaled_deviation(value, up, down):
    variable = Variable("C", 1e-18, 1e18, Tolerance(down, up, True))
    down, up = variable.deviation
    low, high = variable.built_range(value)
    assert math.exp(variable.encode(value) - down) == pytest.approx(low, rel=1e-9)
    assert math.exp(variable.encode(value) + up) == pytest.approx(high, rel=1e-9)
    assert variable.decode(variable.encode(value)) == pytest.approx(value, rel=1e-12)


def test_a_ball_of_tolerances():
    variables = Variables((Variable("a", 0, 1, Tolerance(0.1, 0.1)), Variable("b", 0, 1, Tolerance(0.2, 0.2))), "ball")
    assert variables.uncertainty == rf.Ball([0.1, 0.2])
