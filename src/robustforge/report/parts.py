"""Components on the page: which of them the best heuristics have, tenth by tenth, and what that is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence

from robustforge.analysis import Evidence, Outcome, pooled
from robustforge.analysis.components import (
    COMPONENTS,
    NOT_APPLICABLE,
    applicable,
    best_components,
    cross_table,
    deciles,
    proportions,
)
from robustforge.analysis.effects import decomposition
from robustforge.formatting import percent
from robustforge.report import figures
from robustforge.report.words import count
from robustforge.tables import Record

STRONGEST_PAIRS = 8

CROSSED = ("inner", "extent")
"""The two components that the paper looks at together."""


def components(evidence: Evidence) -> list[Record]:
    """Return the analysis of components: a record for each number of variables, and one for all that have several."""
    records = [_analysis(sizes[0], pool) for sizes, pool in pooled(evidence.outcomes).items() if len(sizes) == 1]
    mixed = [outcome for outcome in evidence.outcomes if outcome.bred and len(outcome.dimensions) > 1]
    return [*records, *([_analysis(None, mixed)] if mixed else [])]


def champion_table(outcomes: Sequence[Outcome]) -> Record:
    """Return what each champion is made of, as a table."""
    rows = best_components(outcomes)
    keys = [key for key in rows.columns if key not in ("name", "champion", "id")]
    return {
        "columns": [COMPONENTS.get(key, key) for key in keys],
        "rows": [{"name": row["name"], "cells": [str(row[key]) for key in keys]} for row in rows],
    }


def _analysis(size: int | None, outcomes: Sequence[Outcome]) -> Record:
    name = count(size, "variable") if size else "Problems of several sizes"
    heuristics = sum(len(outcome.bred) for outcome in outcomes)
    effects, pairs = _effects(size, outcomes)
    shown = applicable(proportions(outcomes))
    return {
        "heading": name,
        "slug": str(size or "mixed"),
        "words": f"{count(heuristics, 'distinct heuristic')} of {count(len(outcomes), 'evolution')}",
        "proportions": [_proportions(size, key, own) for key, own in shown.items()],
        "deciles": [_deciles(size, outcomes, key) for key in shown],
        "effects": effects,
        "pairs": pairs,
        "crossed": _crossed(outcomes),
    }


def _proportions(size: int | None, key: str, rows: Sequence[Record]) -> Record:
    gain = max(rows, key=lambda row: row["top_third"] - row["all"])
    caption = f"{gain['alternative']}: {percent(gain['all'])} of all, {percent(gain['top_third'])} of the top third."
    svg = figures.proportions(f"share-{size}-{key}", f"{COMPONENTS[key]}, all and top third. {caption}", rows)
    return {"title": COMPONENTS[key], "svg": svg, "caption": caption}


def _deciles(size: int | None, outcomes: Sequence[Outcome], key: str) -> Record:
    rows = deciles(outcomes, key)
    first = [row for row in rows if row["decile"] == 1]
    best = max([row for row in first if row["alternative"] != NOT_APPLICABLE] or first, key=lambda row: row["share"])
    caption = f"{best['alternative']} in {percent(best['share'])} of the best tenth"
    last = next((row for row in rows if row["decile"] == 10 and row["alternative"] == best["alternative"]), None)
    caption += f", in {percent(last['share'])} of the worst." if last else "."
    svg = figures.deciles(f"decile-{size}-{key}", f"{COMPONENTS[key]} by tenth. {caption}", rows)
    return {"title": COMPONENTS[key], "svg": svg, "caption": caption}


def _effects(size: int | None, outcomes: Sequence[Outcome]) -> tuple[Record | None, Record | None]:
    """Return the effects and the strongest pairs, if there is enough to say something about them."""
    single, joint = decomposition(outcomes)
    known = [row for row in single if not math.isnan(row["effect"])]
    strongest = [row for row in joint if not math.isnan(row["effect"])][:STRONGEST_PAIRS]
    if not known or not strongest:
        return None, None
    one = [{**row, "name": _short_name(row["component"])} for row in known]
    two = [{**row, "name": f"{_short_name(row['first'])} × {_short_name(row['second'])}"} for row in strongest]
    return _effect_record(f"effects-{size}", "Single components", one), _effect_record(
        f"pairs-{size}", "Strongest pairs", two
    )


def _effect_record(key: str, title: str, rows: Sequence[Record]) -> Record:
    first = rows[0]
    caption = (
        f"Strongest: {first['name']}, {_share(first['effect'])} ({_share(first['low'])} to {_share(first['high'])})."
    )
    return {
        "title": title,
        "svg": figures.intervals(key, f"{title} and their effects. {caption}", rows, "share of the variance of places"),
        "caption": caption,
        "rows": [
            {
                "name": row["name"],
                "effect": _share(row["effect"]),
                "interval": f"{_share(row['low'])} to {_share(row['high'])}",
                "best": row.get("best") or "",
                "worst": row.get("worst") or "",
            }
            for row in rows
        ],
    }


def _crossed(outcomes: Sequence[Outcome]) -> Record:
    rows = cross_table(outcomes, *CROSSED)
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
    """Return a component's name for the side of a figure: the words of the paper are too long there."""
    return _NAMES.get(key, key)


def _share(value: float) -> str:
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
