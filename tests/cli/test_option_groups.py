"""Options of the commands: headings and defaults in the help, and former names."""

from __future__ import annotations

import logging

import pytest
from cli_runner import run

from robustforge import cli

RENAMED = [
    ("evolve", ["--first", "8"], ["--initial-population", "8"]),
    ("evolve", ["--start", "rpso", "--start=rpso+dd"], ["--initial-heuristic", "rpso", "--initial-heuristic=rpso+dd"]),
    ("evolve", ["--tournament", "4"], ["--tournament-size", "4"]),
    ("evolve", ["--mutation", "0.5"], ["--mutation-probability", "0.5"]),
    ("evolve", ["--refinement=0.5"], ["--parameter-mutation=0.5"]),
    ("evolve", ["--fresh"], ["--resample-instances"]),
    ("evolve", ["--tie", "0.1"], ["--tie-threshold", "0.1"]),
    ("evolve", ["--margin", "0.2"], ["--goal-margin", "0.2"]),
    ("evolve", ["--criterion", "sizes"], ["--criterion", "regret"]),
    ("evolve", ["--method", "breed"], ["--method", "gp"]),
    ("evolve", ["--method", "race"], ["--method", "halving"]),
    ("evolve", ["--outside", "clip"], ["--out-of-bounds", "clip"]),
    ("assess", ["rpso", "--outside=clip"], ["rpso", "--out-of-bounds=clip"]),
    ("solve", ["sphere", "--outside", "clip"], ["sphere", "--out-of-bounds", "clip"]),
    ("solve", ["sphere", "--keep"], ["sphere", "--keep-folders"]),
]


def parse(command, words):
    return cli.main.load(command).make_context(command, list(words)).params


@pytest.mark.parametrize(("command", "former", "present"), RENAMED)
def test_former_names_are_accepted_with_a_note(command, former, present, caplog):
    assert parse(command, former) == parse(command, present)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert caplog.messages[0].startswith("note: --")
    assert " was renamed to --" in caplog.messages[0]


def test_the_note_is_on_stderr_and_the_former_name_is_not_in_the_help():
    ended = run("solve", "sphere", "--dimension", "2", "--budget", "50", "--outside", "clip", "--json")
    assert "  note: --outside was renamed to --out-of-bounds\n" in ended.stderr
    assert "--outside" not in run("solve", "--help").stdout


def test_words_after_two_dashes_are_not_options(caplog):
    assert parse("assess", ["rpso", "--", "--outside"])["contestants"] == ("rpso", "--outside")
    assert caplog.messages == []


def test_options_are_grouped_under_headings():
    shown = run("evolve", "--help").stdout
    headings = [
        "Problem",
        "Grammar",
        "Evolution",
        "Comparison of heuristics",
        "Final comparison",
        "Execution",
        "Output",
    ]
    places = [shown.index(f"\n{heading}:\n") for heading in headings]
    assert places == sorted(places)
    assert places[2] < shown.index("--tournament-size N") < places[3]
    assert "[default: 50]" in shown
    assert "[default: all cores]" in " ".join(shown.split())
    assert "x>=" not in shown


def test_every_command_is_listed_and_not_abbreviated():
    shown = run("--help").stdout
    assert "..." not in shown.split("Options:")[1]
    assert all(f"\n  {name} " in shown for name in cli.main.list_commands(None))
    assert "\nExperiments:\n" in shown


@pytest.mark.parametrize("command", ["solve", "verify", "check", "evolve", "assess", "compare", "reproduce"])
def test_commands_that_run_something_can_be_quiet_or_verbose(command):
    shown = run(command, "--help").stdout
    assert "-q, --quiet" in shown
    assert "-v, --verbose" in shown
