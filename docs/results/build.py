"""Turns the outcomes in this folder into tables, a report, the shipped champions, and the tables of README.md.

    python docs/results/build.py

Nothing is run but statistics: every figure comes from the files that `robustforge reproduce` wrote here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import robustforge as rf
from robustforge.analysis import Evidence, archive
from robustforge.analysis.components import COMPONENTS
from robustforge.heuristic.presets import CHAMPIONS, FOLDER
from robustforge.report import page_html
from robustforge.store import Assessed
from robustforge.study import tables
from robustforge.study.cases import DIMENSIONS, VARIANTS, champions, comparators
from robustforge.study.scales import scale_of
from robustforge.tables import Record, Table

HERE = Path(__file__).parent


def ship() -> None:
    """Copy what was bred to where it can be used by name."""
    for case in (*champions(), *comparators()):
        champion = tables.bred(HERE, case)
        if champion is None:
            continue
        place = FOLDER / f"{case.contestant}.json" if case.is_comparator else CHAMPIONS / f"{case.name}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        champion.save(place)


def markdown(rows: Iterable[Sequence[str]], heading: Sequence[str]) -> str:
    """Return a table in Markdown."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float | None) -> str:
    """Return a figure with as many decimals as in the paper's tables, a dash if there is none."""
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def means_table(table: Table, dimension: int) -> str:
    """Return ours beside the paper's: the champions, the best comparator, and what can be reached."""
    heading = ["problem", "individual: ours", "paper", "general: ours", "paper", "best comparator: ours", "paper"]
    heading += ["centre", "limit of the estimate", "robust optimum"]
    rows = []
    for problem, one, every in _cases(table, dimension):
        bred = [part for row in (one, every) for part in (_marked(row), number(row["paper"]))]
        rival = f"{number(one['comparator_mean'])} ({one['comparator']})" if one["comparator"] else "-"
        keys = ("paper_comparator", "centre", "estimate_limit", "robust_optimum")
        rows.append([problem, *bred, rival, *(number(one[key]) for key in keys)])
    return markdown(rows, heading)


def _cases(table: Table, dimension: int) -> list[tuple[str, Record, Record]]:
    """Return each problem with its individual and its general case."""
    cells = {(row["problem"], row["case"]): row for row in table if row["dimension"] == dimension}
    return [(problem, cells[problem, "individual"], cells[problem, "general"]) for problem in rf.problems()]


def _marked(row: Record) -> str:
    if row["ours"] is None:
        return "-"
    text = f"{number(row['ours'])} +- {number(row['se'])}"
    return f"**{text}**" if row["below"] else text if row["met"] else f"{text} (short)"


def attacked_table(table: Table, dimension: int) -> str:
    """Return sampled and attacked worst cases of the champions, side by side."""
    rows = [
        [problem, *(number(row[key]) for row in (one, every) for key in ("ours", "attacked"))]
        for problem, one, every in _cases(table, dimension)
    ]
    return markdown(rows, ["problem", "individual: sampled", "attacked", "general: sampled", "attacked"])


def tests_table(table: Table, dimension: int) -> str:
    """Return the mean of everybody on every problem, in bold who is best or tied with it."""
    own = [row for row in table if row["dimension"] == dimension]
    names = [name for name in dict.fromkeys(row["contestant"] for row in own) if not _is_individual(name)]
    cells = {(row["problem"], row["contestant"]): row for row in own}
    rows = []
    for problem in sorted(
        {row["problem"] for row in own}, key=lambda name: rf.problems().index(tables.plain_name(name))
    ):
        champion = next((row for row in own if row["problem"] == problem and _is_individual(row["contestant"])), None)
        line = [champion, *(cells.get((problem, name)) for name in names)]
        rows.append([tables.plain_name(problem), *(_bold(cell) for cell in line)])
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


def write(found: dict[str, Table]) -> None:
    """Write every table as CSV, and those of README.md between their marks."""
    for name, table in found.items():
        (HERE / f"{name}.csv").write_text(table.to_csv(), encoding="utf-8")
    made = {
        **{f"means-{dimension}": means_table(found["means"], dimension) for dimension in DIMENSIONS},
        **{f"attacked-{dimension}": attacked_table(found["means"], dimension) for dimension in DIMENSIONS},
        **{f"tests-{dimension}": tests_table(found["tests"], dimension) for dimension in DIMENSIONS},
        **{f"variants-{dimension}": variants_table(found["variants"], dimension) for dimension in DIMENSIONS},
        "proportions": shares_table(found["proportions"]),
        "effects": effects_table(found["effects"]),
        "best": best_table(found["best"]),
    }
    page = HERE / "README.md"
    text = page.read_text(encoding="utf-8")
    for name, table in made.items():
        mark = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = mark.sub(lambda part, table=table: f"{part[1]}{table}\n{part[2]}", text)
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Make everything."""
    ship()
    found = {"means": tables.means(HERE), "tests": tables.tests(HERE), "variants": tables.variants(HERE)}
    found |= tables.components(HERE)
    write(found)
    evidence = archive.read(HERE)
    samples = scale_of("small").side_samples
    bred = tuple(outcome for outcome in evidence.outcomes if "comparator" not in outcome.name)
    originals = tuple(run for run in evidence.assessed if run.samples == samples and not _moved(run))
    page = page_html(Evidence("docs/results", bred, originals, running=False))
    (HERE / "report.html").write_text(page, encoding="utf-8")
    for dimension in DIMENSIONS:
        for case in ("individual", "general"):
            rows = [row for row in found["means"] if (row["dimension"], row["case"]) == (dimension, case)]
            met, below = sum(row["met"] for row in rows), sum(row["below"] for row in rows)
            print(f"{dimension}D {case}: at most the paper's + 2% on {met} of 10, below it on {below}")


def _moved(run: Assessed) -> bool:
    return any(f"-{kind}-" in run.problem_name for kind in VARIANTS)


if __name__ == "__main__":
    main()
