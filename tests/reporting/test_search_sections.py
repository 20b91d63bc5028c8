"""Searches in the report: their data are correct, every part is shown, and every state of a search makes a page."""

from __future__ import annotations

import html as markup
import itertools
import math
import re
import shlex
import sqlite3
from concurrent.futures import Future

import numpy as np
import pytest
from click.testing import CliRunner
from test_browser import CHROMIUM, FLAT, NARROW, OPEN, ORPHANS, OUTSIDE, TOO_WIDE, TWICE, WIDE, Browser
from test_report import NASTY, evolution, texts

import robustforge as rf
from robustforge import cli
from robustforge.errors import StoreError, UnknownNameError
from robustforge.reporting import report
from robustforge.reporting import tolerance_tradeoff as pricing
from robustforge.reporting.search_data import estimates, read_search, read_searches
from robustforge.reporting.tolerance_tradeoff import Estimate, best_price, design_price
from robustforge.simulator.problem_file import read_problem_file
from robustforge.simulator.run_outcome import RunOutcome
from robustforge.solver import StoredAttack, StoredSearch
from robustforge.store import SEARCH, VERIFY, Evaluation, Store

VARIABLES = """
[variables]
a = { bounds = [-2, 3], tolerance = 0.2, unit = "mm" }
b = { bounds = [1, 100], tolerance = "+5%/-1%", unit = "kΩ" }
c = { bounds = [0, 1], tolerance = 0 }
"""
MODEL = '[model]\nfunction = "elsewhere:bowl"\n'
PARTS = ["build", "worst", "convergence", "neighbourhood", "price"]


def bowl(a, b=10.0, c=0.5):
    return RunOutcome(a * a + math.log(b / 10) ** 2 + (c - 0.5) ** 2)


def slope(a, b, c):
    return RunOutcome(3 * a - 30 * math.log(b) + c)


def fragile(a, b, c):
    if b < 3:
        return RunOutcome(failure=f"too thin {NASTY}", tail=f"\x1b[31m{NASTY}\n</pre><script>pwned=1</script>\n")
    return RunOutcome(failure="diverged", tail="the end") if a > 2 else bowl(a, b, c)


def problem(folder, head="", variables=VARIABLES, model=""):
    """Write and read a problem file; what is not in its head is usual."""
    usual = {"name": '"bowl"', "budget": "60", "heuristic": '"rpso+dd"'}
    lines = [f"{key} = {value}" for key, value in usual.items() if not re.search(rf"^{key} =", head, re.MULTILINE)]
    (folder / "p.toml").write_text("\n".join([*lines, head]) + variables + model, encoding="utf-8")
    return read_problem_file(folder / "p.toml")


def searched(path, file, fun=bowl, runs=math.inf, attack=0):
    """Search on a store, to the end or for a number of runs, then attack the design with a number of runs."""

    def submit(values, number):
        done = Future()
        done.set_result(fun(**values))
        return done

    with Store.open(path) as store:
        search = StoredSearch.open(file, store)
        while search.runs < runs and (batch := search.optimizer.ask()):
            for number, x in itertools.islice(batch, int(min(runs - search.runs, len(batch)))):
                search.tell(number, fun(**file.variables.decode(x)))
        search.mark_finished_if_over()
        if attack:
            StoredAttack(search).run(attack, submit)
        return search


def data_of(path):
    with Store.read(path) as store:
        return read_search(store, store.experiments(SEARCH)[0])


def page(path):
    report(path, path.with_suffix(".html"))
    return path.with_suffix(".html").read_text(encoding="utf-8")


def parts(html):
    found = re.findall(r'<h[23] id="search-1-(\w+)">', html)
    assert re.findall(r'<li><a href="#search-1-(\w+)">', html) == found
    return found


def figures(html):
    return re.findall(r'<svg role="img" aria-label="([^"]*)"', html)


# what is computed


def test_the_price_of_a_history_by_hand():
    problem = rf.Problem(lambda x: 0.0, [(-5, 5)], rf.Box(0.15))
    x, values = np.array([[0.0], [0.1], [0.2], [1.0], [1.1]]), np.array([1.0, 2.0, 3.0, 0.0, math.inf])
    found = best_price(problem, x, values, (0, 0.5, 1, 2))
    assert found[0] == Estimate(0, 0.0, 1, 0, 1)
    assert math.isnan(found[1].value)  # within 0.075 there is no other point
    assert found[2:] == [Estimate(1, 3.0, 3, 3, 3), Estimate(2, 3.0, 3, 1, 3)]
    assert best_price(problem, x, values, (1,), min_points=2) == [Estimate(1, 2.0, 2, 0, 2)]
    own = design_price(x[0], problem, x, values, (0, 1, 2))
    assert (own[0], own[2]) == (Estimate(0, 1.0, 1, 0, 1), Estimate(2, 3.0, 3, 0, 3))
    assert math.isnan(own[1].value)


def test_a_design_is_compared_with_designs_of_similar_numbers_of_runs():
    """Around 0 there are 9 points; the seemingly best design has 3, and is left out."""
    problem = rf.Problem(lambda x: 0.0, [(-5, 5)], rf.Box(0.1))
    close, far, some = (
        np.linspace(-0.1, 0.1, 9),
        np.array([3.0, 3.05, 3.1]),
        np.array([-3.0, -2.98, -2.96, -2.94, -2.92]),
    )
    x = np.concatenate([close, far, some])[:, None]
    values = np.array([5.0] * 9 + [1.0] * 3 + [4.0] * 5)
    assert best_price(problem, x, values, (1,)) == [Estimate(1, 1.0, 3, 0, 3)]
    assert best_price(problem, x, values, (1,), design=x[4]) == [Estimate(1, 4.0, 5, 3, 5)]
    assert best_price(problem, x, values, (0,), design=x[4]) == [Estimate(0, 1.0, 1, 0, 1)]
    worse = np.where(values == 4.0, 6.0, values)
    assert (
        best_price(problem, x, worse, (1,), design=x[4])[0].value
        == design_price(x[4], problem, x, worse, (1,))[0].value
        == 5
    )
    elsewhere = np.array([0.001])  # a design that was not evaluated takes part, too
    assert best_price(problem, x, worse, (1,), design=elsewhere)[0].value == 5


def test_the_price_uses_only_the_runs_of_the_search(tmp_path):
    """An attack on one design must not make it look worse than designs that were not attacked."""
    file = problem(tmp_path, "budget = 150")
    searched(tmp_path / "s.db", file)
    before = data_of(tmp_path / "s.db")
    searched(tmp_path / "s.db", file, lambda **v: RunOutcome(100 + bowl(**v).value), attack=40)
    after = data_of(tmp_path / "s.db")
    assert after.worst > 100
    np.testing.assert_array_equal([e.value for e in after.price], [e.value for e in before.price])
    np.testing.assert_array_equal([e.value for e in after.own_price], [e.value for e in before.own_price])
    assert max(each.points for each in after.own_price) < 150
    for own, best in zip(after.own_price, after.price, strict=True):
        assert math.isnan(own.value) or best.value <= own.value
    html = page(tmp_path / "s.db")
    assert re.search(r"attacked 10\d(\.\d+)?</text>", html)
    assert "on this design only" in texts(html)
    assert f"{after.price[4].left_out} designs are left out, with fewer than 3 runs around each" in texts(html)


def defined(problem, x, values, factors, least):
    """The price point by point, from its definition; every variable has its tolerance downwards and upwards."""
    radii, offset, is_box = problem.geometry.radii, problem.geometry.offset, problem.geometry.is_box
    every = []
    for factor in factors:
        found = []
        for centre, value in zip(x, values, strict=True):
            if not math.isfinite(value):
                continue
            near = []
            for point, other in zip(x, values, strict=True):
                gaps = [
                    (p - q - factor * o) / (factor * r) if r and factor else 0.0 if p == q else math.inf
                    for p, q, r, o in zip(point, centre, radii, offset, strict=True)
                ]
                size = max(map(abs, gaps)) if is_box else math.hypot(*gaps)
                if size <= 1 + 1e-10 and not math.isnan(other):
                    near.append(other)
            if len(near) >= (least if factor else 1):
                found.append(max(near))
        every.append(min(found, default=math.nan))
    return [
        value if math.isnan(value) else np.nanmin(every[place:]) for place, value in enumerate(every)
    ]  # a design that tolerates more tolerates less, too


@pytest.mark.parametrize("kind", [rf.Box, rf.Ball])
@pytest.mark.parametrize("seed", range(4))
def test_the_price_of_a_history_matches_its_definition(kind, seed):
    rng = np.random.default_rng(seed)
    tolerances = kind(lower=[0.2, 0.1, 0.0], upper=[0.2, 0.3, 0.0])
    problem = rf.Problem(lambda x: 0.0, [(-1, 1)] * 3, tolerances)
    x = np.column_stack([rng.uniform(-0.8, 0.8, (70, 2)), rng.integers(0, 2, 70) / 2])
    values = rng.normal(size=70)
    values[rng.integers(0, 70, 3)], values[rng.integers(0, 70, 3)] = math.inf, math.nan
    factors = (0, 0.25, 0.5, 1, 1.5, 2)
    found = best_price(problem, x, values, factors)
    assert [each.factor for each in found] == list(factors)
    np.testing.assert_array_equal([each.value for each in found], defined(problem, x, values, factors, 3))
    assert all(each.points >= 3 for each in found[1:] if not math.isnan(each.value))


def test_only_the_best_points_are_candidates(monkeypatch):
    problem = rf.Problem(lambda x: 0.0, [(-5, 5)], rf.Box(0.15))
    x, values = np.array([[0.0], [0.1], [0.2], [1.0]]), np.array([1.0, 2.0, 3.0, 0.0])
    monkeypatch.setattr(pricing, "MAX_DESIGNS", 2)
    assert math.isnan(best_price(problem, x, values, (1,))[0].value)  # 0.1, which has two neighbours, is third


def test_what_drives_the_worst_case(tmp_path):
    searched(tmp_path / "s.db", problem(tmp_path), slope, attack=30)
    found = data_of(tmp_path / "s.db")
    near = found.neighbourhood
    up, down = math.log1p(0.05), -math.log1p(-0.01)
    assert near.names == ("a", "b")
    np.testing.assert_allclose(near.changes, [3 * 0.4, -30 * (up + down)], rtol=0.01)
    assert near.by_effect == [1, 0]
    assert near.is_reliable
    assert np.abs(near.positions).max() == pytest.approx(1)
    np.testing.assert_allclose(near.positions[near.worst], [1, -1])
    design = found.solution.design
    assert found.worst_point == pytest.approx({"a": design["a"] + 0.2, "b": design["b"] * 0.99, "c": design["c"]})
    assert found.worst == found.attacked.worst == pytest.approx(slope(**found.worst_point).value)
    assert found.attacked.runs == 30


@pytest.mark.parametrize("goal", ["minimise", "maximise"])
def test_estimates_are_those_of_the_search(tmp_path, goal):
    file = problem(tmp_path, f'goal = "{goal}"\nbudget = 150')
    search = searched(tmp_path / "s.db", file)
    every, few = (estimates(search, most) for most in (1000, 10))
    assert every[-1] == few[-1] == (150, file.sign * search.result().estimate)
    assert [runs for runs, _ in every] == sorted({runs for runs, _ in every})
    assert len(few) <= 11
    assert set(map(repr, few)) <= set(map(repr, every))  # NaN, until there is one
    by_hand = rf.Optimizer(file.scaled_problem, budget=150, heuristic="rpso+dd", rng=1, on_failure="infeasible")
    seen = []
    while batch := by_hand.ask():
        by_hand.tell(batch.ids, [file.sign * bowl(**file.variables.decode(x)).value for x in batch.x])
        seen.append((by_hand.result().nfev, file.sign * by_hand.result().estimate))
    np.testing.assert_array_equal(every, seen)


def test_failures_are_counted_by_reason(tmp_path):
    search = searched(tmp_path / "s.db", problem(tmp_path, "budget = 100"), fragile, attack=10)
    found = data_of(tmp_path / "s.db")
    with Store.read(tmp_path / "s.db") as store:
        rows = store.evaluations(search.experiment)
    thin, diverged = (sum(word in row.failure for row in rows) for word in ("thin", "diverged"))
    assert thin > 0 < diverged
    assert thin + diverged == search.failures
    assert sorted(number for _, number in found.failure_reasons) == sorted([thin, diverged])
    assert found.failure_reasons[0][1] >= found.failure_reasons[1][1]
    assert repr(found.last_failed) == repr([row for row in rows if row.failure][-1])  # NaN is not equal to itself


def test_runs_of_an_unfinished_attack_count_up_to_the_first_gap(tmp_path):
    search = searched(tmp_path / "s.db", problem(tmp_path), attack=12)
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.execute("DELETE FROM evaluation WHERE part = 'verify' AND number IN (5, 9)")
    found = data_of(tmp_path / "s.db")
    assert found.attacked.runs == 5
    assert len(found.runs) == 60 + 10
    assert found.solution.worst == search.result().fun


def test_an_attack_of_another_version_is_shown(tmp_path):
    search = searched(tmp_path / "s.db", problem(tmp_path))
    with Store.open(tmp_path / "s.db") as store:
        store.add_evaluations(search.experiment, [Evaluation(VERIFY, 0, (0.0, 0.0, 0.0), 1.0)])
    assert data_of(tmp_path / "s.db").attacked.runs == 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE experiment SET settings = '{}'",
        "UPDATE evaluation SET value = 'abc'",
        "UPDATE evaluation SET seconds = 'abc'",
        "UPDATE evaluation SET x = x'01'",
    ],
)
def test_a_damaged_search_is_an_error(tmp_path, change):
    searched(tmp_path / "s.db", problem(tmp_path), runs=12)
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.execute(change)
    with pytest.raises(StoreError):
        read_searches(tmp_path / "s.db")


# the page


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with a search that has everything, and hostile names."""
    folder = tmp_path_factory.mktemp("store")
    head = f"name = '''{NASTY}'''\nbudget = 150"
    variables = VARIABLES.replace('"mm"', f"'''{NASTY}'''")
    searched(folder / "my store.db", problem(folder, head, variables, MODEL), fragile, attack=30)
    return folder / "my store.db"


@pytest.fixture(scope="module")
def html(store):
    return page(store)


def test_every_part_has_its_figure(html):
    assert parts(html) == PARTS
    starts = ("What drives the worst case", "Values of the runs", "Runs within the tolerances", "The price")
    assert len(figures(html)) == 4
    assert all(label.startswith(start) for label, start in zip(figures(html), starts, strict=True))
    assert html.count("<figure>") == 4
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_what_to_build_is_in_the_users_units(html, store):
    found = data_of(store)
    rows = re.findall(r'<tr><th scope="row">(\w)</th><td class="strong">([^<]*)</td>(.*?)</tr>', html)
    assert [name for name, _, _ in rows] == ["a", "b", "c"]
    cells = [
        [
            float(text.replace(",", "").replace("−", "-"))
            for text in re.findall(r"<td data-label[^>]*>([^<–]+)</td>", rest)
        ]
        for _, _, rest in rows
    ]
    for (name, value, _), between in zip(rows, cells, strict=True):
        design = found.solution.design[name]
        assert float(value.replace(",", "").replace("−", "-")) == pytest.approx(design, rel=1e-4, abs=1e-3)
        expected = {"a": [design - 0.2, design + 0.2], "b": [0.99 * design, 1.05 * design], "c": []}[name]
        assert between == pytest.approx(expected, rel=1e-3, abs=1e-3)
    text = texts(html)
    assert "+5% / −1%" in text
    assert "kΩ" in text
    assert "minimise the worst value" in text
    assert "by 30 further runs" in text
    assert "10 particles" in text  # the heuristic, in words


def test_names_cannot_inject_markup(html):
    assert "<img" not in html
    assert "<script" not in html
    assert "\x1b" not in html
    assert texts(html).count(NASTY) >= 5  # title, unit, reason, output, command


def test_failures_are_listed_with_the_last_output(html, store):
    found = data_of(store)
    text = texts(html)
    for reason, number in found.failure_reasons:
        assert f"{reason} {number}" in text
    assert f"{sum(number for _, number in found.failure_reasons)} of 180 runs failed" in text
    assert "?[31m" in text or found.last_failed.failure == "diverged"


def test_the_commands_are_valid(html):
    found = [
        shlex.split(markup.unescape(re.sub(r"<[^>]+>", "", each)))
        for each in re.findall(r'<pre class="command">(.*?)</pre>', html)
    ]
    assert [words[:3] for words in found] == [["robustforge", verb, "PROBLEM.toml"] for verb in ("solve", "verify")]
    for words in found:
        given = cli.main.load(words[1]).make_context(words[1], words[2:]).params
        assert (given["store"], given["name"]) == ("my store.db", NASTY)
    assert found[1][-2:] == ["--budget", "30"]


@pytest.mark.parametrize(
    ("factor", "attack", "kind", "words"),
    [
        (1.0, 0, "neutral", "Not attacked"),
        (0.0, 20, "confirmed", "20 further runs found no worse value"),
        (1e3, 20, "warning", "; the search had found"),
        (1.5, 20, "warning", "% worse than the search"),
        (math.inf, 20, "warning", "The attack found an infeasible point"),
    ],
)
def test_the_status_depends_on_the_attack(tmp_path, factor, attack, kind, words):
    file = problem(tmp_path)
    searched(tmp_path / "s.db", file)
    worst = data_of(tmp_path / "s.db").worst
    searched(tmp_path / "s.db", file, lambda **v: RunOutcome(worst * factor), attack=attack)
    html = page(tmp_path / "s.db")
    shown = re.search(r'<p class="notice (\w+)">([^<]*)</p>', html)
    assert shown[1] == kind
    assert words in markup.unescape(shown[2])
    marked = re.findall(r'<dt>worst after the attack</dt><dd class="(\w+)">', html)
    assert marked == ([kind] if attack else [])
    assert ("by the search; not attacked" in texts(html)) == (not attack)
    style = re.search("<style>(.*?)</style>", html, re.DOTALL)[1]
    marks = {each: re.findall(rf"([^{{}}]+) {{ border-color: var\(--{each}\)", style) for each in ("good", "warn")}
    assert [f".notice.{kind}" in "".join(marks[each]) for each in marks] == [kind == "confirmed", kind == "warning"]


def test_a_page_of_several_searches_warns_too(tmp_path):
    for name, factor in (("good", 0.0), ("bad", 2.0)):
        file = problem(tmp_path, f'name = "{name}"')
        searched(tmp_path / "s.db", file)
        searched(tmp_path / "s.db", file, lambda f=factor, **v: RunOutcome(1e3 * f), attack=5)
        notices = re.findall(r'<p class="notice (\w+)">([^<]*)</p>', page(tmp_path / "s.db"))
    assert notices[0] == ("warning", "Finished. An attack found a much worse value than the search: bad.")
    assert [kind for kind, _ in notices[1:]] == ["confirmed", "warning"]


def test_values_have_the_digits_that_matter(tmp_path):
    """A thickness of 5.99 mm with a tolerance of 5% is not 0.0059900 m."""
    variables = '[variables]\nt = { bounds = [0.00599, 0.01], tolerance = "5%", unit = "m" }\n'
    searched(
        tmp_path / "s.db", problem(tmp_path, variables="\n" + variables), lambda t: RunOutcome(1000 * t + 1.0), attack=5
    )
    html, design = page(tmp_path / "s.db"), data_of(tmp_path / "s.db").solution.design["t"]
    row = re.search(
        r'<th scope="row">t</th><td class="strong">([^<]*)</td>.*?>(0[^<]*)</td><td[^>]*>(0[^<]*)</td>', html
    )
    for text, value in zip(row.groups(), (design, 0.95 * design, 1.05 * design), strict=True):
        assert float(text) == pytest.approx(value, abs=0.01 * 0.1 * design)
        assert len(text) <= len("0.006301")
        assert text[-1] != "0"
    assert re.findall(r"\d\.\d*0(?![\d.])", re.sub(r"[\d-]+ [\d:]+ UTC|robustforge [\d.]+", "", texts(html))) == []


CASES = {
    "started": ({}, bowl, 0, 0, ["build"]),
    "without a design": ({}, bowl, 3, 0, ["build", "convergence", "price"]),
    "at work": ({}, bowl, 45, 0, PARTS),
    "without an attack": ({}, bowl, math.inf, 0, PARTS),
    "maximise": ({"head": 'goal = "maximise"'}, lambda **v: RunOutcome(-bowl(**v).value), math.inf, 20, PARTS),
    "ball": ({"head": 'tolerances = "ball"'}, bowl, math.inf, 20, PARTS),
    "all failed": ({}, lambda **v: RunOutcome(failure="no licence"), math.inf, 0, ["build", "worst", "neighbourhood"]),
    "all unknown": ({"head": 'on_failure = "unknown"'}, lambda **v: RunOutcome(failure="no"), math.inf, 0, ["build"]),
    "infeasible": ({}, lambda a, **v: RunOutcome(math.inf if a > 0 else a), math.inf, 20, PARTS),
    "all infeasible": ({}, lambda **v: RunOutcome(math.inf), math.inf, 5, ["build", "worst", "neighbourhood"]),
    "constant": ({}, lambda **v: RunOutcome(1.0), math.inf, 5, PARTS),
    "one variable": (
        {"variables": "[variables]\na = { bounds = [-2, 3], tolerance = 0.2 }\n"},
        bowl, math.inf, 5, PARTS,
    ),
    "many variables": (
        {"variables": "[variables]\n" + "".join(f"x{k} = {{ bounds = [0, 1], tolerance = 0.1 }}\n" for k in range(20))},
        lambda **v: RunOutcome(sum(k * x for k, x in enumerate(v.values()))), math.inf, 40, PARTS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_state_of_a_search_makes_a_page(tmp_path, case):
    settings, fun, runs, attack, expected = CASES[case]
    searched(tmp_path / "s.db", problem(tmp_path, **settings), fun, runs, attack)
    html = page(tmp_path / "s.db")
    text = texts(html)
    assert [part for part in parts(html) if part in expected] == expected
    assert "nan" not in re.sub(r"\W", " ", text.lower()).split()
    assert len(figures(html)) == html.count("<figure>") <= len(expected)
    words = {
        "started": "Waiting for values: 0 of 60 runs completed",
        "without a design": "There is no design yet",
        "at work": "The best design so far, which may change",
        "without an attack": "Not attacked: no further runs have searched for a worse point",
        "maximise": "whose lowest value within its tolerances is highest",
        "ball": "Tolerances are joint",
        "all failed": "no licence 60",
        "all unknown": "There is no design yet",
        "infeasible": "robust value",
        "all infeasible": "A point within the tolerances is infeasible",
        "constant": "Sensitivity",
        "one variable": "the only uncertain variable",
        "many variables": "The other 8 variables",
    }
    assert words[case] in text


def test_a_linear_model_of_too_few_runs_is_not_reliable(tmp_path):
    for attack, words in ((0, "so it is not reliable"), (20, "without curvature")):
        searched(tmp_path / "s.db", problem(tmp_path), attack=attack)
        near = data_of(tmp_path / "s.db").neighbourhood
        assert near.is_reliable == (near.fitted >= 4) == bool(attack)
        assert f"A linear model of {near.fitted} runs within the tolerances" in texts(page(tmp_path / "s.db"))
        assert words in texts(page(tmp_path / "s.db"))


def test_names_choose_among_searches_and_evolutions(tmp_path):
    path = tmp_path / "s.db"
    with Store.open(path) as store:
        store.add_experiment(
            "evolved", "evolution", evolution("evolved", [rf.problem("sphere", 3)]).settings, {"name": "paper"}
        )
    for name in ("first", "second"):
        searched(path, problem(tmp_path, f'name = "{name}"'), runs=20)
    assert [search.name for search in read_searches(path)[0]] == ["first", "second"]
    assert [search.name for search in read_searches(path, ["second", "evolved"])[0]] == ["second"]
    assert read_searches(path, ["second", "evolved"])[1] == ["evolved"]
    assert read_searches(tmp_path, ["evolved"]) == ([], ["evolved"])
    headings = {"first": '<h2>first</h2>', "second": '<h2>second</h2>', "evolved": '<section id="runs">'}  # fmt: skip
    for names in ([], ["evolved"], ["second", "evolved"]):
        report(path, tmp_path / "page.html", names)
        html = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert [name for name in headings if headings[name] in html] == sorted(
            names or headings, key=list(headings).index
        )
    ended = CliRunner().invoke(cli.main, ["report", str(path), "--name", "first", "-o", str(tmp_path / "page.html")])
    assert ended.exit_code == 0
    assert "<h1>first</h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(UnknownNameError, match="first"):
        report(path, tmp_path / "no.html", ["firs"])


def test_a_running_search_has_a_page(tmp_path):
    file = problem(tmp_path)
    with Store.open(tmp_path / "s.db") as store:
        search = StoredSearch.open(file, store)
        for number, x in search.optimizer.ask():
            search.tell(number, bowl(**file.variables.decode(x)))
        assert "Running: 10 of 60 runs completed" in texts(page(tmp_path / "s.db"))


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; apt-get install -y chromium")
def test_the_page_is_displayed_by_a_browser(html, store, tmp_path):
    path = store.with_suffix(".html")
    browser = Browser(tmp_path / "profile")
    try:
        for width in (WIDE, NARROW):
            browser.show(path, width, scheme="dark" if width == NARROW else "light")
            browser.evaluate(OPEN)
            asked = [each["request"]["url"] for each in browser.events_of("Network.requestWillBeSent")]
            assert len([url for url in asked if not url.startswith("data:")]) == 1
            assert browser.events_of("Log.entryAdded") == []
            assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert [browser.evaluate(each) for each in (TOO_WIDE, FLAT, OUTSIDE, ORPHANS, TWICE)] == [[], 0, [], [], []]
            assert browser.evaluate("document.querySelectorAll('figure svg[role=img][aria-label]').length") == 4
            assert browser.evaluate("document.querySelectorAll('script, img, iframe').length") == 0
            assert browser.evaluate("typeof pwned") == "undefined"
    finally:
        browser.close()


LONG = """
[variables]
outer_diameter_of_the_bearing_housing = { bounds = [15, 30], tolerance = 0.4, unit = "mm" }
wall_thickness_of_the_housing_at_the_flange = { bounds = [0.002, 0.01], tolerance = "5%", unit = "m" }
clearance_between_shaft_and_inner_ring = { bounds = [1, 5], tolerance = "+0.3/-0.1", unit = "mm" }
preloadForceOfTheDiscSpringStack = { bounds = [0.1, 1], tolerance = 0.05, unit = "kN" }
R7 = { bounds = [50, 200], tolerance = "5%", unit = "kilogram-metre-per-ampere-and-second-squared" }
a_length_that_is_built_exactly_as_it_was_designed_by_someone = { bounds = [0, 1], tolerance = 0 }
"""
BROKEN = """
[...document.querySelectorAll('h1, .stack tbody th')].flatMap(each => [...each.childNodes])
  .filter(each => each.nodeType === Node.TEXT_NODE && each.textContent.trim())
  .filter(each => { const range = document.createRange(); range.selectNodeContents(each);
                    return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1 })
  .map(each => each.textContent)
"""
CUT = """
[...document.querySelectorAll('.stacks')].filter(each => each.scrollWidth > each.clientWidth + 1).length +
[...document.querySelectorAll('.stacks td')].filter(each => each.offsetWidth)
  .filter(each => each.getBoundingClientRect().left < each.closest('.stacks').getBoundingClientRect().left - 1).length
"""
ROWS = """
Object.values([...document.querySelectorAll('figure svg')].map(each => each.getBoundingClientRect())
  .reduce((rows, box) => { const row = rows.find(each => Math.abs(each.top - box.top) < 250);
    row ? row.width += box.width : rows.push({top: box.top, width: box.width}); return rows }, []))
  .map(row => row.width / innerWidth)
"""


@pytest.fixture(scope="module")
def long_names(tmp_path_factory):
    folder = tmp_path_factory.mktemp("long")
    file = problem(folder, 'name = "bearing_housing_of_the_output_stage_revision_7"\nbudget = 100', LONG, MODEL)
    searched(folder / "s.db", file, lambda **v: RunOutcome(sum(map(math.sqrt, v.values()))), attack=30)
    page(folder / "s.db")
    return folder / "s.html"


def test_long_names_are_whole_in_figures(long_names):
    drawn = re.findall(r"<text[^>]*>([^<]*)</text>", long_names.read_text(encoding="utf-8"))
    for name in re.findall(r"^(\w+) = ", LONG, re.MULTILINE)[:-1]:
        assert drawn.count(name) == 2  # what drives the worst case, and the runs around the design


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; apt-get install -y chromium")
def test_it_fits_phones_and_fills_wide_screens(long_names, tmp_path):
    browser = Browser(tmp_path / "profile")
    try:
        for width in (360, 400, 1000, 1280, 1800):
            browser.show(long_names, width)
            browser.evaluate(OPEN)
            assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
            assert browser.evaluate(TOO_WIDE) == [], width
            assert browser.evaluate(BROKEN) == [], width
            assert browser.evaluate(CUT) == 0, width
            assert max(browser.evaluate(ROWS)) > 0.8, width
        assert browser.evaluate(ROWS) == [pytest.approx(0.93, abs=0.06)]  # all four beside each other
    finally:
        browser.close()
