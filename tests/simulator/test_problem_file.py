"""Problem files: all keys are read, all validation errors are reported with their lines, and nothing is executed."""

from __future__ import annotations

import contextlib
import copy
import importlib
import json
import math
import os
import subprocess
import sys
import time
import unicodedata
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import robustforge as rf
from robustforge.errors import ProblemFileError, RobustforgeError, SearchFileError
from robustforge.simulator.command_model import CommandModel
from robustforge.simulator.function_model import FunctionModel
from robustforge.simulator.prior_runs import read_prior_runs
from robustforge.simulator.problem_file import ProblemFile, read_problem_file
from robustforge.simulator.problem_file_parser import (
    DEFAULT_BUDGET,
    MODEL_KEYS,
    RESULT_KEYS,
    TOP_KEYS,
    VARIABLE_KEYS,
)
from robustforge.simulator.result_parser import ResultParser
from robustforge.simulator.variables import Tolerance, Variable, Variables

FULL = """\
name = "band-pass"
goal = "maximise"
budget = 120
seed = 7
heuristic = "rpso+dd"
tolerances = "ball"
out_of_bounds = "shrink"
on_failure = "unknown"
retries = 2
data = "prior.csv"

[variables]
R1 = { bounds = [1e3, 1e5], tolerance = "5%", unit = "Ohm" }
C1 = { bounds = [1, 20], tolerance = "+0.5/-1" }
"n_turns" = { bounds = [-4, 4], tolerance = 0 }
[variables.gap]
bounds = [0.1, 2.0]
tolerance = "+10%/-1%"
unit = "mm"

[model]
command = ["./sim", "{dir}/deck.cir", "--r={R1:.6e}", "{n_turns}", "{here}/prior.csv", "{{}}"]
templates = ["decks/deck.cir"]
json = "values.json"
stdin = "in.txt"
time_limit = 12.5
workers = 3
[model.result]
file = "out.txt"
pattern = 'loss = (\\S+)'
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with all files that these tests name; running anything leaves a trace."""
    made = tmp_path_factory.mktemp("problem")
    (made / "decks").mkdir()
    (made / "decks" / "deck.cir").write_text("R1 a b {R1}\nC1 b c {C1} {unknown}\n")
    (made / "in.txt").write_text("{gap}\n")
    (made / "latin.txt").write_bytes(b"\xe4\xff {a} {b}")
    (made / "prior.csv").write_text("R1,C1,n_turns,gap,value\n2e3,3,0,0.5,1.25\n")
    (made / "sim").write_text("#!/bin/sh\ntouch executed\necho 1\n")
    (made / "sim").chmod(0o755)
    (made / "mymodule.py").write_text("open('executed', 'w').close()\ndef gain(a, b):\n    return a + b\n")
    return made


@pytest.fixture
def read(folder):
    def write_and_read(text, name="bad.toml"):
        path = folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        try:
            return read_problem_file(path)
        finally:
            path.unlink()

    return write_and_read


# --- good files


def test_every_key_is_read(read, folder):
    file = read(FULL)
    assert (file.name, file.goal, file.sign, file.budget, file.seed) == ("band-pass", "maximise", -1.0, 120, 7)
    assert (file.heuristic, file.out_of_bounds, file.on_failure, file.retries) == ("rpso+dd", "shrink", "unknown", 2)
    assert (file.workers, file.data, file.path) == (3, folder / "prior.csv", folder / "bad.toml")
    assert file.variables == Variables(
        (
            Variable("R1", 1e3, 1e5, Tolerance(5, 5, True), "Ohm"),
            Variable("C1", 1.0, 20.0, Tolerance(1, 0.5)),
            Variable("n_turns", -4.0, 4.0, Tolerance(0, 0)),
            Variable("gap", 0.1, 2.0, Tolerance(1, 10, True), "mm"),
        ),
        "ball",
    )
    assert file.model == CommandModel(
        ("./sim", "{dir}/deck.cir", "--r={R1:.6e}", "{n_turns}", "{here}/prior.csv", "{{}}"),
        folder,
        ("decks/deck.cir",),
        "values.json",
        "in.txt",
        ResultParser("out.txt", r"loss = (\S+)"),
        12.5,
    )
    assert file.problem.dimension == 4
    assert isinstance(file.scaled_problem.uncertainty, rf.Ball)
    assert file.problem.uncertainty.kind == "ball"
    assert file.problem.out_of_bounds == "shrink"
    json.dumps(file.to_dict(), allow_nan=False)


def test_defaults(read, folder):
    file = read('[variables]\na = { bounds = [0, 1], tolerance = 0.1 }\n[model]\nfunction = "pkg.mymodule:K.gain"\n')
    assert (file.name, file.goal, file.sign, file.budget, file.seed) == ("bad", "minimise", 1.0, DEFAULT_BUDGET, 1)
    assert (file.heuristic, file.out_of_bounds, file.on_failure, file.retries) == ("", "evaluate", "infeasible", 0)
    assert (file.workers, file.data, file.variables.kind) == (1, None, "box")
    assert file.model == FunctionModel("pkg.mymodule:K.gain", folder, None)


def test_the_former_name_of_out_of_bounds(read):
    former = FULL.replace("out_of_bounds", "outside")
    assert read(former).to_dict() == read(FULL).to_dict()
    with pytest.warns(DeprecationWarning, match="`outside` was renamed to `out_of_bounds`"):
        assert read(former).outside == "shrink"
    with pytest.raises(ProblemFileError, match=r"line 8: `out_of_bounds` must be given once; `outside` is given, too"):
        read(FULL.replace("out_of_bounds =", 'out_of_bounds = "clip"\noutside ='))


def test_without_a_model(read):
    assert read("[variables]\na = { bounds = [0, 1], tolerance = 0.1 }\n").model is None


@pytest.mark.parametrize("model", ["stdin", "templates", "json", "key"])
def test_other_inputs_and_outputs_of_a_model(read, folder, model):
    lines = {
        "stdin": 'command = ["cat"]\nstdin = "json"',
        "templates": 'command = ["cat", "deck.cir"]\ntemplates = ["decks/deck.cir"]\nstdin = "decks/deck.cir"',
        "json": 'command = ["cat", "values.json"]\njson = "values.json"',
        "key": 'command = ["echo", "{R1}", "{C1}"]\nresult.key = "a.0"',
    }
    text = "[variables]\nR1 = { bounds = [1, 2], tolerance = 0.5 }\nC1 = { bounds = [1, 2], tolerance = 0 }\n[model]\n"
    file = read(text + lines[model])
    assert file.model.result_parser.key == ("a.0" if model == "key" else "")
    assert len(file.model.template_files) == (model == "templates")


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n"), lambda text: text + "# é 電 \u2028\n"])
def test_line_endings_and_unicode(read, change):
    assert read(change(FULL)).to_dict() == read(FULL).to_dict()


# --- validation errors; lines: 1 `budget`, 2 [variables], 3 a, 4 b, 5 [model]

TOP = "budget = 30"
A = "a = { bounds = [0, 1], tolerance = 0.1 }"
B = 'b = { bounds = [1, 9], tolerance = "5%" }'
MODEL = 'command = ["echo", "{a}", "{b}"]'


def text_of(top=TOP, a=A, b=B, model=MODEL):
    tail = "" if model is None else f"[model]\n{model}\n"
    return f"{top}\n[variables]\n{a}\n{b}\n{tail}"


def test_the_file_without_errors(read):
    assert read(text_of()).variables.names == ("a", "b")


QUOTES, TWO, TABLE = "Put it in quotes", 'Write {0} = ["one", "two"]', "Write [{0}]"

UNKNOWN = [
    ({"top": "bugdet = 30"}, 1, "unknown key 'bugdet' at the top of the file; did", "mean 'budget'?"),
    ({"top": "zzz = 1"}, 1, "unknown key 'zzz' at the top of the file", "Known keys: budget, data, goal"),
    (
        {"a": "a = { bounds = [0, 1], tolerence = 0.1, tolerance = 0.1 }"},
        3,
        "unknown key 'tolerence' in [variables.a]; did you",
        "mean 'tolerance'?",
    ),
    (
        {"model": f"{MODEL}\ntimelimit = 5"},
        7,
        "unknown key 'timelimit' in [model]; did you mean",
        "'time_limit'?",
    ),
    (
        {"model": f"{MODEL}\n[model.result]\nregex = 'x'"},
        8,
        "unknown key 'regex' in [model.result]",
        "file, key, pattern",
    ),
]

TYPES = [
    ({"top": "name = 3"}, 1, "`name` must be a string; got 3", QUOTES),
    ({"top": 'name = ""'}, 1, "`name` must be a string; got ''", QUOTES),
    ({"top": "name = 1979-05-27"}, 1, "`name` must be a string; got datetime.date(", QUOTES),
    ({"top": "goal = 1"}, 1, '`goal` must be "minimise" or "maximise"; got 1', ""),
    ({"top": "goal = ['minimise']"}, 1, "`goal` must be \"minimise\" or \"maximise\"; got ['minimise']", ""),
    ({"top": "tolerances = { box = 1 }"}, 1, '`tolerances` must be "box" or "ball"', ""),
    ({"top": "outside = false"}, 1, '`outside` must be "evaluate" or "clip" or "shrink"; got False', ""),
    ({"top": "on_failure = 0"}, 1, '`on_failure` must be "infeasible" or "unknown" or "raise"; got 0', ""),
    ({"top": 'budget = "30"'}, 1, "`budget` must be an integer of at least 3; got '30'", ""),
    ({"top": "seed = 1.0"}, 1, "`seed` must be an integer of at least 0; got 1.0", ""),
    ({"top": "retries = [1]"}, 1, "`retries` must be an integer of at least 0; got [1]", ""),
    ({"top": "heuristic = true"}, 1, "`heuristic` must be a string; got True", QUOTES),
    ({"top": "data = 4"}, 1, "`data` must be a string; got 4", QUOTES),
    ({"top": "model = 3", "model": None}, 1, "`model` must be a table; got 3", "Write [model]"),
    ({"a": "a = 3"}, 3, "a variable must be a table; a is not", "Write a = { bounds = [1e3, 1e5], tolerance = "),
    ({"a": "a = { bounds = '0 to 1', tolerance = 0.1 }"}, 3, "those of a are 0 to 1", "Write bounds = [1e3, 1e5]"),
    ({"a": "a = { bounds = [0, 1, 2], tolerance = 0.1 }"}, 3, "those of a are [0, 1, 2]", "Write bounds ="),
    ({"a": "a = { bounds = [0, '1'], tolerance = 0.1 }"}, 3, "those of a are [0, '1']", "Write bounds ="),
    ({"a": "a = { bounds = [false, true], tolerance = 0.1 }"}, 3, "those of a are [False, True]", "Write bounds ="),
    ({"a": "a = { bounds = [0, 1], tolerance = true }"}, 3, "that of a is True", 'Write for instance 0.1, "5%"'),
    ({"a": "a = { bounds = [0, 1], tolerance = [1, 2] }"}, 3, "that of a is [1, 2]", 'Write for instance 0.1, "5%"'),
    ({"a": "a = { bounds = [0, 1], tolerance = 0.1, unit = 5 }"}, 3, "`unit` must be a string; got 5", QUOTES),
    ({"model": 'command = "echo {a} {b}"'}, 6, "`command` must be a list of strings", TWO.format("command")),
    ({"model": 'command = ["echo", 1]'}, 6, "`command` must be a list of strings", TWO.format("command")),
    ({"model": 'command = ["echo", ""]'}, 6, "`command` must be a list of strings", TWO.format("command")),
    ({"model": "function = 3"}, 6, "`function` must be a string; got 3", QUOTES),
    ({"model": f"{MODEL}\ntemplates = 'deck.cir'"}, 7, "must be a list of strings", TWO.format("templates")),
    ({"model": f"{MODEL}\njson = true"}, 7, "`json` must be a string; got True", QUOTES),
    ({"model": f"{MODEL}\nstdin = ['json']"}, 7, "`stdin` must be a string; got ['json']", QUOTES),
    ({"model": f"{MODEL}\ntime_limit = '5 s'"}, 7, "`time_limit` must be a positive number; got '5 s'", ""),
    ({"model": f"{MODEL}\nworkers = 2.0"}, 7, "`workers` must be an integer of at least 1; got 2.0", ""),
    ({"model": f"{MODEL}\nresult = 'x'"}, 7, "`model.result` must be a table", TABLE.format("model.result")),
    ({"model": f"{MODEL}\n[model.result]\nfile = 1"}, 8, "`file` must be a string; got 1", QUOTES),
    ({"model": f"{MODEL}\n[model.result]\npattern = ['x']"}, 8, "`pattern` must be a string", QUOTES),
    ({"model": f"{MODEL}\n[model.result]\nkey = 0"}, 8, "`key` must be a string; got 0", QUOTES),
]  # fmt: skip

BOUNDS = "bounds must be two numbers, the lower one first; "
WIDE = "a tolerance must be smaller than the range between the bounds; that of a is "
PERCENT = "a tolerance in percent needs bounds above 0; the lower bound of a is "
UNIT = "Give the tolerance in the variable's own unit, or raise the lower bound above 0"
NAME = "a variable's name must be letters, digits and underscores, and not one of dir, here, value, id; got "

VARIABLES = [
    ({"a": "a = { tolerance = 0.1 }"}, 3, BOUNDS + "a has none", "Write bounds = [1e3, 1e5]"),
    ({"a": "a = { bounds = [0, 1] }"}, 3, "a tolerance must be a number or a string", "0 for a variable that is built"),
    ({"a": "a = { bounds = [1, 0], tolerance = 0.1 }"}, 3, BOUNDS + "those of a are [1, 0]", "Write bounds ="),
    ({"a": "a = { bounds = [1, 1], tolerance = 0.1 }"}, 3, BOUNDS + "those of a are [1, 1]", "Write bounds ="),
    ({"a": "a = { bounds = [1, inf], tolerance = 0.1 }"}, 3, BOUNDS + "those of a are [1, inf]", "Write bounds ="),
    ({"a": "a = { bounds = [nan, 1], tolerance = 0.1 }"}, 3, BOUNDS + "those of a are [nan, 1]", "Write bounds ="),
    ({"a": "a = { bounds = [], tolerance = 0.1 }"}, 3, BOUNDS + "those of a are []", "Write bounds ="),
    ({"a": "a = { bounds = [0, 1], tolerance = -0.1 }"}, 3, "a tolerance must be at least 0; that of a is -0.1", "Wri"),
    ({"a": "a = { bounds = [1, 2], tolerance = '-5%' }"}, 3, "a tolerance must be at least 0; that of a is", "Wri"),
    ({"a": "a = { bounds = [0, 1], tolerance = 1 }"}, 3, WIDE + "±1, its bounds are 0 and 1", "Widen the bounds"),
    ({"a": "a = { bounds = [0, 1], tolerance = '+0.1/-3' }"}, 3, WIDE + "+0.1/-3, its bounds are 0 and 1", "Widen"),
    ({"a": "a = { bounds = [0, 1], tolerance = 1.7e308 }"}, 3, WIDE + "±1.7e+308, its bounds are 0 and 1", "Widen"),
    ({"a": "a = { bounds = [0, 1e308], tolerance = 9e307 }"}, 3,
     "bounds must be between -1e+300 and 1e+300; those of a are 0 and 1e+308", "Choose another unit"),
    ({"a": "a = { bounds = [1, 1.2], tolerance = '50%' }"}, 3, WIDE + "±50%, its bounds are 1 and 1.2", "Widen"),
    ({"a": "a = { bounds = [0, 1], tolerance = inf }"}, 3, "that of a is inf", 'Write for instance 0.1, "5%"'),
    ({"a": "a = { bounds = [0, 1], tolerance = nan }"}, 3, "that of a is nan", 'Write for instance 0.1, "5%"'),
    ({"a": "a = { bounds = [0, 1], tolerance = 'a bit' }"}, 3, "that of a is 'a bit'", 'Write for instance 0.1, "5%"'),
    ({"a": "a = { bounds = [0, 1], tolerance = '' }"}, 3, "that of a is ''", 'Write for instance 0.1, "5%"'),
    ({"a": "a = { bounds = [0, 1], tolerance = '+5%/-1' }"}, 3, "that of a is '+5%/-1'", 'Write for instance 0.1,'),
    ({"a": "a = { bounds = [1, 2], tolerance = '1e999%' }"}, 3, "that of a is '1e999%'", 'Write for instance 0.1,'),
    ({"a": "a = { bounds = [0, 1], tolerance = '5%' }"}, 3, PERCENT + "0", UNIT),
    ({"a": "a = { bounds = [-3, 1], tolerance = '5%' }"}, 3, PERCENT + "-3", UNIT),
    ({"a": "a = { bounds = [-3, -1], tolerance = '+5%/-0%' }"}, 3, PERCENT + "-3", UNIT),
    ({"a": "a = { bounds = [1, 2], tolerance = '100%' }"}, 3, "must be below 100%; that of a is 100%", "own unit"),
    ({"a": "a = { bounds = [1, 2], tolerance = '+1%/-200%' }"}, 3, "must be below 100%; that of a is 200%", "own unit"),
    ({"a": "dir = { bounds = [0, 1], tolerance = 1 }", "model": None}, 3, NAME + "'dir'", "Choose another"),
    ({"a": "here = { bounds = [0, 1], tolerance = 1 }", "model": None}, 3, NAME + "'here'", "Choose another"),
    ({"a": "value = { bounds = [0, 1], tolerance = 1 }", "model": None}, 3, NAME + "'value'", "Choose another"),
    ({"a": "id = { bounds = [0, 1], tolerance = 1 }", "model": None}, 3, NAME + "'id'", "Choose another"),
    ({"a": "my-a = { bounds = [0, 1], tolerance = 1 }", "model": None}, 3, NAME + "'my-a'", "Choose another"),
    ({"a": "1a = { bounds = [0, 1], tolerance = 1 }", "model": None}, 3, NAME + "'1a'", "Choose another"),
    ({"a": "'ü' = { bounds = [0, 1], tolerance = 1 }", "model": None}, 3, NAME + "'ü'", "Choose another"),
    ({"a": "", "b": "", "model": None}, 2, "a problem must have variables; there are none", "Write [variables], and"),
    ({"a": "a = { bounds = [0, 1], tolerance = 0 }", "b": "b = { bounds = [0, 1], tolerance = 'exact' }"}, 2,
     "at least one variable must have a tolerance; all are exact", "use a nominal optimiser"),
]  # fmt: skip

PROGRAM = "a command must start with an executable program; "
FORMAT = "a format must be one of Python's for a float; "
PATTERN = "a pattern must be a regular expression with one group; "
OWN = "each run has its own folder, in which relative paths start; 'prior.csv' is a file in the folder of"

MODELS = [
    ({"model": "workers = 2"}, 5, "a model must be either a command or a function", 'or function = "mymodule:gain"'),
    ({"model": "command = []"}, 5, "a model must be either a command or a function", "Write for instance command = ["),
    ({"model": f'{MODEL}\nfunction = "mymodule:gain"'}, 5, "either a command or a function; it has both", "Write"),
    ({"model": 'command = ["echo", "{a}{b}", "{c}"]'}, 6, "unknown placeholder {c}",
     "Known placeholders are {a}, {b}, {dir}, {here}; {{ and }} are literal braces"),
    ({"model": 'command = ["echo", "{a}{b}", "{heer}"]'}, 6, "unknown placeholder {heer}", "; did you mean {here}?"),
    ({"model": 'command = ["echo", "{a}{b}", "{"]'}, 6, "a brace in an argument must belong to a placeholder", "{{"),
    ({"model": 'command = ["echo", "{a:.6q}{b}"]'}, 6, FORMAT, "Write for instance {a:."),
    ({"model": 'command = ["echo", "{a:99999}{b}"]'}, 6, FORMAT, "Write for instance {a:"),
    ({"model": 'command = ["echo", "{a}{b}", "{dir:.3f}"]'}, 6, "a folder, which has no format", "Write {dir}"),
    ({"model": 'command = ["echo", "{a}"]'}, 6, "every variable must reach the model; b does not", "Put {b} into an"),
    ({"model": 'command = ["echo", "{{a}}"]'}, 6, "every variable must reach the model; a, b do not", "Put {a} into"),
    ({"model": 'command = ["echo"]\ntemplates = ["decks/deck.cir"]'}, 6, "must reach the model; a, b do not", "{a}"),
    ({"model": 'command = ["no-such-program", "{a}{b}"]'}, 6, PROGRAM + "'no-such-program' is not on", "Install it"),
    ({"model": 'command = ["sim", "{a}{b}"]'}, 6, PROGRAM + "'sim' is not on the PATH", "Write ./sim"),
    ({"model": 'command = ["./none", "{a}{b}"]'}, 6, "none does not exist", "Give its path"),
    ({"model": 'command = ["./in.txt", "{a}{b}"]'}, 6, "in.txt is not executable", "chmod +x"),
    ({"model": 'command = [\n"echo", "{a}{b}",\n"prior.csv"]'}, 6, OWN, "Write {here}/prior.csv"),
    ({"model": 'command = ["echo", "{a}{b}", "--in=prior.csv"]'}, 6, OWN, "Write --in={here}/prior.csv"),
    ({"model": f'{MODEL}\ntemplates = ["none.cir"]'}, 7, "a template must be a text file", "Name another file"),
    ({"model": f'{MODEL}\ntemplates = ["latin.txt"]'}, 7, "latin.txt is not UTF-8", "Name another file"),
    ({"model": f'{MODEL}\ntemplates = ["decks"]'}, 7, "decks is not a file", "Name another file"),
    ({"model": f'{MODEL}\ntemplates = ["../sim"]'}, 7, "without `..`; got '../sim'", "Move it there"),
    ({"model": f'{MODEL}\nstdin = "none.txt"'}, 7, "none.txt does not exist", "Name another file"),
    ({"model": f'{MODEL}\njson = "/x.json"'}, 7, "a relative path without `..`; got '/x.json'", "values.json"),
    ({"model": f"{MODEL}\n[model.result]\npattern = '('"}, 8, PATTERN + "'(' is invalid (missing )", "Write for"),
    ({"model": f"{MODEL}\n[model.result]\npattern = 'a'"}, 8, PATTERN + "'a' has no groups", r"loss = (\\S+)"),
    ({"model": f"{MODEL}\n[model.result]\npattern = '(a)(b)'"}, 8, PATTERN + "'(a)(b)' has 2", r"loss = (\\S+)"),
    ({"model": f"{MODEL}\nresult = {{ pattern = '(a)', key = 'b' }}"}, 7, "either by a pattern or by a JSON key",
     "Leave one of them out"),
    ({"model": f"{MODEL}\n[model.result]\nfile = '../x'"}, 8, "a file in the run's folder must be", "result.json"),
    ({"model": f"{MODEL}\ntime_limit = 0"}, 7, "`time_limit` must be a positive number; got 0", ""),
    ({"model": f"{MODEL}\ntime_limit = -1.5"}, 7, "`time_limit` must be a positive number; got -1.5", ""),
    ({"model": f"{MODEL}\ntime_limit = inf"}, 7, "`time_limit` must be a positive number; got inf", ""),
    ({"model": f"{MODEL}\nworkers = 0"}, 7, "`workers` must be an integer of at least 1; got 0", ""),
    ({"model": f"{MODEL}\nworkers = true"}, 7, "`workers` must be an integer of at least 1; got True", ""),
    ({"model": 'function = "mymodule.py"'}, 6, "a function must be module:name", "module:name, without .py"),
    ({"model": 'function = "my-module:gain"'}, 6, "must be module:name; got 'my-module:gain'", "without .py"),
    ({"model": 'function = "mymodule:"'}, 6, "must be module:name; got 'mymodule:'", "without .py"),
    ({"model": 'function = "mymodule:gain"\nstdin = "json"'}, 7, "`stdin` belongs to a command", "Leave it out"),
    ({"model": 'function = "mymodule:gain"\n[model.result]\nkey = "a"'}, 7, "`result` belongs to", "Leave it"),
]  # fmt: skip

WORDS = [
    ({"top": 'goal = "least"'}, 1, '`goal` must be "minimise" or "maximise"; got \'least\'', ""),
    ({"top": 'out_of_bounds = "inside"'}, 1, '`out_of_bounds` must be "evaluate" or "clip" or "shrink"', ""),
    ({"top": 'on_failure = "ignore"'}, 1, '`on_failure` must be "infeasible" or "unknown" or "raise"', ""),
    ({"top": 'tolerances = "sphere"'}, 1, '`tolerances` must be "box" or "ball"; got \'sphere\'', ""),
    ({"top": "budget = 2"}, 1, "`budget` must be an integer of at least 3; got 2", ""),
    ({"top": "budget = true"}, 1, "`budget` must be an integer of at least 3; got True", ""),
    ({"top": f"budget = {10**400}"}, 1, "`budget` must be an integer of at least 3; got 1000", ""),
    ({"top": "seed = -1"}, 1, "`seed` must be an integer of at least 0; got -1", ""),
    ({"top": "retries = -1"}, 1, "`retries` must be an integer of at least 0; got -1", ""),
    ({"top": 'data = "none.csv"'}, 1, "`data` must be an existing CSV file; ", "none.csv does not exist"),
    ({"top": 'data = "decks"'}, 1, "`data` must be an existing CSV file; ", "decks does not exist"),
]


@pytest.mark.parametrize(("snippet", "line", "rule", "fix"), [*UNKNOWN, *TYPES, *VARIABLES, *MODELS, *WORDS])
def test_a_validation_error_has_its_line_the_rule_and_the_fix(read, snippet, line, rule, fix):
    with pytest.raises(ProblemFileError) as caught:
        read(text_of(**snippet))
    message = str(caught.value)
    assert message.startswith(f"bad.toml, line {line}: "), message  # and no other error
    assert rule in message
    assert fix in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("snippet", "line", "rule", "fix"),
    [
        pytest.param({"top": TOP + "\n[other]"}, 2, "unknown key 'other'", "Known keys", id="table"),
        pytest.param({"a": "a.bounds = [0, 1]\na.tolerance = 'x'"}, 4, "that of a is 'x'", "Write", id="dotted"),
        pytest.param({"b": B + "\n[variables.c]\nbounds = [0, 1]\n"}, 5, "c has none", "Write", id="missing below"),
        pytest.param({"a": '"a" = { bounds = [0], tolerance = 1 }'}, 3, "those of a are [0]", "Write", id="quoted"),
        pytest.param({"a": "# a = 3\n\n" + A + "\nc=1"}, 6, "a variable must be a table; c", "Write", id="comments"),
    ],
)
def test_lines_in_other_notations(read, snippet, line, rule, fix):
    test_a_validation_error_has_its_line_the_rule_and_the_fix(read, snippet, line, rule, fix)


def test_all_errors_are_reported_together_each_with_its_line(read):
    text = text_of(
        top='goal = "best"',
        a='a = { bounds = [2, 1], tolerance = "lots", unti = "mm" }',
        model='command = ["no-such-program", "{a}{b}{c}"]\ntemplates = ["none.cir"]\nworkers = 0\nretries = 1\n'
        "[model.result]\npattern = 'x'\nkey = 'y'",
    )
    with pytest.raises(ProblemFileError) as caught:
        read(text)
    head, *lines = str(caught.value).split("\n")
    assert head == "bad.toml has 11 errors"
    assert [int(line.split()[1].rstrip(":")) for line in lines] == [1, 3, 3, 3, 6, 6, 7, 8, 9, 11, 12]
    for words in ("goal", "unti", "lots", "[2, 1]", "PATH", "{c}", "none.cir", "workers", "retries", "none", "both"):
        assert words in "\n".join(lines)
    assert all(line.startswith("  line ") for line in lines)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = ", "a problem file must be TOML"),
        ("budget = 30\nbudget = 31\n", "at line 2"),
        ("[variables\n", "at line 1"),
        ("name = 'x", "a problem file must be TOML"),
        ("{" * 10, "a problem file must be TOML"),
        ("a = " + "[" * 5000, "a problem file must be TOML"),
        ("a\0b = 1", "a problem file must be TOML"),
        (b"name = '\xff'", "must be text in UTF-8"),
        ("name = 'x'".encode("utf-16"), "must be text in UTF-8"),
        (b"# " + b"x" * 2_000_000, "must have at most 1 MB"),
        (b"", "a problem must have variables"),
    ],
)
def test_files_that_are_not_problem_files(read, text, words):
    with pytest.raises(ProblemFileError) as caught:
        read(text)
    assert words in str(caught.value)
    assert "bad.toml" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    for path, words in ((tmp_path, "directory"), (tmp_path / "none.toml", "No such file"), (tmp_path / "x/y", "No su")):
        with pytest.raises(ProblemFileError, match=r"must be readable") as caught:
            read_problem_file(path)
        assert words in str(caught.value)
        assert "robustforge problems" in str(caught.value)


# --- regressions

HUGE = "1" + "0" * 400


@pytest.mark.parametrize(
    ("snippet", "line"),
    [
        pytest.param({"a": f"a = {{ bounds = [0, {HUGE}], tolerance = 0.1 }}"}, 3, id="bounds"),
        pytest.param({"a": f"a = {{ bounds = [0, 1], tolerance = {HUGE} }}"}, 3, id="tolerance"),
        pytest.param({"model": f"{MODEL}\ntime_limit = {HUGE}"}, 7, id="time_limit"),
        pytest.param({"top": "seed = 1" + "0" * 5000}, 0, id="digits"),
        pytest.param({"top": "variables = 3", "a": "", "b": ""}, 1, id="variables is a number"),
        pytest.param({"top": "variables = [1, 2]", "a": "", "b": ""}, 1, id="variables is a list"),
        pytest.param({"top": f'data = "{"x" * 5000}"'}, 1, id="data"),
        pytest.param({"model": f'command = ["./{"x" * 5000}", "{{a}}{{b}}"]'}, 6, id="program"),
        pytest.param({"model": "#"}, 5, id="empty model"),
    ],
)
def test_extreme_values_are_validation_errors(read, snippet, line):
    text = text_of(**snippet)
    if "variables =" in text:
        text = text.replace("[variables]\n", "\n")
    with pytest.raises(ProblemFileError) as caught:
        read(text)
    assert f"line {line}" in str(caught.value) or not line


@pytest.mark.parametrize(
    ("text", "start"),
    [
        pytest.param(
            text_of(top="# one \u2028 two\nbudget = 2"),
            "bad.toml, line 2: `budget`",
            id="lines",
        ),
        pytest.param(
            "budget = 30\n[variables.a]\nbounds = [0, 1]\ntolerance = 0\n",
            "bad.toml, line 2: at least one variable",
            id="implicit table",
        ),
        pytest.param(
            text_of(a="a = { bounds = [0, 1e15], tolerance = 0.1 }"),
            "bad.toml, line 3: a box must be at most 1e+09 times as wide as the tolerance; a has a width of 1e+15",
            id="width",
        ),
        pytest.param(
            text_of(a="dir = { bounds = [0, 1], tolerance = 0.1 }", model='command = ["echo", "{dir}", "{b}"]'),
            "bad.toml, line 3: a variable's name",
            id="reported once",
        ),
    ],
)
def test_messages_of_former_defects(read, text, start):
    with pytest.raises(ProblemFileError) as caught:
        read(text)
    assert str(caught.value).startswith(start)


def test_a_byte_order_mark_is_ignored(read):
    assert read(FULL.encode("utf-8-sig")).name == "band-pass"


# --- prior runs

COLUMNS = Variables((Variable("a", 0, 1, Tolerance(0.1, 0.1)), Variable("R", 1, 9, Tolerance(5, 5, True))))


@pytest.fixture
def prior(tmp_path):
    def write_and_read(text):
        path = tmp_path / "prior.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_prior_runs(path, COLUMNS)

    return write_and_read


GOOD_CSV = "R,remark,a,value\n2,x,0.5,1e3\n\n3.5,,-7,inf\n"
GOOD_ROWS = [({"a": 0.5, "R": 2.0}, 1000.0), ({"a": -7.0, "R": 3.5}, math.inf)]


@pytest.mark.parametrize(
    "text",
    [
        GOOD_CSV,
        GOOD_CSV.replace("\n", "\r\n"),
        GOOD_CSV.encode("utf-8-sig"),
        GOOD_CSV.rstrip(),
        GOOD_CSV.replace("0.5", '" 0.5 "'),
        GOOD_CSV.replace("x", '"two\nlines, and a comma"'),
        GOOD_CSV.replace("x", "電"),
        GOOD_CSV.replace("1e3", "1e3,further,columns"),
    ],
)
def test_prior_runs(prior, text):
    assert prior(text) == GOOD_ROWS


def test_prior_runs_may_be_empty(prior):
    assert prior("a,R,value\n") == []


@pytest.mark.parametrize(
    ("text", "line", "rule", "fix"),
    [
        ("", 1, "missing columns a, R, value; prior runs need a column for each variable", "a,R,value"),
        ("a,R\n1,2\n", 1, "missing column value; ", "Start the file with a,R,value"),
        ("a;R;value\n1;2;3\n", 1, "missing columns a, R, value; ", "Start the file with a,R,value"),
        ("A,R,value\n1,2,3\n", 1, "missing column a; ", "Start the file with a,R,value"),
        ("1,2,3\n", 1, "missing columns a, R, value; ", "Start the file with a,R,value"),
        ("a,R,value\n1,2,3\n1,two,3\n", 3, "expected a number in column R; got 'two'", "Leave out the lines"),
        ("a,R,value\n1,2,nan\n", 2, "expected a number in column value; got 'nan'", "failed runs"),
        ("a,R,value\n1,2,\n", 2, "expected a number in column value; got ''", "failed runs"),
        ("a,R,value\n1,2\n", 2, "expected a number in column value; got None", "failed runs"),
        ("a,R,value\ninf,2,3\n", 2, "expected a number in column a; got 'inf'", "failed runs"),
        ('a,R,value\n"1,5",2,3\n', 2, "expected a number in column a; got '1,5'", "failed runs"),
        ("a,R,value\r\n1,2,3\r\n\r\n1,-2,3\r\n", 4, "in percent must be positive; R is -2", "Leave the line out"),
        ("a,R,value\n1,0,3\n", 2, "in percent must be positive; R is 0", "Leave the line out"),
        (b"\xef\xbb\xbfa,R,value\n1,x,3\n", 2, "expected a number in column R; got 'x'", "failed runs"),
    ],
)
def test_invalid_prior_runs(prior, text, line, rule, fix):
    with pytest.raises(ProblemFileError) as caught:
        prior(text)
    message = str(caught.value)
    assert message.startswith(f"prior.csv, line {line}: "), message
    assert rule in message
    assert fix in message


@pytest.mark.parametrize("text", [b"a,R,value\n1,2,\xff\n", "a,R,value\n" + "1" * 200_000, b"\x00\xff\xfe"])
def test_files_that_are_not_csv(prior, text):
    with pytest.raises(ProblemFileError, match=r"prior\.csv"):
        prior(text)


def test_missing_prior_runs(tmp_path):
    with pytest.raises(ProblemFileError, match="No such file"):
        read_prior_runs(tmp_path / "prior.csv", COLUMNS)


# --- fuzzing

FUZZ = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)

BARE = """\
seed = 3
on_failure = "raise"
[variables]
a = { bounds = [0, 1], tolerance = 0.1 }
b = { bounds = [1, 9], tolerance = "5%", unit = "kg" }
[model]
function = "mymodule:gain"
time_limit = 3
"""


@contextmanager
def nothing_runs():
    """Fail the test if anything is run."""

    def ran(*arguments, **options):
        pytest.fail(f"{arguments!r} was about to run")

    def imported(name, package=None):
        return sys.modules[name] if name in sys.modules else ran(name)  # Numba does so with our own

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", ran)
        patch.setattr(importlib, "import_module", imported)
        for name in ("system", "popen", "posix_spawn", "fork", "execve"):
            patch.setattr(os, name, ran)
        yield


words = st.text(st.characters(codec="utf-8"), max_size=12)
numbers = (
    st.integers(-(10**6), 10**6)
    | st.floats(width=64)
    | st.sampled_from([0, 1, 2**63, -(2**63), 10**30, 1e308, -1e308, 5e-324, 1e-300])
)


def as_toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {as_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value) if isinstance(value, str) else repr(value)


tolerances = st.builds("{}{}{}".format, st.sampled_from(["", "+", "±", "+1%/-"]), numbers, st.sampled_from(["", "%"]))
arguments = st.builds("{}{{{}{}}}".format, words, st.sampled_from(["a", "b", "R1", "dir", "x", ""]), words)
plain = st.none() | st.booleans() | numbers | words
dates = st.sampled_from(["1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "0x10", "1_000", "'''\n'''", "[[]]"])
values = dates | st.recursive(
    st.booleans() | numbers | words | tolerances | arguments | st.sampled_from(["json", "deck.cir", "(", "(a)", "sim"]),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(words, inside, max_size=3),
    max_leaves=6,
).map(as_toml)
keys = st.sampled_from(
    [*TOP_KEYS, *MODEL_KEYS, *RESULT_KEYS, *VARIABLE_KEYS, "a", "b", "R1", "model.result", "variables.R1", "x"]
)
headers = st.sampled_from(["[variables]", "[model]", "[model.result]", "[variables.a]", "[[model]]", "[[variables]]"])


@st.composite
def documents(draw):
    """A good file, mutated."""
    lines = draw(st.sampled_from([FULL, BARE])).splitlines()
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(lines) - 1)))
        how = draw(st.sampled_from(["delete", "twice", "swap", "value", "value", "value", "entry", "header", "text"]))
        if how == "delete":
            del lines[place : place + draw(st.integers(1, 3))]
        elif how == "twice":
            lines.insert(place, lines[place] if lines else "")
        elif how == "swap" and lines:
            other = draw(st.integers(0, len(lines) - 1))
            lines[place], lines[other] = lines[other], lines[place]
        elif how == "value" and lines and "=" in lines[place]:
            lines[place] = lines[place].partition("=")[0] + "= " + draw(values)
        elif how == "entry":
            lines.insert(place, f"{draw(keys)} = {draw(values)}")
        elif how == "header":
            lines.insert(place, draw(headers))
        elif how == "text" and lines:
            cut = draw(st.integers(0, len(lines[place])))
            lines[place] = lines[place][:cut] + draw(words) + lines[place][cut + draw(st.integers(0, 3)) :]
    return "\n".join(lines)


@FUZZ
@given(documents())
def test_any_document_is_read_or_refused(folder, text):
    before = sorted(os.listdir(folder))
    path = folder / "fuzz.toml"
    path.write_bytes(text.encode())
    try:
        with nothing_runs():
            file = read_problem_file(path)
            assert isinstance(file, ProblemFile)
            assert file.problem.dimension == len(file.variables.members) > 0
    except ProblemFileError as error:
        assert str(error).strip()  # noqa: PT017
    finally:
        path.unlink()
    assert sorted(os.listdir(folder)) == before
    assert "executed" not in before


plain_json = st.recursive(
    plain, lambda inside: st.lists(inside, max_size=3) | st.dictionaries(words, inside, max_size=3), max_leaves=5
)


def places(data, path=()):
    """All places of a JSON value."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inside:
        yield (*path, key)
        yield from places(value, (*path, key))


@st.composite
def spoiled(draw, good):
    """A JSON text, mutated as data and then, perhaps, as text."""
    data = copy.deepcopy(good)
    for _ in range(draw(st.integers(0, 3))):
        known = list(places(data))
        if not known:
            break
        *way, last = draw(st.sampled_from(known))
        holder = data
        for key in way:
            holder = holder[key]
        how = draw(st.sampled_from(["value", "value", "delete", "rename", "move"]))
        if how == "value":
            holder[last] = draw(plain_json)
        elif how == "delete":
            del holder[last]
        elif how == "rename" and isinstance(holder, dict):
            holder[draw(words)] = holder.pop(last)
        elif how == "move":
            holder[last] = copy.deepcopy(draw(st.sampled_from([good, *good.values()])))
    text = json.dumps(data)
    if draw(st.integers(0, 3)) == 0:
        cut = draw(st.integers(0, len(text)))
        text = text[:cut] + draw(words) + text[cut + draw(st.integers(0, 20)) :]
    return text


HEURISTIC = json.loads(rf.heuristic("rpso+dd+leh").to_json())


@FUZZ
@given(spoiled(HEURISTIC))
def test_any_heuristic_is_read_or_refused(text):
    with nothing_runs():
        try:
            assert isinstance(rf.Heuristic.from_json(text), rf.Heuristic)
        except RobustforgeError as error:
            assert str(error).strip()  # noqa: PT017


def saved_search():
    search = rf.Optimizer([(-3, 5), (0, 1)], rf.Box([0.5, 0.0]), 30, "rpso", 1, prior_evaluations=([[0.0, 0.5]], [2.0]))
    while search.nfev < 12 and (batch := search.ask()):
        search.tell(batch.ids, [float(x @ x) for x in batch.x])
    batch = search.ask()
    search.tell(batch.ids[:1], [math.inf])
    return json.loads(search.to_json())


SAVED = saved_search()


def test_a_saved_search_without_a_fingerprint():
    with pytest.raises(SearchFileError):
        rf.Optimizer.from_json(json.dumps({key: value for key, value in SAVED.items() if key != "fingerprint"}))


@FUZZ
@given(spoiled(SAVED))
def test_any_saved_search_is_read_or_refused(text):
    assume(text.count('"fingerprint"') == 1)  # see the test above
    with nothing_runs():
        try:
            assert isinstance(rf.Optimizer.from_json(text), rf.Optimizer)
        except SearchFileError as error:
            assert str(error).strip()  # noqa: PT017


def hostile(n):
    """Files that a careless parser reads slowly, each with about `n` such characters."""
    return {
        "header": text_of(top=f'name = """\n[{" " * n}\n"""'),
        "brackets": text_of(top=f'name = """\n{"[" * n}{" " * n}{"]" * n}{" " * n}x\n"""'),
        "entry": text_of(top=f'name = """\na{" " * n}x\n"""'),
        "quotes": text_of(top="name = '''\n" + '"a" ' * n + "\n'''"),
        "dotted": text_of(top=f"{'x.' * n}y = 1"),
        "dotted header": f"[{'x.' * n}y]\n" + text_of(),
        "dotted inside": text_of(top=f"x = {{ {'x.' * n}y = 1 }}"),
        "quoted dots": text_of(top=f'"{"x." * n}y" = 1'),
        "tolerance": text_of(a=f'a = {{ bounds = [0, 1], tolerance = "{"9" * n}x" }}'),
        "blank tolerance": text_of(a=f'a = {{ bounds = [0, 1], tolerance = "+{" " * n}x" }}'),
        "hexadecimal": text_of(a=f"a = {{ bounds = [0, 0x{'f' * n}], tolerance = 0x{'f' * n} }}"),
        "unknown": "".join(f"k{i} = 1\n" for i in range(n // 8)) + text_of(),
        "long": text_of(top=f"{'budgets' * n} = 1"),
        "variables": text_of(b=B + "\n" + "".join(f"b{i}=1\n" for i in range(n // 8))),
        "slots": text_of(model=f'command = ["echo", "{{a}}{{b}}", "{"{x}" * n}"]'),
        "other slots": text_of(
            model=f'command = ["echo", "{{a}}{{b}}", "{"".join(f"{{x{i}}}" for i in range(n // 8))}"]'
        ),
        "long slot": f"[variables]\n{'a' * n} = {{ bounds = [0, 1], tolerance = 0.1 }}\n"
        f'[model]\ncommand = ["echo", "{{{"ab" * (n // 2)}}}"]',
        "brace": text_of(model=f'command = ["echo", "{{a}}{{b}}", "{{{"y" * n}"]'),
        "pattern": text_of(model=f'{MODEL}\nresult.pattern = "({"a?" * n})"'),
        "function": text_of(model=f'function = "{"a." * n}"'),
        "integers": text_of(top=f"budget = 0x{'f' * n}\nseed = 0x{'f' * n}", model=f"{MODEL}\nworkers = 0x{'f' * n}"),
    }


@pytest.mark.parametrize("name", hostile(0))
def test_reading_time_is_linear_in_the_length(read, name):
    """Read within seconds what takes minutes if the time is quadratic."""
    begin = time.perf_counter()
    with contextlib.suppress(ProblemFileError):
        read(hostile(40_000)[name])
    assert time.perf_counter() - begin < 5  # it takes a tenth of a second or so


def test_many_errors_are_counted(read):
    with pytest.raises(ProblemFileError) as caught:
        read(hostile(8000)["variables"])
    message = str(caught.value)
    assert message.startswith("bad.toml has 1000 errors\n")
    assert message.endswith("\n  and 950 more.")


def test_the_suggestion_ignores_case(read):
    text = text_of(a=A.replace("a =", "R ="), model='command = ["echo", "{r}", "{b}"]')
    with pytest.raises(ProblemFileError, match=r"unknown placeholder \{r\}; did you mean \{R\}\?"):
        read(text)


def test_control_characters_are_escaped(read):
    with pytest.raises(ProblemFileError) as caught:
        read(text_of(top='"\\u001b[31m\\u009b\\u202e" = 1\n"\\u007f\\r" = 2'))
    assert "\\x1b[31m\\x9b\\u202e" in str(caught.value)
    assert "\\x7f\\r" in str(caught.value)
    assert not any(unicodedata.category(sign) in ("Cc", "Cf") for sign in str(caught.value) if sign != "\n")
