"""`reproduce`: the study of the paper."""

from __future__ import annotations

from cli_runner import run

import robustforge as rf
from robustforge.analysis import read_dataset, results_folder


def test_options_reach_the_study(tmp_path, monkeypatch):
    asked = []

    def carry_out(scale, store, results, *, workers, log):
        asked.append((scale, store, results, workers))
        log("30d/sphere: evolving")
        return results

    monkeypatch.setattr("robustforge.study.reproduce", carry_out)
    ended = run("reproduce", "--scale", "smoke", "--store", "s.db", "--results", "r", "--workers", 1)
    assert asked == [("smoke", "s.db", "r", 1)]
    assert ended.stdout.splitlines() == ["done: `robustforge report r` writes a page about it"]
    lines = ["started", "30d/sphere: evolving", "done after 0 s, 30d/sphere: evolving"]
    assert [line[27:] for line in ended.stderr.splitlines()] == [f"reproduce: {line}" for line in lines]
    assert "'smoke', 'letter', 'tuned', 'paper'" in run("reproduce", "--scale", "tiny", code=2).stderr


def test_an_interrupted_study(tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("robustforge.study.reproduce", interrupted)
    ended = run("reproduce", "--store", "s.db", code=130)
    assert "interrupted: no run was completed" in ended.stderr


def test_results_of_another_scale_are_refused(tmp_path):
    folder = tmp_path / "results" / "30d" / "rastrigin"
    rf.evolve(
        rf.problem("rastrigin", 30), name="30d/rastrigin", store=tmp_path / "s.db",
        population=3, generations=1, repeats=1, budget=50, samples=10, final_repeats=1, seed=9,
    )  # fmt: skip
    results_folder.write_evolution(read_dataset(tmp_path / "s.db").evolutions[0], folder)
    ended = run(
        "reproduce", "--scale", "smoke", "--store", tmp_path / "n.db", "--results", tmp_path / "results", code=2
    )
    assert "same scale" in ended.stderr
    assert not (tmp_path / "n.db").exists()
