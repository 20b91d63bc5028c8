"""Validation errors of a command are found before it runs, each with its key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from robustforge.simulator.command_checks import MAX_TEMPLATE_BYTES, unused_variables, validate_command
from robustforge.simulator.command_model import CommandModel
from robustforge.simulator.result_parser import ResultParser

NAMES = ["R1", "R2"]


@pytest.fixture
def here(tmp_path) -> Path:
    (tmp_path / "decks").mkdir()
    for name in ("deck.cir", "decks/deck.cir", "decks/other.cir", "data.csv"):
        (tmp_path / name).write_text("R1 a b {R1} {foo}\n{x: {y}}\n")
    (tmp_path / "sim").write_text("#!/bin/sh\n")
    (tmp_path / "sim").chmod(0o755)
    return tmp_path


def errors_of(here, *arguments, **options):
    return validate_command(CommandModel(arguments or ("echo", "{R1}", "{R2}"), here, **options), NAMES)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("echo", "{R1}", "{R2:.6e}", "{dir}/x", "{here}/data.csv", "{{R9}}"), {}),
        (("./sim", "{R1}"), {}),
        (("{here}/sim", "--out=result.txt", "-v"), {"result_parser": ResultParser("result.txt")}),
        (("{dir}/sim", "{R1}"), {"templates": ("sim",)}),
        (("echo", "deck.cir"), {"templates": ("decks/deck.cir",)}),
        (("echo", "deck.cir"), {"templates": ("deck.cir",), "stdin": "deck.cir"}),
        (("echo", "/etc/passwd", "", "decks", "x" * 5000), {}),
        (("echo", "values.json"), {"json_file": "values.json", "stdin": "json"}),
        (("echo",), {"result_parser": ResultParser("sub/out.json", key="a.0"), "time_limit": 0.5}),
        (("echo",), {"result_parser": ResultParser(pattern=r"(?:a|b) = (\S+)")}),
    ],
)
def test_a_valid_command(here, arguments, options):
    assert errors_of(here, *arguments, **options) == []


@pytest.mark.parametrize(
    ("arguments", "key", "message"),
    [
        (("",), "command", "must start with a program"),
        (("no-such-program-anywhere",), "command[0]", "is not on the PATH"),
        (("sim",), "command[0]", "Write ./sim"),
        (("./nothing",), "command[0]", "nothing does not exist"),
        (("{here}/nothing",), "command[0]", "nothing does not exist"),
        (("./data.csv",), "command[0]", "is not executable"),
        (("{R1x}/sim",), "command[0]", "did you mean {R1}?"),
        (("echo", "x", "{R11}"), "command[2]", "unknown placeholder {R11}"),
        (("echo", "{R1.real}"), "command[1]", "unknown placeholder {R1.real}"),
        (("echo", "{}"), "command[1]", "unknown placeholder {}"),
        (("echo", "a{b"), "command[1]", "Write {{ for a literal brace"),
        (("echo", "{R1:.6q}"), "command[1]", "got {R1:.6q}"),
        (("echo", "{dir:.6e}"), "command[1]", "Write {dir}"),
        (("echo", "data.csv"), "command[1]", "Write {here}/data.csv;"),
        (("echo", "--in=./data.csv"), "command[1]", "Write --in={here}/./data.csv;"),
    ],
)
def test_invalid_arguments(here, arguments, key, message):
    (error,) = errors_of(here, *arguments)
    assert error.key == key
    assert message in f"{error.rule}; {error.fact}. {error.fix}"


@pytest.mark.parametrize(
    ("options", "key", "message"),
    [
        ({"templates": ("deck.cir", "none.cir")}, "templates[1]", "none.cir does not exist"),
        ({"templates": ("decks",)}, "templates[0]", "decks is not a file"),
        ({"templates": ("../deck.cir",)}, "templates[0]", "without `..`"),
        ({"templates": ("/etc/passwd",)}, "templates[0]", "got '/etc/passwd'"),
        ({"templates": ("deck.cir", "decks/deck.cir")}, "templates[1]", "deck.cir occurs twice"),
        ({"templates": ("deck.cir",), "stdin": "decks/deck.cir"}, "stdin", "deck.cir occurs twice"),
        ({"stdin": "none.txt"}, "stdin", "none.txt does not exist"),
        ({"json_file": "../x.json"}, "json", "got '../x.json'"),
        ({"json_file": "deck.cir", "templates": ("deck.cir",)}, "json", "is also a template"),
        ({"result_parser": ResultParser("/out")}, "result.file", "got '/out'"),
        ({"result_parser": ResultParser(pattern="(")}, "result.pattern", "missing )"),
        ({"result_parser": ResultParser(pattern="a")}, "result.pattern", "'a' has no groups"),
        ({"result_parser": ResultParser(pattern="(a)(b)")}, "result.pattern", "'(a)(b)' has 2"),
        ({"result_parser": ResultParser(pattern="(a)", key="b")}, "result.key", "both are given"),
        ({"time_limit": 0.0}, "time_limit", "must be a positive number"),
    ],
)
def test_other_validation_errors(here, options, key, message):
    (error,) = errors_of(here, **options)
    assert error.key == key
    assert message in f"{error.rule}; {error.fact}. {error.fix}"


def test_the_content_of_templates(here):
    (here / "latin").write_bytes("Größe".encode("latin-1"))
    (here / "format").write_text("{R1:.6q}\n" * 3)
    with (here / "large").open("wb") as file:
        file.truncate(MAX_TEMPLATE_BYTES + 1)
    found = errors_of(here, templates=("latin", "large", "format", "deck.cir"))
    assert [error.key for error in found] == ["templates[0]", "templates[1]", "templates[2]"]
    assert [error.fact for error in found] == ["latin is not UTF-8", "large has 10.0 MB", "got {R1:.6q}"]


def test_a_template_is_used_in_the_folder_of_the_run(here):
    (program,) = errors_of(here, "./sim", templates=("sim",))
    assert program.fix == "Write {dir}/sim"
    (argument,) = errors_of(here, "echo", "decks/other.cir", templates=("decks/other.cir",))
    assert argument.fix == "Write other.cir, where its filled copy is"


def test_a_variable_cannot_have_the_name_of_a_folder(here):
    (error,) = validate_command(CommandModel(("echo", "{dir}"), here), ["dir"])
    assert error[:2] == ("variables", "a variable cannot be called 'dir'")


def test_unused_variables(here):
    command = CommandModel(("echo", "{{R1}}"), here)
    assert unused_variables(command, NAMES) == ["R1", "R2"]
    assert unused_variables(replace(command, arguments=("echo", "{R2:.3g}")), NAMES) == ["R1"]
    assert unused_variables(replace(command, templates=("deck.cir",)), NAMES) == ["R2"]
    assert unused_variables(replace(command, stdin="deck.cir"), NAMES) == ["R2"]
    assert unused_variables(replace(command, templates=("none.cir",)), NAMES) == ["R1", "R2"]
    assert unused_variables(replace(command, json_file="x.json"), NAMES) == []
    assert unused_variables(replace(command, stdin="json"), NAMES) == []
