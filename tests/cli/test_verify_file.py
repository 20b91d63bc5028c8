"""`verify` of a problem file."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runner import as_json, run
from spring_problem import (
    SHELL,
    problem,
    rows,
    timeless,
    values_of,
    worth,
)

from robustforge.formatting import at_precision
from robustforge.simulator.problem_file import read_problem_file
from robustforge.solver import StoredSearch
from robustforge.store import SEARCH, VERIFY, Store

pytestmark = pytest.mark.usefixtures("folder")


def test_verify_continues_with_a_larger_budget():
    problem("spring", model=SHELL, script=values_of("echo >> $4/log"))
    solved = as_json("solve", "spring.toml")
    first = as_json("verify", "spring.toml", "--budget", "15")
    assert (first["nominal"], first["found_by_search"], first["runs"]) == (solved["nominal"], solved["worst"], 15)
    assert first["worst"] == worth(**first["worst_point"]) >= first["found_by_search"]
    assert len(Path("log").read_text()) == 55
    assert as_json("verify", "spring.toml", "--budget", "15") == first  # nothing is run again
    assert len(Path("log").read_text()) == 55
    more = as_json("verify", "spring.toml", "--budget", "40", "--workers", "2")
    assert len(Path("log").read_text()) == 40 + more["runs"]
    assert more["worst"] >= first["worst"]
    assert len(rows("spring.db", part=VERIFY)) == more["runs"]
    shown = run("verify", "spring.toml", "--budget", "40").stdout
    worst = at_precision(more["worst"], more["worst"] - more["nominal"], 4)
    for words in ("nominal", "found", "attacked", worst, "Drivers of the worst case", "width", "load"):
        assert words in shown
    for each in more["worst_point"]:
        bounds = next(one["built"] for one in solved["variables"] if one["name"] == each)
        assert bounds[0] - 1e-9 <= more["worst_point"][each] <= bounds[1] + 1e-9
    assert timeless(as_json("solve", "spring.toml")) == timeless(solved)


@pytest.mark.parametrize(("value", "kind"), [("0", "confirmed"), ("1e3", "warning"), ("inf", "warning")])
def test_verify_warns_of_a_much_worse_case(value, kind):
    problem("spring", model=SHELL, script=values_of("[ -e $4/changed ] && { cat $4/changed; exit; }"))
    known = as_json("solve", "spring.toml")["worst"]
    Path("changed").write_text(f"{value}\n")
    record = as_json("verify", "spring.toml", "--budget", "10")
    assert record["verdict"]["kind"] == kind
    shown = " ".join(run("verify", "spring.toml", "--budget", "10").stdout.split())
    assert record["verdict"]["text"] in shown
    assert ("Warning: The attack found" in shown) == (kind == "warning")
    assert known < 1e3


@pytest.mark.parametrize("option", [["--budget", "30"], ["--seed", "5"], ["--heuristic", "rpso+dd"]])
def test_verify_after_a_solve_with_options(option):
    solved = as_json("solve", "spring.toml", *option)
    assert as_json("verify", "spring.toml", "--budget", "10")["found_by_search"] == solved["worst"]


def test_verify_of_an_unknown_name():
    run("solve", "spring.toml")
    run("verify", "spring.toml", "--name", "other", code=2)
    with Store.read("spring.db") as store:
        assert [experiment.name for experiment in store.experiments(SEARCH)] == ["spring"]


def test_verify_of_an_unfinished_search():
    with Store.open("spring.db") as store:
        StoredSearch.open(read_problem_file("spring.toml"), store)
    said = run("verify", "spring.toml", code=2).stderr
    assert "only a finished search can be verified; 'spring' has no design yet" in said


def test_verify_refuses_a_design():
    assert "--x applies to test problems only" in run("verify", "spring.toml", "--x", "1", code=2).stderr
