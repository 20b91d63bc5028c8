"""`analyse`: frequencies and effects of components."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

import robustforge as rf
from robustforge import cli
from robustforge.analysis import EvolutionRecord, EvolvedHeuristic
from robustforge.analysis.component_tables import proportions
from robustforge.analysis.features import COMPONENTS, features
from robustforge.analysis.results_folder import write_evolution
from robustforge.cli.payloads import analyses
from robustforge.cli.terminal import WIDTH


def run(*arguments, code=0):
    ended = CliRunner(env={"COLUMNS": str(WIDTH)}).invoke(cli.main, ["analyse", *(str(each) for each in arguments)])
    assert ended.exit_code == code, ended.output
    assert "Traceback" not in ended.output
    assert ended.exception is None or isinstance(ended.exception, SystemExit)
    assert all(len(line) <= WIDTH for line in ended.stdout.splitlines()) or "--json" in arguments
    return ended


def evolution_record(name, dimension, count, seed, finished=True, first=None):
    """An evolution of random heuristics, all or some of the first generation; those with a global network are best."""
    rng, grammar = np.random.default_rng(seed), rf.grammar("paper")
    heuristics = [grammar.random(rng) for _ in range(count)]
    means = [float(features(each, 2000)["network"] != "Global") + 0.1 * rng.random() for each in heuristics]
    evolved = tuple(
        EvolvedHeuristic(heuristics[k], int(k >= (first or count)), 20, (means[k],)) for k in np.argsort(means)
    )
    settings = {"budget": 2000, "problems": [{"name": "p", "dimension": dimension}]}
    champion = evolved[0].heuristic if evolved else None
    return EvolutionRecord(
        name, ("p",), settings, {}, evolved, (), champion, finished, 0, 0, 0.0, f"2026-0{seed}", None
    )


POOL = [
    evolution_record("30d/one", 30, 90, 1),
    evolution_record("30d/two", 30, 60, 2, finished=False),
    evolution_record("5d/small", 5, 60, 3, first=19),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    for each in [*POOL, evolution_record("5d/new", 5, 0, 4, finished=False)]:
        write_evolution(each, folder / each.name.replace("/", "-"))
    return folder


def test_view(place):
    text = run(place).stdout
    flat = " ".join(text.split())
    assert "30 variables: 150 heuristics of 2 evolutions" in text
    assert "30d/one, 30d/two (unfinished)" in text
    assert "top third 50 heuristics, selected per evolution and then pooled" in flat
    assert "5 variables: 60 heuristics of one evolution" in text
    assert "no complete generation: 5d/new." in flat
    for words in list(COMPONENTS.values())[:12]:
        assert text.count(f"  {words}  ") == 2
    assert "Outer search" not in text
    best = POOL[0].champion.components()
    lines = [line for line in text.splitlines() if line.startswith("  30d/one  ")]
    assert lines[0].split()[1] == best["group"]
    assert "which selection has not affected" in flat
    strengths = text.split("Effects of components")[1].splitlines()
    assert strengths[3].split()[0] == "network"
    assert "Global" in strengths[3]
    assert "No two components interact significantly" in flat
    assert flat.count("Effects need at least 20 random heuristics") == text.count("Effects of components") == 1
    assert "nan" not in text


def test_frequencies_of_the_view_agree_with_the_table(place):
    text = run(place, "--name", "30d/one", "--no-effects").stdout
    (row,) = (row for row in proportions(POOL[:1]) if row["alternative"] == "Global")
    (line,) = (line for line in text.splitlines() if line.startswith("    Global "))
    assert line.split()[1:3] == [f"{100 * row['all']:.1f}%", f"{100 * row['top_third']:.1f}%"]
    mark, end = line.index("│"), line.rindex("━")
    start = line.index("━")
    assert (mark - start) / (end + 1 - start) == pytest.approx(row["all"] / row["top_third"], abs=0.1)
    assert "Effects of components" not in text


def test_deciles_of_a_component(place):
    text = run(place, "--name", "30d/one", "--component", "network").stdout
    (line,) = (line for line in text.splitlines() if line.startswith("  Global "))
    bars, *shares = line.split()[1:]
    assert len(bars) == len(shares) == 10
    assert bars[0] == "█"
    assert shares[0] == "100"
    assert bars[-1] == "▁"
    assert shares[-1] == "0"
    assert "Effects of components" not in text
    assert "Form of inner search" not in text


def test_cross_table(place):
    for crossed in ("network,inner", "inner,network"):
        text = run(place, "--name", "30d/one", "--cross", crossed).stdout
        assert [line.split() for line in text.splitlines()].count(["Random", "PSO", "GA"]) == 1
        rows = [line for line in text.splitlines() if line.startswith("  ") and line.count("%") == 3]
        assert [line.split()[0] for line in rows][:2] == ["Global", "Focal"]
        assert sum(float(cell.rstrip("%")) for line in rows for cell in line.split()[-3:]) == pytest.approx(100, abs=1)
    assert "Frequencies in the top third. " in text
    both = run(place, "--cross", "inner,extent", "--component", "mutation").stdout
    assert both.count("Form of mutation") == both.count("Form of inner search, and extent of inner search") == 2


def test_payload(place):
    record = json.loads(run(place, "--json").stdout)
    assert record["format"] == analyses.ANALYSIS_FORMAT
    assert [pool["dimensions"] for pool in record["pools"]] == [[5], [30]]
    assert record["without_generation"] == ["5d/new"]
    small, large = record["pools"]
    assert large["proportions"] == list(proportions(POOL[:2]))
    assert large["effects"][0]["component"] == "network"
    assert large["effects"][0]["best"] == "Global"
    assert small["effects"][0]["effect"] is None
    assert [row["name"] for row in large["best"]] == ["30d/one", "30d/two"]
    assert {row["component"] for row in large["deciles"]} == set(COMPONENTS)
    assert record["crossed"] == ["inner", "extent"]
    assert sum(row["top_third"] for row in large["cross"]) == pytest.approx(1)
    assert json.loads(run(place, "--json", "--no-effects").stdout)["pools"][1]["effects"] is None


def test_csv(place, tmp_path):
    folder = tmp_path / "new" / "tables"
    text = run(place, "--csv", folder, "--component", "inner").stdout
    assert f"Tables written to {folder}." in " ".join(text.split())
    assert sorted(path.stem for path in folder.iterdir()) == sorted(analyses.TABLES)
    rows = list(csv.DictReader((folder / "proportions.csv").open()))
    assert {row["dimension"] for row in rows} == {"5", "30"}
    assert sum(row["component"] == "network" for row in rows) == 2 * 7
    run(place, "--csv", tmp_path / "other", "--no-effects")
    assert not (tmp_path / "other" / "effects.csv").exists()
    assert (tmp_path / "other" / "best.csv").read_text().startswith("dimension,name,champion,group,inner,")


def test_a_repeated_name_counts_once(place):
    twice = ["--name", "30d/one", "--name", "30d/two", "--name", "30d/one"]
    once = run(place, *twice[:4], "--no-effects", "--json").stdout
    assert run(place, *twice, "--no-effects", "--json").stdout == once
    assert [each["name"] for each in json.loads(once)["pools"][0]["evolutions"]] == ["30d/one", "30d/two"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--component", "netwrk"], "unknown component 'netwrk'; did you mean 'network'"),
        (["--cross", "inner"], "--cross must name two components; got 'inner'."),
        (["--cross", "inner,size"], "unknown component 'size'"),
        (["--cross", "inner,inner"], "got inner twice"),
        (["--name", "30d/on"], "'30d/on'; did you mean '30d/one'"),
        (["--name", "5d/new"], "has no evolution with a complete generation"),
    ],
)
def test_invalid_calls(place, arguments, words):
    assert words in run(place, *arguments, code=2).stderr


def test_the_help_lists_every_component():
    listed = " ".join(run("--help").stdout.split()).split("Components: ")[1].split(" Analysis:")[0]
    assert [word.strip(",.;") for word in listed.replace("beyond the paper ", "").split()] == list(COMPONENTS)
