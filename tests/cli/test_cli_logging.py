"""Messages of the logger `robustforge`: dated lines of the commands, `--quiet`, `--verbose`, and Python's logging."""

from __future__ import annotations

import io
import logging
import re
import subprocess
import sys

import pytest
from cli_runner import DATED, SOLVE_SPHERE, run

import robustforge as rf
from robustforge.cli import log
from robustforge.core import compiler

SMALL = "--population 5 --generations 2 --repeats 2 --budget 200 --samples 100 --final-repeats 4".split()  # noqa: SIM905
EVOLVE = ["evolve", "sphere", "--dimension", "3", *SMALL]


def test_a_quiet_command_prints_the_result_only(tmp_path):
    for command in (SOLVE_SPHERE, [*EVOLVE, "--store", tmp_path / "r.db"]):
        ended = run(*command, "-q")
        assert ended.stdout
        assert ended.stderr == ""


def test_a_quiet_command_still_prints_errors_and_warnings():
    assert run("solve", "rastrigni", "-q", code=2).stderr.startswith("error: ")
    ended = run("solve", "sphere", "--dimension", "2", "--budget", "50", "-q", "--outside", "clip")
    assert re.fullmatch(DATED + "note: --outside was renamed to --out-of-bounds\n", ended.stderr)


def test_a_verbose_command_prints_details(tmp_path):
    lines = run(*EVOLVE, "--store", tmp_path / "r.db", "--verbose", "--workers", "1").stderr.splitlines()
    assert all(re.match(DATED, line) for line in lines)
    assert sum("runs use 1 thread" in line for line in lines) == 1
    assert sum("best heuristic" in line for line in lines) == 2
    plain = run(*EVOLVE, "--store", tmp_path / "s.db").stderr
    assert "best heuristic" not in plain


def test_the_level_is_restored_after_a_command(tmp_path):
    logger = logging.getLogger("robustforge")
    before = logger.level, list(logger.handlers)
    run(*SOLVE_SPHERE, "-v")
    assert (logger.level, logger.handlers) == before


def test_python_programs_get_the_progress_of_an_evolution(caplog, tmp_path):
    small = {"population": 5, "generations": 2, "repeats": 2, "budget": 100, "samples": 50, "final_repeats": 2}
    caplog.set_level(logging.INFO, logger="robustforge")
    for _ in range(2):
        rf.evolve(rf.problem("sphere", 2), store=tmp_path / "r.db", name="two", **small)
    first, second, resumed = caplog.messages
    assert first.startswith("evolve two: generation 1 of 2, best ")
    assert second.startswith("evolve two: generation 2 of 2, best ")
    assert resumed == "evolve two: resumed, 30 runs are stored"
    assert {record.name for record in caplog.records} == {"robustforge.evolution.runner"}


def test_python_programs_get_the_progress_of_an_assessment(caplog):
    caplog.set_level(logging.INFO, logger="robustforge")
    rf.assess("random", rf.problem("sphere", 2), runs=5, samples=50, budget=60, attack=False)
    assert caplog.messages[-1] == "assess: 5 of 5 runs, 0 s left"


def test_without_configuration_nothing_is_printed():
    code = "import logging, robustforge; logging.getLogger('robustforge.x').warning('lost')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("quiet", [True, False])
def test_compilation_is_announced_by_the_log_of_a_command(capsys, quiet):
    compiler.announce.cache_clear()
    with log.on_stderr():
        if quiet:
            logging.getLogger("robustforge").setLevel(logging.WARNING)
        compiler.announce()
    printed = capsys.readouterr().err
    assert printed == "" if quiet else re.fullmatch(DATED + r"compiling components .*\n", printed)


def test_compilation_is_announced_on_stderr_without_a_log(capsys, monkeypatch):
    monkeypatch.delenv("ROBUSTFORGE_QUIET", raising=False)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    compiler.announce.cache_clear()
    compiler.announce()
    assert capsys.readouterr().err.startswith("robustforge: compiling components ")
    monkeypatch.setenv("ROBUSTFORGE_QUIET", "1")
    compiler.announce.cache_clear()
    compiler.announce()
    assert capsys.readouterr().err == ""


def test_control_characters_are_escaped(capsys):
    with log.on_stderr():
        logging.getLogger("robustforge.test").info("red \x1b[31m text")
    assert capsys.readouterr().err.endswith("  red \\x1b[31m text\n")


def test_on_a_terminal_lines_have_no_date_and_views_replace_progress(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    with log.on_stderr():
        assert log.shows_views()
        logger = logging.getLogger("robustforge.evolution.runner")
        with log.behind_view():
            logger.info("generation 1")
            logging.getLogger("robustforge.core.compiler").info("compiling")
        logger.info("generation 2")
        logging.getLogger("robustforge").setLevel(logging.WARNING)
        assert not log.shows_views()
    assert terminal.getvalue() == "compiling\ngeneration 2\n"
