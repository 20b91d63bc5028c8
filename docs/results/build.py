"""Builds the tables, the figures, the report and the shipped champions of a study from the files in its folder.

    python docs/results/build.py letter        needs Matplotlib
    python docs/results/build.py tuned

Only statistics are computed: every figure comes from the files that `robustforge reproduce` wrote to the folder.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

import robustforge as rf
from robustforge.analysis import Dataset, results_folder
from robustforge.analysis.features import COMPONENTS
from robustforge.assessment.run_groups import group_runs, measured
from robustforge.reporting import page_html
from robustforge.representation.presets import CHAMPIONS, FOLDER
from robustforge.store import AssessedRun
from robustforge.study import study_tables
from robustforge.study.cases import DIMENSIONS, GENERAL, VARIANTS, champions, comparators
from robustforge.study.published import published
from robustforge.study.scales import Scale, scale_of
from robustforge.tables import Record, Table

HERE = Path(__file__).parent


def ship(folder: Path, scale: Scale) -> None:
    """Copy the champions into the package, where they can be used by name; comparators are those of the tuned study."""
    for case in (*champions(), *(comparators() if folder.name == "tuned" else ())):
        champion = study_tables.champion_of(folder, case)
        if champion is None:
            continue
        name = case.contestant(scale.champion_family)
        path = CHAMPIONS / f"{case.name}.json" if name.startswith("champion/") else FOLDER / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        champion.save(path)


def markdown(rows: Iterable[Sequence[str]], heading: Sequence[str]) -> str:
    """Return a table in Markdown."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float | None) -> str:
    """Return a number with the decimals of the paper's tables, a dash if it is missing."""
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def means_table(table: Table, dimension: int) -> str:
    """Return the champions and the best comparator beside the paper's, and the limits of the problems."""
    heading = ["problem", "individual: ours", "paper", "general: ours", "paper", "best comparator: ours", "paper"]
    heading += ["centre", "limit of the estimate", "robust optimum"]
    rows = []
    for problem, one, every in _cases(table, dimension):
        evolved = [part for row in (one, every) for part in (_marked(row), number(row["paper"]))]
        comparator = f"{number(one['comparator_mean'])} ({one['comparator']})" if one["comparator"] else "-"
        keys = ("paper_comparator", "centre", "estimate_limit", "robust_optimum")
        rows.append([problem, *evolved, comparator, *(number(one[key]) for key in keys)])
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


def verdicts_table(table: Table, dimension: int) -> str:
    """Return the verdict on each champion against comparators of each budget, beside the paper's."""
    rows_here = [row for row in table if row["dimension"] == dimension]
    budgets = sorted({row["comparator_budget"] for row in rows_here})
    cells = {(row["problem"], row["case"], row["comparator_budget"]): row for row in rows_here}
    rows = []
    for problem in rf.problems():
        line = [problem]
        for case in CASES:
            found = [cells[problem, case, budget] for budget in budgets if (problem, case, budget) in cells]
            line += [number(found[0]["champion_mean"]) if found else "-"]
            line += [_verdict(cells.get((problem, case, budget))) for budget in budgets]
            line += [f"{number(found[-1]['paper'])}, {found[-1]['paper_verdict']}" if found else "-"]
        rows.append(line)
    totals = ["better / equal / worse"]
    for case in CASES:
        paper = [row["verdict"] for row in published("paper_means") if _is_case(row, dimension, case)]
        totals += [""]
        for budget in budgets:
            own = (row for row in rows_here if (row["case"], row["comparator_budget"]) == (case, budget))
            totals += [_counts(row["verdict"] for row in own)]
        totals += [_counts(paper)]
    heading = ["problem"]
    for case in CASES:
        heading += [case, *(f"against comparator @{budget}" for budget in budgets), "paper"]
    return markdown([*rows, totals], heading)


CASES = ("individual", "general")


def _is_case(row: dict[str, str], dimension: int, case: str) -> bool:
    return (row["dimension"], row["case"]) == (str(dimension), case)


def _counts(verdicts: Iterable[str]) -> str:
    counted = Counter(verdicts)
    return " / ".join(
        str(counted[verdict]) for verdict in (study_tables.BETTER, study_tables.EQUAL, study_tables.WORSE)
    )


def _verdict(row: Record | None) -> str:
    if row is None:
        return "-"
    name = re.sub(r"^comparator/\d+d/|@\d+$", "", row["comparator"])
    words = f"**{row['verdict']}**" if row["verdict"] == study_tables.BETTER else row["verdict"]
    return f"{words}: {number(row['comparator_mean'])} ({name})"


def attacked_table(table: Table, dimension: int) -> str:
    """Return sampled and attacked worst cases of the champions, side by side."""
    rows = [
        [problem, *(number(row[key]) for row in (one, every) for key in ("ours", "attacked"))]
        for problem, one, every in _cases(table, dimension)
    ]
    return markdown(rows, ["problem", "individual: sampled", "attacked", "general: sampled", "attacked"])


def tests_table(table: Table, dimension: int) -> str:
    """Return the mean of each contestant on each problem, in bold the best and those tied with it."""
    own = [row for row in table if row["dimension"] == dimension]
    names = [name for name in dict.fromkeys(row["contestant"] for row in own) if not _is_individual(name)]
    cells = {(row["problem"], row["contestant"]): row for row in own}
    rows = []
    for problem in sorted(
        {row["problem"] for row in own}, key=lambda name: rf.problems().index(study_tables.plain_name(name))
    ):
        champion = next((row for row in own if row["problem"] == problem and _is_individual(row["contestant"])), None)
        line = [champion, *(cells.get((problem, name)) for name in names)]
        rows.append([study_tables.plain_name(problem), *(_bold(cell) for cell in line)])
    return markdown(rows, ["problem", "individual champion", *(re.sub(r"^\w+/\d+d/", "", name) for name in names)])


def _is_individual(name: str) -> bool:
    return study_tables.is_champion(name) and not name.endswith("/general")


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
    short = ["champion" if study_tables.is_champion(name) else name for name in names]
    return markdown(rows, ["problem", *(f"{kind}: {name}" for kind in VARIANTS for name in short)])


def proportions_table(table: Table) -> str:
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
    """Return the fraction of the variance of ranks that each component explains."""
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
    return markdown(rows, ["", "component", "explained variance, 90% interval", "best alternative", "worst"])


def fitness_table(folder: Path) -> str:
    """Return the best and the median fitness of the single cases in their first and last generations."""
    rows = []
    for case in champions():
        if case.target != GENERAL and (folder / case.name / results_folder.EVOLUTION).exists():
            fitness = results_folder.read_evolution(folder / case.name).fitness
            ends = [number(value) for pair in (fitness[0], fitness[-1]) for value in pair]
            rows.append([case.name, *ends])
    return markdown(rows, ["case", "first generation: best", "median", "last generation: best", "median"])


def best_table(table: Table) -> str:
    """Return the components of the champions."""
    keys = [key for key in table.columns if key != "id"]
    return markdown([[str(row.get(key, "")) for key in keys] for row in table], keys)


def draw(folder: Path, found: Table, dimension: int) -> None:
    """Draw box plots of the runs of champions and comparators on each problem, with the paper's means as lines."""
    path = folder / f"{dimension}d" / "comparison" / results_folder.ASSESSED
    if not path.exists():
        return
    groups = {
        (study_tables.plain_name(problem), name): measured(runs, "value")
        for (problem, name), runs in group_runs(results_folder.read_assessed(path)).items()
    }
    mpl.rcParams.update({"svg.hashsalt": "robustforge", "font.size": 8, "font.family": "sans-serif"})
    figure, axes = plt.subplots(5, 2, figsize=(9, 10), layout="constrained")
    for problem, ax in zip(rf.problems(), axes.flat, strict=True):
        rows = [row for row in found if (row["problem"], row["dimension"]) == (problem, dimension)]
        contestants = _drawn(groups, rows, problem)
        ax.boxplot(
            [groups[problem, name] for name in contestants.values()],
            tick_labels=list(contestants),
            orientation="horizontal",
            widths=0.6,
            flierprops={"markersize": 2, "markeredgecolor": "#718096"},
            medianprops={"color": "#c05621"},
        )
        for row in published("paper_means"):
            if row["problem"] == problem and row["dimension"] == str(dimension):
                style = "--" if row["case"] == GENERAL else ":"
                ax.axvline(float(row["gggp_2000"]), color="#2b6cb0", lw=1, ls=style)
        ax.invert_yaxis()
        ax.locator_params(axis="x", nbins=5)
        ax.set_title(problem, loc="left", fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
    figure.patch.set_facecolor("white")
    figure.savefig(folder / f"{dimension}d-boxes.svg", metadata={"Date": None})
    plt.close(figure)


def _drawn(groups: dict[tuple[str, str], object], rows: Sequence[Record], problem: str) -> dict[str, str]:
    """Return the contestants of a box plot by their labels: both champions and the comparators of the verdicts."""
    found = {
        f"{'individual' if _is_individual(name) else 'general'} champion": name
        for where, name in groups
        if where == problem and study_tables.is_champion(name)
    }
    found |= {row["comparator"].split("/")[-1]: row["comparator"] for row in rows}
    return found


def write(folder: Path, found: dict[str, Table]) -> None:
    """Write every table as CSV, and those of README.md between their markers."""
    for name, table in found.items():
        if table:
            (folder / f"{name}.csv").write_text(table.to_csv(), encoding="utf-8")
    sections = {
        **{f"means-{dimension}": means_table(found["means"], dimension) for dimension in DIMENSIONS},
        **{f"verdicts-{dimension}": verdicts_table(found["verdicts"], dimension) for dimension in DIMENSIONS},
        **{f"attacked-{dimension}": attacked_table(found["means"], dimension) for dimension in DIMENSIONS},
        **{f"tests-{dimension}": tests_table(found["tests"], dimension) for dimension in DIMENSIONS},
        **{f"variants-{dimension}": variants_table(found["variants"], dimension) for dimension in DIMENSIONS},
        "fitness": fitness_table(folder),
        "proportions": proportions_table(found["proportions"]),
        "effects": effects_table(found["effects"]),
        "best": best_table(found["best"]),
    }
    page = folder / "README.md"
    text = page.read_text(encoding="utf-8")
    for name, table in sections.items():
        marker = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = marker.sub(lambda part, table=table: f"{part[1]}{table}\n{part[2]}", text)
    page.write_text(text, encoding="utf-8")


def build(study: str) -> None:
    """Build everything of one study."""
    folder, scale = HERE / study, scale_of(study)
    ship(folder, scale)
    found = {
        "means": study_tables.means(folder),
        "verdicts": study_tables.verdicts(folder),
        "tests": study_tables.tests(folder),
        "variants": study_tables.variants(folder),
        "deciles": study_tables.case_deciles(folder),
        **study_tables.components(folder),
    }
    write(folder, found)
    for dimension in DIMENSIONS:
        draw(folder, found["verdicts"], dimension)
    dataset = results_folder.read(folder)
    evolved = tuple(evolution for evolution in dataset.evolutions if "comparator" not in evolution.name)
    originals = tuple(
        run for run in dataset.assessed_runs if run.samples == scale.comparison_samples and not _is_variant(run)
    )
    page = page_html(Dataset(f"docs/results/{study}", evolved, originals, running=False))
    (folder / "report.html").write_text(page, encoding="utf-8")
    for dimension in DIMENSIONS:
        for case in CASES:
            rows = [row for row in found["means"] if (row["dimension"], row["case"]) == (dimension, case)]
            met, below = sum(row["met"] for row in rows), sum(row["below"] for row in rows)
            print(f"{dimension}D {case}: at most the paper's + 2% on {met} of 10, below it on {below}")


def _is_variant(run: AssessedRun) -> bool:
    return any(f"-{kind}-" in run.problem_name for kind in VARIANTS)


if __name__ == "__main__":
    for argument in sys.argv[1:] or ("letter", "tuned"):
        build(argument)
