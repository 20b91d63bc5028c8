"""Results, heuristics and experiments in a notebook: valid HTML that no name can break out of, and labelled plots."""

from __future__ import annotations

import json
import pickle
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

import robustforge as rf
from robustforge import notebook_html
from robustforge.errors import MissingExtraError

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e&"
VOID = {"br", "wbr", "hr", "img"}


class Checker(HTMLParser):
    """Collects the tags of a page and its text, and reports tags that are not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == [], "tags that are never closed"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown(thing) -> Checker:
    page = thing._repr_html_()
    assert "\x1b" not in page
    assert "\u202e" not in page
    checked = Checker(page)
    assert "script" not in checked.tags
    return checked


def model(x):
    return float(((x - 1.0) ** 2).sum())


@pytest.fixture(scope="module")
def problem():
    return rf.Problem(model, [(-5, 5)] * 3, rf.Ball(0.5), name=HOSTILE)


@pytest.fixture(scope="module")
def evolution(tmp_path_factory):
    options = {"population": 4, "generations": 2, "repeats": 2, "budget": 60, "finalists": 2, "final_repeats": 2}
    problems = [rf.problem("sphere", 2), rf.problem("ackley", 2)]
    return rf.evolve(problems, store=tmp_path_factory.mktemp("notebook") / "runs.db", name=HOSTILE, **options)


@pytest.fixture(scope="module")
def assessment():
    problems = [rf.problem("sphere", 2), rf.problem("ackley", 2)]
    return rf.assess(["rpso", "random"], problems, runs=4, samples=50, budget=60)


def test_a_hostile_name_is_escaped():
    assert notebook_html.text(HOSTILE) == r"&lt;script&gt;alert(1)&lt;/script&gt;\x1b[31m\u202e&amp;"
    assert notebook_html.text(notebook_html.strong("<")) == "<strong>&lt;</strong>"


def test_fragments_are_valid_html():
    parts = (
        notebook_html.facts({HOSTILE: HOSTILE}),
        notebook_html.bullets([HOSTILE]),
        notebook_html.preformatted(HOSTILE),
    )
    page = notebook_html.fragment(
        HOSTILE, *parts, notebook_html.details(HOSTILE, notebook_html.table((HOSTILE, "b"), [(HOSTILE, 0.5)]))
    )
    checked = Checker(page)
    assert {"table", "ul", "pre", "details"} <= set(checked.tags)
    assert "script" not in checked.tags
    assert checked.text.count("<script>") == 8


def test_a_problem_shows_its_dimension_bounds_and_uncertainty_set(problem):
    text = shown(problem).text
    assert "<script>" in text
    for part in ("variables3", "lower bounds-5", "upper bounds5", "Ball(0.5)", "evaluate"):
        assert part in text


def test_a_problem_of_many_variables_stays_small():
    wide = rf.Problem(model, [(-k, k + 1) for k in range(200)], rf.Ball(0.5))
    assert len(wide._repr_html_()) < 2000


def test_a_heuristic_shows_its_description_and_its_pseudocode():
    heuristic = rf.heuristic("rpso+dd")
    checked = shown(heuristic)
    assert {"ul", "details", "pre"} <= set(checked.tags)
    assert all(line.removeprefix("- ") in checked.text for line in heuristic.describe().splitlines())
    assert heuristic.id in repr(heuristic)
    assert len(repr(heuristic)) < 100


def test_a_grammar_shows_its_production_rules():
    grammar = rf.grammar("paper", only={"network": ["Ring"]})
    text = shown(grammar).text
    assert all(f"<{rule.symbol}>{rule}" in text for rule in grammar.rules)
    assert "Ring" in text


def test_an_evolution_shows_its_settings_its_champion_and_its_generations(evolution):
    text = shown(evolution).text
    for part in ("sphere-2d, ackley-2d", "finished, 2 of 2 generations", "population4", evolution.champion.id):
        assert part in text
    assert "12" in text
    assert evolution.champion.describe().splitlines()[0].removeprefix("- ") in text


def test_a_comparison_marks_the_best_and_what_is_tied_with_it(assessment):
    comparison = assessment.comparison()
    checked = shown(comparison)
    assert checked.text.count(" *") == 2
    assert checked.tags.count("strong") == 1 + sum(row["is_tied"] for row in comparison.cells)
    assert "average rank" in checked.text
    assert repr(comparison) == "<Comparison of 2 contestants on 2 problems by 'value'>"


def test_an_assessment_and_its_tables_show_their_rows(assessment):
    assert shown(assessment).tags.count("tr") == 5
    assert shown(assessment.summaries()).tags.count("tr") == 5


def test_a_verification_shows_each_of_its_values():
    verification = rf.verify(rf.problem("sphere", 2), [20.0, 21.0], samples=100, rng=1)
    text = shown(verification).text
    assert "nominal value11" in text
    assert "worst found by the attack" in text


@pytest.fixture(scope="module")
def result(problem):
    return rf.minimize(problem, budget=150, heuristic="rpso+dd", rng=1)


@pytest.fixture
def plt():
    mpl = pytest.importorskip("matplotlib")
    mpl.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_a_result_is_a_scipy_result_with_the_same_keys(result):
    assert isinstance(result, OptimizeResult)
    assert isinstance(result, dict)
    assert {"x", "fun", "worst_x", "nominal_fun", "nfev", "success", "message", "history"} <= set(result)
    assert "provenance" not in result
    assert result["x"] is result.x


def test_a_result_prints_compactly(result):
    lines = repr(result).splitlines()
    assert len(lines) == len(result) - 1
    assert any("<History of 150 evaluations>" in line for line in lines)
    assert str(result) == repr(result)
    assert repr(rf.RobustResult()) == ""


def test_a_result_shows_its_design_and_its_values(result):
    text = shown(result).text
    for part in ("Robust design", result.message, "worst value found", "nominal value", "evaluations150", "x[2]"):
        assert part in text
    hostile = rf.RobustResult(message=HOSTILE, x=np.arange(30.0), worst_x=np.ones(30), fun=1.0, nfev=1, success=True)
    assert "18 more variables" in shown(hostile).text
    assert "<script>" in shown(hostile).text
    assert "No robust design" in shown(rf.RobustResult()).text


@pytest.mark.parametrize("kind", ["convergence", "neighbourhood", "sensitivity"])
def test_every_plot_of_a_result_has_labelled_axes(result, plt, kind):
    axes = result.plot(kind)
    axes.figure.canvas.draw()
    assert axes.get_xlabel()
    rows = {label.get_text() for label in axes.get_yticklabels()}
    assert axes.get_ylabel() or rows == {"x[0]", "x[1]", "x[2]"}
    _, given = plt.subplots()
    assert result.plot(kind, ax=given) is given


def test_the_convergence_plot_ends_with_the_estimate_of_the_search(result, plt):
    axes = result.plot()
    step = next(line for line in axes.get_lines() if line.get_drawstyle() == "steps-post")
    assert step.get_xdata()[-1] == 150
    assert step.get_ydata()[-1] == result.estimate


def test_a_result_can_be_pickled_and_still_be_plotted(result, plt):
    again = pickle.loads(pickle.dumps(result))
    assert type(again) is rf.RobustResult
    assert list(again) == list(result)
    before, after = (each.plot().get_lines()[1].get_ydata() for each in (result, again))
    assert np.array_equal(before, after)


def test_a_result_with_tolerances_in_percent_can_be_plotted(plt, tmp_path):
    (tmp_path / "p.toml").write_text(
        'budget = 80\n[variables]\na = { bounds = [1, 9], tolerance = "5%" }\nb = { bounds = [0, 1], tolerance = 0 }\n'
    )
    scaled = rf.read_problem_file(tmp_path / "p.toml").problem
    search = rf.Optimizer(scaled, budget=80, heuristic="rpso+dd", rng=1)
    while batch := search.ask():
        search.tell(batch.ids, [float(x.sum()) for x in batch.x])
    found = search.result()
    positions = found.provenance.positions()
    assert positions.shape[1] == 1
    assert np.abs(positions).max() <= 1 + 1e-9
    assert found.plot("neighbourhood").get_xlabel() == "x[0]"
    steps = [line for line in found.plot().get_lines() if line.get_drawstyle() == "steps-post"]
    assert steps[0].get_ydata()[-1] == found.estimate


def test_what_cannot_be_plotted_is_an_error(result, plt):
    with pytest.raises(rf.RobustforgeError, match="sensitivity"):
        result.plot("sensitivty")
    with pytest.raises(rf.RobustforgeError, match="once it has a value"):
        rf.RobustResult(x=np.zeros(2)).plot()


def test_an_evolution_plots_its_fitness(evolution, plt):
    axes = evolution.plot()
    assert (axes.get_xlabel(), axes.get_ylabel().split(",")[0]) == ("generation", "scaled fitness")
    best = [evolution.best_and_median(each)[0] for each in evolution.generations]
    assert axes.get_lines()[1].get_ydata().tolist() == best


def test_a_comparison_plots_a_box_per_contestant(assessment, plt):
    every = assessment.plot()
    assert [axes.get_title() for axes in every] == ["sphere-2d", "ackley-2d"]
    assert all("worst of the samples" in axes.get_xlabel() for axes in every)
    single = assessment.comparison("attacked").plot("ackley-2d", ax=every[0])
    assert single is every[0]
    colours = [{text.get_text(): text.get_color() for text in axes.get_yticklabels()} for axes in every]
    assert colours[0] == colours[1]
    assert set(colours[0]) == {"rpso", "random"}
    with pytest.raises(rf.RobustforgeError, match="one problem"):
        assessment.plot(ax=single)
    with pytest.raises(rf.RobustforgeError, match="ackley-2d"):
        assessment.plot("ackley")


def test_without_matplotlib_a_plot_names_the_extra(result, evolution, assessment, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for thing in (result, evolution, assessment):
        with pytest.raises(MissingExtraError, match=r"matplotlib.*pip install 'robustforge\[report\]'"):
            thing.plot()


def test_the_notebook_of_the_documentation_is_stored_with_small_outputs():
    path = Path(__file__).parent.parent / "docs" / "tutorials" / "notebook.ipynb"
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert path.stat().st_size < 300_000
    assert all(cell["outputs"] for cell in cells)
    shown_as = [output["output_type"] for cell in cells for output in cell["outputs"]]
    assert set(shown_as) == {"execute_result", "display_data"}  # no errors, and nothing on standard error
