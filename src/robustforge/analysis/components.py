"""Which components the bred heuristics are made of, and which of them the best have (Section 5.3 of the paper).

Every heuristic of an `Outcome` counts once. Top thirds and tenths are taken within each outcome, by position, and only
then pooled, and a pooled share is the mean of those in the outcomes: an evolution that was long, or a problem whose
values are small, decides nothing for the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, product
from typing import TypeVar

from robustforge.analysis.evidence import Outcome
from robustforge.components import Clamp, Final, Outer, Restart, Returned, Structure, Swarm
from robustforge.errors import AssessmentError, UnknownNameError
from robustforge.heuristic import Heuristic
from robustforge.tables import Record, Table

COMPONENTS: Mapping[str, str] = {
    "inner": "Form of inner search",
    "extent": "Extent of inner search",
    "baseline": "Form of baseline rPSO formula",
    "movement": "Form of movement",
    "network": "Form of network",
    "group": "Group (swarm) size",
    "stopping": "Inclusion of stopping condition",
    "n_dorm": "Use of existing info. for dormancy",
    "n_pbest": "Use of existing info. for personal best",
    "mutation": "Form of mutation",
    "relocation": "Form of relocation due to dormancy",
    "r3": "Form of r3 vector",
    "outer": "Form of outer search",
    "clamp": "Form of velocity clamp",
    "order": "Order of moves",
    "structure": "Structure test",
    "restart": "Restarts",
    "returned": "Returned point",
    "final": "Final check",
}
"""What is looked at, in the paper's order and words; what is beyond the paper comes last, and is shown if it varies."""

BEYOND_PAPER = ("outer", "clamp", "order", "structure", "restart", "returned", "final")
Rows = list[dict[str, str]]
"""The features of the heuristics of an outcome, best first."""

Item = TypeVar("Item")

NOT_APPLICABLE = "Not applicable"
DECILES = 10

_LIMITS = {10: "[2-10]", 20: "[11-20]", 30: "[21-30]", 40: "[31-40]"}
_SIZES = (*_LIMITS.values(), ">40")
_NOT_APPLICABLE = {"na": NOT_APPLICABLE}
_YES_NO = {"No": "No", "Yes": "Yes"}
_WORDS: Mapping[str, Mapping[str, str]] = {
    "inner": {"Random sampling": "Random", "In PSO": "PSO", "In GA": "GA"},
    "baseline": {"Constriction": "Constriction", "Inertia": "Inertia"},
    "movement": {"{}": "rPSO", "DD": "+DD", "LEH": "+LEH", "DD+LEH": "+DD+LEH"},
    "network": {
        "Global": "Global",
        "Focal": "Focal",
        "Ring": "Ring (size=2)",
        "2D von Neumann": "von Neumann",
        "Clan": "Clan",
        "Cluster": "Cluster",
        "Hierarchical": "Hierarchy",
    },
    "stopping": _YES_NO,
    "n_dorm": _YES_NO | _NOT_APPLICABLE,
    "n_pbest": _YES_NO,
    "mutation": {"None": "None", "Uniform": "Random", "Gaussian": "Gaussian"},
    "relocation": {"LEH relocation": "LEH", "Random relocation": "Random"} | _NOT_APPLICABLE,
    "r3": {"random": "Random", "unity": "Unity"} | _NOT_APPLICABLE,
    "order": {"together": "Together", "in turn": "In turn"} | _NOT_APPLICABLE,
    **{
        slot: {part.title: part.title for part in kind.alternatives()}
        for slot, kind in {"outer": Outer, "clamp": Clamp, "structure": Structure, "final": Final}.items()
    },
    **{
        slot: {part.title: part.title for part in kind.alternatives()} | _NOT_APPLICABLE
        for slot, kind in {"restart": Restart, "returned": Returned}.items()
    },
}
"""From the titles of the components to the paper's words, in the paper's order."""

_BEST_ORDER = (
    *("group", "inner", "movement", "network", "extent", "stopping", "n_dorm", "n_pbest"),
    *("mutation", "baseline", "relocation", "r3", *BEYOND_PAPER),
)
"""The order of the paper's table of best heuristics."""


def features(heuristic: Heuristic, budget: int) -> dict[str, str]:
    """Return which alternative a heuristic has of each component, in the paper's words.

    Args:
        heuristic: The heuristic.
        budget: Evaluations of a run, which decide the extent of its inner searches in points.

    Returns:
        For each of `COMPONENTS` the alternative; one that the paper does not have keeps its title.

    Example:
        >>> import robustforge as rf
        >>> features(rf.heuristic("paper/30d/general"), 2000)["network"]
        'Ring (size=2)'
    """
    titles, sizes = heuristic.components(), _sizes(heuristic, budget)
    is_swarm = isinstance(heuristic.outer, Swarm)
    found = {key: _WORDS[key].get(titles[key], titles[key]) for key in _WORDS}
    found["extent"] = _size_words(sizes["extent"])
    found["group"] = _size_words(sizes["group"]) if is_swarm else NOT_APPLICABLE
    return {key: NOT_APPLICABLE if found[key] == "na" else found[key] for key in COMPONENTS}


def alternatives(component: str) -> tuple[str, ...]:
    """Return the known alternatives of a component, in the order in which they are shown.

    Raises:
        UnknownNameError: There is no such component.

    Example:
        >>> alternatives("inner")
        ('Random', 'PSO', 'GA')
    """
    if component not in COMPONENTS:
        raise UnknownNameError("component", component, COMPONENTS, "robustforge analyse --help")
    return tuple(_WORDS[component].values()) if component in _WORDS else _SIZES


def proportions(outcomes: Sequence[Outcome]) -> Table:
    """Return how often each alternative occurs: among all bred heuristics, and among the best third.

    Args:
        outcomes: Evolutions, pooled as they are given.

    Returns:
        Rows of component, alternative, all and top_third (shares from 0 to 1), count and count_top. The top third of n
        heuristics is the first n / 3, rounded up. The paper's alternatives have a row even if nobody has them.
    """
    pool = _pool(outcomes)
    tops = [_top_third(rows) for rows in pool]
    table = Table()
    for component in varying(list(chain.from_iterable(pool))):
        count, shares = _tallied([[row[component] for row in rows] for rows in pool])
        count_top, shares_top = _tallied([[row[component] for row in rows] for rows in tops])
        table += [
            {
                "component": component,
                "alternative": alternative,
                "all": shares.get(alternative, 0.0),
                "top_third": shares_top.get(alternative, 0.0),
                "count": count[alternative],
                "count_top": count_top[alternative],
            }
            for alternative in _shown(component, count)
        ]
    return table


def applicable(rows: Table) -> dict[str, list[Record]]:
    """Return the rows of `proportions` by component, without components that nobody has."""
    found: dict[str, list[Record]] = {}
    for row in rows:
        found.setdefault(row["component"], []).append(row)
    return {
        key: own
        for key, own in found.items()
        if any(row["count"] for row in own if row["alternative"] != NOT_APPLICABLE)
    }


def deciles(outcomes: Sequence[Outcome], component: str) -> Table:
    """Return how often each alternative of a component occurs in each tenth, from the best to the worst.

    Args:
        outcomes: Evolutions, pooled as they are given.
        component: One of `COMPONENTS`.

    Returns:
        Rows of decile (1 is the best tenth), alternative and share; the shares of a tenth add up to 1. Place k of n,
        counted from 0, is in tenth 10 k / n, rounded down, plus 1. A tenth that nobody is in has no rows.
    """
    alternatives(component)  # refuses an unknown one
    tenths: list[list[list[str]]] = [[] for _ in range(DECILES)]
    for rows in _pool(outcomes):
        parts: list[list[str]] = [[] for _ in range(DECILES)]
        for place, row in enumerate(rows):
            parts[DECILES * place // len(rows)].append(row[component])
        for tenth, part in zip(tenths, parts, strict=True):
            tenth.append(part)
    tallies = [_tallied(tenth) for tenth in tenths]
    shown = _shown(component, sum((count for count, _ in tallies), Counter[str]()))
    return Table(
        {"decile": decile, "alternative": alternative, "share": shares.get(alternative, 0.0)}
        for decile, (count, shares) in enumerate(tallies, 1)
        if count
        for alternative in shown
    )


def best_components(outcomes: Sequence[Outcome]) -> Table:
    """Return what each champion is made of, in the paper's words and order.

    Returns:
        One row per outcome that has a champion: name, champion (its id), then each component that varies among what was
        bred; `group` and `extent` are numbers, of particles and of points.
    """
    shown = varying(list(chain.from_iterable(_pool(outcomes))))
    keys = [key for key in _BEST_ORDER if key in shown]
    table = Table()
    for outcome in outcomes:
        if outcome.champion is not None:
            parts = _parts(outcome.champion, _budget(outcome))
            table.append({"name": outcome.name, "champion": outcome.champion.id, **{key: parts[key] for key in keys}})
    return table


def cross_table(outcomes: Sequence[Outcome], first: str, second: str, top: bool = True) -> Table:
    """Return how often the alternatives of two components occur together.

    Args:
        outcomes: Evolutions, pooled as they are given.
        first: One of `COMPONENTS`.
        second: Another one.
        top: Whether among the top third, or else among all.

    Returns:
        Rows of first, second (alternatives), share (all of them add up to 1) and count.

    Raises:
        UnknownNameError: There is no such component.
        AssessmentError: Both are the same.
    """
    for component in (first, second):
        alternatives(component)  # refuses an unknown one
    if first == second:
        raise AssessmentError("a cross table is of two components", f"got {first} twice", "Name another one")
    pool = [_top_third(rows) if top else rows for rows in _pool(outcomes)]
    count, shares = _tallied([[(row[first], row[second]) for row in rows] for rows in pool])
    shown = [_shown(key, Counter(row[key] for row in chain.from_iterable(pool))) for key in (first, second)]
    return Table(
        {"first": one, "second": other, "share": shares.get((one, other), 0.0), "count": count[one, other]}
        for one, other in product(*shown)
        if pool
    )


def varying(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the components to show for these features: the paper's, and those beyond it of which there are several."""
    shown = (key for key in COMPONENTS if key not in BEYOND_PAPER or len({row[key] for row in rows}) > 1)
    return list(shown) if rows else []


def feature_rows(outcome: Outcome) -> Rows:
    """Return the features of all heuristics of an outcome, best first."""
    budget = _budget(outcome)
    return [features(bred.heuristic, budget) for bred in outcome.bred]


def _pool(outcomes: Sequence[Outcome]) -> list[Rows]:
    return [feature_rows(outcome) for outcome in outcomes if outcome.bred]


def _tallied(groups: Sequence[Sequence[Item]]) -> tuple[Counter[Item], dict[Item, float]]:
    """Return how often each item occurs in all groups, and its share: the mean of those in the groups, however long."""
    groups = [group for group in groups if group]
    counts = [Counter(group) for group in groups]
    every = sum(counts, Counter[Item]())
    shares = {
        item: sum(count[item] / len(group) for count, group in zip(counts, groups, strict=True)) / len(groups)
        for item in every
    }
    return every, shares


def _budget(outcome: Outcome) -> int:
    return int(outcome.settings["budget"])


def _top_third(rows: Rows) -> Rows:
    return rows[: math.ceil(len(rows) / 3)]


def _shown(component: str, count: Mapping[str, int]) -> list[str]:
    """Return the alternatives to show: the paper's in its order, then what else occurs, last that there is none."""
    known = alternatives(component)
    if component in BEYOND_PAPER:
        known = tuple(each for each in known if each in count)
    return [
        *known,
        *sorted((each for each in count if each not in known), key=lambda each: (each == NOT_APPLICABLE, each)),
    ]


def _parts(heuristic: Heuristic, budget: int) -> dict[str, str | int]:
    """Return the features of a heuristic, with numbers where there are some."""
    found = features(heuristic, budget)
    return {**found, **{key: size for key, size in _sizes(heuristic, budget).items() if found[key] != NOT_APPLICABLE}}


def _sizes(heuristic: Heuristic, budget: int) -> dict[str, int]:
    """Return the two components that are numbers."""
    agents = heuristic.outer.agents
    return {"group": agents, "extent": heuristic.inner.points(budget, agents)}


def _size_words(size: int) -> str:
    return next((words for limit, words in _LIMITS.items() if size <= limit), _SIZES[-1])
