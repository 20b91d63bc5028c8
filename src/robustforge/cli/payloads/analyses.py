"""The payload of `analyse`: components of evolved heuristics, pooled by the number of variables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from robustforge.analysis.component_tables import best_components, cross_table, deciles, proportions
from robustforge.analysis.dataset import Dataset, EvolutionRecord, pooled
from robustforge.analysis.effects import decomposition
from robustforge.analysis.features import COMPONENTS, alternatives
from robustforge.errors import AssessmentError
from robustforge.tables import Record, Table

ANALYSIS_FORMAT = "robustforge-analysis/1"
TABLES = ("proportions", "deciles", "best", "cross", "effects", "pairs")

_CROSS = ("inner", "extent")
"""The two components of the cross table in the paper."""


def parse_choices(component: str | None, cross: str | None) -> tuple[str, str]:
    """Return the two components of the cross table, after checking the names of all components.

    Raises:
        RobustforgeError: A component does not exist, or `cross` does not name two.
    """
    if component is not None:
        alternatives(component)
    if cross is None:
        return _CROSS
    parts = [part.strip() for part in cross.split(",")]
    for part in parts:
        alternatives(part)
    if len(parts) != 2:
        raise AssessmentError("--cross must name two components", f"got {cross!r}", "Write --cross inner,extent")
    return parts[0], parts[1]


def analysis_payload(dataset: Dataset, component: str | None, cross: tuple[str, str], effects: bool) -> Record:
    """Return the components of evolved heuristics; evolutions with the same number of variables are pooled.

    Args:
        dataset: The evolutions.
        component: The component to show in detail, if any.
        cross: The two components of the cross table.
        effects: Whether to estimate effects, which takes some seconds.

    Raises:
        AssessmentError: No evolution has a complete generation.
    """
    pools = pooled(dataset.evolutions)
    if not pools:
        raise AssessmentError(
            f"{dataset.path} has no evolution with a complete generation",
            fix="Wait, or start one with `robustforge evolve`",
        )
    return {
        "format": ANALYSIS_FORMAT,
        "path": dataset.path,
        "component": component,
        "crossed": list(cross),
        "without_generation": [outcome.name for outcome in dataset.evolutions if not outcome.heuristics],
        "pools": [_pool(dimensions, pool, cross, effects) for dimensions, pool in pools.items()],
    }


def _pool(
    dimensions: tuple[int, ...], outcomes: Sequence[EvolutionRecord], cross: tuple[str, str], effects: bool
) -> Record:
    counted = proportions(outcomes)
    strength, joint = decomposition(outcomes) if effects else (None, None)
    evolutions = [
        {"name": each.name, "heuristics": len(each.heuristics), "finished": each.finished} for each in outcomes
    ]
    return {
        "dimensions": list(dimensions),
        "evolutions": evolutions,
        "heuristics": sum(each["heuristics"] for each in evolutions),
        "top_third": sum(row["count_top"] for row in counted if row["component"] == "inner"),
        "proportions": counted,
        "deciles": [{"component": key, **row} for key in COMPONENTS for row in deciles(outcomes, key)],
        "best": best_components(outcomes),
        "cross": _crossed(outcomes, *cross),
        "effects": strength,
        "pairs": joint,
    }


def _crossed(outcomes: Sequence[EvolutionRecord], first: str, second: str) -> list[Record]:
    """Return the joint frequencies of two components, among all heuristics and in the top third."""
    cells = {(row["first"], row["second"]): row["share"] for row in cross_table(outcomes, first, second)}
    return [
        {"first": one, "second": other, "all": row["share"], "top_third": cells.get((one, other), 0.0)}
        for row in cross_table(outcomes, first, second, top=False)
        for one, other in [(row["first"], row["second"])]
    ]


def write_tables(payload: Record, folder: str) -> None:
    """Write each table of an analysis as CSV to a folder, which is created if necessary."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        rows = [
            {"dimension": _joined(pool["dimensions"]), **row} for pool in payload["pools"] for row in pool[name] or ()
        ]
        if rows:
            Path(folder, f"{name}.csv").write_text(Table(rows).to_csv(), encoding="utf-8")


def _joined(dimensions: Sequence[int]) -> str:
    return " and ".join(map(str, dimensions))
