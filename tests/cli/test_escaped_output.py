"""Control characters in names, files and output of models are escaped in all output."""

from __future__ import annotations

import html
import io
import json
import re
import sqlite3
from pathlib import Path

import pytest
from cli_runner import run
from click.testing import CliRunner
from rich.tree import Tree

import robustforge as rf
from robustforge import cli
from robustforge.cli.terminal import Screen, Text, columns
from robustforge.errors import RobustforgeError, escaped
from robustforge.store import SEARCH, Store

NASTY = "\x1b[31mX\x9b1m\u202eY\u2066\x7f\x07[red]Z"
SHOWN = "\\x1b[31mX\\x9b1m\\u202eY\\u2066\\x7f\\x07[red]Z"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
TOML = NASTY.translate({ord(sign): f"\\u{ord(sign):04x}" for sign in NASTY if not sign.isprintable()})

PROBLEM = f"""\
name = "{TOML}"
budget = 12
heuristic = "rpso"
[variables]
a = {{ bounds = [-2, 3], tolerance = 0.2, unit = "{TOML}" }}
b = {{ bounds = [1, 100], tolerance = "5%" }}
"""
MODEL = """\
[model]
command = ["sh", "{here}/model.sh", "{a}", "{b}", "{here}"]
"""
SCRIPT = f"""\
printf '%b' '{NASTY}\\nsecond line\\n' >&2
[ -e $3/broken ] && {{ printf '%b' '{NASTY}\\n'; exit 0; }}
[ -e $3/some ] && [ ${{1%%.*}} = 1 ] && {{ printf '%b' '{NASTY}\\n'; exit 0; }}
awk -v a=$1 -v b=$2 'BEGIN {{ print a * a + b }}'
"""


def clean(*arguments, code=0, shown=SHOWN):
    """Run a command twice, for people and for programs; neither shows a code as it is."""
    ended = run(*arguments, code=code)
    for text in (ended.stdout, ended.stderr):
        assert not UNSAFE.search(text), ascii(text)
    joined = "".join((ended.stdout + ended.stderr).split())
    assert shown in joined or not shown
    return ended


def clean_json(*arguments, code=0):
    text = run(*arguments, "--json", code=code).stdout
    assert not UNSAFE.search(text)
    return json.loads(text)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("p.toml").write_text(PROBLEM + MODEL)
    Path("lab.toml").write_text(PROBLEM)
    Path("model.sh").write_text(SCRIPT)
    return tmp_path


def test_control_characters_are_escaped_and_nothing_else():
    assert escaped(NASTY) == SHOWN
    assert escaped("\ud800\x00\x85\u2028\r") == "\\ud800\\x00\\x85\\u2028\\r"
    assert escaped("zwei\tWörter\nΩ 中 👩‍🔧\r\n") == "zwei\tWörter\nΩ 中 👩‍🔧\n"
    assert str(RobustforgeError(NASTY, NASTY, NASTY)).count(SHOWN) == 3


def test_styles_of_the_package_only():
    parts = [NASTY, Text(NASTY, style="bold"), Text("a").append(NASTY), Text.assemble((NASTY, "dim")), columns(NASTY)]
    parts[-1].add_row(NASTY)
    parts.append(Tree(NASTY))
    screen = Screen(force_terminal=True, file=io.StringIO(), width=200)
    screen.print(*parts, sep="\n")
    for line in screen.file.getvalue().splitlines():
        assert SHOWN in line
        assert NASTY not in line
        assert not UNSAFE.search(re.sub("\x1b\\[[0-9;]*m", "", line))


def test_a_problem_file_solved_verified_and_reported(folder):
    clean("check", "p.toml")
    Path("some").touch()
    for command in (["solve", "p.toml"], ["verify", "p.toml", "--budget", "5"], ["runs", "p.db"]):
        clean(*command)
        assert clean_json(*command)
    assert clean_json("runs", "p.db")[0]["name"] == NASTY
    clean("report", "p.db", "-o", "page.html", shown="")
    check_page("page.html")
    clean("runs", "p.db", "--csv", "all.csv")
    clean("analyse", "p.db", code=2, shown="")
    clean("champion", "p.db", code=2, shown="")


def check_page(path):
    page = Path(path).read_bytes().decode()
    assert not UNSAFE.search(page)
    assert html.escape(SHOWN) in page.split("</title>")[0]
    assert page.count(html.escape(SHOWN)) > 2


def test_a_model_that_fails_everywhere(folder):
    Path("broken").touch()
    clean("check", "p.toml", code=1)
    clean_json("check", "p.toml", code=1)
    ended = clean("solve", "p.toml", code=1)
    assert "\nsecond line.\n" in ended.stderr


def test_ask_and_tell(folder):
    clean("ask", "lab.toml", "-o", "points.csv")
    clean_json("ask", "lab.toml")
    Path("bad.csv").write_text(f"id,{NASTY}\n0,1\n")
    clean("tell", "lab.toml", "bad.csv", code=2)
    Path("bad.csv").write_text(f"id,value\n0,{NASTY}\n")
    clean("tell", "lab.toml", "bad.csv", code=2, shown="")
    for number in range(12):
        ended = clean("tell", "lab.toml", str(number), "1", shown="")
    assert SHOWN in "".join(ended.stdout.split())


@pytest.mark.parametrize(
    "change",
    [
        ("budget = 12", f'"{TOML}" = 12'),
        ("budget = 12", f'goal = "{TOML}"'),
        ("budget = 12", f'data = "{TOML}.csv"'),
        ("budget = 12", f'heuristic2 = "{TOML}"\n"{TOML}" = 1'),
        ("a = {", f'"{TOML}" = {{'),
        ("tolerance = 0.2", f'tolerance = "{TOML}"'),
        ('"{b}"', f'"{{b}}{{{TOML}}}"'),
        ('"{b}"', f'"{{b}}", "{{a:{TOML}}}"'),
        ('"sh"', f'"{TOML}"'),
        ('command = ["sh"', f'result.pattern = "({TOML}"\ncommand = ["sh"'),
    ],
)
def test_errors_in_a_problem_file(folder, change):
    Path("p.toml").write_text((PROBLEM + MODEL).replace(*change))
    ended = clean("check", "p.toml", code=2, shown="")
    assert "\\x1b" in ended.stderr
    assert "\\u202e" in ended.stderr


def test_a_data_file(folder):
    Path("p.toml").write_text(PROBLEM.replace("budget = 12", 'budget = 12\ndata = "d.csv"') + MODEL)
    Path("d.csv").write_text(f"a,b,value\n1,2,{NASTY}\n")
    clean("solve", "p.toml", code=2, shown="")


_LAST_FAILS = (  # on which no other point depends
    "UPDATE evaluation SET value = NULL, failure = ?, tail = ? WHERE number = (SELECT max(number) FROM evaluation)"
)


def test_searches_of_a_foreign_store(folder):
    """Names that no problem file can have, in a store that was written by hand."""
    run("solve", "p.toml")
    with sqlite3.connect("p.db") as connection:
        ((text,),) = connection.execute("SELECT settings FROM experiment")
        settings = json.loads(text)
        settings["variables"] = {
            f"{name}{NASTY}\ud800": {**each, "unit": f"{NASTY}\udfff"} for name, each in settings["variables"].items()
        }
        connection.execute("UPDATE experiment SET settings = ?", (json.dumps(settings),))
        connection.execute(_LAST_FAILS, (NASTY, NASTY))
    clean("runs", "p.db")
    clean_json("runs", "p.db")
    clean("report", "p.db", "-o", "page.html", shown="")
    check_page("page.html")
    with Store.read("p.db") as store:
        assert store.experiments(SEARCH)[0].name == NASTY


@pytest.mark.parametrize("key", ["budget", "seed", "retries", "bounds", "extent"])
def test_enormous_numbers_of_a_foreign_store(folder, key):
    run("solve", "p.toml")
    with sqlite3.connect("p.db") as connection:
        ((text,),) = connection.execute("SELECT settings FROM experiment")
        changed, count = re.subn(rf'("{key}": \[?)[-0-9.]+', rf"\g<1>{'9' * 400}", text)
        assert count
        connection.execute("UPDATE experiment SET settings = ?", (changed,))
    for command in (
        ["runs", "p.db", "--csv", "all.csv"],
        ["report", "p.db"],
        ["solve", "p.toml"],
        ["verify", "p.toml"],
    ):
        ended = CliRunner().invoke(cli.main, command)
        assert ended.exit_code in (0, 2)
        assert "not enough memory" not in ended.output  # an overflow would be told so
        assert isinstance(ended.exception, SystemExit | None), ended.exception


def test_evolutions_and_assessments_of_a_foreign_store(folder):
    small = {"population": 4, "generations": 2, "repeats": 2, "budget": 60, "samples": 50, "final_repeats": 2}
    problem = rf.Problem(_worth, [(-5, 5)] * 2, rf.Ball(0.5), name=NASTY)
    rf.evolve(problem, store="runs.db", name=NASTY, workers=1, **small)
    rf.heuristic("rpso").save(f"{NASTY}.json")
    rf.assess([f"{NASTY}.json", "random"], problem, runs=3, samples=50, budget=60, store="runs.db")
    with sqlite3.connect("runs.db") as connection:
        connection.execute("UPDATE run SET value = NULL, failure = ? WHERE repeat = 1", (NASTY,))
    for command in (["runs", "runs.db"], ["champion", "runs.db"], ["analyse", "runs.db"]):
        clean(*command)
        assert clean_json(*command)
    clean("champion", "runs.db", "--name", f"{NASTY}x", code=2)
    clean("report", "runs.db", "-o", "page.html", shown="")
    page = Path("page.html").read_bytes().decode()
    assert not UNSAFE.search(page)
    assert html.escape(SHOWN) in page
    clean("show", f"{NASTY}.json")
    few = ["--problems", "sphere", "--dimension", "2", "--budget", "60", "--runs", "3", "--samples", "50"]
    for command in ("assess", "compare"):
        clean(command, f"{NASTY}.json", "random", *few, "--store", "runs.db")


def _worth(x):
    return float(x @ x)
