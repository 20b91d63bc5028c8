"""Stored searches: every run is stored, an interrupted search resumes, and the result is the same."""

from __future__ import annotations

import json
import math
import sqlite3
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

import robustforge as rf
from robustforge.errors import ModelError, ObjectiveError, ProblemError, StoreError, TellError
from robustforge.simulator.command_model import CommandModel
from robustforge.simulator.function_model import FunctionModel
from robustforge.simulator.model_files import fingerprints
from robustforge.simulator.problem_file import read_problem_file
from robustforge.simulator.run_outcome import RunOutcome
from robustforge.simulator.worker_pool import model_workers
from robustforge.solver import StoredSearch
from robustforge.store import SEARCH, SOLVE, Store
from shared import same

PROBLEM = """
budget = 60
heuristic = "rpso+dd"
[variables]
a = { bounds = [-2, 3], tolerance = 0.2 }
b = { bounds = [1, 100], tolerance = "5%" }
c = { bounds = [0, 1], tolerance = 0 }
"""
MODEL = """
[model]
function = "bowls:bowl"
"""
BOWLS = """
import math, os, signal, time
def bowl(a, b, c):
    return a * a + math.log(b / 10) ** 2 + (c - 0.5) ** 2
def never(a, b, c):
    raise RuntimeError("no licence")
def sometimes(a, b, c):
    if c > 0.5:
        raise RuntimeError("too much")
    return bowl(a, b, c)
"""


def bowl(a, b, c):
    return a * a + math.log(b / 10) ** 2 + (c - 0.5) ** 2


@pytest.fixture
def problem(tmp_path, monkeypatch):
    """Write a problem file, with a module beside it."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # the module changes within a second
    (tmp_path / "bowls.py").write_text(BOWLS)

    def write(text=PROBLEM, model=MODEL):
        path = tmp_path / "bowl.toml"
        path.write_text(textwrap.dedent(text) + model)
        return read_problem_file(path)

    return write


def solved(file, path, workers=1, callback=lambda search: None, accept_changes=False):
    with Store.open(path, durable=True) as store, model_workers(file.model, workers) as submit:
        return StoredSearch.open(file, store, accept_changes).solve(submit, callback)


def by_hand(file):
    """The same search by ask and tell."""
    search = rf.Optimizer(
        file.scaled_problem, budget=file.budget, heuristic=file.heuristic, rng=file.seed, on_failure="infeasible"
    )
    while batch := search.ask():
        search.tell(batch.ids, [file.sign * bowl(**file.variables.decode(x)) for x in batch.x])
    return search.result()


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stored_search_equals_ask_and_tell(problem, tmp_path, workers):
    file = problem()
    result = solved(file, tmp_path / "s.db", workers)
    assert same(result, by_hand(file))
    assert result.success
    with Store.read(tmp_path / "s.db") as store:
        experiment = store.experiment("bowl", SEARCH)
        rows = store.evaluations(experiment)
        assert experiment.ended
        assert store.experiments() == []  # no evolution
    assert [row.number for row in rows] == list(range(60))
    assert [row.value for row in rows] == result.history.fun.tolist()
    assert all(row.part == SOLVE and not row.failure and row.seconds > 0 for row in rows)


def test_an_interrupted_search_resumes_and_repeats_nothing(problem, tmp_path):
    file = problem()
    seen = []

    def stop(search):
        seen.append(search.runs)
        if search.runs % 7 == 0:
            raise KeyboardInterrupt

    for _ in range(8):
        with pytest.raises(KeyboardInterrupt):
            solved(file, tmp_path / "s.db", 2, stop)
    result = solved(file, tmp_path / "s.db", 2, lambda search: seen.append(search.runs))
    assert same(result, by_hand(file))
    assert seen == list(range(1, 61))


def test_a_finished_search_runs_nothing(problem, tmp_path):
    file = problem()
    first = solved(file, tmp_path / "s.db")
    (tmp_path / "bowls.py").write_text("def bowl(a, b, c): raise RuntimeError")
    assert same(solved(file, tmp_path / "s.db", accept_changes=True), first)


def test_other_settings_are_refused(problem, tmp_path):
    solved(problem(), tmp_path / "s.db")
    with pytest.raises(
        StoreError, match="the stored search 'bowl' has other settings; budget is 60 in the store, 61 now"
    ):
        solved(problem(PROBLEM.replace("60", "61")), tmp_path / "s.db")
    with pytest.raises(StoreError, match=r'settings; variables\.a\.tolerance is "±0\.2" in the store, "±0\.3" now\.'):
        solved(problem(PROBLEM.replace("0.2", "0.3")), tmp_path / "s.db")
    with pytest.raises(StoreError, match=r"heuristic\..*; and \d+ more"):
        solved(problem(PROBLEM.replace("rpso+dd", "champion/30d/general")), tmp_path / "s.db")


def test_maximising_negates_the_values(problem, tmp_path):
    file = problem('goal = "maximise"\n' + PROBLEM)
    result = solved(file, tmp_path / "s.db")
    assert same(result, by_hand(file))
    with Store.read(tmp_path / "s.db") as store:
        rows = store.evaluations(store.experiment("bowl", SEARCH))
    assert [row.value for row in rows] == [-value for value in result.history.fun]


def test_failures_are_stored_with_their_reason(problem, tmp_path):
    file = problem(model=MODEL.replace('bowl"', 'sometimes"'))
    result = solved(file, tmp_path / "s.db", 2)
    with Store.read(tmp_path / "s.db") as store:
        rows = store.evaluations(store.experiment("bowl", SEARCH))
    failed = [row for row in rows if row.failure]
    assert len(failed) == result.failures > 0
    assert all(row.failure == "RuntimeError: too much" and "bowls.py" in row.tail for row in failed)
    assert all(math.isnan(row.value) and row.x[2] > 0.5 for row in failed)
    again = solved(file, tmp_path / "s.db")
    assert same(again, result)


def test_a_model_that_always_fails_deletes_the_search(problem, tmp_path):
    file = problem(model=MODEL.replace('bowl"', 'never"'))
    with pytest.raises(ModelError, match=r"(?s)first 1\d runs of the model failed.*no licence.*bowls\.py"):
        solved(file, tmp_path / "s.db", 2)
    with Store.read(tmp_path / "s.db") as store:
        assert store.experiments(SEARCH) == []
    assert same(solved(problem(), tmp_path / "s.db"), by_hand(problem()))


@pytest.mark.parametrize("retries", [0, 2])
def test_under_raise_a_failure_ends_the_search_which_resumes_with_a_fixed_model(problem, tmp_path, retries):
    text = f'on_failure = "raise"\nretries = {retries}\n' + PROBLEM
    with pytest.raises(ObjectiveError, match="too much"):
        solved(problem(text, MODEL.replace('bowl"', 'sometimes"')), tmp_path / "s.db")
    (tmp_path / "bowls.py").write_text(BOWLS.replace("c > 0.5", "False"))
    fixed = problem(text, MODEL.replace('bowl"', 'sometimes"'))
    with pytest.raises(StoreError, match=r"search 'bowl' was started; bowls\.py has changed.*--accept-changes"):
        solved(fixed, tmp_path / "s.db")
    result = solved(fixed, tmp_path / "s.db", accept_changes=True)
    assert same(solved(fixed, tmp_path / "s.db"), result)
    assert result.nfev == 60
    assert result.success
    assert retries or same(result, by_hand(problem(text)))


def test_prior_runs_use_no_budget(problem, tmp_path):
    rows = [(a, b, 0.5) for a in (-1.0, 0.0, 1.0) for b in (5.0, 10.0, 20.0)]
    lines = [f"{c},{a},{b},{bowl(a, b, c)!r},ignored" for a, b, c in rows]
    (tmp_path / "prior.csv").write_text("\n".join(["c,a,b,value,remark", *lines]) + "\n")
    file = problem('data = "prior.csv"\n' + PROBLEM)
    result = solved(file, tmp_path / "s.db")
    assert (result.nfev, len(result.history)) == (60, 69)
    assert result.history.fun[:9].tolist() == [bowl(a, b, c) for a, b, c in rows]
    assert same(solved(file, tmp_path / "s.db"), result)


def test_values_reported_by_hand(problem, tmp_path):
    file = problem(model="")
    numbers = []
    while True:
        with Store.open(tmp_path / "s.db") as store:  # reopened for each value
            search = StoredSearch.open(file, store)
            batch = search.optimizer.ask()
            if not batch:
                break
            number, x = list(batch)[-1]
            search.tell(number, RunOutcome(bowl(**file.variables.decode(x))))
            numbers.append(number)
            with pytest.raises(TellError, match="is not pending"):
                search.tell(number, RunOutcome(1.0))
    assert sorted(numbers) == list(range(60))
    assert same(search.result(), by_hand(file))


def test_infinitely_good_is_a_failure(problem, tmp_path):
    for goal, value in (("minimise", -math.inf), ("maximise", math.inf)):
        with Store.open(None) as store:
            search = StoredSearch.open(problem(f'goal = "{goal}"\n' + PROBLEM, ""), store)
            number = int(search.optimizer.ask().ids[0])
            search.tell(number, RunOutcome(value))
            assert store.evaluations(search.experiment)[0].failure


def test_a_running_search_can_be_read(problem, tmp_path):
    file = problem('goal = "maximise"\n' + PROBLEM)
    looks = []

    def look(search):
        with Store.read(tmp_path / "s.db") as store:
            seen = StoredSearch.read(store, store.experiment("bowl", SEARCH))
            looks.append((seen.runs, seen.result().nfev))

    result = solved(file, tmp_path / "s.db", 1, look)
    assert looks == [(k, k) for k in range(1, 61)]
    with Store.read(tmp_path / "s.db") as store:
        seen = StoredSearch.read(store, store.experiment("bowl", SEARCH))
    assert same(seen.result(), result)
    assert seen.file.variables == file.variables
    assert seen.file.to_dict()["variables"] == file.to_dict()["variables"]


@pytest.mark.parametrize("column", ["variables", "heuristic", "budget", "goal"])
def test_a_damaged_search_is_reported(problem, tmp_path, column):
    solved(problem(), tmp_path / "s.db")
    connection = sqlite3.connect(tmp_path / "s.db")
    settings = json.loads(connection.execute("SELECT settings FROM experiment").fetchone()[0])
    for spoiled in ({**settings, column: {"x": 3}}, {**settings, column: None}):
        connection.execute("UPDATE experiment SET settings = ?", (json.dumps(spoiled),))
        connection.commit()
        with Store.read(tmp_path / "s.db") as store, pytest.raises(StoreError):
            StoredSearch.read(store, store.experiment("bowl", SEARCH))


def test_a_model_may_change_before_its_first_value(problem, tmp_path):
    text = 'on_failure = "raise"\n' + PROBLEM
    with pytest.raises(ObjectiveError, match="no licence"):
        solved(problem(text, MODEL.replace('bowl"', 'never"')), tmp_path / "s.db")
    (tmp_path / "bowls.py").write_text(BOWLS.replace('raise RuntimeError("no licence")', "return bowl(a, b, c)"))
    assert solved(problem(text, MODEL.replace('bowl"', 'never"')), tmp_path / "s.db").nfev == 60


FILES = {
    "bowls.py": """
        import helpers, json
        from parts.inner import of
        def bowl(a, b, c):
            return of(a) + helpers.rest(b, c)
    """,
    "helpers.py": """
        import math
        def rest(b, c):
            from late import half
            return math.log(b / 10) ** 2 + half(c)
    """,
    "late.py": "def half(c): return (c - 0.5) ** 2",
    "parts/__init__.py": "",
    "parts/inner.py": """
        from . import deep
        from .other import *
        def of(a):
            return deep.square(a)
    """,
    "parts/deep.py": "def square(a): return a * a",
    "parts/other.py": "",
}
FILES = {name: textwrap.dedent(text) for name, text in FILES.items()}


def write_files(folder):
    for name, text in {**FILES, "unused.py": "broken = (\n", "parts/unused.py": ""}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def test_fingerprints_of_a_function_and_its_local_imports(problem, tmp_path):
    write_files(tmp_path)
    file = problem()
    assert sorted(file.to_dict()["model"]["files"]) == sorted(FILES)
    first = solved(file, tmp_path / "s.db")
    (tmp_path / "unused.py").write_text("")
    (tmp_path / "bowl.py").write_text("")
    assert same(solved(problem(), tmp_path / "s.db"), first)
    for name, text in FILES.items():
        (tmp_path / name).write_text(f"{text}\n# other\n")
        for way in (StoredSearch.open, StoredSearch.reopen):
            with (
                Store.open(tmp_path / "s.db") as store,
                pytest.raises(StoreError, match=rf"was started; {name} has changed\. Undo the change"),
            ):
                way(problem(), store)
        (tmp_path / name).write_text(text)
    (tmp_path / "late.py").unlink()
    (tmp_path / "late").mkdir()
    (tmp_path / "late" / "__init__.py").write_text(FILES["late.py"])
    with pytest.raises(StoreError, match=r"late\.py is missing and late/__init__\.py is new"):
        solved(problem(), tmp_path / "s.db")


def test_fingerprints_of_an_installed_function():
    for target, names in (("scipy.optimize:rosen", ["scipy.optimize"]), ("math:sqrt", None), ("nowhere.at:all", [])):
        found = fingerprints(FunctionModel(target, Path("/nowhere")))
        assert names is None or list(found) == names


def test_fingerprints_of_a_command(tmp_path):
    write_files(tmp_path)
    for name in ("run.sh", "deck.cir", "tool"):
        (tmp_path / name).write_text("x")

    def names(*arguments):
        return sorted(fingerprints(CommandModel(arguments, tmp_path)))

    assert names("sh", "{here}/run.sh", "{a}", "{here}", "{here}/none", "deck.cir", "{dir}/deck.cir") == ["run.sh"]
    assert names("./tool", "--deck={here}/deck.cir", "{here}/{a}") == ["deck.cir", "tool"]
    assert names("{here}/tool", "{here}/../x") == ["tool"]
    assert names("tool", "sub/../deck.cir") == []
    assert names("python3", "{here}/bowls.py") == sorted(FILES)
    assert names("python3", "{here}/parts/inner.py") == [
        "parts/__init__.py",
        *(f"parts/{n}.py" for n in ("deep", "inner", "other")),
    ]


def test_a_store_without_fingerprints_resumes(problem, tmp_path):
    file = problem()
    first = solved(file, tmp_path / "s.db")
    with Store.open(tmp_path / "s.db") as store:  # as older versions wrote it
        known = store.experiment("bowl", SEARCH)
        del known.settings["model"]["files"]
        store.update_settings(known, known.settings)
    (tmp_path / "bowls.py").write_text(BOWLS + "# other\n")
    assert same(solved(problem(), tmp_path / "s.db"), first)
    with Store.open(tmp_path / "s.db") as store:
        assert same(StoredSearch.reopen(problem(), store).result(), first)
        assert "files" not in store.experiment("bowl", SEARCH).settings["model"]


LOGS = """
budget = 80
heuristic = "rpso+dd"
[variables]
a = { bounds = [-2, 3], tolerance = 0.2 }
b = { bounds = [1, 100], tolerance = "+5%/-2%" }
c = { bounds = [0, 1], tolerance = 0 }
"""


def test_the_problem_of_a_file_is_in_its_units(problem, tmp_path):
    file = problem(LOGS)
    problem_in_units = file.problem
    assert (problem_in_units.lower.tolist(), problem_in_units.upper.tolist()) == ([-2.0, 1.0, 0.0], [3.0, 100.0, 1.0])
    assert [side.tolist() for side in problem_in_units.design_box] == [[-2.0, 1.0, 0.0], [3.0, 100.0, 1.0]]
    assert repr(problem_in_units.uncertainty) == "box of +0.2/-0.2, +5%/-2%, +0/-0"
    low, high = problem_in_units.uncertainty.around([1.0, 50.0, 0.5])
    assert low == pytest.approx([0.8, 49.0, 0.5])
    assert high == pytest.approx([1.2, 52.5, 0.5])
    assert problem_in_units([1.0, 50.0, 0.25]) == bowl(1.0, 50.0, 0.25)
    assert problem_in_units.to_dict()["upper"] == [3.0, 100.0, 1.0]
    plain = problem(LOGS.replace("%", ""))
    assert type(plain.problem) is rf.Problem


def test_minimize_equals_the_stored_search_in_the_units_of_the_file(problem, tmp_path):
    file = problem(LOGS)
    inside = solved(file, tmp_path / "s.db")
    result = rf.minimize(file.problem, budget=80, heuristic="rpso+dd", rng=file.seed, on_failure="infeasible")
    assert result.history.fun.tolist() == inside.history.fun.tolist()
    for ours, theirs in ((result.x, inside.x), (result.worst_x, inside.worst_x)):
        assert ours.tolist() == list(file.variables.decode(theirs).values())
    assert (result.fun, result.nominal_fun) == (inside.fun, inside.nominal_fun)
    assert all(bowl(*x) == value for x, value in zip(result.history.x, result.history.fun, strict=True))
    assert (result.history.x[:, 1] > 0.9).all()
    assert result.history.x[:, 1].max() > 50
    with ThreadPoolExecutor(2) as threads:
        again = rf.minimize(
            file.problem, budget=80, heuristic="rpso+dd", rng=1, on_failure="infeasible", workers=threads
        )
    assert same(again, result)


def test_ask_and_tell_in_the_units_of_the_file(problem, tmp_path):
    file = problem(LOGS)
    known = ([[0.0, 20.0, 0.5], [1.0, 40.0, 0.25]], [bowl(0.0, 20.0, 0.5), bowl(1.0, 40.0, 0.25)])
    search = rf.Optimizer(file.problem, budget=80, heuristic="rpso+dd", rng=1, prior_evaluations=known)
    while search.nfev < 40:
        batch = search.ask()
        assert ((batch.x[:, 1] > 0.9) & (batch.x[:, 1] < 110)).all()
        search.tell(batch.ids, [bowl(*x) for x in batch.x])
    search.save(tmp_path / "search.json")
    again = rf.Optimizer.load(tmp_path / "search.json")
    for each in (search, again):
        while batch := each.ask():
            each.tell(batch.ids, [bowl(*x) for x in batch.x])
    assert same(search.result(), again.result())
    assert search.result().history.x[:2] == pytest.approx(np.array(known[0]), rel=1e-14)
    with pytest.raises(ProblemError, match="must be positive; one is -1"):
        rf.Optimizer(file.problem, prior_evaluations=([[0.0, -1.0, 0.5]], [1.0]))
    unknown = rf.minimize(file.problem, budget=80, heuristic="rpso+dd", rng=1, on_failure="unknown", retries=0)
    assert unknown.success


def test_a_failure_is_reported_in_the_units_of_the_file(problem):
    file = problem(LOGS, MODEL.replace('bowl"', 'sometimes"'))
    result = rf.minimize(file.problem, budget=80, heuristic="rpso+dd", rng=1, on_failure="unknown")
    first = result.history.x[np.isnan(result.history.fun)][0]
    assert f"the first at x = {np.array2string(first, precision=6, threshold=12)}" in result.message


def test_verification_in_the_units_of_the_file(problem):
    file = problem(LOGS)
    x = [0.5, 40.0, 0.25]
    worst = bowl(0.7, 42.0, 0.25)
    found = rf.verify(file.problem, x, samples=500, rng=1)
    assert found.nominal_fun == bowl(*x)
    assert found.attacked.fun == pytest.approx(worst)
    assert found.attacked.x == pytest.approx([0.7, 42.0, 0.25])
    assert 39.2 <= found.sampled.x[1] <= 42.0
    attacked = rf.attack(file.problem, x, budget=20)
    assert attacked.fun == pytest.approx(worst)
    assert attacked.x == pytest.approx([0.7, 42.0, 0.25])
    with pytest.raises(ProblemError, match=r"x\[1\] is 200, its bounds are \(1, 100\)"):
        rf.verify(file.problem, [0.5, 200.0, 0.25], samples=10)


def test_the_problem_of_a_file_is_pickled_and_assessed(problem):
    file = problem(LOGS)
    there = cloudpickle.loads(cloudpickle.dumps(file.problem))
    assert there([1.0, 50.0, 0.25]) == bowl(1.0, 50.0, 0.25)
    with ThreadPoolExecutor(1) as alone:
        found = rf.assess(["rpso", "random"], file.problem, runs=2, samples=50, budget=60, attack=False, executor=alone)
    assert not any(run.failure for run in found.runs)
