"""Mistakes in a command are found before it runs, each in its place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from robustforge.model.command import Command
from robustforge.model.mistakes import LARGEST, check, unused
from robustforge.model.reading import Reading

NAMES = ["R1", "R2"]


@pytest.fixture
def here(tmp_path) -> Path:
    (tmp_path / "decks").mkdir()
    for name in ("deck.cir", "decks/deck.cir", "decks/other.cir", "data.csv"):
        (tmp_path / name).write_text("R1 a b {R1} {foo}\n{x: {y}}\n")
    (tmp_path / "sim").write_text("#!/bin/sh\n")
    (tmp_path / "sim").chmod(0o755)
    return tmp_path


def mistakes(here, *arguments, **how):
    return check(Command(arguments or ("echo", "{R1}", "{R2}"), here, **how), NAMES)


@pytest.mark.parametrize(
    ("arguments", "how"),
    [
        (("echo", "{R1}", "{R2:.6e}", "{dir}/x", "{here}/data.csv", "{{R9}}"), {}),
        (("./sim", "{R1}"), {}),
        (("{here}/sim", "--out=result.txt", "-v"), {"reading": Reading("result.txt")}),
        (("{dir}/sim", "{R1}"), {"templates": ("sim",)}),
        (("echo", "deck.cir"), {"templates": ("decks/deck.cir",)}),
        (("echo", "deck.cir"), {"templates": ("deck.cir",), "stdin": "deck.cir"}),
        (("echo", "/etc/passwd", "", "decks", "x" * 5000), {}),
        (("echo", "values.json"), {"json": "values.json", "stdin": "json"}),
        (("echo",), {"reading": Reading("sub/out.json", key="a.0"), "time_limit": 0.5}),
        (("echo",), {"reading": Reading(pattern=r"(?:a|b) = (\S+)")}),
    ],
)
def test_good_ones(here, arguments, how):
    assert mistakes(here, *arguments, **how) == []


@pytest.mark.parametrize(
    ("arguments", "where", "words"),
    [
        (("",), "command", "must begin with a program"),
        (("no-such-program-anywhere",), "command[0]", "is not on the PATH"),
        (("sim",), "command[0]", "Write ./sim"),
        (("./nothing",), "command[0]", "there is no file"),
        (("{here}/nothing",), "command[0]", "there is no file"),
        (("./data.csv",), "command[0]", "is not executable"),
        (("{R1x}/sim",), "command[0]", "Did you mean {R1}?"),
        (("echo", "x", "{R11}"), "command[2]", "nothing is called {R11}"),
        (("echo", "{R1.real}"), "command[1]", "nothing is called {R1.real}"),
        (("echo", "{}"), "command[1]", "nothing is called {}"),
        (("echo", "a{b"), "command[1]", "Write {{ for a brace"),
        (("echo", "{R1:.6q}"), "command[1]", "{R1:.6q} has '.6q'"),
        (("echo", "{dir:.6e}"), "command[1]", "Write {dir}"),
        (("echo", "data.csv"), "command[1]", "Write {here}/data.csv;"),
        (("echo", "--in=./data.csv"), "command[1]", "Write --in={here}/./data.csv;"),
    ],
)
def test_arguments(here, arguments, where, words):
    (mistake,) = mistakes(here, *arguments)
    assert mistake.where == where
    assert words in f"{mistake.rule}; {mistake.fact}. {mistake.fix}"


@pytest.mark.parametrize(
    ("how", "where", "words"),
    [
        ({"templates": ("deck.cir", "none.cir")}, "templates[1]", "none.cir does not exist"),
        ({"templates": ("decks",)}, "templates[0]", "decks is no file"),
        ({"templates": ("../deck.cir",)}, "templates[0]", "without `..`"),
        ({"templates": ("/etc/passwd",)}, "templates[0]", "got '/etc/passwd'"),
        ({"templates": ("deck.cir", "decks/deck.cir")}, "templates[1]", "deck.cir would be there twice"),
        ({"templates": ("deck.cir",), "stdin": "decks/deck.cir"}, "stdin", "deck.cir would be there twice"),
        ({"stdin": "none.txt"}, "stdin", "none.txt does not exist"),
        ({"json": "../x.json"}, "json", "got '../x.json'"),
        ({"json": "deck.cir", "templates": ("deck.cir",)}, "json", "is that of a template"),
        ({"reading": Reading("/out")}, "result.file", "got '/out'"),
        ({"reading": Reading(pattern="(")}, "result.pattern", "missing )"),
        ({"reading": Reading(pattern="a")}, "result.pattern", "'a' has none"),
        ({"reading": Reading(pattern="(a)(b)")}, "result.pattern", "'(a)(b)' has 2"),
        ({"reading": Reading(pattern="(a)", key="b")}, "result.key", "both are given"),
        ({"time_limit": 0.0}, "time_limit", "must be a positive number"),
    ],
)
def test_everything_else(here, how, where, words):
    (mistake,) = mistakes(here, **how)
    assert mistake.where == where
    assert words in f"{mistake.rule}; {mistake.fact}. {mistake.fix}"


def test_templates_by_what_they_hold(here):
    (here / "latin").write_bytes("Größe".encode("latin-1"))
    (here / "format").write_text("{R1:.6q}\n" * 3)
    with (here / "large").open("wb") as file:
        file.truncate(LARGEST + 1)
    found = mistakes(here, templates=("latin", "large", "format", "deck.cir"))
    assert [mistake.where for mistake in found] == ["templates[0]", "templates[1]", "templates[2]"]
    assert [mistake.fact for mistake in found] == ["latin is not UTF-8", "large has 10.0 MB", "{R1:.6q} has '.6q'"]


def test_a_template_is_run_and_named_where_its_copy_is(here):
    (program,) = mistakes(here, "./sim", templates=("sim",))
    assert program.fix == "Write {dir}/sim"
    (argument,) = mistakes(here, "echo", "decks/other.cir", templates=("decks/other.cir",))
    assert argument.fix == "Write other.cir, where its filled copy is"


def test_a_variable_may_not_be_called_like_a_folder(here):
    (mistake,) = check(Command(("echo", "{dir}"), here), ["dir"])
    assert mistake[:2] == ("variables", "a variable cannot be called 'dir'")


def test_variables_that_reach_nobody(here):
    command = Command(("echo", "{{R1}}"), here)
    assert unused(command, NAMES) == ["R1", "R2"]
    assert unused(replace(command, arguments=("echo", "{R2:.3g}")), NAMES) == ["R1"]
    assert unused(replace(command, templates=("deck.cir",)), NAMES) == ["R2"]
    assert unused(replace(command, stdin="deck.cir"), NAMES) == ["R2"]
    assert unused(replace(command, templates=("none.cir",)), NAMES) == ["R1", "R2"]
    assert unused(replace(command, json="x.json"), NAMES) == []
    assert unused(replace(command, stdin="json"), NAMES) == []
