"""The sections of components: how frequent they are among the best heuristics, and how large their effects are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from robustforge.analysis import Dataset, EvolutionRecord, pooled
from robustforge.analysis.component_tables import applicable, best_components, cross_table, deciles, proportions
from robustforge.analysis.effects import decomposition
from robustforge.analysis.features import COMPONENTS, NOT_APPLICABLE
from robustforge.formatting import count, percent
from robustforge.reporting import experiment_figures
from robustforge.tables import Record

MAX_PAIRS = 8
"""Pairs of components with the largest joint effects that are shown."""

CROSSED = ("inner", "extent")
"""The two components whose combinations the paper tabulates."""


def components(dataset: Dataset) -> list[Record]:
    """Return the analysis of components: a record for each dimension, and one for evolutions of several dimensions."""
    records = [
        _analysis(dimensions[0], pool)
        for dimensions, pool in pooled(dataset.evolutions).items()
        if len(dimensions) == 1
    ]
    mixed = [evolution for evolution in dataset.evolutions if evolution.heuristics and len(evolution.dimensions) > 1]
    return [*records, *([_analysis(None, mixed)] if mixed else [])]


def champion_table(evolutions: Sequence[EvolutionRecord]) -> Record:
    """Return the components of each champion, as a table."""
    rows = best_components(evolutions)
    keys = [key for key in rows.columns if key not in ("name", "champion", "id")]
    return {
        "columns": [COMPONENTS.get(key, key) for key in keys],
        "rows": [{"name": row["name"], "cells": [str(row[key]) for key in keys]} for row in rows],
    }


def _analysis(dimension: int | None, evolutions: Sequence[EvolutionRecord]) -> Record:
    name = count(dimension, "variable") if dimension else "Problems of several dimensions"
    heuristics = sum(len(evolution.heuristics) for evolution in evolutions)
    effects, pairs = _effects(dimension, evolutions)
    shown = applicable(proportions(evolutions))
    return {
        "heading": name,
        "slug": str(dimension or "mixed"),
        "summary": f"{count(heuristics, 'distinct heuristic')} of {count(len(evolutions), 'evolution')}",
        "proportions": [_proportions(dimension, key, own) for key, own in shown.items()],
        "deciles": [_deciles(dimension, evolutions, key) for key in shown],
        "effects": effects,
        "pairs": pairs,
        "crossed": _crossed(evolutions),
    }


def _proportions(dimension: int | None, key: str, rows: Sequence[Record]) -> Record:
    gain = max(rows, key=lambda row: row["top_third"] - row["all"])
    caption = f"{gain['alternative']}: {percent(gain['all'])} of all, {percent(gain['top_third'])} of the top third."
    svg = experiment_figures.proportions(
        f"share-{dimension}-{key}", f"{COMPONENTS[key]}, all and top third. {caption}", rows
    )
    return {"title": COMPONENTS[key], "svg": svg, "caption": caption}


def _deciles(dimension: int | None, evolutions: Sequence[EvolutionRecord], key: str) -> Record:
    rows = deciles(evolutions, key)
    first = [row for row in rows if row["decile"] == 1]
    best = max([row for row in first if row["alternative"] != NOT_APPLICABLE] or first, key=lambda row: row["share"])
    caption = f"{best['alternative']} in {percent(best['share'])} of the best decile"
    last = next((row for row in rows if row["decile"] == 10 and row["alternative"] == best["alternative"]), None)
    caption += f", in {percent(last['share'])} of the worst." if last else "."
    svg = experiment_figures.deciles(f"decile-{dimension}-{key}", f"{COMPONENTS[key]} by decile. {caption}", rows)
    return {"title": COMPONENTS[key], "svg": svg, "caption": caption}


def _effects(dimension: int | None, evolutions: Sequence[EvolutionRecord]) -> tuple[Record | None, Record | None]:
    """Return the effects of single components and of the strongest pairs; `None` without enough data."""
    single, joint = decomposition(evolutions)
    known = [row for row in single if not math.isnan(row["effect"])]
    strongest = [row for row in joint if not math.isnan(row["effect"])][:MAX_PAIRS]
    if not known or not strongest:
        return None, None
    one = [{**row, "name": _short_name(row["component"])} for row in known]
    two = [{**row, "name": f"{_short_name(row['first'])} × {_short_name(row['second'])}"} for row in strongest]
    return _effect_record(f"effects-{dimension}", "Single components", one), _effect_record(
        f"pairs-{dimension}", "Strongest pairs", two
    )


def _effect_record(key: str, title: str, rows: Sequence[Record]) -> Record:
    first = rows[0]
    interval = f"{_percent(first['low'])} to {_percent(first['high'])}"
    caption = f"Strongest: {first['name']}, {_percent(first['effect'])} ({interval})."
    return {
        "title": title,
        "svg": experiment_figures.intervals(
            key, f"{title} and their effects. {caption}", rows, "fraction of the variance of ranks"
        ),
        "caption": caption,
        "rows": [
            {
                "name": row["name"],
                "effect": _percent(row["effect"]),
                "interval": f"{_percent(row['low'])} to {_percent(row['high'])}",
                "best": row.get("best") or "",
                "worst": row.get("worst") or "",
            }
            for row in rows
        ],
    }


def _crossed(evolutions: Sequence[EvolutionRecord]) -> Record:
    rows = cross_table(evolutions, *CROSSED)
    columns = list(dict.fromkeys(row["second"] for row in rows))
    shares = {(row["first"], row["second"]): row["share"] for row in rows}
    return {
        "first": COMPONENTS[CROSSED[0]],
        "second": COMPONENTS[CROSSED[1]],
        "columns": columns,
        "rows": [
            {
                "name": name,
                "cells": [{"text": percent(shares[name, each]), "share": shares[name, each]} for each in columns],
            }
            for name in dict.fromkeys(row["first"] for row in rows)
        ],
    }


def _short_name(key: str) -> str:
    """Return the name of a component next to a figure, where the name in the paper would be too long."""
    return _NAMES.get(key, key)


def _percent(value: float) -> str:
    return f"{100 * value:.1f}%"


_NAMES = {
    "inner": "inner form",
    "extent": "inner extent",
    "group": "swarm size",
    "n_dorm": "nDorm",
    "n_pbest": "nPBest",
    "outer": "outer search",
    "clamp": "velocity clamp",
    "order": "order of moves",
}
