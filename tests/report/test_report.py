"""The report as text: everything that there is data for is on it, in one file, and nothing that a name brings along."""

from __future__ import annotations

import functools
import html as markup
import json
import re
import shlex
import sys
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import robustforge as rf
from robustforge import cli
from robustforge.analysis import Bred, Evidence, Outcome, archive
from robustforge.analysis.effects import decomposition
from robustforge.errors import MissingExtraError, StoreError, UnknownNameError
from robustforge.evolution.settings import Settings
from robustforge.report import landscapes, page_html, parts, report
from robustforge.report.commands import command
from robustforge.report.drawing import Frame, draw, spread
from robustforge.report.words import chance, duration, number, short, with_error
from robustforge.store import CHECKPOINTS, Assessed, Store

NASTY = "<img src=x onerror=pwned=1> & $x_1$ \"quoted\" 'too'"


def made(evidence):
    """The page, with fewer resamples than it has: they decide numbers in it, and nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "decomposition", functools.partial(decomposition, resamples=2))
        return page_html(evidence)


def heuristics(count, drawn):
    return [rf.grammar("paper").random(np.random.default_rng([drawn, k])) for k in range(count)]


def outcome(name, problems, count=24, generations=5, finished=True, drawn=1, **settings):
    """An evolution of random heuristics whose means say nothing."""
    bred = heuristics(count, drawn)
    rng = np.random.default_rng(drawn)
    means = np.sort(rng.lognormal(3, 1, (count, len(problems))), axis=0)
    best = np.sort(rng.uniform(10, 30, generations))[::-1]
    every = {**Settings(generations=generations, **settings).to_dict(), "version": "0.1.0"}
    return Outcome(
        name=name,
        problems=tuple(problem.name for problem in problems),
        settings={"problems": [problem.to_dict() for problem in problems], **every},
        grammar={"name": "paper", "restrictions": {}, "fingerprint": "0" * 16},
        bred=tuple(Bred(each, k % generations, 20, tuple(means[k])) for k, each in enumerate(bred)),
        fitness=tuple((float(value), float(value * 1.5)) for value in best),
        champion=bred[0],
        finished=finished,
        runs=1234,
        failures=0,
        seconds=567.8,
        begun="2026-11-16T02:30:30+00:00",
        ended="2026-11-16T02:32:07+00:00" if finished else None,
    )


def assessed(problem, name, contestant, level, runs=12, budget=2000, failures=0):
    """Runs of a contestant around a level, each with its curve."""
    rng = np.random.default_rng([len(name), int(level * 10), runs])
    plain = {"problem": json.dumps(problem.to_dict()), "samples": 1000, "attack": True, "budget": budget}
    values = level * rng.uniform(0.8, 1.2, runs)
    return [
        Assessed(contestant, name, **plain, seed=k, repeat=k, failure="it did not work" if k < failures else "",
                 value=value, attacked=value * 1.1, nominal=value * 0.5, nfev=budget,
                 curve=tuple(value * (2 - share) for share in CHECKPOINTS))
        for k, value in enumerate(values.tolist())
    ]  # fmt: skip


def full_evidence():
    """Evidence with something for every section, a problem of the user's, and a name that is no good."""
    own = rf.Problem(lambda x: float(x @ x), [(-1, 1)] * 4, rf.Ball(0.1), name=NASTY)
    problems = [rf.problem("multipeak-f2", 4), rf.problem("rosenbrock", 4), own]
    outcomes = [outcome(f"alone/{p.name}", [p], drawn=k) for k, p in enumerate(problems, 1)]
    outcomes += [outcome("general", problems, drawn=9), outcome("wide", [rf.problem("sphere", 8)], drawn=10)]
    runs = []
    for k, problem in enumerate(problems):
        runs += assessed(problem, outcomes[k].name, outcomes[k].champion.id, 10.0)
        runs += assessed(problem, "general", outcomes[3].champion.id, 10.5)
        runs += assessed(problem, "rpso+dd", rf.heuristic("rpso+dd").id, 20.0, failures=2)
        runs += assessed(problem, "rpso+dd@5000", "f" * 16, 15.0, budget=5000)
        runs += assessed(problem, "cma-es", "cma-es", 800.0)
        runs += assessed(problem, NASTY, NASTY, 30.0)
    return Evidence("runs.db", tuple(outcomes), tuple(runs), running=False)


@pytest.fixture(scope="module")
def html():
    return made(full_evidence())


def texts(html):
    """The page as its reader sees it: without tags, style and drawings."""
    bare = re.sub(r"<(style|svg)[ >].*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(markup.unescape(re.sub(r"<[^>]+>", " ", bare)).split())


def section(html, key):
    found = re.search(rf'<section id="{key}">.*?</section>', html, re.DOTALL)
    return found[0] if found else ""


def test_every_section_is_there_and_in_the_contents(html):
    keys = ["runs", "fitness", "champions", "results", "anytime", "components", "landscapes", "reading"]
    assert re.findall(r'<section id="(\w+)">', html) == keys
    assert re.findall(r'<li><a href="#(\w+)">', html) == keys


def test_it_is_one_file(html):
    assert "http://" not in html
    assert "https://" not in html
    assert "@import" not in html
    assert "<script" not in html
    assert set(re.findall(r'(?:src|href)="(?!#)([^"]{5})', html)) == {"data:"}
    assert not re.findall(r"url\((?!#)", html)


def test_every_figure_says_what_it_shows(html):
    figures = re.findall(r"<figure>.*?</figure>", html, re.DOTALL)
    assert len(figures) == html.count("<svg") > 40
    for figure in figures:
        assert re.search(r'<svg role="img" aria-label="[^"]{20,}"', figure)
        assert re.search(r'<p class="caption">[^<]{10,}</p>', figure)


def test_figures_do_not_share_names(html):
    ids = re.findall(r' id="([^"]*)"', html)
    assert len(ids) == len(set(ids))
    for name in re.findall(r'(?:href="|url\()#([^")]+)', html):
        assert name in ids


def test_what_is_in_a_name_is_text(html):
    assert "<img" not in html
    assert "alone/&lt;img src=x onerror=pwned=1&gt; &amp; $x_1$ &#34;quoted&#34; &#39;too&#39;" in html
    assert "&lt;img src=x on…d\" 'too'" in html  # in a figure, shortened; Matplotlib's own escapes


def test_the_same_evidence_gives_the_same_bytes(html):
    assert made(full_evidence()) == html


def test_what_is_not_there_has_no_section():
    whole = full_evidence()
    html = made(replace(whole, assessed=(), outcomes=whole.outcomes[:1]))
    assert not section(html, "results")
    assert not section(html, "anytime")
    assert section(html, "fitness")
    only_runs = made(replace(whole, outcomes=(), assessed=whole.assessed[:90]))
    assert section(only_runs, "results")
    assert not section(only_runs, "components")
    assert not section(only_runs, "champions")
    assert not section(only_runs, "runs")


def test_nothing_at_all_is_a_page_that_says_so():
    html = made(Evidence("runs.db", (), (), running=False))
    assert "There is nothing in it yet" in texts(html)
    assert "<section" not in html


@pytest.mark.parametrize(
    ("running", "words", "state"), [(True, "is at work", "running"), (False, "is interrupted", "interrupted")]
)
def test_what_is_not_finished_is_called_so(running, words, state):
    going = outcome("going", [rf.problem("sphere", 3)], finished=False)
    html = made(Evidence("runs.db", (going,), (), running))
    assert f"Not finished: going {words}" in texts(html)
    assert f'<td class="text state {state}">' in html
    assert "best of generation 5, not final" in texts(html)


def test_an_evolution_without_a_generation_is_no_trouble():
    begun = replace(outcome("begun", [rf.problem("sphere", 3)], finished=False), bred=(), fitness=(), champion=None)
    html = made(Evidence("runs.db", (begun,), (), running=True))
    assert "0 of 5" in section(html, "runs")
    assert not section(html, "fitness")
    assert not section(html, "components")


def test_failures_are_shown_and_drawn_around():
    problem = rf.problem("sphere", 3)
    failed = replace(outcome("failed", [problem]), fitness=((np.inf, np.inf), (3.0, np.inf)), failures=7)
    runs = [*assessed(problem, "a", "a", 1.0, failures=12), *assessed(problem, "b", "b", 2.0, failures=1)]
    html = made(Evidence("runs.db", (failed,), tuple(runs), running=False))
    assert "12 (12 failed)" in texts(html)
    assert "infinite in the first generation, 3 in the last" in texts(html)


def test_the_champion_is_there_in_every_form(html):
    bred = full_evidence().outcomes[0].champion
    page = section(html, "champions")
    assert bred.id in page
    assert "evaluate f(x*)" in page
    for line in bred.describe(2000).splitlines():
        assert line.removeprefix("- ").split("(")[0].strip() in texts(page)
    assert '<span class="symbol">Network</span> <b>' in page


def test_the_best_and_those_like_it_are_bold_and_controls_are_marked(html):
    page = section(html, "results")
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th>(.*?)</tr>", page, re.DOTALL)
    numbers = [(name, cells) for name, cells in rows if cells.count("<td") == 9]
    assert len(numbers) == 3 * 6
    for name, cells in numbers:
        bold = 'class="tied ' in cells
        assert bold == (name.startswith(("bred for it", "general")))
        assert ("control" in name) == name.startswith("cma-es")
    assert page.count('class="tied best"') == 2 * 3
    bold = re.findall(r"<text [^>]*font-weight: 700[^>]*>([^<]*)</text>", page)
    assert sorted(bold) == ["bred for it"] * 3 + ["general"] * 3


def test_problems_stand_in_the_order_of_the_paper_and_others_by_name():
    own = [rf.Problem(lambda x: float(x @ x), [(-1, 1)] * 5, rf.Ball(0.1), name=name) for name in ("b", "a")]
    given = [own[0], rf.problem("sphere", 5), own[1], rf.problem("rastrigin", 5)]
    runs = [run for problem in given for run in assessed(problem, "rpso", "0" * 16, 1.0)]
    html = made(Evidence("s.db", (), tuple(runs), running=False))
    found = re.findall(r"<summary><strong>(.*?)</strong>", section(html, "results"))
    assert found == ["rastrigin-5d", "sphere-5d", "a", "b"]


def test_champions_that_ran_on_their_own_problem_share_a_column(html):
    assert "bred for it" in texts(section(html, "results"))
    crossed = full_evidence()
    guest = assessed(rf.problem("rosenbrock", 4), crossed.outcomes[0].name, crossed.outcomes[0].champion.id, 11.0)
    for k in (1, 2):
        guest += assessed(
            rf.problem("multipeak-f2", 4), crossed.outcomes[k].name, crossed.outcomes[k].champion.id, 12.0
        )
    html = made(replace(crossed, assessed=(*crossed.assessed, *guest)))
    assert "bred for it" not in texts(section(html, "results"))
    assert "alone/rosenbrock-4d" in texts(section(html, "results"))


def test_a_study_of_twenty_two_evolutions_stays_small():
    outcomes, runs = [], []
    for size in (30, 100):
        problems = [rf.problem(name, size) for name in rf.problems()]
        outcomes += [outcome(f"{size}d/{p.name}", [p], count=8, drawn=size + k) for k, p in enumerate(problems)]
        outcomes.append(outcome(f"{size}d/general", problems, count=8, drawn=size + 20))
        for problem in problems:
            for k, name in enumerate(("rpso", "rpso+dd", "rpso+leh", "rpso+dd+leh", "leh", "random", "cma-es")):
                runs += assessed(problem, name, rf.heuristic(name).id if k < 5 else name, 10.0 + k, runs=50)
    html = made(Evidence("study", tuple(outcomes), tuple(runs), running=False))
    assert html.count("<figure>") == 22 + 20 + 20 + 2 * (12 + 12 + 2) + 29
    assert len(html.encode()) < 5_000_000


def given(text):
    """What the real command line makes of a command."""
    words = shlex.split(text)
    assert words[:2] == ["robustforge", "evolve"]
    return cli.main.commands["evolve"].make_context("evolve", words[2:]).params


def test_the_command_to_run_it_again_is_the_one_that_ran():
    settings = {"population": 9, "mutation": 0.25, "race": True, "on_failure": "unknown", "seed": 7}
    problems = [rf.problem(name, 12, "shifted", 3, outside="clip") for name in ("sphere", "ackley")]
    bred = outcome("my run", problems, generations=40, **settings)
    limits = {"only": {"network": ["Ring", "Clan"]}, "without": ["leh"], "fix": {"group": 20, "c3": [0.5, 2.0]}}
    bred = replace(bred, grammar={"name": "extended", "restrictions": limits, "fingerprint": ""})
    found = command(bred, "/somewhere/my store.db")
    asked = given(found["text"])
    assert found["note"] == ""
    assert asked["problems"] == ("sphere", "ackley")
    assert (asked["dimension"], asked["variant"], asked["variant_seed"], asked["outside"]) == (12, "shifted", 3, "clip")
    assert asked["grammar"] == "extended"
    assert (asked["only"], asked["without"], asked["fix"]) == (
        ("network=Ring,Clan",),
        ("leh",),
        ("group=20", "c3=0.5:2.0"),
    )
    assert (asked["store"], asked["name"], asked["race"]) == ("my store.db", "my run", True)
    assert {key: asked[key] for key in settings} == settings
    assert "--generations" not in found["text"]  # it is at its default


def test_what_an_evolution_was_started_with_is_in_its_command():
    bred = outcome("own", [rf.problem("sphere", 4)])
    ours, own = rf.heuristic("rpso+dd"), rf.grammar("paper").random(np.random.default_rng(1))
    found = command(replace(bred, settings={**bred.settings, "start": [ours.id]}), "runs.db")
    assert given(found["text"])["start"] == ("rpso+dd",)
    assert found["note"] == ""
    found = command(replace(bred, settings={**bred.settings, "start": [ours.id, own.id]}), "runs.db")
    assert given(found["text"])["start"] == ("rpso+dd", "HEURISTIC.json")
    assert "HEURISTIC.json" in found["note"]


def test_all_ten_problems_and_defaults_make_a_short_command():
    every = [rf.problem(name, 30) for name in rf.problems()]
    bred = outcome("rastrigin-30d-and-9-more", every, generations=40)
    assert command(bred, "runs.db")["text"] == "robustforge evolve all --grammar paper"


def test_problems_of_the_users_are_not_taken_for_ours():
    ours = rf.problem("sphere", 4)
    like_ours = rf.Problem(lambda x: 0.0, [(-1, 1)] * 4, rf.Ball(0.5), name="sphere-4d")
    for problems in ([like_ours], [ours, like_ours], [ours, rf.problem("sphere", 5)]):
        found = command(outcome("own", problems), "runs.db")
        assert "--objective MODULE:NAME" in found["text"]
        assert found["note"]


def brute(values, cells):
    """The highest value within so many cells, point by point."""
    worst = np.full(values.shape, -np.inf)
    for at in np.ndindex(values.shape):
        for other in np.ndindex(values.shape):
            if sum((a - b) ** 2 for a, b in zip(at, other, strict=True)) <= cells**2:
                worst[at] = max(worst[at], values[other])
    return worst


@pytest.mark.parametrize("shape", [(17,), (9, 11)])
def test_the_worst_case_on_a_grid_is_that_of_its_definition(shape):
    values = np.random.default_rng(1).standard_normal(shape)
    assert np.array_equal(landscapes.worst_within(values, 3), brute(values, 3))


def test_landscapes_know_where_the_optima_are():
    functions = landscapes.functions_in(["sphere-30d", "branke-8d-shifted-rotated-3", "mine", "rosenbrock-2d"])
    assert [function.name for function in functions] == ["branke", "sphere", "rosenbrock"]
    branke = landscapes.landscape(functions[0], 2, landscapes.CELLS)
    nominal, robust = (branke.axis[list(branke.best(of))] for of in ("nominal", "worst"))
    assert np.allclose(nominal, -4, atol=0.05)  # the needle
    assert np.allclose(robust, -6, atol=0.05)  # the broad peak
    at = branke.best("worst")
    assert branke.worst[at] == pytest.approx(0.425, abs=0.005)


def test_labels_are_moved_apart_and_keep_their_order():
    wanted = np.array([5.0, 5.1, 0.0, 99.0, 5.2])
    places = spread(wanted, 10, 0, 100)
    assert (np.diff(np.sort(places)) >= 10 - 1e-9).all()
    assert (np.argsort(places) == np.argsort(wanted)).all()
    assert places.min() >= 0
    assert places.max() <= 100


def test_a_text_in_a_figure_is_not_taken_for_its_drawing():
    text = 'id="x" href="#y" url(#z) #10f001 $a_1$ <b>&amp; 漢字 \x1b'
    svg = draw("key", text, Frame(), lambda axes: axes.set_title(short(text, 99)))
    assert 'id="x" href="#y" url(#z) #10f001 $a_1$ &lt;b&gt;&amp;amp; 漢字' in svg
    assert "font-family" not in svg


def test_numbers_are_for_people():
    assert [number(each) for each in (0.0, -1.5, 1234567.0, 1e-9, 2e12, np.nan, np.inf)] == [
        *("0", "−1.5", "1,234,567", "1e−09", "2e+12", "–", "infinite"),
    ]
    assert with_error(12.3456, 0.0123) == "12.346 ± 0.012"
    assert with_error(12.3456, np.nan) == "12.35"
    assert [chance(p) for p in (0.5, 0.04321, 0.00042, 1e-9)] == ["0.50", "0.043", "0.0004", "< 0.0001"]
    assert [duration(each) for each in (2.34, 59.7, 3600, 125)] == ["2.3 s", "1:00 min", "1:00 h", "2:05 min"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "runs.db"
    small = {"population": 5, "generations": 2, "repeats": 2, "budget": 200, "samples": 100, "final_repeats": 4}
    for name in ("sphere", "ackley"):
        rf.evolve(rf.problem(name, 3), store=path, name=name, seed=1, **small)
    return path


def run(*arguments, code=0):
    ended = CliRunner().invoke(cli.main, [str(each) for each in arguments])
    assert ended.exit_code == code, ended.output
    assert "Traceback" not in ended.output
    return ended


def test_a_store_becomes_a_page(store, tmp_path):
    page = tmp_path / "report.html"
    assert f"{page}: written" in run("report", store, "-o", page).stdout
    text = texts(page.read_text(encoding="utf-8"))
    assert "Finished." in text
    assert "robustforge evolve sphere --dimension 3 --population 5" in text


def test_one_evolution_can_be_had_alone(store, tmp_path):
    page = tmp_path / "report.html"
    run("report", store, "--name", "ackley", "-o", page)
    text = texts(page.read_text(encoding="utf-8"))
    assert "sphere-3d" not in text
    assert "ackley-3d" in text
    assert "ackle" in run("report", store, "--name", "ackle", "-o", tmp_path / "no.html", code=2).stderr
    with pytest.raises(UnknownNameError):
        report(str(store), tmp_path / "no.html", ["ackle"])
    assert not (tmp_path / "no.html").exists()


def test_a_store_at_work_is_read_and_not_disturbed(store, tmp_path):
    before = store.read_bytes()
    with Store.open(store) as writer:
        writer.begin("begun", "evolution", {**full_evidence().outcomes[0].settings}, {"name": "paper"})
        run("report", store, "-o", tmp_path / "report.html")
        assert "begun is at work" in texts((tmp_path / "report.html").read_text(encoding="utf-8"))
        writer._connection.execute("DELETE FROM experiment WHERE name = 'begun'")
    assert len(store.read_bytes()) == len(before)


def test_what_is_no_store_gets_a_sentence(store, tmp_path):
    (tmp_path / "text.db").write_text("no store at all, but long enough to have a header of a hundred bytes\n" * 9)
    (tmp_path / "empty.db").touch()
    damaged = bytearray(store.read_bytes())
    damaged[2000:] = b"\x55" * (len(damaged) - 2000)
    (tmp_path / "damaged.db").write_bytes(damaged)
    (tmp_path / "folder").mkdir()
    for name in ("text.db", "empty.db", "damaged.db", "folder", "missing.db"):
        ended = run("report", tmp_path / name, "-o", tmp_path / "no.html", code=2)
        assert ended.stderr.startswith("error: ")
        assert name in ended.stderr
        assert len(ended.stderr.splitlines()) == 1
    assert not (tmp_path / "no.html").exists()


PROBLEM = json.dumps({"name": "p", "dimension": 2})


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE experiment SET settings = '{'",
        "UPDATE experiment SET settings = '{}'",
        "UPDATE experiment SET champion = 'nobody'",
        "UPDATE run SET value = 'abc'",
        "UPDATE heuristic SET json = '{}'",
        "INSERT INTO assessed VALUES ('a', 'x', 9, 9, 0, 1, 'a', 0, 1, 1, 1, 9, x'', x'', 1, NULL)",
        f"INSERT INTO assessed VALUES ('a', '{PROBLEM}', 9, 9, 0, 1, 'a', 0, 1, 1, 1, 9, x'01', x'', 1, NULL)",
    ],
)
def test_a_store_that_contradicts_itself_gets_a_sentence(store, tmp_path, change):
    path = tmp_path / "odd.db"
    path.write_bytes(store.read_bytes())
    with Store.open(path) as writer:
        writer._connection.execute("PRAGMA foreign_keys = 0")
        writer._connection.execute(change)
    for words in (("report", path, "-o", tmp_path / "no.html"), ("analyse", path)):
        ended = run(*words, code=2)
        assert "must be in order" in ended.stderr or "heuristic" in ended.stderr
        assert len(ended.stderr.splitlines()) == 1


def test_a_store_without_a_run_is_a_page(store, tmp_path):
    path = tmp_path / "new.db"
    path.write_bytes(store.read_bytes())
    with Store.open(path) as writer:
        for table in ("run", "member", "experiment", "heuristic"):
            writer._connection.execute(f"DELETE FROM {table}")
    run("report", path, "-o", tmp_path / "report.html")
    assert "There is nothing in it yet" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_store_is_not_written_over(store, tmp_path):
    before = store.read_bytes()
    assert "Name another file" in run("report", store, "-o", store, code=2).stderr
    assert "folder that exists" in run("report", store, "-o", tmp_path / "none" / "x.html", code=2).stderr
    assert store.read_bytes() == before


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_a_missing_package_is_named(store, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package}.*robustforge\[report\]"):
        report(str(store), tmp_path / "no.html")


def test_a_folder_of_results_becomes_a_page(tmp_path):
    whole = full_evidence()
    archive.write_outcome(replace(whole.outcomes[0], bred=whole.outcomes[0].bred[:9]), tmp_path / "results" / "one")
    archive.write_assessed(whole.assessed, tmp_path / "results")
    report(tmp_path / "results", tmp_path / "report.html")
    text = texts((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "alone/multipeak-f2-4d" in text
    with pytest.raises(StoreError):
        report(tmp_path / "results" / "nothing", tmp_path / "no.html")
