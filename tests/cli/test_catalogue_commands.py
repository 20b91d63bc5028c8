"""`problems`, `heuristics` and `components`."""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest
from cli_runner import as_json, run

import robustforge as rf
from robustforge import components
from robustforge.core.component import Component
from robustforge.robust_problem import Suite


def test_problems_are_complete():
    shown = run("problems").stdout
    every = [name for suite in get_args(Suite) for name in rf.problems(suite)]
    assert all(name in shown for name in every)
    assert [row["name"] for row in as_json("problems")] == every


def test_heuristics_are_complete():
    shown = run("heuristics").stdout
    assert all(name in shown for name in rf.heuristics())
    assert {row["name"]: row["id"] for row in as_json("heuristics")} == {
        name: rf.heuristic(name).id for name in rf.heuristics()
    }
    assert {row["interpretation"] for row in as_json("heuristics")} == {"default", "letter", "mixed"}
    assert "champion/30d/general (mixed)" in shown


def test_components_have_every_class_and_field():
    rows = as_json("components")
    listed = {part["summary"]: part for row in rows for part in row["components"]}
    shown = run("components").stdout
    for name in components.__all__:
        cls = getattr(components, name)
        if isinstance(cls, type) and issubclass(cls, Component) and not cls.is_slot:
            part = listed[cls.summary()]
            assert part["beyond_paper"] == cls.extension
            assert part["source"] == cls.source
            assert [field["name"] for field in part["fields"]] == [field.name for field in dataclasses.fields(cls)]
            assert cls.title in shown


def test_components_are_grouped_by_slot():
    slots = [row["slot"] for row in as_json("components")]
    wanted = {
        "outer",
        "network",
        "baseline",
        "mutation",
        "movement",
        "descent",
        "relocation",
        "clamp",
        "inner form",
        "inner",
    }
    assert wanted <= set(slots)
    assert len(slots) == len(set(slots))
    (clamp,) = as_json("components", "clamp")
    fraction = clamp["components"][1]["fields"][0]
    assert (fraction["name"], fraction["range"]) == ("fraction", {"low": 0.005, "high": 0.5, "log": True})
    assert "Range +" in run("components", "clamp").stdout


@pytest.mark.parametrize("name", ["inner-form", "inner form", "form", "Inner_Form"])
def test_spellings_of_a_slot(name):
    assert as_json("components", name)[0]["slot"] == "inner form"
