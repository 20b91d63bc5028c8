"""A problem file whose model is awk, for the tests: what it holds, and what a store holds of its search."""

from __future__ import annotations

import csv
import os
import textwrap
import time
from pathlib import Path

from robustforge.store import SEARCH, SOLVE, Store

HEAD = """\
budget = 40
heuristic = "rpso"
"""


VARIABLES = """\
[variables]
width = { bounds = [-2, 3], tolerance = 0.2, unit = "[mm]" }
load = { bounds = [1, 100], tolerance = "+5%/-2%", unit = "kN" }
turns = { bounds = [0, 4], tolerance = 0 }
"""


SHELL = """\
[model]
command = ["sh", "{here}/model.sh", "{width}", "{load}", "{turns}", "{here}", "{dir}"]
"""


SIMPLE = """\
[model]
command = ["awk", "-v", "a={width}", "-v", "b={load}", "-v", "c={turns}", "-f", "{here}/model.awk"]
"""


AWK = 'BEGIN { printf "%.17g\\n", (a - 1) * (a - 1) + (b - 10) * (b - 10) / 100 + (c - 2) * (c - 2) }\n'


SOME_FAIL = "case $3 in 3*) echo too many turns >&2; exit 5;; esac"


SLOW = """
if [ -e $4/slow ] && [ $(wc -l < $4/log) -ge $(cat $4/slow) ]; then
    sleep 60 &
    echo $$ $! >> $4/pids
    wait
fi
awk -v a=$1 -v b=$2 -v c=$3 -f $4/model.awk
echo $5 >> $4/log
"""


def worth(width, load, turns):
    """What the model says, to the bit."""
    return (width - 1) * (width - 1) + (load - 10) * (load - 10) / 100 + (turns - 2) * (turns - 2)


def problem(name, head=HEAD, model=SIMPLE, script=None):
    """Write a problem file, and the script of its model."""
    Path(f"{name}.toml").write_text(head + VARIABLES + model)
    if script is not None:
        Path("model.sh").write_text(textwrap.dedent(script))
    return f"{name}.toml"


def values_of(script):
    """A script that does something before it says what the model says."""
    return f"{textwrap.dedent(script)}\nawk -v a=$1 -v b=$2 -v c=$3 -f $4/model.awk\n"


def rows(store, name="spring", part=SOLVE):
    with Store.read(store) as kept:
        found = kept.evaluations(kept.experiment(name, SEARCH))
    return [(row.number, row.x, row.value, row.failure) for row in found if row.part == part]


def timeless(record):
    return {key: value for key, value in record.items() if key not in ("seconds", "store")}


def until_stored(count, part=SOLVE, seconds=30.0):
    """Wait for so many rows; a run that has ended is not stored yet."""
    end = time.monotonic() + seconds
    while len(rows("spring.db", part=part)) < count and time.monotonic() < end:
        time.sleep(0.01)


def filled(path, value=worth, only=None):
    """Fill in the values of a CSV file that `ask` wrote; returns how many."""
    with open(path, newline="") as file:
        found = list(csv.DictReader(file))
    for row in found[:only]:
        row["value"] = repr(value(**{key: float(row[key]) for key in ("width", "load", "turns")}))
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, ["id", "width", "load", "turns", "value"])
        writer.writeheader()
        writer.writerows(found)
    return len(found[:only])


def end_of(forks, pid, number=0):
    """Send a command a signal, if one is given, and wait; returns its exit code, and what it printed."""
    if number:
        os.kill(pid, number)
    code = forks.wait()
    shown, said = (Path(name).read_text() for name in ("stdout", "stderr"))
    for name in ("stdout", "stderr"):
        Path(name).unlink()
    assert "Traceback" not in said
    return code, shown, said
