"""Signals during `solve`, `verify` and `check` of a problem file, and the log of killed jobs."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from cli_runner import DATED, as_json, run
from spring_problem import (
    SHELL,
    end_of,
    problem,
    rows,
    timeless,
    until_stored,
    values_of,
)

from processes import gone, text_of
from robustforge.cli.options import INTERRUPTED
from robustforge.store import VERIFY

pytestmark = pytest.mark.usefixtures("folder")


@pytest.mark.parametrize(
    ("number", "options"), [(signal.SIGINT, []), (signal.SIGTERM, ["--json"]), (signal.SIGINT, ["--workers", "2"])]
)
def test_a_signal_ends_solve_and_the_same_command_resumes(folder, slow, number, options):
    end = slow(30, "solve", "spring.toml", *options, "-o", "answer.json")
    pids = text_of(folder / "pids", 1 + ("--workers" in options)).split()
    until_stored(30)
    said = run("solve", "spring.toml", code=2).stderr  # a second one at the same time
    assert "another process has locked the store (pid " in said
    code, shown, said = end(number)
    assert code == INTERRUPTED, said
    done = len(rows("spring.db"))
    assert done == 30 or ("--workers" in options and done == 31)
    assert said.endswith(f"\ninterrupted: {done} runs are stored in spring.db; the same command resumes\n")
    assert re.search(rf"solve spring: interrupted after \d s, {done} of 40 runs", said)
    assert all(map(gone, pids))
    partial = json.loads(Path("answer.json").read_text())
    assert (partial["runs"], partial["success"]) == (done, False)
    assert set(partial["design"]) == {"width", "load", "turns"}
    if "--json" in options:
        assert json.loads(shown) == partial
    else:
        assert not partial["found"]  # no inner search is complete yet
        assert shown.startswith("No design yet")
    Path("slow").unlink()
    again = run("solve", "spring.toml")
    assert f"solve spring: resumed, {done} of 40 runs are stored" in again.stderr
    assert len(Path("log").read_text().split()) == 40  # none was run twice
    whole = as_json("solve", "quick.toml")
    assert timeless(as_json("solve", "spring.toml")) == timeless(whole)
    assert rows("spring.db") == rows("quick.db")
    left = {"answer.json", "lab.toml", "log", "model.awk", "model.sh", "pids", "quick.db", "quick.toml", "spring.db"}
    assert set(os.listdir(folder)) == left | {"spring.toml"}


def test_the_log_of_a_killed_job_shows_its_progress(folder, slow):
    end = slow(3)
    text_of(folder / "pids")
    until_stored(3)
    assert re.fullmatch(DATED + r"solve spring: started, 0 of 40 runs\n", Path("stderr").read_text())
    code, shown, said = end(signal.SIGKILL)
    assert (code != 0, shown) == (True, "")
    assert said.count("\n") == 1
    Path("slow").unlink()
    ended = run("solve", "spring.toml")
    resumed, first, last = [line for line in ended.stderr.splitlines() if re.match(DATED, line)]
    assert re.fullmatch(DATED + "solve spring: resumed, 3 of 40 runs are stored", resumed)
    assert re.fullmatch(DATED + "solve spring: started, 3 of 40 runs", first)
    assert re.fullmatch(DATED + r"solve spring: done after \d+ s, 40 of 40 runs", last)


@pytest.mark.parametrize("command", ["solve", "verify"])
def test_progress_is_logged_regularly(monkeypatch, command):
    problem("spring", model=SHELL, script=values_of('case $3 in 3*) exit 5;; esac\n[ -e "$4/slow" ] && sleep 0.3'))
    if command == "verify":
        run("solve", "spring.toml")
    Path("slow").touch()
    monkeypatch.setattr("robustforge.cli.log.INTERVAL", 0.1)
    ended = run(
        command, "spring.toml", "--budget", "6", *(["--name", "second"] if command == "solve" else []), "--json"
    )
    json.loads(ended.stdout)
    lines = [line for line in ended.stderr.splitlines() if re.match(DATED, line)]
    assert sum(bool(re.search(r": [1-5] of 6 runs, .*\d+ s left, \d+ s so far$", line)) for line in lines) >= 5
    if command == "solve":
        assert sum("failed, the first of this search" in line for line in lines) <= 1


def test_ctrl_c_before_the_first_design(folder, slow):
    end = slow(2, "solve", "spring.toml", "--json")
    pids = text_of(folder / "pids").split()
    until_stored(2)
    code, shown, _ = end(signal.SIGINT)
    assert code == INTERRUPTED
    assert all(map(gone, pids))
    record = json.loads(shown, parse_constant=pytest.fail)
    assert (record["runs"], record["success"], record["nominal"]) == (2, False, None)
    assert "no inner search was completed" in record["message"]
    Path("slow").unlink()
    assert timeless(as_json("solve", "spring.toml")) == timeless(as_json("solve", "quick.toml"))


def test_ctrl_c_during_verify_and_check(folder, slow):
    as_json("solve", "spring.toml")
    for command in (["verify", "spring.toml", "--budget", "20"], ["check", "spring.toml"]):
        end = slow(45 if command[0] == "verify" else 0, *command)
        pids = text_of(folder / "pids").split()
        until_stored(5, VERIFY)
        code, shown, said = end(signal.SIGINT)
        assert code == INTERRUPTED
        assert shown == ""
        assert said.splitlines()[-1].startswith("interrupted: ")
        assert all(map(gone, pids))
    Path("slow").unlink()
    assert len(rows("spring.db", part=VERIFY)) == 5
    verified = as_json("verify", "spring.toml", "--budget", "20")
    as_json("solve", "quick.toml")
    assert as_json("verify", "quick.toml", "--budget", "20") == {**verified, "store": "quick.db"}
    assert len(Path("log").read_text().split()) == 60


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["solve", "check"])
def test_a_signal_during_a_slow_pattern(folder, forks, command, number):
    script = "echo $5 >> $4/log; echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    problem("spring", model=SHELL + 'result.pattern = "(?:a+)+(b)"\n', script=script)
    pid = forks.start(command, "spring.toml")
    text_of(folder / "log")
    time.sleep(0.5)
    code, _, said = end_of(forks, pid, number)
    assert code == INTERRUPTED  # a pattern that came to its end would make it 1
    assert "\ninterrupted: " in f"\n{said}"


def test_solve_resumes_after_the_disk_was_full(folder, slow):
    code, shown, said = slow(999, limit=130_000)()
    assert code == 1
    assert shown.startswith("No design yet")
    assert "\nerror: writing to " in said
    assert said.count("\n") == 3
    before = rows("spring.db")
    assert 0 < len(before) < 40
    assert timeless(as_json("solve", "spring.toml")) == timeless(as_json("solve", "quick.toml"))
    assert rows("spring.db")[: len(before)] == before
