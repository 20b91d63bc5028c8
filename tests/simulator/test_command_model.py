"""A model behind a command line: real programs, and everything that can go wrong with them."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from processes import gone, text_of
from robustforge.errors import ModelError
from robustforge.simulator import subprocess_run
from robustforge.simulator.command_model import CommandModel
from robustforge.simulator.process_registry import ProcessRegistry
from robustforge.simulator.result_parser import ResultParser
from robustforge.simulator.run_outcome import MAX_TAIL_LENGTH

VALUES = {"a": 1 / 3, "b": -2e-9}


@pytest.fixture(scope="module")
def registry():
    with ProcessRegistry() as registry:
        yield registry


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    """Where temporary folders are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def run(tmp_path, temporary, registry):
    """Run a shell script once; no temporary folder may remain."""

    def once(script, *arguments, **options):
        (tmp_path / "model.sh").write_text(script)
        outcome = CommandModel(("/bin/sh", "{here}/model.sh", *arguments), tmp_path, **options).run(VALUES, 1, registry)
        assert options.get("runs_folder") or not list(temporary.iterdir())
        return outcome

    return once


def test_values_by_argument(run):
    assert run('echo "$1"', "{a}").value == 1 / 3
    assert run('echo "$1"', "{b:.3e}").value == -2e-9
    outcome = run('echo "${1#r=}"', "r={a:.2f}")
    assert (outcome.value, outcome.failure, outcome.tail) == (0.33, "", "")
    assert 0 < outcome.seconds < 10


def test_values_by_template(run, tmp_path):
    (tmp_path / "decks").mkdir()
    (tmp_path / "decks" / "deck.txt").write_bytes(b"{foo} {{x}} \xc3\xa9\r\n{a}\r\n")
    (tmp_path / "tool").write_text("#!/bin/sh\necho {b}\n")
    (tmp_path / "tool").chmod(0o755)
    assert (
        run("head -n 1 deck.txt | grep -q '^{foo} {{x}} é' && tail -n 1 deck.txt", templates=("decks/deck.txt",)).value
        == 1 / 3
    )
    assert run('"$1"', "{dir}/tool", templates=("tool",)).value == -2e-9


def test_values_by_json(run, registry, tmp_path):
    for options in ({"json_file": "sub/in.json"}, {"stdin": "json"}, {"json_file": "in.json", "stdin": "json"}):
        outcome = run("cat - sub/in.json 2>&- || :", result_parser=ResultParser(key="a"), **options)
        assert outcome.value == 1 / 3, outcome
    (tmp_path / "echo.sh").write_text("cat; cp in.json out.json")
    command = CommandModel(
        ("sh", "{here}/echo.sh"), tmp_path, json_file="in.json", result_parser=ResultParser("out.json")
    )
    assert "in.json" not in os.listdir(tmp_path)
    assert (
        command.run(VALUES, 1, registry).failure == f"out.json has no number on the last line: {json.dumps(VALUES)!r}"
    )


def test_values_by_standard_input(run, tmp_path):
    (tmp_path / "input.txt").write_text("first\n{a:.4f}\n")
    assert run("read line; cat", stdin="input.txt").value == 0.3333
    assert run("cat; echo 5").value == 5  # without `stdin` it is empty


def test_results_in_files(run):
    assert run("echo 3; echo 4.5 > out.txt; echo >> out.txt", result_parser=ResultParser("out.txt")).value == 4.5
    assert run("echo 'f = 1\nf = 2.0D+00\ng = 3'", result_parser=ResultParser(pattern="f = (.*)")).value == 2
    script = """echo '{"loss": {"worst": 7}, "peaks": [8, 9]}' > out.json"""
    assert run(script, result_parser=ResultParser("out.json", key="loss.worst")).value == 7
    assert run(script, result_parser=ResultParser("out.json", key="peaks.1")).value == 9
    assert run("echo +Infinity").value == math.inf


@pytest.mark.parametrize(
    ("script", "failure", "tail"),
    [
        ("echo 1; exit 3", "exit code 3", "1"),
        ("echo 1; echo no licence >&2; exit 3", "exit code 3", "no licence"),
        ("kill -SEGV $$", "signal SIGSEGV", ""),
        ("echo 1; echo xyz", "the output has no number on the last line: 'xyz'", "1\nxyz"),
        ("echo why >&2", "the output is empty", "why"),
        ("echo nan", "the result is NaN", "nan"),
        ("printf '1\\377\\376'", "the output has no number on the last line: '1\ufffd\ufffd'", "1\ufffd\ufffd"),
    ],
)
def test_failures(run, script, failure, tail):
    outcome = run(script)
    assert (outcome.failure, outcome.tail) == (failure, tail)
    assert math.isnan(outcome.value)
    assert outcome.failed


def test_a_missing_result_file_is_a_failure_with_the_last_output(run):
    outcome = run("echo cannot write", result_parser=ResultParser("out.json", key="a"))
    assert (outcome.failure, outcome.tail) == ("there is no file out.json", "cannot write")


def test_the_tail_is_the_last_output(run):
    outcome = run("i=0; while [ $i -lt 3000 ]; do echo é$i; i=$((i+1)); done >&2; exit 1")
    assert len(outcome.tail) == MAX_TAIL_LENGTH
    assert outcome.tail.endswith("é2998\né2999")


@pytest.mark.parametrize(
    ("program", "why"),
    [("./none", "No such file or directory: "), ("./text", "Permission denied: "), ("a\0b", "embedded null byte")],
)
def test_a_program_that_cannot_be_started(tmp_path, temporary, registry, program, why):
    (tmp_path / "text").write_text("hello")
    outcome = CommandModel((program,), tmp_path).run(VALUES, 1, registry)
    assert outcome.failure.startswith(f"the program cannot be started: {why}")
    assert not list(temporary.iterdir())


def test_a_folder_that_cannot_be_prepared_raises(run, tmp_path):
    (tmp_path / "file").write_text("")
    for options in ({"templates": ("none",)}, {"runs_folder": tmp_path / "file"}):
        with pytest.raises(ModelError, match="a run needs a folder with its files"):
            run("echo 1", **options)


def test_arguments_are_not_passed_to_a_shell(run, tmp_path):
    outcome = run('echo "$#" "$1" "$2"', f"; touch {tmp_path}/x", "$(echo {{}}) *")
    assert outcome.tail == f"2 ; touch {tmp_path}/x $(echo {{}}) *"
    assert not (tmp_path / "x").exists()


def test_a_program_beside_the_problem_file(tmp_path, registry, monkeypatch):
    (tmp_path / "sim").write_text('#!/bin/sh\n[ "$PWD" = "$1" ] && [ "$PWD" != "$2" ] && echo 6\n')
    (tmp_path / "sim").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for program, here in (("./sim", tmp_path), ("{here}/sim", tmp_path), ("./sim", Path())):
        assert CommandModel((program, "{dir}", "{here}"), here).run(VALUES, 1, registry).value == 6


def test_folders_are_kept_and_never_reused(run, tmp_path, temporary):
    keep = tmp_path / "kept"
    assert run("echo 1 > out; echo $1", "{a}", runs_folder=keep, keep_folders=True, json_file="in.json").value == 1 / 3
    assert json.loads((keep / "000001" / "in.json").read_text()) == VALUES
    outcome = run("exit 1", runs_folder=keep, keep_folders=True, result_parser=ResultParser("out"))
    assert outcome.failure == "exit code 1"
    assert (
        run("true", runs_folder=keep, keep_folders=True, result_parser=ResultParser("out")).failure
        == "there is no file out"
    )
    assert sorted(os.listdir(keep)) == ["000001", "000001-2", "000001-3"]
    assert not list(temporary.iterdir())


def test_a_model_may_remove_its_folder(run):
    assert run('rm -r "$1"; echo 5', "{dir}").value == 5


@pytest.mark.parametrize("pidfd", [True, False])
def test_a_model_that_hangs_is_killed_with_its_children(run, tmp_path, monkeypatch, pidfd):
    if not pidfd:
        monkeypatch.delattr(os, "pidfd_open")
    outcome = run("sleep 60 & echo $! > $1/pid; echo waiting; sleep 60", "{here}", time_limit=0.3)
    assert (outcome.failure, outcome.tail) == ("it took longer than 0.3 s", "waiting")
    assert 0.3 <= outcome.seconds < 2
    assert gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("pidfd", [True, False])
def test_a_grandchild_that_keeps_the_pipes_open_delays_nothing(run, tmp_path, monkeypatch, pidfd):
    if not pidfd:
        monkeypatch.delattr(os, "pidfd_open")
    outcome = run("sleep 60 & echo $! > $1/pid; echo 5", "{here}")
    assert outcome.value == 5
    assert outcome.seconds < 2
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_process_that_left_the_group_and_floods_the_pipe_delays_nothing(run, tmp_path):
    outcome = run("setsid sh -c 'echo $$ > $0/pid; exec yes' $1 & until [ -s $1/pid ]; do :; done; exit 4", "{here}")
    assert outcome.failure == "exit code 4"
    assert outcome.seconds < 5
    assert gone(int((tmp_path / "pid").read_text()))  # of a broken pipe


def test_a_model_that_closes_its_output_is_waited_for(run):
    assert run("exec >&- 2>&-; sleep 0.1; echo 5 > out", result_parser=ResultParser("out")).value == 5


def test_large_output_is_read_in_little_memory(run):
    tracemalloc.start()
    outcome = run("head -c 200000000 /dev/zero; head -c 9000000 /dev/zero >&2; echo; echo 12.5")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert outcome.value == 12.5
    assert peak < 10 * subprocess_run.MAX_OUTPUT_BYTES
    assert run("head -c 3000000 /dev/zero", result_parser=ResultParser(key="a")).failure.startswith(
        "the output is larger than"
    )


@pytest.mark.parametrize("end", ["kill -KILL $$", "kill -TERM $$", "sh -c 'kill -KILL $$'; exit $?"])
def test_a_killed_model_is_run_once_more(run, tmp_path, end):
    script = f"if [ -e $1/marker ]; then echo 5; else touch $1/marker junk; {end}; fi"
    assert run(script, "{here}").value == 5


def test_a_model_that_is_killed_twice_has_failed(run, tmp_path):
    outcome = run("echo again >> $1/count; kill -KILL $$", "{here}")
    assert outcome.failure == "signal SIGKILL"
    assert (tmp_path / "count").read_text() == "again\n" * 2


def test_a_timeout_is_not_repeated(run, tmp_path):
    run("echo again >> $1/count; sleep 60", "{here}", time_limit=0.2)
    assert (tmp_path / "count").read_text() == "again\n"


def test_threads_run_independently(tmp_path, temporary, registry):
    (tmp_path / "deck").write_text("{a}")
    command = CommandModel(("cat", "deck"), tmp_path, templates=("deck",))
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda i: command.run({"a": float(i)}, i, registry), range(40)))
    assert [outcome.value for outcome in outcomes] == list(range(40))
    assert not list(temporary.iterdir())


def test_kill_interrupts_all_runs(tmp_path, temporary):
    (tmp_path / "model.sh").write_text("echo $$ > $1/pid$2; sleep 60 & wait")
    command = CommandModel(("sh", "{here}/model.sh", "{here}", "{a:.0f}"), tmp_path)
    with ProcessRegistry() as registry, ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(command.run, {"a": float(i)}, i, registry) for i in range(4)]
        pids = [int(text_of(tmp_path / f"pid{i}")) for i in range(2)]
        start = time.monotonic()
        registry.kill()
        outcomes = [future.result() for future in futures]
        assert time.monotonic() - start < 10
    assert [outcome.failure for outcome in outcomes] == ["interrupted"] * 4
    assert all(map(gone, pids))
    assert not (tmp_path / "pid2").exists()
    assert not list(temporary.iterdir())
    assert command.run({"a": 9.0}, 9, registry).failure == "interrupted"


def test_a_model_that_starts_during_kill(tmp_path, monkeypatch):
    registry, popen = ProcessRegistry(), subprocess.Popen

    def slow(arguments, **options):
        process = popen(arguments, **options)
        if arguments[0] == "sleep":
            registry.kill()
        return process

    monkeypatch.setattr(subprocess, "Popen", slow)
    outcome = CommandModel(("sleep", "60"), tmp_path).run({}, 1, registry)
    assert (outcome.failure, outcome.seconds < 2) == ("interrupted", True)
    registry.close()


def test_an_exception_during_a_run_leaves_no_process_and_no_folder(tmp_path, temporary, registry, monkeypatch):
    (tmp_path / "model.sh").write_text("echo $$ > $1/pid; sleep 60")

    def interrupt(output, time_limit):
        text_of(tmp_path / "pid")
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess_run._OutputReader, "read_until_exit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        CommandModel(("sh", "{here}/model.sh", "{here}"), tmp_path).run({}, 1, registry)
    assert gone(int((tmp_path / "pid").read_text()))
    assert not list(temporary.iterdir())


def test_descriptors_are_closed(tmp_path, registry):
    command = CommandModel(("echo", "1"), tmp_path, time_limit=10)
    command.run({}, 1, registry)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        command.run({}, 1, registry)
    assert len(os.listdir("/proc/self/fd")) == before
    assert threading.active_count() < 50
