"""Parameters and attributes of results that were renamed work under their former names, with a warning."""

from __future__ import annotations

import pytest

import robustforge as rf

SMALL = {"population": 4, "generations": 1, "repeats": 1, "budget": 60, "samples": 20, "final_repeats": 1}


def same_under(owner, former, present):
    with pytest.warns(DeprecationWarning, match=f"`{former}` was renamed to `{present}`"):
        return getattr(owner, former) == getattr(owner, present)


def test_attributes_of_an_evolution():
    evolution = rf.evolve(rf.problem("sphere", 2), workers=1, **SMALL)
    assert same_under(evolution, "reasons", "failure_reasons")
    names = {"done": "completed", "wanted": "total", "made": "new_runs", "found": "stored_runs", "expected": "max_runs"}
    assert all(same_under(evolution.progress, former, present) for former, present in names.items())


def test_an_assessment_and_its_callback():
    seen = []
    with pytest.warns(DeprecationWarning, match="`callback=` was renamed to `on_progress=`"):
        found = rf.assess("centre", rf.problem("sphere", 2), runs=2, samples=10, callback=seen.append, workers=1)
    assert same_under(found, "new", "new_runs")
    names = {"wanted": "total", "found": "stored_runs", "made": "new_runs"}
    assert all(same_under(seen[-1], former, present) for former, present in names.items())
    with pytest.raises(TypeError, match="workres"):
        rf.assess("centre", rf.problem("sphere", 2), workres=1)


def test_an_interpretation_beside_a_heuristic():
    with pytest.warns(DeprecationWarning, match=r"`heuristic\.replace\(interpretation=\.\.\.\)`"):
        search = rf.Optimizer([(0, 1)], rf.Ball(0.1), 50, "rpso", 1, interpretation=rf.LETTER)
    assert search.heuristic == rf.heuristic("rpso").replace(interpretation=rf.LETTER)


def test_the_factory_of_an_ask_tell_contestant():
    with pytest.warns(DeprecationWarning, match="`begin=` was renamed to `factory=`"):
        contestant = rf.AskTell("mine", begin=print)
    assert contestant == rf.AskTell("mine", print)
    assert same_under(contestant, "begin", "factory")


def test_the_path_of_an_analysis(tmp_path):
    rf.evolve(rf.problem("sphere", 2), store=tmp_path / "s.db", workers=1, **SMALL)
    with pytest.warns(DeprecationWarning, match="`place=` was renamed to `path=`"):
        found = rf.analyse(place=tmp_path / "s.db")
    assert same_under(found, "outcomes", "evolutions")
