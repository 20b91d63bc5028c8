"""`help`: documents, and the help of commands."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

from cli_runner import read_terminal, run
from click.testing import CliRunner

from robustforge import cli

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_help_lists_the_documents_and_prints_one():
    shown = run("help").stdout
    assert all(path.stem in shown for path in DOCS.glob("explanation/*.md") if path.stem != "index")
    assert run("help", "problem-file").stdout == (DOCS / "reference" / "problem-file.md").read_text()


def test_former_topics_are_found():
    assert run("help", "models").stdout == run("help", "problem-file").stdout
    assert run("help", "experiments").stdout == run("help", "comparing").stdout


def test_help_of_a_command():
    assert run("help", "solve").stdout == CliRunner().invoke(cli.main, ["solve", "--help"], prog_name="main").stdout


def test_help_is_formatted_on_a_terminal():
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PAGER": "cat", "COLUMNS": "80", "TERM": "xterm"}
    command = [sys.executable, "-m", "robustforge", "help", "problem-file"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, env=environment)
    os.close(theirs)
    shown = read_terminal(ours, "Problem file(.|\n)*robustforge check beam.toml", 60)
    assert "```" not in shown
    while select.select([ours], [], [], 30)[0]:  # a terminal that nobody reads stops the command
        try:
            os.read(ours, 65536)
        except OSError:  # it is closed
            break
    assert process.wait(30) == 0
    os.close(ours)


def test_an_unknown_topic_suggests_the_closest():
    assert "did you mean 'glossary'" in run("help", "glosary", code=2).stderr
