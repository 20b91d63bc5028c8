"""Turns the outcomes in this folder into tables, a report, the shipped champions, and the tables of README.md.

    python docs/results/build.py

Nothing is run but statistics: every figure comes from the files that `robustforge reproduce` wrote here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import robustforge as rf
from robustforge.analysis import Evidence, Outcome, archive
from robustforge.analysis.components import COMPONENTS, best_components, cross_table, proportions
from robustforge.analysis.effects import decomposition
from robustforge.assessment.comparison import comparison, summaries
from robustforge.heuristic.presets import CHAMPIONS, FOLDER
from robustforge.report import page_html
from robustforge.store import Assessed
from robustforge.study.cases import DIMENSIONS, GENERAL, VARIANTS, champions, comparators
from robustforge.tables import Record, Table

HERE = Path(__file__).parent
DATA = Path(rf.__file__).parent / "study" / "data"


def figures(name: str) -> list[dict[str, str]]:
    """Return a table of the paper's, or of limits."""
    with (DATA / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def assessed(folder: str) -> list[Assessed]:
    """Return the assessed runs in a folder, none if they are not there yet."""
    path = HERE / folder / archive.ASSESSED
    return archive.read_assessed(path) if path.exists() else []


def reached(runs: Sequence[Assessed]) -> dict[tuple[str, str], Record]:
    """Return the summary of each problem and contestant, problems by their plain name."""
    return {(re.sub(r"-\d+d.*", "", row["problem"]), row["contestant"]): row for row in summaries(runs)}


def ship() -> None:
    """Copy what was bred to where it can be used by name."""
    for case in (*champions(), *comparators()):
        if not (HERE / case.name / archive.EVOLUTION).exists():
            continue
        outcome = archive.read_outcome(HERE / case.name)
        place = FOLDER / f"{case.contestant}.json" if case.is_comparator else CHAMPIONS / f"{case.name}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        assert outcome.champion is not None
        outcome.champion.save(place)


def means() -> Table:
    """Return our table beside the paper's: champions, comparators, limits and the centre."""
    limits = {(row["problem"], row["dimension"]): row for row in figures("limits")}
    table = Table()
    for row in figures("paper_means"):
        problem, dimension, case = row["problem"], row["dimension"], row["case"]
        target = problem if case == "individual" else GENERAL
        ours = reached(assessed(f"{dimension}d/{target}")).get((problem, f"champion/{dimension}d/{target}"))
        side = reached(assessed(f"{dimension}d/comparison"))
        rivals = {
            name: found["mean"] for (where, name), found in side.items() if where == problem and "comparator" in name
        }
        best = _best_overall(side) if case == "general" else min(rivals, key=lambda name: rivals[name], default="")
        paper = float(row["gggp_2000"])
        bar = paper + 0.02 * abs(paper) + 0.005
        limit = limits[problem, dimension]
        table.append(
            {
                "problem": problem,
                "dimension": int(dimension),
                "case": case,
                "ours": ours and ours["mean"],
                "se": ours and ours["se"],
                "runs": ours["runs"] if ours else 0,
                "attacked": ours and ours["attacked"],
                "paper": paper,
                "bar": bar,
                "met": bool(ours and ours["mean"] <= bar),
                "below": bool(ours and ours["mean"] < paper),
                "comparator": best.removeprefix(f"comparator/{dimension}d/"),
                "comparator_mean": rivals.get(best),
                "paper_comparator": float(row["comparator_5000"]),
                "centre": side[problem, "centre"]["mean"] if (problem, "centre") in side else None,
                "robust_optimum": float(limit["true_robust_optimum"]),
                "estimate_limit": float(limit["estimator_limit_1e6"]),
            }
        )
    return table


def _best_overall(side: dict[tuple[str, str], Record]) -> str:
    """Return the comparator with the best average rank."""
    names = sorted({name for _, name in side if "comparator" in name})
    problems = sorted({problem for problem, _ in side})
    if not names:
        return ""
    ranks = {
        name: sum(
            sum(side[problem, other]["mean"] < side[problem, name]["mean"] for other in names) for problem in problems
        )
        for name in names
    }
    return min(names, key=lambda name: ranks[name])


def tests() -> Table:
    """Return champions tested against comparators and controls, on equal runs and samples."""
    return Table(
        {"dimension": dimension, **row}
        for dimension in DIMENSIONS
        for row in comparison(assessed(f"{dimension}d/comparison")).cells
    )


def variants() -> Table:
    """Return the general champions and the controls on the variants, means over the seeds."""
    table = Table()
    for dimension in DIMENSIONS:
        runs = assessed(f"{dimension}d/variants")
        for kind in VARIANTS:
            for problem in rf.problems():
                named = re.compile(rf"{problem}-\d+d-{kind}-\d+")
                here = [run for run in runs if named.fullmatch(run.problem_name)]
                for name in dict.fromkeys(run.name for run in here):
                    own = [run for run in here if run.name == name]
                    values = [run.value for run in own]
                    attacked = [run.attacked for run in own]
                    table.append(
                        {
                            "dimension": dimension,
                            "variant": kind,
                            "problem": problem,
                            "contestant": name,
                            "runs": len(own),
                            "mean": sum(values) / len(values),
                            "attacked": sum(attacked) / len(attacked),
                        }
                    )
    return table


def outcomes(dimension: int) -> list[Outcome]:
    """Return the evolutions of one dimension, comparators left out."""
    cases = [case for case in champions() if case.dimension == dimension]
    return [archive.read_outcome(HERE / case.name) for case in cases if (HERE / case.name / archive.EVOLUTION).exists()]


def components() -> dict[str, Table]:
    """Return the tables on components, by name, with the paper's proportions beside ours."""
    shares, crossed, main, together, best = Table(), Table(), Table(), Table(), Table()
    paper = {(row["component"], row["alternative"]): row for row in figures("component_proportions")}
    for dimension in DIMENSIONS:
        found = outcomes(dimension)
        if not found:
            continue
        for row in proportions(found):
            theirs = paper.get((COMPONENTS.get(row["component"], ""), row["alternative"]), {})
            beside = {
                "paper_all": _share(theirs.get(f"all_{dimension}d_pct")),
                "paper_top_third": _share(theirs.get(f"top_third_{dimension}d_pct")),
            }
            shares.append({"dimension": dimension, **row, **beside})
        crossed += [{"dimension": dimension, **row} for row in cross_table(found, "inner", "extent")]
        effects, pairs = decomposition(found)
        main += [{"dimension": dimension, **row} for row in effects]
        together += [{"dimension": dimension, **row} for row in pairs]
        best += best_components(found)
    return {"proportions": shares, "cross": crossed, "effects": main, "pairs": together, "best": best}


def _share(percent: str | None) -> float | None:
    return float(percent) / 100 if percent else None


def markdown(rows: Iterable[Sequence[str]], heading: Sequence[str]) -> str:
    """Return a table in Markdown."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float | None) -> str:
    """Return a figure as in the paper's tables, a dash if there is none."""
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def means_table(table: Table) -> Callable[[int], str]:
    """Return what writes the table of one dimension in Markdown."""

    def of(dimension: int) -> str:
        heading = ["problem", "individual: ours", "paper", "general: ours", "paper", "best comparator: ours", "paper"]
        heading += ["centre", "limit of the estimate", "robust optimum"]
        rows = []
        for problem in rf.problems():
            cells = {row["case"]: row for row in table if (row["problem"], row["dimension"]) == (problem, dimension)}
            one, every = cells["individual"], cells["general"]
            rows.append(
                [
                    problem,
                    *(part for row in (one, every) for part in (_marked(row), number(row["paper"]))),
                    f"{number(one['comparator_mean'])} ({one['comparator']})",
                    number(one["paper_comparator"]),
                    number(one["centre"]),
                    number(one["estimate_limit"]),
                    number(one["robust_optimum"]),
                ]
            )
        return markdown(rows, heading)

    return of


def _marked(row: Record) -> str:
    if row["ours"] is None:
        return "-"
    text = f"{number(row['ours'])} +- {number(row['se'])}"
    return f"**{text}**" if row["below"] else text if row["met"] else f"{text} (short)"


def attacked_table(table: Table, dimension: int) -> str:
    """Return sampled and attacked worst cases of the champions, side by side."""
    rows = []
    for problem in rf.problems():
        cells = {row["case"]: row for row in table if (row["problem"], row["dimension"]) == (problem, dimension)}
        parts = [number(cells[case][key]) for case in ("individual", "general") for key in ("ours", "attacked")]
        rows.append([problem, *parts])
    return markdown(rows, ["problem", "individual: sampled", "attacked", "general: sampled", "attacked"])


def tests_table(table: Table, dimension: int) -> str:
    """Return the mean of everybody on every problem, in bold who is best or tied with it."""
    own = [row for row in table if row["dimension"] == dimension]
    names = [name for name in dict.fromkeys(row["contestant"] for row in own) if not _is_individual(name)]
    cells = {(row["problem"], row["contestant"]): row for row in own}
    rows = []
    for problem in dict.fromkeys(row["problem"] for row in own):
        champion = next((row for row in own if row["problem"] == problem and _is_individual(row["contestant"])), None)
        line = [champion, *(cells.get((problem, name)) for name in names)]
        rows.append([re.sub(r"-\d+d.*", "", problem), *(_bold(cell) for cell in line)])
    return markdown(rows, ["problem", "individual champion", *(re.sub(r"^\w+/\d+d/", "", name) for name in names)])


def _is_individual(name: str) -> bool:
    return name.startswith("champion/") and not name.endswith("/general")


def _bold(cell: Record | None) -> str:
    if cell is None:
        return "-"
    return f"**{number(cell['mean'])}**" if cell["is_tied"] else number(cell["mean"])


def variants_table(table: Table, dimension: int) -> str:
    """Return the general champion beside the controls on each variant."""
    names = list(dict.fromkeys(row["contestant"] for row in table if row["dimension"] == dimension))
    cells = {(row["variant"], row["problem"], row["contestant"]): row for row in table if row["dimension"] == dimension}
    rows = [
        [problem, *(number(cells.get((kind, problem, name), {}).get("mean")) for kind in VARIANTS for name in names)]
        for problem in rf.problems()
    ]
    short = [re.sub(r"^champion/.*", "champion", name) for name in names]
    return markdown(rows, ["problem", *(f"{kind}: {name}" for kind in VARIANTS for name in short)])


def shares_table(table: Table) -> str:
    """Return proportions beside the paper's."""
    cells = {(row["component"], row["alternative"], row["dimension"]): row for row in table}
    rows = []
    for component, alternative in dict.fromkeys((row["component"], row["alternative"]) for row in table):
        line = [COMPONENTS.get(component, component), alternative]
        for dimension in DIMENSIONS:
            row = cells.get((component, alternative, dimension), {})
            line += [_percent(row.get(key)) for key in ("all", "paper_all", "top_third", "paper_top_third")]
        rows.append(line)
    heading = [f"{dimension}D {what}" for dimension in DIMENSIONS for what in ("all", "paper", "best third", "paper")]
    return markdown(rows, ["component", "alternative", *heading])


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f}%"


def effects_table(table: Table) -> str:
    """Return how much of the spread of places each component explains."""
    rows = [
        [
            f"{row['dimension']}D",
            COMPONENTS.get(row["component"], row["component"]),
            f"{100 * row['effect']:.1f}% ({100 * row['low']:.1f} to {100 * row['high']:.1f})",
            row["best"] or "-",
            row["worst"] or "-",
        ]
        for row in table
    ]
    return markdown(rows, ["", "component", "share explained, 90% interval", "best alternative", "worst"])


def best_table(table: Table) -> str:
    """Return the components of the champions."""
    keys = [key for key in table.columns if key != "id"]
    return markdown([[str(row.get(key, "")) for key in keys] for row in table], keys)


def write(tables: dict[str, Table]) -> None:
    """Write every table as CSV, and those of README.md between their marks."""
    for name, table in tables.items():
        (HERE / f"{name}.csv").write_text(table.to_csv(), encoding="utf-8")
    of = means_table(tables["means"])
    made = {
        **{f"means-{dimension}": of(dimension) for dimension in DIMENSIONS},
        **{f"attacked-{dimension}": attacked_table(tables["means"], dimension) for dimension in DIMENSIONS},
        **{f"tests-{dimension}": tests_table(tables["tests"], dimension) for dimension in DIMENSIONS},
        **{f"variants-{dimension}": variants_table(tables["variants"], dimension) for dimension in DIMENSIONS},
        "proportions": shares_table(tables["proportions"]),
        "effects": effects_table(tables["effects"]),
        "best": best_table(tables["best"]),
    }
    page = HERE / "README.md"
    text = page.read_text(encoding="utf-8")
    for name, table in made.items():
        mark = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = mark.sub(lambda found, table=table: f"{found[1]}{table}\n{found[2]}", text)
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Make everything."""
    ship()
    tables = {"means": means(), "tests": tests(), "variants": variants(), **components()}
    write(tables)
    evidence = archive.read(HERE)
    bred = tuple(outcome for outcome in evidence.outcomes if "comparator" not in outcome.name)
    originals = tuple(run for run in evidence.assessed if run.samples == SIDE_SAMPLES and not _moved(run))
    page = page_html(Evidence("docs/results", bred, originals, running=False))
    (HERE / "report.html").write_text(page, encoding="utf-8")
    for dimension in DIMENSIONS:
        for case in ("individual", "general"):
            rows = [row for row in tables["means"] if (row["dimension"], row["case"]) == (dimension, case)]
            met, below = sum(row["met"] for row in rows), sum(row["below"] for row in rows)
            print(f"{dimension}D {case}: at most the paper's + 2% on {met} of 10, below it on {below}")


SIDE_SAMPLES = 100_000


def _moved(run: Assessed) -> bool:
    return any(f"-{kind}-" in run.problem_name for kind in VARIANTS)


if __name__ == "__main__":
    main()
