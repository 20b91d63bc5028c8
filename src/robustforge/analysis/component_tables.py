"""Components of evolved heuristics: proportions of alternatives, deciles, champions, cross tables (paper, Section 5.3).

Every distinct heuristic of an `EvolutionRecord` counts once. Top thirds and deciles are taken by rank within each
evolution and then pooled. A pooled proportion is the mean over the evolutions, so that neither a long evolution nor a
problem with small values dominates.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain, product
from typing import TypeVar

from robustforge.analysis.dataset import EvolutionRecord
from robustforge.analysis.features import (
    BEYOND_PAPER,
    NOT_APPLICABLE,
    Rows,
    alternatives,
    feature_rows,
    feature_sizes,
    features,
    shown_alternatives,
    shown_components,
)
from robustforge.errors import AssessmentError
from robustforge.representation import Heuristic
from robustforge.tables import Record, Table

Item = TypeVar("Item")

DECILES = 10

_CHAMPION_ORDER = (
    *("group", "inner", "movement", "network", "extent", "stopping", "n_dorm", "n_pbest"),
    *("mutation", "baseline", "relocation", "r3", *BEYOND_PAPER),
)
"""Order of the columns in the paper's table of best heuristics."""


def proportions(evolutions: Sequence[EvolutionRecord]) -> Table:
    """Return the proportion of each alternative among all evolved heuristics, and in the top third.

    Args:
        evolutions: Evolutions to pool.

    Returns:
        Rows of component, alternative, all and top_third (proportions from 0 to 1), count and count_top. The top third
        of n heuristics is the first n / 3, rounded up. The paper's alternatives have a row even if they do not occur.
    """
    pool = _pool(evolutions)
    tops = [_top_third(rows) for rows in pool]
    table = Table()
    for component in shown_components(list(chain.from_iterable(pool))):
        count, fraction = _counted([[row[component] for row in rows] for rows in pool])
        count_top, fraction_top = _counted([[row[component] for row in rows] for rows in tops])
        table += [
            {
                "component": component,
                "alternative": alternative,
                "all": fraction.get(alternative, 0.0),
                "top_third": fraction_top.get(alternative, 0.0),
                "count": count[alternative],
                "count_top": count_top[alternative],
            }
            for alternative in shown_alternatives(component, count)
        ]
    return table


def applicable(rows: Table) -> dict[str, list[Record]]:
    """Return the rows of `proportions` by component, without components that no heuristic has."""
    found: dict[str, list[Record]] = {}
    for row in rows:
        found.setdefault(row["component"], []).append(row)
    return {
        key: own
        for key, own in found.items()
        if any(row["count"] for row in own if row["alternative"] != NOT_APPLICABLE)
    }


def deciles(evolutions: Sequence[EvolutionRecord], component: str) -> Table:
    """Return the proportion of each alternative of a component in each decile, from the best to the worst.

    Args:
        evolutions: Evolutions to pool.
        component: One of `COMPONENTS`.

    Returns:
        Rows of decile (1 is the best), alternative and share; the shares of a decile add up to 1. Rank k of n, from 0,
        is in decile floor(10 k / n) + 1. An empty decile has no rows.
    """
    alternatives(component)  # raises if it is unknown
    pooled: list[list[list[str]]] = [[] for _ in range(DECILES)]
    for rows in _pool(evolutions):
        parts: list[list[str]] = [[] for _ in range(DECILES)]
        for rank, row in enumerate(rows):
            parts[DECILES * rank // len(rows)].append(row[component])
        for decile, part in zip(pooled, parts, strict=True):
            decile.append(part)
    counted = [_counted(decile) for decile in pooled]
    shown = shown_alternatives(component, sum((count for count, _ in counted), Counter[str]()))
    return Table(
        {"decile": number, "alternative": alternative, "share": fraction.get(alternative, 0.0)}
        for number, (count, fraction) in enumerate(counted, 1)
        if count
        for alternative in shown
    )


def best_components(evolutions: Sequence[EvolutionRecord]) -> Table:
    """Return the components of each champion, in the words and the order of the paper.

    Returns:
        One row per evolution that has a champion: name, champion (its id), then each shown component; `group` and
        `extent` are numbers, of particles and of points.
    """
    shown = shown_components(list(chain.from_iterable(_pool(evolutions))))
    keys = [key for key in _CHAMPION_ORDER if key in shown]
    table = Table()
    for evolution in evolutions:
        champion = evolution.champion
        if champion is not None:
            parts = _features_and_sizes(champion, evolution.budget)
            table.append({"name": evolution.name, "champion": champion.id, **{key: parts[key] for key in keys}})
    return table


def cross_table(evolutions: Sequence[EvolutionRecord], first: str, second: str, top: bool = True) -> Table:
    """Return how often the alternatives of two components occur together.

    Args:
        evolutions: Evolutions to pool.
        first: One of `COMPONENTS`.
        second: Another one.
        top: Whether to count the top third only.

    Returns:
        Rows of first, second (alternatives), share (all of them add up to 1) and count.

    Raises:
        UnknownNameError: There is no such component.
        AssessmentError: Both are the same.
    """
    for component in (first, second):
        alternatives(component)  # raises if it is unknown
    if first == second:
        raise AssessmentError("a cross table needs two different components", f"got {first} twice", "Name another one")
    pool = [_top_third(rows) if top else rows for rows in _pool(evolutions)]
    count, fraction = _counted([[(row[first], row[second]) for row in rows] for rows in pool])
    shown = [shown_alternatives(key, Counter(row[key] for row in chain.from_iterable(pool))) for key in (first, second)]
    return Table(
        {"first": one, "second": other, "share": fraction.get((one, other), 0.0), "count": count[one, other]}
        for one, other in product(*shown)
        if pool
    )


def _pool(evolutions: Sequence[EvolutionRecord]) -> list[Rows]:
    return [feature_rows(evolution) for evolution in evolutions if evolution.heuristics]


def _counted(groups: Sequence[Sequence[Item]]) -> tuple[Counter[Item], dict[Item, float]]:
    """Return the count of each item in all groups, and its proportion, the mean over the groups."""
    groups = [group for group in groups if group]
    counts = [Counter(group) for group in groups]
    total = sum(counts, Counter[Item]())
    fractions = {
        item: sum(count[item] / len(group) for count, group in zip(counts, groups, strict=True)) / len(groups)
        for item in total
    }
    return total, fractions


def _top_third(rows: Rows) -> Rows:
    return rows[: math.ceil(len(rows) / 3)]


def _features_and_sizes(heuristic: Heuristic, budget: int) -> dict[str, str | int]:
    """Return the features of a heuristic, with numbers where they apply."""
    found = features(heuristic, budget)
    sizes = {key: size for key, size in feature_sizes(heuristic, budget).items() if found[key] != NOT_APPLICABLE}
    return {**found, **sizes}
