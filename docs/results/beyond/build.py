"""Builds the tables and figures of README.md from the runs in this folder, and the first table of the project's README.

    python docs/results/beyond/build.py

Only statistics are computed: every figure comes from the files that `benchmarks/beyond.py --write` put here.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import mannwhitneyu, rankdata

import robustforge as rf
from robustforge.study import study_tables

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
VARIANTS = ("original", "shifted", "rotated", "shifted-rotated")

TARGETS = {
    (30, False): (50, -0.89, -1.22, 0.310, 0.32, 1.011, 0.17, 4.28, 1.005, 35.8),
    (30, True): (75, -0.70, -0.66, 0.36, 0.39, 1.011, 0.21, 4.28, 1.005, 35.8),
    (100, False): (200, -0.84, -1.1, 0.320, 0.38, 1.011, 0.10, 3.18, 1.005, 110),
    (100, True): (190, -0.70, -0.51, 0.36, 0.40, 1.011, 0.22, 3.18, 1.005, 110),
}
"""Target means, from a study of other outer searches with a margin: by dimension, and whether problems are rotated."""

REFERENCES = (
    ("paper, general", "paper_means", "gggp_2000", "general"),
    ("paper, individual", "paper_means", "gggp_2000", "individual"),
    ("limit of the estimate", "limits", "estimator_limit_1e6", ""),
    ("robust optimum", "limits", "true_robust_optimum", ""),
)
"""Rows of published figures: title, file, column and case."""

COLOURS = {"extended": "#c05621", "general": "#2b6cb0", "mirrored-es": "#2f855a", "cma-es": "#6b46c1"}

Runs = dict[tuple[str, str, str], list[dict[str, str]]]
"""The runs of a file by variant, problem and contestant."""


def read(name: str) -> Runs:
    """Return the runs of a file; empty if there is no such file."""
    path, found = HERE / f"{name}.csv.gz", Runs()
    if path.exists():
        for row in csv.DictReader(gzip.decompress(path.read_bytes()).decode().splitlines()):
            found.setdefault((row["variant"], row["problem"], row["contestant"]), []).append(row)
    return found


def values(runs: Runs, variant: str, problem: str, contestant: str, key: str = "value") -> np.ndarray:
    """Return the values of a contestant's designs on a problem."""
    found = np.array([float(row[key]) for row in runs[variant, problem, contestant]])
    return found[np.isfinite(found)] if key != "value" else found


def mean(runs: Runs, variant: str, problem: str, contestant: str, key: str = "value") -> float:
    """Return the mean value of a contestant's designs on a problem; NaN if there are none."""
    found = values(runs, variant, problem, contestant, key)
    return float(found.mean()) if found.size else np.nan


def names_of(runs: Runs, position: int) -> list[str]:
    """Return the variants (0), problems (1) or contestants (2) of a file, in order."""
    return list(dict.fromkeys(key[position] for key in runs))


def short(name: str) -> str:
    """Return the name of a contestant without its dimension."""
    return re.sub(
        r"^champion/\d+d/(extended|few)$", "**robustforge**", re.sub(r"^champion/\d+d/general$", "best swarm", name)
    )


def number(value: float) -> str:
    """Return a number with three digits."""
    return "-" if np.isnan(value) else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def markdown(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def means(name: str, dimension: int, key: str = "value") -> str:
    """Return a table per variant: the means of all contestants and the targets, with a dagger at a missed target."""
    runs = read(name)
    problems, made = names_of(runs, 1), []
    for variant in names_of(runs, 0):
        targets = TARGETS.get((dimension, "rotated" in variant)) if key == "value" and "held" not in name else None
        lines = []
        for contestant in names_of(runs, 2):
            found = [mean(runs, variant, problem, contestant, key) for problem in problems]
            texts = [number(value) for value in found]
            line = [short(contestant), *texts]
            if targets:
                met = [value <= target for value, target in zip(found, targets, strict=True)]
                is_ours = contestant == names_of(runs, 2)[0]
                marks = [text if good or not is_ours else f"{text} †" for text, good in zip(texts, met, strict=True)]
                line = [short(contestant), *marks, f"{sum(met)} of {len(met)}"]
            lines.append(line)
        if targets:
            lines.append(["*target*", *(number(target) for target in targets), ""])
        if targets and variant == "original":
            lines += [[*line, ""] for line in reference_rows(dimension, problems)]
        made.append(markdown([f"{dimension} variables, {variant}", *problems, *([""] if targets else [])], lines))
    return "\n\n".join(made)


def reference_rows(dimension: int, problems: Sequence[str]) -> list[list[str]]:
    """Return rows of published figures on the original problems: the paper's, and the limits of the problems."""
    found: list[list[str]] = []
    for title, name, column, case in REFERENCES:
        rows = {
            row["problem"]: row[column]
            for row in study_tables.published(name)
            if int(row["dimension"]) == dimension and row.get("case", case) == case
        }
        found.append([f"*{title}*", *(number(float(rows[problem])) for problem in problems)])
    return found


def ranks(name: str) -> str:
    """Return the average rank of each contestant, and how often the first is significantly better or worse than it."""
    runs = read(name)
    variants, problems, names = (names_of(runs, position) for position in range(3))
    lines = []
    ranks_by_measure = {
        key: np.array(
            [
                rankdata([mean(runs, variant, problem, contestant, key) for contestant in names])
                for variant in variants
                for problem in problems
            ]
        )
        for key in ("value", "attacked")
    }
    for k, contestant in enumerate(names):
        tests = [_test(runs, variant, problem, names[0], contestant) for variant in variants for problem in problems]
        significant = f"{tests.count(1)} to {tests.count(-1)}" if k else ""
        attacked = ranks_by_measure["attacked"][:, k].mean()
        lines.append([short(contestant), number(ranks_by_measure["value"][:, k].mean()), number(attacked), significant])
    count = len(variants) * len(problems)
    return markdown(["", "average rank", "by attack", f"robustforge better to worse, of {count}"], lines)


def _test(runs: Runs, variant: str, problem: str, one: str, other: str) -> int:
    """Return 1 if the first is significantly better by a rank-sum test at the 5% level, -1 if worse, else 0."""
    ours, theirs = values(runs, variant, problem, one), values(runs, variant, problem, other)
    if np.ptp(np.concatenate([ours, theirs])) == 0 or mannwhitneyu(ours, theirs).pvalue >= 0.05:
        return 0
    return 1 if np.median(ours) <= np.median(theirs) else -1


def other_settings() -> str:
    """Return the ranks of the champions in other dimensions and with other budgets, and where they lose."""
    lines = []
    for path in sorted(
        HERE.glob("at-*.csv.gz"), key=lambda path: [int(part) for part in re.findall(r"\d+", path.name)]
    ):
        name = path.name.removesuffix(".csv.gz")
        runs = read(name)
        variants, problems, names = (names_of(runs, position) for position in range(3))
        row = next(iter(runs.values()))[0]
        every = [
            rankdata([mean(runs, variant, problem, contestant) for contestant in names])
            for variant in variants
            for problem in problems
        ]
        average = np.mean(every, axis=0)
        lost: dict[str, list[str]] = {}
        for contestant in names[1:]:
            for variant in variants:
                for problem in problems:
                    if _test(runs, variant, problem, names[0], contestant) < 0:
                        lost.setdefault(short(contestant), []).append(f"{problem} ({variant})")
        text = "; ".join(f"{contestant}: {', '.join(where)}" for contestant, where in lost.items()) or "none"
        texts = [f"{rank:.2f}" for rank in average]
        lines.append([row["dimension"], f"{int(row['budget']):,}", *texts, text])
    heading = [short(contestant) for contestant in names_of(read(name), 2)] if lines else []
    return markdown(["variables", "evaluations", *heading, "loses to"], lines)


def effects() -> str:
    """Return the fraction of the variance that each component explains, for each budget with an analysis."""
    lines = []
    for budget in (200, 2000):
        path = HERE / f"components-{budget}" / "effects.csv"
        for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()) if path.exists() else ():
            if row["best"]:
                effect, low, high = (100 * float(row[key]) for key in ("effect", "low", "high"))
                interval = f"{effect:.1f}% ({low:.1f} to {high:.1f})"
                lines.append([f"{budget:,}", row["component"], interval, row["best"], row["worst"]])
    return markdown(["evaluations", "component", "explained variance, 90% interval", "best", "worst"], lines)


def descriptions() -> str:
    """Return the descriptions of the default heuristics."""
    names = ("champion/30d/extended", "champion/100d/extended", "champion/10d/few", "champion/30d/few")
    return "\n\n".join(f"`{name}`:\n\n{rf.heuristic(name)}" for name in names)


def first_table() -> str:
    """Return the table of the project's README: the default beside common alternatives, shifted and rotated."""
    lines, heading = [], ["worst case, shifted and rotated"]
    names = ("extended", "general", "cma-es", "random")
    every = {dimension: read(f"{dimension}d") for dimension in (30, 100)}
    for dimension, runs in every.items():
        heading += [
            f"{dimension}D: {short(contestant)}" for contestant in names_of(runs, 2) if contestant.endswith(names)
        ]
    for problem in names_of(every[30], 1):
        line = [problem]
        for runs in every.values():
            own = [contestant for contestant in names_of(runs, 2) if contestant.endswith(names)]
            found = [mean(runs, "shifted-rotated", problem, contestant) for contestant in own]
            line += [f"**{number(value)}**" if value == min(found) else number(value) for value in found]
        lines.append(line)
    return markdown(heading, lines)


def draw(name: str, variant: str, kind: str) -> None:
    """Write a figure with a panel per problem: box plots of all runs, or means against evaluations."""
    runs = read(name)
    problems, names = names_of(runs, 1), [contestant for contestant in names_of(runs, 2) if contestant != "centre"]
    mpl.rcParams.update({"svg.hashsalt": "robustforge", "font.size": 8, "font.family": "sans-serif"})
    figure, panels = plt.subplots(2, -(-len(problems) // 2), figsize=(11, 4.6), layout="constrained")
    for axes, problem in zip(panels.flat, problems, strict=False):
        for k, contestant in enumerate(names):
            colour = COLOURS.get(contestant.rsplit("/", 1)[-1], "#718096")
            if kind == "boxes":
                found = values(runs, variant, problem, contestant)
                made = axes.boxplot(found, positions=[-k], orientation="horizontal", widths=0.6, patch_artist=True)
                made["boxes"][0].set(facecolor=colour, alpha=0.35, edgecolor=colour)
                made["medians"][0].set(color=colour, linewidth=1.6)
                for line in (*made["whiskers"], *made["caps"]):
                    line.set(color=colour)
                made["fliers"][0].set(marker=".", markersize=2.5, markeredgecolor=colour)
            else:
                keys = [key for key in runs[variant, problem, contestant][0] if key.startswith("at ")]
                budget = int(runs[variant, problem, contestant][0]["budget"])
                curve = [mean(runs, variant, problem, contestant, key) for key in keys]
                axes.plot([budget * float(key[3:]) for key in keys], curve, color=colour, lw=1.6 - 0.15 * k)
        axes.set_title(problem, fontsize=8.5, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        if kind == "boxes":
            is_first = axes in panels[:, 0]
            labels = [short(contestant).strip("*") for contestant in names] if is_first else [""] * len(names)
            axes.set_yticks([-k for k in range(len(names))], labels)
    if kind == "curves":
        figure.legend(
            panels[0, 0].lines,
            [short(contestant).strip("*") for contestant in names],
            loc="outside lower right",
            ncols=5,
            frameon=False,
        )
        figure.supxlabel("evaluations", x=0.12, fontsize=8.5)
    figure.patch.set_facecolor("white")
    figure.savefig(HERE / f"{name}-{kind}.svg", metadata={"Date": None})
    plt.close(figure)


def fill(page: Path, made: dict[str, str]) -> None:
    """Insert tables between their markers."""
    text = page.read_text(encoding="utf-8")
    for name, table in made.items():
        marker = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, count = marker.subn(lambda part, table=table: f"{part[1]}{table}\n{part[2]}", text)
        assert count == 1, name
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Build everything that there are runs for."""
    made: dict[str, str] = {}
    for dimension in (30, 100):
        name = f"{dimension}d"
        made |= {f"means-{name}": means(name, dimension), f"ranks-{name}": ranks(name)}
        for kind in ("boxes", "curves"):
            draw(name, "shifted-rotated", kind)
    attacked = [means("30d", 30, "attacked"), means("100d-attacked", 100, "attacked")]
    made |= {"attacked": "\n\n".join(attacked)}
    made |= {
        "held-out": means("30d-held-out", 30),
        "ranks-held-out": ranks("30d-held-out"),
        "elsewhere": other_settings(),
        "effects": effects(),
        "words": descriptions(),
    }
    fill(HERE / "README.md", made)
    fill(ROOT / "README.md", {"first table": first_table()})


if __name__ == "__main__":
    main()
