"""The report as text: it shows all data in one self-contained file, and names cannot inject anything."""

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
from robustforge.analysis import Dataset, EvolutionRecord, EvolvedHeuristic, results_folder
from robustforge.analysis.effects import decomposition
from robustforge.errors import MissingExtraError, StoreError, UnknownNameError
from robustforge.evolution.settings import Settings, from_stored
from robustforge.formatting import shorten
from robustforge.reporting import component_sections, landscapes, page_html, report
from robustforge.reporting.command_lines import command
from robustforge.reporting.svg_canvas import Frame, draw, spread_apart
from robustforge.store import CHECKPOINTS, AssessedRun, Store

NASTY = "<img src=x onerror=pwned=1> & $x_1$ \"quoted\" 'too'"


def made(dataset):
    """The page, with fewer resamples than it has: they decide numbers in it, and nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(component_sections, "decomposition", functools.partial(decomposition, resamples=2))
        return page_html(dataset)


def heuristics(count, drawn):
    return [rf.grammar("paper").random(np.random.default_rng([drawn, k])) for k in range(count)]


def evolution(name, problems, count=24, generations=5, finished=True, drawn=1, **settings):
    """An evolution of random heuristics whose means say nothing."""
    evolved = heuristics(count, drawn)
    rng = np.random.default_rng(drawn)
    means = np.sort(rng.lognormal(3, 1, (count, len(problems))), axis=0)
    best = np.sort(rng.uniform(10, 30, generations))[::-1]
    every = {**Settings(generations=generations, **from_stored(settings)).to_dict(), "version": "0.1.0"}
    return EvolutionRecord(
        name=name,
        problems=tuple(problem.name for problem in problems),
        settings={"problems": [problem.to_dict() for problem in problems], **every},
        grammar={"name": "paper", "restrictions": {}, "fingerprint": "0" * 16},
        heuristics=tuple(
            EvolvedHeuristic(each, k % generations, 20, tuple(means[k])) for k, each in enumerate(evolved)
        ),
        fitness=tuple((float(value), float(value * 1.5)) for value in best),
        champion=evolved[0],
        finished=finished,
        runs=1234,
        failures=0,
        seconds=567.8,
        started="2026-11-16T02:30:30+00:00",
        ended="2026-11-16T02:32:07+00:00" if finished else None,
    )


def assessed(problem, name, contestant, level, runs=12, budget=2000, failures=0):
    """Runs of a contestant around a level, each with its curve."""
    rng = np.random.default_rng([len(name), int(level * 10), runs])
    plain = {"problem": json.dumps(problem.to_dict()), "samples": 1000, "attack": True, "budget": budget}
    values = level * rng.uniform(0.8, 1.2, runs)
    return [
        AssessedRun(contestant, name, **plain, seed=k, repeat=k, failure="it did not work" if k < failures else "",
                 value=value, attacked=value * 1.1, nominal=value * 0.5, nfev=budget,
                 curve=tuple(value * (2 - share) for share in CHECKPOINTS))
        for k, value in enumerate(values.tolist())
    ]  # fmt: skip


def full_dataset():
    """A dataset for every section, with a custom problem and a hostile name."""
    own = rf.Problem(lambda x: float(x @ x), [(-1, 1)] * 4, rf.Ball(0.1), name=NASTY)
    problems = [rf.problem("multipeak-f2", 4), rf.problem("rosenbrock", 4), own]
    evolutions = [evolution(f"alone/{p.name}", [p], drawn=k) for k, p in enumerate(problems, 1)]
    evolutions += [evolution("general", problems, drawn=9), evolution("wide", [rf.problem("sphere", 8)], drawn=10)]
    runs = []
    for k, problem in enumerate(problems):
        runs += assessed(problem, evolutions[k].name, evolutions[k].champion.id, 10.0)
        runs += assessed(problem, "general", evolutions[3].champion.id, 10.5)
        runs += assessed(problem, "rpso+dd", rf.heuristic("rpso+dd").id, 20.0, failures=2)
        runs += assessed(problem, "rpso+dd@5000", "f" * 16, 15.0, budget=5000)
        runs += assessed(problem, "cma-es", "cma-es", 800.0)
        runs += assessed(problem, NASTY, NASTY, 30.0)
    return Dataset("runs.db", tuple(evolutions), tuple(runs), running=False)


@pytest.fixture(scope="module")
def html():
    return made(full_dataset())


def texts(html):
    """The page as its reader sees it: without tags, style and drawings."""
    bare = re.sub(r"<(style|svg)[ >].*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(markup.unescape(re.sub(r"<[^>]+>", " ", bare)).split())


def section(html, key):
    found = re.search(rf'<section id="{key}">.*?</section>', html, re.DOTALL)
    return found[0] if found else ""


def test_every_section_is_on_the_page_and_in_the_contents(html):
    keys = ["runs", "fitness", "champions", "results", "anytime", "components", "landscapes", "reading"]
    assert re.findall(r'<section id="(\w+)">', html) == keys
    assert re.findall(r'<li><a href="#(\w+)">', html) == keys


def test_the_page_is_self_contained(html):
    assert "http://" not in html
    assert "https://" not in html
    assert "@import" not in html
    assert "<script" not in html
    assert set(re.findall(r'(?:src|href)="(?!#)([^"]{5})', html)) == {"data:"}
    assert not re.findall(r"url\((?!#)", html)


def test_every_figure_has_a_description(html):
    figures = re.findall(r"<figure>.*?</figure>", html, re.DOTALL)
    assert len(figures) == html.count("<svg") > 40
    for figure in figures:
        assert re.search(r'<svg role="img" aria-label="[^"]{20,}"', figure)
        assert re.search(r'<p class="caption">[^<]{10,}</p>', figure)


def test_ids_of_figures_are_unique(html):
    ids = re.findall(r' id="([^"]*)"', html)
    assert len(ids) == len(set(ids))
    for name in re.findall(r'(?:href="|url\()#([^")]+)', html):
        assert name in ids


def test_names_are_escaped(html):
    assert "<img" not in html
    assert "alone/&lt;img src=x onerror=pwned=1&gt; &amp; $x_1$ &#34;quoted&#34; &#39;too&#39;" in html
    assert "&lt;img src=x on…d\" 'too'" in html  # in a figure, shortened; Matplotlib's own escapes


def test_the_same_dataset_gives_the_same_bytes(html):
    assert made(full_dataset()) == html


def test_a_section_without_data_is_left_out():
    whole = full_dataset()
    html = made(replace(whole, assessed_runs=(), evolutions=whole.evolutions[:1]))
    assert not section(html, "results")
    assert not section(html, "anytime")
    assert section(html, "fitness")
    only_runs = made(replace(whole, evolutions=(), assessed_runs=whole.assessed_runs[:90]))
    assert section(only_runs, "results")
    assert not section(only_runs, "components")
    assert not section(only_runs, "champions")
    assert not section(only_runs, "runs")


def test_an_empty_store_makes_a_page_with_a_notice():
    html = made(Dataset("runs.db", (), (), running=False))
    assert "Empty: no searches, evolutions or assessed runs" in texts(html)
    assert "<section" not in html


@pytest.mark.parametrize(
    ("running", "words", "state"), [(True, "is running", "running"), (False, "is interrupted", "interrupted")]
)
def test_unfinished_evolutions_are_marked(running, words, state):
    going = evolution("going", [rf.problem("sphere", 3)], finished=False)
    html = made(Dataset("runs.db", (going,), (), running))
    assert f"Not finished: going {words}" in texts(html)
    assert f'<td class="text state {state}">' in html
    assert "best of generation 5, not final" in texts(html)


def test_an_evolution_without_a_generation_has_no_figures():
    started = replace(
        evolution("started", [rf.problem("sphere", 3)], finished=False), heuristics=(), fitness=(), champion=None
    )
    html = made(Dataset("runs.db", (started,), (), running=True))
    assert "0 of 5" in section(html, "runs")
    assert not section(html, "fitness")
    assert not section(html, "components")


def test_failures_are_counted_and_left_out_of_figures():
    problem = rf.problem("sphere", 3)
    failed = replace(evolution("failed", [problem]), fitness=((np.inf, np.inf), (3.0, np.inf)), failures=7)
    runs = [*assessed(problem, "a", "a", 1.0, failures=12), *assessed(problem, "b", "b", 2.0, failures=1)]
    html = made(Dataset("runs.db", (failed,), tuple(runs), running=False))
    assert "12 (12 failed)" in texts(html)
    assert "infinite in the first generation, 3 in the last" in texts(html)


def test_the_champion_has_a_description_a_tree_and_pseudocode(html):
    evolved = full_dataset().evolutions[0].champion
    page = section(html, "champions")
    assert evolved.id in page
    assert "evaluate f(x*)" in page
    for line in evolved.describe(2000).splitlines():
        assert line.removeprefix("- ").split("(")[0].strip() in texts(page)
    assert '<span class="symbol">Network</span> <b>' in page


def test_the_best_and_its_ties_are_bold_and_controls_are_marked(html):
    page = section(html, "results")
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th>(.*?)</tr>", page, re.DOTALL)
    numbers = [(name, cells) for name, cells in rows if cells.count("<td") == 9]
    assert len(numbers) == 3 * 6
    for name, cells in numbers:
        bold = 'class="tied ' in cells
        assert bold == (name.startswith(("evolved for it", "general")))
        assert ("control" in name) == name.startswith("cma-es")
    assert page.count('class="tied best"') == 2 * 3
    bold = re.findall(r"<text [^>]*font-weight: 700[^>]*>([^<]*)</text>", page)
    assert sorted(bold) == ["evolved for it"] * 3 + ["general"] * 3


def test_problems_are_in_the_order_of_the_paper_then_by_name():
    own = [rf.Problem(lambda x: float(x @ x), [(-1, 1)] * 5, rf.Ball(0.1), name=name) for name in ("b", "a")]
    given = [own[0], rf.problem("sphere", 5), own[1], rf.problem("rastrigin", 5)]
    runs = [run for problem in given for run in assessed(problem, "rpso", "0" * 16, 1.0)]
    html = made(Dataset("s.db", (), tuple(runs), running=False))
    found = re.findall(r"<summary><strong>(.*?)</strong>", section(html, "results"))
    assert found == ["rastrigin-5d", "sphere-5d", "a", "b"]


def test_champions_that_ran_on_their_own_problem_share_a_column(html):
    assert "evolved for it" in texts(section(html, "results"))
    crossed = full_dataset()
    guest = assessed(rf.problem("rosenbrock", 4), crossed.evolutions[0].name, crossed.evolutions[0].champion.id, 11.0)
    for k in (1, 2):
        guest += assessed(
            rf.problem("multipeak-f2", 4), crossed.evolutions[k].name, crossed.evolutions[k].champion.id, 12.0
        )
    html = made(replace(crossed, assessed_runs=(*crossed.assessed_runs, *guest)))
    assert "evolved for it" not in texts(section(html, "results"))
    assert "alone/rosenbrock-4d" in texts(section(html, "results"))


def test_a_study_of_twenty_two_evolutions_stays_small():
    evolutions, runs = [], []
    for size in (30, 100):
        problems = [rf.problem(name, size) for name in rf.problems()]
        evolutions += [evolution(f"{size}d/{p.name}", [p], count=8, drawn=size + k) for k, p in enumerate(problems)]
        evolutions.append(evolution(f"{size}d/general", problems, count=8, drawn=size + 20))
        for problem in problems:
            for k, name in enumerate(("rpso", "rpso+dd", "rpso+leh", "rpso+dd+leh", "leh", "random", "cma-es")):
                runs += assessed(problem, name, rf.heuristic(name).id if k < 5 else name, 10.0 + k, runs=50)
    html = made(Dataset("study", tuple(evolutions), tuple(runs), running=False))
    assert html.count("<figure>") == 22 + 20 + 20 + 2 * (12 + 12 + 2) + 29
    assert len(html.encode()) < 5_000_000


def given(text):
    """What the real command line makes of a command."""
    words = shlex.split(text)
    assert words[:2] == ["robustforge", "evolve"]
    return cli.main.load("evolve").make_context("evolve", words[2:]).params


def test_the_command_repeats_the_evolution():
    settings = {"population": 9, "mutation": 0.25, "race": True, "on_failure": "unknown", "seed": 7}
    problems = [rf.problem(name, 12, "shifted", 3, out_of_bounds="clip") for name in ("sphere", "ackley")]
    evolved = evolution("my run", problems, generations=40, **settings)
    limits = {"only": {"network": ["Ring", "Clan"]}, "without": ["leh"], "fix": {"group": 20, "c3": [0.5, 2.0]}}
    evolved = replace(evolved, grammar={"name": "extended", "restrictions": limits, "fingerprint": ""})
    found = command(evolved, "/somewhere/my store.db")
    asked = given(found["text"])
    assert found["note"] == ""
    assert asked["problems"] == ("sphere", "ackley")
    assert (asked["dimension"], asked["variant"], asked["variant_seed"]) == (12, "shifted", 3)
    assert asked["out_of_bounds"] == "clip"
    assert asked["grammar"] == "extended"
    assert (asked["only"], asked["without"], asked["fix"]) == (
        ("network=Ring,Clan",),
        ("leh",),
        ("group=20", "c3=0.5:2.0"),
    )
    assert (asked["store"], asked["name"], asked["race"]) == ("my store.db", "my run", True)
    wanted = {"population": 9, "mutation_probability": 0.25, "race": True, "on_failure": "unknown", "seed": 7}
    assert {key: asked[key] for key in wanted} == wanted
    assert "--generations" not in found["text"]  # it is at its default


def test_initial_heuristics_are_part_of_the_command():
    evolved = evolution("own", [rf.problem("sphere", 4)])
    ours, own = rf.heuristic("rpso+dd"), rf.grammar("paper").random(np.random.default_rng(1))
    found = command(replace(evolved, settings={**evolved.settings, "start": [ours.id]}), "runs.db")
    assert given(found["text"])["initial_heuristics"] == ("rpso+dd",)
    assert found["note"] == ""
    found = command(replace(evolved, settings={**evolved.settings, "start": [ours.id, own.id]}), "runs.db")
    assert given(found["text"])["initial_heuristics"] == ("rpso+dd", "HEURISTIC.json")
    assert "HEURISTIC.json" in found["note"]


def test_all_ten_problems_and_defaults_make_a_short_command():
    every = [rf.problem(name, 30) for name in rf.problems()]
    evolved = evolution("rastrigin-30d-and-9-more", every, generations=40)
    assert command(evolved, "runs.db")["text"] == "robustforge evolve all --grammar paper"


def test_engineering_problems_are_recognised():
    given = evolution("engineers", [rf.problem("spring"), rf.problem("welded-beam")])
    assert command(given, "runs.db")["text"].startswith("robustforge evolve spring welded-beam ")
    wider = rf.Problem(rf.problem("spring").fun, [(0.05, 0.3)] * 3, rf.Box(0.01), name="spring")
    assert "MODULE:NAME" in command(evolution("own", [wider]), "runs.db")["text"]


def test_custom_problems_are_not_mistaken_for_test_problems():
    ours = rf.problem("sphere", 4)
    like_ours = rf.Problem(lambda x: 0.0, [(-1, 1)] * 4, rf.Ball(0.5), name="sphere-4d")
    for problems in ([like_ours], [ours, like_ours], [ours, rf.problem("sphere", 5)]):
        found = command(evolution("own", problems), "runs.db")
        assert "--objective MODULE:NAME" in found["text"]
        assert found["note"]


def brute(values, cells):
    """The highest value within a number of cells, point by point."""
    worst = np.full(values.shape, -np.inf)
    for at in np.ndindex(values.shape):
        for other in np.ndindex(values.shape):
            if sum((a - b) ** 2 for a, b in zip(at, other, strict=True)) <= cells**2:
                worst[at] = max(worst[at], values[other])
    return worst


@pytest.mark.parametrize("shape", [(17,), (9, 11)])
def test_the_worst_case_on_a_grid_matches_its_definition(shape):
    values = np.random.default_rng(1).standard_normal(shape)
    assert np.array_equal(landscapes.worst_within(values, 3), brute(values, 3))


def test_landscapes_find_both_optima():
    functions = landscapes.functions_in(["sphere-30d", "branke-8d-shifted-rotated-3", "mine", "rosenbrock-2d"])
    assert [function.name for function in functions] == ["branke", "sphere", "rosenbrock"]
    branke = landscapes.landscape(functions[0], 2, landscapes.CELLS)
    nominal, robust = (branke.axis[list(branke.best(of))] for of in ("nominal", "worst"))
    assert np.allclose(nominal, -4, atol=0.05)  # the needle
    assert np.allclose(robust, -6, atol=0.05)  # the broad peak
    at = branke.best("worst")
    assert branke.worst[at] == pytest.approx(0.425, abs=0.005)


def test_labels_are_spread_apart_in_their_order():
    wanted = np.array([5.0, 5.1, 0.0, 99.0, 5.2])
    places = spread_apart(wanted, 10, 0, 100)
    assert (np.diff(np.sort(places)) >= 10 - 1e-9).all()
    assert (np.argsort(places) == np.argsort(wanted)).all()
    assert places.min() >= 0
    assert places.max() <= 100


def test_text_in_a_figure_is_not_rewritten_as_markup():
    text = 'id="x" href="#y" url(#z) #10f001 $a_1$ <b>&amp; 漢字 \x1b'
    svg = draw("key", text, Frame(), lambda canvas: canvas.axes.set_title(shorten(text, 99)))
    assert 'id="x" href="#y" url(#z) #10f001 $a_1$ &lt;b&gt;&amp;amp; 漢字' in svg
    assert "font-family" not in svg


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


def test_a_report_can_be_about_one_evolution(store, tmp_path):
    page = tmp_path / "report.html"
    run("report", store, "--name", "ackley", "-o", page)
    text = texts(page.read_text(encoding="utf-8"))
    assert "sphere-3d" not in text
    assert "ackley-3d" in text
    assert "ackle" in run("report", store, "--name", "ackle", "-o", tmp_path / "no.html", code=2).stderr
    with pytest.raises(UnknownNameError):
        report(str(store), tmp_path / "no.html", ["ackle"])
    assert not (tmp_path / "no.html").exists()


def test_a_store_in_use_is_read_without_a_change(store, tmp_path):
    before = store.read_bytes()
    with Store.open(store) as writer:
        writer.add_experiment("started", "evolution", {**full_dataset().evolutions[0].settings}, {"name": "paper"})
        run("report", store, "-o", tmp_path / "report.html")
        assert "started is running" in texts((tmp_path / "report.html").read_text(encoding="utf-8"))
        writer._connection.execute("DELETE FROM experiment WHERE name = 'started'")
    assert len(store.read_bytes()) == len(before)


def test_a_file_that_is_not_a_store_is_an_error_of_one_line(store, tmp_path):
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
def test_an_inconsistent_store_is_an_error_of_one_line(store, tmp_path, change):
    path = tmp_path / "odd.db"
    path.write_bytes(store.read_bytes())
    with Store.open(path) as writer:
        writer._connection.execute("PRAGMA foreign_keys = 0")
        writer._connection.execute(change)
    for words in (("report", path, "-o", tmp_path / "no.html"), ("analyse", path)):
        ended = run(*words, code=2)
        assert " is damaged" in ended.stderr or "heuristic" in ended.stderr
        assert len(ended.stderr.splitlines()) == 1


def test_a_store_without_a_run_is_a_page(store, tmp_path):
    path = tmp_path / "new.db"
    path.write_bytes(store.read_bytes())
    with Store.open(path) as writer:
        for table in ("run", "member", "experiment", "heuristic"):
            writer._connection.execute(f"DELETE FROM {table}")
    run("report", path, "-o", tmp_path / "report.html")
    assert "Empty: no searches, evolutions or assessed runs" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_report_does_not_overwrite_the_store(store, tmp_path):
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
    whole = full_dataset()
    results_folder.write_evolution(
        replace(whole.evolutions[0], heuristics=whole.evolutions[0].heuristics[:9]), tmp_path / "results" / "one"
    )
    results_folder.write_assessed(whole.assessed_runs, tmp_path / "results")
    report(tmp_path / "results", tmp_path / "report.html")
    text = texts((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "alone/multipeak-f2-4d" in text
    with pytest.raises(StoreError):
        report(tmp_path / "results" / "nothing", tmp_path / "no.html")
